// A program that uses the pools, for tests of what the library tells about a process: the argument
// names what it does. It is linked with the shared library, as a user's program is.
#include "driver/driver.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <streampool/streampool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB(n) ((size_t)(n) << 20)

static const struct sp_driver *driver;

static void require(int good, const char *what) {
    if (good)
        return;
    fprintf(stderr, "FAILED: %s: %s\n", what, poolGetLastErrorDetail());
    exit(1);
}

#define REQUIRE(call) require((call) == 0, #call)

static void begin(void) {
    CUcontext context;
    REQUIRE(sp_driver_load(&driver));
    REQUIRE(driver->cuInit(0));
    REQUIRE(driver->cuDevicePrimaryCtxRetain(&context, 0));
    REQUIRE(driver->cuCtxSetCurrent(context));
}

static CUstream new_stream(unsigned int flags) {
    CUstream stream;
    REQUIRE(driver->cuStreamCreate(&stream, flags));
    return stream;
}

static CUevent new_event(void) {
    CUevent event;
    REQUIRE(driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    return event;
}

__attribute__((noinline)) static void *allocate(size_t size, CUstream stream) {
    void *memory;
    REQUIRE(poolMallocAsync(&memory, size, stream));
    return memory;
}

// -------------------------------------------------------------------------------------- scenarios

static void do_nothing(void) {
}

// Of three blocks one is freed.
static void leak(void) {
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    void *freed = allocate(MIB(4), stream);
    allocate(1000, stream);
    allocate(MIB(2), stream);
    REQUIRE(poolFreeAsync(freed, stream));
    REQUIRE(poolStreamSynchronize(stream));
}

static void *freed_at_exit;
static void free_at_exit(void) {
    REQUIRE(poolFree(freed_at_exit));
}

// The handler was registered before the library did anything.
static void free_late(void) {
    require(atexit(free_at_exit) == 0, "atexit");
    freed_at_exit = allocate(MIB(1), new_stream(CU_STREAM_NON_BLOCKING));
}

static void fork_child(void) {
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    void *memory = allocate(MIB(1), stream);
    fflush(NULL);
    pid_t child = fork();
    require(child >= 0, "fork");
    if (child == 0) {
        require(poolFreeAsync(memory, stream) == poolErrorInitializationError, "the child's free");
        exit(0);
    }
    int status;
    require(waitpid(child, &status, 0) == child && status == 0, "the child's end");
    REQUIRE(poolFreeAsync(memory, stream));
}

// A free that fails leaves the block live; so does one of a pointer that nobody knows.
static void fail(void) {
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    char *memory = allocate(MIB(1), stream);
    void *none;
    require(poolFreeAsync(memory + 512, stream) == poolErrorInvalidValue, "an interior pointer");
    require(poolMallocAsync(&none, (size_t)1 << 50, stream) == poolErrorMemoryAllocation,
            "too large an allocation");
    REQUIRE(driver->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    require(poolFreeAsync(memory, stream) == poolErrorInvalidValue, "a free in a capture");
    CUgraph graph;
    REQUIRE(driver->cuStreamEndCapture(stream, &graph));
    require(graph != NULL, "the capture is still whole");
}

static void destroy_pools(void) {
    struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                     .location = {poolMemLocationTypeDevice, 0}};
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 3; i++) {
        poolMemPool_t pool;
        void *memory;
        REQUIRE(poolMemPoolCreate(&pool, &props));
        REQUIRE(poolMallocFromPoolAsync(&memory, MIB(8), pool, stream));
        REQUIRE(poolFreeAsync(memory, stream));
        REQUIRE(poolMemPoolDestroy(pool));
    }
}

// Blocks of three call stacks: 2 MiB together, 3 MiB together, and one alone of 2.5 MiB.
__attribute__((noinline)) static void leak_small(CUstream stream) {
    for (volatile int i = 0; i < 4; i++)
        allocate(MIB(1) / 2, stream);
}

__attribute__((noinline)) static void leak_more(CUstream stream) {
    for (volatile size_t i = 1; i <= 2; i++) // not unrolled
        allocate(MIB(i), stream);
}

