// What a record of the program's event says, and of how many private records and waits that takes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inside/order.h"
#include "order/event.h"
#include "unit/order/known.h"
#include "unit/outcomes.h"

static CUevent make_event(void) {
    CUevent event = NULL;
    assert_int_equal(sp_driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    return event;
}

static void destroy(CUevent event) {
    assert_done(sp_event_destroy(event));
}

// Each makes so many driver calls. A stream without ids makes more of both, for its chain.
static void record(CUevent event, struct sp_stream *stream, uint64_t calls) {
    uint64_t before = simcudaCallCount("cuEventRecord");
    assert_done(sp_event_record(event, stream, stream->handle));
    assert_int_equal(simcudaCallCount("cuEventRecord"), before + calls);
}

static void wait(struct sp_stream *stream, CUevent event, uint64_t calls) {
    uint64_t before = simcudaCallCount("cuStreamWaitEvent");
    assert_done(sp_event_wait(event, stream, stream->handle, 0));
    if (stream->identified)
        assert_int_equal(simcudaCallCount("cuStreamWaitEvent"), before + calls);
}

static void an_event_with_nothing_new_behind_it_is_one_record_and_one_wait(void **state) {
    (void)state;
    struct sp_stream *a = known_stream(), *b = known_stream();
    CUevent event = make_event();
    uint64_t freed = free_behind_work_on(a);
    record(event, a, 2);
    wait(b, event, 2);
    for (int i = 0; i < 10; i++) {
        record(event, b, 1);
        wait(a, event, 1);
        record(event, a, 1);
        wait(b, event, 1);
    }
    assert_true(runs_after(b, a, freed));
    destroy(event);
}

static void a_stream_passes_on_what_it_has_heard_without_a_record_of_its_own(void **state) {
    (void)state;
    enum { STREAMS = 20 };
    struct sp_stream *streams[STREAMS];
    CUevent event = make_event();
    for (int i = 0; i < STREAMS; i++)
        streams[i] = known_stream();
    uint64_t freed = free_behind_work_on(streams[0]);
    for (int i = 1; i < STREAMS; i++) {
        record(event, streams[i - 1], i == 1 ? 2 : 1);
        wait(streams[i], event, 2);
        assert_true(runs_after(streams[i], streams[0], freed));
    }
    destroy(event);
}

static void who_waits_learns_of_the_streams_own_frees_and_of_what_it_heard_since(void **state) {
    (void)state;
    struct sp_stream *a = known_stream(), *b = known_stream(), *c = known_stream();
    CUevent of_a = make_event(), of_b = make_event();
    uint64_t freed_on_a = free_behind_work_on(a), freed_on_b = free_behind_work_on(b);
    record(of_b, b, 2);
    record(of_a, a, 2);
    wait(b, of_a, 2);
    record(of_b, b, 1);
    wait(c, of_b, 3);
    assert_true(runs_after(c, a, freed_on_a));
    assert_true(runs_after(c, b, freed_on_b));
    destroy(of_a);
    destroy(of_b);
}

static void a_free_since_the_newest_mark_is_told_of(void **state) {
    (void)state;
    struct sp_stream *a = known_stream(), *b = known_stream(), *c = known_stream();
    CUevent event = make_event();
    uint64_t freed_on_a = free_behind_work_on(a);
    record(event, a, 2);
    wait(b, event, 2);
    uint64_t freed_on_b = free_behind_work_on(b);
    record(event, b, 2);
    wait(c, event, 2);
    assert_true(runs_after(c, a, freed_on_a));
    assert_true(runs_after(c, b, freed_on_b));
    destroy(event);
}

static void what_a_stream_has_heard_of_several_others_takes_a_record(void **state) {
    (void)state;
    struct sp_stream *a = known_stream(), *b = known_stream(), *c = known_stream();
    struct sp_stream *d = known_stream();
    CUevent of_a = make_event(), of_b = make_event(), of_c = make_event();
    uint64_t freed_on_a = free_behind_work_on(a), freed_on_b = free_behind_work_on(b);
    record(of_a, a, 2);
    record(of_b, b, 2);
    wait(c, of_a, 2);
    wait(c, of_b, 2);
    record(of_c, c, 2);
    wait(d, of_c, 2);
    assert_true(runs_after(d, a, freed_on_a));
    assert_true(runs_after(d, b, freed_on_b));
    destroy(of_a);
    destroy(of_b);
    destroy(of_c);
}

static void an_event_that_is_recorded_again_teaches_who_knew_all_of_it_before(void **state) {
    (void)state;
    struct sp_stream *a = known_stream(), *b = known_stream();
    CUevent event = make_event();
    for (int i = 0; i < 3; i++) {
        uint64_t freed = free_behind_work_on(a);
        record(event, a, 2);
        wait(b, event, 2);
        wait(b, event, 1);
        wait(b, event, 1);
        assert_true(runs_after(b, a, freed));
    }
    destroy(event);
}

// A stream at the handle and in the slot of one that knew it all knows nothing.
static void a_stream_that_comes_after_a_knowing_one_learns_anew(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    CUevent event = make_event();
    uint64_t freed = free_behind_work_on(a);
    record(event, a, 2);
    for (int i = 0; i < 3; i++) {
        CUstream handle = NULL;
        assert_int_equal(sp_driver->cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        struct sp_stream *b = known(handle);
        wait(b, event, 2);
        wait(b, event, 1);
        assert_true(runs_after(b, a, freed));
        assert_done(sp_end_stream(b, handle));
    }
    destroy(event);
}

// The mark of a stream that is gone is none of the stream that has the slot by then.
static void a_stream_learns_what_the_last_one_in_its_slot_ran_after(void **state) {
    (void)state;
    struct sp_stream *a = known_stream(), *b = known_stream(), *old = known_stream();
    if (!old->identified)
        skip();
    CUevent of_a = make_event(), of_b = make_event(), of_old = make_event();
    uint64_t freed_on_a = free_behind_work_on(a), freed_on_b = free_behind_work_on(b);
    record(of_a, a, 2);
    record(of_b, b, 2);
    wait(old, of_a, 2);
    wait(old, of_b, 2);
    record(of_old, old, 2);
    assert_done(sp_end_stream(old, old->handle));
    struct sp_stream *fresh = known_stream();
    assert_ptr_equal(fresh, old);
    wait(fresh, of_old, 2);
    assert_true(runs_after(fresh, a, freed_on_a));
    assert_true(runs_after(fresh, b, freed_on_b));
    destroy(of_a);
    destroy(of_b);
    destroy(of_old);
}

// Another thread records between the free's look at the stream's number and its note of it, and
// what that record tells the waiting stream knows already.
static void a_free_that_was_noted_behind_a_record_is_told_of_by_the_next_one(void **state) {
    (void)state;
    struct sp_stream *a = known_stream(), *b = known_stream();
    if (!a->identified)
        skip(); // its free records its number itself
    CUevent of_other = make_event(), of_a = make_event();
    for (int i = 0; i < 2; i++) {
        struct sp_stream *other = known_stream();
        free_behind_work_on(other);
        record(of_other, other, 2);
        wait(a, of_other, 2);
        wait(b, of_other, 2);
    }
    simulated_work(a->handle);
    uint64_t freed = sp_progress_number(a);
    record(of_a, a, 2);
    wait(b, of_a, 1);
    assert_done(sp_identity_of(a)->note_freed(a, &freed));
    record(of_a, a, 2);
    wait(b, of_a, 2);
    assert_true(runs_after(b, a, freed));
    destroy(of_other);
    destroy(of_a);
}

// What a record would say stays the same, so nothing is noted of it but the stream.
static void a_record_that_fails_changes_nothing(void **state) {
    (void)state;
    struct sp_stream *a = known_stream(), *b = known_stream(), *told = NULL;
    CUevent event = make_event();
    uint64_t freed = free_behind_work_on(a);
    record(event, a, 2);
    wait(b, event, 2);
    const struct sp_mark *mark = b->marks.waited_for;
    uint32_t references = mark->references;
    for (int i = 0; i < 10; i++) {
        simcudaFailCall("cuEventRecord", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
        assert_of_driver(sp_event_record(event, i % 2 ? a : b, (i % 2 ? a : b)->handle),
                         CUDA_ERROR_LAUNCH_FAILED);
        simcudaFailClear();
    }
    assert_int_equal(mark->references, references);
    assert_done(sp_event_synchronize(event, &told));
    assert_ptr_equal(told, a);
    assert_true(is_synchronized(a, freed));
    destroy(event);
}

static void synchronising_shows_all_that_the_event_stands_behind(void **state) {
    (void)state;
    struct sp_stream *a = known_stream(), *b = known_stream(), *told = NULL;
    CUevent of_a = make_event(), of_b = make_event();
    uint64_t freed_on_a = free_behind_work_on(a), freed_on_b = free_behind_work_on(b);
    record(of_b, b, 2);
    record(of_a, a, 2);
    wait(b, of_a, 2);
    record(of_b, b, 1);
    assert_done(sp_event_synchronize(of_b, &told));
    assert_ptr_equal(told, b);
    assert_true(is_synchronized(a, freed_on_a));
    assert_true(is_synchronized(b, freed_on_b));
    destroy(of_a);
    destroy(of_b);
}

// Of many streams a mark tells in the order of their slots, and so does the clock.
static void one_of_many_that_a_stream_has_not_heard_of_is_learned_of(void **state) {
    (void)state;
    enum { STREAMS = 30 };
    struct sp_stream *streams[STREAMS], *last = known_stream();
    uint64_t freed[STREAMS];
    CUevent event = make_event();
    for (int i = 0; i < STREAMS; i++) {
        streams[i] = known_stream();
        freed[i] = free_behind_work_on(streams[i]);
        record(event, streams[i], 2);
        wait(streams[0], event, i == 0 ? 1 : 2);
        if (i % 3 == 0)
            wait(last, event, 2);
    }
    free_behind_work_on(streams[0]);
    record(event, streams[0], 2);
    wait(last, event, 2);
    wait(last, event, 1);
    for (int i = 0; i < STREAMS; i++)
        assert_true(runs_after(last, streams[i], freed[i]));
    destroy(event);
}

// Who waits for an event of the last stream in the row is in its context alone.
static void what_a_stream_has_heard_from_another_context_is_passed_on_in_its_own(void **state) {
    (void)state;
    CUcontext context = NULL;
    struct sp_stream *b = known_stream(), *c = known_stream();
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    struct sp_stream *a = known_stream();
    CUevent of_a = make_event();
    uint64_t freed = free_behind_work_on(a);
    record(of_a, a, 2);
    wait(b, of_a, 2);
    destroy(of_a);
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    CUevent of_b = make_event();
    record(of_b, b, 2);
    wait(c, of_b, 2);
    assert_true(runs_after(c, a, freed));
    destroy(of_b);
}

// Somebody else's records and waits of the program's events in between.
static void what_is_said_holds_whatever_became_of_the_event(void **state) {
    (void)state;
    struct sp_stream *a = known_stream(), *b = known_stream(), *c = known_stream();
    CUevent event = make_event();
    uint64_t freed = free_behind_work_on(a);
    record(event, a, 2);
    wait(b, event, 2);
    record(event, b, 1);
    CUstream other = simulated_stream();
    assert_int_equal(sp_driver->cuEventRecord(event, other), CUDA_SUCCESS);
    wait(c, event, 2);
    assert_true(runs_after(c, a, freed));
    assert_int_equal(sp_driver->cuStreamQuery(c->handle), CUDA_ERROR_NOT_READY);
    destroy(event);
}

static void a_stream_keeps_one_mark_of_others_and_lets_go_of_it_with_its_context(void **state) {
    (void)state;
    CUcontext context = NULL;
    struct sp_stream *b = known_stream();
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    struct sp_stream *a = known_stream(), *c = known_stream();
    CUevent event = make_event();
    free_behind_work_on(a);
    record(event, a, 2);
    wait(b, event, 2);
    wait(c, event, 2);
    assert_ptr_equal(b->marks.waited_for, c->marks.waited_for);
    assert_non_null(b->marks.waited_for);
    assert_int_equal(sp_driver->cuCtxDestroy(context), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    sp_end_gone_contexts(NULL);
    assert_null(c->marks.waited_for);
    CUevent young = make_event();
    uint64_t freed = free_behind_work_on(b);
    record(young, b, 2);
    struct sp_stream *d = known_stream();
    wait(d, young, 2);
    assert_true(runs_after(d, b, freed));
    destroy(young);
}

static int close_events(void **state) {
    inside_order_forget_events();
    return simulated_teardown(state);
}

#define said_test(function) cmocka_unit_test_setup_teardown(function, simulated_setup, close_events)

int main(void) {
    const struct CMUnitTest tests[] = {
        said_test(an_event_with_nothing_new_behind_it_is_one_record_and_one_wait),
        said_test(a_stream_passes_on_what_it_has_heard_without_a_record_of_its_own),
        said_test(who_waits_learns_of_the_streams_own_frees_and_of_what_it_heard_since),
        said_test(a_free_since_the_newest_mark_is_told_of),
        said_test(what_a_stream_has_heard_of_several_others_takes_a_record),
        said_test(an_event_that_is_recorded_again_teaches_who_knew_all_of_it_before),
        said_test(a_stream_that_comes_after_a_knowing_one_learns_anew),
        said_test(a_stream_learns_what_the_last_one_in_its_slot_ran_after),
        said_test(a_free_that_was_noted_behind_a_record_is_told_of_by_the_next_one),
        said_test(a_record_that_fails_changes_nothing),
        said_test(synchronising_shows_all_that_the_event_stands_behind),
        said_test(one_of_many_that_a_stream_has_not_heard_of_is_learned_of),
        said_test(what_a_stream_has_heard_from_another_context_is_passed_on_in_its_own),
        said_test(what_is_said_holds_whatever_became_of_the_event),
        said_test(a_stream_keeps_one_mark_of_others_and_lets_go_of_it_with_its_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
