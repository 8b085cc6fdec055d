#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/host_memory.h"
#include "order/identity.h"
#include "unit/order/known.h"
#include "unit/outcomes.h"

static void a_record_before_a_free_says_nothing_about_the_free(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t before = free_on(stream);
    assert_done(sp_mark_record(stream));
    uint64_t after = free_behind_work_on(stream);
    assert_done(sp_poll_stream(stream));
    assert_true(is_complete(stream, before));
    assert_false(is_complete(stream, after));
}

static void a_stream_that_freed_nothing_and_runs_after_nothing_is_not_marked(void **state) {
    (void)state;
    struct sp_mark *mark = NULL;
    struct sp_stream *stream = known_stream();
    simulated_work(stream->handle);
    assert_done(sp_mark_stream(stream, &mark));
    assert_null(mark);
    assert_int_equal(live_events(), 0);
    free_on(stream);
    assert_done(sp_synchronize_stream(stream, stream->handle));
    uint64_t events = live_events();
    assert_done(sp_mark_stream(stream, &mark)); // what it freed is complete
    assert_null(mark);
    assert_int_equal(live_events(), events);
}

static void a_mark_behind_which_nothing_was_freed_serves_again(void **state) {
    (void)state;
    struct sp_mark *first = NULL;
    struct sp_mark *second = NULL;
    struct sp_stream *stream = known_stream();
    uint64_t sequence = free_behind_work_on(stream);
    assert_done(sp_mark_stream(stream, &first));
    assert_true(first->sequence >= sequence);
    uint64_t records = simcudaCallCount("cuEventRecord");
    simulated_work(stream->handle);
    assert_done(sp_mark_stream(stream, &second));
    assert_ptr_equal(first, second);
    assert_int_equal(simcudaCallCount("cuEventRecord"), records);
    sp_mark_release(second);
    uint64_t later = free_on(stream);
    assert_done(sp_mark_stream(stream, &second));
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
    assert_done(sp_mark_stream(a, &of_a));
    assert_done(sp_mark_stream(b, &first));
    assert_done(sp_mark_wait(b, of_a));
    assert_done(sp_mark_stream(b, &second));
    assert_ptr_not_equal(first, second);
    assert_int_equal(sp_fence_set_number(&first->clock, a->slot), 0);
    assert_true(sp_fence_set_number(&second->clock, a->slot) >= sequence);
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
        assert_done(sp_mark_record(stream));
    }
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        struct sp_mark *mark = sp_mark_covering(stream, sequences[i]);
        assert_non_null(mark);
        assert_true(mark->sequence >= sequences[i]);
        assert_true(i == SP_STREAM_MARKS - 1 || mark->sequence < sequences[i + 1]);
        sp_mark_release(mark);
    }
    assert_null(sp_mark_covering(stream, free_on(stream)));
}

static void many_records_need_few_events_and_the_latest_covers_all(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t sequence = 0;
    simulated_work(stream->handle);
    for (int i = 0; i < 50; i++) {
        sequence = free_on(stream);
        assert_done(sp_mark_record(stream));
        assert_done(sp_poll_stream(stream));
        assert_false(is_complete(stream, 1));
    }
    assert_true(live_events() <= SP_STREAM_MARKS + 2);
    simulated_finish(stream->handle);
    assert_done(sp_poll_stream(stream));
    assert_true(is_complete(stream, sequence));
}

// The host is far ahead: of many records some stay from the oldest one to the newest, and what the
// device has come to is known by a few questions.
static void of_many_records_some_of_every_age_are_known_by_themselves(void **state) {
    (void)state;
    enum { MANY = 8 * SP_STREAM_MARKS };
    struct sp_stream *stream = known_stream();
    uint64_t sequences[MANY], pieces[MANY];
    for (int i = 0; i < MANY; i++) {
        uint64_t before = simcudaPending(stream->handle);
        sequences[i] = free_behind_work_on(stream);
        assert_done(sp_mark_record(stream));
        pieces[i] = simcudaPending(stream->handle) - before;
    }
    int late = 0;
    for (int done = 0; done < MANY; done++) {
        assert_int_equal(simcudaComplete(stream->handle, pieces[done]), CUDA_SUCCESS);
        assert_done(sp_poll_stream(stream));
        assert_true(done == MANY - 1 || !is_complete(stream, sequences[done + 1]));
        late = is_complete(stream, sequences[done]) ? 0 : late + 1;
        assert_true(late < MANY / 2);
    }
    assert_int_equal(late, 0);
}

