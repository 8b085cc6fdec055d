// Interleaved rounds, and what cases need to measure.
#include "bench.h"

#include "cli/program/complain.h"

#include <stdlib.h>
#include <streampool/streampool.h>

static int measure_subject(struct bench *bench, const struct bench_field *field, size_t i,
                           struct samples *samples) {
    int repeats = field->repeats ? field->repeats : 1, error = 0;
    for (bench->repeat = 0; bench->repeat < repeats && !error; bench->repeat++) {
        double values[BENCH_ROWS_MAX];
        bench->step = NULL;
        error = field->measure(bench, &field->subjects[i], field->setting, values);
        for (size_t row = 0; row < field->row_count && bench->round >= 0 && !error; row++)
            samples_add(&samples[row * field->subject_count + i], values[row]);
    }
    return error;
}

void bench_name_failure(const struct bench *bench, const char *setting,
                        const struct subject *subject, int error) {
    const char *detail = subject->detail ? subject->detail() : "";
    sp_complain("%s: %s at '%s'%s%s: %s (%d)%s%s", bench->case_name, subject->name, setting,
                bench->step ? ", step " : "", bench->step ? bench->step : "",
                sp_driver_error_name((CUresult)error), error, detail[0] ? ": " : "", detail);
}

// What a round finds out about its subjects.
struct field_state {
    struct samples *samples;
    bool left_out[BENCH_SUBJECTS_MAX];
    size_t left_out_count;
};

static void leave_out(struct bench *bench, const struct bench_field *field, size_t i,
                      struct field_state *state) {
    state->left_out[i] = bench->left_out = true;
    state->left_out_count++;
    for (size_t row = 0; row < field->row_count; row++)
        state->samples[row * field->subject_count + i].count = 0;
}

// One subject is done when the next one begins. The error is that of the last one, if none is left.
static int measure_round(struct bench *bench, const struct bench_field *field,
                         struct field_state *state) {
    int last = 0;
    for (size_t i = 0; i < field->subject_count; i++) {
        if (state->left_out[i])
            continue;
        int error = measure_subject(bench, field, i, state->samples);
        if (!error && field->subjects[i].pool)
            error = subject_settle(&field->subjects[i]);
        if (!error)
            continue;
        bench_name_failure(bench, field->rows[0].label, &field->subjects[i], error);
        leave_out(bench, field, i, state);
        last = error;
    }
    return state->left_out_count == field->subject_count ? last : 0;
}

// The samples, [quantity * subject_count + subject], which the caller frees; null with the error.
static struct samples *sample(struct bench *bench, const struct bench_field *field, int *error) {
    struct field_state state = {
        .samples = calloc(field->row_count * field->subject_count, sizeof *state.samples)};
    *error = state.samples ? 0 : CUDA_ERROR_OUT_OF_MEMORY;
    for (bench->round = -1; bench->round < bench->rounds && !*error; bench->round++)
        *error = measure_round(bench, field, &state);
    if (!*error)
        return state.samples;
    free(state.samples);
    return NULL;
}

int bench_lines(struct bench *bench, const struct bench_field *field) {
    int error;
    struct samples *samples = sample(bench, field, &error);
    if (samples)
        bench_print_lines(bench, field, samples);
    free(samples);
    return error;
}

int bench_compare(struct bench *bench, const struct bench_field *field) {
    int error;
    struct samples *samples = sample(bench, field, &error);
    if (samples)
        bench_print_rows(bench, field, samples);
    free(samples);
    return error;
}

int bench_rows(struct bench *bench, struct lineup *lineup, bench_measure *measure,
               const void *setting, double at, const struct bench_row rows[], size_t row_count) {
    return bench_compare(bench, &(struct bench_field){
                                    .subjects = lineup->subjects,
                                    .subject_count = lineup->count,
                                    .rows = rows,
                                    .at = at,
                                    .row_count = row_count,
                                    .measure = measure,
                                    .setting = setting,
                                });
}

int bench_open_streams(struct bench *bench, CUstream *streams, size_t count) {
    for (size_t i = 0; i < count; i++) {
        CUresult error = bench->device.driver->cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING);
        if (error != CUDA_SUCCESS) {
            bench_close_streams(streams, i);
            return (int)error;
        }
    }
    return 0;
}

// By the library, so that it doesn't keep what it knows of them.
void bench_close_streams(CUstream *streams, size_t count) {
    for (size_t i = 0; i < count; i++)
        poolStreamDestroy(streams[i]);
}

int bench_pairs(const struct subject *subject, size_t size, CUstream stream, int count) {
    for (int i = 0; i < count; i++) {
        void *pointer;
        int error = subject->allocate(subject, &pointer, size, stream);
        if (!error)
            error = subject_release(subject, pointer, size, stream);
        if (error)
            return error;
    }
    return 0;
}

int bench_mean_pair(const struct subject *subject, size_t size, CUstream stream, int count,
                    double *mean) {
    double begin = samples_clock();
    int error = bench_pairs(subject, size, stream, count);
    *mean = (samples_clock() - begin) / count;
    int synchronized = subject->synchronize(subject, stream);
    return error ? error : synchronized;
}

bool bench_fits(const struct bench *bench, uint64_t bytes, const char *what) {
    size_t available = 0, total = 0;
    bench->device.driver->cuMemGetInfo(&available, &total);
    if (available > total / 16 && bytes <= available - total / 16)
        return true;
    bench_print(bench, "%s: left out, %zu MiB are free", what, available >> 20);
    bench_end_line(bench);
    return false;
}
