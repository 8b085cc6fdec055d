#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "fault/host_memory.h"
#include "unit/dropin/noted.h"

// Captures as the drop-in notes them, and what the driver is asked meanwhile.

static bool captures(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return sp_driver->cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static bool captures_nowhere(CUstream stream) {
    (void)stream;
    return false;
}

static CUresult begin_capture(CUstream stream) {
    sp_captures_begins(stream, simulated_context());
    CUresult result = sp_driver->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    if (result == CUDA_SUCCESS)
        sp_captures_begun(stream, simulated_context());
    else
        sp_captures_refused(stream, simulated_context(), captures);
    return result;
}

static CUresult end_capture(CUstream stream) {
    CUgraph graph = NULL;
    CUresult result = sp_driver->cuStreamEndCapture(stream, &graph);
    sp_captures_ended(stream, simulated_context(), captures);
    if (graph)
        sp_driver->cuGraphDestroy(graph);
    return result;
}

static void require_refused(CUstream stream) {
    void *pointer = NULL;
    assert_int_equal(sp_interpose_malloc(&pointer, 1000, stream, sp_seen_promises(stream)),
                     poolErrorStreamCaptureUnsupported);
}

// The stream is still known by its handle: to ask a capturing one who it is would end the capture.
static void while_a_capture_is_open_every_call_asks(void **state) {
    (void)state;
    CUstream other = create_seen();
    require_known(a);
    assert_int_equal(begin_capture(other), CUDA_SUCCESS);
    struct calls calls = calls_of(pair, a);
    assert_int_equal(calls.captures, 2);
    assert_int_equal(calls.identities, 0);
    require_refused(other);
    assert_int_equal(end_capture(other), CUDA_SUCCESS);
    require_known(a);
    require_known(other);
}

// Through an event the capture spreads to a stream on which none has begun.
static void a_capture_that_spreads_is_felt_where_it_gets(void **state) {
    (void)state;
    CUstream origin = create_seen();
    CUevent event;
    assert_int_equal(sp_driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    pair(1000, a);
    assert_int_equal(begin_capture(origin), CUDA_SUCCESS);
    assert_int_equal(poolEventRecord(event, origin), poolSuccess);
    assert_int_equal(poolStreamWaitEvent(a, event, 0), poolSuccess);
    require_refused(a);
    assert_int_equal(poolEventRecord(event, a), poolSuccess);
    assert_int_equal(poolStreamWaitEvent(origin, event, 0), poolSuccess);
    assert_int_equal(end_capture(origin), CUDA_SUCCESS);
    require_known(a);
    assert_int_equal(poolEventDestroy(event), poolSuccess);
}

static void several_captures_end_in_any_order(void **state) {
    (void)state;
    CUstream other = create_seen(), third = create_seen();
    assert_int_equal(begin_capture(a), CUDA_SUCCESS);
    assert_int_equal(begin_capture(other), CUDA_SUCCESS);
    assert_int_equal(end_capture(a), CUDA_SUCCESS);
    assert_int_equal(calls_of(pair, third).captures, 2);
    assert_int_equal(end_capture(other), CUDA_SUCCESS);
    require_known(third);
}

static void *end_elsewhere(void *stream) {
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    assert_int_equal(end_capture(stream), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    return NULL;
}

static void an_end_by_the_wrong_thread_ends_nothing(void **state) {
    (void)state;
    pthread_t thread;
    assert_int_equal(begin_capture(a), CUDA_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, end_elsewhere, a), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    require_refused(a);
    assert_int_equal(end_capture(a), CUDA_SUCCESS);
    require_known(a);
}

static void a_begin_that_fails_leaves_what_is_open(void **state) {
    (void)state;
    simcudaFailCall("cuStreamBeginCapture", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    assert_int_equal(begin_capture(a), CUDA_ERROR_UNKNOWN);
    assert_true(captures_are_none());
    assert_int_equal(begin_capture(a), CUDA_SUCCESS);
    assert_int_equal(begin_capture(a), CUDA_ERROR_ILLEGAL_STATE);
    require_refused(a);
    assert_int_equal(end_capture(a), CUDA_SUCCESS);
    assert_true(captures_are_none());
    assert_int_equal(begin_capture(NULL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_true(captures_are_none());
}

// Two threads begin one at a time: the one that the driver refuses comes back first, or last.
static void a_begin_that_is_under_way_is_counted(void **state) {
    (void)state;
    sp_captures_begins(a, NULL);
    sp_captures_begins(a, NULL);
    sp_captures_refused(a, NULL, captures);
    assert_false(captures_are_none());
    sp_captures_refused(a, NULL, captures);
    assert_true(captures_are_none());
}

static bool begin_meanwhile(CUstream stream) {
    assert_int_equal(begin_capture(stream), CUDA_SUCCESS);
    return false;
}

static void a_begin_while_the_driver_is_asked_is_counted(void **state) {
    (void)state;
    sp_captures_begins(a, NULL);
    sp_captures_refused(a, NULL, begin_meanwhile);
    require_refused(a);
    assert_int_equal(end_capture(a), CUDA_SUCCESS);
    assert_true(captures_are_none());
}

static void a_capture_ends_with_its_stream(void **state) {
    (void)state;
    CUstream other = create_seen();
    assert_int_equal(begin_capture(a), CUDA_SUCCESS);
    simcudaFailCall("cuStreamDestroy", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    assert_int_not_equal(poolStreamDestroy(a), poolSuccess);
    assert_false(captures_are_none());
    assert_int_equal(poolStreamDestroy(a), poolSuccess);
    assert_true(captures_are_none());
    require_known(other);
    simcudaReportClear();
}

static void a_capture_ends_with_its_context(void **state) {
    (void)state;
    CUcontext other = (CUcontext)state; // any address
    CUstream stream = made_up(1);
    sp_seen_created(stream, other, 0);
    sp_captures_begins(stream, other);
    sp_captures_begun(stream, other);
    sp_captures_end_of_context(simulated_context(), sp_captures_now());
    assert_false(captures_are_none());
    uint64_t before = sp_captures_now();
    sp_captures_begins(CU_STREAM_PER_THREAD, other);
    sp_captures_end_of_context(other, before);
    assert_false(captures_are_none()); // one began after the end did
    sp_captures_refused(CU_STREAM_PER_THREAD, other, captures_nowhere);
    assert_true(captures_are_none());
}

static void all_captures_of_a_context_end_with_it(void **state) {
    CUcontext other = (CUcontext)state; // any address
    sp_captures_begins(made_up(1), other);
    sp_captures_begins(CU_STREAM_PER_THREAD, other);
    sp_captures_end_of_context(other, sp_captures_now());
    assert_true(captures_are_none());
}

static void *capture_on_its_own(void *unused) {
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    assert_int_equal(begin_capture(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
    assert_int_equal(end_capture(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
    assert_false(captures_are_none()); // the other thread's is open
    return unused;
}

static void threads_capture_on_their_own_default_streams(void **state) {
    (void)state;
    pthread_t thread;
    assert_int_equal(begin_capture(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, capture_on_its_own, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    require_refused(CU_STREAM_PER_THREAD);
    assert_int_equal(end_capture(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
    assert_true(captures_are_none());
}

// Nobody finds its end then.
static void without_host_memory_a_capture_is_counted_for_good(void **state) {
    (void)state;
    uint64_t failed;
    host_memory_enter(1, true);
    assert_int_equal(begin_capture(a), CUDA_SUCCESS);
    host_memory_leave(&failed);
    assert_int_equal(failed, 1);
    require_refused(a);
    assert_int_equal(end_capture(a), CUDA_SUCCESS);
    assert_int_equal(calls_of(pair, a).captures, 2);
    captures_are_left = true;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        noted_test(while_a_capture_is_open_every_call_asks),
        noted_test(a_capture_that_spreads_is_felt_where_it_gets),
        noted_test(several_captures_end_in_any_order),
        noted_test(an_end_by_the_wrong_thread_ends_nothing),
        noted_test(a_begin_that_fails_leaves_what_is_open),
        noted_test(a_begin_that_is_under_way_is_counted),
        noted_test(a_begin_while_the_driver_is_asked_is_counted),
        noted_test(a_capture_ends_with_its_stream),
        noted_test(a_capture_ends_with_its_context),
        noted_test(all_captures_of_a_context_end_with_it),
        noted_test(threads_capture_on_their_own_default_streams),
        // Behind it one is counted for ever.
        noted_test(without_host_memory_a_capture_is_counted_for_good),
    };
    return cmocka_run_group_tests_name("dropin/captures", tests, NULL, NULL);
}