static void the_oldest_record_stays_until_it_is_complete(void **state) {
    (void)state;
    enum { MANY = 5 * SP_STREAM_MARKS };
    struct sp_stream *stream = known_stream();
    uint64_t sequences[MANY], pieces = simcudaPending(stream->handle);
    for (int i = 0; i < MANY; i++) {
        sequences[i] = free_behind_work_on(stream);
        assert_done(sp_mark_record(stream));
        pieces = i == 0 ? simcudaPending(stream->handle) - pieces : pieces;
    }
    struct sp_mark *mark = sp_mark_covering(stream, sequences[0]);
    assert_true(mark->sequence < sequences[1]);
    sp_mark_release(mark);
    assert_int_equal(simcudaComplete(stream->handle, pieces), CUDA_SUCCESS);
    assert_done(sp_poll_stream(stream));
    assert_true(is_complete(stream, sequences[0]));
    assert_false(is_complete(stream, sequences[1]));
}

// One question is enough to learn that the oldest one is pending.
static void behind_a_pending_event_no_newer_one_is_asked(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        free_behind_work_on(stream);
        assert_done(sp_mark_record(stream));
    }
    uint64_t asked = simcudaCallCount("cuEventQuery");
    assert_done(sp_poll_stream(stream));
    assert_true(simcudaCallCount("cuEventQuery") - asked <= (stream->identified ? 1 : 2));
}

// Asks the stream, and returns how many events that took.
static uint64_t asked_by_poll(struct sp_stream *stream) {
    uint64_t asked = simcudaCallCount("cuEventQuery");
    assert_done(sp_poll_stream(stream));
    return simcudaCallCount("cuEventQuery") - asked;
}

static uint64_t record_a_few(struct sp_stream *stream) {
    uint64_t sequence = 0;
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        sequence = free_behind_work_on(stream);
        assert_done(sp_mark_record(stream));
    }
    return sequence;
}

// Finds the stream idle.
static void find_idle(struct sp_stream *stream) {
    uint64_t sequence = record_a_few(stream);
    simulated_finish(stream->handle);
    assert_done(sp_poll_stream(stream));
    assert_true(is_complete(stream, sequence));
}

// An anonymous stream's chain says the same by an event of its own.
static void of_a_stream_that_was_idle_and_is_the_newest_event_alone_is_asked(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    if (!stream->identified)
        skip();
    find_idle(stream);
    uint64_t sequence = record_a_few(stream);
    simulated_finish(stream->handle);
    assert_int_equal(asked_by_poll(stream), 1);
    assert_true(is_complete(stream, sequence));
    assert_null(sp_mark_covering(stream, 1));
}

// The newest event and then the oldest one, and the oldest one alone from then on.
static void a_stream_that_was_idle_and_is_busy_costs_one_question_more_once(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    if (!stream->identified)
        skip();
    find_idle(stream);
    record_a_few(stream);
    assert_int_equal(asked_by_poll(stream), 2);
    assert_int_equal(asked_by_poll(stream), 1);
    simulated_finish(stream->handle);
    assert_int_equal(asked_by_poll(stream), 2);
    record_a_few(stream);
    simulated_finish(stream->handle);
    assert_int_equal(asked_by_poll(stream), 1);
}

static void a_question_that_fails_leaves_the_marks_that_it_was_not_answered_for(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    if (!stream->identified)
        skip();
    uint64_t first = free_behind_work_on(stream);
    assert_done(sp_mark_record(stream));
    simulated_finish(stream->handle);
    uint64_t last = record_a_few(stream);
    simcudaFailCall("cuEventQuery", 2, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    assert_of_driver(sp_poll_stream(stream), CUDA_ERROR_UNKNOWN);
    assert_true(is_complete(stream, first));
    assert_false(is_complete(stream, last));
    struct sp_mark *mark = sp_mark_covering(stream, first);
    assert_non_null(mark);
    assert_true(mark->sequence > first);
    sp_mark_release(mark);
    simulated_finish(stream->handle);
    assert_done(sp_poll_stream(stream));
    assert_true(is_complete(stream, last));
}

static void each_of_a_few_records_is_known(struct sp_stream *stream) {
    uint64_t sequences[SP_STREAM_MARKS];
    uint64_t pieces[SP_STREAM_MARKS];
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        uint64_t before = simcudaPending(stream->handle);
        sequences[i] = free_behind_work_on(stream);
        assert_done(sp_mark_record(stream));
        pieces[i] = simcudaPending(stream->handle) - before;
    }
    for (int done = 0; done < SP_STREAM_MARKS; done++) {
        assert_int_equal(simcudaComplete(stream->handle, pieces[done]), CUDA_SUCCESS);
        assert_done(sp_poll_stream(stream));
        for (int i = 0; i < SP_STREAM_MARKS; i++)
            assert_int_equal(is_complete(stream, sequences[i]), i <= done);
    }
}

