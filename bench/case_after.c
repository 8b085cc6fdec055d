// After a peak: what a pool with the release threshold 0 holds once few blocks survive, behind a
// synchronise; and what all calls took. And few small blocks on each of many streams.
//
// *In use* is what survives. The block of the size of the whole peak (*again*) is two thirds of the
// device's free memory, so it fits only where what the survivors lie in can be given back or put
// together. Where it is refused, all of the device counts as held.
//
// A primed pool is primed with the peak, and trimmed behind it.
#include "peak.h"

#include <stdio.h>
#include <stdlib.h>

#define SCATTERED  ((uint64_t)8 << 30)
#define DRAWN      ((uint64_t)3 << 30)
#define HUGE_BLOCK ((size_t)16 << 20)

enum { ROUNDS = 3, SHAPES = 8 };

enum { HELD, CALLS, IN_USE, SERVED, AGAIN, ROWS };

static const struct bench_row what[ROWS] = {
    [HELD] = {"held", "MiB"},       [CALLS] = {"calls", "ms"},  [IN_USE] = {"in use", "MiB"},
    [SERVED] = {"served", "times"}, [AGAIN] = {"again", "MiB"},
};

// Rows of one form, the first ones of those above.
static int compare(struct bench *bench, struct lineup *lineup, const char *form, size_t row_count,
                   bench_measure *measure, const void *setting) {
    char labels[ROWS][RESULT_TEXT];
    struct bench_row rows[ROWS];
    for (size_t i = 0; i < row_count; i++) {
        snprintf(labels[i], sizeof labels[i], "%s, %s", form, what[i].label);
        rows[i] = (struct bench_row){labels[i], what[i].unit};
    }
    return bench_rows(bench, lineup, measure, setting, 0, rows, row_count);
}

// ------------------------------------------------------------------------------------------- peaks

struct form {
    struct peak peaks[SHAPES];
    size_t count;
    CUstream streams[PEAK_STREAMS];
};

static double total_mebibytes(const struct bench *bench) {
    size_t available = 0, total = 0;
    bench->device.driver->cuMemGetInfo(&available, &total);
    return (double)total / (1 << 20);
}

static int play(struct bench *bench, struct subject *subject, struct form *form, size_t i,
                double *values) {
    struct peak_figures figures = {0};
    int error = subject->open(subject, 0);
    if (!error)
        error = peak_play(&form->peaks[i], subject, form->streams, bench->event, &figures);
    int closed = subject->close(subject);
    values[HELD] += figures.held;
    values[CALLS] += figures.calls;
    values[IN_USE] += (double)form->peaks[i].surviving / (1 << 20);
    values[SERVED] += figures.served;
    values[AGAIN] += figures.served ? figures.again : total_mebibytes(bench);
    return error ? error : closed;
}

// The sums of its peaks, each in a pool of its own.
static int measure(struct bench *bench, struct subject *subject, const void *setting,
                   double *values) {
    struct form *form = *(struct form *const *)setting;
    int error = 0;
    for (int row = 0; row < ROWS; row++)
        values[row] = 0;
    for (size_t i = 0; i < form->count && !error; i++)
        error = play(bench, subject, form, i, values);
    return error;
}

static int measure_form(struct bench *bench, struct lineup *lineup, struct form *form,
                        const char *text, size_t rows) {
    int error = bench_open_streams(bench, form->streams, PEAK_STREAMS);
    if (!error) {
        error = compare(bench, lineup, text, rows, measure, &form);
        bench_close_streams(form->streams, PEAK_STREAMS);
    }
    for (size_t i = 0; i < SHAPES; i++)
        peak_release(&form->peaks[i]);
    return error;
}

static int measure_huge(struct bench *bench, struct lineup *lineup) {
    static const size_t shares[] = {100, 40, 10};
    size_t available = 0, total = 0;
    int error = (int)bench->device.driver->cuMemGetInfo(&available, &total);
    for (size_t i = 0; i < sizeof shares / sizeof shares[0] && !error; i++) {
        char text[RESULT_TEXT - 8];
        struct form form = {.count = 1};
        snprintf(text, sizeof text, "huge, 1 in %u of 16 MiB", (unsigned)shares[i]);
        error =
            peak_make_even(&form.peaks[0], HUGE_BLOCK, available / 3 * 2 / HUGE_BLOCK, shares[i])
                ? measure_form(bench, lineup, &form, text, ROWS)
                : CUDA_ERROR_OUT_OF_MEMORY;
    }
    return error;
}

static int measure_scattered(struct bench *bench, struct lineup *lineup) {
    static const size_t mebibytes[] = {1, 4, 16}, shares[] = {10, 40};
    int error = 0;
    for (size_t i = 0; i < 6 && !error && bench_fits(bench, SCATTERED, "8 GiB"); i++) {
        char text[RESULT_TEXT - 8];
        struct form form = {.count = 1};
        size_t size = mebibytes[i / 2] << 20;
        snprintf(text, sizeof text, "%u MiB, 1 in %u", (unsigned)mebibytes[i / 2],
                 (unsigned)shares[i % 2]);
        error = peak_make_scattered(&form.peaks[0], size, SCATTERED / size, shares[i % 2])
                    ? measure_form(bench, lineup, &form, text, IN_USE + 1)
                    : CUDA_ERROR_OUT_OF_MEMORY;
    }
    return error;
}

