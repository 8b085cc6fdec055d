#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "fault/host_memory.h"
#include "order/stream.h"
#include "unit/order/simulated.h"

static struct sp_stream *resolve(CUstream handle) {
    struct sp_stream *stream = NULL;
    assert_int_equal(sp_stream_resolve(handle, &stream), CUDA_SUCCESS);
    assert_non_null(stream);
    assert_ptr_equal(sp_stream_at(stream->slot), stream);
    return stream;
}

static uint64_t free_point(struct sp_stream *stream) {
    uint64_t sequence = 0;
    assert_int_equal(sp_stream_free_point(stream, &sequence), CUDA_SUCCESS);
    return sequence;
}

static bool is_complete(const struct sp_stream *stream, uint64_t sequence) {
    return sp_fence_is_complete((struct sp_fence){stream->slot, sequence});
}

static uint64_t live_events(void) {
    simcudaLive live;
    simcudaGetLive(&live);
    return live.events;
}

// ------------------------------------------------------------------------------------------- identity

static void one_stream_has_one_slot_and_another_one_another(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    struct sp_stream *known = resolve(a);
    assert_ptr_equal(resolve(a), known);
    assert_ptr_not_equal(resolve(b), known);
    assert_int_not_equal(resolve(b)->slot, known->slot);
    assert_ptr_equal(resolve(a), known);
    assert_ptr_equal(known->context, simulated_context());
    assert_int_equal(known->device, 0);
}

static void the_null_stream_and_the_legacy_stream_are_one(void **state) {
    (void)state;
    assert_ptr_equal(resolve(NULL), resolve(CU_STREAM_LEGACY));
    assert_ptr_not_equal(resolve(NULL), resolve(CU_STREAM_PER_THREAD));
}

static void *resolve_per_thread_stream(void *context) {
    struct sp_stream *stream = NULL;
    if (sp_driver->cuCtxSetCurrent(context) == CUDA_SUCCESS)
        sp_stream_resolve(CU_STREAM_PER_THREAD, &stream);
    return stream;
}

static void each_thread_has_a_per_thread_stream_of_its_own(void **state) {
    (void)state;
    struct sp_stream *here = resolve(CU_STREAM_PER_THREAD);
    pthread_t thread;
    void *there = NULL;
    assert_int_equal(pthread_create(&thread, NULL, resolve_per_thread_stream, simulated_context()), 0);
    assert_int_equal(pthread_join(thread, &there), 0);
    assert_non_null(there);
    assert_ptr_not_equal(there, here);
    assert_ptr_equal(resolve(CU_STREAM_PER_THREAD), here);
}

static void many_streams_keep_their_slots(void **state) {
    (void)state;
    enum { MANY = 700 };
    static CUstream handles[MANY];
    static struct sp_stream *streams[MANY];
    for (int i = 0; i < MANY; i++) {
        handles[i] = simulated_stream();
        streams[i] = resolve(handles[i]);
    }
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(resolve(handles[i]), streams[i]);
}

