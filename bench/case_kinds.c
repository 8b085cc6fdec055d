// A malloc and a free on one stream, by the kind of the stream. On streams that take part in the
// legacy default stream's order an allocation of memory that was just freed makes an action, as
// CUDA's does; on the legacy stream from the time on when a blocking stream is known. With all
// promises it makes none.
#include "bench.h"

#include <streampool/streampool.h>

#include <stdio.h>

enum { PAIRS = 2000 };

enum kind { NON_BLOCKING, LEGACY, BLOCKING, PER_THREAD, LEGACY_BESIDE, KINDS };

// In this order: the legacy stream is measured alone before a blocking one is made known.
static const char *const names[KINDS] = {"non-blocking", "legacy", "blocking", "per-thread",
                                         "legacy, beside blocking"};

struct setting {
    CUstream stream;
    size_t size;
};

static int measure(struct bench *bench, struct subject *subject, const void *setting,
                   double *values) {
    const struct setting *on = setting;
    (void)bench;
    double begin = samples_clock();
    int error = bench_pairs(subject, on->size, on->stream, PAIRS);
    values[0] = (samples_clock() - begin) / PAIRS;
    int synchronized = subject->synchronize(subject, on->stream);
    return error ? error : synchronized;
}

static int measure_kind(struct bench *bench, struct lineup *lineup, enum kind kind,
                        CUstream stream) {
    static const size_t sizes[] = {1 << 10, 1 << 20, 64 << 20};
    int error = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && !error; i++) {
        char size[16], label[64];
        struct setting on = {stream, sizes[i]};
        snprintf(label, sizeof label, "%s, %s", names[kind], bench_size_text(sizes[i], size));
        struct bench_row row = {label, "ns"};
        if (bench_fits(bench, lineup->count * sizes[i], label))
            error = bench_rows(bench, lineup, measure, &on, 0, &row, 1);
    }
    return error;
}

static int measure_all(struct bench *bench, struct lineup *lineup, CUstream blocking) {
    const CUstream streams[KINDS] = {bench->streams[0], CU_STREAM_LEGACY, blocking,
                                     CU_STREAM_PER_THREAD, CU_STREAM_LEGACY};
    int error = 0;
    for (int kind = 0; kind < KINDS && !error; kind++)
        error = measure_kind(bench, lineup, (enum kind)kind, streams[kind]);
    return error;
}

int case_kinds(struct bench *bench) {
    struct lineup lineup;
    CUstream blocking = NULL;
    LINE_UP(&lineup, bench->device.driver, SUBJECT_OURS, SUBJECT_PROMISED, SUBJECT_CUDAS,
            SUBJECT_LIST);
    bench_print_head(bench, &lineup,
                     "malloc + free by the kind of the stream, threshold at maximum");
    int error = (int)bench->device.driver->cuStreamCreate(&blocking, CU_STREAM_DEFAULT);
    if (error)
        return error;
    error = lineup_open(&lineup, UINT64_MAX);
    if (!error)
        error = measure_all(bench, &lineup, blocking);
    int closed = lineup_close(&lineup);
    bench_close_streams(&blocking, 1);
    return error ? error : closed;
}
