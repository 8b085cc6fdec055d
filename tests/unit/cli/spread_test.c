#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/program/times.h"

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
        cmocka_unit_test(an_odd_number_of_values_has_one_in_the_middle),
        cmocka_unit_test(the_median_of_an_even_number_is_half_way_between_two),
        cmocka_unit_test(one_value_is_every_figure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
