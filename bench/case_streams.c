// What many streams cost: each has freed memory in the pool before.
//
// A *pair* is a malloc and a free on each stream in turn. A *miss* is a malloc of a size that only
// another stream has freed: all streams hold a free block, no two of the same size, and each asks
// for the size of another one. The pool may give it that block, cut memory that the stream itself
// has left over, or grow; what it has reserved in the end shows how much it grew. All streams are
// idle then: either the pool was told by a synchronise through the library (*told*), or the driver
// alone knows (*untold*).
#include "bench.h"
#include "malloced.h"

#include <stdio.h>
#include <stdlib.h>

enum { STREAMS_MAX = 1000, PAIRS = 2000, MISSES = 500, PAIR_SIZE = 64 << 10, SIZE_STEP = 4 << 10 };

struct crowd {
    struct lineup lineup; // the pools first, and the floor of pairs
    CUstream streams[STREAMS_MAX];
    void *blocks[STREAMS_MAX];
    int count;
    bool told;
    struct samples host_memory[LINEUP_MAX];
    bool is_counted; // the host memory
};

// ------------------------------------------------------------------------------------------- pairs

static int pair_on_each(const struct crowd *crowd, const struct subject *subject) {
    int error = 0;
    for (int i = 0; i < crowd->count && !error; i++)
        error = bench_pairs(subject, PAIR_SIZE, crowd->streams[i], 1);
    return error;
}

static int synchronize(const struct crowd *crowd, const struct subject *subject) {
    int error = 0;
    for (int i = 0; i < crowd->count && !error; i++)
        error = subject->synchronize(subject, crowd->streams[i]);
    return error;
}

static int synchronize_untold(const struct crowd *crowd, const struct sp_driver *driver) {
    CUresult error = CUDA_SUCCESS;
    for (int i = 0; i < crowd->count && error == CUDA_SUCCESS; i++)
        error = driver->cuStreamSynchronize(crowd->streams[i]);
    return (int)error;
}

static int measure_pairs(struct bench *bench, struct subject *subject, const void *setting,
                         double *values) {
    (void)bench;
    const struct crowd *crowd = setting;
    int passes = PAIRS / crowd->count, error = 0;
    double begin = samples_clock();
    for (int pass = 0; pass < passes && !error; pass++)
        error = pair_on_each(crowd, subject);
    values[0] = (samples_clock() - begin) / (passes * crowd->count);
    return error ? error : synchronize(crowd, subject);
}

// ------------------------------------------------------------------------------------------ misses

// Each stream takes the size that another one, so many places behind it, took when the shift was 0.
static int take_all(struct crowd *crowd, const struct subject *subject, int shift) {
    int error = 0;
    for (int i = 0; i < crowd->count && !error; i++) {
        size_t size = PAIR_SIZE + (size_t)((i + shift) % crowd->count + 1) * SIZE_STEP;
        error = subject->allocate(subject, &crowd->blocks[i], size, crowd->streams[i]);
    }
    return error;
}

static int release_all(const struct crowd *crowd, const struct subject *subject) {
    int error = 0;
    for (int i = 0; i < crowd->count && !error; i++)
        error = subject->release(subject, crowd->blocks[i], crowd->streams[i]);
    if (error)
        return error;
    return crowd->told ? synchronize(crowd, subject) : synchronize_untold(crowd, subject->driver);
}

static int measure_misses(struct bench *bench, struct subject *subject, const void *setting,
                          double *values) {
    struct crowd *crowd = *(struct crowd *const *)setting;
    int passes = crowd->count < MISSES ? MISSES / crowd->count : 1, error = 0;
    uint64_t reserved = 0;
    values[0] = 0;
    for (int pass = 0; pass < passes && !error; pass++) {
        double begin = samples_clock();
        error = take_all(crowd, subject, (bench->round + 1) * passes + pass);
        values[0] += (samples_clock() - begin) / (passes * crowd->count);
        if (!error)
            error = release_all(crowd, subject);
    }
    if (!error)
        error = subject->reserved_high(subject, &reserved);
    values[1] = (double)reserved / (1 << 20);
    return error;
}

// ------------------------------------------------------------------------------------- host memory

