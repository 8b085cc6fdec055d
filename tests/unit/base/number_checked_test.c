#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/number.h"

static void sums_that_fit_are_exact(void **state) {
    (void)state;
    size_t sum = 0;
    assert_true(sp_checked_add(0, 0, &sum));
    assert_int_equal(sum, 0);
    assert_true(sp_checked_add(SIZE_MAX - 5, 5, &sum));
    assert_true(sum == SIZE_MAX);
}

static void a_sum_that_does_not_fit_is_refused_and_writes_nothing(void **state) {
    (void)state;
    size_t sum = 7;
    assert_false(sp_checked_add(SIZE_MAX, 1, &sum));
    assert_false(sp_checked_add(SIZE_MAX, SIZE_MAX, &sum));
    assert_int_equal(sum, 7);
}

static void products_that_fit_are_exact(void **state) {
    (void)state;
    size_t product = 1;
    assert_true(sp_checked_mul(SIZE_MAX, 0, &product));
    assert_int_equal(product, 0);
    assert_true(sp_checked_mul(SIZE_MAX / 3, 3, &product));
    assert_true(product == SIZE_MAX / 3 * 3);
}

static void a_product_that_does_not_fit_is_refused_and_writes_nothing(void **state) {
    (void)state;
    size_t product = 7;
    assert_false(sp_checked_mul(SIZE_MAX / 2 + 1, 2, &product));
    assert_false(sp_checked_mul((size_t)1 << 32, (size_t)1 << 32, &product));
    assert_int_equal(product, 7);
}

static void powers_of_two_are_told_from_the_rest(void **state) {
    (void)state;
    assert_false(sp_is_power_of_two(0));
    assert_false(sp_is_power_of_two(SIZE_MAX));
    for (unsigned k = 0; k < 64; k++) {
        assert_true(sp_is_power_of_two((size_t)1 << k));
        if (k >= 2)
            assert_false(sp_is_power_of_two(((size_t)1 << k) - 1));
    }
}

static void rounding_goes_to_the_nearest_multiple_in_its_direction(void **state) {
    (void)state;
    for (size_t power = 1; power <= 64; power *= 2) {
        for (size_t n = 0; n < 200; n++) {
            size_t checked = 0;
            size_t down = n - n % power;
            size_t up = n % power == 0 ? n : down + power;
            assert_int_equal(sp_round_down(n, power), down);
            assert_int_equal(sp_round_up(n, power), up);
            assert_true(sp_checked_round_up(n, power, &checked));
            assert_int_equal(checked, up);
        }
    }
}

static void rounding_up_past_the_largest_size_is_refused_and_writes_nothing(void **state) {
    (void)state;
    const size_t granule = (size_t)2 << 20;
    size_t out = 7;
    assert_false(sp_checked_round_up(SIZE_MAX, granule, &out));
    assert_false(sp_checked_round_up(SIZE_MAX - granule + 2, granule, &out));
    assert_int_equal(out, 7);
    assert_true(sp_checked_round_up(SIZE_MAX - granule + 1, granule, &out));
    assert_true(out == SIZE_MAX - granule + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_that_fit_are_exact),
        cmocka_unit_test(a_sum_that_does_not_fit_is_refused_and_writes_nothing),
        cmocka_unit_test(products_that_fit_are_exact),
        cmocka_unit_test(a_product_that_does_not_fit_is_refused_and_writes_nothing),
        cmocka_unit_test(powers_of_two_are_told_from_the_rest),
        cmocka_unit_test(rounding_goes_to_the_nearest_multiple_in_its_direction),
        cmocka_unit_test(rounding_up_past_the_largest_size_is_refused_and_writes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
