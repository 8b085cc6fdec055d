// A malloc and a free on the same stream, again and again: what the common case costs.
#include "bench.h"

enum { PAIRS = 2000, PAIRS_SLOW = 50 };

static int measure(struct bench *bench, struct subject *subject, const void *setting,
                   double *values) {
    return bench_mean_pair(subject, *(const size_t *)setting, bench->streams[0],
                           subject->slow ? PAIRS_SLOW : PAIRS, values);
}

static int measure_all(struct bench *bench, struct lineup *lineup) {
    static const size_t sizes[] = {256,     1 << 10,  4 << 10,   64 << 10,
                                   1 << 20, 16 << 20, 256 << 20, 1 << 30};
    int error = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && !error; i++) {
        char text[16];
        struct bench_row row = {bench_size_text(sizes[i], text), "ns"};
        if (bench_fits(bench, lineup->count * sizes[i], text))
            error = bench_rows(bench, lineup, measure, &sizes[i], (double)sizes[i], &row, 1);
    }
    return error;
}

int case_pair(struct bench *bench) {
    struct lineup lineup;
    LINE_UP(&lineup, bench->device.driver, SUBJECT_OURS, SUBJECT_PROMISED, SUBJECT_CUDAS,
            SUBJECT_DIRECT, SUBJECT_LIST);
    lineup_add_peers(&lineup, bench->device.driver, &bench->peers);
    bench_print_head(bench, &lineup, "malloc + free on one stream, threshold at maximum");
    int error = lineup_open(&lineup, UINT64_MAX);
    if (!error)
        error = measure_all(bench, &lineup);
    int closed = lineup_close(&lineup);
    return error ? error : closed;
}
