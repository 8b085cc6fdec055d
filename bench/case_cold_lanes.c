// What streams cost that have used a pool before, and are idle now.
//
// So many streams have made a pair of 64 KiB each. Then one of them makes a *miss*, which is a pair
// of another size, and behind it a call is timed: a synchronise of that stream, one of the device,
// a trim to nothing, an attribute set to what it is. The release threshold is 0, so that nothing is
// left of the pairs; or, of streams that are *keeping*, the pool keeps what they freed.
//
// The host memory is what malloc handed out for the first use of them all, by stream.
#include "bench.h"
#include "malloced.h"

#include <stdio.h>
#include <stdlib.h>

enum { STREAMS_MAX = 10000, PAIR_SIZE = 64 << 10, CALLS = 2, MISS = 1 << 20, MISS_STEP = 64 << 10 };
enum { ROUNDS = 3 };

enum { MISSES, SYNCHRONIZE, SYNCHRONIZE_ALL, TRIM, SET, ROWS };

struct lanes {
    struct lineup lineup;
    CUstream streams[STREAMS_MAX];
    size_t count;
    bool keeps;
    size_t missed; // so often
    struct samples host_memory[LINEUP_MAX];
    bool is_counted;
};

// ------------------------------------------------------------------------------------------- calls

static int miss(struct lanes *lanes, const struct subject *subject, CUstream stream) {
    return bench_pairs(subject, MISS + lanes->missed++ % 64 * MISS_STEP, stream, 1);
}

static int make_call(const struct subject *subject, int row, CUstream stream) {
    switch (row) {
    case SYNCHRONIZE:
        return subject->synchronize(subject, stream);
    case SYNCHRONIZE_ALL:
        return subject->synchronize_all(subject);
    case TRIM:
        return subject->trim(subject);
    case SET:
        return subject->set_again(subject);
    default:
        return 0;
    }
}

static int measure(struct bench *bench, struct subject *subject, const void *setting,
                   double *values) {
    struct lanes *lanes = *(struct lanes *const *)setting;
    int error = 0;
    (void)bench;
    for (int row = 0; row < ROWS; row++)
        values[row] = 0;
    for (int i = 0; i < CALLS * ROWS && !error; i++) {
        CUstream stream = lanes->streams[lanes->missed % lanes->count];
        int row = i % ROWS;
        double begin = samples_clock();
        error = miss(lanes, subject, stream);
        begin = row == MISSES ? begin : samples_clock();
        if (!error)
            error = make_call(subject, row, stream);
        values[row] += (samples_clock() - begin) / CALLS / 1000;
    }
    return error;
}

// ------------------------------------------------------------------------------------- the streams

static double host_memory(struct lanes *lanes) {
    double bytes;
    lanes->is_counted = malloced_bytes(&bytes);
    return bytes;
}

static int use_all(const struct lanes *lanes, const struct subject *subject) {
    int error = 0;
    for (size_t i = 0; i < lanes->count && !error; i++)
        error = bench_pairs(subject, PAIR_SIZE, lanes->streams[i], 1);
    return error ? error : subject->synchronize_all(subject);
}

static int open_pools(struct lanes *lanes) {
    int error = 0;
    for (size_t i = 0; i < lanes->lineup.count && !error; i++) {
        struct subject *subject = &lanes->lineup.subjects[i];
        double before = host_memory(lanes);
        error = subject->open(subject, lanes->keeps ? UINT64_MAX : 0);
        if (!error)
            error = use_all(lanes, subject);
        samples_add(&lanes->host_memory[i], (host_memory(lanes) - before) / (double)lanes->count);
    }
    return error;
}

static void print_host_memory(struct bench *bench, struct lanes *lanes) {
    char text[RESULT_TEXT];
    struct bench_row row = {text, "B"};
    snprintf(text, sizeof text, "%zu streams, mallinfo2, each", lanes->count);
    struct bench_field field = {.subjects = lanes->lineup.subjects,
                                .subject_count = lanes->lineup.count,
                                .rows = &row,
                                .row_count = 1,
                                .at = (double)lanes->count};
    if (lanes->is_counted && !lanes->keeps)
        bench_print_rows(bench, &field, lanes->host_memory);
}

static int measure_opened(struct bench *bench, struct lanes *lanes) {
    static const char *const names[ROWS] = {[MISSES] = "miss",
                                            [SYNCHRONIZE] = "synchronise",
                                            [SYNCHRONIZE_ALL] = "device synchronise",
                                            [TRIM] = "trim",
                                            [SET] = "set attribute"};
    char labels[ROWS][RESULT_TEXT];
    struct bench_row rows[ROWS];
    for (int i = 0; i < ROWS; i++) {
        snprintf(labels[i], sizeof labels[i], "%zu %s, %s", lanes->count,
                 lanes->keeps ? "keeping" : "streams", names[i]);
        rows[i] = (struct bench_row){labels[i], "us"};
    }
    return bench_rows(bench, &lanes->lineup, measure, &lanes, (double)lanes->count, rows, ROWS);
}

// With streams of their own, so that the library has not met them before.
static int measure_lanes(struct bench *bench, struct lanes *lanes) {
    int error = bench_open_streams(bench, lanes->streams, lanes->count);
    if (error)
        return error;
    error = open_pools(lanes);
    if (!error)
        print_host_memory(bench, lanes);
    if (!error)
        error = measure_opened(bench, lanes);
    int closed = lineup_close(&lanes->lineup);
    bench_close_streams(lanes->streams, lanes->count);
    return error ? error : closed;
}

int case_cold_lanes(struct bench *bench) {
    static const size_t counts[] = {10, 1000, STREAMS_MAX};
    int error = 0, rounds = bench->rounds;
    bench->rounds = bench->rounds_given ? rounds : ROUNDS;
    for (size_t i = 0; i < 6 && !error; i++) {
        struct lanes *lanes = calloc(1, sizeof *lanes);
        if (!lanes) {
            error = CUDA_ERROR_OUT_OF_MEMORY;
            break;
        }
        lanes->count = counts[i / 2];
        lanes->keeps = i % 2;
        LINE_UP(&lanes->lineup, bench->device.driver, SUBJECT_OURS, SUBJECT_PROMISED,
                SUBJECT_CUDAS);
        if (i == 0)
            bench_print_head(bench, &lanes->lineup,
                             "beside streams that made a pair before: calls, and host memory of "
                             "that pair");
        if (i == 0)
            malloced_print_absence(bench);
        error = measure_lanes(bench, lanes);
        free(lanes);
    }
    bench->rounds = rounds;
    return error;
}