static void leak_by_stacks(void) {
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    leak_small(stream);
    leak_more(stream);
    allocate(MIB(5) / 2, NULL);
    allocate(1000, CU_STREAM_PER_THREAD);
}

// Pools with names that the environment may know, and what each of them keeps.
static void name_pools(void) {
    static const char *const names[] = {"cache", "a \"b\" \\ c", "K\xc3\xa4se", NULL};
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .location = {poolMemLocationTypeDevice, 0}};
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        poolMemPool_t pool;
        void *memory;
        uint64_t threshold, delay;
        REQUIRE(poolMemPoolCreate(&pool, &props));
        REQUIRE(poolMemPoolSetName(pool, names[i]));
        REQUIRE(poolMallocFromPoolAsync(&memory, MIB(i + 1), pool, stream));
        REQUIRE(poolFreeAsync(memory, stream));
        REQUIRE(poolMemPoolGetAttribute(pool, poolMemPoolAttrReleaseThreshold, &threshold));
        REQUIRE(poolMemPoolGetAttribute(pool, poolMemPoolAttrReleaseDelay, &delay));
        printf("%llu %llu\n", (unsigned long long)threshold, (unsigned long long)delay);
    }
}

// One of no device's.
static void use_pool_of_host(void) {
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .location = {poolMemLocationTypeHost, 0}};
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    poolMemPool_t pool;
    void *memory;
    REQUIRE(poolMemPoolCreate(&pool, &props));
    REQUIRE(poolMallocFromPoolAsync(&memory, MIB(1), pool, stream));
    REQUIRE(poolFreeAsync(memory, stream));
}

static void use_host_pool(void) {
    const struct poolMemLocation host = {poolMemLocationTypeHost, 0};
    poolMemPool_t pool;
    void *memory;
    REQUIRE(poolMemGetDefaultMemPool(&pool, &host, poolMemAllocationTypePinned));
    REQUIRE(poolMallocFromPool(&memory, MIB(1), pool));
    REQUIRE(poolFree(memory));
}

static poolMemPool_t pool_at(enum poolMemAllocationType type, enum poolMemLocationType place,
                             unsigned short usage) {
    const struct poolMemPoolProps props = {
        .allocType = type, .location = {.type = place}, .usage = usage};
    poolMemPool_t pool;
    REQUIRE(poolMemPoolCreate(&pool, &props));
    return pool;
}

// A pool of each place gives a block, the first of 2 MiB, each one of 2 MiB more.
static void use_places(void) {
    const poolMemPool_t pools[] = {
        pool_at(poolMemAllocationTypePinned, poolMemLocationTypeDevice, 0),
        pool_at(poolMemAllocationTypePinned, poolMemLocationTypeHost, 0),
        pool_at(poolMemAllocationTypePinned, poolMemLocationTypeHostNuma, 0),
        pool_at(poolMemAllocationTypePinned, poolMemLocationTypeHost, poolMemPoolUsageStaging),
        pool_at(poolMemAllocationTypeManaged, poolMemLocationTypeNone, 0)};
    enum { POOLS = sizeof pools / sizeof pools[0] };
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    void *blocks[POOLS], *none;
    for (size_t i = 0; i < POOLS; i++)
        REQUIRE(poolMallocFromPoolAsync(&blocks[i], MIB(2 * (i + 1)), pools[i], stream));
    require(poolMallocFromPoolAsync(&none, MIB(1) << 30, pools[1], stream) ==
                poolErrorMemoryAllocation,
            "2^50 bytes are too many");
    for (size_t i = 0; i < POOLS; i++)
        REQUIRE(poolFreeAsync(blocks[i], stream));
    REQUIRE(poolStreamSynchronize(stream));
    REQUIRE(poolMemPoolTrimTo(pools[0], 0));
    REQUIRE(poolMemPoolTrimTo(pools[4], 4096));
}

// ------------------------------------------------------------------------------------- signals

static int has_lines(const char *path, const char *part) {
    char line[65536];
    int found = 0;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        found += strstr(line, part) != NULL;
    if (file)
        fclose(file);
    return found;
}

// What the signal has written stands in a file, whose name the environment has.
static void await_report(const char *part) {
    const char *path = getenv("OBSERVED_FILE");
    while (!has_lines(path, part))
        usleep(1000);
}

