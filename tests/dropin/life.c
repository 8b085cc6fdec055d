// life NAME: the ends of things under the drop-in: processes, threads, contexts, handles.
#include "dropin/require.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 4 };

// ------------------------------------------------------------------------------------------- forks

static void require_good_end(pid_t child) {
    int status = 1;
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static pid_t start_worker(void (*work)(void)) {
    fflush(NULL);
    pid_t child = fork();
    if (child != 0)
        return child;
    work();
    exit(0); // with all that the process does at its end
}

static CUdeviceptr parents;

// The driver can't be used in a child of a process that has used it, and says so.
static void ask_in_vain(void) {
    CUmemoryPool pool = NULL;
    CUdeviceptr address = 0;
    uint64_t value = 0;
    REQUIRE_CODE(cu.cuMemAllocAsync(&address, KIB, NULL), CUDA_ERROR_NOT_INITIALIZED);
    REQUIRE_CODE(cu.cuMemFreeAsync(parents, NULL), CUDA_ERROR_NOT_INITIALIZED);
    REQUIRE_CODE(cu.cuMemFree_v2(parents), CUDA_ERROR_NOT_INITIALIZED);
    REQUIRE_CODE(cu.cuMemAlloc_v2(&address, KIB), CUDA_ERROR_NOT_INITIALIZED);
    REQUIRE_CODE(cu.cuDeviceGetDefaultMemPool(&pool, 0), CUDA_ERROR_NOT_INITIALIZED);
    REQUIRE_CODE(cu.cuStreamSynchronize(NULL), CUDA_ERROR_NOT_INITIALIZED);
    REQUIRE_CODE(cu.cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
    REQUIRE_CODE(cu.cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_RANGE_SIZE, parents),
                 CUDA_ERROR_NOT_INITIALIZED);
    REQUIRE_CODE(cu.cuMemGetAddressRange_v2(NULL, NULL, parents), CUDA_ERROR_NOT_INITIALIZED);
}

// As a data loader does: the parent uses pools, its workers needn't.
static void workers_of_a_user_of_pools_end_well(void) {
    pid_t workers[WORKERS];
    start();
    parents = allocate(MIB, NULL);
    for (int i = 0; i < WORKERS; i++)
        workers[i] = start_worker(ask_in_vain);
    for (int i = 0; i < WORKERS; i++)
        require_good_end(workers[i]);
    REQUIRE_DONE(cu.cuMemFreeAsync(parents, NULL));
    REQUIRE_DONE(cu.cuCtxSynchronize());
}

static void use_pools(void) {
    start();
    for (int i = 0; i < 10; i++)
        REQUIRE_DONE(cu.cuMemFreeAsync(allocate(MIB, NULL), NULL));
    REQUIRE_DONE(cu.cuCtxSynchronize());
}

// Names were looked up before, and that starts nothing.
static void workers_from_before_the_start_use_pools(void) {
    pid_t workers[WORKERS];
    find_calls("dlsym", NULL);
    for (int i = 0; i < WORKERS; i++)
        workers[i] = start_worker(use_pools);
    use_pools();
    for (int i = 0; i < WORKERS; i++)
        require_good_end(workers[i]);
}

static _Atomic bool over;

static void *use_pools_until_it_is_over(void *context) {
    REQUIRE_DONE(cu.cuCtxSetCurrent(context));
    CUstream stream = new_stream();
    while (!over)
        REQUIRE_DONE(cu.cuMemFreeAsync(allocate(3 * MIB, stream), stream));
    return NULL;
}

// Locks that other threads of the parent held stay taken in the child.
static void workers_start_while_threads_allocate(void) {
    pthread_t threads[2];
    CUcontext context = start();
    parents = allocate(MIB, NULL);
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_create(&threads[i], NULL, use_pools_until_it_is_over, context) == 0);
    for (int i = 0; i < 10; i++)
        require_good_end(start_worker(ask_in_vain));
    over = true;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static CUmemoryPool drivers;

static void *use_pool_of_the_driver(void *unused) {
    uint64_t value = 0;
    (void)unused;
    while (!over)
        REQUIRE_DONE(cu.cuMemPoolGetAttribute(drivers, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value));
    return NULL;
}

// The simulated driver has only pools that answer in a child, too.
static void use_pool_of_the_driver_in_child(void) {
    uint64_t value = 0;
    REQUIRE_DONE(cu.cuMemPoolGetAttribute(drivers, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value));
}

// We look at each pool, to know whose it is.
static void workers_start_while_a_thread_uses_a_pool_of_the_driver(void) {
    pthread_t thread;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    start();
    REQUIRE_DONE(cu.cuMemPoolCreate(&drivers, &props));
    REQUIRE(pthread_create(&thread, NULL, use_pool_of_the_driver, NULL) == 0);
    for (int i = 0; i < 20; i++)
        require_good_end(start_worker(use_pool_of_the_driver_in_child));
    over = true;
    pthread_join(thread, NULL);
}

// --------------------------------------------------------------------------- after the end of main

static CUmemoryPool made;
static CUdeviceptr of_default, of_made;
static CUstream stream;
static int handlers;

static void free_all(void) {
    REQUIRE_DONE(cu.cuMemFreeAsync(of_default, NULL));
    REQUIRE_DONE(cu.cuMemFreeAsync(of_made, stream));
    REQUIRE_DONE(cu.cuStreamSynchronize(stream));
    REQUIRE_DONE(cu.cuMemPoolDestroy(made));
    REQUIRE_DONE(cu.cuStreamDestroy_v2(stream));
    of_default = of_made = 0;
}

static void use_again(void) {
    REQUIRE_DONE(cu.cuMemFreeAsync(allocate(MIB, NULL), NULL));
    REQUIRE_DONE(cu.cuCtxSynchronize());
    REQUIRE_DONE(cu.cuMemPoolTrimTo(default_pool(0), 0));
}

static void early_handler(void) {
    handlers++;
    use_again();
}

static void late_handler(void) {
    handlers++;
    free_all();
}

// It comes behind all handlers, and tells of them by how the process ends.
__attribute__((destructor)) static void end(void) {
    if (!made)
        return;
    if (of_default)
        free_all();
    use_again();
    _exit(handlers == 2 ? 0 : 3);
}

// Static objects of C++ free their memory so.
static void handlers_may_free_and_destroy(void) {
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    REQUIRE(atexit(early_handler) == 0); // before anything of the library's
    start();
    stream = new_stream();
    REQUIRE_DONE(cu.cuMemPoolCreate(&made, &props));
    of_default = allocate(MIB, NULL);
    REQUIRE_DONE(cu.cuMemAllocFromPoolAsync(&of_made, MIB, made, stream));
    REQUIRE(atexit(late_handler) == 0);
    exit(4);
}

// Until the driver shuts down beneath it, from when on every call may fail.
static void *use_pools_to_the_end(void *context) {
    CUstream own = NULL;
    CUdeviceptr address = 0;
    if (cu.cuCtxSetCurrent(context) != CUDA_SUCCESS ||
        cu.cuStreamCreate(&own, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
        return NULL;
    while (cu.cuMemAllocAsync(&address, 3 * MIB, own) == CUDA_SUCCESS &&
           cu.cuMemFreeAsync(address, own) == CUDA_SUCCESS)
        continue;
    return NULL;
}

static void an_exit_waits_for_no_thread(void) {
    pthread_t thread;
    CUcontext context = start();
    allocate(MIB, NULL);
    for (int i = 0; i < 3; i++) {
        REQUIRE(pthread_create(&thread, NULL, use_pools_to_the_end, context) == 0);
        pthread_detach(thread);
    }
    for (int i = 0; i < 100; i++)
        REQUIRE_DONE(cu.cuMemFreeAsync(allocate(MIB, NULL), NULL));
    exit(0);
}

// ----------------------------------------------------------------------------- handles and threads

static void the_drivers_handle_may_be_closed(void) {
    start();
    CUdeviceptr address = allocate(MIB, NULL);
    void *library = NULL;
    for (int i = 0; i < 5; i++) {
        library = dlopen("libcuda.so.1", RTLD_NOW);
        REQUIRE(library);
        REQUIRE((uintptr_t)dlsym(library, "cuMemAllocAsync") == (uintptr_t)cu.cuMemAllocAsync);
        dlclose(library);
    }
    dlclose(library); // that of find_calls
    REQUIRE_DONE(cu.cuMemFreeAsync(address, NULL));
    REQUIRE_DONE(cu.cuMemFreeAsync(allocate(MIB, NULL), NULL));
    find_calls("ask2", NULL);
    REQUIRE_DONE(cu.cuMemFreeAsync(allocate(MIB, NULL), NULL));
    REQUIRE_DONE(cu.cuCtxSynchronize());
}

enum { THREADS = 16, KEPT = 4 };

static CUdeviceptr kept[THREADS][KEPT];
static CUcontext threads_context;

// Leaves memory behind: live, and freed on streams that nobody names any more.
static void *leave_memory(void *place) {
    CUdeviceptr *mine = place;
    REQUIRE_DONE(cu.cuCtxSetCurrent(threads_context));
    CUstream own = new_stream();
    for (int i = 0; i < KEPT; i++) {
        CUstream its = i % 2 ? own : CU_STREAM_PER_THREAD;
        mine[i] = allocate((size_t)MIB << i, its);
        REQUIRE_DONE(cu.cuMemsetD8Async(mine[i], 1, (size_t)MIB << i, its));
        REQUIRE_DONE(cu.cuMemFreeAsync(allocate((size_t)KIB << i, its), its));
    }
    return NULL;
}

static void memory_outlives_its_threads(void) {
    pthread_t threads[THREADS];
    threads_context = start();
    CUmemoryPool pool = default_pool(0);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, leave_memory, kept[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    REQUIRE(pool_figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == THREADS * 15 * MIB);
    for (int i = 0; i < THREADS * KEPT; i++)
        REQUIRE_DONE(cu.cuMemFreeAsync(kept[i / KEPT][i % KEPT], NULL));
    REQUIRE_DONE(cu.cuCtxSynchronize());
    REQUIRE_DONE(cu.cuMemPoolTrimTo(pool, 0));
    REQUIRE(pool_figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
    REQUIRE(pool_figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
}

// clang-format off
#define ROWS(X) \
    X(workers_of_a_user_of_pools_end_well) \
    X(workers_from_before_the_start_use_pools) \
    X(workers_start_while_threads_allocate) \
    X(workers_start_while_a_thread_uses_a_pool_of_the_driver) \
    X(handlers_may_free_and_destroy) \
    X(an_exit_waits_for_no_thread) \
    X(the_drivers_handle_may_be_closed) \
    X(memory_outlives_its_threads)
// clang-format on

MAIN(ROWS)
