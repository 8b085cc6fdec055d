#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/host_memory.h"
#include "inside/order.h"
#include "order/event.h"
#include "unit/order/known.h"
#include "unit/outcomes.h"

static CUevent make_event(void) {
    CUevent event = NULL;
    assert_int_equal(sp_driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    return event;
}

static void record(CUevent event, struct sp_stream *stream) {
    assert_done(sp_event_record(event, stream, stream->handle));
}

static void wait(struct sp_stream *stream, CUevent event) {
    assert_done(sp_event_wait(event, stream, stream->handle, 0));
}

static void destroy(CUevent event) {
    assert_int_equal(sp_driver->cuEventDestroy(event), CUDA_SUCCESS);
}

static void synchronising_an_event_completes_the_frees_before_its_record(void **state) {
    (void)state;
    struct sp_stream *told = NULL;
    struct sp_stream *stream = known_stream();
    CUevent event = make_event();
    simulated_work(stream->handle);
    uint64_t before = free_on(stream);
    assert_done(sp_event_record(event, stream, stream->handle));
    simulated_work(stream->handle);
    uint64_t after = free_on(stream);
    assert_done(sp_event_synchronize(event, &told));
    assert_ptr_equal(told, stream);
    assert_true(is_complete(stream, before));
    assert_false(is_complete(stream, after));
    destroy(event);
}

static void a_pending_event_is_not_ready_and_teaches_nothing(void **state) {
    (void)state;
    struct sp_stream *told = NULL;
    struct sp_stream *stream = known_stream();
    CUevent event = make_event();
    simulated_work(stream->handle);
    uint64_t sequence = free_on(stream);
    assert_done(sp_event_record(event, stream, stream->handle));
    assert_pending(sp_event_query, event, &told);
    assert_false(is_complete(stream, sequence));
    simulated_finish(stream->handle);
    assert_complete(sp_event_query, event, &told);
    assert_ptr_equal(told, stream);
    assert_true(is_complete(stream, sequence));
    destroy(event);
}

static void an_event_recorded_by_somebody_else_is_no_evidence(void **state) {
    (void)state;
    struct sp_stream *told = NULL;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    CUevent event = make_event();
    simulated_work(a->handle);
    uint64_t sequence = free_on(a);
    assert_done(sp_event_record(event, a, a->handle));
    // Now it says nothing about a.
    assert_int_equal(sp_driver->cuEventRecord(event, b->handle), CUDA_SUCCESS);
    assert_done(sp_event_synchronize(event, &told));
    assert_false(is_complete(a, sequence));
    destroy(event);
}

static void an_event_at_a_destroyed_ones_handle_is_no_evidence(void **state) {
    (void)state;
    struct sp_stream *told = NULL;
    struct sp_stream *stream = known_stream();
    CUevent old = make_event();
    simulated_work(stream->handle);
    uint64_t sequence = free_on(stream);
    assert_done(sp_event_record(old, stream, stream->handle));
    destroy(old);
    CUevent young = make_event();
    assert_ptr_equal(young, old);
    assert_done(sp_event_synchronize(young, &told));
    assert_false(is_complete(stream, sequence));
    destroy(young);
}

static void an_unknown_event_is_waited_for_and_teaches_nothing(void **state) {
    (void)state;
    struct sp_stream *told = known(NULL);
    struct sp_stream *stream = known_stream();
    CUevent event = make_event();
    uint64_t sequence = free_behind_work_on(stream);
    assert_int_equal(sp_driver->cuEventRecord(event, stream->handle), CUDA_SUCCESS);
    assert_done(sp_event_synchronize(event, &told));
    assert_null(told);
    assert_int_equal(simcudaPending(stream->handle), 0);
    assert_false(is_complete(stream, sequence));
    destroy(event);
}

static void a_driver_that_fails_is_named_and_nothing_is_learnt(void **state) {
    (void)state;
    static const char *const calls[] = {"cuEventRecord", "cuEventSynchronize", "cuEventQuery"};
    struct sp_stream *stream = known_stream();
    CUevent event = make_event();
    struct sp_stream *told = NULL;
    simulated_work(stream->handle);
    uint64_t sequence = free_on(stream);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        bool complete;
        simcudaFailCall(calls[i], 1, simcudaFaultOnwards, CUDA_ERROR_LAUNCH_FAILED);
        struct sp_outcome outcome = i == 0   ? sp_event_record(event, stream, stream->handle)
                                    : i == 1 ? sp_event_synchronize(event, &told)
                                             : sp_event_query(event, &told, &complete);
        simcudaFailClear();
        assert_failed_in(outcome, CUDA_ERROR_LAUNCH_FAILED, calls[i]);
        assert_false(is_complete(stream, sequence));
    }
    destroy(event);
}

