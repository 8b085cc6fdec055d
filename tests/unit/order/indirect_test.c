#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "order/indirect.h"
#include "unit/order/known.h"
#include "unit/outcomes.h"

// Behind the frees of an anonymous stream an event stands always: nobody has to be asked.
static bool has_ids(void) {
    return sp_driver->cuStreamGetId != NULL;
}

static struct sp_stream *blocking_stream(void) {
    return known(simulated_blocking_stream());
}

// The driver, but another thread frees in the middle of a call: behind what is asked about or
// waited for.
static const struct sp_driver *driver;
static struct sp_stream *freeing;
static uint64_t freed_meanwhile;

static CUresult query_and_free(CUstream stream) {
    CUresult error = driver->cuStreamQuery(stream);
    freed_meanwhile = free_behind_work_on(freeing);
    return error;
}

static CUresult free_and_wait(CUstream stream, CUevent event, unsigned int flags) {
    freed_meanwhile = free_behind_work_on(freeing);
    return driver->cuStreamWaitEvent(stream, event, flags);
}

typedef struct sp_outcome indirect_act(struct sp_stream *stream, enum sp_indirect whom);

static struct sp_outcome beside_a_free(struct sp_stream *silent, indirect_act *act,
                                       struct sp_stream *stream, enum sp_indirect whom) {
    static struct sp_driver interrupted;
    interrupted = *sp_driver;
    driver = sp_driver;
    freeing = silent;
    freed_meanwhile = 0;
    interrupted.cuStreamQuery = query_and_free;
    interrupted.cuStreamWaitEvent = free_and_wait;
    sp_driver = &interrupted;
    struct sp_outcome outcome = act(stream, whom);
    sp_driver = driver;
    return outcome;
}

static void the_legacy_stream_tells_of_blocking_streams(void **state) {
    (void)state;
    struct sp_stream *asking = known_stream(), *silent = blocking_stream();
    uint64_t sequence = free_on(silent);
    assert_done(sp_indirect_ask(asking, SP_INDIRECT_LEGACY));
    assert_int_equal(is_complete(silent, sequence), has_ids());
    assert_false(is_synchronized(silent, sequence));
}

static void it_tells_nothing_while_one_has_work_pending(void **state) {
    (void)state;
    struct sp_stream *asking = known_stream(), *idle = blocking_stream(), *busy = blocking_stream();
    uint64_t sequence = free_on(idle);
    simulated_work(busy->handle);
    assert_done(sp_indirect_ask(asking, SP_INDIRECT_LEGACY));
    assert_false(is_complete(idle, sequence));
    simulated_finish(busy->handle);
    assert_done(sp_indirect_ask(asking, SP_INDIRECT_LEGACY));
    assert_int_equal(is_complete(idle, sequence), has_ids());
}

static void it_tells_nothing_of_non_blocking_streams(void **state) {
    (void)state;
    struct sp_stream *asking = known_stream(), *silent = known_stream();
    uint64_t sequence = free_behind_work_on(silent);
    assert_done(sp_indirect_ask(asking, SP_INDIRECT_LEGACY));
    assert_false(is_complete(silent, sequence));
}

static void a_free_behind_the_question_is_not_answered_for(void **state) {
    (void)state;
    struct sp_stream *asking = known_stream(), *silent = blocking_stream();
    free_on(silent);
    assert_done(sp_indirect_ask(asking, SP_INDIRECT_LEGACY));
    assert_false(is_complete(silent, free_behind_work_on(silent)));
}

static void a_free_in_the_middle_of_the_question_is_not_answered_for(void **state) {
    (void)state;
    if (!has_ids())
        skip();
    struct sp_stream *asking = known_stream(), *silent = blocking_stream();
    uint64_t sequence = free_on(silent);
    assert_done(beside_a_free(silent, sp_indirect_ask, asking, SP_INDIRECT_LEGACY));
    assert_true(is_complete(silent, sequence));
    assert_false(is_complete(silent, freed_meanwhile));
}