static void ask_by_signal(void) {
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    void *memory = allocate(MIB(3), stream);
    require(raise(SIGUSR1) == 0, "raise");
    await_report("3145728");
    REQUIRE(poolFreeAsync(memory, stream));
    for (int i = 0; i < 50; i++)
        require(raise(SIGUSR1) == 0, "raise");
}

// The process ends at once.
static void ask_last(void) {
    allocate(MIB(3), new_stream(CU_STREAM_NON_BLOCKING));
    require(raise(SIGUSR1) == 0, "raise");
}

// A child's signal does nothing, and the parent's goes on.
static void ask_in_child(void) {
    int status = 1;
    allocate(MIB(3), new_stream(CU_STREAM_NON_BLOCKING));
    pid_t child = fork();
    if (child == 0) {
        raise(SIGUSR1);
        _exit(0);
    }
    require(waitpid(child, &status, 0) == child && status == 0, "the child's end");
    require(raise(SIGUSR1) == 0, "raise");
    await_report("3145728");
}

static volatile sig_atomic_t noted;
static void note(int number) {
    (void)number;
    noted++;
}

static void ask_with_own_handler(void) {
    allocate(MIB(3), new_stream(CU_STREAM_NON_BLOCKING));
    require(raise(SIGUSR1) == 0 && noted == 1, "the program's handler");
}

static void set_handler_later(void) {
    allocate(MIB(3), new_stream(CU_STREAM_NON_BLOCKING));
    require(signal(SIGUSR1, note) != SIG_ERR, "signal");
    require(raise(SIGUSR1) == 0 && noted == 1, "the program's handler");
}

// Threads allocate while others are asked.
static atomic_bool over;
static void *ask_often(void *unused) {
    do {
        kill(getpid(), SIGUSR1);
        usleep(500);
    } while (!atomic_load(&over));
    return unused;
}

static void play_threads(void);
static void play_and_ask(void) {
    pthread_t thread;
    allocate(MIB(1), new_stream(CU_STREAM_NON_BLOCKING)); // from then on somebody listens
    require(pthread_create(&thread, NULL, ask_often, NULL) == 0, "pthread_create");
    play_threads();
    atomic_store(&over, true);
    require(pthread_join(thread, NULL) == 0, "pthread_join");
}

static void print_attributes(void) {
    poolMemPool_t pool;
    uint64_t threshold, delay;
    int follow;
    REQUIRE(poolDeviceGetDefaultMemPool(&pool, 0));
    REQUIRE(poolMemPoolGetAttribute(pool, poolMemPoolAttrReleaseThreshold, &threshold));
    REQUIRE(poolMemPoolGetAttribute(pool, poolMemPoolAttrReleaseDelay, &delay));
    REQUIRE(poolMemPoolGetAttribute(pool, poolMemPoolReuseFollowEventDependencies, &follow));
    printf("%llu %llu %d\n", (unsigned long long)threshold, (unsigned long long)delay, follow);
}

// All acts that a trace tells, one after the other.
static void act(void) {
    CUstream first = new_stream(CU_STREAM_NON_BLOCKING), second = new_stream(0);
    CUevent event = new_event();
    void *a = allocate(MIB(1), first), *b = allocate(MIB(2), NULL);
    void *c = allocate(MIB(3), CU_STREAM_PER_THREAD);
    REQUIRE(poolEventRecord(event, first));
    REQUIRE(poolStreamWaitEvent(second, event, 0));
    REQUIRE(poolFreeAsync(a, second));
    REQUIRE(poolEventSynchronize(event));
    REQUIRE(poolEventQuery(event));
    REQUIRE(poolStreamSynchronize(second));
    REQUIRE(poolStreamQuery(second));
    REQUIRE(poolFree(b));
    REQUIRE(poolFreeAsync(c, CU_STREAM_PER_THREAD));
    REQUIRE(poolDeviceSynchronize());
    REQUIRE(poolEventDestroy(event));
    REQUIRE(poolStreamDestroy(first));
    poolMemPool_t pool;
    REQUIRE(poolDeviceGetDefaultMemPool(&pool, 0));
    REQUIRE(poolMemPoolTrimTo(pool, 4096));
}

