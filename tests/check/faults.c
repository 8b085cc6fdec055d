// faults NAME [STATUS]: a program with one mistake, which its name says, and none besides. It ends
// with the status, 0 without one.
//
// A program that makes no call of a pool doesn't start streampool. What the checker must say of
// each is in faults.sh.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <streampool/simcuda.h>
#include <streampool/streampool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check/driver.h"

enum { SIZE = 4096 };

static CUmodule module;

static void order(CUstream first, CUstream second) {
    CUevent event;
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
    OK(cuEventDestroy_v2(event));
}

static void destroy(CUstream stream) {
    OK(cuStreamSynchronize(stream));
    OK(cuStreamDestroy_v2(stream));
}

// ------------------------------------------------------------------------------------------- races

static void race_of_kernels(void) {
    CUstream a = make_stream(), b = make_stream();
    CUdeviceptr memory = allocate(SIZE);
    fill(module, a, memory, SIZE, 1);
    fill(module, b, memory, SIZE, 2);
    destroy(a);
    destroy(b);
    OK(cuMemFree_v2(memory));
}

static void race_of_copy_and_kernel(void) {
    static char host[SIZE];
    CUstream a = make_stream(), b = make_stream();
    CUdeviceptr memory = allocate(SIZE);
    OK(cuMemcpyHtoDAsync_v2(memory, host, SIZE, a));
    fill(module, b, memory, SIZE, 2);
    destroy(a);
    destroy(b);
    OK(cuMemFree_v2(memory));
}

// The host reads a result before the kernel that makes it is known to be complete.
static void race_of_host_and_kernel(void) {
    static char host[SIZE];
    CUstream a = make_stream();
    CUdeviceptr memory = allocate(SIZE);
    fill(module, a, memory, SIZE, 1);
    OK(cuMemcpyDtoH_v2(host, memory, SIZE));
    destroy(a);
    OK(cuMemFree_v2(memory));
}

// The program ends while the first kernel waits for its turn.
static void race_that_nobody_waits_for(void) {
    CUstream a = make_stream(), b = make_stream();
    uint64_t nanoseconds = 1000000000, flag = 0;
    void *memory, *parameters[] = {&nanoseconds, &flag};
    OK(poolMallocAsync(&memory, SIZE, a));
    OK(cuLaunchKernel(find_kernel(module, "sp_spin"), 1, 1, 1, 1, 1, 1, 0, a, parameters, NULL));
    fill(module, a, (CUdeviceptr)memory, SIZE, 1);
    fill(module, b, (CUdeviceptr)memory, SIZE, 2);
    order(b, a);
    OK(poolFreeAsync(memory, a));
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
}

// The copy reads what the host writes meanwhile.
static void source_changed_too_early(void) {
    CUstream a = make_stream();
    CUdeviceptr memory = allocate(SIZE);
    void *host;
    OK(cuMemHostAlloc(&host, SIZE, 0));
    memset(host, 1, SIZE);
    OK(cuMemcpyHtoDAsync_v2(memory, host, SIZE, a));
    memset(host, 2, SIZE);
    destroy(a);
    OK(cuMemFreeHost(host));
    OK(cuMemFree_v2(memory));
}

static void race_of_copies_to_the_host(void) {
    CUstream a = make_stream(), b = make_stream();
    CUdeviceptr memory = allocate(SIZE);
    void *host;
    OK(cuMemHostAlloc(&host, SIZE, 0));
    OK(cuMemcpyDtoHAsync_v2(host, memory, SIZE, a));
    OK(cuMemcpyDtoHAsync_v2(host, memory, SIZE, b));
    destroy(a);
    destroy(b);
    OK(cuMemFreeHost(host));
    OK(cuMemFree_v2(memory));
}

// Each round has the same mistake at another place.
static void race_in_a_loop(void) {
    CUstream a = make_stream(), b = make_stream();
    for (int i = 0; i < 10; i++) {
        CUdeviceptr memory = allocate(SIZE);
        fill(module, a, memory, SIZE, 1);
        fill(module, b, memory, SIZE, 2);
        OK(cuMemFree_v2(memory));
    }
    destroy(a);
    destroy(b);
}

// ------------------------------------------------------------------------------------------ blocks

static void use_after_free(void) {
    CUstream a = make_stream();
    CUdeviceptr memory = allocate(SIZE);
    fill(module, a, memory, SIZE, 1);
    OK(cuMemFreeAsync(memory, a));
    fill(module, a, memory, SIZE, 2);
    cuStreamSynchronize(a); // the mistake makes it fail
    cuStreamDestroy_v2(a);
}

