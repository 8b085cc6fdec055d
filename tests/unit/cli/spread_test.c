#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/program/spread.h"

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

static void a_geometric_mean_is_that_of_the_values_above_0(void **state) {
    (void)state;
    static const double values[] = {2, 8, 0};
    static const double none[] = {0, 0};
    assert_true(fabs(sp_geometric_mean(values, 2) - 4) < 1e-12);
    assert_true(fabs(sp_geometric_mean(values, 3) - 4) < 1e-12);
    assert_true(sp_geometric_mean(none, 2) == 0);
    assert_true(sp_geometric_mean(NULL, 0) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_odd_number_of_values_has_one_in_the_middle),
        cmocka_unit_test(the_median_of_an_even_number_is_half_way_between_two),
        cmocka_unit_test(one_value_is_every_figure),
        cmocka_unit_test(a_geometric_mean_is_that_of_the_values_above_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