// Frees behind several streams, behind one, and one that is refused.
static void free_behind(void) {
    CUstream streams[3];
    for (int i = 0; i < 3; i++)
        streams[i] = new_stream(CU_STREAM_NON_BLOCKING);
    void *large = allocate(MIB(1), streams[0]), *small = allocate(1000, streams[1]);
    require(poolFreeAsyncAfter((char *)large + 512, streams, 3) == poolErrorInvalidValue,
            "a free of an interior pointer");
    REQUIRE(poolFreeAsyncAfter(large, streams, 3));
    REQUIRE(poolFreeAsyncAfter(small, streams + 1, 1));
}

static void allocate_for_growth(const struct poolMemPoolGrowth *growth, void *stream) {
    (void)growth;
    REQUIRE(poolFreeAsync(allocate(1000, stream), stream));
}

static void observe_growth(void) {
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    poolMemPool_t pool;
    REQUIRE(poolDeviceGetDefaultMemPool(&pool, 0));
    REQUIRE(poolMemPoolSetGrowthObserver(pool, allocate_for_growth, stream));
    REQUIRE(poolFreeAsync(allocate(MIB(4), stream), stream));
}

// A stream that is made where another one was destroyed often has its handle.
static void renew_streams(void) {
    for (int i = 0; i < 3; i++) {
        CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
        REQUIRE(poolFreeAsync(allocate(MIB(1), stream), stream));
        REQUIRE(poolStreamDestroy(stream));
    }
}

// Default streams of two contexts, and of threads that come one after the other.
static void *use_own_stream(void *context) {
    REQUIRE(driver->cuCtxSetCurrent(context));
    REQUIRE(poolFreeAsync(allocate(MIB(1), CU_STREAM_PER_THREAD), CU_STREAM_PER_THREAD));
    return NULL;
}

static void use_default_streams(void) {
    CUcontext first, second;
    REQUIRE(driver->cuCtxGetCurrent(&first));
    REQUIRE(poolFreeAsync(allocate(MIB(1), NULL), NULL));
    REQUIRE(driver->cuCtxCreate(&second, 0, 0));
    REQUIRE(poolFreeAsync(allocate(MIB(1), NULL), NULL));
    REQUIRE(poolFreeAsync(allocate(MIB(1), CU_STREAM_PER_THREAD), CU_STREAM_PER_THREAD));
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        require(pthread_create(&thread, NULL, use_own_stream, i % 2 ? first : second) == 0,
                "pthread_create");
        require(pthread_join(thread, NULL) == 0, "pthread_join");
    }
}

// Threads that allocate and end, and never tell how far their streams have come.
static void *allocate_in_thread(void *memory) {
    CUcontext context;
    REQUIRE(driver->cuDevicePrimaryCtxRetain(&context, 0));
    REQUIRE(driver->cuCtxSetCurrent(context));
    *(void **)memory = allocate(MIB(1), CU_STREAM_PER_THREAD);
    return NULL;
}

static void end_threads(void) {
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 12; i++) {
        pthread_t thread;
        void *memory;
        require(pthread_create(&thread, NULL, allocate_in_thread, &memory) == 0, "pthread_create");
        require(pthread_join(thread, NULL) == 0, "pthread_join");
        REQUIRE(poolFreeAsync(memory, stream));
    }
}

// A destructor that comes behind the driver's own finds its thread with another default stream.
static void free_at_end(void *memory) {
    void *last = allocate(MIB(2), CU_STREAM_PER_THREAD);
    REQUIRE(poolFreeAsync(memory, CU_STREAM_PER_THREAD));
    REQUIRE(poolFreeAsync(last, CU_STREAM_PER_THREAD));
}

static pthread_key_t kept;

static void *keep_to_end(void *context) {
    REQUIRE(driver->cuCtxSetCurrent(context));
    void *memory = allocate(MIB(1), CU_STREAM_PER_THREAD);
    require(pthread_setspecific(kept, memory) == 0, "pthread_setspecific");
    return NULL;
}

