// A manager of mam.h beside what a program without streams would call, cuMemAlloc and cuMemFree,
// and beside the default pools: the time of a malloc and a free by size, and by how many blocks are
// live. These are the axes of the figures in the paper that the manager's calls come from.
//
// By size a block is allocated and freed again at once. By live blocks one that is drawn at random
// is freed, and one of its size allocated.
#include "bench.h"
#include "herd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAIRS = 2000,
    LIVE_PAIRS = 20000, // so many that what ran before and took the caches matters little
    PAIRS_SLOW = 50,
    SIZE = 512, // of a live block
    BLOCKS_MIN = 100,
    BLOCKS_MAX = 10000000,
    BLOCKS_MAX_SIMULATED = 1000000,
    BLOCKS_MAX_POOL = 1000000, // of CUDA's default pool, which takes minutes for more
    BLOCKS_MAX_SLOW = 100000,  // of cuMemAlloc, likewise
};

// What the others are compared with is cuMemAlloc here, and no pool.
static void line_up(struct bench *bench, struct lineup *lineup, size_t blocks) {
    const struct sp_driver *driver = bench->device.driver;
    if (blocks <= BLOCKS_MAX_SLOW)
        LINE_UP(lineup, driver, SUBJECT_MAM, SUBJECT_DIRECT, SUBJECT_OURS_DEFAULT,
                SUBJECT_CUDAS_DEFAULT);
    else if (blocks <= BLOCKS_MAX_POOL)
        LINE_UP(lineup, driver, SUBJECT_MAM, SUBJECT_OURS_DEFAULT, SUBJECT_CUDAS_DEFAULT);
    else
        LINE_UP(lineup, driver, SUBJECT_MAM, SUBJECT_OURS_DEFAULT);
    for (size_t i = 0; i < lineup->count; i++)
        lineup->subjects[i].role =
            lineup->subjects[i].slow ? SUBJECT_IS_REFERENCE : SUBJECT_IS_MEASURED;
    lineup_add_peers(lineup, driver, &bench->peers);
}

// ---------------------------------------------------------------------------------------- by size

static int measure_size(struct bench *bench, struct subject *subject, const void *setting,
                        double *values) {
    return bench_mean_pair(subject, *(const size_t *)setting, bench->streams[0],
                           subject->slow ? PAIRS_SLOW : PAIRS, values);
}

static int measure_sizes(struct bench *bench, struct lineup *lineup) {
    int error = 0;
    for (size_t size = 256; size <= (size_t)1 << 30 && !error; size *= 4) {
        char text[16];
        struct bench_row row = {bench_size_text(size, text), "ns"};
        if (bench_fits(bench, lineup->count * size, text))
            error = bench_rows(bench, lineup, measure_size, &size, (double)size, &row, 1);
    }
    return error;
}

static int by_size(struct bench *bench) {
    struct lineup lineup;
    line_up(bench, &lineup, 1);
    bench_print_head(bench, &lineup, "malloc + free, by size");
    int error = lineup_open(&lineup, UINT64_MAX);
    if (!error)
        error = measure_sizes(bench, &lineup);
    int closed = lineup_close(&lineup);
    return error ? error : closed;
}

// ------------------------------------------------------------------------ by number of live blocks

struct crowd {
    struct lineup lineup;
    struct herd herds[LINEUP_MAX];
};

static int open_crowd(struct crowd *crowd, size_t count, CUstream stream) {
    int error = lineup_open(&crowd->lineup, UINT64_MAX);
    for (size_t i = 0; i < crowd->lineup.count && !error; i++) {
        error = herd_make(&crowd->herds[i], count, SIZE);
        if (!error)
            error = herd_fill(&crowd->herds[i], &crowd->lineup.subjects[i], stream);
    }
    return error;
}

static int close_crowd(struct crowd *crowd, CUstream stream) {
    int first = 0;
    for (size_t i = 0; i < crowd->lineup.count; i++) {
        const struct subject *subject = &crowd->lineup.subjects[i];
        int error = herd_end(&crowd->herds[i], subject, stream);
        if (!error)
            error = subject->synchronize(subject, stream);
        first = first ? first : error;
    }
    int closed = lineup_close(&crowd->lineup);
    return first ? first : closed;
}

