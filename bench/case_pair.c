// A malloc and a free on the same stream, again and again: what the common case costs.
#include "bench.h"

enum { PAIRS = 2000 };

static int measure(struct bench *bench, struct subject *subject, const void *setting, double *values) {
    const size_t *size = setting;
    CUstream stream = bench->streams[0];
    double begin = samples_clock();
    int error = bench_pairs(subject, *size, stream, PAIRS);
    values[0] = (samples_clock() - begin) / PAIRS;
    int synchronized = subject->synchronize(subject, stream);
    return error ? error : synchronized;
}

static int measure_all(struct bench *bench) {
    static const size_t sizes[] = {256, 4096, 65536, 1 << 20, 16 << 20, (size_t)256 << 20, (size_t)1 << 30};
    int error = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && !error; i++) {
        char text[16];
        struct bench_row row = {bench_size_text(sizes[i], text), "ns"};
        error = bench_rows(bench, measure, &sizes[i], &row, 1);
    }
    return error;
}

int case_pair(struct bench *bench) {
    bench_print_head(bench, "malloc + free on one stream, threshold at maximum");
    int error = bench_open_pools(bench, UINT64_MAX);
    if (!error)
        error = measure_all(bench);
    int closed = bench_close_pools(bench);
    return error ? error : closed;
}
