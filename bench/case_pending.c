// What many streams and events that are alive cost the calls of another stream.
//
// *user_events*: events of the program's own, each recorded behind a free, all of which stay.
// *queries*: streams that one stream has waited for; a query has found each of them idle, by the
// library's call or by the driver's own, and nothing else is called to learn that. *pending*:
// streams with work pending behind a free, beside which a stream allocates what nobody has free.
#include "bounded.h"

#include <stdlib.h>
#include <streampool/streampool.h>

enum { SIZE = 64 << 10 };

enum { TIME, MEMORY, FIGURES = MEMORY + 2 };

// All that such a loop makes, for as many as there are in the end.
struct made {
    CUevent *events;
    CUstream *streams;
    uint64_t event_count;
    uint64_t stream_count;
};

// Room for what divided work doesn't need is never touched.
static int made_open(struct made *made, const struct bounded_loop *loop) {
    size_t most = (size_t)loop->points[loop->point_count - 1];
    made->events = calloc(most, sizeof *made->events);
    made->streams = calloc(most, sizeof *made->streams);
    return made->events && made->streams ? 0 : CUDA_ERROR_OUT_OF_MEMORY;
}

static void made_close(struct made *made) {
    for (uint64_t i = 0; i < made->event_count; i++)
        poolEventDestroy(made->events[i]);
    bench_close_streams(made->streams, made->stream_count);
    free(made->events);
    free(made->streams);
}

static int make_event(const struct bounded *bounded, CUevent *event) {
    struct made *made = bounded->state;
    const struct sp_driver *driver = bounded->bench->device.driver;
    CUresult error = driver->cuEventCreate(event, CU_EVENT_DISABLE_TIMING);
    if (error == CUDA_SUCCESS)
        made->events[made->event_count++] = *event;
    return (int)error;
}

static int make_stream(const struct bounded *bounded, CUstream *stream) {
    struct made *made = bounded->state;
    int error = bench_open_streams(bounded->bench, stream, 1);
    if (!error)
        made->streams[made->stream_count++] = *stream;
    return error;
}

static int run_with(struct bench *bench, const struct bounded_loop *loop) {
    struct made made = {0};
    int error = made_open(&made, loop);
    if (!error)
        error = bounded_run(bench, loop, &made);
    made_close(&made);
    return error;
}

// ------------------------------------------------------------------------------------- user events

static int record_behind_free(const struct bounded *bounded, CUevent event, CUstream stream) {
    int error = bench_pairs(bounded->subject, SIZE, stream, 1);
    return error ? error : (int)poolEventRecord(event, stream);
}

static int record_user_event(const struct bounded *bounded, uint64_t index) {
    (void)index;
    CUevent event = NULL;
    int error = make_event(bounded, &event);
    return error ? error : record_behind_free(bounded, event, bounded->bench->streams[0]);
}

static int advance_user_events(struct bounded *bounded) {
    int error = bounded_repeat(bounded, TIME, record_user_event);
    bounded_add_memory(bounded, MEMORY);
    return error;
}

int case_user_events(struct bench *bench) {
    static const struct bench_row figures[FIGURES] = {{"each", "us"}, BOUNDED_MEMORY_FIGURES};
    static const struct bounded_loop loop = {.what = "events",
                                             .points = {1000, 10000, 100000},
                                             .point_count = 3,
                                             .figures = figures,
                                             .figure_count = FIGURES,
                                             .advance = advance_user_events};
    bounded_print_head(bench, "events that are made, recorded behind a pair of 64 KiB, and stay");
    return run_with(bench, &loop);
}

// ----------------------------------------------------------------------------------------- queries

static int query_by_pool(const struct sp_driver *driver, CUstream stream) {
    (void)driver;
    return (int)poolStreamQuery(stream);
}

static int query_by_driver(const struct sp_driver *driver, CUstream stream) {
    return (int)driver->cuStreamQuery(stream);
}

static int join_and_query(const struct bounded *bounded, bool by_driver) {
    struct bench *bench = bounded->bench;
    CUstream stream = NULL;
    int error = make_stream(bounded, &stream);
    if (!error)
        error = record_behind_free(bounded, bench->event, stream);
    if (!error)
        error = (int)poolStreamWaitEvent(bench->streams[0], bench->event, 0);
    if (!error)
        error = (by_driver ? query_by_driver : query_by_pool)(bench->device.driver, stream);
    return error == CUDA_ERROR_NOT_READY ? 0 : error;
}