static void a_private_record_that_fails_does_not_spoil_the_users(void **state) {
    (void)state;
    struct sp_stream *told = NULL;
    struct sp_stream *stream = known_stream();
    CUevent event = make_event();
    simulated_work(stream->handle);
    uint64_t sequence = free_on(stream);
    simcudaFailCall("cuEventRecord", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    assert_done(sp_event_record(event, stream, stream->handle));
    assert_int_equal(simcudaFailCount(), 1);
    assert_pending(sp_event_query, event, &told);
    assert_false(is_complete(stream, sequence));
    destroy(event);
}

static void a_record_in_a_capture_makes_no_private_event_and_spoils_nothing(void **state) {
    (void)state;
    struct sp_stream *told = NULL;
    struct sp_stream *stream = known_stream();
    CUevent event = make_event();
    CUgraph graph = NULL;
    free_behind_work_on(stream);
    record(event, stream);
    assert_int_equal(sp_driver->cuStreamBeginCapture(stream->handle, CU_STREAM_CAPTURE_MODE_GLOBAL),
                     CUDA_SUCCESS);
    uint64_t records = simcudaCallCount("cuEventRecord");
    assert_done(sp_event_record(event, NULL, stream->handle));
    assert_int_equal(simcudaCallCount("cuEventRecord"), records + 1);
    assert_int_equal(sp_driver->cuStreamEndCapture(stream->handle, &graph), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuGraphDestroy(graph), CUDA_SUCCESS);
    bool complete;
    sp_event_query(event, &told, &complete);
    assert_null(told);
    destroy(event);
}

static void synchronising_an_event_is_a_synchronise_of_what_stands_before_it(void **state) {
    (void)state;
    struct sp_stream *told = NULL;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    CUevent first = make_event();
    CUevent second = make_event();
    uint64_t of_a = free_behind_work_on(a);
    record(first, a);
    wait(b, first);
    uint64_t of_b = free_on(b);
    record(second, b);
    assert_done(sp_event_synchronize(second, &told));
    assert_true(is_synchronized(b, of_b));
    assert_true(is_synchronized(a, of_a));
    destroy(first);
    destroy(second);
}

static void an_event_tells_its_stream_though_there_was_nothing_to_mark(void **state) {
    (void)state;
    struct sp_stream *told = NULL;
    struct sp_stream *stream = known_stream();
    CUevent event = make_event();
    free_on(stream);
    assert_done(sp_synchronize_stream(stream, stream->handle));
    record(event, stream);
    assert_done(sp_event_synchronize(event, &told));
    assert_ptr_equal(told, stream);
    assert_complete(sp_event_query, event, &told);
    assert_ptr_equal(told, stream);
    assert_done(sp_event_destroy(event));
    CUevent young = make_event();
    assert_done(sp_event_synchronize(young, &told));
    assert_null(told);
    destroy(young);
}

static void a_query_of_an_event_is_no_synchronise(void **state) {
    (void)state;
    struct sp_stream *told = NULL;
    struct sp_stream *stream = known_stream();
    CUevent event = make_event();
    uint64_t sequence = free_on(stream);
    sp_progress_set_strict(stream); // somebody would learn from the synchronise
    record(event, stream);
    assert_complete(sp_event_query, event, &told);
    assert_true(is_complete(stream, sequence));
    assert_false(is_synchronized(stream, sequence));
    assert_done(sp_event_synchronize(event, &told));
    assert_true(is_synchronized(stream, sequence));
    destroy(event);
}

// ----------------------------------------------------------------------------------------- waiting

static void waiting_for_an_event_orders_a_stream_behind_the_frees_before_its_record(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    CUevent event = make_event();
    uint64_t before = free_behind_work_on(a);
    record(event, a);
    uint64_t after = free_behind_work_on(a);
    wait(b, event);
    assert_true(runs_after(b, a, before));
    assert_false(runs_after(b, a, after));
    destroy(event);
}

static void an_event_recorded_before_any_free_gives_no_order(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    CUevent event = make_event();
    simulated_work(a->handle);
    record(event, a);
    uint64_t sequence = free_behind_work_on(a);
    wait(b, event);
    assert_false(runs_after(b, a, sequence));
    destroy(event);
}

static void waiting_for_an_event_takes_the_order_of_its_record_and_no_later_one(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    struct sp_stream *c = known_stream();
    CUevent of_a = make_event();
    CUevent of_c = make_event();
    free_behind_work_on(a);
    uint64_t sequence = free_behind_work_on(c);
    record(of_c, c);
    record(of_a, a);
    wait(a, of_c);
    wait(b, of_a);
    assert_false(runs_after(b, c, sequence));
    record(of_a, a);
    wait(b, of_a);
    assert_true(runs_after(b, c, sequence));
    destroy(of_a);
    destroy(of_c);
}

static void a_wait_that_fails_teaches_nothing(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    CUevent event = make_event();
    uint64_t sequence = free_behind_work_on(a);
    record(event, a);
    simcudaFailCall("cuStreamWaitEvent", 1, simcudaFaultOnwards, CUDA_ERROR_LAUNCH_FAILED);
    assert_of_driver(sp_event_wait(event, b, b->handle, 0), CUDA_ERROR_LAUNCH_FAILED);
    simcudaFailClear();
    assert_false(runs_after(b, a, sequence));
    destroy(event);
}

static void a_private_wait_that_fails_spoils_nothing_and_teaches_nothing(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    CUevent event = make_event();
    uint64_t sequence = free_behind_work_on(a);
    record(event, a);
    simcudaFailCall("cuStreamWaitEvent", 2, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    wait(b, event);
    assert_int_equal(simcudaFailCount(), 1);
    assert_false(runs_after(b, a, sequence));
    destroy(event);
}

// What is learned is true though the event means something else by then: the stream waits for the
// mark too.
static void a_wait_for_an_event_that_somebody_else_recorded_anew_orders_as_it_says(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    struct sp_stream *c = known_stream();
    CUevent event = make_event();
    uint64_t sequence = free_behind_work_on(a);
    record(event, a);
    assert_int_equal(sp_driver->cuEventRecord(event, c->handle), CUDA_SUCCESS);
    wait(b, event);
    if (runs_after(b, a, sequence))
        assert_int_equal(sp_driver->cuStreamQuery(b->handle), CUDA_ERROR_NOT_READY);
    destroy(event);
}

// What another thread does once the mark of the event has been waited for: `a` waits for `c`, and
// the event is recorded anew, more often than a stream has marks. `a` has let go of its first mark,
// as a synchronise has it do.
static struct {
    struct sp_stream *a, *c;
    CUevent event;
    uint64_t waits; // before
    uint64_t of_a;  // the number of the first mark
} meanwhile;

static void record_anew_once_it_is_waited_for(int contended) {
    (void)contended;
    if (simcudaCallCount("cuStreamWaitEvent") < meanwhile.waits + 2)
        return;
    sp_lock_set_hook(NULL);
    sp_mark_drop_until(meanwhile.a, meanwhile.of_a);
    order_behind(meanwhile.a, meanwhile.c);
    for (int i = 0; i < SP_STREAM_MARKS + 2; i++) {
        free_behind_work_on(meanwhile.a);
        record(meanwhile.event, meanwhile.a);
    }
}

static void an_event_recorded_anew_while_it_is_waited_for_gives_the_order_of_before(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    struct sp_stream *c = known_stream();
    CUevent event = make_event();
    uint64_t of_c = free_behind_work_on(c);
    uint64_t of_a = free_behind_work_on(a);
    record(event, a);
    meanwhile.a = a;
    meanwhile.c = c;
    meanwhile.of_a = of_a;
    meanwhile.event = event;
    meanwhile.waits = simcudaCallCount("cuStreamWaitEvent");
    sp_lock_set_hook(record_anew_once_it_is_waited_for);
    wait(b, event);
    assert_true(runs_after(a, c, of_c));
    assert_true(runs_after(b, a, of_a));
    assert_false(runs_after(b, c, of_c));
    destroy(event);
}

static void
waiting_for_an_event_that_was_never_recorded_succeeds_and_teaches_nothing(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    CUevent event = make_event();
    uint64_t sequence = free_behind_work_on(a);
    wait(b, event);
    record(event, a);
    assert_false(runs_after(b, a, sequence));
    assert_int_equal(sp_driver->cuStreamQuery(b->handle), CUDA_SUCCESS);
    destroy(event);
}

static void an_event_at_the_handle_of_one_that_was_destroyed_here_gives_no_order(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    CUevent old = make_event();
    uint64_t sequence = free_behind_work_on(a);
    record(old, a);
    assert_done(sp_event_destroy(old));
    CUevent young = make_event();
    assert_ptr_equal(young, old);
    uint64_t waits = simcudaCallCount("cuStreamWaitEvent");
    wait(b, young);
    assert_int_equal(simcudaCallCount("cuStreamWaitEvent"), waits + 1);
    assert_false(runs_after(b, a, sequence));
    destroy(young);
}

static void an_event_whose_destruction_failed_is_still_known(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    CUevent event = make_event();
    uint64_t sequence = free_behind_work_on(a);
    record(event, a);
    simcudaFailCall("cuEventDestroy", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    assert_of_driver(sp_event_destroy(event), CUDA_ERROR_LAUNCH_FAILED);
    wait(b, event);
    assert_true(runs_after(b, a, sequence));
    destroy(event);
}

// Makes events until one has the handle of a dead one; destroys the others.
static CUevent event_at(CUevent dead) {
    enum { MOST = 16 };
    CUevent others[MOST];
    int count = 0;
    CUevent event = make_event();
    while (event != dead) {
        assert_true(count < MOST);
        others[count++] = event;
        event = make_event();
    }
    while (count > 0)
        destroy(others[--count]);
    return event;
}

// The events of a context die with it, the private ones too, and a new one can have the handle of a
// dead one.
static void an_event_at_the_handle_of_one_that_died_with_its_context_gives_no_order(void **state) {
    (void)state;
    CUcontext context = NULL;
    CUcontext again = NULL;
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    struct sp_stream *a = known_stream();
    CUevent old = make_event();
    uint64_t sequence = free_behind_work_on(a);
    record(old, a);
    assert_int_equal(sp_driver->cuCtxDestroy(context), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    struct sp_stream *b = known_stream();
    CUevent young = event_at(old);
    wait(b, young);
    assert_false(runs_after(b, a, sequence));
    destroy(young);
    assert_int_equal(sp_driver->cuCtxCreate(&again, 0, 0), CUDA_SUCCESS);
    assert_ptr_equal(again, context);
    known_stream(); // shows that the first context is gone
    assert_true(is_complete(a, sequence));
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
}

static void an_event_of_another_context_gives_order_while_that_one_is_current(void **state) {
    (void)state;
    CUcontext context = NULL;
    struct sp_stream *b = known_stream();
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    struct sp_stream *a = known_stream();
    CUevent event = make_event();
    uint64_t sequence = free_behind_work_on(a);
    record(event, a);
    wait(b, event);
    assert_true(runs_after(b, a, sequence));
    sequence = free_behind_work_on(a);
    record(event, a);
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    wait(b, event);
    assert_false(runs_after(b, a, sequence));
    destroy(event);
}

// a waits for an event of the capture, and is part of it until b has waited for a's in turn.
static void a_capturing_stream_learns_nothing_from_a_wait(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    CUevent event = make_event();
    CUgraph graph = NULL;
    assert_int_equal(sp_driver->cuStreamBeginCapture(b->handle, CU_STREAM_CAPTURE_MODE_GLOBAL),
                     CUDA_SUCCESS);
    assert_done(sp_event_record(event, NULL, b->handle));
    wait(a, event);
    assert_cause(sp_resolve_capture(a->handle), SP_CAPTURES);
    assert_done(sp_event_record(event, NULL, a->handle));
    assert_done(sp_event_wait(event, NULL, b->handle, 0));
    assert_int_equal(sp_driver->cuStreamEndCapture(b->handle, &graph), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuGraphDestroy(graph), CUDA_SUCCESS);
    assert_int_equal(a->clock.count + b->clock.count, 0);
    destroy(event);
}

static void
an_event_that_somebody_else_recorded_in_a_capture_is_not_waited_for_twice(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    CUstream capturing = simulated_stream();
    CUevent event = make_event();
    CUgraph graph = NULL;
    uint64_t sequence = free_behind_work_on(a);
    record(event, a);
    assert_int_equal(sp_driver->cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_GLOBAL),
                     CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuEventRecord(event, capturing), CUDA_SUCCESS);
    wait(b, event);
    assert_int_equal(sp_driver->cuEventRecord(event, b->handle), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuStreamWaitEvent(capturing, event, 0), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuStreamEndCapture(capturing, &graph), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuGraphDestroy(graph), CUDA_SUCCESS);
    assert_false(runs_after(b, a, sequence));
    destroy(event);
}

static void events_whose_marks_are_complete_are_forgotten(void **state) {
    (void)state;
    enum { MANY = 3000 };
    static CUevent events[MANY];
    struct sp_stream *stream = known_stream();
    for (int i = 0; i < MANY; i++) {
        events[i] = make_event();
        free_on(stream);
        record(events[i], stream);
        assert_done(sp_synchronize_stream(stream, stream->handle));
    }
    assert_true(live_events() < MANY + 100);
    for (int i = 0; i < MANY; i++)
        assert_done(sp_event_destroy(events[i]));
}

// All of them pending at once, so that each has an event of the library's; and then asked alone.
static void private_events_are_as_many_as_are_pending_and_a_few_more(void **state) {
    (void)state;
    enum { MANY = 3000 };
    static CUevent events[MANY];
    struct sp_stream *stream = known_stream(), *other = known_stream(), *told;
    CUevent last = make_event();
    for (int i = 0; i < MANY; i++) {
        events[i] = make_event();
        free_behind_work_on(stream);
        record(events[i], stream);
    }
    assert_in_range(live_events(), 2 * MANY, 2 * MANY + 100);
    simulated_finish(stream->handle);
    for (int i = 0; i < MANY; i++)
        assert_complete(sp_event_query, events[i], &told);
    for (int i = 0; i < MANY; i++) {
        free_on(other);
        record(last, other);
        assert_complete(sp_synchronize_query, other, other->handle);
    }
    assert_done(sp_synchronize_stream(stream, stream->handle));
    assert_true(live_events() < MANY + 100);
    for (int i = 0; i < MANY; i++)
        assert_done(sp_event_destroy(events[i]));
    assert_done(sp_event_destroy(last));
}

// One allocation of each record fails, in turn: what the library keeps of the event, its private
// one, the room for more of them. The program's record is made, and the event says what it said.
static void without_host_memory_an_event_is_recorded_and_nothing_is_lost(void **state) {
    (void)state;
    enum { STREAMS = 12, MANY = STREAMS * 180 };
    static CUevent events[MANY];
    struct sp_stream *streams[STREAMS], *told;
    uint64_t failed, failed_in_all = 0;
    uint64_t before = live_events();
    for (int i = 0; i < STREAMS; i++)
        streams[i] = known_stream();
    for (int i = 0; i < MANY; i++) {
        struct sp_stream *stream = streams[i % STREAMS];
        events[i] = make_event();
        free_behind_work_on(stream);
        host_memory_enter(1 + (uint64_t)i / STREAMS % 4, false);
        struct sp_outcome outcome = sp_event_record(events[i], stream, stream->handle);
        host_memory_leave(&failed);
        assert_done(outcome);
        failed_in_all += failed;
    }
    assert_true(failed_in_all > MANY / 4);
    assert_pending(sp_event_query, events[MANY - 1], &told);
    for (int i = 0; i < STREAMS; i++)
        simulated_finish(streams[i]->handle);
    for (int i = 0; i < MANY; i++) {
        assert_complete(sp_event_query, events[i], &told);
        assert_done(sp_event_destroy(events[i]));
    }
    for (int i = 0; i < STREAMS; i++)
        assert_done(sp_synchronize_stream(streams[i], streams[i]->handle));
    assert_true(live_events() < before + (uint64_t)24 * STREAMS); // each keeps a few
}

static int close_events(void **state) {
    sp_lock_set_hook(NULL);
    inside_order_forget_events();
    return simulated_teardown(state);
}

#define event_test(function)                                                                       \
    cmocka_unit_test_setup_teardown(function, simulated_setup, close_events)

int main(void) {
    const struct CMUnitTest tests[] = {
        event_test(synchronising_an_event_completes_the_frees_before_its_record),
        event_test(a_pending_event_is_not_ready_and_teaches_nothing),
        event_test(an_event_recorded_by_somebody_else_is_no_evidence),
        event_test(an_event_at_a_destroyed_ones_handle_is_no_evidence),
        event_test(an_unknown_event_is_waited_for_and_teaches_nothing),
        event_test(a_driver_that_fails_is_named_and_nothing_is_learnt),
        event_test(a_private_record_that_fails_does_not_spoil_the_users),
        event_test(a_record_in_a_capture_makes_no_private_event_and_spoils_nothing),
        event_test(synchronising_an_event_is_a_synchronise_of_what_stands_before_it),
        event_test(an_event_tells_its_stream_though_there_was_nothing_to_mark),
        event_test(a_query_of_an_event_is_no_synchronise),
        event_test(waiting_for_an_event_orders_a_stream_behind_the_frees_before_its_record),
        event_test(an_event_recorded_before_any_free_gives_no_order),
        event_test(waiting_for_an_event_takes_the_order_of_its_record_and_no_later_one),
        event_test(a_wait_that_fails_teaches_nothing),
        event_test(a_private_wait_that_fails_spoils_nothing_and_teaches_nothing),
        event_test(a_wait_for_an_event_that_somebody_else_recorded_anew_orders_as_it_says),
        event_test(an_event_recorded_anew_while_it_is_waited_for_gives_the_order_of_before),
        event_test(waiting_for_an_event_that_was_never_recorded_succeeds_and_teaches_nothing),
        event_test(an_event_at_the_handle_of_one_that_was_destroyed_here_gives_no_order),
        event_test(an_event_whose_destruction_failed_is_still_known),
        event_test(an_event_at_the_handle_of_one_that_died_with_its_context_gives_no_order),
        event_test(an_event_of_another_context_gives_order_while_that_one_is_current),
        event_test(a_capturing_stream_learns_nothing_from_a_wait),
        event_test(an_event_that_somebody_else_recorded_in_a_capture_is_not_waited_for_twice),
        event_test(events_whose_marks_are_complete_are_forgotten),
        event_test(private_events_are_as_many_as_are_pending_and_a_few_more),
        event_test(without_host_memory_an_event_is_recorded_and_nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
