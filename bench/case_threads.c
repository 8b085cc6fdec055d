// Pairs from several threads on one pool, each thread with a stream of its own. More is better here.
#include "bench.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

enum { THREADS_MAX = 16, BATCH = 50, DURATION_NS = 20000000 };

enum start { START_WAIT, START_GO, START_NEVER };

struct crew {
    struct bench *bench;
    CUstream streams[THREADS_MAX];
    const struct subject *subject;
    size_t size;
    int count;
    atomic_int start;
};

struct worker {
    struct crew *crew;
    pthread_t thread;
    CUstream stream;
    double begin;
    double end;
    int pairs;
    int error;
};

// --------------------------------------------------------------------------------------------- one thread

// Threads are started first and then let go together: starting one takes longer than many pairs.
static bool is_let_go(struct crew *crew) {
    int start;
    while ((start = atomic_load(&crew->start)) == START_WAIT)
        sched_yield();
    return start == START_GO;
}

static void *work(void *argument) {
    struct worker *worker = argument;
    struct crew *crew = worker->crew;
    const struct sp_device *device = &crew->bench->device;
    worker->error = (int)device->driver->cuCtxSetCurrent(device->context);
    if (!worker->error)
        worker->error = bench_pairs(crew->subject, crew->size, worker->stream, 1);
    if (!is_let_go(crew))
        return NULL;
    worker->begin = samples_clock();
    do {
        if (!worker->error)
            worker->error = bench_pairs(crew->subject, crew->size, worker->stream, BATCH);
        worker->pairs += BATCH;
        worker->end = samples_clock();
    } while (!worker->error && worker->end - worker->begin < DURATION_NS);
    return NULL;
}

// -------------------------------------------------------------------------------------------- all threads

static int start_all(struct crew *crew, struct worker *workers) {
    int started = 0;
    for (; started < crew->count; started++) {
        workers[started] = (struct worker){.crew = crew, .stream = crew->streams[started]};
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0)
            break;
    }
    return started;
}

static int run(struct crew *crew, struct worker *workers) {
    int error = 0;
    atomic_store(&crew->start, START_WAIT);
    int started = start_all(crew, workers);
    atomic_store(&crew->start, started == crew->count ? START_GO : START_NEVER);
    for (int i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
        error = error ? error : workers[i].error;
    }
    return started == crew->count ? error : CUDA_ERROR_OPERATING_SYSTEM;
}

// Thousands in a second, from when the first one begins until the last one ends.
static double pairs_rate(const struct worker *workers, int count) {
    double begin = workers[0].begin, end = workers[0].end, pairs = 0;
    for (int i = 0; i < count; i++) {
        begin = workers[i].begin < begin ? workers[i].begin : begin;
        end = workers[i].end > end ? workers[i].end : end;
        pairs += workers[i].pairs;
    }
    return 1e6 * pairs / (end - begin);
}

static int measure(struct bench *bench, struct subject *subject, const void *setting, double *values) {
    (void)bench;
    struct crew *crew = *(struct crew *const *)setting;
    struct worker workers[THREADS_MAX];
    crew->subject = subject;
    int error = run(crew, workers);
    if (!error)
        values[0] = pairs_rate(workers, crew->count);
    for (int i = 0; i < crew->count && !error; i++)
        error = subject->synchronize(subject, crew->streams[i]);
    return error;
}

// ----------------------------------------------------------------------------------------------- the case

static int measure_count(struct bench *bench, struct crew *crew) {
    char size[16], label[RESULT_TEXT];
    struct bench_row row = {label, "1,000 pairs/s"};
    snprintf(label, sizeof label, "%s, %d thread%s", bench_size_text(crew->size, size), crew->count,
             crew->count > 1 ? "s" : "");
    return bench_rows(bench, measure, &crew, &row, 1);
}

static int measure_all(struct bench *bench, struct crew *crew) {
    static const size_t sizes[] = {4 << 10, 1 << 20};
    int error = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && !error; i++) {
        crew->size = sizes[i];
        for (crew->count = 1; crew->count <= THREADS_MAX && !error; crew->count *= 2)
            error = measure_count(bench, crew);
    }
    return error;
}

int case_threads(struct bench *bench) {
    struct crew crew = {.bench = bench};
    bench_print_head(bench, "malloc + free on one pool, a stream for each thread, all threads together");
    int error = bench_open_streams(bench, crew.streams, THREADS_MAX);
    if (error)
        return error;
    error = bench_open_pools(bench, UINT64_MAX);
    if (!error)
        error = measure_all(bench, &crew);
    int closed = bench_close_pools(bench);
    bench_close_streams(crew.streams, THREADS_MAX);
    return error ? error : closed;
}
