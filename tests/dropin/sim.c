// sim WAY [NAME]: a program of the driver API, which allocates three times from CUDA's default
// pool, and prints the files of drivers that it has loaded. Built three times:
//
//   opened   opens NAME; with `ask` it looks functions up by cuGetProcAddress, as CUDA's runtime
//   does linked   with a libcuda.so.1 (LINKED) named    with the simulated driver by its own name
//   (LINKED)
//
// It does so at once, in a child (`fork`), or as a program that takes its place (`exec`).
#include "driver/abi.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define REQUIRE(holds)                                                                             \
    do {                                                                                           \
        if (!(holds)) {                                                                            \
            fprintf(stderr, "line %d: not so: %s\n", __LINE__, #holds);                            \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define CALLS(X)                                                                                   \
    X(cuInit, (unsigned int flags))                                                                \
    X(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                            \
    X(cuCtxSetCurrent, (CUcontext context))                                                        \
    X(cuMemAllocAsync, (CUdeviceptr * address, size_t size, CUstream stream))                      \
    X(cuMemFreeAsync, (CUdeviceptr address, CUstream stream))                                      \
    X(cuStreamCreate, (CUstream * stream, unsigned int flags))                                     \
    X(cuStreamSynchronize, (CUstream stream))

static struct {
#define FIELD(name, parameters) CUresult(*name) parameters;
    CALLS(FIELD)
#undef FIELD
} cu;

#ifdef LINKED
#define DECLARE(name, parameters) CUresult name parameters;
CALLS(DECLARE)
#undef DECLARE

// A look-up in all libraries finds what a linked call does.
static void find_calls(const char *library, bool asks) {
    (void)library, (void)asks;
#define TAKE(name, parameters)                                                                     \
    cu.name = name;                                                                                \
    REQUIRE(dlsym(RTLD_DEFAULT, #name) == *(void **)&cu.name);
    CALLS(TAKE)
#undef TAKE
}
#else
static CUresult (*ask)(const char *name, void **function, int version, uint64_t flags,
                       CUdriverProcAddressQueryResult *status);

static void *find(void *handle, const char *name) {
    CUdriverProcAddressQueryResult status;
    void *function = NULL;
    if (!ask)
        return dlsym(handle, name);
    REQUIRE(ask(name, &function, 12000, 0, &status) == CUDA_SUCCESS);
    return function;
}

static void find_calls(const char *library, bool asks) {
    void *handle = dlopen(library, RTLD_NOW);
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    *(void **)&ask = asks ? dlsym(handle, "cuGetProcAddress_v2") : NULL;
#define FIND(name, parameters)                                                                     \
    *(void **)&cu.name = find(handle, #name);                                                      \
    REQUIRE(cu.name);
    CALLS(FIND)
#undef FIND
}
#endif

// The status is 2 where nobody serves pools.
static void allocate(void) {
    CUcontext context = NULL;
    CUstream stream = NULL;
    CUdeviceptr address = 0;
    REQUIRE(cu.cuInit(0) == CUDA_SUCCESS);
    REQUIRE(cu.cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
    REQUIRE(cu.cuCtxSetCurrent(context) == CUDA_SUCCESS);
    REQUIRE(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    for (int i = 0; i < 3; i++) {
        CUresult result = cu.cuMemAllocAsync(&address, 1 << 20, stream);
        if (result == CUDA_ERROR_NOT_SUPPORTED)
            exit(2);
        REQUIRE(result == CUDA_SUCCESS);
        REQUIRE(cu.cuMemFreeAsync(address, stream) == CUDA_SUCCESS);
    }
    REQUIRE(cu.cuStreamSynchronize(stream) == CUDA_SUCCESS);
}

// The kernel names each file by its own name, whichever it was loaded by.
static void print_drivers(void) {
    char line[4096], last[4096] = "";
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        const char *path = strchr(line, '/'), *file = path ? strrchr(path, '/') : "";
        if (!strstr(file, "cuda") || strcmp(path, last) == 0)
            continue;
        strcpy(last, path);
        printf("%s", path);
    }
    if (maps)
        fclose(maps);
}

#ifdef LINKED
// The program's library opens another driver by its own, and finds the functions of that one.
static void look_apart(const char *library) {
    Dl_info info;
    void *handle = dlopen(library, RTLD_NOW), *found = handle ? dlsym(handle, "cuStreamCreate") : 0;
    REQUIRE(found && dladdr(found, &info) != 0);
    printf("apart: %s\n", info.dli_fname);
}
#endif

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "", *name = argc > 2 ? argv[2] : "libcuda.so.1";
    if (strcmp(way, "exec") == 0)
        execv(argv[0], (char *[]){argv[0], "", argc > 2 ? argv[2] : NULL, NULL});
    pid_t child = strcmp(way, "fork") == 0 ? fork() : 0;
    if (child > 0) {
        int status;
        REQUIRE(waitpid(child, &status, 0) == child);
        return WEXITSTATUS(status);
    }
#ifdef LINKED
    if (strcmp(way, "apart") == 0)
        look_apart(name);
#endif
    find_calls(name, strcmp(way, "ask") == 0);
    allocate();
    print_drivers();
    return 0;
}
