// trap NAME: one trap of standing in for a library, that has caught others. Each runs in a process
// of its own, under the library DROPIN, with the driver in DRIVER_FOLDER; it ends with 0 when the
// trap has caught nobody, and 77 when this machine can't tell.
#include "dropin/ways.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KIB = 1024, SKIPPED = 77, UNTOUCHED = 77 };

#define REQUIRE(holds) require((holds), #holds, __LINE__)

static void require(bool holds, const char *what, int line) {
    if (holds)
        return;
    fprintf(stderr, "line %d: not so: %s\n", line, what);
    exit(1);
}

static void *open_driver(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    REQUIRE(library);
    return library;
}

static bool is_of(const void *function, const char *file) {
    Dl_info info;
    return function && dladdr(function, &info) != 0 && strstr(info.dli_fname, file) != NULL;
}

static bool is_of_dropin(const void *function) {
    return is_of(function, getenv("DROPIN"));
}

static bool is_of_driver(const void *function) {
    return is_of(function, getenv("DRIVER_FOLDER"));
}

// The text of the last failed look-up, which has happened.
static bool error_names(const char *name) {
    const char *text = dlerror();
    return text && strstr(text, name) != NULL;
}

static CUcontext start(void) {
    CUcontext context = NULL;
    find_calls("dlsym", NULL);
    REQUIRE(cu.cuInit(0) == CUDA_SUCCESS);
    REQUIRE(cu.cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
    REQUIRE(cu.cuCtxSetCurrent(context) == CUDA_SUCCESS);
    return context;
}

static CUdeviceptr allocate(CUresult expected) {
    CUdeviceptr address = 0;
    REQUIRE(cu.cuMemAllocAsync(&address, KIB, NULL) == expected);
    return address;
}

// ---------------------------------------------------------------------------------------- look-ups

// Names that only begin like the driver's, or like ours, are others' own.
static void names_are_exact(void) {
    static const char *const names[] = {
        "cudnnCreate", "curl_easy_init", "cuMemAllocAsyncs", "cuMemAllocAsyn", "cu", "",
        "cuMemPool"};
    void *library = open_driver();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        REQUIRE(!dlsym(library, names[i]));
        REQUIRE(error_names(names[i]));
        REQUIRE(!dlsym(RTLD_DEFAULT, names[i]));
    }
    REQUIRE(is_of_dropin(dlsym(library, "cuMemAllocAsync")));
}

static void unknown_names_are_the_drivers(void) {
    void *library = open_driver();
    REQUIRE(is_of_driver(dlsym(library, "cuInit")));
    REQUIRE(is_of_driver(dlsym(library, "cuMemGetInfo_v2")));
    REQUIRE(is_of_driver(dlsym(library, "cuLaunchKernel")));
    dlerror();
    REQUIRE(!dlsym(library, "cuNoSuchCall"));
    REQUIRE(error_names("cuNoSuchCall"));
    REQUIRE(!dlerror());
}

// A null handle is RTLD_DEFAULT. Nobody finds a driver's function in a process without a driver.
static void null_handle_is_the_callers(void) {
    REQUIRE(!dlsym(NULL, "cuMemAllocAsync"));
    REQUIRE(error_names("cuMemAllocAsync"));
    REQUIRE(!dlsym(NULL, "cuGetProcAddress_v2"));
    REQUIRE(dlsym(NULL, "malloc") == dlsym(RTLD_DEFAULT, "malloc"));
    REQUIRE(!dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD));
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    REQUIRE(library && is_of_dropin(dlsym(NULL, "cuMemAllocAsync")));
}

static void the_driver_finds_its_own(void) {
    void *(*find_own)(const char *) = NULL;
    void *library = open_driver();
    void *found = dlsym(library, "simcudaFindOwn");
    memcpy(&find_own, &found, sizeof find_own);
    REQUIRE(find_own && is_of_driver(find_own("cuMemFree_v2")));
    REQUIRE(is_of_dropin(dlsym(library, "cuMemFree_v2")));
}