static void use_after_free_of_a_pool(void) {
    CUstream a = make_stream(), b = make_stream();
    void *memory;
    OK(poolMallocAsync(&memory, SIZE, a));
    OK(poolFreeAsync(memory, a));
    order(a, b);
    fill(module, b, (CUdeviceptr)memory, SIZE, 1);
    destroy(a);
    destroy(b);
}

// A copy or set is refused; a kernel is not.
static void out_of_bounds(void) {
    CUstream a = make_stream();
    CUdeviceptr memory = allocate(SIZE - 96);
    fill(module, a, memory, SIZE, 1);
    destroy(a);
    OK(cuMemFree_v2(memory));
}

// The neighbour's bytes are mapped, so no device would notice.
static void out_of_bounds_of_a_pool(void) {
    CUstream a = make_stream();
    void *memory, *neighbour;
    OK(poolMallocAsync(&memory, 1000, a));
    OK(poolMallocAsync(&neighbour, 1000, a));
    OK(cuMemsetD8Async((CUdeviceptr)memory, 0, 1100, a));
    OK(poolFreeAsync(memory, a));
    OK(poolFreeAsync(neighbour, a));
    destroy(a);
}

static void early_free(void) {
    CUstream a = make_stream(), b = make_stream();
    CUdeviceptr memory = allocate(SIZE);
    fill(module, a, memory, SIZE, 1);
    OK(cuMemFreeAsync(memory, b));
    cuCtxSynchronize(); // the mistake makes it fail
    cuStreamDestroy_v2(a);
    cuStreamDestroy_v2(b);
}

static void early_free_of_a_pool(void) {
    CUstream a = make_stream(), b = make_stream();
    void *memory;
    OK(poolMallocAsync(&memory, SIZE, a));
    order(a, b);
    fill(module, b, (CUdeviceptr)memory, SIZE, 1);
    OK(poolFreeAsync(memory, a));
    destroy(b);
    destroy(a);
}

static void early_free_by_the_host(void) {
    CUstream a = make_stream();
    void *memory;
    OK(poolMallocAsync(&memory, SIZE, a));
    fill(module, a, (CUdeviceptr)memory, SIZE, 1);
    OK(poolFree(memory));
    destroy(a);
}

static void free_twice(void) {
    CUdeviceptr memory = allocate(SIZE);
    OK(cuMemFree_v2(memory));
    cuMemFree_v2(memory);
}

static void free_twice_to_a_pool(void) {
    CUstream a = make_stream();
    void *memory;
    OK(poolMallocAsync(&memory, SIZE, a));
    OK(poolFreeAsync(memory, a));
    poolFreeAsync(memory, a);
    destroy(a);
}

static void free_of_the_middle(void) {
    CUdeviceptr memory = allocate(SIZE);
    cuMemFree_v2(memory + 16);
    OK(cuMemFree_v2(memory));
}

static void leak(void) {
    allocate(SIZE);
}

static void leak_of_a_pool(void) {
    CUstream a = make_stream();
    void *memory;
    OK(poolMallocAsync(&memory, SIZE, a));
    destroy(a);
}

// ------------------------------------------------------------------------------------------- calls

static void unmap_under_work(void) {
    const size_t granule = (size_t)2 << 20;
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    const CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    CUstream a = make_stream();
    OK(cuMemAddressReserve(&address, granule, 0, 0, 0));
    OK(cuMemCreate(&handle, granule, &prop, 0));
    OK(cuMemMap(address, granule, 0, handle, 0));
    OK(cuMemSetAccess(address, granule, &access, 1));
    fill(module, a, address, granule, 1);
    OK(cuMemUnmap(address, granule));
    cuStreamSynchronize(a); // the mistake makes it fail
    cuStreamDestroy_v2(a);
    OK(cuMemRelease(handle));
    OK(cuMemAddressFree(address, granule));
}

static void unsafe_call_in_a_capture(void) {
    CUstream a = make_stream();
    CUdeviceptr memory;
    CUgraph graph;
    OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    cuMemAlloc_v2(&memory, SIZE);
    cuStreamEndCapture(a, &graph);
    destroy(a);
}

static void use_of_a_destroyed_stream(void) {
    CUstream a = make_stream(), b = make_stream();
    CUdeviceptr memory = allocate(SIZE);
    destroy(b);
    cuMemsetD8Async(memory, 0, SIZE, b);
    destroy(a);
    OK(cuMemFree_v2(memory));
}