static void a_free_behind_the_record_is_not_waited_for(void **state) {
    (void)state;
    if (!has_ids() || !sp_driver->cuCtxRecordEvent)
        skip();
    for (int whom = SP_INDIRECT_LEGACY; whom <= SP_INDIRECT_CONTEXT; whom++) {
        struct sp_stream *waiting = known_stream(), *silent = blocking_stream();
        uint64_t sequence = free_behind_work_on(silent);
        assert_done(beside_a_free(silent, sp_indirect_wait, waiting, (enum sp_indirect)whom));
        assert_true(runs_after(waiting, silent, sequence));
        assert_false(runs_after(waiting, silent, freed_meanwhile));
    }
}

static void beside_a_blocking_capture_nothing_is_asked(void **state) {
    (void)state;
    struct sp_stream *asking = known_stream(), *silent = blocking_stream();
    CUstream capturing = simulated_blocking_stream();
    CUgraph graph;
    uint64_t sequence = free_on(silent);
    assert_int_equal(sp_driver->cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_GLOBAL),
                     CUDA_SUCCESS);
    uint64_t asked = simcudaCallCount("cuStreamQuery"),
             recorded = simcudaCallCount("cuEventRecord");
    assert_done(sp_indirect_ask(asking, SP_INDIRECT_LEGACY));
    assert_cause(sp_indirect_wait(asking, SP_INDIRECT_LEGACY),
                 has_ids() ? SP_CAPTURES : SP_NOT_SUPPORTED);
    assert_int_equal(simcudaCallCount("cuStreamQuery"), asked);
    assert_int_equal(simcudaCallCount("cuEventRecord"), recorded);
    assert_false(is_complete(silent, sequence));
    assert_int_equal(sp_driver->cuStreamEndCapture(capturing, &graph), CUDA_SUCCESS);
}

