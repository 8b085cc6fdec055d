#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/host_memory.h"
#include "unit/order/known.h"

// --------------------------------------------------------------------------------------------------- capture

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

static void records_and_polls_leave_a_capture_elsewhere_alone(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    struct sp_stream *stream = known(b);
    begin_capture(a, CU_STREAM_CAPTURE_MODE_GLOBAL);
    free_on(stream);
    assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
    assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
    assert_int_equal(sp_streams_poll_current_context(), CUDA_SUCCESS);
    assert_int_equal(sp_streams_poll_context_of(stream), CUDA_SUCCESS);
    assert_int_equal(sp_stream_before_reuse(stream), CUDA_SUCCESS);
    assert_int_equal(end_capture(a), CUDA_SUCCESS);
}

static void the_capture_mode_of_the_thread_is_put_back(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    sp_driver->cuThreadExchangeStreamCaptureMode(&mode);
    free_behind_work_on(stream);
    sp_stream_record(stream);
    sp_stream_poll(stream);
    free_on(stream);
    simcudaFailCall("cuEventRecord", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    sp_stream_record(stream);
    free_on(stream);
    simcudaFailCall("cuEventQuery", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    sp_stream_poll(stream);
    assert_int_equal(simcudaFailCount(), 2);
    sp_stream_wait_context(stream);
    mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    sp_driver->cuThreadExchangeStreamCaptureMode(&mode);
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

// ----------------------------------------------------------------------------------------------------- marks

static void nothing_is_complete_that_nobody_has_asked_about(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t sequence = free_on(stream);
    assert_false(is_complete(stream, sequence));
    assert_int_equal(sp_driver->cuStreamSynchronize(stream->handle), CUDA_SUCCESS);
    assert_false(is_complete(stream, sequence));
}

static void frees_between_two_records_share_a_number_unless_each_records_itself(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t records = simcudaCallCount("cuEventRecord");
    uint64_t first = free_on(stream);
    uint64_t second = free_on(stream);
    assert_int_equal(second, stream->identified ? first : first + 1);
    assert_int_equal(simcudaCallCount("cuEventRecord"), stream->identified ? records : records + 2);
    assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
    assert_true(free_on(stream) > second);
}

static void a_free_of_an_identified_stream_calls_no_driver(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t calls = simcudaCallCount(NULL);
    free_on(stream);
    sp_stream_before_reuse(stream);
    assert_int_equal(simcudaCallCount(NULL) == calls, stream->identified);
}

static void a_free_point_that_fails_is_an_error_and_leaves_no_event(void **state) {
    (void)state;
    static const char *const calls[] = {"cuCtxPushCurrent", "cuEventCreate"};
    uint64_t sequence = 0;
    struct sp_stream *stream = known_stream();
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
    assert_true(free_on(stream) > 0);
}

static void a_record_is_known_complete_once_it_is_and_was_asked(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    simulated_work(stream->handle);
    uint64_t sequence = free_on(stream);
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
    struct sp_stream *stream = known_stream();
    uint64_t before = free_on(stream);
    assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
    uint64_t after = free_behind_work_on(stream);
    assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
    assert_true(is_complete(stream, before));
    assert_false(is_complete(stream, after));
}

static void a_stream_that_freed_nothing_and_runs_after_nothing_is_not_marked(void **state) {
    (void)state;
    struct sp_mark *mark = NULL;
    struct sp_stream *stream = known_stream();
    simulated_work(stream->handle);
    assert_int_equal(sp_stream_mark(stream, &mark), CUDA_SUCCESS);
    assert_null(mark);
    assert_int_equal(live_events(), 0);
    free_on(stream);
    assert_int_equal(sp_stream_synchronize(stream, stream->handle), CUDA_SUCCESS);
    uint64_t events = live_events();
    assert_int_equal(sp_stream_mark(stream, &mark), CUDA_SUCCESS); // what it freed is complete
    assert_null(mark);
    assert_int_equal(live_events(), events);
}

static void a_mark_behind_which_nothing_was_freed_serves_again(void **state) {
    (void)state;
    struct sp_mark *first = NULL;
    struct sp_mark *second = NULL;
    struct sp_stream *stream = known_stream();
    uint64_t sequence = free_behind_work_on(stream);
    assert_int_equal(sp_stream_mark(stream, &first), CUDA_SUCCESS);
    assert_true(first->sequence >= sequence);
    uint64_t records = simcudaCallCount("cuEventRecord");
    simulated_work(stream->handle);
    assert_int_equal(sp_stream_mark(stream, &second), CUDA_SUCCESS);
    assert_ptr_equal(first, second);
    assert_int_equal(simcudaCallCount("cuEventRecord"), records);
    sp_mark_release(second);
    uint64_t later = free_on(stream);
    assert_int_equal(sp_stream_mark(stream, &second), CUDA_SUCCESS);
    assert_ptr_not_equal(first, second);
    assert_true(second->sequence >= later && later > first->sequence);
    sp_mark_release(first);
    sp_mark_release(second);
}

static void a_mark_from_before_a_join_does_not_serve_after_it(void **state) {
    (void)state;
    struct sp_mark *of_a = NULL;
    struct sp_mark *first = NULL;
    struct sp_mark *second = NULL;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    uint64_t sequence = free_behind_work_on(a);
    free_behind_work_on(b);
    assert_int_equal(sp_stream_mark(a, &of_a), CUDA_SUCCESS);
    assert_int_equal(sp_stream_mark(b, &first), CUDA_SUCCESS);
    assert_int_equal(sp_stream_wait_mark(b, of_a), CUDA_SUCCESS);
    assert_int_equal(sp_stream_mark(b, &second), CUDA_SUCCESS);
    assert_ptr_not_equal(first, second);
    assert_int_equal(sp_clock_at(&first->clock, a->slot), 0);
    assert_true(sp_clock_at(&second->clock, a->slot) >= sequence);
    sp_mark_release(of_a);
    sp_mark_release(first);
    sp_mark_release(second);
}

static void the_oldest_mark_that_covers_a_number_is_found(void **state) {
    (void)state;
    uint64_t sequences[SP_STREAM_MARKS];
    struct sp_stream *stream = known_stream();
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        sequences[i] = free_behind_work_on(stream);
        assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
    }
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        struct sp_mark *mark = sp_stream_mark_covering(stream, sequences[i]);
        assert_non_null(mark);
        assert_true(mark->sequence >= sequences[i]);
        assert_true(i == SP_STREAM_MARKS - 1 || mark->sequence < sequences[i + 1]);
        sp_mark_release(mark);
    }
    assert_null(sp_stream_mark_covering(stream, free_on(stream)));
}

static void many_records_need_few_events_and_the_latest_covers_all(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t sequence = 0;
    simulated_work(stream->handle);
    for (int i = 0; i < 50; i++) {
        sequence = free_on(stream);
        assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
        assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
        assert_false(is_complete(stream, 1));
    }
    assert_true(live_events() <= SP_STREAM_MARKS + 2);
    simulated_finish(stream->handle);
    assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
    assert_true(is_complete(stream, sequence));
}

static void each_of_the_newest_records_is_known_by_itself(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t sequences[SP_STREAM_MARKS];
    uint64_t pieces[SP_STREAM_MARKS];
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        uint64_t before = simcudaPending(stream->handle);
        sequences[i] = free_behind_work_on(stream);
        assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
        pieces[i] = simcudaPending(stream->handle) - before;
    }
    for (int done = 0; done < SP_STREAM_MARKS; done++) {
        assert_int_equal(simcudaComplete(stream->handle, pieces[done]), CUDA_SUCCESS);
        assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
        for (int i = 0; i < SP_STREAM_MARKS; i++)
            assert_int_equal(is_complete(stream, sequences[i]), i <= done);
    }
}

