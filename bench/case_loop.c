// What a program does that keeps nothing: malloc, a kernel that writes to the block, free,
// synchronise, again and again. With threshold 0 each synchronise gives the memory back and each
// malloc takes it from the device; at maximum the pool keeps it. The floor is the kernel and the
// synchronise alone.
#include "bench.h"
#include "kernel.h"

#include <stdio.h>

enum { REPEATS = 5, WRITTEN = 64 << 10 }; // a kernel that wrote more would hide what is measured

struct loop {
    struct kernel kernel;
    size_t size;
};

static int go_round(const struct loop *loop, const struct subject *subject, CUstream stream) {
    void *block;
    int error = subject->allocate(subject, &block, loop->size, stream);
    if (error)
        return error;
    int launched = kernel_launch(&loop->kernel, stream, block, WRITTEN);
    error = subject_release(subject, block, loop->size, stream);
    int synchronized = subject->synchronize(subject, stream);
    error = launched ? launched : error;
    return error ? error : synchronized;
}

static int measure(struct bench *bench, struct subject *subject, const void *setting,
                   double *values) {
    const struct loop *loop = setting;
    double begin = samples_clock();
    int error = go_round(loop, subject, bench->streams[0]);
    values[0] = (samples_clock() - begin) / 1000;
    return error;
}

static int measure_size(struct bench *bench, struct loop *loop, struct lineup *lineup,
                        const char *label) {
    struct bench_row row = {label, "us"};
    return bench_compare(bench, &(struct bench_field){.subjects = lineup->subjects,
                                                      .subject_count = lineup->count,
                                                      .repeats = REPEATS,
                                                      .rows = &row,
                                                      .row_count = 1,
                                                      .call_rows = 1,
                                                      .at = (double)loop->size,
                                                      .measure = measure,
                                                      .setting = loop});
}

// In new pools for each size.
static int measure_sizes(struct bench *bench, struct loop *loop, struct lineup *lineup,
                         uint64_t threshold) {
    static const size_t sizes[] = {2 << 20, 64 << 20, (size_t)2 << 30};
    int error = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && !error; i++) {
        char text[16], label[RESULT_TEXT];
        loop->size = sizes[i];
        snprintf(label, sizeof label, "%s, threshold %s", bench_size_text(sizes[i], text),
                 threshold ? "max" : "0");
        if (!bench_fits(bench, lineup->count * sizes[i], label))
            continue;
        error = lineup_open(lineup, threshold);
        if (!error)
            error = measure_size(bench, loop, lineup, label);
        int closed = lineup_close(lineup);
        error = error ? error : closed;
    }
    return error;
}

// The reaper has nothing to do where everything is kept.
static int measure_all(struct bench *bench, struct loop *loop) {
    const struct sp_driver *driver = bench->device.driver;
    struct lineup lineup;
    LINE_UP(&lineup, driver, SUBJECT_OURS, SUBJECT_REAPER, SUBJECT_DELAYED, SUBJECT_CUDAS,
            SUBJECT_DIRECT, SUBJECT_BLOCK);
    bench_print_head(bench, &lineup, "malloc, kernel, free, synchronise, threshold 0");
    int error = measure_sizes(bench, loop, &lineup, 0);
    if (error)
        return error;
    LINE_UP(&lineup, driver, SUBJECT_OURS, SUBJECT_CUDAS, SUBJECT_DIRECT, SUBJECT_BLOCK);
    lineup_add_peers(&lineup, driver, &bench->peers);
    bench_print_head(bench, &lineup, "malloc, kernel, free, synchronise, threshold at maximum");
    return measure_sizes(bench, loop, &lineup, UINT64_MAX);
}

int case_loop(struct bench *bench) {
    struct loop loop = {0};
    int error = kernel_open(&loop.kernel, bench->device.driver);
    if (error)
        return error;
    error = measure_all(bench, &loop);
    kernel_close(&loop.kernel);
    return error;
}
