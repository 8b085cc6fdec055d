#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "simcuda/common/clock.h"

static void the_null_clock_reads_zero_everywhere(void **state) {
    (void)state;
    assert_int_equal(sim_clock_at(NULL, 0), 0);
    assert_int_equal(sim_clock_at(NULL, 1000), 0);
}

static void raising_keeps_the_larger_value(void **state) {
    struct sim_clock *clock = NULL;
    (void)state;
    assert_true(sim_clock_raise(&clock, 3, 7));
    assert_false(sim_clock_raise(&clock, 3, 7));
    assert_false(sim_clock_raise(&clock, 3, 5));
    assert_int_equal(sim_clock_at(clock, 3), 7);
    assert_int_equal(sim_clock_at(clock, 2), 0);
    assert_int_equal(sim_clock_at(clock, 4), 0);
    sim_clock_drop(clock);
}

static void merging_takes_the_larger_of_both_in_every_slot(void **state) {
    struct sim_clock *a = NULL, *b = NULL;
    (void)state;
    sim_clock_raise(&a, 0, 5);
    sim_clock_raise(&a, 1, 1);
    sim_clock_raise(&b, 1, 9);
    sim_clock_raise(&b, 4, 2);
    assert_true(sim_clock_merge(&a, b));
    assert_int_equal(sim_clock_at(a, 0), 5);
    assert_int_equal(sim_clock_at(a, 1), 9);
    assert_int_equal(sim_clock_at(a, 4), 2);
    assert_false(sim_clock_merge(&a, b));
    sim_clock_drop(a);
    sim_clock_drop(b);
}

static void a_clock_that_was_handed_out_never_changes(void **state) {
    struct sim_clock *clock = NULL;
    (void)state;
    sim_clock_raise(&clock, 0, 1);
    struct sim_clock *snapshot = sim_clock_share(clock);
    sim_clock_raise(&clock, 0, 2);
    sim_clock_raise(&clock, 5, 2);
    assert_int_equal(sim_clock_at(snapshot, 0), 1);
    assert_int_equal(sim_clock_at(snapshot, 5), 0);
    assert_int_equal(sim_clock_at(clock, 0), 2);
    sim_clock_drop(snapshot);
    sim_clock_drop(clock);
}

static void merging_a_clock_that_knows_more_shares_it(void **state) {
    struct sim_clock *a = NULL, *b = NULL;
    (void)state;
    sim_clock_raise(&a, 0, 1);
    sim_clock_raise(&b, 0, 2);
    sim_clock_raise(&b, 1, 2);
    assert_true(sim_clock_merge(&a, b));
    assert_ptr_equal(a, b);
    sim_clock_raise(&a, 0, 3);
    assert_int_equal(sim_clock_at(b, 0), 2);
    sim_clock_drop(a);
    sim_clock_drop(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_null_clock_reads_zero_everywhere),
        cmocka_unit_test(raising_keeps_the_larger_value),
        cmocka_unit_test(merging_takes_the_larger_of_both_in_every_slot),
        cmocka_unit_test(a_clock_that_was_handed_out_never_changes),
        cmocka_unit_test(merging_a_clock_that_knows_more_shares_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