static void a_record_that_fails_publishes_nothing_and_leaves_no_event_but_a_spare(void **state) {
    (void)state;
    static const char *const calls[] = {"cuCtxPushCurrent", "cuEventCreate", "cuEventRecord"};
    struct sp_stream *stream = known_stream();
    uint64_t sequence = free_behind_work_on(stream);
    uint64_t covered = sp_stream_covered(stream);
    uint64_t before = live_events();
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        uint64_t failed = simcudaFailCount();
        simcudaFailCall(calls[i], 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
        assert_int_equal(sp_stream_record(stream), CUDA_ERROR_UNKNOWN);
        assert_int_equal(simcudaFailCount(), failed + 1);
        assert_int_equal(live_events(), i < 2 ? before : before + 1);
        assert_int_equal(sp_stream_covered(stream), covered);
        assert_null(sp_stream_mark_covering(stream, sequence));
        assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
        assert_false(is_complete(stream, sequence));
    }
    simulated_finish(stream->handle);
    assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
    assert_int_equal(live_events(), before + 1);
    assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
    assert_true(is_complete(stream, sequence));
}

static void without_host_memory_a_record_fails_and_publishes_nothing(void **state) {
    (void)state;
    uint64_t failed = 0;
    struct sp_stream *stream = known_stream();
    uint64_t sequence = free_behind_work_on(stream);
    host_memory_enter(1, true);
    CUresult error = sp_stream_record(stream);
    host_memory_leave(&failed);
    assert_int_equal(failed, 1);
    assert_int_equal(error, CUDA_ERROR_OUT_OF_MEMORY);
    assert_null(sp_stream_mark_covering(stream, sequence));
}