static void a_failure_of_the_driver_is_heard(void **state) {
    (void)state;
    if (!has_ids())
        skip();
    struct sp_stream *asking = known_stream();
    simcudaFailCall("cuStreamQuery", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    assert_of_driver(sp_indirect_ask(asking, SP_INDIRECT_LEGACY), CUDA_ERROR_LAUNCH_FAILED);
    simcudaFailCall("cuCtxPushCurrent", 1, simcudaFaultOnce, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    assert_of_driver(sp_indirect_ask(asking, SP_INDIRECT_LEGACY), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    simcudaFailClear();
}

static void behind_the_legacy_streams_event_a_stream_runs_after_all_blocking_ones(void **state) {
    (void)state;
    if (!has_ids())
        skip();
    struct sp_stream *waiting = known_stream(), *silent = blocking_stream(),
                     *other = known_stream();
    uint64_t sequence = free_behind_work_on(silent), of_other = free_behind_work_on(other);
    assert_done(sp_indirect_wait(waiting, SP_INDIRECT_LEGACY));
    assert_true(runs_after(waiting, silent, sequence));
    assert_false(runs_after(waiting, other, of_other));
    assert_int_equal(sp_driver->cuStreamQuery(waiting->handle), CUDA_ERROR_NOT_READY);
    simulated_finish(silent->handle);
    assert_int_equal(sp_driver->cuStreamQuery(waiting->handle), CUDA_SUCCESS);
}

static void a_wait_that_fails_teaches_no_order(void **state) {
    (void)state;
    if (!has_ids())
        skip();
    static const char *const calls[] = {"cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"};
    struct sp_stream *waiting = known_stream(), *silent = blocking_stream();
    uint64_t sequence = free_behind_work_on(silent);
    for (int i = 0; i < 3; i++) {
        simcudaFailCall(calls[i], 1, simcudaFaultOnce, CUDA_ERROR_OUT_OF_MEMORY);
        assert_of_driver(sp_indirect_wait(waiting, SP_INDIRECT_LEGACY), CUDA_ERROR_OUT_OF_MEMORY);
        assert_false(runs_after(waiting, silent, sequence));
    }
    simcudaFailClear();
}

static void the_context_tells_of_all_streams(void **state) {
    (void)state;
    struct sp_stream *asking = known_stream(), *silent = known_stream(), *busy = known_stream();
    uint64_t sequence = free_on(silent);
    simulated_work(busy->handle);
    if (!sp_driver->cuCtxRecordEvent) {
        assert_cause(sp_indirect_ask(asking, SP_INDIRECT_CONTEXT), SP_NOT_SUPPORTED);
        return;
    }
    assert_done(sp_indirect_ask(asking, SP_INDIRECT_CONTEXT));
    assert_false(is_complete(silent, sequence));
    simulated_finish(busy->handle);
    assert_done(sp_indirect_ask(asking, SP_INDIRECT_CONTEXT));
    assert_true(is_complete(silent, sequence));
}

static void waiting_for_the_context_orders_a_stream_behind_frees_that_no_mark_covers(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    uint64_t sequence = free_behind_work_on(a);
    uint64_t events = live_events();
    struct sp_outcome outcome = sp_indirect_wait(b, SP_INDIRECT_CONTEXT);
    assert_cause(outcome, sp_driver->cuCtxRecordEvent ? SP_DONE : SP_NOT_SUPPORTED);
    assert_int_equal(runs_after(b, a, sequence), sp_is_done(outcome));
    assert_int_equal(sp_driver->cuStreamQuery(b->handle),
                     sp_is_done(outcome) ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
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
    sp_indirect_wait(b, SP_INDIRECT_CONTEXT);
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
        assert_of_driver(sp_indirect_wait(b, SP_INDIRECT_CONTEXT), CUDA_ERROR_LAUNCH_FAILED);
        assert_false(runs_after(b, a, sequence));
        assert_int_equal(live_events(), 0);
    }
}

#define silent_test(name) cmocka_unit_test_setup_teardown(name, simulated_setup, simulated_teardown)

// ------------------------------------------------------------------- slots that are used again

static struct sp_stream *came_meanwhile;

// Another thread's new stream gets the slot of a blocking one that is gone, in the middle of a
// call, and frees behind work that the legacy stream doesn't see.
static void use_slot_again(int contended) {
    if (contended)
        return;
    sp_lock_set_hook(NULL);
    came_meanwhile = known_stream();
    freed_meanwhile = free_behind_work_on(came_meanwhile);
}

// A synchronise could still show more of it than the question that found it complete.
static struct sp_stream *gone_blocking_stream(void) {
    struct sp_stream *gone = blocking_stream();
    sp_progress_publish(gone, sp_progress_close(gone), SP_FOUND);
    assert_done(sp_end_stream(gone, gone->handle));
    return gone;
}

static void a_stream_that_gets_the_slot_meanwhile_is_not_answered_for(void **state) {
    (void)state;
    if (!has_ids())
        skip();
    struct sp_stream *asking = known_stream(), *gone = gone_blocking_stream();
    sp_lock_set_hook(use_slot_again);
    assert_done(sp_indirect_ask(asking, SP_INDIRECT_LEGACY));
    assert_ptr_equal(came_meanwhile, gone);
    assert_false(is_complete(came_meanwhile, freed_meanwhile));
}

static void a_stream_that_gets_the_slot_meanwhile_is_not_waited_for(void **state) {
    (void)state;
    if (!has_ids())
        skip();
    struct sp_stream *waiting = known_stream(), *gone = gone_blocking_stream();
    sp_lock_set_hook(use_slot_again);
    assert_done(sp_indirect_wait(waiting, SP_INDIRECT_LEGACY));
    assert_ptr_equal(came_meanwhile, gone);
    assert_false(runs_after(waiting, came_meanwhile, freed_meanwhile));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        silent_test(the_legacy_stream_tells_of_blocking_streams),
        silent_test(it_tells_nothing_while_one_has_work_pending),
        silent_test(it_tells_nothing_of_non_blocking_streams),
        silent_test(a_free_behind_the_question_is_not_answered_for),
        silent_test(a_free_in_the_middle_of_the_question_is_not_answered_for),
        silent_test(a_free_behind_the_record_is_not_waited_for),
        silent_test(beside_a_blocking_capture_nothing_is_asked),
        silent_test(a_failure_of_the_driver_is_heard),
        silent_test(behind_the_legacy_streams_event_a_stream_runs_after_all_blocking_ones),
        silent_test(a_wait_that_fails_teaches_no_order),
        silent_test(the_context_tells_of_all_streams),
        silent_test(waiting_for_the_context_orders_a_stream_behind_frees_that_no_mark_covers),
        silent_test(waiting_for_the_context_says_nothing_of_another_context),
        silent_test(a_wait_for_the_context_that_fails_publishes_nothing),
        silent_test(a_stream_that_gets_the_slot_meanwhile_is_not_answered_for),
        silent_test(a_stream_that_gets_the_slot_meanwhile_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