static void a_default_stream_needs_a_current_context_and_a_users_stream_does_not(void **state) {
    (void)state;
    struct sp_stream *stream = NULL;
    CUstream a = simulated_stream();
    assert_int_equal(sp_driver->cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    assert_int_equal(sp_stream_resolve(NULL, &stream), CUDA_ERROR_INVALID_CONTEXT);
    assert_int_equal(sp_stream_resolve(CU_STREAM_LEGACY, &stream), CUDA_ERROR_INVALID_CONTEXT);
    assert_int_equal(sp_stream_resolve(CU_STREAM_PER_THREAD, &stream), CUDA_ERROR_INVALID_CONTEXT);
    assert_ptr_equal(resolve(a)->context, simulated_context());
    free_point(resolve(a));
    assert_int_equal(sp_stream_record(resolve(a)), CUDA_SUCCESS);
    CUcontext current = simulated_context();
    assert_int_equal(sp_driver->cuCtxGetCurrent(&current), CUDA_SUCCESS);
    assert_null(current); // what was pushed was popped
}

static void a_stream_that_can_not_be_described_is_not_registered(void **state) {
    (void)state;
    static const char *const calls[] = {"cuStreamGetCtx", "cuCtxPushCurrent", "cuCtxGetDevice"};
    struct sp_stream *stream = NULL;
    CUstream a = simulated_stream();
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        simcudaFailCall(calls[i], 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
        assert_int_equal(sp_stream_resolve(a, &stream), CUDA_ERROR_UNKNOWN);
        assert_int_equal(simcudaFailCount(), i + 1);
    }
    CUcontext current = NULL;
    assert_int_equal(sp_driver->cuCtxGetCurrent(&current), CUDA_SUCCESS);
    assert_ptr_equal(current, simulated_context());
    resolve(a);
}

static void a_stream_without_host_memory_is_not_registered(void **state) {
    (void)state;
    uint64_t failed = 0;
    CUresult error = CUDA_SUCCESS;
    for (int i = 0; i < 1 << 20 && error == CUDA_SUCCESS; i++) {
        struct sp_stream *stream = NULL;
        CUstream handle = simulated_stream();
        host_memory_enter(1, true);
        error = sp_stream_resolve(handle, &stream);
        host_memory_leave(&failed);
        if (error != CUDA_SUCCESS) {
            assert_int_equal(error, CUDA_ERROR_OUT_OF_MEMORY);
            resolve(handle);
        }
    }
    assert_int_equal(failed, 1);
}

// -------------------------------------------------------------------------------------------- capture

static void begin_capture(CUstream stream, CUstreamCaptureMode mode) {
    assert_int_equal(sp_driver->cuStreamBeginCapture(stream, mode), CUDA_SUCCESS);
}

static CUresult end_capture(CUstream stream) {
    CUgraph graph = NULL;
    CUresult error = sp_driver->cuStreamEndCapture(stream, &graph);
    if (graph)
        sp_driver->cuGraphDestroy(graph);
    return error;
}

static void a_capturing_stream_is_told_from_others(void **state) {
    (void)state;
    CUstream a = simulated_blocking_stream();
    CUstream b = simulated_stream();
    assert_int_equal(sp_stream_check_capture(a), CUDA_SUCCESS);
    begin_capture(a, CU_STREAM_CAPTURE_MODE_GLOBAL);
    assert_int_equal(sp_stream_check_capture(a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(sp_stream_check_capture(b), CUDA_SUCCESS);
    assert_int_equal(sp_stream_check_capture(NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    resolve(a);
    resolve(b);
    assert_int_equal(end_capture(a), CUDA_SUCCESS);
    assert_int_equal(sp_stream_check_capture(a), CUDA_SUCCESS);
}

static void records_and_polls_leave_a_capture_elsewhere_alone(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    struct sp_stream *stream = resolve(b);
    begin_capture(a, CU_STREAM_CAPTURE_MODE_GLOBAL);
    free_point(stream);
    assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
    assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
    assert_int_equal(sp_streams_poll_current_context(), CUDA_SUCCESS);
    assert_int_equal(end_capture(a), CUDA_SUCCESS);
}

static void the_capture_mode_of_the_thread_is_put_back(void **state) {
    (void)state;
    struct sp_stream *stream = resolve(simulated_stream());
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    sp_driver->cuThreadExchangeStreamCaptureMode(&mode);
    simulated_work(stream->handle);
    sp_stream_record(stream);
    sp_stream_poll(stream);
    simcudaFailCall("cuEventRecord", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    sp_stream_record(stream);
    simcudaFailCall("cuEventQuery", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    sp_stream_poll(stream);
    mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    sp_driver->cuThreadExchangeStreamCaptureMode(&mode);
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

// ------------------------------------------------------------------------------------ records and polls

static void nothing_is_complete_that_nobody_has_asked_about(void **state) {
    (void)state;
    struct sp_stream *stream = resolve(simulated_stream());
    uint64_t sequence = free_point(stream);
    assert_false(is_complete(stream, sequence));
    assert_int_equal(sp_driver->cuStreamSynchronize(stream->handle), CUDA_SUCCESS);
    assert_false(is_complete(stream, sequence));
}

static void frees_between_two_records_share_a_number_unless_each_records_itself(void **state) {
    (void)state;
    struct sp_stream *stream = resolve(simulated_stream());
    uint64_t records = simcudaCallCount("cuEventRecord");
    uint64_t first = free_point(stream);
    uint64_t second = free_point(stream);
    assert_int_equal(second, stream->identified ? first : first + 1);
    assert_int_equal(simcudaCallCount("cuEventRecord"), stream->identified ? records : records + 2);
    assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
    assert_true(free_point(stream) > second);
}

static void a_free_of_an_identified_stream_calls_no_driver(void **state) {
    (void)state;
    struct sp_stream *stream = resolve(simulated_stream());
    uint64_t calls = simcudaCallCount(NULL);
    free_point(stream);
    sp_stream_before_reuse(stream);
    assert_int_equal(simcudaCallCount(NULL) == calls, stream->identified);
}

static void a_free_point_that_fails_is_an_error_and_leaves_no_event(void **state) {
    (void)state;
    static const char *const calls[] = {"cuCtxPushCurrent", "cuEventCreate"};
    uint64_t sequence = 0;
    struct sp_stream *stream = resolve(simulated_stream());
    if (stream->identified)
        return;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        simcudaFailCall(calls[i], 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
        assert_int_equal(sp_stream_free_point(stream, &sequence), CUDA_ERROR_UNKNOWN);
        assert_int_equal(live_events(), 0);
    }
    simcudaFailCall("cuStreamWaitEvent", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    assert_int_equal(sp_stream_free_point(stream, &sequence), CUDA_ERROR_UNKNOWN);
    simcudaFailCall("cuEventRecord", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    assert_int_equal(sp_stream_free_point(stream, &sequence), CUDA_ERROR_UNKNOWN);
    assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
    assert_int_equal(sp_stream_completed(stream), 0);
    assert_int_equal(live_events(), 1);
    assert_true(free_point(stream) > 0);
}

static void a_record_is_known_complete_once_it_is_and_was_asked(void **state) {
    (void)state;
    struct sp_stream *stream = resolve(simulated_stream());
    simulated_work(stream->handle);
    uint64_t sequence = free_point(stream);
    assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
    assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
    assert_false(is_complete(stream, sequence));
    simulated_finish(stream->handle);
    assert_false(is_complete(stream, sequence));
    assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
    assert_true(is_complete(stream, sequence));
}

static void a_record_before_a_free_says_nothing_about_the_free(void **state) {
    (void)state;
    struct sp_stream *stream = resolve(simulated_stream());
    assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
    simulated_work(stream->handle);
    uint64_t sequence = free_point(stream);
    assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
    assert_false(is_complete(stream, sequence));
}

static void many_records_need_few_events_and_the_latest_covers_all(void **state) {
    (void)state;
    struct sp_stream *stream = resolve(simulated_stream());
    uint64_t sequence = 0;
    simulated_work(stream->handle);
    for (int i = 0; i < 50; i++) {
        sequence = free_point(stream);
        assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
        assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
        assert_false(is_complete(stream, 1));
    }
    assert_true(live_events() <= SP_STREAM_EVENTS + 1);
    simulated_finish(stream->handle);
    assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
    assert_true(is_complete(stream, sequence));
}

static void each_of_the_newest_records_is_known_by_itself(void **state) {
    (void)state;
    struct sp_stream *stream = resolve(simulated_stream());
    uint64_t sequences[SP_STREAM_EVENTS];
    for (int i = 0; i < SP_STREAM_EVENTS; i++) {
        simulated_work(stream->handle);
        sequences[i] = free_point(stream);
        assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
    }
    for (int done = 0; done < SP_STREAM_EVENTS; done++) {
        assert_int_equal(simcudaComplete(stream->handle, 2), CUDA_SUCCESS); // the work and the record
        assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
        for (int i = 0; i < SP_STREAM_EVENTS; i++)
            assert_int_equal(is_complete(stream, sequences[i]), i <= done);
    }
}

static void a_record_that_fails_publishes_nothing_and_leaves_no_event(void **state) {
    (void)state;
    static const char *const calls[] = {"cuCtxPushCurrent", "cuEventCreate", "cuEventRecord"};
    struct sp_stream *stream = resolve(simulated_stream());
    simulated_work(stream->handle);
    uint64_t sequence = free_point(stream);
    uint64_t before = live_events();
    for (size_t i = stream->identified ? 0 : 2; i < sizeof calls / sizeof calls[0]; i++) {
        uint64_t failed = simcudaFailCount();
        simcudaFailCall(calls[i], 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
        assert_int_equal(sp_stream_record(stream), CUDA_ERROR_UNKNOWN);
        assert_int_equal(simcudaFailCount(), failed + 1);
        assert_int_equal(live_events(), before);
        assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
        assert_false(is_complete(stream, sequence));
    }
    simulated_finish(stream->handle);
    assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
    assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
    assert_true(is_complete(stream, sequence));
}

static void a_query_that_fails_is_returned_and_publishes_nothing(void **state) {
    (void)state;
    struct sp_stream *stream = resolve(simulated_stream());
    uint64_t sequence = free_point(stream);
    assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
    simcudaFailCall("cuEventQuery", 1, simcudaFaultOnwards, CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(sp_stream_poll(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_false(is_complete(stream, sequence));
    assert_int_equal(sp_streams_poll_current_context(), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_false(is_complete(stream, sequence));
}

static void what_is_known_complete_is_not_asked_again(void **state) {
    (void)state;
    struct sp_stream *stream = resolve(simulated_stream());
    free_point(stream);
    assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
    assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
    uint64_t queries = simcudaCallCount("cuEventQuery");
    assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
    assert_int_equal(simcudaCallCount("cuEventQuery"), queries);
}

// ------------------------------------------------------------------------------- synchronise and query

static void a_synchronise_completes_all_frees_before_it(void **state) {
    (void)state;
    struct sp_stream *stream = resolve(simulated_stream());
    struct sp_stream *other = resolve(simulated_stream());
    simulated_work(stream->handle);
    uint64_t sequence = free_point(stream);
    uint64_t of_other = free_point(other);
    assert_int_equal(sp_stream_synchronize(stream, stream->handle), CUDA_SUCCESS);
    assert_true(is_complete(stream, sequence));
    assert_false(is_complete(other, of_other));
    assert_false(is_complete(stream, free_point(stream)));
}

static void a_synchronise_that_fails_completes_nothing(void **state) {
    (void)state;
    struct sp_stream *stream = resolve(simulated_stream());
    uint64_t sequence = free_point(stream);
    simcudaFailCall("cuStreamSynchronize", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(sp_stream_synchronize(stream, stream->handle), CUDA_ERROR_LAUNCH_FAILED);
    simcudaFailCall("cuCtxSynchronize", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(sp_context_synchronize(), CUDA_ERROR_LAUNCH_FAILED);
    assert_false(is_complete(stream, sequence));
}

static void a_query_completes_the_frees_before_it_when_nothing_is_pending(void **state) {
    (void)state;
    struct sp_stream *stream = resolve(simulated_stream());
    simulated_work(stream->handle);
    uint64_t sequence = free_point(stream);
    assert_int_equal(sp_stream_query(stream, stream->handle), CUDA_ERROR_NOT_READY);
    assert_false(is_complete(stream, sequence));
    simulated_finish(stream->handle);
    assert_int_equal(sp_stream_query(stream, stream->handle), CUDA_SUCCESS);
    assert_true(is_complete(stream, sequence));
}

static void a_contexts_synchronise_completes_the_frees_of_all_its_streams_and_no_others(void **state) {
    (void)state;
    CUcontext context = NULL;
    struct sp_stream *a = resolve(simulated_stream());
    struct sp_stream *gone = resolve(simulated_stream());
    simulated_work(a->handle);
    uint64_t of_a = free_point(a);
    uint64_t of_gone = free_point(gone);
    simulated_destroy(gone->handle);
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    struct sp_stream *elsewhere = resolve(simulated_stream());
    uint64_t of_elsewhere = free_point(elsewhere);
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    assert_int_equal(sp_context_synchronize(), CUDA_SUCCESS);
    assert_true(is_complete(a, of_a));
    assert_true(is_complete(gone, of_gone));
    assert_false(is_complete(elsewhere, of_elsewhere));
}

static void without_host_memory_a_contexts_synchronise_waits_and_teaches_nothing(void **state) {
    (void)state;
    uint64_t failed = 0;
    struct sp_stream *stream = resolve(simulated_stream());
    simulated_work(stream->handle);
    uint64_t sequence = free_point(stream);
    host_memory_enter(1, true);
    CUresult error = sp_context_synchronize();
    host_memory_leave(&failed);
    assert_int_equal(failed, 1);
    assert_int_equal(error, CUDA_SUCCESS);
    assert_int_equal(simcudaPending(stream->handle), 0);
    assert_false(is_complete(stream, sequence));
}

static void events_of_other_contexts_are_not_asked(void **state) {
    (void)state;
    CUcontext context = NULL;
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    struct sp_stream *elsewhere = resolve(simulated_stream());
    uint64_t sequence = free_point(elsewhere);
    assert_int_equal(sp_stream_record(elsewhere), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    assert_int_equal(sp_streams_poll_current_context(), CUDA_SUCCESS);
    assert_false(is_complete(elsewhere, sequence));
    assert_int_equal(sp_driver->cuCtxSetCurrent(context), CUDA_SUCCESS);
    assert_int_equal(sp_streams_poll_current_context(), CUDA_SUCCESS);
    assert_true(is_complete(elsewhere, sequence));
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
}

static void with_no_current_context_nothing_is_asked(void **state) {
    (void)state;
    struct sp_stream *stream = resolve(simulated_stream());
    free_point(stream);
    assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    assert_int_equal(sp_streams_poll_current_context(), CUDA_SUCCESS);
    assert_false(is_complete(stream, 1));
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
}

static void the_rule_is_asked_with_what_is_known_of_the_fences_stream(void **state) {
    (void)state;
    struct sp_stream *a = resolve(simulated_stream());
    struct sp_stream *b = resolve(simulated_stream());
    struct sp_fence fence = {a->slot, free_point(a)};
    assert_int_equal(sp_stream_decide(a, fence), SP_RULE_SAME_STREAM);
    assert_int_equal(sp_stream_decide(b, fence), SP_RULE_NONE);
    assert_int_equal(sp_stream_synchronize(b, b->handle), CUDA_SUCCESS);
    assert_int_equal(sp_stream_decide(b, fence), SP_RULE_NONE);
    assert_int_equal(sp_stream_synchronize(a, a->handle), CUDA_SUCCESS);
    assert_int_equal(sp_stream_decide(b, fence), SP_RULE_COMPLETE);
    assert_int_equal(sp_stream_decide(a, fence), SP_RULE_COMPLETE);
}

// ----------------------------------------------------------------------------------- recycled handles

// A stream with pending work is destroyed, and the next one has its handle.
static CUstream recycle(CUstream old) {
    simulated_destroy(old);
    CUstream stream = simulated_stream();
    assert_ptr_equal(stream, old);
    return stream;
}

static void a_new_stream_at_an_old_handle_knows_nothing_of_the_old_ones_work(void **state) {
    (void)state;
    CUstream handle = simulated_stream();
    struct sp_stream *old = resolve(handle);
    simulated_work(handle);
    uint64_t sequence = free_point(old);
    handle = recycle(handle);
    struct sp_stream *young = resolve(handle);
    assert_int_equal(sp_stream_synchronize(young, handle), CUDA_SUCCESS);
    assert_int_equal(sp_stream_query(young, handle), CUDA_SUCCESS);
    assert_false(is_complete(old, sequence));
}

static void a_record_on_a_recycled_handle_completes_no_free_of_the_old_stream(void **state) {
    (void)state;
    CUstream handle = simulated_stream();
    struct sp_stream *old = resolve(handle);
    simulated_work(handle);
    uint64_t sequence = free_point(old);
    handle = recycle(handle);
    struct sp_stream *young = resolve(handle);
    assert_int_equal(sp_stream_record(young), CUDA_SUCCESS);
    assert_int_equal(sp_stream_poll(young), CUDA_SUCCESS);
    assert_false(is_complete(old, sequence));
}

static void taking_memory_through_a_recycled_handle_waits_for_the_old_streams_work(void **state) {
    (void)state;
    CUstream handle = simulated_stream();
    struct sp_stream *old = resolve(handle);
    simulated_work(handle);
    struct sp_fence fence = {old->slot, free_point(old)};
    handle = recycle(handle);
    struct sp_stream *young = resolve(handle);
    assert_int_equal(sp_stream_before_reuse(young), CUDA_SUCCESS);
    if (sp_stream_decide(young, fence) == SP_RULE_SAME_STREAM)
        assert_int_equal(sp_driver->cuStreamQuery(handle), CUDA_ERROR_NOT_READY);
    else
        assert_int_equal(sp_driver->cuStreamQuery(handle), CUDA_SUCCESS);
}

#define stream_test(function) cmocka_unit_test_setup_teardown(function, simulated_setup, simulated_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        stream_test(one_stream_has_one_slot_and_another_one_another),
        stream_test(the_null_stream_and_the_legacy_stream_are_one),
        stream_test(each_thread_has_a_per_thread_stream_of_its_own),
        stream_test(many_streams_keep_their_slots),
        stream_test(a_default_stream_needs_a_current_context_and_a_users_stream_does_not),
        stream_test(a_stream_that_can_not_be_described_is_not_registered),
        stream_test(a_stream_without_host_memory_is_not_registered),
        stream_test(a_capturing_stream_is_told_from_others),
        stream_test(records_and_polls_leave_a_capture_elsewhere_alone),
        stream_test(the_capture_mode_of_the_thread_is_put_back),
        stream_test(nothing_is_complete_that_nobody_has_asked_about),
        stream_test(frees_between_two_records_share_a_number_unless_each_records_itself),
        stream_test(a_free_of_an_identified_stream_calls_no_driver),
        stream_test(a_free_point_that_fails_is_an_error_and_leaves_no_event),
        stream_test(a_record_is_known_complete_once_it_is_and_was_asked),
        stream_test(a_record_before_a_free_says_nothing_about_the_free),
        stream_test(many_records_need_few_events_and_the_latest_covers_all),
        stream_test(each_of_the_newest_records_is_known_by_itself),
        stream_test(a_record_that_fails_publishes_nothing_and_leaves_no_event),
        stream_test(a_query_that_fails_is_returned_and_publishes_nothing),
        stream_test(what_is_known_complete_is_not_asked_again),
        stream_test(a_synchronise_completes_all_frees_before_it),
        stream_test(a_synchronise_that_fails_completes_nothing),
        stream_test(a_query_completes_the_frees_before_it_when_nothing_is_pending),
        stream_test(a_contexts_synchronise_completes_the_frees_of_all_its_streams_and_no_others),
        stream_test(without_host_memory_a_contexts_synchronise_waits_and_teaches_nothing),
        stream_test(events_of_other_contexts_are_not_asked),
        stream_test(with_no_current_context_nothing_is_asked),
        stream_test(the_rule_is_asked_with_what_is_known_of_the_fences_stream),
        stream_test(a_new_stream_at_an_old_handle_knows_nothing_of_the_old_ones_work),
        stream_test(a_record_on_a_recycled_handle_completes_no_free_of_the_old_stream),
        stream_test(taking_memory_through_a_recycled_handle_waits_for_the_old_streams_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