static void a_query_that_fails_is_returned_and_publishes_nothing(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t sequence = free_on(stream);
    assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
    simcudaFailCall("cuEventQuery", 1, simcudaFaultOnwards, CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(sp_stream_poll(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_false(is_complete(stream, sequence));
    assert_int_equal(sp_streams_poll_current_context(), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_false(is_complete(stream, sequence));
}

static void what_is_known_complete_is_not_asked_again(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    free_on(stream);
    assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
    assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
    uint64_t queries = simcudaCallCount("cuEventQuery");
    assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
    assert_int_equal(simcudaCallCount("cuEventQuery"), queries);
}

// ----------------------------------------------------------------------------------------- learning of order

// A mark of the stream, which the caller releases.
static struct sp_mark *mark(struct sp_stream *stream) {
    struct sp_mark *made = NULL;
    assert_int_equal(sp_stream_mark(stream, &made), CUDA_SUCCESS);
    assert_non_null(made);
    return made;
}

// What poolEventRecord and poolStreamWaitEvent do between two streams.
static void order(struct sp_stream *later, struct sp_stream *earlier) {
    struct sp_mark *between = mark(earlier);
    assert_int_equal(sp_stream_wait_mark(later, between), CUDA_SUCCESS);
    sp_mark_release(between);
}

static void a_stream_that_waits_for_a_mark_runs_after_the_frees_before_it(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    uint64_t before = free_behind_work_on(a);
    struct sp_mark *between = mark(a);
    uint64_t after = free_behind_work_on(a);
    assert_false(runs_after(b, a, before));
    assert_int_equal(sp_stream_wait_mark(b, between), CUDA_SUCCESS);
    assert_true(runs_after(b, a, before));
    assert_false(runs_after(b, a, after));
    assert_false(runs_after(a, b, 1));
    assert_int_equal(sp_driver->cuStreamQuery(b->handle), CUDA_ERROR_NOT_READY);
    sp_mark_release(between);
}

static void a_wait_that_fails_publishes_nothing(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    uint64_t sequence = free_behind_work_on(a);
    struct sp_mark *between = mark(a);
    simcudaFailCall("cuStreamWaitEvent", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(sp_stream_wait_mark(b, between), CUDA_ERROR_LAUNCH_FAILED);
    assert_false(runs_after(b, a, sequence));
    sp_mark_release(between);
}

static void a_stream_waits_for_no_mark_of_its_own(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    free_behind_work_on(a);
    struct sp_mark *own = mark(a);
    uint64_t waits = simcudaCallCount("cuStreamWaitEvent");
    assert_int_equal(sp_stream_wait_mark(a, own), CUDA_SUCCESS);
    assert_int_equal(simcudaCallCount("cuStreamWaitEvent"), waits);
    sp_mark_release(own);
}

static void order_is_transitive_along_a_chain(void **state) {
    (void)state;
    enum { MANY = 100 };
    struct sp_stream *streams[MANY];
    uint64_t sequence = 0;
    for (int i = 0; i < MANY; i++) {
        streams[i] = known_stream();
        if (i == 0)
            sequence = free_behind_work_on(streams[0]);
        else
            order(streams[i], streams[i - 1]);
        assert_true(i == 0 || runs_after(streams[i], streams[0], sequence));
    }
}

// What the earlier stream comes to run after once it is recorded is not handed on.
static void a_mark_hands_on_the_order_of_its_record_and_no_later_one(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    struct sp_stream *c = known_stream();
    uint64_t of_c = free_behind_work_on(c);
    free_behind_work_on(a);
    struct sp_mark *between = mark(a);
    order(a, c);
    assert_true(runs_after(a, c, of_c));
    assert_int_equal(sp_stream_wait_mark(b, between), CUDA_SUCCESS);
    assert_false(runs_after(b, c, of_c));
    sp_mark_release(between);
}

static void a_later_wait_for_an_earlier_mark_takes_nothing_back(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    free_behind_work_on(a);
    struct sp_mark *early = mark(a);
    uint64_t sequence = free_behind_work_on(a);
    struct sp_mark *late = mark(a);
    assert_int_equal(sp_stream_wait_mark(b, late), CUDA_SUCCESS);
    assert_int_equal(sp_stream_wait_mark(b, early), CUDA_SUCCESS);
    assert_true(runs_after(b, a, sequence));
    sp_mark_release(early);
    sp_mark_release(late);
}

static void what_is_complete_leaves_the_clocks(void **state) {
    (void)state;
    enum { MANY = 50 };
    struct sp_stream *b = known_stream();
    for (int i = 0; i < MANY; i++) {
        struct sp_stream *a = known_stream();
        free_behind_work_on(a);
        order(b, a);
        assert_int_equal(sp_stream_synchronize(a, a->handle), CUDA_SUCCESS);
        assert_int_equal(sp_context_synchronize(), CUDA_SUCCESS);
        assert_true(b->clock.count <= 2);
    }
}

static void without_host_memory_a_stream_knows_less_and_nothing_wrong(void **state) {
    (void)state;
    struct sp_clock clock = {0, 0, NULL};
    uint64_t failed = 0;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    uint64_t sequence = free_behind_work_on(a);
    struct sp_mark *between = mark(a);
    free_on(b); // an anonymous stream has its chain by now
    host_memory_enter(1, true);
    CUresult error = sp_stream_wait_mark(b, between);
    host_memory_leave(&failed);
    assert_int_equal(error, CUDA_SUCCESS);
    assert_true(failed > 0);
    assert_false(runs_after(b, a, sequence));
    assert_int_equal(sp_stream_wait_mark(b, between), CUDA_SUCCESS);
    host_memory_enter(1, true);
    sp_stream_copy_clock(b, &clock);
    host_memory_leave(&failed);
    assert_int_equal(sp_clock_at(&clock, a->slot), 0);
    sp_clock_clear(&clock);
    sp_mark_release(between);
}

static void waiting_for_the_context_orders_a_stream_behind_frees_that_no_mark_covers(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    uint64_t sequence = free_behind_work_on(a);
    uint64_t events = live_events();
    CUresult error = sp_stream_wait_context(b);
    assert_int_equal(error, sp_driver->cuCtxRecordEvent ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED);
    assert_int_equal(runs_after(b, a, sequence), error == CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuStreamQuery(b->handle),
                     error == CUDA_SUCCESS ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
    assert_false(runs_after(b, a, free_behind_work_on(a)));
    assert_true(live_events() <= events + 1); // the chain of an anonymous stream
}

static void waiting_for_the_context_says_nothing_of_another_context(void **state) {
    (void)state;
    CUcontext context = NULL;
    struct sp_stream *b = known_stream();
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    struct sp_stream *elsewhere = known_stream();
    uint64_t sequence = free_behind_work_on(elsewhere);
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    sp_stream_wait_context(b);
    assert_false(runs_after(b, elsewhere, sequence));
}

static void a_wait_for_the_context_that_fails_publishes_nothing(void **state) {
    (void)state;
    static const char *const calls[] = {"cuCtxPushCurrent", "cuEventCreate", "cuCtxRecordEvent",
                                        "cuStreamWaitEvent"};
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    if (!sp_driver->cuCtxRecordEvent)
        return;
    uint64_t sequence = free_behind_work_on(a);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        simcudaFailCall(calls[i], 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
        assert_int_equal(sp_stream_wait_context(b), CUDA_ERROR_LAUNCH_FAILED);
        assert_false(runs_after(b, a, sequence));
        assert_int_equal(live_events(), 0);
    }
}

// ------------------------------------------------------------------------------------- synchronise and query

static void a_synchronise_completes_all_frees_before_it(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    struct sp_stream *other = known_stream();
    simulated_work(stream->handle);
    uint64_t sequence = free_on(stream);
    uint64_t of_other = free_on(other);
    assert_int_equal(sp_stream_synchronize(stream, stream->handle), CUDA_SUCCESS);
    assert_true(is_complete(stream, sequence));
    assert_false(is_complete(other, of_other));
    assert_false(is_complete(stream, free_on(stream)));
}

static void a_synchronise_that_fails_completes_nothing(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t sequence = free_on(stream);
    simcudaFailCall("cuStreamSynchronize", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(sp_stream_synchronize(stream, stream->handle), CUDA_ERROR_LAUNCH_FAILED);
    simcudaFailCall("cuCtxSynchronize", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(sp_context_synchronize(), CUDA_ERROR_LAUNCH_FAILED);
    assert_false(is_complete(stream, sequence));
}

static void a_query_completes_the_frees_before_it_when_nothing_is_pending(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    simulated_work(stream->handle);
    uint64_t sequence = free_on(stream);
    assert_int_equal(sp_stream_query(stream, stream->handle), CUDA_ERROR_NOT_READY);
    assert_false(is_complete(stream, sequence));
    simulated_finish(stream->handle);
    assert_int_equal(sp_stream_query(stream, stream->handle), CUDA_SUCCESS);
    assert_true(is_complete(stream, sequence));
}

static void a_contexts_synchronise_completes_the_frees_of_all_its_streams_and_no_others(void **state) {
    (void)state;
    CUcontext context = NULL;
    struct sp_stream *a = known_stream();
    struct sp_stream *gone = known_stream();
    simulated_work(a->handle);
    uint64_t of_a = free_on(a);
    uint64_t of_gone = free_on(gone);
    simulated_destroy(gone->handle);
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    struct sp_stream *elsewhere = known_stream();
    uint64_t of_elsewhere = free_on(elsewhere);
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    assert_int_equal(sp_context_synchronize(), CUDA_SUCCESS);
    assert_true(is_complete(a, of_a));
    assert_true(is_complete(gone, of_gone));
    assert_false(is_complete(elsewhere, of_elsewhere));
}

static void without_host_memory_a_contexts_synchronise_waits_and_teaches_nothing(void **state) {
    (void)state;
    uint64_t failed = 0;
    struct sp_stream *stream = known_stream();
    simulated_work(stream->handle);
    uint64_t sequence = free_on(stream);
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
    struct sp_stream *elsewhere = known_stream();
    uint64_t sequence = free_on(elsewhere);
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
    struct sp_stream *stream = known_stream();
    free_on(stream);
    assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    assert_int_equal(sp_streams_poll_current_context(), CUDA_SUCCESS);
    assert_false(is_complete(stream, 1));
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
}

static void what_a_complete_mark_ran_after_is_complete_too(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    uint64_t of_a = free_behind_work_on(a);
    order(b, a);
    uint64_t of_b = free_on(b);
    assert_int_equal(sp_stream_record(b), CUDA_SUCCESS);
    assert_int_equal(sp_stream_poll(b), CUDA_SUCCESS);
    assert_false(is_complete(a, of_a) || is_complete(b, of_b));
    simulated_finish(a->handle);
    simulated_finish(b->handle);
    assert_int_equal(sp_stream_poll(b), CUDA_SUCCESS);
    assert_true(is_complete(b, of_b));
    assert_true(is_complete(a, of_a));
}

static void what_a_stream_came_to_run_after_later_is_not_complete_with_its_mark(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    uint64_t of_a = free_behind_work_on(a);
    uint64_t of_b = free_on(b);
    struct sp_mark *early = mark(b);
    order(b, a);
    assert_int_equal(sp_mark_ask(early), CUDA_SUCCESS);
    assert_true(is_complete(b, of_b));
    assert_false(is_complete(a, of_a));
    sp_mark_release(early);
}

static void a_synchronise_completes_what_the_stream_runs_after(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    uint64_t before = free_behind_work_on(a);
    order(b, a);
    uint64_t after = free_behind_work_on(a);
    assert_int_equal(sp_stream_synchronize(b, b->handle), CUDA_SUCCESS);
    assert_int_equal(is_complete(a, before),
                     b->identified); // of an anonymous stream its chain alone is evidence
    assert_false(is_complete(a, after));
}

static void a_synchronise_that_fails_completes_nothing_of_what_the_stream_runs_after(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    uint64_t sequence = free_behind_work_on(a);
    order(b, a);
    simcudaFailCall("cuStreamSynchronize", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(sp_stream_synchronize(b, b->handle), CUDA_ERROR_LAUNCH_FAILED);
    simcudaFailCall("cuStreamQuery", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(sp_stream_query(b, b->handle), CUDA_ERROR_LAUNCH_FAILED);
    assert_false(is_complete(a, sequence));
}

// What a question was lucky to find is not what a synchronise shows: a deterministic pool takes the latter
// alone.
static void a_query_is_no_synchronise(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t sequence = free_on(stream);
    assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
    assert_int_equal(sp_stream_query(stream, stream->handle), CUDA_SUCCESS);
    assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
    assert_true(is_complete(stream, sequence));
    assert_false(is_synchronized(stream, sequence));
    assert_int_equal(sp_stream_synchronize(stream, stream->handle), CUDA_SUCCESS);
    assert_int_equal(is_synchronized(stream, sequence),
                     stream->identified); // an anonymous stream's chain is asked
}

static void a_contexts_synchronise_is_a_synchronise(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t sequence = free_behind_work_on(stream);
    assert_int_equal(sp_context_synchronize(), CUDA_SUCCESS);
    assert_true(is_complete(stream, sequence));
    assert_true(is_synchronized(stream, sequence));
}

static void whatever_becomes_known_is_news(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t news = sp_streams_news();
    free_behind_work_on(stream);
    assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
    assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
    assert_int_equal(sp_streams_news(), news);
    simulated_finish(stream->handle);
    assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
    assert_int_not_equal(sp_streams_news(), news);
    news = sp_streams_news();
    assert_int_equal(sp_stream_poll(stream), CUDA_SUCCESS);
    assert_int_equal(sp_streams_news(), news);
}

// ------------------------------------------------------------------------------------------ recycled handles

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
    struct sp_stream *old = known(handle);
    simulated_work(handle);
    uint64_t sequence = free_on(old);
    handle = recycle(handle);
    struct sp_stream *young = known(handle);
    assert_int_equal(sp_stream_synchronize(young, handle), CUDA_SUCCESS);
    assert_int_equal(sp_stream_query(young, handle), CUDA_SUCCESS);
    assert_false(is_complete(old, sequence));
}

static void a_record_on_a_recycled_handle_completes_no_free_of_the_old_stream(void **state) {
    (void)state;
    CUstream handle = simulated_stream();
    struct sp_stream *old = known(handle);
    simulated_work(handle);
    uint64_t sequence = free_on(old);
    handle = recycle(handle);
    struct sp_stream *young = known(handle);
    assert_int_equal(sp_stream_record(young), CUDA_SUCCESS);
    assert_int_equal(sp_stream_poll(young), CUDA_SUCCESS);
    assert_false(is_complete(old, sequence));
}

static void taking_memory_through_a_recycled_handle_waits_for_the_old_streams_work(void **state) {
    (void)state;
    CUstream handle = simulated_stream();
    struct sp_stream *old = known(handle);
    free_behind_work_on(old);
    handle = recycle(handle);
    struct sp_stream *young = known(handle);
    assert_int_equal(sp_stream_before_reuse(young), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuStreamQuery(handle),
                     young->identified ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

// The order of the old stream holds for the young one only because that one waits for the chain first.
static void a_recycled_handle_that_keeps_the_old_ones_order_waits_for_it(void **state) {
    (void)state;
    CUstream handle = simulated_stream();
    struct sp_stream *a = known_stream();
    struct sp_stream *old = known(handle);
    uint64_t sequence = free_behind_work_on(a);
    order(old, a);
    handle = recycle(handle);
    struct sp_stream *young = known(handle);
    assert_int_equal(sp_stream_before_reuse(young), CUDA_SUCCESS);
    assert_int_equal(runs_after(young, a, sequence), !young->identified);
    assert_int_equal(sp_driver->cuStreamQuery(handle),
                     young->identified ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

// A name under which there ever was a non-blocking stream counts as one.
static void a_recycled_handle_is_blocking_only_if_it_always_was(void **state) {
    (void)state;
    CUstream handle = simulated_blocking_stream();
    struct sp_stream *old = known(handle);
    free_on(old);
    assert_int_equal(atomic_load(&old->kind), SP_STREAM_BLOCKING);
    handle = recycle(handle);
    struct sp_stream *young = known(handle);
    free_on(young);
    assert_int_equal(atomic_load(&young->kind), SP_STREAM_NON_BLOCKING);
    simulated_destroy(handle);
    assert_ptr_equal(simulated_blocking_stream(), handle);
    young = known(handle);
    free_on(young);
    assert_int_equal(atomic_load(&young->kind),
                     young->identified ? SP_STREAM_BLOCKING : SP_STREAM_NON_BLOCKING);
}

#define progress_test(function) cmocka_unit_test_setup_teardown(function, simulated_setup, simulated_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        progress_test(records_and_polls_leave_a_capture_elsewhere_alone),
        progress_test(the_capture_mode_of_the_thread_is_put_back),
        progress_test(nothing_is_complete_that_nobody_has_asked_about),
        progress_test(frees_between_two_records_share_a_number_unless_each_records_itself),
        progress_test(a_free_of_an_identified_stream_calls_no_driver),
        progress_test(a_free_point_that_fails_is_an_error_and_leaves_no_event),
        progress_test(a_record_is_known_complete_once_it_is_and_was_asked),
        progress_test(a_record_before_a_free_says_nothing_about_the_free),
        progress_test(a_stream_that_freed_nothing_and_runs_after_nothing_is_not_marked),
        progress_test(a_mark_behind_which_nothing_was_freed_serves_again),
        progress_test(a_mark_from_before_a_join_does_not_serve_after_it),
        progress_test(the_oldest_mark_that_covers_a_number_is_found),
        progress_test(many_records_need_few_events_and_the_latest_covers_all),
        progress_test(each_of_the_newest_records_is_known_by_itself),
        progress_test(a_record_that_fails_publishes_nothing_and_leaves_no_event_but_a_spare),
        progress_test(without_host_memory_a_record_fails_and_publishes_nothing),
        progress_test(a_query_that_fails_is_returned_and_publishes_nothing),
        progress_test(what_is_known_complete_is_not_asked_again),
        progress_test(a_stream_that_waits_for_a_mark_runs_after_the_frees_before_it),
        progress_test(a_wait_that_fails_publishes_nothing),
        progress_test(a_stream_waits_for_no_mark_of_its_own),
        progress_test(order_is_transitive_along_a_chain),
        progress_test(a_mark_hands_on_the_order_of_its_record_and_no_later_one),
        progress_test(a_later_wait_for_an_earlier_mark_takes_nothing_back),
        progress_test(what_is_complete_leaves_the_clocks),
        progress_test(without_host_memory_a_stream_knows_less_and_nothing_wrong),
        progress_test(waiting_for_the_context_orders_a_stream_behind_frees_that_no_mark_covers),
        progress_test(waiting_for_the_context_says_nothing_of_another_context),
        progress_test(a_wait_for_the_context_that_fails_publishes_nothing),
        progress_test(a_synchronise_completes_all_frees_before_it),
        progress_test(a_synchronise_that_fails_completes_nothing),
        progress_test(a_query_completes_the_frees_before_it_when_nothing_is_pending),
        progress_test(a_contexts_synchronise_completes_the_frees_of_all_its_streams_and_no_others),
        progress_test(without_host_memory_a_contexts_synchronise_waits_and_teaches_nothing),
        progress_test(events_of_other_contexts_are_not_asked),
        progress_test(with_no_current_context_nothing_is_asked),
        progress_test(what_a_complete_mark_ran_after_is_complete_too),
        progress_test(what_a_stream_came_to_run_after_later_is_not_complete_with_its_mark),
        progress_test(a_synchronise_completes_what_the_stream_runs_after),
        progress_test(a_synchronise_that_fails_completes_nothing_of_what_the_stream_runs_after),
        progress_test(a_query_is_no_synchronise),
        progress_test(a_contexts_synchronise_is_a_synchronise),
        progress_test(whatever_becomes_known_is_news),
        progress_test(a_new_stream_at_an_old_handle_knows_nothing_of_the_old_ones_work),
        progress_test(a_record_on_a_recycled_handle_completes_no_free_of_the_old_stream),
        progress_test(taking_memory_through_a_recycled_handle_waits_for_the_old_streams_work),
        progress_test(a_recycled_handle_that_keeps_the_old_ones_order_waits_for_it),
        progress_test(a_recycled_handle_is_blocking_only_if_it_always_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