// A library that has a function of a name of the driver's keeps it.
static void functions_of_others_are_theirs(void) {
    void *other = dlopen(getenv("OTHER_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(other);
    void *own = dlsym(other, "cuMemPoolTrimTo");
    REQUIRE(own && !is_of_dropin(own) && !is_of_driver(own));
}

// RTLD_NEXT goes by the address that the look-up returns to: `other` comes behind this program.
static void next_is_the_callers_next(void) {
    int (*value)(void) = NULL;
    void *other = dlopen(getenv("OTHER_LIBRARY"), RTLD_NOW | RTLD_GLOBAL);
    REQUIRE(other);
    *(void **)&value = dlsym(other, "other_value_of_next");
    REQUIRE(value && value() == 2);
}

static void repeated_looks_find_the_same(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    void *ours = dlsym(library, "cuStreamQuery"), *next = dlsym(RTLD_NEXT, "malloc");
    REQUIRE(library && ours && next);
    for (int i = 0; i < 1000; i++) {
        REQUIRE(dlsym(library, "cuStreamQuery") == ours);
        REQUIRE(dlsym(RTLD_NEXT, "malloc") == next);
        REQUIRE(dlsym(RTLD_DEFAULT, "cuStreamQuery") == ours);
    }
}

static void *look_up_often(void *library) {
    for (int i = 0; i < 1000; i++) {
        REQUIRE(is_of_dropin(dlsym(library, "cuStreamQuery")));
        REQUIRE(!dlsym(library, "cuNoSuchCall") && error_names("cuNoSuchCall"));
    }
    return NULL;
}

static void threads_look_up_at_once(void) {
    pthread_t threads[4];
    void *library = open_driver();
    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&threads[i], NULL, look_up_often, library) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

// Both versions that glibc has had are there, and a version that nobody has isn't.
static void versions_of_dlsym_are_both_there(void) {
    void *older = dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.2.5");
    REQUIRE(is_of_dropin(older));
    REQUIRE(is_of_dropin(dlvsym(RTLD_DEFAULT, "dlvsym", "GLIBC_2.2.5")));
    REQUIRE(is_of_dropin(dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.34")));
    REQUIRE(!dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_9.9"));
    REQUIRE(error_names("dlsym"));
    REQUIRE(dlvsym(RTLD_DEFAULT, "malloc", "GLIBC_2.2.5") == dlsym(RTLD_DEFAULT, "malloc"));
    void *(*look_up)(void *, const char *);
    memcpy(&look_up, &older, sizeof look_up);
    REQUIRE(look_up(open_driver(), "cuStreamQuery") == dlsym(RTLD_DEFAULT, "cuStreamQuery"));
}

// A program that asks dlerror if its look-up has failed hears nothing of the look-up that failed
// before ours was given. The older driver has neither function.
static void what_the_driver_lacks_is_told_right(void) {
    void *library = open_driver();
    dlerror();
    REQUIRE(is_of_dropin(dlsym(library, "cuDeviceGetMemPool")));
    REQUIRE(!dlerror());
    REQUIRE(!dlsym(library, "cuStreamQuery_ptsz"));
    REQUIRE(error_names("cuStreamQuery_ptsz"));
}

// ------------------------------------------------------------------------------- cuGetProcAddress

static void *ask(const char *name, int version, uint64_t flags) {
    void *function = NULL;
    CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)UNTOUCHED;
    CUresult result = cu.cuGetProcAddress_v2(name, &function, version, flags, &status);
    REQUIRE((int)status != UNTOUCHED);
    REQUIRE((result == CUDA_SUCCESS && function) == (status == CU_GET_PROC_ADDRESS_SUCCESS));
    return function;
}

// One name has several forms, with different parameters. A form that we don't know stays.
static void forms_go_by_the_drivers_answer(void) {
    void *library = open_driver();
    find_calls("dlsym", NULL);
    void *before = ask("cuCtxSynchronize", 12080, 0), *behind = ask("cuCtxSynchronize", 13000, 0);
    REQUIRE(before == dlsym(library, "cuCtxSynchronize") && is_of_dropin(before));
    REQUIRE(behind == dlsym(library, "cuCtxSynchronize_v2") && is_of_dropin(behind));
    REQUIRE(ask("cuGetProcAddress", 11030, 0) == dlsym(library, "cuGetProcAddress"));
    REQUIRE(ask("cuGetProcAddress", 12000, 0) == dlsym(library, "cuGetProcAddress_v2"));
    REQUIRE(ask("cuStreamQuery", 6000, 2) == dlsym(library, "cuStreamQuery"));
    REQUIRE(ask("cuStreamQuery", 7000, 2) == dlsym(library, "cuStreamQuery_ptsz"));
    REQUIRE(ask("cuStreamQuery", 7000, 1) == dlsym(library, "cuStreamQuery"));
    REQUIRE(ask("cuMemFreeAsync", 14000, 0) == dlsym(library, "cuMemFreeAsync"));
    REQUIRE(ask("cuMemFreeAsync", 15000, 0) == dlsym(library, "cuMemFreeAsync_v2"));
    REQUIRE(is_of_driver(dlsym(library, "cuMemFreeAsync_v2")));
    REQUIRE(is_of_dropin(ask("cuMemPoolImportPointer", 11020, 0))); // which this driver hasn't
    REQUIRE(!ask("cuMemAllocAsync", 11010, 0));
    REQUIRE(!ask("cuMemAllocAsync_ptsz", 13000, 0));
    REQUIRE(!ask("cuCtxSynchronize_v2", 13000, 0));
}

static void questions_are_answered_as_the_driver_does(void) {
    void *function = NULL;
    find_calls("dlsym", NULL);
    REQUIRE(!ask("", 0, 0) && !ask("cuNoSuchCall", 13000, 0) && !ask("cudnnCreate", 13000, 0));
    REQUIRE(is_of_driver(ask("cuInit", 13000, 0)));
    REQUIRE(cu.cuGetProcAddress_v2("cuStreamQuery", &function, 13000, 0, NULL) == CUDA_SUCCESS);
    REQUIRE(is_of_dropin(function));
    REQUIRE(cu.cuGetProcAddress_v2(NULL, &function, 13000, 0, NULL) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(cu.cuGetProcAddress_v2("cuStreamQuery", NULL, 13000, 0, NULL) ==
            CUDA_ERROR_INVALID_VALUE);
    REQUIRE(cu.cuGetProcAddress("cuStreamQuery", NULL, 13000, 0) == CUDA_ERROR_INVALID_VALUE);
}

// The older driver has some pool calls and lacks others. Ours are given where the version that is
// asked for has them.
static void pools_are_found_where_the_driver_has_none(void) {
    CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    void *function = NULL;
    CUmemoryPool pool = NULL, other = NULL;
    find_calls("dlsym", NULL);
    REQUIRE(is_of_dropin(ask("cuDeviceGetMemPool", 11020, 0)));
    REQUIRE(is_of_dropin(ask("cuMemGetDefaultMemPool", 13000, 0)));
    REQUIRE(!ask("cuMemGetDefaultMemPool", 12080, 0));
    REQUIRE(!ask("cuEventRecordWithFlags", 13000, 0));
    REQUIRE(cu.cuGetProcAddress("cuMemPoolSetAccess", &function, 11020, 0) == CUDA_SUCCESS);
    REQUIRE(is_of_dropin(function));
    start();
    REQUIRE(cu.cuDeviceGetMemPool(&pool, 0) == CUDA_SUCCESS && pool);
    REQUIRE(cu.cuMemGetDefaultMemPool(&other, &here, CU_MEM_ALLOCATION_TYPE_PINNED) ==
                CUDA_SUCCESS &&
            other == pool);
    CUdeviceptr address = allocate(CUDA_SUCCESS);
    REQUIRE(cu.cuMemFreeAsync(address, NULL) == CUDA_SUCCESS);
    REQUIRE(cu.cuMemFreeAsync(address, NULL) == CUDA_ERROR_INVALID_VALUE);
}

// ------------------------------------------------------------------------------------- the process

static int thread_count(void) {
    char line[256];
    int count = 0;
    FILE *status = fopen("/proc/self/status", "r");
    REQUIRE(status);
    while (fgets(line, sizeof line, status))
        sscanf(line, "Threads: %d", &count);
    fclose(status);
    return count;
}

// Neither a look-up nor a call that isn't about pools starts anything.
static void nothing_starts_before_a_pool_is_used(void) {
    CUcontext context;
    find_calls("dlsym", NULL);
    REQUIRE(cu.cuCtxGetCurrent(&context) == CUDA_ERROR_NOT_INITIALIZED);
    REQUIRE(cu.cuStreamQuery(NULL) == CUDA_ERROR_NOT_INITIALIZED);
    allocate(CUDA_ERROR_NOT_INITIALIZED);
    REQUIRE(cu.cuCtxGetCurrent(&context) == CUDA_ERROR_NOT_INITIALIZED);
    int threads = thread_count();
    start();
    REQUIRE(cu.cuStreamQuery(NULL) == CUDA_SUCCESS);
    REQUIRE(cu.cuCtxSynchronize() == CUDA_SUCCESS);
    REQUIRE(thread_count() == threads);
    REQUIRE(cu.cuMemFreeAsync(allocate(CUDA_SUCCESS), NULL) == CUDA_SUCCESS);
}

static int status_of(pid_t child) {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static pid_t start_child(void) {
    fflush(NULL);
    pid_t child = fork();
    REQUIRE(child >= 0);
    return child;
}

static void forked_before_use_works(void) {
    find_calls("dlsym", NULL);
    pid_t child = start_child();
    if (child == 0) {
        start();
        REQUIRE(cu.cuMemFreeAsync(allocate(CUDA_SUCCESS), NULL) == CUDA_SUCCESS);
        exit(0);
    }
    REQUIRE(status_of(child) == 0);
    start();
    allocate(CUDA_SUCCESS);
}

// The child of a process that uses the device can't, and its parent goes on.
static void forked_after_use_is_refused(void) {
    start();
    CUdeviceptr address = allocate(CUDA_SUCCESS);
    pid_t child = start_child();
    if (child == 0) {
        allocate(CUDA_ERROR_NOT_INITIALIZED);
        REQUIRE(cu.cuMemFreeAsync(address, NULL) == CUDA_ERROR_NOT_INITIALIZED);
        REQUIRE(cu.cuStreamSynchronize(NULL) == CUDA_ERROR_NOT_INITIALIZED);
        _exit(0);
    }
    REQUIRE(status_of(child) == 0);
    REQUIRE(cu.cuMemFreeAsync(address, NULL) == CUDA_SUCCESS);
}

// The loader ignores libraries to preload where a program has privileges that its user hasn't: the
// program runs without us. It starts itself as somebody else's.
static void raised_privileges_leave_us_out(void) {
    char path[] = "/tmp/dropin-XXXXXX";
    char command[512];
    if (getenv("AGAIN")) {
        if (!getauxval(AT_SECURE))
            exit(SKIPPED); // the file system gives no privileges
        REQUIRE(!dlsym(RTLD_DEFAULT, "cuMemAllocAsync"));
        exit(0);
    }
    if (geteuid() != 0)
        exit(SKIPPED);
    REQUIRE(mkdtemp(path));
    snprintf(
        command, sizeof command,
        "cp /proc/%d/exe %s/copy && chmod 755 %s && chown 65534 %s/copy && chmod 4755 %s/copy && "
        "AGAIN=1 %s/copy raised_privileges_leave_us_out; status=$?; rm -r %s; exit $status",
        (int)getpid(), path, path, path, path, path, path);
    int status = system(command); // NOLINT(cert-env33-c)
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

// --------------------------------------------------------------------------------- handles, errors

// The driver would crash by a handle that it hasn't given out; this one ends the process.
static void no_handle_goes_astray(void) {
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0}, host = {CU_MEM_LOCATION_TYPE_HOST, 0};
    CUmemAccess_flags flags;
    CUmemoryPool handles[] = {NULL, (CUmemoryPool)(void *)&props, NULL};
    CUdeviceptr address;
    uint64_t value = 0;
    int descriptor;
    start();
    REQUIRE(cu.cuMemPoolCreate(&handles[2], &props) == CUDA_SUCCESS);
    REQUIRE(cu.cuMemSetMemPool(&host, CU_MEM_ALLOCATION_TYPE_PINNED, handles[2]) ==
            CUDA_ERROR_INVALID_VALUE);
    REQUIRE(cu.cuMemPoolImportPointer(&address, handles[2], NULL) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(cu.cuMemPoolDestroy(handles[2]) == CUDA_SUCCESS);
    for (size_t i = 0; i < sizeof handles / sizeof handles[0]; i++) {
        CUmemoryPool pool = handles[i];
        CUresult results[] = {
            cu.cuMemAllocFromPoolAsync(&address, KIB, pool, NULL),
            cu.cuMemAllocFromPoolAsync_ptsz(&address, KIB, pool, NULL),
            cu.cuMemPoolDestroy(pool),
            cu.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value),
            cu.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value),
            cu.cuMemPoolSetAccess(pool, NULL, 0),
            cu.cuMemPoolGetAccess(&flags, pool, &here),
            cu.cuMemPoolTrimTo(pool, 0),
            cu.cuMemPoolExportToShareableHandle(&descriptor, pool, 1, 0),
            cu.cuMemPoolImportPointer(&address, pool, NULL),
            cu.cuDeviceSetMemPool(0, pool),
            cu.cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, pool),
            cu.cuMemSetMemPool(&host, CU_MEM_ALLOCATION_TYPE_PINNED, pool),
        };
        for (size_t k = 0; k < sizeof results / sizeof results[0]; k++)
            require(results[k] == CUDA_ERROR_INVALID_VALUE, "an invalid value", (int)(100 * i + k));
    }
}

// A pool that the driver has destroyed is forgotten, and its place may be another's.
static void pools_of_the_driver_come_and_go(void) {
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemoryPool pools[40];
    start();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 40; i++)
            REQUIRE(cu.cuMemPoolCreate(&pools[i], &props) == CUDA_SUCCESS);
        for (int i = 0; i < 40; i++)
            REQUIRE(cu.cuMemPoolTrimTo(pools[i], 0) == CUDA_SUCCESS);
        for (int i = 0; i < 40; i++)
            REQUIRE(cu.cuMemPoolDestroy(pools[i]) == CUDA_SUCCESS);
        for (int i = 0; i < 40; i++)
            REQUIRE(cu.cuMemPoolTrimTo(pools[i], 0) == CUDA_ERROR_INVALID_VALUE);
    }
}

// A null pointer of the caller's is an error, and no call writes through it.
static void null_pointers_are_refused(void) {
    CUmemoryPool pool;
    CUdeviceptr address;
    start();
    REQUIRE(cu.cuDeviceGetDefaultMemPool(&pool, 0) == CUDA_SUCCESS);
    REQUIRE(cu.cuMemAllocAsync(NULL, KIB, NULL) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(cu.cuMemAllocFromPoolAsync(NULL, KIB, pool, NULL) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(cu.cuMemPoolCreate(NULL, NULL) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(cu.cuMemPoolCreate(&pool, NULL) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(cu.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, NULL) ==
            CUDA_ERROR_INVALID_VALUE);
    REQUIRE(cu.cuMemPoolGetAccess(NULL, pool, NULL) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(cu.cuDeviceGetDefaultMemPool(NULL, 0) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(cu.cuDeviceGetMemPool(NULL, 0) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(cu.cuMemAllocAsync(&address, (size_t)1 << 50, NULL) == CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE(cu.cuMemFreeAsync(0, NULL) == CUDA_SUCCESS);
}

// A context of this thread's is synchronised by its handle in a thread that has another, or none,
// and that thread has the same current afterwards.
static void *synchronize_by_handle(void *context) {
    CUcontext current = NULL;
    REQUIRE(cu.cuCtxSynchronize_v2(context) == CUDA_SUCCESS);
    REQUIRE(cu.cuCtxGetCurrent(&current) == CUDA_SUCCESS && !current);
    REQUIRE(cu.cuCtxSynchronize() == CUDA_ERROR_INVALID_CONTEXT);
    return NULL;
}

static void contexts_stay_as_they_are(void) {
    pthread_t thread;
    CUcontext context = start();
    allocate(CUDA_SUCCESS);
    REQUIRE(pthread_create(&thread, NULL, synchronize_by_handle, context) == 0);
    pthread_join(thread, NULL);
}

// --------------------------------------------------------------------------------------------- all

// Those of a look-up that finds the driver's own function are for the drop-in that is loaded before
// a program.
// clang-format off
#define PRELOAD_TRAPS(X) \
    X(unknown_names_are_the_drivers) \
    X(the_driver_finds_its_own) \
    X(versions_of_dlsym_are_both_there) \
    X(forms_go_by_the_drivers_answer) \
    X(raised_privileges_leave_us_out)

#define TRAPS(X) \
    X(names_are_exact) \
    X(null_handle_is_the_callers) \
    X(functions_of_others_are_theirs) \
    X(next_is_the_callers_next) \
    X(repeated_looks_find_the_same) \
    X(threads_look_up_at_once) \
    X(what_the_driver_lacks_is_told_right) \
    X(questions_are_answered_as_the_driver_does) \
    X(pools_are_found_where_the_driver_has_none) \
    X(nothing_starts_before_a_pool_is_used) \
    X(forked_before_use_works) \
    X(forked_after_use_is_refused) \
    X(no_handle_goes_astray) \
    X(pools_of_the_driver_come_and_go) \
    X(null_pointers_are_refused) \
    X(contexts_stay_as_they_are)
// clang-format on

int main(int count, char **arguments) {
#define RUN(name)                                                                                  \
    if (count == 2 && strcmp(arguments[1], #name) == 0) {                                          \
        name();                                                                                    \
        return 0;                                                                                  \
    }
    PRELOAD_TRAPS(RUN)
    TRAPS(RUN)
#undef RUN
    fprintf(stderr, "usage: trap NAME\n");
    return 2;
}
