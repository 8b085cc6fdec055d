// Interleaved rounds, and what cases need to measure.
#include "bench.h"

#include <stdlib.h>
#include <streampool/streampool.h>

static int measure_round(struct bench *bench, const struct bench_field *field, struct samples *samples) {
    for (size_t i = 0; i < field->subject_count; i++) {
        double values[BENCH_ROWS_MAX];
        int error = field->measure(bench, &field->subjects[i], field->setting, values);
        if (error)
            return error;
        for (size_t row = 0; row < field->row_count && bench->round >= 0; row++)
            samples_add(&samples[row * field->subject_count + i], values[row]);
    }
    return 0;
}

// The samples, [quantity * subject_count + subject], which the caller frees; null with the error.
static struct samples *sample(struct bench *bench, const struct bench_field *field, int *error) {
    struct samples *samples = calloc(field->row_count * field->subject_count, sizeof *samples);
    *error = samples ? 0 : CUDA_ERROR_OUT_OF_MEMORY;
    for (bench->round = -1; bench->round < bench->rounds && !*error; bench->round++)
        *error = measure_round(bench, field, samples);
    if (!*error)
        return samples;
    free(samples);
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

int bench_rows(struct bench *bench, bench_measure *measure, const void *setting,
               const struct bench_row rows[], size_t row_count) {
    return bench_compare(bench, &(struct bench_field){
                                    .subjects = bench->subjects,
                                    .subject_count = (size_t)bench->subject_count,
                                    .compared = bench->subject_count > SUBJECT_CUDAS,
                                    .rows = rows,
                                    .row_count = row_count,
                                    .measure = measure,
                                    .setting = setting,
                                });
}

int bench_open_pools(struct bench *bench, uint64_t threshold) {
    for (int i = 0; i < bench->subject_count; i++) {
        int error = bench->subjects[i].open(&bench->subjects[i], threshold);
        if (error)
            return error;
    }
    return 0;
}

int bench_close_pools(struct bench *bench) {
    int first = 0;
    for (int i = 0; i < bench->subject_count; i++) {
        int error = bench->subjects[i].close(&bench->subjects[i]);
        first = first ? first : error;
    }
    return first;
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
            error = subject->release(subject, pointer, stream);
        if (error)
            return error;
    }
    return 0;
}
