#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/program/times.h"

static void percentiles_are_samples_by_nearest_rank(void **state) {
    (void)state;
    uint64_t ns[200];
    for (size_t i = 0; i < 200; i++)
        ns[i] = 200 - i;
    struct sp_samples samples = {ns, 200};
    struct sp_times times = sp_times_of(&samples);
    assert_int_equal(times.p50, 100);
    assert_int_equal(times.p99, 198);
    assert_int_equal(times.max, 200);
    assert_true(times.mean == 100.5);
}

static void one_sample_is_every_figure(void **state) {
    (void)state;
    uint64_t ns[] = {42};
    struct sp_samples samples = {ns, 1};
    struct sp_times times = sp_times_of(&samples);
    assert_int_equal(times.p50, 42);
    assert_int_equal(times.p99, 42);
    assert_int_equal(times.max, 42);
    assert_true(times.mean == 42);
}

static void no_sample_is_zero(void **state) {
    (void)state;
    struct sp_samples samples = {NULL, 0};
    struct sp_times times = sp_times_of(&samples);
    assert_int_equal(times.max, 0);
    assert_true(times.mean == 0);
    assert_int_equal(sp_samples_sum(&samples), 0);
}

static void the_cost_of_the_clock_is_subtracted_and_nothing_falls_below_zero(void **state) {
    (void)state;
    assert_int_equal(sp_clock_elapsed(1000, 1100, 30), 70);
    assert_int_equal(sp_clock_elapsed(1000, 1020, 30), 0);
}

static void the_clock_does_not_run_backwards(void **state) {
    (void)state;
    uint64_t last = sp_clock_now();
    for (int i = 0; i < 1000; i++) {
        uint64_t now = sp_clock_now();
        assert_true(now >= last);
        last = now;
    }
}

static void an_odd_number_of_values_has_one_in_the_middle(void **state) {
    (void)state;
    double values[] = {5, 1, 9};
    struct sp_spread spread = sp_spread_of(values, 3);
    assert_true(spread.median == 5);
    assert_true(spread.least == 1);
    assert_true(spread.most == 9);
    assert_true(spread.mean == 5);
}

static void the_median_of_an_even_number_is_half_way_between_two(void **state) {
    (void)state;
    double values[] = {8, 1, 2, 3};
    struct sp_spread spread = sp_spread_of(values, 4);
    assert_true(spread.median == 2.5);
    assert_true(spread.mean == 3.5);
}

static void one_value_is_every_figure(void **state) {
    (void)state;
    double values[] = {42};
    struct sp_spread spread = sp_spread_of(values, 1);
    assert_true(spread.median == 42 && spread.least == 42 && spread.most == 42 &&
                spread.mean == 42);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_samples_by_nearest_rank),
        cmocka_unit_test(one_sample_is_every_figure),
        cmocka_unit_test(no_sample_is_zero),
        cmocka_unit_test(the_cost_of_the_clock_is_subtracted_and_nothing_falls_below_zero),
        cmocka_unit_test(the_clock_does_not_run_backwards),
        cmocka_unit_test(an_odd_number_of_values_has_one_in_the_middle),
        cmocka_unit_test(the_median_of_an_even_number_is_half_way_between_two),
        cmocka_unit_test(one_value_is_every_figure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
