// act WHAT [FILE]: a program whose processes do something that `streampool run` must tell right.
#include "dropin/ways.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1024 * 1024 };

static const char *file;

static void must(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "not so: %s\n", what);
    exit(1);
}

#define MUST(holds) must((holds), #holds)

static void start(void) {
    CUcontext context = NULL;
    find_calls("dlsym", NULL);
    MUST(cu.cuInit(0) == CUDA_SUCCESS);
    MUST(cu.cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
    MUST(cu.cuCtxSetCurrent(context) == CUDA_SUCCESS);
}

static void allocate(int pairs) {
    CUdeviceptr address = 0;
    for (int i = 0; i < pairs; i++) {
        MUST(cu.cuMemAllocAsync(&address, MIB, NULL) == CUDA_SUCCESS);
        MUST(cu.cuMemFreeAsync(address, NULL) == CUDA_SUCCESS);
    }
}

static void three_pairs(void) {
    start();
    allocate(3);
}

// Of memory of the host: the default pool, and two of the program's own.
static void host_pools(void) {
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_HOST, 0}};
    CUmemoryPool pools[3] = {NULL};
    CUdeviceptr address = 0;
    start();
    MUST(cu.cuMemGetDefaultMemPool(&pools[0], &props.location, props.allocType) == CUDA_SUCCESS);
    MUST(cu.cuMemPoolCreate(&pools[1], &props) == CUDA_SUCCESS);
    props.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    MUST(cu.cuMemPoolCreate(&pools[2], &props) == CUDA_SUCCESS);
    for (size_t i = 0; i < 3; i++) {
        MUST(cu.cuMemAllocFromPoolAsync(&address, MIB, pools[i], NULL) == CUDA_SUCCESS);
        MUST(cu.cuMemFreeAsync(address, NULL) == CUDA_SUCCESS);
    }
}

static void tell_threshold(void) {
    CUmemoryPool pool = NULL;
    uint64_t threshold = 0;
    start();
    MUST(cu.cuDeviceGetDefaultMemPool(&pool, 0) == CUDA_SUCCESS);
    MUST(cu.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold) ==
         CUDA_SUCCESS);
    printf("%llu\n", (unsigned long long)threshold);
}

// Allocates twice what the device has, 16 MiB at a time, and prints how much of it there was.
static void twice_the_device(void) {
    CUdeviceptr address = 0;
    size_t had = 0, total = 0, piece = 16 * (size_t)MIB;
    start();
    MUST(cu.cuMemGetInfo_v2(&had, &total) == CUDA_SUCCESS);
    for (had = 0; had < 2 * total; had += piece)
        if (cu.cuMemAllocAsync(&address, piece, NULL) != CUDA_SUCCESS)
            break;
    printf("%zu of %zu\n", had / MIB, 2 * total / MIB);
}

// Looks the driver's functions up, and makes no pool call.
static void only_look(void) {
    start();
}

static void open_only(void) {
    MUST(dlopen("libcuda.so.1", RTLD_NOW));
}

static int wait_for(pid_t child) {
    int status = -1;
    MUST(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Each has a driver of its own, as it forks before the first use.
static void workers(void) {
    for (int i = 1; i <= 2; i++) {
        pid_t child = fork();
        if (child == 0) {
            start();
            allocate(i);
            exit(0);
        }
        MUST(wait_for(child) == 0);
    }
}

// The parent's counts aren't the child's.
static void fork_behind(void) {
    three_pairs();
    pid_t child = fork();
    if (child == 0)
        exit(4);
    MUST(wait_for(child) == 4);
}

static void become_another(void) {
    three_pairs();
    execl("/bin/true", "true", (char *)NULL);
}

static void die(void) {
    three_pairs();
    raise(SIGKILL);
}

static void leave(void) {
    three_pairs();
    _exit(5);
}

// The memory is there until after main().
static CUdeviceptr kept;
static void free_kept(void) {
    cu.cuMemFreeAsync(kept, NULL);
}
static void free_at_exit(void) {
    start();
    MUST(atexit(free_kept) == 0);
    MUST(cu.cuMemAllocAsync(&kept, MIB, NULL) == CUDA_SUCCESS);
}

static atomic_int rounds;
static void *allocate_for_ever(void *context) {
    CUdeviceptr address = 0;
    cu.cuCtxSetCurrent(context);
    while (cu.cuMemAllocAsync(&address, MIB, NULL) == CUDA_SUCCESS &&
           cu.cuMemFreeAsync(address, NULL) == CUDA_SUCCESS)
        atomic_fetch_add(&rounds, 1);
    return NULL;
}

// main() returns while they allocate.
static void threads(void) {
    CUcontext context = NULL;
    pthread_t thread;
    start();
    MUST(cu.cuCtxGetCurrent(&context) == CUDA_SUCCESS);
    for (int i = 0; i < 4; i++)
        MUST(pthread_create(&thread, NULL, allocate_for_ever, context) == 0);
    while (atomic_load(&rounds) < 100)
        ;
}

// Each thread was asked to end before it makes its calls, of which the first one begins all.
static void *allocate_and_end(void *pairs) {
    pthread_cancel(pthread_self());
    start();
    allocate(*(int *)pairs);
    *(int *)pairs = 0;
    pthread_testcancel();
    return NULL;
}

static void cancelled_threads(void) {
    for (int i = 1; i <= 20; i++) {
        int pairs = 100 * i;
        pthread_t thread;
        void *end = NULL;
        MUST(pthread_create(&thread, NULL, allocate_and_end, &pairs) == 0);
        MUST(pthread_join(thread, &end) == 0);
        MUST(end == PTHREAD_CANCELED && pairs == 0);
    }
    three_pairs();
}

// A library that reaches the driver past everybody.
static void unseen(void) {
    void (*act)(void) = NULL;
    three_pairs();
    void *library = dlopen(file, RTLD_NOW | RTLD_DEEPBIND);
    MUST(library);
    *(void **)&act = dlsym(library, "allocate_unseen");
    MUST(act);
    act();
}

// Looked up in all libraries, as a program does that has made the driver's names global.
static void look_in_all(void) {
    MUST(dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL));
    MUST(dlsym(RTLD_DEFAULT, "cuMemAllocAsync"));
    MUST(dlsym(RTLD_DEFAULT, "cuInit"));
    MUST(!dlsym(RTLD_DEFAULT, "cuNoSuchCall"));
    MUST(dlsym(RTLD_DEFAULT, "malloc"));
}

// clang-format off
#define ACTS(X) \
    X(three_pairs) X(host_pools) X(tell_threshold) X(twice_the_device) X(only_look) X(open_only) X(workers) X(fork_behind) X(become_another) X(die) \
    X(leave) X(free_at_exit) X(threads) X(cancelled_threads) X(unseen) X(look_in_all)
// clang-format on

int main(int count, char **arguments) {
    file = count > 2 ? arguments[2] : NULL;
#define RUN(name)                                                                                  \
    if (count > 1 && strcmp(arguments[1], #name) == 0) {                                           \
        name();                                                                                    \
        return 0;                                                                                  \
    }
    ACTS(RUN)
#undef RUN
    fprintf(stderr, "usage: act WHAT [FILE]\n");
    return 2;
}