static void *free_in_a_thread(void *memory) {
    CUcontext context;
    OK(pthread_setname_np(pthread_self(), "cleaner"));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuMemFree_v2((CUdeviceptr)memory));
    return NULL;
}

static void use_of_what_a_thread_freed(void) {
    CUstream a = make_stream();
    CUdeviceptr memory = allocate(SIZE);
    pthread_t thread;
    OK(pthread_create(&thread, NULL, free_in_a_thread, (void *)memory));
    OK(pthread_join(thread, NULL));
    fill(module, a, memory, SIZE, 1);
    cuStreamSynchronize(a); // the mistake makes it fail
    cuStreamDestroy_v2(a);
}

// ----------------------------------------------------------------------------------- other endings

// Its functions have names in call stacks.
__attribute__((visibility("default"), noinline)) void leak_by_name(void);
void leak_by_name(void) {
    leak();
    puts("leaks"); // so that the call above is not the last thing done
}

// The simulated driver keeps a thousand mistakes.
static void leaks_of_many_sizes(void) {
    for (size_t size = 1; size <= 1002; size++)
        allocate(size);
}

static void strange_name(void) {
    CUstream a = make_stream();
    CUdeviceptr memory = allocate(SIZE);
    const simcudaAccess access = {memory, SIZE + 1, simcudaAccessWrite};
    const simcudaWork work = {
        .name = "\"\\\n\xC3\xA4\xFF\xE2\x82", .accesses = &access, .count = 1};
    OK(simcudaEnqueue(a, &work));
    cuStreamSynchronize(a);
    cuStreamDestroy_v2(a);
    cuMemFree_v2(memory);
}

static void *hold_input(void *held) {
    flockfile(stdin);
    sem_post(held);
    pause();
    return NULL;
}

// The thread that has the lock of the stream may as well wait for a line.
static void leak_while_a_thread_reads(void) {
    static sem_t held;
    pthread_t thread;
    leak();
    OK(sem_init(&held, 0, 0));
    OK(pthread_create(&thread, NULL, hold_input, &held));
    while (sem_wait(&held) != 0)
        ;
}

static void leak_and_clear_the_environment(void) {
    leak();
    OK(clearenv());
}

static void leak_and_die(void) {
    leak();
    OK(raise(SIGTERM));
}

// Only the parent uses the driver.
static void leak_of_a_parent(void) {
    int status;
    pid_t child = fork();
    if (child == 0)
        exit(0);
    OK(waitpid(child, &status, 0) != child || status != 0);
    leak();
}

// --------------------------------------------------------------------------------------- the whole

#define FAULTS(X)                                                                                  \
    X(race_of_kernels)                                                                             \
    X(race_of_copy_and_kernel)                                                                     \
    X(race_of_host_and_kernel)                                                                     \
    X(race_that_nobody_waits_for)                                                                  \
    X(source_changed_too_early)                                                                    \
    X(race_of_copies_to_the_host)                                                                  \
    X(race_in_a_loop)                                                                              \
    X(use_after_free)                                                                              \
    X(use_after_free_of_a_pool)                                                                    \
    X(out_of_bounds)                                                                               \
    X(out_of_bounds_of_a_pool)                                                                     \
    X(early_free)                                                                                  \
    X(early_free_of_a_pool)                                                                        \
    X(early_free_by_the_host)                                                                      \
    X(free_twice)                                                                                  \
    X(free_twice_to_a_pool)                                                                        \
    X(free_of_the_middle)                                                                          \
    X(leak)                                                                                        \
    X(leak_of_a_pool)                                                                              \
    X(unmap_under_work)                                                                            \
    X(unsafe_call_in_a_capture)                                                                    \
    X(use_of_a_destroyed_stream)                                                                   \
    X(use_of_what_a_thread_freed)                                                                  \
    X(leaks_of_many_sizes)                                                                         \
    X(leak_by_name)                                                                                \
    X(strange_name)                                                                                \
    X(leak_while_a_thread_reads)                                                                   \
    X(leak_and_clear_the_environment)                                                              \
    X(leak_and_die)                                                                                \
    X(leak_of_a_parent)

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    static const struct {
        const char *name;
        void (*run)(void);
    } faults[] = {
#define ROW(fault) {#fault, fault},
        FAULTS(ROW)
#undef ROW
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (strcmp(name, faults[i].name) != 0)
            continue;
        module = start();
        faults[i].run();
        (void)cuModuleUnload(module);
        printf("done\n");
        return argc > 2 ? atoi(argv[2]) : 0;
    }
    fprintf(stderr, "no fault has the name %s\n", name);
    return 2;
}
