// forward CASE: what holds for the drop-in that has the driver's name, and not for the one that is
// loaded before a program. Each case runs in a process of its own, with the library DROPIN in front
// of the driver that forward.sh chooses.
#include "dropin/ways.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <streampool/streampool.h>
#include <string.h>

#define REQUIRE(holds) require((holds), #holds, __LINE__)

static void require(bool holds, const char *what, int line) {
    if (holds)
        return;
    fprintf(stderr, "line %d: not so: %s\n", line, what);
    exit(1);
}

static void *find(void *library, const char *name) {
    void *found = dlsym(library, name);
    REQUIRE(found);
    return found;
}

static void start(void) {
    CUcontext context = NULL;
    find_calls("dlsym", NULL);
    REQUIRE(cu.cuInit(0) == CUDA_SUCCESS);
    REQUIRE(cu.cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
    REQUIRE(cu.cuCtxSetCurrent(context) == CUDA_SUCCESS);
}

// ---------------------------------------------------------------------- no driver, missing

// Programs know the error of cuInit from machines with no device.
static void without_a_driver_calls_fail(void) {
    CUdeviceptr address = 0;
    void *function = NULL;
    find_calls("dlsym", NULL);
    REQUIRE(cu.cuInit(0) == CUDA_ERROR_NO_DEVICE);
    REQUIRE(cu.cuCtxSetCurrent(NULL) == CUDA_ERROR_NOT_INITIALIZED);
    REQUIRE(cu.cuMemAllocAsync(&address, 1, NULL) == CUDA_ERROR_NOT_INITIALIZED);
    REQUIRE(cu.cuMemFree_v2(0) == CUDA_ERROR_NOT_INITIALIZED);
    REQUIRE(cu.cuGetProcAddress("cuInit", &function, 11030, 0) == CUDA_ERROR_NOT_INITIALIZED);
    REQUIRE(cu.cuInit(0) == CUDA_ERROR_NO_DEVICE);
    void *pointer = NULL;
    REQUIRE(poolMallocAsync(&pointer, 1, NULL) != poolSuccess);
    REQUIRE(strstr(poolGetLastErrorDetail(), "no CUDA driver"));
}

// The driver has three functions. A look-up finds these, and the pool calls, which are ours.
static void what_the_driver_lacks_is_not_found(void) {
    static const char *const lacks[] = {"cuGraphClone", "cuStreamQuery", "cuDeviceGetCount",
                                        "cuMemFree_v2", "cudbgGetAPI",   "cuGetProcAddress_v2"};
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    REQUIRE(library);
    find(library, "cuInit");
    find(library, "cuLaunchKernel");
    find(library, "cuMemAllocAsync");
    for (size_t i = 0; i < sizeof lacks / sizeof lacks[0]; i++) {
        dlerror();
        REQUIRE(!dlsym(library, lacks[i]));
        const char *text = dlerror();
        REQUIRE(text && strstr(text, lacks[i]));
        REQUIRE(!dlsym(RTLD_DEFAULT, lacks[i]));
    }
}

// -------------------------------------------------------------------------------- plugins

static void use_plugin(void *plugin) {
    void *(*function)(void) = NULL;
    CUresult (*use)(void) = NULL;
    Dl_info info;
    if (!plugin)
        fprintf(stderr, "%s\n", dlerror());
    REQUIRE(plugin);
    *(void **)&function = find(plugin, "plugin_function");
    *(void **)&use = find(plugin, "plugin_use_pools");
    REQUIRE(dladdr(function(), &info) != 0);
    REQUIRE(strcmp(info.dli_fname, getenv("DROPIN")) == 0);
    REQUIRE(use() == CUDA_SUCCESS);
}

static void libraries_with_a_scope_of_their_own_are_served(void) {
    use_plugin(dlopen(getenv("PLUGIN"), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND));
}

static void another_namespace_is_served(void) {
    use_plugin(dlmopen(LM_ID_NEWLM, getenv("PLUGIN"), RTLD_NOW | RTLD_LOCAL));
}

static void both_at_once_are_served(void) {
    another_namespace_is_served();
    libraries_with_a_scope_of_their_own_are_served();
    another_namespace_is_served();
}

// Calls come by both forms of the drop-in: the program's by the one that is loaded before it, and
// the plugin's by the other. A pool of the driver's is known to both.
static void pools_of_the_driver_are_known_to_both_forms(void) {
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemoryPool pool = NULL, other = NULL;
    CUresult (*make)(CUmemoryPool *) = NULL;
    CUresult (*trim)(CUmemoryPool) = NULL;
    Dl_info info;
    void *plugin = dlopen(getenv("PLUGIN"), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    use_plugin(plugin);
    *(void **)&make = find(plugin, "plugin_make_pool");
    *(void **)&trim = find(plugin, "plugin_trim_pool");
    start();
    REQUIRE(dladdr((void *)(uintptr_t)cu.cuMemPoolCreate, &info) != 0);
    REQUIRE(strcmp(info.dli_fname, getenv("DROPIN")) != 0);
    REQUIRE(cu.cuMemPoolCreate(&pool, &props) == CUDA_SUCCESS);
    REQUIRE(trim(pool) == CUDA_SUCCESS);
    REQUIRE(make(&other) == CUDA_SUCCESS);
    REQUIRE(cu.cuMemPoolTrimTo(other, 0) == CUDA_SUCCESS);
}

// ---------------------------------------------------------------------------- the library

// Calls of the driver, of the library, and of the driver about the library's memory.
static void mix(void) {
    CUdeviceptr address = 0;
    CUevent event = NULL;
    CUmemoryPool pool = NULL;
    poolMemPool_t same = NULL;
    void *pointer = NULL;
    REQUIRE(poolMallocAsync(&pointer, 1 << 20, NULL) == poolSuccess);
    REQUIRE(cu.cuMemAllocAsync(&address, 1 << 20, NULL) == CUDA_SUCCESS);
    REQUIRE(cu.cuEventCreate(&event, 0) == CUDA_SUCCESS);
    REQUIRE(cu.cuEventRecord(event, NULL) == CUDA_SUCCESS);
    REQUIRE(cu.cuStreamWaitEvent(NULL, event, 0) == CUDA_SUCCESS);
    REQUIRE(poolFreeAsync((void *)(uintptr_t)address, NULL) == poolSuccess);
    REQUIRE(cu.cuMemFreeAsync((CUdeviceptr)(uintptr_t)pointer, NULL) == CUDA_SUCCESS);
    REQUIRE(cu.cuStreamSynchronize(NULL) == CUDA_SUCCESS);
    REQUIRE(poolStreamSynchronize(NULL) == poolSuccess);
    REQUIRE(cu.cuEventDestroy_v2(event) == CUDA_SUCCESS);
    REQUIRE(cu.cuDeviceGetDefaultMemPool(&pool, 0) == CUDA_SUCCESS);
    REQUIRE(poolDeviceGetDefaultMemPool(&same, 0) == poolSuccess);
    REQUIRE((void *)pool == (void *)same);
}

static void the_library_finds_the_driver_behind(void) {
    start();
    mix();
}

// The library loads libcuda.so.1 here, and so us, or the driver that the environment names.
static void the_library_may_come_first(void) {
    poolMemPool_t pool = NULL;
    REQUIRE(!dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD));
    REQUIRE(poolDeviceGetDefaultMemPool(&pool, 0) == poolSuccess);
    REQUIRE(getenv("STREAMPOOL_DRIVER") || dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD));
    start();
    mix();
}

// --------------------------------------------------------------------------------------------- all

// clang-format off
#define CASES(X) \
    X(without_a_driver_calls_fail) \
    X(what_the_driver_lacks_is_not_found) \
    X(libraries_with_a_scope_of_their_own_are_served) \
    X(another_namespace_is_served) \
    X(both_at_once_are_served) \
    X(pools_of_the_driver_are_known_to_both_forms) \
    X(the_library_finds_the_driver_behind) \
    X(the_library_may_come_first)
// clang-format on

int main(int count, char **arguments) {
#define RUN(name)                                                                                  \
    if (count == 2 && strcmp(arguments[1], #name) == 0) {                                          \
        name();                                                                                    \
        return 0;                                                                                  \
    }
    CASES(RUN)
#undef RUN
    fprintf(stderr, "usage: forward CASE\n");
    return 2;
}
