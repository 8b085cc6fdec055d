// What comes, is used once and goes: threads, streams and contexts. What the library keeps of them
// must not grow with how many there ever were.
#include "bounded.h"

#include <pthread.h>
#include <streampool/streampool.h>

enum { SIZE = 512, LIVE = 1000, PAIRS = 16 };

enum { TIME, MEMORY, FIGURES = MEMORY + 2 };

static const struct bench_row figures[FIGURES] = {{"each", "us"}, BOUNDED_MEMORY_FIGURES};

// ----------------------------------------------------------------------------------------- threads

struct user {
    const struct bounded *bounded;
    int error;
};

static void *use_default_stream(void *argument) {
    struct user *user = argument;
    const struct bounded *bounded = user->bounded;
    const struct sp_device *device = &bounded->bench->device;
    user->error = (int)device->driver->cuCtxSetCurrent(device->context);
    if (!user->error)
        user->error = bench_pairs(bounded->subject, SIZE, CU_STREAM_PER_THREAD, 1);
    return NULL;
}

static int run_thread(const struct bounded *bounded, uint64_t index) {
    (void)index;
    pthread_t thread;
    struct user user = {.bounded = bounded};
    int error = pthread_create(&thread, NULL, use_default_stream, &user);
    if (error)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_join(thread, NULL);
    return user.error;
}

static int advance_threads(struct bounded *bounded) {
    int error = bounded_repeat(bounded, TIME, run_thread);
    bounded_add_memory(bounded, MEMORY);
    return error;
}

int case_ended_threads(struct bench *bench) {
    static const struct bounded_loop loop = {.what = "threads",
                                             .points = {10000, 100000, 1000000},
                                             .point_count = 3,
                                             .figures = figures,
                                             .figure_count = FIGURES,
                                             .advance = advance_threads};
    bounded_print_head(bench, "threads that use their default stream for a pair and end");
    return bounded_run(bench, &loop, NULL);
}

// ----------------------------------------------------------------------------------------- streams

typedef CUresult destroyer(const struct sp_driver *driver, CUstream stream);

static CUresult destroy_by_driver(const struct sp_driver *driver, CUstream stream) {
    return driver->cuStreamDestroy(stream);
}

static CUresult destroy_by_pool(const struct sp_driver *driver, CUstream stream) {
    (void)driver;
    return (CUresult)poolStreamDestroy(stream);
}

static int use_stream(const struct bounded *bounded, destroyer *destroy) {
    CUstream stream;
    int error = bench_open_streams(bounded->bench, &stream, 1);
    if (error)
        return error;
    error = bench_pairs(bounded->subject, SIZE, stream, 1);
    CUresult destroyed = destroy(bounded->bench->device.driver, stream);
    return error ? error : (int)destroyed;
}

static int use_stream_of_driver(const struct bounded *bounded, uint64_t index) {
    (void)index;
    return use_stream(bounded, destroy_by_driver);
}

static int use_stream_of_pool(const struct bounded *bounded, uint64_t index) {
    (void)index;
    return use_stream(bounded, destroy_by_pool);
}

static int advance_streams_of_driver(struct bounded *bounded) {
    int error = bounded_repeat(bounded, TIME, use_stream_of_driver);
    bounded_add_memory(bounded, MEMORY);
    return error;
}

static int advance_streams_of_pool(struct bounded *bounded) {
    int error = bounded_repeat(bounded, TIME, use_stream_of_pool);
    bounded_add_memory(bounded, MEMORY);
    return error;
}

int case_ended_streams(struct bench *bench) {
    struct bounded_loop loop = {.what = "streams",
                                .form = "pool",
                                .points = {10000, 100000, 1000000},
                                .point_count = 3,
                                .figures = figures,
                                .figure_count = FIGURES,
                                .advance = advance_streams_of_pool};
    bounded_print_head(
        bench,
        "streams that are made, used for a pair and destroyed, by poolStreamDestroy (pool) and by "
        "cuStreamDestroy (driver)");
    int error = bounded_run(bench, &loop, NULL);
    loop.form = "driver";
    loop.advance = advance_streams_of_driver;
    return error ? error : bounded_run(bench, &loop, NULL);
}

