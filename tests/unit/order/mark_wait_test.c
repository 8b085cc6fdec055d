#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/host_memory.h"
#include "unit/order/known.h"
#include "unit/outcomes.h"

static void a_stream_that_waits_for_a_mark_runs_after_the_frees_before_it(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    uint64_t before = free_behind_work_on(a);
    struct sp_mark *between = mark_on(a);
    uint64_t after = free_behind_work_on(a);
    assert_false(runs_after(b, a, before));
    assert_done(sp_mark_wait(b, between));
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
    struct sp_mark *between = mark_on(a);
    simcudaFailCall("cuStreamWaitEvent", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    assert_of_driver(sp_mark_wait(b, between), CUDA_ERROR_LAUNCH_FAILED);
    assert_false(runs_after(b, a, sequence));
    sp_mark_release(between);
}

static void a_stream_waits_for_no_mark_of_its_own(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    free_behind_work_on(a);
    struct sp_mark *own = mark_on(a);
    uint64_t waits = simcudaCallCount("cuStreamWaitEvent");
    assert_done(sp_mark_wait(a, own));
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
            order_behind(streams[i], streams[i - 1]);
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
    struct sp_mark *between = mark_on(a);
    order_behind(a, c);
    assert_true(runs_after(a, c, of_c));
    assert_done(sp_mark_wait(b, between));
    assert_false(runs_after(b, c, of_c));
    sp_mark_release(between);
}

static void a_later_wait_for_an_earlier_mark_takes_nothing_back(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    free_behind_work_on(a);
    struct sp_mark *early = mark_on(a);
    uint64_t sequence = free_behind_work_on(a);
    struct sp_mark *late = mark_on(a);
    assert_done(sp_mark_wait(b, late));
    assert_done(sp_mark_wait(b, early));
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
        order_behind(b, a);
        assert_done(sp_synchronize_stream(a, a->handle));
        assert_done(sp_synchronize_context());
        assert_true(b->clock.count <= 2);
    }
}

static void without_host_memory_a_stream_knows_less_and_nothing_wrong(void **state) {
    (void)state;
    struct sp_fence_set clock = {0};
    uint64_t failed = 0;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    for (int i = 0; i < SP_FENCE_INLINE; i++) { // more than so many take host memory
        struct sp_stream *other = known_stream();
        free_behind_work_on(other);
        order_behind(b, other);
    }
    uint64_t sequence = free_behind_work_on(a);
    struct sp_mark *between = mark_on(a);
    free_on(b); // an anonymous stream has its chain by now
    host_memory_enter(1, true);
    struct sp_outcome outcome = sp_mark_wait(b, between);
    host_memory_leave(&failed);
    assert_done(outcome);
    assert_true(failed > 0);
    assert_false(runs_after(b, a, sequence));
    assert_done(sp_mark_wait(b, between));
    host_memory_enter(1, true);
    sp_progress_copy_clock(b, &clock);
    host_memory_leave(&failed);
    assert_int_equal(sp_fence_set_number(&clock, a->slot), 0);
    sp_fence_set_clear(&clock);
    sp_mark_release(between);
}

#define learn_test(function)                                                                       \
    cmocka_unit_test_setup_teardown(function, simulated_setup, simulated_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        learn_test(a_stream_that_waits_for_a_mark_runs_after_the_frees_before_it),
        learn_test(a_wait_that_fails_publishes_nothing),
        learn_test(a_stream_waits_for_no_mark_of_its_own),
        learn_test(order_is_transitive_along_a_chain),
        learn_test(a_mark_hands_on_the_order_of_its_record_and_no_later_one),
        learn_test(a_later_wait_for_an_earlier_mark_takes_nothing_back),
        learn_test(what_is_complete_leaves_the_clocks),
        learn_test(without_host_memory_a_stream_knows_less_and_nothing_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
