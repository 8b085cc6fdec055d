// The choice of UnfencedBytesMax: what it costs the pairs of one stream while another one works,
// and how much memory it keeps from other streams. All caps and CUDA's pool are measured in the
// same rounds.
//
// *Unseen* memory is what a pool doesn't hand to a stream B although stream A has freed it: A frees
// blocks, an event is recorded behind them for which B waits, and B allocates as many. Once the
// event goes through the library's hooks while A still works; once through the driver, so that the
// library sees no order, but A has long been done. *Grown* is what the pool had to reserve on top
// in the second form: it grows by whole units. How much A freed since its last event changes from
// round to round, so the median is a typical remainder below the cap.
#include "bench.h"

#include <streampool/streampool.h>

#include <stdio.h>

enum {
    PAIRS = 500,
    WORK_NS = 4000000,
    BLOCK = 256 << 10,
    BLOCKS = 512, // 128 MiB: whole units of growth, twice the largest cap
    SHIFTS = 256, // 64 MiB
    CAPS = 8
};

static const uint64_t caps[CAPS] = {0,       1 << 20,  2 << 20,  4 << 20,
                                    8 << 20, 16 << 20, 32 << 20, 64 << 20};

enum { PAIR_64K, PAIR_1M, PAIR_16M, UNSEEN_BY_HOOKS, UNSEEN, GROWN };

static const struct bench_row rows[] = {
    [PAIR_64K] = {"pair of 64 KiB", "ns"},        [PAIR_1M] = {"pair of 1 MiB", "ns"},
    [PAIR_16M] = {"pair of 16 MiB", "ns"},        [UNSEEN_BY_HOOKS] = {"unseen, hooks", "MiB"},
    [UNSEEN] = {"unseen, driver's event", "MiB"}, [GROWN] = {"grown, driver's event", "MiB"},
};

// ------------------------------------------------------------------------------- pairs beside work

static int work_on(struct bench *bench, CUstream stream) {
    return (int)sp_work_launch(&bench->work, stream, WORK_NS, 0, 0);
}

static int pairs_beside_work(struct bench *bench, struct subject *subject, size_t size,
                             double *value) {
    int error = bench_pairs(subject, size, bench->streams[0], PAIRS / 10);
    if (!error)
        error = work_on(bench, bench->streams[1]);
    double begin = samples_clock();
    if (!error)
        error = bench_pairs(subject, size, bench->streams[0], PAIRS);
    *value = (samples_clock() - begin) / PAIRS;
    return error;
}

// ----------------------------------------------------------------------------------- unseen memory

static int allocate_all(const struct subject *subject, CUstream stream, void *blocks[BLOCKS]) {
    int error = 0;
    for (int i = 0; i < BLOCKS && !error; i++)
        error = subject->allocate(subject, &blocks[i], BLOCK, stream);
    return error;
}

static int release_all(const struct subject *subject, CUstream stream, void *blocks[BLOCKS]) {
    int error = 0;
    for (int i = 0; i < BLOCKS && !error; i++)
        error = subject->release(subject, blocks[i], stream);
    return error;
}

static int order_by_hooks(const struct bench *bench, const struct subject *subject) {
    int error = subject->record(subject, bench->event, bench->streams[0]);
    return error ? error : subject->wait(subject, bench->streams[1], bench->event);
}

static int order_by_driver(const struct bench *bench) {
    const struct sp_driver *driver = bench->device.driver;
    CUresult error = driver->cuEventRecord(bench->event, bench->streams[0]);
    if (error == CUDA_SUCCESS)
        error = driver->cuStreamWaitEvent(bench->streams[1], bench->event, 0);
    if (error == CUDA_SUCCESS)
        error = driver->cuStreamSynchronize(bench->streams[0]);
    return (int)error;
}

// Where B's blocks are not among those that A had; in MiB.
static double unseen_of(void *const before[BLOCKS], void *const after[BLOCKS]) {
    int unseen = 0;
    for (int i = 0; i < BLOCKS; i++) {
        int j = 0;
        while (j < BLOCKS && before[j] != after[i])
            j++;
        unseen += j == BLOCKS;
    }
    return (double)unseen * BLOCK / (1 << 20);
}

