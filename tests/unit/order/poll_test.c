#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "order/identity.h"
#include "order/indirect.h"
#include "unit/order/known.h"
#include "unit/outcomes.h"
#include "unit/stepping.h"

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
    assert_done(sp_mark_record(stream));
    assert_done(sp_poll_stream(stream));
    assert_done(sp_poll_current_context());
    assert_done(sp_poll_context_of(stream));
    assert_done(sp_identity_before_reuse(stream));
    assert_int_equal(end_capture(a), CUDA_SUCCESS);
}

static void a_question_to_a_stream_leaves_a_capture_elsewhere_alone(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    struct sp_stream *stream = known_stream();
    free_on(stream);
    begin_capture(a, CU_STREAM_CAPTURE_MODE_GLOBAL);
    assert_complete(sp_synchronize_ask, stream);
    assert_int_equal(end_capture(a), CUDA_SUCCESS);
}

static void the_capture_mode_of_the_thread_is_put_back(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    sp_driver->cuThreadExchangeStreamCaptureMode(&mode);
    free_behind_work_on(stream);
    sp_mark_record(stream);
    sp_poll_stream(stream);
    free_on(stream);
    simcudaFailCall("cuEventRecord", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    sp_mark_record(stream);
    free_on(stream);
    simcudaFailCall("cuEventQuery", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    sp_poll_stream(stream);
    assert_int_equal(simcudaFailCount(), 2);
    sp_indirect_wait(stream, SP_INDIRECT_CONTEXT);
    mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    sp_driver->cuThreadExchangeStreamCaptureMode(&mode);
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

static void nothing_is_complete_that_nobody_has_asked_about(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t sequence = free_on(stream);
    assert_false(is_complete(stream, sequence));
    assert_int_equal(sp_driver->cuStreamSynchronize(stream->handle), CUDA_SUCCESS);
    assert_false(is_complete(stream, sequence));
}

static void a_record_is_known_complete_once_it_is_and_was_asked(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    simulated_work(stream->handle);
    uint64_t sequence = free_on(stream);
    assert_done(sp_mark_record(stream));
    assert_done(sp_poll_stream(stream));
    assert_false(is_complete(stream, sequence));
    simulated_finish(stream->handle);
    assert_false(is_complete(stream, sequence));
    assert_done(sp_poll_stream(stream));
    assert_true(is_complete(stream, sequence));
}

static void a_query_that_fails_is_returned_and_publishes_nothing(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t sequence = free_on(stream);
    assert_done(sp_mark_record(stream));
    simcudaFailCall("cuEventQuery", 1, simcudaFaultOnwards, CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_of_driver(sp_poll_stream(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_false(is_complete(stream, sequence));
    assert_of_driver(sp_poll_current_context(), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_false(is_complete(stream, sequence));
}

static void what_is_known_complete_is_not_asked_again(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    free_on(stream);
    assert_done(sp_mark_record(stream));
    assert_done(sp_poll_stream(stream));
    uint64_t queries = simcudaCallCount("cuEventQuery");
    assert_done(sp_poll_stream(stream));
    assert_int_equal(simcudaCallCount("cuEventQuery"), queries);
}

static void events_of_other_contexts_are_not_asked(void **state) {
    (void)state;
    CUcontext context = NULL;
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    struct sp_stream *elsewhere = known_stream();
    uint64_t sequence = free_on(elsewhere);
    assert_done(sp_mark_record(elsewhere));
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    assert_done(sp_poll_current_context());
    assert_false(is_complete(elsewhere, sequence));
    assert_int_equal(sp_driver->cuCtxSetCurrent(context), CUDA_SUCCESS);
    assert_done(sp_poll_current_context());
    assert_true(is_complete(elsewhere, sequence));
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
}

static void with_no_current_context_nothing_is_asked(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    free_on(stream);
    assert_done(sp_mark_record(stream));
    assert_int_equal(sp_driver->cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    assert_done(sp_poll_current_context());
    assert_false(is_complete(stream, 1));
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
}

static void what_a_complete_mark_ran_after_is_complete_too(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    uint64_t of_a = free_behind_work_on(a);
    order_behind(b, a);
    uint64_t of_b = free_on(b);
    assert_done(sp_mark_record(b));
    assert_done(sp_poll_stream(b));
    assert_false(is_complete(a, of_a) || is_complete(b, of_b));
    simulated_finish(a->handle);
    simulated_finish(b->handle);
    assert_done(sp_poll_stream(b));
    assert_true(is_complete(b, of_b));
    assert_true(is_complete(a, of_a));
}

static void what_a_stream_came_to_run_after_later_is_not_complete_with_its_mark(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    uint64_t of_a = free_behind_work_on(a);
    uint64_t of_b = free_on(b);
    struct sp_mark *early = mark_on(b);
    order_behind(b, a);
    assert_done(sp_poll_mark(early, SP_FOUND));
    assert_true(is_complete(b, of_b));
    assert_false(is_complete(a, of_a));
    sp_mark_release(early);
}

static void whatever_becomes_known_is_news(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t news = sp_progress_news(SP_FOUND);
    free_behind_work_on(stream);
    assert_done(sp_mark_record(stream));
    assert_done(sp_poll_stream(stream));
    assert_int_equal(sp_progress_news(SP_FOUND), news);
    simulated_finish(stream->handle);
    assert_done(sp_poll_stream(stream));
    assert_int_not_equal(sp_progress_news(SP_FOUND), news);
    news = sp_progress_news(SP_FOUND);
    assert_done(sp_poll_stream(stream));
    assert_int_equal(sp_progress_news(SP_FOUND), news);
}

static int heard;

static void hear(void) {
    heard++;
}

static void bring_news(struct sp_stream *stream) {
    uint64_t sequence = sp_progress_close(stream);
    sp_progress_publish(stream, sequence, SP_FOUND);
}

static void news_are_told_once_to_whoever_waits_for_them(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t seen = sp_progress_news(SP_FOUND);
    heard = 0;
    assert_true(sp_progress_await_news(seen, hear));
    assert_int_equal(heard, 0);
    bring_news(stream);
    assert_int_equal(heard, 1);
    bring_news(stream);
    assert_int_equal(heard, 1);
    assert_false(sp_progress_await_news(seen, hear));
    bring_news(stream); // so that nobody waits when the test is over
}

// News that come after so many instructions of whoever is about to wait for them.
static struct {
    struct sp_stream *stream;
    uint64_t seen;
    int steps;
    bool waits;
} sudden;

static void await_news(void) {
    sudden.waits = sp_progress_await_news(sudden.seen, hear);
}

static bool bring_sudden_news(void) {
    if (sudden.steps-- == 0)
        bring_news(sudden.stream);
    return sudden.steps >= 0;
}

static void news_that_come_while_somebody_begins_to_wait_are_not_missed(void **state) {
    (void)state;
    int told[2] = {0}; // by the answer, and by a call
    require_stepping();
    sudden.stream = known_stream();
    for (int steps = 0;; steps++) {
        sudden.steps = steps;
        sudden.seen = sp_progress_news(SP_FOUND);
        heard = 0;
        step_through(await_news, bring_sudden_news);
        if (sudden.steps >= 0)
            break;
        assert_true(heard == 1 || !sudden.waits);
        told[heard]++;
        bring_news(sudden.stream);
    }
    bring_news(sudden.stream);
    assert_true(told[0] > 0 && told[1] > 0);
}

#define poll_test(function)                                                                        \
    cmocka_unit_test_setup_teardown(function, simulated_setup, simulated_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        poll_test(records_and_polls_leave_a_capture_elsewhere_alone),
        poll_test(a_question_to_a_stream_leaves_a_capture_elsewhere_alone),
        poll_test(the_capture_mode_of_the_thread_is_put_back),
        poll_test(nothing_is_complete_that_nobody_has_asked_about),
        poll_test(a_record_is_known_complete_once_it_is_and_was_asked),
        poll_test(a_query_that_fails_is_returned_and_publishes_nothing),
        poll_test(what_is_known_complete_is_not_asked_again),
        poll_test(events_of_other_contexts_are_not_asked),
        poll_test(with_no_current_context_nothing_is_asked),
        poll_test(what_a_complete_mark_ran_after_is_complete_too),
        poll_test(what_a_stream_came_to_run_after_later_is_not_complete_with_its_mark),
        poll_test(whatever_becomes_known_is_news),
        poll_test(news_are_told_once_to_whoever_waits_for_them),
        poll_test(news_that_come_while_somebody_begins_to_wait_are_not_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
