// Pairs beside many live blocks: one that is drawn at random is freed, and one of its size
// allocated. And what a live block takes of the host's memory.
//
// Host memory is what was added while the blocks were allocated, in a pool that has served a pair
// before, for each of them. mallinfo2, where there is one, counts what malloc handed out, to the
// byte, and not what the library or the driver map by themselves; the resident set has all that, in
// whole pages. So the first says more of few blocks and the second of many.
#include "bench.h"
#include "herd.h"
#include "host_memory.h"
#include "malloced.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    PAIRS = 20000, // so many that what ran before and took the caches matters little
    SIZE = 512,
    BLOCKS_MIN = 100, // and ten, a hundred ... times as many
    BLOCKS_MAX = 10000000,
    BLOCKS_MAX_CUDA = 1000000, // with more, its pool takes minutes to be filled
    BLOCKS_MAX_SIMULATED = 100000,
};

enum { PAIR, MALLINFO, RESIDENT, ROWS };

struct live {
    struct lineup lineup;
    size_t count;
    struct herd herds[LINEUP_MAX];
    struct samples host_memory[ROWS][LINEUP_MAX]; // of which there is one sample
    bool is_counted;                              // what malloc handed out
};

// -------------------------------------------------------------------------------------- the blocks

static int populate(struct live *live, size_t i, CUstream stream) {
    const struct subject *subject = &live->lineup.subjects[i];
    int error = bench_pairs(subject, SIZE, stream, 1);
    struct host_memory before = host_memory_now();
    if (!error)
        error = herd_fill(&live->herds[i], subject, stream);
    struct host_memory after = host_memory_now();
    live->is_counted = after.is_counted;
    samples_add(&live->host_memory[MALLINFO][i],
                (after.handed_out - before.handed_out) / (double)live->count);
    samples_add(&live->host_memory[RESIDENT][i],
                (after.resident - before.resident) / (double)live->count);
    return error;
}

static int open_live(struct live *live, CUstream stream) {
    int error = 0;
    for (size_t i = 0; i < live->lineup.count && !error; i++)
        error = herd_make(&live->herds[i], live->count, SIZE);
    if (!error)
        error = lineup_open(&live->lineup, UINT64_MAX);
    for (size_t i = 0; i < live->lineup.count && !error; i++)
        error = populate(live, i, stream);
    return error;
}

static int close_live(struct live *live, CUstream stream) {
    int first = 0;
    for (size_t i = 0; i < live->lineup.count; i++) {
        const struct subject *subject = &live->lineup.subjects[i];
        int error = herd_end(&live->herds[i], subject, stream);
        if (!error && subject->pool)
            error = subject->synchronize(subject, stream);
        first = first ? first : error;
    }
    int closed = lineup_close(&live->lineup);
    return first ? first : closed;
}

// --------------------------------------------------------------------------------------- measuring

static int measure(struct bench *bench, struct subject *subject, const void *setting,
                   double *values) {
    struct live *live = *(struct live *const *)setting;
    return herd_pairs(&live->herds[subject - live->lineup.subjects], subject, bench->streams[0],
                      PAIRS, (uint64_t)(bench->round + 1) * PAIRS, &values[PAIR]);
}

static void print_host_memory(struct bench *bench, struct live *live,
                              const struct bench_row rows[ROWS]) {
    for (int row = live->is_counted ? MALLINFO : RESIDENT; row < ROWS; row++)
        bench_print_rows(bench,
                         &(struct bench_field){.subjects = live->lineup.subjects,
                                               .subject_count = live->lineup.count,
                                               .rows = &rows[row],
                                               .row_count = 1,
                                               .at = (double)live->count},
                         live->host_memory[row]);
}

static int measure_live(struct bench *bench, struct live *live) {
    static const struct bench_row what[ROWS] = {
        {"pair", "ns"}, {"mallinfo2", "B/block"}, {"resident", "B/block"}};
    char labels[ROWS][RESULT_TEXT];
    struct bench_row rows[ROWS];
    for (int i = 0; i < ROWS; i++) {
        snprintf(labels[i], sizeof labels[i], "%zu live, %s", live->count, what[i].label);
        rows[i] = (struct bench_row){labels[i], what[i].unit};
    }
    int error = open_live(live, bench->streams[0]);
    if (!error)
        error =
            bench_rows(bench, &live->lineup, measure, &live, (double)live->count, &rows[PAIR], 1);
    if (!error)
        print_host_memory(bench, live, rows);
    int closed = close_live(live, bench->streams[0]);
    return error ? error : closed;
}

// The same columns in all lines, but for those that CUDA's pool has no part in.
static int measure_count(struct bench *bench, size_t count) {
    char text[RESULT_TEXT];
    struct live *live = calloc(1, sizeof *live);
    if (!live)
        return CUDA_ERROR_OUT_OF_MEMORY;
    live->count = count;
    if (count <= BLOCKS_MAX_CUDA)
        LINE_UP(&live->lineup, bench->device.driver, SUBJECT_OURS, SUBJECT_CUDAS, SUBJECT_LIST);
    else
        LINE_UP(&live->lineup, bench->device.driver, SUBJECT_OURS, SUBJECT_LIST);
    lineup_add_peers(&live->lineup, bench->device.driver, &bench->peers);
    snprintf(text, sizeof text, "%zu live", count);
    int error = 0;
    if (bench_fits(bench, live->lineup.count * count * SIZE, text)) {
        if (count == BLOCKS_MIN || count == 10 * (size_t)BLOCKS_MAX_CUDA)
            bench_print_head(bench, &live->lineup,
                             "free and malloc of 512 B, drawn at random among so many live blocks");
        if (count == BLOCKS_MIN)
            malloced_print_absence(bench);
        error = measure_live(bench, live);
    }
    free(live);
    return error;
}

int case_live(struct bench *bench) {
    size_t most = bench->simulated ? BLOCKS_MAX_SIMULATED : BLOCKS_MAX;
    int error = 0;
    for (size_t count = BLOCKS_MIN; count <= most && !error; count *= 10)
        error = measure_count(bench, count);
    return error;
}