static void each_of_a_few_records_is_known_by_itself(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    each_of_a_few_records_is_known(stream);
    each_of_a_few_records_is_known(stream); // it was idle at last
}

static void a_record_that_fails_publishes_nothing_and_leaves_no_event_but_a_spare(void **state) {
    (void)state;
    static const char *const calls[] = {"cuCtxPushCurrent", "cuEventCreate", "cuEventRecord"};
    struct sp_stream *stream = known_stream();
    uint64_t sequence = free_behind_work_on(stream);
    uint64_t recorded = sp_load_relaxed(&stream->recorded);
    uint64_t before = live_events();
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        uint64_t failed = simcudaFailCount();
        simcudaFailCall(calls[i], 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
        assert_of_driver(sp_mark_record(stream), CUDA_ERROR_UNKNOWN);
        assert_int_equal(simcudaFailCount(), failed + 1);
        assert_int_equal(live_events(), i < 2 ? before : before + 1);
        assert_int_equal(sp_load_relaxed(&stream->recorded), recorded);
        assert_null(sp_mark_covering(stream, sequence));
        assert_done(sp_poll_stream(stream));
        assert_false(is_complete(stream, sequence));
    }
    simulated_finish(stream->handle);
    assert_done(sp_mark_record(stream));
    assert_int_equal(live_events(), before + 1);
    assert_done(sp_poll_stream(stream));
    assert_true(is_complete(stream, sequence));
}

static void without_host_memory_a_record_fails_and_publishes_nothing(void **state) {
    (void)state;
    uint64_t failed = 0;
    struct sp_stream *stream = known_stream();
    uint64_t sequence = free_behind_work_on(stream);
    host_memory_enter(1, true);
    struct sp_outcome outcome = sp_mark_record(stream);
    host_memory_leave(&failed);
    assert_int_equal(failed, 1);
    assert_cause(outcome, SP_NO_HOST_MEMORY);
    assert_null(sp_mark_covering(stream, sequence));
}

static uint64_t freed(const struct sp_stream *stream) {
    return atomic_load(&stream->freed);
}

static void a_record_behind_a_free_notes_the_free_and_covers_it(void **state) {
    (void)state;
    if (!sp_identity_has_ids())
        skip();
    struct sp_mark *mark = NULL;
    struct sp_stream *stream = known_stream();
    simulated_work(stream->handle);
    uint64_t sequence = sp_progress_number(stream);
    assert_done(sp_mark_anew(stream, true, NULL));
    assert_int_equal(freed(stream), sequence);
    assert_int_equal(sp_progress_number(stream), sequence + 1);
    uint64_t records = simcudaCallCount("cuEventRecord");
    assert_done(sp_mark_stream(stream, &mark));
    assert_int_equal(mark->sequence, sequence);
    assert_int_equal(simcudaCallCount("cuEventRecord"), records);
    sp_mark_release(mark);
    assert_done(sp_poll_stream(stream));
    assert_false(is_complete(stream, sequence));
    simulated_finish(stream->handle);
    assert_done(sp_poll_stream(stream));
    assert_true(is_complete(stream, sequence));
}