// A huge block that came first may still be held on its stream.
static int measure_drawn(struct bench *bench, struct lineup *lineup) {
    static const unsigned streams[] = {1, PEAK_STREAMS};
    int error = 0;
    for (size_t i = 0; i < 2 && !error && bench_fits(bench, 3 * DRAWN, "drawn"); i++) {
        struct form form = {.count = SHAPES};
        bool made = true;
        for (uint64_t k = 0; k < SHAPES; k++)
            made = peak_make_drawn(&form.peaks[k], k, DRAWN, streams[i]) && made;
        error = made ? measure_form(bench, lineup, &form, i == 0 ? "drawn" : "drawn, 8 streams",
                                    IN_USE + 1)
                     : CUDA_ERROR_OUT_OF_MEMORY;
    }
    return error;
}

// ------------------------------------------------------------------------------------ many streams

static const size_t small_sizes[] = {64, 600, 1100, 2500, 5000, 9000, 3000, 17000, 33000, 50000};
enum { SMALL = sizeof small_sizes / sizeof small_sizes[0], CROWD_MAX = 10000 };

struct crowd {
    size_t count;
    CUstream streams[CROWD_MAX];
    void *blocks[CROWD_MAX][SMALL];
};

static int allocate_small(struct crowd *crowd, const struct subject *subject) {
    int error = 0;
    for (size_t i = 0; i < crowd->count * SMALL && !error; i++)
        error = subject->allocate(subject, &crowd->blocks[i / SMALL][i % SMALL],
                                  small_sizes[i % SMALL], crowd->streams[i / SMALL]);
    return error;
}

static int free_small(struct crowd *crowd, const struct subject *subject) {
    int error = 0;
    for (size_t i = 0; i < crowd->count * SMALL && !error; i++) {
        void **block = &crowd->blocks[i / SMALL][i % SMALL];
        if (*block)
            error =
                subject_release(subject, *block, small_sizes[i % SMALL], crowd->streams[i / SMALL]);
        *block = NULL;
    }
    return error ? error : subject->synchronize_all(subject);
}

static int measure_crowd(struct bench *bench, struct subject *subject, const void *setting,
                         double *values) {
    struct crowd *crowd = *(struct crowd *const *)setting;
    uint64_t reserved = 0;
    (void)bench;
    int error = subject->open(subject, 0);
    double begin = samples_clock();
    if (!error)
        error = allocate_small(crowd, subject);
    values[CALLS] = (samples_clock() - begin) / 1e6;
    if (!error)
        error = subject->reserved(subject, &reserved);
    values[HELD] = (double)reserved / (1 << 20);
    values[IN_USE] = 0;
    for (size_t i = 0; i < SMALL; i++)
        values[IN_USE] += (double)(small_sizes[i] * crowd->count) / (1 << 20);
    int freed = subject->pool ? free_small(crowd, subject) : 0;
    int closed = subject->close(subject);
    return error ? error : freed ? freed : closed;
}

static int measure_streams(struct bench *bench, struct lineup *lineup, size_t count) {
    char text[RESULT_TEXT - 8];
    struct crowd *crowd = calloc(1, sizeof *crowd);
    if (!crowd)
        return CUDA_ERROR_OUT_OF_MEMORY;
    crowd->count = count;
    snprintf(text, sizeof text, "10 small, %u streams", (unsigned)count);
    int error = bench_open_streams(bench, crowd->streams, count);
    if (!error) {
        error = compare(bench, lineup, text, IN_USE + 1, measure_crowd, &crowd);
        bench_close_streams(crowd->streams, count);
    }
    free(crowd);
    return error;
}

// --------------------------------------------------------------------------------------------- all

// What takes seconds is measured once.
static int measure_once(struct bench *bench) {
    struct lineup huge, ours;
    LINE_UP(&huge, bench->device.driver, SUBJECT_OURS, SUBJECT_PRIMED, SUBJECT_CUDAS);
    LINE_UP(&ours, bench->device.driver, SUBJECT_OURS);
    bench_print_head(bench, &huge, "a huge block behind a peak, threshold 0");
    int error = measure_huge(bench, &huge);
    bench_print_head(bench, &bench->pools, "few small blocks on each of many streams");
    if (!error)
        error = measure_streams(bench, &bench->pools, 1024);
    // CUDA's pool takes minutes here.
    return error ? error : measure_streams(bench, &ours, CROWD_MAX);
}

// The peers stand beside one stream.
static int measure_often(struct bench *bench) {
    struct lineup pools;
    LINE_UP(&pools, bench->device.driver, SUBJECT_OURS, SUBJECT_PROMISED, SUBJECT_PRIMED,
            SUBJECT_CUDAS);
    bench_print_head(bench, &pools, "drawn peaks, threshold 0");
    int error = measure_drawn(bench, &pools);
    lineup_add_peers(&pools, bench->device.driver, &bench->peers);
    bench_print_head(bench, &pools, "a peak of 8 GiB, threshold 0");
    return error ? error : measure_scattered(bench, &pools);
}

int case_after(struct bench *bench) {
    int rounds = bench->rounds;
    bench->rounds = bench->rounds_given ? rounds : 1;
    int error = measure_once(bench);
    bench->rounds = bench->rounds_given ? rounds : ROUNDS;
    if (!error)
        error = measure_often(bench);
    bench->rounds = rounds;
    return error;
}