// What malloc has handed out in this process, in KiB.
static double host_memory(struct crowd *crowd) {
    double bytes;
    crowd->is_counted = malloced_bytes(&bytes);
    return bytes / 1024;
}

// Opens the pools, in which each stream frees memory for the first time.
static int open_pools(struct crowd *crowd) {
    int error = 0;
    for (size_t i = 0; i < crowd->lineup.count && !error; i++) {
        struct subject *subject = &crowd->lineup.subjects[i];
        double before = host_memory(crowd);
        error = subject->open(subject, UINT64_MAX);
        if (!error)
            error = pair_on_each(crowd, subject);
        samples_add(&crowd->host_memory[i], host_memory(crowd) - before);
    }
    return error;
}

static void print_host_memory(struct bench *bench, struct crowd *crowd,
                              const struct bench_row *row) {
    struct bench_field field = {.subjects = crowd->lineup.subjects,
                                .subject_count = bench->pools.count,
                                .rows = row,
                                .row_count = 1,
                                .at = crowd->count};
    if (crowd->is_counted)
        bench_print_rows(bench, &field, crowd->host_memory);
}

// -------------------------------------------------------------------------------------------- both

static const char *label(const struct crowd *crowd, const char *what, char text[RESULT_TEXT]) {
    snprintf(text, RESULT_TEXT, "%d stream%s, %s", crowd->count, crowd->count > 1 ? "s" : "", what);
    return text;
}

static int misses(struct bench *bench, struct crowd *crowd, bool told) {
    char miss[RESULT_TEXT], reserved[RESULT_TEXT];
    struct bench_row rows[] = {{label(crowd, told ? "miss, told" : "miss, untold", miss), "ns"},
                               {label(crowd, "reserved", reserved), "MiB"}};
    crowd->told = told;
    return bench_compare(bench, &(struct bench_field){.subjects = crowd->lineup.subjects,
                                                      .subject_count = bench->pools.count,
                                                      .rows = rows,
                                                      .row_count = 2,
                                                      .at = crowd->count,
                                                      .measure = measure_misses,
                                                      .setting = &crowd});
}

static int measure_opened(struct bench *bench, struct crowd *crowd) {
    char pair[RESULT_TEXT], memory[RESULT_TEXT];
    struct bench_row pair_row = {label(crowd, "pair", pair), "ns"};
    struct bench_row memory_row = {label(crowd, "mallinfo2", memory), "KiB"};
    print_host_memory(bench, crowd, &memory_row);
    int error = bench_rows(bench, &crowd->lineup, measure_pairs, crowd, crowd->count, &pair_row, 1);
    if (!error && crowd->count > 1) // one stream has nobody else's memory
        error = misses(bench, crowd, true);
    if (!error && crowd->count > 1)
        error = misses(bench, crowd, false);
    return error;
}

// With streams of their own, so that the library has not met them before.
static int measure_crowd(struct bench *bench, struct crowd *crowd) {
    int error = bench_open_streams(bench, crowd->streams, (size_t)crowd->count);
    if (error)
        return error;
    error = open_pools(crowd);
    if (!error)
        error = measure_opened(bench, crowd);
    int closed = lineup_close(&crowd->lineup);
    bench_close_streams(crowd->streams, (size_t)crowd->count);
    return error ? error : closed;
}

int case_streams(struct bench *bench) {
    static const int counts[] = {1, 10, 100, STREAMS_MAX};
    int error = 0;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0] && !error; i++) {
        struct crowd *crowd = calloc(1, sizeof *crowd);
        if (!crowd)
            return CUDA_ERROR_OUT_OF_MEMORY;
        crowd->count = counts[i];
        LINE_UP(&crowd->lineup, bench->device.driver, SUBJECT_OURS, SUBJECT_CUDAS, SUBJECT_LIST);
        if (i == 0)
            bench_print_head(
                bench, &crowd->lineup,
                "streams in turn: malloc + free of 64 KiB, malloc of what another stream freed, "
                "host memory of the first use");
        if (i == 0)
            malloced_print_absence(bench);
        error = measure_crowd(bench, crowd);
        free(crowd);
    }
    return error;
}