// A frees: first a few blocks one by one, which shifts the point of its last event, then all at
// once, with its work on them still to be done if it is busy.
static int free_on_first(struct bench *bench, const struct subject *subject, bool busy,
                         void *blocks[BLOCKS]) {
    int shift = (int)((unsigned)(bench->round + 1) * 157 % SHIFTS);
    int error = bench_pairs(subject, BLOCK, bench->streams[0], shift);
    if (!error)
        error = allocate_all(subject, bench->streams[0], blocks);
    if (!error && busy)
        error = work_on(bench, bench->streams[0]);
    return error ? error : release_all(subject, bench->streams[0], blocks);
}

static int unseen(struct bench *bench, const struct subject *subject, bool by_hooks,
                  double *values) {
    void *of_first[BLOCKS], *of_second[BLOCKS];
    uint64_t before = 0, after = 0;
    int error = free_on_first(bench, subject, by_hooks, of_first);
    if (!error)
        error = by_hooks ? order_by_hooks(bench, subject) : order_by_driver(bench);
    if (!error)
        error = subject->reserved_high(subject, &before);
    if (!error)
        error = allocate_all(subject, bench->streams[1], of_second);
    if (!error)
        error = subject->reserved_high(subject, &after);
    if (error)
        return error;
    values[0] = unseen_of(of_first, of_second);
    values[1] = (double)(after - before) / (1 << 20);
    return release_all(subject, bench->streams[1], of_second);
}

// --------------------------------------------------------------------------------------- measuring

// The pools under comparison: one for each cap, and CUDA's behind them where there is one.
struct pools {
    struct subject subjects[CAPS + 1];
    char names[CAPS][32];
};

static int open_pool(const struct pools *pools, struct subject *subject) {
    size_t index = (size_t)(subject - pools->subjects);
    int error = subject->open(subject, UINT64_MAX);
    if (error || index == CAPS)
        return error;
    uint64_t cap = caps[index];
    return (int)poolMemPoolSetAttribute(subject->pool, poolMemPoolAttrUnfencedBytesMax, &cap);
}

// In a new pool each time, so that nothing is found that another one left.
static int in_new_pool(struct bench *bench, const struct pools *pools, struct subject *subject,
                       int row, double *values) {
    static const size_t sizes[] = {
        [PAIR_64K] = 64 << 10, [PAIR_1M] = 1 << 20, [PAIR_16M] = 16 << 20};
    int error = open_pool(pools, subject);
    if (!error)
        error = row <= PAIR_16M ? pairs_beside_work(bench, subject, sizes[row], values)
                                : unseen(bench, subject, row == UNSEEN_BY_HOOKS, values);
    for (int i = 0; i < 2 && !error; i++)
        error = subject->synchronize(subject, bench->streams[i]);
    int closed = subject->close(subject);
    return error ? error : closed;
}

static int measure(struct bench *bench, struct subject *subject, const void *setting,
                   double *values) {
    int error = 0;
    for (int row = PAIR_64K; row <= UNSEEN && !error;
         row++) // the one for UNSEEN overwrites what hooks made grow
        error = in_new_pool(bench, setting, subject, row, &values[row]);
    return error;
}

int case_unfenced(struct bench *bench) {
    static struct pools pools; // the results keep the names
    char text[16];
    for (int i = 0; i < CAPS; i++) {
        snprintf(pools.names[i], sizeof pools.names[i], "streampool, %s",
                 bench_size_text(caps[i], text));
        pools.subjects[i] = bench->pools.subjects[SUBJECT_OURS];
        pools.subjects[i].name = pools.names[i];
    }
    pools.subjects[CAPS] = bench->pools.subjects[SUBJECT_CUDAS];
    bench_print_title(
        bench, "UnfencedBytesMax: pairs beside work on another stream, and memory unseen by it");
    return bench_lines(bench, &(struct bench_field){
                                  .subjects = pools.subjects,
                                  .subject_count = CAPS + (bench->pools.count > SUBJECT_CUDAS),
                                  .rows = rows,
                                  .row_count = sizeof rows / sizeof rows[0],
                                  .measure = measure,
                                  .setting = &pools,
                              });
}
