#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/number.h"

static const uint64_t numbers[] = {0, 1, 2, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};

enum { COUNT = sizeof numbers / sizeof numbers[0] };

static void the_order_of_numbers_holds_up_to_the_largest(void **state) {
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        for (int j = 0; j < COUNT; j++) {
            uint64_t low = numbers[i < j ? i : j], high = numbers[i < j ? j : i];
            assert_int_equal(sp_min(numbers[i], numbers[j]), low);
            assert_int_equal(sp_max(numbers[i], numbers[j]), high);
            assert_int_equal(sp_compare(numbers[i], numbers[j]), (i > j) - (i < j));
            assert_int_equal(sp_excess(low, high), 0);
            assert_int_equal(sp_excess(high, low), high - low);
        }
    }
}

static void second_numbers_decide_between_equal_first_ones_alone(void **state) {
    (void)state;
    assert_true(sp_compare_pairs(1, UINT64_MAX, 2, 0) < 0);
    assert_true(sp_compare_pairs(2, 0, 1, UINT64_MAX) > 0);
    assert_true(sp_compare_pairs(1, 1, 1, 2) < 0);
    assert_true(sp_compare_pairs(1, 2, 1, 1) > 0);
    assert_int_equal(sp_compare_pairs(1, 2, 1, 2), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_of_numbers_holds_up_to_the_largest),
        cmocka_unit_test(second_numbers_decide_between_equal_first_ones_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