static int record_of_joiner(const struct bounded *bounded, uint64_t index) {
    (void)index;
    return record_behind_free(bounded, bounded->bench->event, bounded->bench->streams[0]);
}

static int advance_queries(struct bounded *bounded, bool by_driver) {
    int error = 0;
    for (uint64_t i = bounded->done; i < bounded->amount && !error; i++)
        error = join_and_query(bounded, by_driver);
    if (!error)
        error = bounded_measure(bounded, TIME, record_of_joiner);
    bounded_add_memory(bounded, MEMORY);
    return error;
}

static int advance_queries_by_pool(struct bounded *bounded) {
    return advance_queries(bounded, false);
}

static int advance_queries_by_driver(struct bounded *bounded) {
    return advance_queries(bounded, true);
}

int case_queries(struct bench *bench) {
    static const struct bench_row figures[FIGURES] = {{"pair, record", "us"},
                                                      BOUNDED_MEMORY_FIGURES};
    struct bounded_loop loop = {.what = "streams",
                                .form = "pool",
                                .points = {10, 100, 1000, 10000},
                                .point_count = 4,
                                .figures = figures,
                                .figure_count = FIGURES,
                                .advance = advance_queries_by_pool};
    bounded_print_head(
        bench,
        "a pair of 64 KiB and a record on a stream that has waited for so many, each of which "
        "was queried by poolStreamQuery (pool) or cuStreamQuery (driver)");
    int error = run_with(bench, &loop);
    loop.form = "driver";
    loop.advance = advance_queries_by_driver;
    return error ? error : run_with(bench, &loop);
}

// ----------------------------------------------------------------------------------------- pending

enum { MISS = 8 << 20 };

// All streams are made before any work is pending: a GPU's driver may wait for the work when it
// makes another one.
static int make_streams(const struct bounded *bounded) {
    const struct bounded_loop *loop = bounded->loop;
    const struct made *made = bounded->state;
    uint64_t most = loop->points[loop->point_count - 1] / bounded->bench->divisor;
    int error = 0;
    while ((made->stream_count == 0 || made->stream_count < most) && !error)
        error = make_stream(bounded, &(CUstream){NULL});
    return error;
}

static int free_with_work_pending(const struct bounded *bounded, uint64_t index) {
    const struct made *made = bounded->state;
    CUstream stream = made->streams[index];
    void *block = NULL;
    int error = bounded->subject->allocate(bounded->subject, &block, SIZE, stream);
    if (error)
        return error;
    error = bounded_hold(bounded, stream, block, SIZE);
    int released = bounded->subject->release(bounded->subject, block, stream);
    return error ? error : released;
}

static int release_missed(const struct bounded *bounded, void *blocks[], int count) {
    CUstream stream = bounded->bench->streams[0];
    int error = 0;
    for (int i = 0; i < count && !error; i++)
        error = bounded->subject->release(bounded->subject, blocks[i], stream);
    if (!error)
        error = bounded->subject->synchronize(bounded->subject, stream);
    return error ? error : (int)poolMemPoolTrimTo(bounded->subject->pool, 0);
}

// Each of another size, and held, so that none finds another's memory.
static int miss(const struct bounded *bounded) {
    void *blocks[ROUNDS_MAX];
    int error = 0, count = 0, rounds = bounded->bench->rounds;
    while (count < rounds && !error) {
        size_t size = MISS + (size_t)count * SIZE;
        double begin = samples_clock();
        error = bounded->subject->allocate(bounded->subject, &blocks[count], size,
                                           bounded->bench->streams[0]);
        bounded_add(bounded, TIME, (samples_clock() - begin) / 1000);
        count += !error;
    }
    int released = release_missed(bounded, blocks, count);
    return error ? error : released;
}

static int advance_pending(struct bounded *bounded) {
    int error = 0;
    if (bounded->done == 0)
        error = make_streams(bounded);
    for (uint64_t i = bounded->done; i < bounded->amount && !error; i++)
        error = free_with_work_pending(bounded, i);
    return error ? error : miss(bounded);
}

int case_pending(struct bench *bench) {
    static const struct bench_row figures[] = {{"miss", "us"}};
    static const struct bounded_loop loop = {.what = "streams",
                                             .points = {5, 500, 5000, 10000},
                                             .point_count = 4,
                                             .figures = figures,
                                             .figure_count = 1,
                                             .advance = advance_pending};
    bounded_print_head(
        bench, "malloc of 8 MiB and more beside streams with work pending behind a free of 64 KiB");
    return run_with(bench, &loop);
}
