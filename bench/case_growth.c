// The first allocation of a new pool, and the synchronise that gives its memory back (threshold 0):
// *grow* and *trim*.
//
// *Released* is the time from the begin of the synchronise until the pool has nothing reserved:
// longer than the trim where the library's own thread, the reaper, releases. What is *left*
// reserved then should be nothing, but in a pool that was primed before the first allocation, which
// keeps what it was primed with.
//
// cuMemAlloc has no pool to trim: in its place is cuMemFree.
//
// The driver clears memory that was released behind the call, and a creation that finds too little
// of the device cleared waits for all that is being cleared. A few allocators that release 8 GiB
// after each other leave nothing cleared; then whoever comes next waits for tens of milliseconds,
// whichever that is. So the device gets the time to clear what the last allocator released before
// the next one begins.
#include "bench.h"
#include "floor.h"

#include <stdio.h>
#include <time.h>

// An H200 clears a GiB in 3 ms.
enum { REPEATS = 5, CLEARS_GIB_NS = 4000000 };

enum { GROW, TRIM, RELEASED, LEFT, BY_REAPER, ROWS };

static double microseconds_since(double begin) {
    return (samples_clock() - begin) / 1000;
}

static int trim(const struct subject *subject, void *block, size_t size, CUstream stream,
                double *values) {
    double begin = samples_clock();
    int error = subject_release(subject, block, size, stream);
    if (!subject->slow)
        begin = samples_clock();
    if (!error)
        error = subject->synchronize(subject, stream);
    values[TRIM] = microseconds_since(begin);
    if (!error)
        error = subject_settle(subject);
    values[RELEASED] = microseconds_since(begin);
    return error;
}

static int grow_and_trim(const struct subject *subject, size_t size, CUstream stream,
                         double *values) {
    void *block;
    uint64_t left = 0;
    double begin = samples_clock();
    int error = subject->allocate(subject, &block, size, stream);
    values[GROW] = microseconds_since(begin);
    if (!error)
        error = trim(subject, block, size, stream, values);
    if (!error && subject->reserved)
        error = subject->reserved(subject, &left);
    values[LEFT] = (double)left / (1 << 20);
    values[BY_REAPER] = subject->held ? (double)subject->held(subject).reaper_bytes / (1 << 20) : 0;
    return error;
}

// The first creation behind that notes what has been cleared, 0.3 ms for a GiB: one that nobody
// times.
static int let_device_clear(const struct bench *bench, size_t bytes) {
    double unused, ns = (double)bytes / (1 << 30) * CLEARS_GIB_NS;
    time_t seconds = (time_t)(ns / 1e9);
    struct timespec pause = {seconds, (long)(ns - (double)seconds * 1e9)};
    if (bench->simulated)
        return 0;
    nanosleep(&pause, NULL);
    return floor_measure_growth(bench->device.driver, 1, &unused);
}

static int measure(struct bench *bench, struct subject *subject, const void *setting,
                   double *values) {
    const size_t *size = setting;
    int error = bench->repeat == 0 ? let_device_clear(bench, REPEATS * *size) : 0;
    if (error)
        return error;
    error = subject->open(subject, 0);
    if (!error && subject->prime)
        error = subject->prime(subject, *size);
    if (!error)
        error = grow_and_trim(subject, *size, bench->streams[0], values);
    int closed = subject->close(subject);
    return error ? error : closed;
}

static int measure_size(struct bench *bench, struct lineup *lineup, size_t size, const char *text) {
    static const struct bench_row what[ROWS] = {
        [GROW] = {"grow", "us"},
        [TRIM] = {"trim", "us"},
        [RELEASED] = {"released", "us"},
        [LEFT] = {"left", "MiB"},
        [BY_REAPER] = {"by the reaper", "MiB"},
    };
    char labels[ROWS][RESULT_TEXT];
    struct bench_row rows[ROWS];
    for (int i = 0; i < ROWS; i++) {
        snprintf(labels[i], sizeof labels[i], "%s, %s", text, what[i].label);
        rows[i] = (struct bench_row){labels[i], what[i].unit};
    }
    return bench_compare(bench, &(struct bench_field){.subjects = lineup->subjects,
                                                      .subject_count = lineup->count,
                                                      .repeats = REPEATS,
                                                      .rows = rows,
                                                      .row_count = ROWS,
                                                      .call_rows = LEFT,
                                                      .at = (double)size,
                                                      .measure = measure,
                                                      .setting = &size});
}

// The subjects take their turns: there is one block at a time.
int case_growth(struct bench *bench) {
    static const size_t mebibytes[] = {2, 32, 128, 512, 2 << 10, 8 << 10};
    struct lineup lineup;
    int error = 0;
    LINE_UP(&lineup, bench->device.driver, SUBJECT_OURS, SUBJECT_REAPER, SUBJECT_PRIMED,
            SUBJECT_CUDAS, SUBJECT_DIRECT, SUBJECT_EXTENT);
    lineup_add_peers(&lineup, bench->device.driver, &bench->peers);
    bench_print_head(bench, &lineup,
                     "first allocation of a new pool, and the synchronise that trims it");
    for (size_t i = 0; i < sizeof mebibytes / sizeof mebibytes[0] && !error; i++) {
        char text[16];
        size_t size = mebibytes[i] << 20;
        if (bench_fits(bench, size, bench_size_text(size, text)))
            error = measure_size(bench, &lineup, size, text);
    }
    return error;
}
