// Pairs beside many live blocks: one that is drawn at random is freed, and one of its size
// allocated. And what a live block takes of the host's memory.
//
// The bench knows the blocks by a table of pointers, which is as large as a pool's own bookkeeping:
// to look up the ones that are drawn would cost each subject cache misses that are none of its own.
// So they are drawn ahead, to the front of the table, where the pairs that are timed walk over them
// in order.
//
// Host memory is what was added while the blocks were allocated, in a pool that has served a pair
// before, for each of them. mallinfo2, where there is one, counts what malloc handed out, to the
// byte, and not what the library or the driver map by themselves; the resident set has all that, in
// whole pages. So the first says more of few blocks and the second of many.
#include "bench.h"
#include "host_memory.h"
#include "malloced.h"

#include "cli/draw.h"

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

// The live blocks of each subject.
struct herd {
    struct lineup lineup;
    size_t count;
    void **blocks[LINEUP_MAX];
    struct samples host_memory[ROWS][LINEUP_MAX]; // of which there is one sample
    bool is_counted;                              // what malloc handed out
};

// -------------------------------------------------------------------------------------- the blocks

static int allocate_all(const struct herd *herd, const struct subject *subject, void **blocks,
                        CUstream stream) {
    int error = 0;
    for (size_t i = 0; i < herd->count && !error; i++)
        error = subject->allocate(subject, &blocks[i], SIZE, stream);
    return error;
}

static int populate(struct herd *herd, size_t i, CUstream stream) {
    const struct subject *subject = &herd->lineup.subjects[i];
    int error = bench_pairs(subject, SIZE, stream, 1);
    struct host_memory before = host_memory_now();
    if (!error)
        error = allocate_all(herd, subject, herd->blocks[i], stream);
    struct host_memory after = host_memory_now();
    herd->is_counted = after.is_counted;
    samples_add(&herd->host_memory[MALLINFO][i],
                (after.handed_out - before.handed_out) / (double)herd->count);
    samples_add(&herd->host_memory[RESIDENT][i],
                (after.resident - before.resident) / (double)herd->count);
    return error;
}