static int measure_live(struct bench *bench, struct subject *subject, const void *setting,
                        double *values) {
    struct crowd *crowd = *(struct crowd *const *)setting;
    size_t pairs = subject->slow ? PAIRS_SLOW : LIVE_PAIRS;
    return herd_pairs(&crowd->herds[subject - crowd->lineup.subjects], subject, bench->streams[0],
                      pairs, (uint64_t)(bench->round + 1) * LIVE_PAIRS, values);
}

static int measure_crowd(struct bench *bench, struct crowd *crowd, size_t count) {
    char label[RESULT_TEXT];
    struct bench_row row = {label, "ns"};
    snprintf(label, sizeof label, "%zu live", count);
    if (!bench_fits(bench, crowd->lineup.count * count * SIZE, label))
        return 0;
    if (count == BLOCKS_MIN || count == 10 * (size_t)BLOCKS_MAX_SLOW ||
        count == 10 * (size_t)BLOCKS_MAX_POOL)
        bench_print_head(bench, &crowd->lineup, "free and malloc of 512 B, by live blocks");
    int error = open_crowd(crowd, count, bench->streams[0]);
    if (!error)
        error = bench_rows(bench, &crowd->lineup, measure_live, &crowd, (double)count, &row, 1);
    int closed = close_crowd(crowd, bench->streams[0]);
    return error ? error : closed;
}

static int by_live(struct bench *bench) {
    size_t most = bench->simulated ? BLOCKS_MAX_SIMULATED : BLOCKS_MAX;
    int error = 0;
    for (size_t count = BLOCKS_MIN; count <= most && !error; count *= 10) {
        struct crowd *crowd = calloc(1, sizeof *crowd);
        if (!crowd)
            return CUDA_ERROR_OUT_OF_MEMORY;
        line_up(bench, &crowd->lineup, count);
        error = measure_crowd(bench, crowd, count);
        free(crowd);
    }
    return error;
}

// ------------------------------------------------------------------------------------ what to read

// The median of a row, or 0 when it was left out.
static double median_of(const struct bench *bench, const char *subject, const char *label) {
    for (size_t i = 0; i < bench->results.count; i++) {
        const struct result *result = &bench->results.list[i];
        if (strcmp(result->case_name, bench->case_name) == 0 &&
            strcmp(result->subject, subject) == 0 && strcmp(result->label, label) == 0)
            return result->quartiles[2];
    }
    return 0;
}

// How often one median of a subject goes into one of the same or another subject.
static void print_times(const struct bench *bench, const char *what, const char *dividend,
                        const char *divisor, const char *large, const char *small) {
    double above = median_of(bench, dividend, large), below = median_of(bench, divisor, small);
    if (above <= 0 || below <= 0)
        return;
    bench_print(bench, "%-34s  %.*f", what, above / below < 10 ? 2 : 0, above / below);
    bench_end_line(bench);
}

static void print_summary(const struct bench *bench) {
    const char *mam = subject_name(SUBJECT_MAM), *direct = subject_name(SUBJECT_DIRECT);
    bench_print_title(bench, "how often one median goes into another");
    print_times(bench, "manager, 1 GiB / 1 KiB", mam, mam, "1 GiB", "1 KiB");
    print_times(bench, "manager, 1000000 / 100 live", mam, mam, "1000000 live", "100 live");
    print_times(bench, "cuMemAlloc / manager, 256 B", direct, mam, "256 B", "256 B");
    print_times(bench, "cuMemAlloc / manager, 64 KiB", direct, mam, "64 KiB", "64 KiB");
    print_times(bench, "cuMemAlloc / manager, 1 GiB", direct, mam, "1 GiB", "1 GiB");
}

int case_mam(struct bench *bench) {
    int error = by_size(bench);
    if (!error)
        error = by_live(bench);
    if (!error)
        print_summary(bench);
    return error;
}
