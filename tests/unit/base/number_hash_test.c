#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/number.h"

enum { WORDS = 1024, BUCKETS = 256 };

// Words that stand the same distance apart fill the buckets evenly: with 4 words to a bucket, none
// has more than 8.
static unsigned fullest_bucket(uint64_t step) {
    unsigned counts[BUCKETS] = {0}, most = 0;
    for (uint64_t i = 0; i < WORDS; i++) {
        unsigned count = ++counts[sp_hash(i * step) % BUCKETS];
        most = count > most ? count : most;
    }
    return most;
}

static void numbers_and_addresses_spread_over_the_buckets(void **state) {
    (void)state;
    assert_in_range(fullest_bucket(1), 4, 8);
    assert_in_range(fullest_bucket(64), 4, 8);
    assert_in_range(fullest_bucket(4096), 4, 8);
    assert_in_range(fullest_bucket(UINT64_C(2) << 20), 4, 8);
}

static void a_hash_has_no_more_bits_than_asked_for(void **state) {
    (void)state;
    for (unsigned bits = 1; bits < 64; bits++)
        assert_int_equal(sp_hash_bits(0x1234567, bits) >> bits, 0);
    assert_int_equal(sp_hash_bits(1, 32), sp_hash(1));
    assert_int_equal(sp_hash_bits(1, 64), UINT64_C(0x9E3779B97F4A7C15));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_addresses_spread_over_the_buckets),
        cmocka_unit_test(a_hash_has_no_more_bits_than_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