// The array is written to, so that its pages are there before anything is measured.
static int open_herd(struct herd *herd, CUstream stream) {
    for (size_t i = 0; i < herd->lineup.count; i++) {
        herd->blocks[i] = malloc(herd->count * sizeof(void *));
        for (size_t block = 0; herd->blocks[i] && block < herd->count; block++)
            herd->blocks[i][block] = NULL;
        if (!herd->blocks[i])
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    int error = lineup_open(&herd->lineup, UINT64_MAX);
    for (size_t i = 0; i < herd->lineup.count && !error; i++)
        error = populate(herd, i, stream);
    return error;
}

static int release_all(const struct herd *herd, const struct subject *subject, void **blocks,
                       CUstream stream) {
    int first = 0;
    for (size_t i = 0; blocks && i < herd->count; i++) {
        int error = blocks[i] ? subject_release(subject, blocks[i], SIZE, stream) : 0;
        first = first ? first : error;
    }
    return first;
}

static int close_herd(struct herd *herd, CUstream stream) {
    int first = 0;
    for (size_t i = 0; i < herd->lineup.count; i++) {
        const struct subject *subject = &herd->lineup.subjects[i];
        int error = release_all(herd, subject, herd->blocks[i], stream);
        if (!error && subject->pool)
            error = subject->synchronize(subject, stream);
        first = first ? first : error;
        free(herd->blocks[i]);
    }
    int closed = lineup_close(&herd->lineup);
    return first ? first : closed;
}

// --------------------------------------------------------------------------------------- measuring

// Draws blocks, no two the same, to the front of the table.
static void draw(void **blocks, size_t count, size_t drawn, uint64_t seed) {
    for (size_t i = 0; i < drawn; i++) {
        size_t other = i + sp_draw(seed, i) % (count - i);
        void *block = blocks[other];
        blocks[other] = blocks[i];
        blocks[i] = block;
    }
}

static int replace(const struct subject *subject, void **block, CUstream stream) {
    int error = subject_release(subject, *block, SIZE, stream);
    *block = NULL;
    return error ? error : subject->allocate(subject, block, SIZE, stream);
}

static int replace_all(const struct subject *subject, void **blocks, size_t count,
                       CUstream stream) {
    int error = 0;
    for (size_t i = 0; i < count && !error; i++)
        error = replace(subject, &blocks[i], stream);
    return error;
}

static int measure(struct bench *bench, struct subject *subject, const void *setting,
                   double *values) {
    const struct herd *herd = setting;
    void **blocks = herd->blocks[subject - herd->lineup.subjects];
    size_t drawn = herd->count < PAIRS ? herd->count : PAIRS;
    double spent = 0;
    int error = 0;
    for (size_t done = 0; done < PAIRS && !error; done += drawn) {
        draw(blocks, herd->count, drawn, (uint64_t)(bench->round + 1) * PAIRS + done);
        double begin = samples_clock();
        error = replace_all(subject, blocks, drawn, bench->streams[0]);
        spent += samples_clock() - begin;
    }
    values[PAIR] = spent / PAIRS;
    return error;
}

static void print_host_memory(struct bench *bench, struct herd *herd,
                              const struct bench_row rows[ROWS]) {
    for (int row = herd->is_counted ? MALLINFO : RESIDENT; row < ROWS; row++)
        bench_print_rows(bench,
                         &(struct bench_field){.subjects = herd->lineup.subjects,
                                               .subject_count = herd->lineup.count,
                                               .rows = &rows[row],
                                               .row_count = 1,
                                               .at = (double)herd->count},
                         herd->host_memory[row]);
}

static int measure_herd(struct bench *bench, struct herd *herd) {
    static const struct bench_row what[ROWS] = {
        {"pair", "ns"}, {"mallinfo2", "B/block"}, {"resident", "B/block"}};
    char labels[ROWS][RESULT_TEXT];
    struct bench_row rows[ROWS];
    for (int i = 0; i < ROWS; i++) {
        snprintf(labels[i], sizeof labels[i], "%zu live, %s", herd->count, what[i].label);
        rows[i] = (struct bench_row){labels[i], what[i].unit};
    }
    int error = open_herd(herd, bench->streams[0]);
    if (!error)
        error =
            bench_rows(bench, &herd->lineup, measure, herd, (double)herd->count, &rows[PAIR], 1);
    if (!error)
        print_host_memory(bench, herd, rows);
    int closed = close_herd(herd, bench->streams[0]);
    return error ? error : closed;
}

// The same columns in all lines, but for those that CUDA's pool has no part in.
static int measure_count(struct bench *bench, size_t count) {
    char text[RESULT_TEXT];
    struct herd *herd = calloc(1, sizeof *herd);
    if (!herd)
        return CUDA_ERROR_OUT_OF_MEMORY;
    herd->count = count;
    if (count <= BLOCKS_MAX_CUDA)
        LINE_UP(&herd->lineup, bench->device.driver, SUBJECT_OURS, SUBJECT_CUDAS, SUBJECT_LIST);
    else
        LINE_UP(&herd->lineup, bench->device.driver, SUBJECT_OURS, SUBJECT_LIST);
    lineup_add_peers(&herd->lineup, bench->device.driver, &bench->peers);
    snprintf(text, sizeof text, "%zu live", count);
    int error = 0;
    if (bench_fits(bench, herd->lineup.count * count * SIZE, text)) {
        if (count == BLOCKS_MIN || count == 10 * (size_t)BLOCKS_MAX_CUDA)
            bench_print_head(bench, &herd->lineup,
                             "free and malloc of 512 B, drawn at random among so many live blocks");
        if (count == BLOCKS_MIN)
            malloced_print_absence(bench);
        error = measure_herd(bench, herd);
    }
    free(herd);
    return error;
}

int case_live(struct bench *bench) {
    size_t most = bench->simulated ? BLOCKS_MAX_SIMULATED : BLOCKS_MAX;
    int error = 0;
    for (size_t count = BLOCKS_MIN; count <= most && !error; count *= 10)
        error = measure_count(bench, count);
    return error;
}
