#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/number.h"

static void logarithms_of_powers_of_two_are_exact(void **state) {
    (void)state;
    for (unsigned k = 0; k < 64; k++) {
        uint64_t n = (uint64_t)1 << k;
        assert_int_equal(sp_log2_floor(n), k);
        assert_int_equal(sp_lowest_bit(n), k);
    }
}

static void logarithms_between_powers_of_two_are_rounded_down(void **state) {
    (void)state;
    for (unsigned k = 1; k < 63; k++) {
        uint64_t just_above = ((uint64_t)1 << k) + 1;
        uint64_t just_below = ((uint64_t)2 << k) - 1;
        assert_int_equal(sp_log2_floor(just_above), k);
        assert_int_equal(sp_log2_floor(just_below), k);
    }
    assert_int_equal(sp_log2_floor(UINT64_MAX), 63);
}

static void the_lowest_bit_is_found_below_all_others(void **state) {
    (void)state;
    for (unsigned k = 0; k < 64; k++)
        assert_int_equal(sp_lowest_bit(UINT64_MAX << k), k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithms_of_powers_of_two_are_exact),
        cmocka_unit_test(logarithms_between_powers_of_two_are_rounded_down),
        cmocka_unit_test(the_lowest_bit_is_found_below_all_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
