// The first allocation of a new pool, and the synchronise that gives its memory back (threshold 0).
#include "bench.h"

#include <stdio.h>

static int measure(struct subject *subject, size_t size, CUstream stream, struct samples *grow,
                   struct samples *trim) {
    void *pointer;
    int error = subject->open(subject, 0);
    if (error)
        return error;
    double begin = samples_clock();
    error = subject->allocate(subject, &pointer, size, stream);
    samples_add(grow, samples_clock() - begin);
    if (!error)
        error = subject->release(subject, pointer, stream);
    begin = samples_clock();
    if (!error)
        error = subject->synchronize(subject, stream);
    samples_add(trim, samples_clock() - begin);
    int closed = subject->close(subject);
    return error ? error : closed;
}

static int measure_size(struct bench *bench, size_t size) {
    struct samples grow[SUBJECT_COUNT] = {{{0}, 0}};
    struct samples trim[SUBJECT_COUNT] = {{{0}, 0}};
    char text[16];
    char setting[32];
    for (int round = -1; round < bench->rounds; round++) {
        for (int i = 0; i < bench->subject_count; i++) {
            int error = measure(&bench->subjects[i], size, bench->stream, &grow[i], &trim[i]);
            if (error)
                return error;
            if (round < 0)
                grow[i].count = trim[i].count = 0; // the first round warms up
        }
    }
    snprintf(setting, sizeof setting, "%s, grow", bench_size_text(size, text));
    bench_print_row(bench, setting, grow, 1000);
    snprintf(setting, sizeof setting, "%s, trim", text);
    bench_print_row(bench, setting, trim, 1000);
    return 0;
}

int case_growth(struct bench *bench) {
    static const size_t sizes[] = {2 << 20, 32 << 20, (size_t)128 << 20, (size_t)512 << 20, (size_t)2 << 30};
    int error = 0;
    bench_print_head(bench, "growth: first allocation of a new pool, and the synchronise that trims it",
                     "us");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && !error; i++)
        error = measure_size(bench, sizes[i]);
    return error ? bench_fail("growth", error) : 0;
}