// ---------------------------------------------------------------------------------------- contexts

static int use_context(const struct bounded *bounded, uint64_t index) {
    (void)index;
    const struct sp_device *device = &bounded->bench->device;
    CUcontext context;
    CUresult error = device->driver->cuCtxCreate(&context, 0, device->handle);
    if (error != CUDA_SUCCESS)
        return (int)error;
    int used = use_stream(bounded, destroy_by_pool);
    error = device->driver->cuCtxDestroy(context);
    CUresult back = device->driver->cuCtxSetCurrent(device->context);
    return used ? used : (int)(error != CUDA_SUCCESS ? error : back);
}

static int advance_contexts(struct bounded *bounded) {
    int error = bounded_repeat(bounded, TIME, use_context);
    bounded_add_memory(bounded, MEMORY);
    return error;
}

// A GPU takes tens of milliseconds for each.
int case_ended_contexts(struct bench *bench) {
    struct bounded_loop loop = {.what = "contexts",
                                .points = {100, 10000, 100000},
                                .point_count = 3,
                                .figures = figures,
                                .figure_count = FIGURES,
                                .advance = advance_contexts};
    if (!bench->simulated) {
        loop.points[1] = 200;
        loop.point_count = 2;
    }
    bounded_print_head(bench, "contexts that are made, used for a pair on a stream and destroyed");
    return bounded_run(bench, &loop, NULL);
}

// ------------------------------------------------------------------------------------------- slots

enum { FIRST, LATER, SLOT_FIGURES };

// The pairs of a stream that then goes, too.
static int measure_pairs(const struct bounded *bounded) {
    CUstream stream;
    int error = bench_open_streams(bounded->bench, &stream, 1);
    if (error)
        return error;
    double begin = samples_clock();
    error = bench_pairs(bounded->subject, SIZE, stream, 1);
    double first = samples_clock();
    if (!error)
        error = bench_pairs(bounded->subject, SIZE, stream, PAIRS);
    bounded_add(bounded, FIRST, first - begin);
    bounded_add(bounded, LATER, (samples_clock() - first) / PAIRS);
    poolError_t destroyed = poolStreamDestroy(stream);
    return error ? error : (int)destroyed;
}

static int use_live(const struct bounded *bounded) {
    const CUstream *live = bounded->state;
    int error = 0;
    for (int i = 0; i < LIVE && !error; i++)
        error = bench_pairs(bounded->subject, SIZE, live[i], 1);
    return error;
}

static int advance_slots(struct bounded *bounded) {
    int error = bounded->done == 0 ? use_live(bounded) : 0;
    for (uint64_t i = bounded->done; i < bounded->amount && !error; i++)
        error = use_stream(bounded, destroy_by_driver);
    for (int i = 0; i < bounded->bench->rounds && !error; i++)
        error = measure_pairs(bounded);
    return error;
}

int case_ended_slots(struct bench *bench) {
    static const struct bench_row rows[SLOT_FIGURES] = {{"first pair", "ns"}, {"pair", "ns"}};
    static const struct bounded_loop loop = {.what = "gone",
                                             .points = {1, 1000, 16000},
                                             .point_count = 3,
                                             .figures = rows,
                                             .figure_count = SLOT_FIGURES,
                                             .advance = advance_slots};
    CUstream live[LIVE];
    bounded_print_head(
        bench, "a pair on a stream behind so many that came and went, beside 1,000 that are live");
    int error = bench_open_streams(bench, live, LIVE);
    if (error)
        return error;
    error = bounded_run(bench, &loop, live);
    bench_close_streams(live, LIVE);
    return error;
}
