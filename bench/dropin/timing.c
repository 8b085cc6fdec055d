// timing: what CUDA's calls for stream-ordered memory cost in a program with the static runtime.
// run.sh runs it in turn with and without the drop-in, and prints both beside each other.
//
// Each line is: the name of the measurement, and the median of its samples in nanoseconds for one
// call or pair. One thread's measurements run on the processor that TIMING_CPU names, if any.
#include <cuda_runtime_api.h>

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

enum { SAMPLES = 41, THREADS = 16 };

static void must(cudaError_t answer, const char *call) {
    if (answer == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", call, cudaGetErrorName(answer));
    exit(1);
}

#define MUST(call) must((call), #call)

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

// The median of samples, each the mean of `count` calls of `call`.
static double measure(void (*call)(void *), void *argument, int count) {
    double samples[SAMPLES];
    for (int i = 0; i < count; i++)
        call(argument);
    for (int sample = 0; sample < SAMPLES; sample++) {
        double start = now();
        for (int i = 0; i < count; i++)
            call(argument);
        samples[sample] = (now() - start) / count;
    }
    qsort(samples, SAMPLES, sizeof *samples, compare);
    return samples[SAMPLES / 2];
}

static void tell(const char *what, double nanoseconds) {
    printf("%s\t%.1f\n", what, nanoseconds);
    fflush(stdout);
}

// ------------------------------------------------------------------------------------------- pairs

struct pair {
    size_t size;
    cudaStream_t stream;
};

static void make_pair(void *argument) {
    const struct pair *pair = argument;
    void *address;
    MUST(cudaMallocAsync(&address, pair->size, pair->stream));
    MUST(cudaFreeAsync(address, pair->stream));
}

static void measure_pairs(cudaStream_t stream, const char *kind) {
    static const struct {
        size_t size;
        const char *text;
    } sizes[] = {{512, "512 B"},         {4 * KIB, "4 KiB"},   {64 * KIB, "64 KiB"},
                 {MIB, "1 MiB"},         {16 * MIB, "16 MiB"}, {64 * MIB, "64 MiB"},
                 {256 * MIB, "256 MiB"}, {1024 * MIB, "1 GiB"}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char what[64];
        struct pair pair = {sizes[i].size, stream};
        snprintf(what, sizeof what, "pair %s, %s", sizes[i].text, kind);
        tell(what, measure(make_pair, &pair, 500));
        MUST(cudaDeviceSynchronize());
    }
}

// ----------------------------------------------------------------------------------------- threads

static pthread_barrier_t barrier;
static size_t thread_size;

static void *run_thread(void *unused) {
    double *seconds = unused;
    struct pair pair = {thread_size, NULL};
    MUST(cudaStreamCreateWithFlags(&pair.stream, cudaStreamNonBlocking));
    for (int i = 0; i < 1000; i++)
        make_pair(&pair);
    pthread_barrier_wait(&barrier);
    double start = now();
    for (int i = 0; i < 20000; i++)
        make_pair(&pair);
    *seconds = now() - start;
    pthread_barrier_wait(&barrier);
    MUST(cudaStreamDestroy(pair.stream));
    return NULL;
}

// The time for one pair of all threads together: the slowest thread's, divided by all pairs.
static void measure_threads(size_t size, const char *what) {
    pthread_t threads[THREADS];
    double times[THREADS], slowest = 0;
    thread_size = size;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run_thread, &times[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        slowest = times[i] > slowest ? times[i] : slowest;
    }
    tell(what, slowest / (20000.0 * THREADS));
}

// ------------------------------------------------------------------------------------ other calls

static cudaStream_t stream, other;
static cudaEvent_t event;

static void query(void *unused) {
    (void)unused;
    MUST(cudaStreamQuery(stream));
}

static void record(void *unused) {
    (void)unused;
    MUST(cudaEventRecord(event, stream));
}

static void wait_event(void *unused) {
    (void)unused;
    MUST(cudaStreamWaitEvent(other, event, 0));
}

static void query_event(void *unused) {
    (void)unused;
    MUST(cudaEventQuery(event));
}

static void synchronize(void *unused) {
    (void)unused;
    MUST(cudaStreamSynchronize(stream));
}

static void free_and_record(void *argument) {
    make_pair(argument);
    record(NULL);
}

// Calls of which nothing is wanted: what the runtime and the way to the driver's functions cost.
static void make_nothing(void *argument) {
    const struct pair *pair = argument;
    void *address;
    MUST(cudaMallocAsync(&address, 0, pair->stream));
    MUST(cudaFreeAsync(NULL, pair->stream));
}

static void measure_other_calls(void) {
    struct pair pair = {MIB, stream};
    MUST(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    tell("stream query", measure(query, NULL, 500));
    tell("event record", measure(record, NULL, 500));
    tell("stream wait", measure(wait_event, NULL, 500));
    MUST(cudaDeviceSynchronize());
    tell("event query", measure(query_event, NULL, 500));
    tell("stream synchronise", measure(synchronize, NULL, 500));
    tell("pair of nothing", measure(make_nothing, &pair, 500));
    tell("pair 1 MiB and event record", measure(free_and_record, &pair, 500));
}

// Keeps the thread on one processor, so that runs with and without the drop-in have the same one.
static void keep_on_processor(const char *number) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)atoi(number), &one);
    sched_setaffinity(0, sizeof one, &one);
}

int main(void) {
    cpu_set_t all_processors;
    const char *processor = getenv("TIMING_CPU");
    cudaMemPool_t pool;
    uint64_t all = UINT64_MAX;
    MUST(cudaFree(NULL));
    sched_getaffinity(0, sizeof all_processors, &all_processors);
    if (processor)
        keep_on_processor(processor);
    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    MUST(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    measure_other_calls();
    MUST(cudaDeviceGetDefaultMemPool(&pool, 0));
    MUST(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
    measure_pairs(stream, "created stream");
    measure_pairs(NULL, "legacy stream");
    sched_setaffinity(0, sizeof all_processors, &all_processors);
    measure_threads(4 * KIB, "pair 4 KiB, 16 threads");
    measure_threads(MIB, "pair 1 MiB, 16 threads");
    return 0;
}