static void free_in_destructors(void) {
    CUcontext context;
    REQUIRE(driver->cuCtxGetCurrent(&context));
    require(pthread_key_create(&kept, free_at_end) == 0, "pthread_key_create");
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        require(pthread_create(&thread, NULL, keep_to_end, context) == 0, "pthread_create");
        require(pthread_join(thread, NULL) == 0, "pthread_join");
    }
}

// A default stream can't be destroyed.
static void fail_to_destroy(void) {
    void *memory = allocate(MIB(1), NULL);
    require(poolStreamDestroy(NULL) != poolSuccess, "the end of a default stream");
    REQUIRE(poolFreeAsync(memory, NULL));
}

// Streams that end by the driver's own call.
static void end_streams(void) {
    for (int i = 0; i < 40; i++) {
        CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
        REQUIRE(poolFreeAsync(allocate(MIB(1), stream), stream));
        REQUIRE(poolStreamSynchronize(stream));
        REQUIRE(driver->cuStreamDestroy(stream));
    }
}

// An allocation that fails, and then the worst.
static void crash(void) {
    void *none;
    allocate(MIB(1), new_stream(CU_STREAM_NON_BLOCKING));
    require(poolMallocAsync(&none, (size_t)1 << 50, NULL) == poolErrorMemoryAllocation,
            "too large an allocation");
    _exit(0);
}

static void allocate_much(void) {
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 4000; i++)
        REQUIRE(poolFreeAsync(allocate(MIB(1), stream), stream));
}

// Closes all files that it hasn't opened, as a daemon does, and opens one of its own.
static void close_files(void) {
    const char *path = getenv("OBSERVED_FILE");
    allocate(MIB(1), new_stream(CU_STREAM_NON_BLOCKING));
    for (int i = 3; i < 64; i++)
        close(i);
    FILE *own = fopen(path ? path : "/dev/null", "w");
    require(own != NULL, "the program's own file");
    for (int i = 3; i < 64; i++) // under whatever number the trace had
        if (i != fileno(own))
            dup2(fileno(own), i);
    allocate_much();
    fputs("mine\n", own);
    require(fclose(own) == 0, "the program's own file");
}

// A child that goes on when its parent has ended.
static void leave_child(void) {
    int ends[2];
    REQUIRE(pipe(ends));
    allocate(MIB(1), new_stream(CU_STREAM_NON_BLOCKING));
    pid_t child = fork();
    require(child >= 0, "fork");
    if (child == 0) {
        char byte;
        close(ends[1]);
        setsid();
        require(freopen("/dev/null", "w", stdout) != NULL, "freopen");
        require(freopen("/dev/null", "w", stderr) != NULL, "freopen");
        require(read(ends[0], &byte, 1) == 0, "the parent's end");
        sleep(1);
        _exit(0);
    }
}

static void print_statistics(void) {
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    poolMemPool_t pool;
    REQUIRE(poolFreeAsync(allocate(MIB(1), stream), stream));
    REQUIRE(poolFreeAsync(allocate(MIB(1), stream), stream));
    REQUIRE(poolDeviceGetDefaultMemPool(&pool, 0));
    REQUIRE(poolMemPoolPrintStatistics(pool, stdout));
    require(poolMemPoolPrintStatistics(pool, NULL) == poolErrorInvalidValue, "no file");
    require(poolMemPoolPrintStatistics(NULL, stdout) == poolErrorInvalidValue, "no pool");
    FILE *full = fopen("/dev/full", "w");
    require(full != NULL, "/dev/full");
    require(poolMemPoolPrintStatistics(pool, full) == poolErrorOperatingSystem, "a full disk");
}

// ---------------------------------------------------------------------------- threads and streams

enum { THREADS = 4, STREAMS = 8, ROUNDS = 300, BLOCKS = 6 };

// Each thread has streams of its own, a ring in which each thread frees what the one before it has
// allocated, and events that order the two.
static CUstream streams[STREAMS];
static struct {
    void *block;
    CUevent ready;
} handed[THREADS];
static pthread_barrier_t barrier;

static size_t size_of(int thread, int round, int block) {
    return (size_t)(1 + (thread * 7 + round * 13 + block * 29) % 61) << (8 + (round + block) % 9);
}

