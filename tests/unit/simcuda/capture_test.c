// Stream capture: what belongs to one, which calls break one, and how it ends.
#include <pthread.h>
#include <stdatomic.h>

#include "unit/simcuda/fixture.h"

static CUstream stream, other;

static int begin_capture(void **state) {
    begin(state);
    stream = make_stream();
    other = make_stream();
    return 0;
}

static CUstreamCaptureStatus status_of(CUstream of) {
    CUstreamCaptureStatus status;
    OK(cuStreamIsCapturing(of, &status));
    return status;
}

static void start(CUstreamCaptureMode mode) {
    OK(cuStreamBeginCapture_v2(stream, mode));
}

static void end_valid(void) {
    CUgraph graph;
    OK(cuStreamEndCapture(stream, &graph));
    assert_non_null(graph);
    OK(cuGraphDestroy(graph));
    assert_int_equal(status_of(stream), CU_STREAM_CAPTURE_STATUS_NONE);
}

static void end_broken(CUresult error) {
    CUgraph graph;
    FAILS(cuStreamEndCapture(stream, &graph), error);
    assert_null(graph);
    assert_int_equal(status_of(stream), CU_STREAM_CAPTURE_STATUS_NONE);
}

static void captured_work_is_not_run(void **state) {
    struct memory memory = map_memory(GRANULE);
    (void)state;
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    assert_int_equal(status_of(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    touch(stream, "captured", memory.address, 64, simcudaAccessWrite);
    assert_int_equal(simcudaPending(stream), 0);
    end_valid();
    unmap_memory(memory);
}

static void queries_under_the_global_mode_break_the_capture(void **state) {
    CUevent event = make_event();
    (void)state;
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    FAILS(cuEventQuery(event), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expect_report("capture-unsafe-call");
    assert_int_equal(status_of(stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    FAILS(cuEventRecord(event, stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    end_broken(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    FAILS(cuStreamQuery(other), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expect_report("capture-unsafe-call");
    end_broken(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

static void asking_a_capturing_stream_who_it_is_breaks_the_capture(void **state) {
    unsigned long long id;
    unsigned flags;
    CUcontext context;
    (void)state;
    start(CU_STREAM_CAPTURE_MODE_RELAXED);
    OK(cuStreamGetCtx(stream, &context));
    OK(cuStreamGetId(other, &id));
    OK(cuStreamGetFlags(other, &flags));
    assert_int_equal(status_of(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    FAILS(cuStreamGetId(stream, &id), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expect_report("capture-unsafe-call");
    end_broken(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    start(CU_STREAM_CAPTURE_MODE_RELAXED);
    FAILS(cuStreamGetFlags(stream, &flags), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expect_report("capture-unsafe-call");
    end_broken(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuStreamGetId(stream, &id));
}

static void virtual_memory_and_records_elsewhere_leave_the_capture_alone(void **state) {
    CUevent event = make_event();
    (void)state;
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    struct memory memory = map_memory(GRANULE);
    OK(cuEventRecord(event, other));
    unmap_memory(memory);
    assert_int_equal(status_of(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    end_valid();
}

static void a_relaxed_thread_may_query(void **state) {
    CUevent event = make_event();
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    (void)state;
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuEventQuery(event));
    OK(cuStreamQuery(other));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
    end_valid();
}

static void a_context_synchronise_breaks_a_capture_in_every_mode(void **state) {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    (void)state;
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    start(CU_STREAM_CAPTURE_MODE_RELAXED);
    FAILS(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expect_report("capture-unsafe-call");
    end_broken(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

static void waiting_for_a_capturing_stream_breaks_its_capture(void **state) {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    (void)state;
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    start(CU_STREAM_CAPTURE_MODE_RELAXED);
    FAILS(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expect_report("capture-unsafe-call");
    end_broken(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

static void allocating_with_cuMemAlloc_breaks_a_capture(void **state) {
    CUdeviceptr address;
    (void)state;
    start(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    FAILS(cuMemAlloc_v2(&address, 64), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expect_report("capture-unsafe-call");
    end_broken(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

static void
the_legacy_stream_can_neither_be_used_nor_asked_while_a_blocking_stream_captures(void **state) {
    CUstreamCaptureStatus status;
    unsigned long long id;
    (void)state;
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    FAILS(cuStreamIsCapturing(NULL, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    assert_int_equal(status_of(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    FAILS(cuEventRecord(make_event(), NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    expect_report("capture-unsafe-call");
    end_broken(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    FAILS(cuStreamGetId(NULL, &id), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    expect_report("capture-unsafe-call");
    end_broken(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuStreamIsCapturing(NULL, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuStreamGetId(NULL, &id));
}

static CUresult query_legacy(void) {
    return cuStreamQuery(NULL);
}

static CUresult record_legacy(void) {
    return cuEventRecord(make_event(), NULL);
}

static CUresult synchronize_legacy(void) {
    return cuStreamSynchronize(NULL);
}

static CUresult wait_legacy(void) {
    return cuStreamWaitEvent(NULL, make_event(), 0);
}

static CUresult identify_legacy(void) {
    unsigned long long id;
    return cuStreamGetId(NULL, &id);
}

static CUresult (*const legacy_calls[])(void) = {query_legacy, record_legacy, synchronize_legacy,
                                                 wait_legacy, identify_legacy};

// Runs in a thread of the relaxed mode.
static void *use_other_streams(void *argument) {
    CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUstreamCaptureStatus status;
    OK(cuCtxSetCurrent(argument));
    OK(cuThreadExchangeStreamCaptureMode(&relaxed));
    OK(cuEventRecord(make_event(), other));
    OK(cuStreamQuery(other));
    OK(cuStreamSynchronize(other));
    FAILS(cuStreamIsCapturing(NULL, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    return NULL;
}

struct legacy_call {
    CUcontext context;
    CUresult (*call)(void);
};

static void *use_legacy_stream(void *argument) {
    const struct legacy_call *legacy = argument;
    CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
    OK(cuCtxSetCurrent(legacy->context));
    OK(cuThreadExchangeStreamCaptureMode(&relaxed));
    FAILS(legacy->call(), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    return NULL;
}

static void in_thread(void *(*function)(void *argument), void *argument) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, function, argument), 0);
    pthread_join(thread, NULL);
}

static void a_relaxed_thread_breaks_a_capture_by_the_legacy_stream_and_by_no_other(void **state) {
    (void)state;
    for (int mode = CU_STREAM_CAPTURE_MODE_GLOBAL; mode <= CU_STREAM_CAPTURE_MODE_RELAXED; mode++) {
        for (size_t i = 0; i < sizeof(legacy_calls) / sizeof(*legacy_calls); i++) {
            struct legacy_call legacy = {current_context(), legacy_calls[i]};
            start((CUstreamCaptureMode)mode);
            in_thread(use_other_streams, legacy.context);
            assert_int_equal(status_of(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
            in_thread(use_legacy_stream, &legacy);
            expect_report("capture-unsafe-call");
            end_broken(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        }
    }
}

static void a_non_blocking_stream_that_captures_leaves_the_legacy_stream_alone(void **state) {
    CUgraph graph;
    (void)state;
    CUstream capturing = make_non_blocking_stream();
    OK(cuStreamBeginCapture_v2(capturing, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_int_equal(status_of(NULL), CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuEventRecord(make_event(), NULL));
    OK(cuStreamEndCapture(capturing, &graph));
    OK(cuGraphDestroy(graph));
}

static void the_legacy_stream_does_not_capture(void **state) {
    (void)state;
    FAILS(cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL),
          CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

static void a_stream_joins_by_a_wait_and_must_be_joined_again(void **state) {
    CUevent fork_event = make_event(), join_event = make_event();
    (void)state;
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    spin(stream, US);
    OK(cuEventRecord(fork_event, stream));
    OK(cuStreamWaitEvent(other, fork_event, 0));
    assert_int_equal(status_of(other), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    spin(other, US);
    OK(cuEventRecord(join_event, other));
    OK(cuStreamWaitEvent(stream, join_event, 0));
    end_valid();
    assert_int_equal(status_of(other), CU_STREAM_CAPTURE_STATUS_NONE);
    FAILS(cuEventQuery(join_event), CUDA_ERROR_CAPTURED_EVENT);
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    spin(stream, US);
    OK(cuEventRecord(fork_event, stream));
    OK(cuStreamWaitEvent(other, fork_event, 0));
    spin(other, US);
    end_broken(CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    assert_int_equal(status_of(other), CU_STREAM_CAPTURE_STATUS_NONE);
}

static void a_wait_for_an_event_of_outside_breaks_the_capture(void **state) {
    CUevent event = make_event();
    (void)state;
    OK(cuEventRecord(event, other));
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    FAILS(cuStreamWaitEvent(stream, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    expect_report("capture-unsafe-call");
    end_broken(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

static void two_captures_do_not_merge(void **state) {
    CUevent event = make_event();
    CUgraph graph;
    (void)state;
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuStreamBeginCapture_v2(other, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuEventRecord(event, other));
    FAILS(cuStreamWaitEvent(stream, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
    simcudaReportClear();
    end_broken(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    FAILS(cuStreamEndCapture(other, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

static void only_the_origin_ends_a_capture(void **state) {
    CUevent event = make_event();
    CUgraph graph;
    (void)state;
    FAILS(cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    FAILS(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_ILLEGAL_STATE);
    OK(cuEventRecord(event, stream));
    OK(cuStreamWaitEvent(other, event, 0));
    FAILS(cuStreamEndCapture(other, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    end_valid();
}

static void destroying_the_origin_ends_the_capture(void **state) {
    (void)state;
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuStreamDestroy_v2(stream));
    expect_report("capture-unsafe-call");
    OK(cuStreamQuery(other));
}

// ----------------------------------------------------------------------------------- other threads

struct asker {
    CUcontext context;
    CUstreamCaptureMode mode;
    CUresult query, end;
};

static void *ask(void *argument) {
    struct asker *asker = argument;
    CUgraph graph;
    cuCtxSetCurrent(asker->context);
    cuThreadExchangeStreamCaptureMode(&asker->mode);
    asker->query = cuStreamQuery(other);
    asker->end = cuStreamEndCapture(stream, &graph);
    return NULL;
}

static struct asker ask_from_another_thread(CUstreamCaptureMode mode) {
    struct asker asker = {.context = current_context(), .mode = mode};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ask, &asker), 0);
    pthread_join(thread, NULL);
    return asker;
}

static void another_thread_is_bound_by_a_global_capture_only(void **state) {
    (void)state;
    start(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    assert_int_equal(ask_from_another_thread(CU_STREAM_CAPTURE_MODE_GLOBAL).query, CUDA_SUCCESS);
    end_valid();
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    assert_int_equal(ask_from_another_thread(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).query,
                     CUDA_SUCCESS);
    struct asker asker = ask_from_another_thread(CU_STREAM_CAPTURE_MODE_GLOBAL);
    assert_int_equal(asker.query, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(asker.end, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    expect_report("capture-unsafe-call");
    end_broken(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

static void *begin_and_leave(void *context) {
    cuCtxSetCurrent(context);
    start(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    return NULL;
}

static void a_capture_is_not_a_later_threads_that_has_the_place_of_the_first(void **state) {
    (void)state;
    in_thread(begin_and_leave, current_context());
    struct asker asker = ask_from_another_thread(CU_STREAM_CAPTURE_MODE_GLOBAL);
    assert_int_equal(asker.query, CUDA_SUCCESS);
    assert_int_equal(asker.end, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
}

// Nothing but the driver's lock orders what the two threads do: ThreadSanitizer sees where it is
// not held.
static atomic_bool has_asked, is_broken;

static void *capture_by_default_stream(void *context) {
    static CUstreamCaptureStatus status;
    CUgraph graph;
    cuCtxSetCurrent(context);
    cuStreamBeginCapture_v2(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_GLOBAL);
    cuStreamIsCapturing(CU_STREAM_PER_THREAD, &status);
    atomic_store_explicit(&has_asked, true, memory_order_relaxed);
    while (!atomic_load_explicit(&is_broken, memory_order_relaxed))
        ;
    cuStreamIsCapturing(CU_STREAM_PER_THREAD, &status);
    cuStreamEndCapture(CU_STREAM_PER_THREAD, &graph);
    return &status;
}

static void a_threads_own_stream_tells_of_a_capture_that_another_thread_breaks(void **state) {
    pthread_t thread;
    CUdeviceptr memory;
    void *status;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, capture_by_default_stream, current_context()),
                     0);
    while (!atomic_load_explicit(&has_asked, memory_order_relaxed))
        ;
    FAILS(cuMemAlloc_v2(&memory, 64), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    atomic_store_explicit(&is_broken, true, memory_order_relaxed);
    pthread_join(thread, &status);
    assert_int_equal(*(CUstreamCaptureStatus *)status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    expect_report("capture-unsafe-call");
}

int main(void) {
#define CAPTURE_TEST(test) cmocka_unit_test_setup_teardown(test, begin_capture, end_without_reports)
    const struct CMUnitTest tests[] = {
        CAPTURE_TEST(captured_work_is_not_run),
        CAPTURE_TEST(queries_under_the_global_mode_break_the_capture),
        CAPTURE_TEST(asking_a_capturing_stream_who_it_is_breaks_the_capture),
        CAPTURE_TEST(virtual_memory_and_records_elsewhere_leave_the_capture_alone),
        CAPTURE_TEST(a_relaxed_thread_may_query),
        CAPTURE_TEST(a_context_synchronise_breaks_a_capture_in_every_mode),
        CAPTURE_TEST(waiting_for_a_capturing_stream_breaks_its_capture),
        CAPTURE_TEST(allocating_with_cuMemAlloc_breaks_a_capture),
        CAPTURE_TEST(
            the_legacy_stream_can_neither_be_used_nor_asked_while_a_blocking_stream_captures),
        CAPTURE_TEST(a_relaxed_thread_breaks_a_capture_by_the_legacy_stream_and_by_no_other),
        CAPTURE_TEST(a_non_blocking_stream_that_captures_leaves_the_legacy_stream_alone),
        CAPTURE_TEST(the_legacy_stream_does_not_capture),
        CAPTURE_TEST(a_stream_joins_by_a_wait_and_must_be_joined_again),
        CAPTURE_TEST(a_wait_for_an_event_of_outside_breaks_the_capture),
        CAPTURE_TEST(two_captures_do_not_merge),
        CAPTURE_TEST(only_the_origin_ends_a_capture),
        CAPTURE_TEST(destroying_the_origin_ends_the_capture),
        CAPTURE_TEST(another_thread_is_bound_by_a_global_capture_only),
        CAPTURE_TEST(a_capture_is_not_a_later_threads_that_has_the_place_of_the_first),
        CAPTURE_TEST(a_threads_own_stream_tells_of_a_capture_that_another_thread_breaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