static void a_record_behind_a_free_tells_what_the_stream_runs_after(void **state) {
    (void)state;
    if (!sp_identity_has_ids())
        skip();
    struct sp_stream *first = known_stream();
    struct sp_stream *second = known_stream();
    uint64_t sequence = free_behind_work_on(first);
    assert_done(sp_mark_record(first));
    assert_done(sp_mark_wait_for_fence(second, (struct sp_fence){first->slot, sequence}));
    assert_done(sp_mark_anew(second, true, NULL));
    struct sp_mark *mark = sp_mark_covering(second, freed(second));
    assert_int_equal(sp_fence_set_number(&mark->clock, first->slot), sequence);
    sp_mark_release(mark);
    assert_done(sp_synchronize_stream(first, first->handle));
    assert_done(sp_mark_anew(second, true, NULL));
    mark = sp_mark_covering(second, freed(second));
    assert_int_equal(mark->clock.count, 0); // a synchronise has shown it
    sp_mark_release(mark);
}

static void a_free_whose_record_failed_is_noted_and_the_next_record_covers_it(void **state) {
    (void)state;
    if (!sp_identity_has_ids())
        skip();
    for (int i = 0; i < 2; i++) {
        uint64_t failed = 0;
        struct sp_stream *stream = known_stream();
        uint64_t sequence = sp_progress_number(stream);
        if (i == 0)
            simcudaFailCall("cuEventRecord", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
        else
            host_memory_enter(1, false);
        struct sp_outcome outcome = sp_mark_anew(stream, true, NULL);
        host_memory_leave(&failed);
        assert_int_equal(outcome.cause, i == 0 ? SP_DRIVER_FAILED : SP_NO_HOST_MEMORY);
        assert_int_equal(freed(stream), sequence);
        assert_null(sp_mark_covering(stream, sequence));
        assert_true(atomic_load(&stream->recorded) < sequence);
        assert_done(sp_mark_record(stream));
        assert_true(atomic_load(&stream->recorded) >= sequence);
    }
}

static void a_mark_that_another_keeps_is_not_recorded_again(void **state) {
    (void)state;
    if (!sp_identity_has_ids())
        skip();
    enum { MANY = 20 };
    struct sp_mark *kept = NULL;
    struct sp_stream *stream = known_stream();
    assert_done(sp_mark_anew(stream, true, NULL)); // which stays, for it is the oldest
    uint64_t sequence = free_behind_work_on(stream);
    assert_done(sp_mark_stream(stream, &kept));
    for (int i = 0; i < MANY; i++)
        assert_done(sp_mark_anew(stream, true, NULL));
    assert_int_equal(kept->sequence, sequence);
    assert_int_equal(live_events(), SP_STREAM_MARKS + 2);
    sp_mark_release(kept);
    for (int i = 0; i < MANY; i++)
        assert_done(sp_mark_anew(stream, true, NULL));
    assert_int_equal(live_events(), SP_STREAM_MARKS + 2);
    assert_int_equal(sp_progress_number(stream), sequence + 1 + 2 * MANY);
}

#define mark_test(function)                                                                        \
    cmocka_unit_test_setup_teardown(function, simulated_setup, simulated_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        mark_test(a_record_before_a_free_says_nothing_about_the_free),
        mark_test(a_stream_that_freed_nothing_and_runs_after_nothing_is_not_marked),
        mark_test(a_mark_behind_which_nothing_was_freed_serves_again),
        mark_test(a_mark_from_before_a_join_does_not_serve_after_it),
        mark_test(the_oldest_mark_that_covers_a_number_is_found),
        mark_test(many_records_need_few_events_and_the_latest_covers_all),
        mark_test(of_many_records_some_of_every_age_are_known_by_themselves),
        mark_test(the_oldest_record_stays_until_it_is_complete),
        mark_test(behind_a_pending_event_no_newer_one_is_asked),
        mark_test(of_a_stream_that_was_idle_and_is_the_newest_event_alone_is_asked),
        mark_test(a_stream_that_was_idle_and_is_busy_costs_one_question_more_once),
        mark_test(a_question_that_fails_leaves_the_marks_that_it_was_not_answered_for),
        mark_test(each_of_a_few_records_is_known_by_itself),
        mark_test(a_record_that_fails_publishes_nothing_and_leaves_no_event_but_a_spare),
        mark_test(without_host_memory_a_record_fails_and_publishes_nothing),
        mark_test(a_record_behind_a_free_notes_the_free_and_covers_it),
        mark_test(a_record_behind_a_free_tells_what_the_stream_runs_after),
        mark_test(a_free_whose_record_failed_is_noted_and_the_next_record_covers_it),
        mark_test(a_mark_that_another_keeps_is_not_recorded_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