static void play_round(int thread, int round) {
    CUstream mine[2] = {streams[2 * thread], streams[2 * thread + 1]};
    void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = allocate(size_of(thread, round, i), mine[i % 2]);
    handed[thread].block = allocate(size_of(thread, round, BLOCKS), mine[0]);
    REQUIRE(poolEventRecord(handed[thread].ready, mine[0]));
    pthread_barrier_wait(&barrier);
    int before = (thread + THREADS - 1) % THREADS;
    REQUIRE(poolStreamWaitEvent(mine[1], handed[before].ready, 0));
    REQUIRE(poolFreeAsync(handed[before].block, mine[1]));
    for (int i = 0; i < BLOCKS; i++)
        REQUIRE(poolFreeAsync(blocks[i], mine[i % 2]));
    if (round % 10 == 9)
        REQUIRE(poolStreamSynchronize(mine[round / 10 % 2]));
    pthread_barrier_wait(&barrier);
}

static void *play(void *argument) {
    int thread = *(const int *)argument;
    CUcontext context;
    REQUIRE(driver->cuDevicePrimaryCtxRetain(&context, 0));
    REQUIRE(driver->cuCtxSetCurrent(context));
    for (int round = 0; round < ROUNDS; round++)
        play_round(thread, round);
    return NULL;
}

// Prints the pool's peaks.
static void play_threads(void) {
    pthread_t threads[THREADS];
    int numbers[THREADS];
    uint64_t used, reserved;
    poolMemPool_t pool;
    require(pthread_barrier_init(&barrier, NULL, THREADS) == 0, "pthread_barrier_init");
    for (int i = 0; i < STREAMS; i++)
        streams[i] = new_stream(i % 2 ? 0 : CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        handed[i].ready = new_event();
    }
    for (int i = 0; i < THREADS; i++)
        require(pthread_create(&threads[i], NULL, play, &numbers[i]) == 0, "pthread_create");
    for (int i = 0; i < THREADS; i++)
        require(pthread_join(threads[i], NULL) == 0, "pthread_join");
    REQUIRE(poolDeviceGetDefaultMemPool(&pool, 0));
    REQUIRE(poolMemPoolGetAttribute(pool, poolMemPoolAttrUsedMemHigh, &used));
    REQUIRE(poolMemPoolGetAttribute(pool, poolMemPoolAttrReservedMemHigh, &reserved));
    printf("%llu %llu\n", (unsigned long long)used, (unsigned long long)reserved);
}

// ------------------------------------------------------------------------------------ the program

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"nothing", do_nothing},
    {"leak", leak},
    {"free-late", free_late},
    {"fork", fork_child},
    {"fail", fail},
    {"destroy-pools", destroy_pools},
    {"leak-by-stacks", leak_by_stacks},
    {"name-pools", name_pools},
    {"pool-of-host", use_pool_of_host},
    {"host-pool", use_host_pool},
    {"places", use_places},
    {"ask", ask_by_signal},
    {"ask-last", ask_last},
    {"ask-in-child", ask_in_child},
    {"own-handler", ask_with_own_handler},
    {"later-handler", set_handler_later},
    {"play-and-ask", play_and_ask},
    {"attributes", print_attributes},
    {"act", act},
    {"free-behind", free_behind},
    {"observe-growth", observe_growth},
    {"renew-streams", renew_streams},
    {"default-streams", use_default_streams},
    {"end-threads", end_threads},
    {"free-in-destructors", free_in_destructors},
    {"fail-to-destroy", fail_to_destroy},
    {"end-streams", end_streams},
    {"crash", crash},
    {"much", allocate_much},
    {"close-files", close_files},
    {"leave-child", leave_child},
    {"print", print_statistics},
    {"threads", play_threads},
};

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "own-handler") == 0)
        signal(SIGUSR1, note); // before the library does anything
    for (size_t i = 0; argc == 2 && i < sizeof scenarios / sizeof scenarios[0]; i++) {
        if (strcmp(scenarios[i].name, argv[1]) == 0) {
            begin();
            scenarios[i].run();
            return 0;
        }
    }
    fprintf(stderr, "usage: observed SCENARIO\n");
    return 64;
}
