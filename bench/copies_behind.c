// A kernel holds a stream for 100 ms, or until a word of memory says that it may end. A copy is
// given behind it; and when that call has returned, a host function, a copy of pinned memory and
// one of ours are given to another stream, one after another. All times begin with the first call,
// so what is below 100,000 us came to its end while the stream was held.
#include "copies_behind.h"

#include "kernel.h"

#include <stdatomic.h>
#include <stdio.h>

#define HELD_NS      UINT64_C(100000000)
#define BESIDE       ((size_t)1 << 20)
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { RETURNED, FUNCTION, PINNED, OURS, MOMENTS };

struct behind {
    struct copies *copies;
    struct copies *beside; // on the other stream
    struct copies_lineup lineup;
    struct kernel kernel;
    _Atomic uint32_t *let_go; // the word
    size_t bytes;
};

static void do_nothing(void *unused) {
    (void)unused;
}

// Waits until all of a stream is done, without a call that may wait for another stream.
static int await(const struct bench *bench, CUstream stream) {
    const struct sp_driver *driver = bench->device.driver;
    CUresult error = driver->cuEventRecord(bench->event, stream);
    if (error != CUDA_SUCCESS)
        return (int)error;
    while ((error = driver->cuEventQuery(bench->event)) == CUDA_ERROR_NOT_READY)
        ;
    return (int)error;
}

static int call_function(const struct bench *bench, const struct behind *behind) {
    CUresult error =
        bench->device.driver->cuLaunchHostFunc(behind->beside->stream, do_nothing, NULL);
    return error == CUDA_SUCCESS ? await(bench, behind->beside->stream) : (int)error;
}

static int copy_beside(const struct bench *bench, const struct behind *behind,
                       enum copies_way way) {
    int error = copies_issue(behind->beside, way, COPIES_IN, 0, behind->beside->size);
    return error ? error : await(bench, behind->beside->stream);
}

static int work_beside(const struct bench *bench, const struct behind *behind, double begin,
                       double *values) {
    int error = call_function(bench, behind);
    values[FUNCTION] = (samples_clock() - begin) / 1000;
    if (!error)
        error = copy_beside(bench, behind, COPIES_PINNED);
    values[PINNED] = (samples_clock() - begin) / 1000;
    if (!error)
        error = copy_beside(bench, behind, COPIES_OURS);
    values[OURS] = (samples_clock() - begin) / 1000;
    return error;
}

static int hold(const struct behind *behind) {
    atomic_store(behind->let_go, 0);
    return kernel_spin(&behind->kernel, behind->copies->stream, HELD_NS,
                       (CUdeviceptr)(uintptr_t)behind->let_go);
}

static int measure_direction(const struct bench *bench, const struct behind *behind,
                             enum copies_way way, enum copies_direction direction, double *values) {
    int error = hold(behind);
    if (error)
        return error;
    double begin = samples_clock();
    error = copies_issue(behind->copies, way, direction, 0, behind->bytes);
    values[RETURNED] = (samples_clock() - begin) / 1000;
    int beside = error ? 0 : work_beside(bench, behind, begin, values);
    atomic_store(behind->let_go, 1);
    if (!error)
        error = copies_finish(behind->copies, way, direction, 0, behind->bytes);
    return error ? error : beside;
}

static int measure(struct bench *bench, struct subject *subject, const void *setting,
                   double *values) {
    const struct behind *behind = setting;
    enum copies_way way = copies_way_of(&behind->lineup, subject);
    int error = 0;
    for (size_t i = 0; i < COPIES_DIRECTIONS && !error; i++)
        error =
            measure_direction(bench, behind, way, (enum copies_direction)i, &values[MOMENTS * i]);
    return error;
}

static int measure_size(struct bench *bench, struct behind *behind) {
    static const char *const moments[MOMENTS] = {[RETURNED] = "returned",
                                                 [FUNCTION] = "host function",
                                                 [PINNED] = "pinned copy",
                                                 [OURS] = "our copy"};
    struct bench_row rows[COPIES_DIRECTIONS * MOMENTS];
    char labels[COUNT(rows)][RESULT_TEXT], text[16];
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(labels[i], sizeof labels[i], "%s, %s: %s", bench_size_text(behind->bytes, text),
                 copies_direction_text[i / MOMENTS], moments[i % MOMENTS]);
        rows[i] = (struct bench_row){labels[i], "us"};
    }
    return bench_compare(bench, &(struct bench_field){.subjects = behind->lineup.subjects,
                                                      .subject_count = behind->lineup.count,
                                                      .rows = rows,
                                                      .row_count = COUNT(rows),
                                                      .at = (double)behind->bytes,
                                                      .measure = measure,
                                                      .setting = behind});
}

static int measure_sizes(struct bench *bench, struct behind *behind) {
    static const enum copies_way ways[] = {COPIES_COMPLETION, COPIES_OURS, COPIES_PAGEABLE,
                                           COPIES_PINNED};
    static const size_t sizes[] = {64 << 10, 1 << 20, 16 << 20, 256 << 20};
    int error = 0;
    copies_line_up(behind->copies, &behind->lineup, ways, COUNT(ways));
    copies_print_head(
        bench, &behind->lineup,
        "behind a stream that is held for 100,000 us, from the call on, to CUDA's own copy");
    for (size_t i = 0; i < COUNT(sizes) && !error; i++) {
        behind->bytes = sizes[i];
        if (copies_fit(bench, behind->copies, sizes[i]))
            error = measure_size(bench, behind);
    }
    return error;
}

static int measure_with_word(struct bench *bench, struct behind *behind) {
    const struct sp_driver *driver = bench->device.driver;
    void *word = NULL;
    int error = (int)driver->cuMemHostAlloc(&word, sizeof *behind->let_go,
                                            CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    if (error)
        return error;
    behind->let_go = word;
    error = measure_sizes(bench, behind);
    int freed = (int)driver->cuMemFreeHost(word);
    return error ? error : freed;
}

int copies_behind(struct bench *bench, struct copies *copies) {
    struct copies beside;
    struct behind behind = {.copies = copies, .beside = &beside};
    int error = kernel_open(&behind.kernel, bench->device.driver);
    if (error)
        return error;
    error = copies_open(&beside, bench->device.driver, bench->streams[1], BESIDE);
    if (!error)
        error = measure_with_word(bench, &behind);
    int closed = copies_close(&beside);
    kernel_close(&behind.kernel);
    return error ? error : closed;
}
