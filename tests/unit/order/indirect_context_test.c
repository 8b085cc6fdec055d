#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <semaphore.h>

#include "base/thread.h"
#include "fault/host_memory.h"
#include "inside/order.h"
#include "order/indirect.h"
#include "unit/order/known.h"
#include "unit/outcomes.h"

// More than any machine needs for what these tests let complete.
#define LONG (60 * SP_SECOND)

static struct sp_stream *asking, *silent, *busy;
static sem_t gate;

static void wait_at_gate(void *argument) {
    while (sem_wait(argument) != 0)
        ;
}

// Work that nothing ends but open_gate().
static void close_gate(void) {
    sem_init(&gate, 0, 0);
    assert_int_equal(sp_driver->cuLaunchHostFunc(busy->handle, wait_at_gate, &gate), CUDA_SUCCESS);
}

static void open_gate(void) {
    sem_post(&gate);
    inside_order_end_context_waits();
}

static int setup_with(const char *settings) {
    if (simulated_begin(settings) != 0)
        return -1;
    asking = known_stream();
    silent = known_stream();
    busy = known_stream();
    return 0;
}

static int setup(void **state) {
    (void)state;
    return setup_with(NULL);
}

static int setup_scheduled(void **state) {
    (void)state;
    return setup_with("mode=scheduled");
}

static uint64_t synchronizes(void) {
    return simcudaCallCount("cuCtxSynchronize");
}

static void a_context_is_waited_for_and_all_of_it_is_complete(void **state) {
    (void)state;
    uint64_t of_silent = free_behind_work_on(silent), own = free_behind_work_on(asking);
    assert_done(sp_indirect_await_context(asking, LONG));
    assert_true(is_complete(silent, of_silent));
    assert_true(is_complete(asking, own));
    assert_false(is_synchronized(silent, of_silent));
    assert_int_equal(synchronizes(), 1);
}

static void in_no_time_nothing_is_done(void **state) {
    (void)state;
    uint64_t sequence = free_on(silent);
    assert_done(sp_indirect_await_context(asking, 0));
    assert_false(is_complete(silent, sequence));
    assert_int_equal(synchronizes(), 0);
}

static void work_that_does_not_end_is_left_and_told_of_once_it_has_ended(void **state) {
    (void)state;
    uint64_t sequence = free_on(silent);
    close_gate();
    assert_done(sp_indirect_await_context(asking, SP_SECOND / 1000));
    assert_false(is_complete(silent, sequence));
    uint64_t later = free_on(silent);
    open_gate();
    assert_true(is_complete(silent, sequence));
    assert_false(is_complete(silent, later));
}

// A thread that was started gets there when the system lets it.
static void await_synchronize(void) {
    while (synchronizes() == 0)
        sched_yield();
}

static void one_wait_at_a_time_is_under_way(void **state) {
    (void)state;
    close_gate();
    assert_done(sp_indirect_await_context(asking, SP_SECOND / 1000));
    await_synchronize();
    uint64_t sequence = free_on(silent);
    assert_done(sp_indirect_await_context(asking, SP_SECOND / 1000));
    assert_int_equal(synchronizes(), 1);
    open_gate();
    assert_done(sp_indirect_await_context(asking, LONG));
    assert_int_equal(synchronizes(), 2);
    assert_true(is_complete(silent, sequence));
}

static void another_context_is_waited_for_beside_it(void **state) {
    (void)state;
    CUcontext context = NULL;
    close_gate();
    assert_done(sp_indirect_await_context(asking, SP_SECOND / 1000));
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    struct sp_stream *elsewhere = known_stream();
    uint64_t sequence = free_on(elsewhere), here = free_on(silent);
    assert_done(sp_indirect_await_context(elsewhere, LONG));
    assert_true(is_complete(elsewhere, sequence));
    assert_false(is_complete(silent, here));
    open_gate();
    assert_false(is_complete(silent, here));
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
}

static void a_failure_of_the_driver_is_the_callers(void **state) {
    (void)state;
    static const char *const calls[] = {"cuCtxPushCurrent", "cuCtxSynchronize"};
    uint64_t sequence = free_on(silent);
    for (int i = 0; i < 2; i++) {
        simcudaFailCall(calls[i], 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
        assert_failed_in(sp_indirect_await_context(asking, LONG), CUDA_ERROR_LAUNCH_FAILED,
                         calls[i]);
        assert_false(is_complete(silent, sequence));
    }
    simcudaFailClear();
}

static void without_host_memory_nothing_is_waited_for(void **state) {
    (void)state;
    uint64_t sequence = free_on(silent), failed = 0;
    for (uint64_t nth = 1; nth <= 2; nth++) {
        host_memory_enter(nth, false);
        struct sp_outcome outcome = sp_indirect_await_context(asking, LONG);
        host_memory_leave(&failed);
        assert_done(outcome);
        assert_int_equal(failed, 1);
        assert_false(is_complete(silent, sequence));
    }
    assert_int_equal(synchronizes(), 0);
}

static void the_scheduled_driver_is_waited_for_by_the_caller(void **state) {
    (void)state;
    uint64_t sequence = free_behind_work_on(silent);
    assert_done(sp_indirect_await_context(asking, 1));
    assert_true(is_complete(silent, sequence));
}

#define wait_test(name) cmocka_unit_test_setup_teardown(name, setup, simulated_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        wait_test(a_context_is_waited_for_and_all_of_it_is_complete),
        wait_test(in_no_time_nothing_is_done),
        wait_test(work_that_does_not_end_is_left_and_told_of_once_it_has_ended),
        wait_test(one_wait_at_a_time_is_under_way),
        wait_test(another_context_is_waited_for_beside_it),
        wait_test(a_failure_of_the_driver_is_the_callers),
        wait_test(without_host_memory_nothing_is_waited_for),
        cmocka_unit_test_setup_teardown(the_scheduled_driver_is_waited_for_by_the_caller,
                                        setup_scheduled, simulated_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
