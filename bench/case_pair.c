// A malloc and a free on the same stream, again and again: what the common case costs.
#include "bench.h"

enum { PAIRS = 2000 };

static int run_pairs(const struct subject *subject, size_t size, CUstream stream) {
    for (int i = 0; i < PAIRS; i++) {
        void *pointer;
        int error = subject->allocate(subject, &pointer, size, stream);
        if (error)
            return error;
        error = subject->release(subject, pointer, stream);
        if (error)
            return error;
    }
    return 0;
}

static int measure(const struct subject *subject, size_t size, CUstream stream, struct samples *samples) {
    double begin = samples_clock();
    int error = run_pairs(subject, size, stream);
    samples_add(samples, (samples_clock() - begin) / PAIRS);
    int synchronized = subject->synchronize(subject, stream);
    return error ? error : synchronized;
}

static int measure_size(struct bench *bench, size_t size) {
    struct samples samples[SUBJECT_COUNT] = {{{0}, 0}};
    char text[16];
    for (int round = -1; round < bench->rounds; round++) {
        for (int i = 0; i < bench->subject_count; i++) {
            int error = measure(&bench->subjects[i], size, bench->stream, &samples[i]);
            if (error)
                return error;
            if (round < 0)
                samples[i].count = 0; // the first round warms up
        }
    }
    bench_print_row(bench, bench_size_text(size, text), samples, 1);
    return 0;
}

int case_pair(struct bench *bench) {
    static const size_t sizes[] = {256, 4096, 65536, 1 << 20, 16 << 20, (size_t)256 << 20, (size_t)1 << 30};
    int error = 0;
    for (int i = 0; i < bench->subject_count && !error; i++)
        error = bench->subjects[i].open(&bench->subjects[i], UINT64_MAX);
    if (error)
        return bench_fail("making a pool", error);
    bench_print_head(bench, "pair: malloc + free on one stream, threshold at maximum", "ns");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && !error; i++)
        error = measure_size(bench, sizes[i]);
    for (int i = 0; i < bench->subject_count; i++)
        bench->subjects[i].close(&bench->subjects[i]);
    return error ? bench_fail("pair", error) : 0;
}
