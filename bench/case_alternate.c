// Pairs on two streams in turn: a pool that keeps memory for the stream that last had it needs both
// to have some, and one that shares it needs to know that it is free.
#include "bench.h"

enum { PAIRS = 2000 };

static int run_pairs(struct bench *bench, const struct subject *subject, size_t size) {
    int error = 0;
    for (int i = 0; i < PAIRS && !error; i++)
        error = bench_pairs(subject, size, bench->streams[i % 2], 1);
    return error;
}

static int measure(struct bench *bench, struct subject *subject, const void *setting,
                   double *values) {
    const size_t *size = setting;
    double begin = samples_clock();
    int error = run_pairs(bench, subject, *size);
    values[0] = (samples_clock() - begin) / PAIRS;
    for (int i = 0; i < 2 && !error; i++)
        error = subject->synchronize(subject, bench->streams[i]);
    return error;
}

static int measure_all(struct bench *bench, struct lineup *lineup) {
    static const size_t sizes[] = {512, 65536, 1 << 20, 16 << 20};
    int error = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && !error; i++) {
        char text[16];
        struct bench_row row = {bench_size_text(sizes[i], text), "ns"};
        error = bench_rows(bench, lineup, measure, &sizes[i], (double)sizes[i], &row, 1);
    }
    return error;
}

int case_alternate(struct bench *bench) {
    struct lineup lineup;
    LINE_UP(&lineup, bench->device.driver, SUBJECT_OURS, SUBJECT_PROMISED, SUBJECT_CUDAS,
            SUBJECT_LIST);
    bench_print_head(bench, &lineup,
                     "malloc + free on two streams in turn, each pair, threshold at maximum");
    int error = lineup_open(&lineup, UINT64_MAX);
    if (!error)
        error = measure_all(bench, &lineup);
    int closed = lineup_close(&lineup);
    return error ? error : closed;
}
