// Large blocks come and go in a pool with many free blocks of 64 KiB that no two of lie side by
// side, each between two that are live. Another thread makes pairs on a stream of its own
// meanwhile, in the same pool.
#include "bounded.h"
#include "floor.h"
#include "holes.h"
#include "latency.h"

#include "cli/program/times.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <streampool/streampool.h>

enum {
    HOLE = 64 << 10,
    MEDIUM = 16 << 20,
    LARGE = 512 << 20,
    HOT = 4 << 10,
    PAIRS_FIRST = 1000,
    PAIRS = 20000
};

enum { MALLOC_MEDIUM, MALLOC_LARGE, FLOOR, TRIM, HOT_MEDIAN, HOT_P9999, HOT_WORST, FIGURES };

struct scene {
    struct holes holes;
    CUstream hot_stream;
};

// -------------------------------------------------------------------------------- the other thread

struct hot {
    const struct bounded *bounded;
    pthread_t thread;
    atomic_bool ready, over;
    atomic_uint_fast64_t pairs;
    struct latency latency;
    int error;
};

static void *make_pairs(void *argument) {
    struct hot *hot = argument;
    const struct sp_device *device = &hot->bounded->bench->device;
    const struct scene *scene = hot->bounded->state;
    hot->error = (int)device->driver->cuCtxSetCurrent(device->context);
    if (!hot->error)
        hot->error = bench_pairs(hot->bounded->subject, HOT, scene->hot_stream, PAIRS_FIRST);
    atomic_store(&hot->ready, true);
    while (!atomic_load(&hot->over) && !hot->error) {
        uint64_t begin = sp_clock_now();
        hot->error = bench_pairs(hot->bounded->subject, HOT, scene->hot_stream, 1);
        latency_add(&hot->latency, sp_clock_now() - begin);
        atomic_fetch_add_explicit(&hot->pairs, 1, memory_order_relaxed);
    }
    return NULL;
}

static void add_hot(const struct hot *hot) {
    bounded_add(hot->bounded, HOT_MEDIAN, latency_at(&hot->latency, 0.5));
    bounded_add(hot->bounded, HOT_P9999, latency_at(&hot->latency, 0.9999));
    bounded_add(hot->bounded, HOT_WORST, (double)hot->latency.worst / 1000);
}

// ------------------------------------------------------------------------------------- this thread

static int timed_malloc(const struct bounded *bounded, size_t figure, size_t size, void **block) {
    double begin = samples_clock();
    int error =
        bounded->subject->allocate(bounded->subject, block, size, bounded->bench->streams[0]);
    bounded_add(bounded, figure, (samples_clock() - begin) / 1000);
    return error;
}

static int release(const struct bounded *bounded, void *block) {
    return block ? bounded->subject->release(bounded->subject, block, bounded->bench->streams[0])
                 : 0;
}

static int timed_trim(const struct bounded *bounded) {
    int error = bounded->subject->synchronize(bounded->subject, bounded->bench->streams[0]);
    if (error)
        return error;
    double begin = samples_clock();
    poolError_t trimmed = poolMemPoolTrimTo(bounded->subject->pool, 0);
    bounded_add(bounded, TRIM, (samples_clock() - begin) / 1000);
    return (int)trimmed;
}

// The driver's calls for the large block as one extent, where the pool has just given back as much.
static int time_floor(const struct bounded *bounded) {
    double microseconds;
    int error = floor_measure_growth(bounded->bench->device.driver, LARGE, &microseconds);
    if (!error)
        bounded_add(bounded, FLOOR, microseconds);
    return error;
}

static int measure_round(const struct bounded *bounded) {
    void *medium = NULL, *large = NULL;
    int error = timed_malloc(bounded, MALLOC_MEDIUM, MEDIUM, &medium);
    if (!error)
        error = timed_malloc(bounded, MALLOC_LARGE, LARGE, &large);
    int first = release(bounded, medium), second = release(bounded, large);
    error = error ? error : first ? first : second;
    if (!error)
        error = timed_trim(bounded);
    return error ? error : time_floor(bounded);
}

// All rounds, and more of them while the other thread has made fewer pairs than its last percentile
// is worth something of, for as many seconds as a case may take.
static int measure_rounds(const struct hot *hot) {
    const struct bench *bench = hot->bounded->bench;
    double end = samples_clock() + bench->seconds * 1e9;
    int error = 0;
    for (int i = 0; !error; i++) {
        if (i >= bench->rounds && (atomic_load(&hot->pairs) >= PAIRS || samples_clock() > end))
            break;
        error = measure_round(hot->bounded);
    }
    return error;
}

static int measure_all(struct bounded *bounded) {
    struct hot *hot = calloc(1, sizeof *hot);
    if (!hot)
        return CUDA_ERROR_OUT_OF_MEMORY;
    hot->bounded = bounded;
    int error = pthread_create(&hot->thread, NULL, make_pairs, hot) ? CUDA_ERROR_OUT_OF_MEMORY : 0;
    if (!error) {
        while (!atomic_load(&hot->ready))
            sched_yield();
        error = measure_rounds(hot);
        atomic_store(&hot->over, true);
        pthread_join(hot->thread, NULL);
        add_hot(hot);
        error = error ? error : hot->error;
    }
    free(hot);
    return error;
}

// All holes are made anew, for new blocks would lie in the old ones.
static int advance(struct bounded *bounded) {
    struct scene *scene = bounded->state;
    CUstream stream = bounded->bench->streams[0];
    int error = 0;
    if (bounded->amount > 0)
        error = holes_open(&scene->holes, bounded->subject, 2 * bounded->amount, HOLE, stream);
    if (!error)
        error = measure_all(bounded);
    int closed = bounded->amount > 0 ? holes_close(&scene->holes, bounded->subject, stream) : 0;
    return error ? error : closed;
}

int case_many_holes(struct bench *bench) {
    static const struct bench_row figures[FIGURES] = {
        [MALLOC_MEDIUM] = {"malloc 16 MiB", "us"}, [MALLOC_LARGE] = {"malloc 512 MiB", "us"},
        [FLOOR] = {"as one extent", "us"},         [TRIM] = {"TrimTo", "us"},
        [HOT_MEDIAN] = {"others' pair", "ns"},     [HOT_P9999] = {"others' p99.99", "ns"},
        [HOT_WORST] = {"others' worst", "us"},
    };
    static const struct bounded_loop loop = {.what = "holes",
                                             .points = {0, 40000, 400000},
                                             .point_count = 3,
                                             .figures = figures,
                                             .figure_count = FIGURES,
                                             .advance = advance};
    struct scene scene = {.hot_stream = bench->streams[1]};
    bounded_print_head(
        bench,
        "malloc of 16 MiB and of 512 MiB and TrimTo(0) beside so many free blocks of 64 KiB, and "
        "the pairs of another thread");
    if (!bench_fits(bench, 2 * (400000 / bench->divisor) * HOLE + 2 * LARGE, "holes"))
        return 0;
    return bounded_run(bench, &loop, &scene);
}
