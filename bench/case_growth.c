// The first allocation of a new pool, and the synchronise that gives its memory back (threshold 0).
#include "bench.h"

#include <stdio.h>

static int grow_and_trim(struct subject *subject, size_t size, CUstream stream, double *values) {
    void *pointer;
    double begin = samples_clock();
    int error = subject->allocate(subject, &pointer, size, stream);
    values[0] = (samples_clock() - begin) / 1000;
    if (!error)
        error = subject->release(subject, pointer, stream);
    begin = samples_clock();
    if (!error)
        error = subject->synchronize(subject, stream);
    values[1] = (samples_clock() - begin) / 1000;
    return error;
}

static int measure(struct bench *bench, struct subject *subject, const void *setting, double *values) {
    const size_t *size = setting;
    int error = subject->open(subject, 0);
    if (!error)
        error = grow_and_trim(subject, *size, bench->streams[0], values);
    int closed = subject->close(subject);
    return error ? error : closed;
}

static int measure_size(struct bench *bench, size_t size) {
    char text[16], grow[RESULT_TEXT], trim[RESULT_TEXT];
    struct bench_row rows[] = {{grow, "us"}, {trim, "us"}};
    bench_size_text(size, text);
    snprintf(grow, sizeof grow, "%s, grow", text);
    snprintf(trim, sizeof trim, "%s, trim", text);
    return bench_rows(bench, measure, &size, rows, 2);
}

int case_growth(struct bench *bench) {
    static const size_t sizes[] = {2 << 20, 32 << 20, (size_t)128 << 20, (size_t)512 << 20, (size_t)2 << 30};
    int error = 0;
    bench_print_head(bench, "first allocation of a new pool, and the synchronise that trims it");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && !error; i++)
        error = measure_size(bench, sizes[i]);
    return error;
}
