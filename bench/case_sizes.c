// Blocks of random sizes, from 256 B to 64 MiB, so that each octave is drawn as often. So many are
// alive: one that is drawn is freed, and another one of a new size allocated. All subjects play the
// same sequence.
//
// A pool holds more than is alive, since what was freed does not fit: the most that it had reserved
// over the most that was alive, both since it was opened, says how much more.
#include "bench.h"

#include "cli/program/draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 2000, STEPS_SLOW = 100, LEAST = 256, OCTAVES = 18, LIVE_MAX = 512 };

enum { STEP, RESERVED };

struct window {
    void *blocks[LIVE_MAX];
    size_t sizes[LIVE_MAX];
    uint64_t drawn; // so far
    uint64_t live;  // bytes
    uint64_t most;
};

struct windows {
    struct lineup lineup;
    size_t count;
    struct window windows[LINEUP_MAX];
};

static size_t draw_size(uint64_t index) {
    double fraction = (double)(sp_draw(1, index) >> 11) / (double)(UINT64_C(1) << 53);
    return (size_t)(LEAST * exp2(OCTAVES * fraction));
}

static int allocate(const struct subject *subject, struct window *window, size_t place,
                    CUstream stream) {
    window->sizes[place] = draw_size(window->drawn++);
    window->live += window->sizes[place];
    if (window->live > window->most)
        window->most = window->live;
    return subject->allocate(subject, &window->blocks[place], window->sizes[place], stream);
}

static int release(const struct subject *subject, struct window *window, size_t place,
                   CUstream stream) {
    void *block = window->blocks[place];
    window->blocks[place] = NULL;
    window->live -= window->sizes[place];
    return block ? subject_release(subject, block, window->sizes[place], stream) : 0;
}

static int step(const struct windows *windows, const struct subject *subject, struct window *window,
                CUstream stream) {
    size_t place = sp_draw(2, window->drawn) % windows->count;
    int error = release(subject, window, place, stream);
    return error ? error : allocate(subject, window, place, stream);
}

static int measure_steps(struct bench *bench, struct subject *subject, const void *setting,
                         double *values) {
    struct windows *windows = *(struct windows *const *)setting;
    struct window *window = &windows->windows[subject - windows->lineup.subjects];
    int steps = subject->slow ? STEPS_SLOW : STEPS, error = 0;
    double begin = samples_clock();
    for (int i = 0; i < steps && !error; i++)
        error = step(windows, subject, window, bench->streams[0]);
    values[0] = (samples_clock() - begin) / steps;
    return error;
}

// Of a pool, after all steps.
static int measure_reserved(struct bench *bench, struct subject *subject, const void *setting,
                            double *values) {
    (void)bench;
    const struct windows *windows = *(struct windows *const *)setting;
    const struct window *window = &windows->windows[subject - windows->lineup.subjects];
    uint64_t reserved = 0;
    int error = subject->reserved_high(subject, &reserved);
    values[0] = (double)reserved / (double)window->most;
    return error;
}

static int open_windows(struct windows *windows, CUstream stream) {
    int error = lineup_open(&windows->lineup, UINT64_MAX);
    for (size_t i = 0; i < windows->lineup.count; i++)
        for (size_t place = 0; place < windows->count && !error; place++)
            error = allocate(&windows->lineup.subjects[i], &windows->windows[i], place, stream);
    return error;
}

static int close_windows(struct windows *windows, CUstream stream) {
    int first = 0;
    for (size_t i = 0; i < windows->lineup.count; i++) {
        const struct subject *subject = &windows->lineup.subjects[i];
        for (size_t place = 0; place < windows->count; place++) {
            int error = release(subject, &windows->windows[i], place, stream);
            first = first ? first : error;
        }
        int error = subject->synchronize(subject, stream);
        first = first ? first : error;
    }
    int closed = lineup_close(&windows->lineup);
    return first ? first : closed;
}

// The pools are the first of the lineup.
static int measure_windows(struct bench *bench, struct windows *windows) {
    char labels[2][RESULT_TEXT];
    struct bench_row rows[] = {
        [STEP] = {labels[STEP], "ns"}, [RESERVED] = {labels[RESERVED], "of live"}};
    snprintf(labels[STEP], RESULT_TEXT, "%zu live, free + malloc", windows->count);
    snprintf(labels[RESERVED], RESULT_TEXT, "%zu live, reserved", windows->count);
    int error = bench_rows(bench, &windows->lineup, measure_steps, &windows, (double)windows->count,
                           &rows[STEP], 1);
    if (error)
        return error;
    return bench_compare(bench, &(struct bench_field){.subjects = windows->lineup.subjects,
                                                      .subject_count = bench->pools.count,
                                                      .rows = &rows[RESERVED],
                                                      .row_count = 1,
                                                      .measure = measure_reserved,
                                                      .setting = &windows,
                                                      .at = (double)windows->count});
}

static int measure_count(struct bench *bench, struct windows *windows) {
    CUstream stream = bench->streams[0];
    int error = open_windows(windows, stream);
    if (!error)
        error = measure_windows(bench, windows);
    int closed = close_windows(windows, stream);
    return error ? error : closed;
}

int case_sizes(struct bench *bench) {
    static const size_t counts[] = {16, 128, LIVE_MAX};
    int error = 0;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0] && !error; i++) {
        char text[RESULT_TEXT];
        struct windows *windows = calloc(1, sizeof *windows);
        if (!windows)
            return CUDA_ERROR_OUT_OF_MEMORY;
        windows->count = counts[i];
        LINE_UP(&windows->lineup, bench->device.driver, SUBJECT_OURS, SUBJECT_CUDAS, SUBJECT_DIRECT,
                SUBJECT_LIST);
        lineup_add_peers(&windows->lineup, bench->device.driver, &bench->peers);
        if (i == 0)
            bench_print_head(bench, &windows->lineup,
                             "random sizes, 256 B to 64 MiB, free and malloc");
        snprintf(text, sizeof text, "%zu live", counts[i]);
        if (bench_fits(bench, 3 * counts[i] * (8 << 20), text))
            error = measure_count(bench, windows);
        free(windows);
    }
    return error;
}
