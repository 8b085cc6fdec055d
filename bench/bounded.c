#include "bounded.h"

#include "host_memory.h"

#include <stdio.h>
#include <stdlib.h>

// The virtual clock of the simulated driver doesn't get there by itself.
#define HOLD_SIMULATED UINT64_C(1000000000000000)
#define HOLD           UINT64_C(3000000000)

void bounded_add(const struct bounded *bounded, size_t figure, double value) {
    samples_add(&bounded->samples[figure], value);
}

void bounded_add_memory(const struct bounded *bounded, size_t figure) {
    struct host_memory memory = host_memory_now();
    bounded_add(bounded, figure, memory.resident / (1 << 20));
    if (memory.is_counted)
        bounded_add(bounded, figure + 1, memory.handed_out / (1 << 20));
}

static int timed(const struct bounded *bounded, size_t figure,
                 int (*work)(const struct bounded *bounded, uint64_t index), uint64_t index) {
    double begin = samples_clock();
    int error = work(bounded, index);
    bounded_add(bounded, figure, (samples_clock() - begin) / 1000);
    return error;
}

int bounded_repeat(const struct bounded *bounded, size_t figure,
                   int (*work)(const struct bounded *bounded, uint64_t index)) {
    uint64_t rounds = (uint64_t)bounded->bench->rounds;
    int error = 0;
    for (uint64_t i = bounded->done; i < bounded->amount && !error; i++)
        error = bounded->amount - i > rounds ? work(bounded, i) : timed(bounded, figure, work, i);
    return error;
}

int bounded_measure(const struct bounded *bounded, size_t figure,
                    int (*work)(const struct bounded *bounded, uint64_t index)) {
    uint64_t rounds = (uint64_t)bounded->bench->rounds;
    int error = work(bounded, 0);
    for (uint64_t i = 1; i <= rounds && !error; i++)
        error = timed(bounded, figure, work, i);
    return error;
}

// On a GPU all that is held waits for one kernel, for few run side by side. Another one follows
// when it has ended.
static int hold_behind_kernel(struct bench *bench, CUstream stream) {
    const struct sp_driver *driver = bench->device.driver;
    CUresult error = CUDA_SUCCESS;
    if (driver->cuStreamQuery(bench->streams[1]) == CUDA_SUCCESS) {
        error = sp_work_launch(&bench->work, bench->streams[1], HOLD, 0, 0);
        if (error == CUDA_SUCCESS)
            error = driver->cuEventRecord(bench->event, bench->streams[1]);
    }
    return (int)(error == CUDA_SUCCESS ? driver->cuStreamWaitEvent(stream, bench->event, 0)
                                       : error);
}

int bounded_hold(const struct bounded *bounded, CUstream stream, const void *block, size_t size) {
    struct bench *bench = bounded->bench;
    if (!bench->simulated)
        return hold_behind_kernel(bench, stream);
    return (int)sp_work_launch(&bench->work, stream, HOLD_SIMULATED, (uint64_t)(uintptr_t)block,
                               size);
}

// -------------------------------------------------------------------------------------- the points

static size_t choose_points(const struct bench *bench, const struct bounded_loop *loop,
                            uint64_t points[BOUNDED_POINTS_MAX]) {
    uint64_t most = loop->points[loop->point_count - 1] / bench->divisor;
    size_t count = 0;
    most = most ? most : 1;
    for (size_t i = 0; i < loop->point_count && loop->points[i] < most; i++)
        points[count++] = loop->points[i];
    if (count == 0 && most > 1)
        points[count++] = most >= 10 ? most / 10 : 1;
    points[count++] = most;
    return count;
}

// ------------------------------------------------------------------------------------ the printing

void bounded_print_head(const struct bench *bench, const char *title) {
    struct lineup lineup;
    LINE_UP(&lineup, bench->device.driver, SUBJECT_OURS);
    bench_print_head(bench, &lineup, title);
}

static void label(const struct bounded_loop *loop, const char *when, const struct bench_row *figure,
                  char text[RESULT_TEXT]) {
    snprintf(text, RESULT_TEXT, "%s %s%s%s, %s", when, loop->what, loop->form ? ", " : "",
             loop->form ? loop->form : "", figure->label);
}

static void print(const struct bounded *bounded, const char *text, const char *unit, double at,
                  struct samples *samples) {
    struct bench_row row = {text, unit};
    bench_print_rows(bounded->bench,
                     &(struct bench_field){.subjects = (struct subject *)bounded->subject,
                                           .subject_count = 1,
                                           .rows = &row,
                                           .row_count = 1,
                                           .at = at},
                     samples);
}

static void print_point(const struct bounded *bounded) {
    const struct bounded_loop *loop = bounded->loop;
    char when[32], text[RESULT_TEXT];
    snprintf(when, sizeof when, "%llu", (unsigned long long)bounded->amount);
    for (size_t i = 0; i < loop->figure_count; i++) {
        label(loop, when, &loop->figures[i], text);
        if (bounded->samples[i].count)
            print(bounded, text, loop->figures[i].unit, (double)bounded->amount,
                  &bounded->samples[i]);
    }
}

// The factor of each figure from the first point to the last.
static void print_growth(const struct bounded *bounded, struct samples *first,
                         struct samples *last) {
    const struct bounded_loop *loop = bounded->loop;
    char text[RESULT_TEXT];
    struct samples *factor = calloc(1, sizeof *factor);
    for (size_t i = 0; factor && i < loop->figure_count; i++) {
        struct ratio ratio;
        if (!first[i].count || !last[i].count || !samples_ratio(&last[i], &first[i], &ratio))
            continue;
        factor->count = 0;
        samples_add(factor, ratio.low);
        samples_add(factor, ratio.median);
        samples_add(factor, ratio.high);
        label(loop, "growth,", &loop->figures[i], text);
        print(bounded, text, "times", 0, factor);
    }
    free(factor);
}

// ----------------------------------------------------------------------------------------- the run

static int run_points(struct bounded *bounded, struct samples *samples) {
    uint64_t points[BOUNDED_POINTS_MAX];
    size_t count = choose_points(bounded->bench, bounded->loop, points),
           figures = bounded->loop->figure_count;
    int error = 0;
    for (size_t i = 0; i < count && !error; i++) {
        bounded->amount = points[i];
        bounded->samples = &samples[i * figures];
        error = bounded->loop->advance(bounded);
        bounded->done = points[i];
        if (!error)
            print_point(bounded);
    }
    if (!error && count > 1)
        print_growth(bounded, samples, &samples[(count - 1) * figures]);
    return error;
}

int bounded_run(struct bench *bench, const struct bounded_loop *loop, void *state) {
    struct subject subject;
    struct samples *samples = calloc(BOUNDED_POINTS_MAX * loop->figure_count, sizeof *samples);
    if (!samples)
        return CUDA_ERROR_OUT_OF_MEMORY;
    subject_init(&subject, SUBJECT_OURS, bench->device.driver);
    struct bounded bounded = {.bench = bench, .loop = loop, .subject = &subject, .state = state};
    int error = subject.open(&subject, UINT64_MAX);
    if (!error)
        error = run_points(&bounded, samples);
    int closed = subject.close(&subject);
    free(samples);
    return error ? error : closed;
}
