#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/program/quantity.h"

static void assert_bytes(uint64_t bytes, const char *expected) {
    char text[SP_QUANTITY_TEXT];
    assert_string_equal(sp_bytes_text(bytes, text), expected);
}

static void assert_time(double nanoseconds, const char *expected) {
    char text[SP_QUANTITY_TEXT];
    assert_string_equal(sp_time_text(nanoseconds, text), expected);
}

static void bytes_are_shown_in_the_unit_that_keeps_them_below_1024(void **state) {
    (void)state;
    assert_bytes(0, "0 B");
    assert_bytes(1023, "1023 B");
    assert_bytes(1024, "1.0 KiB");
    assert_bytes(1536, "1.5 KiB");
    assert_bytes((1 << 20) - 1, "1.0 MiB");
    assert_bytes(UINT64_C(13594) << 20, "13.3 GiB");
    assert_bytes(UINT64_MAX, "16.0 EiB");
}

static void times_are_shown_with_three_digits_that_count(void **state) {
    (void)state;
    assert_time(0, "0 ns");
    assert_time(12.4, "12 ns");
    assert_time(999.4, "999 ns");
    assert_time(999.6, "1.00 µs");
    assert_time(1250, "1.25 µs");
    assert_time(9996, "10.0 µs");
    assert_time(99960, "100 µs");
    assert_time(3.5e6, "3.50 ms");
    assert_time(7.25e10, "72.5 s");
    assert_time(5e12, "5000 s");
    assert_time(864e11, "1.00 d");
    assert_time((double)UINT64_MAX, "213504 d");
}

static void assert_quantity(enum sp_unit unit, double value, const char *expected) {
    char text[SP_QUANTITY_TEXT];
    assert_string_equal(sp_quantity_text(unit, value, text), expected);
}

static void a_quantity_is_shown_in_its_unit(void **state) {
    (void)state;
    assert_quantity(SP_UNIT_COUNT, 2.5, "2.5");
    assert_quantity(SP_UNIT_COUNT, 12345678901234, "12345678901234");
    assert_quantity(SP_UNIT_BYTES, 0x1p64, "16.0 EiB"); // what UINT64_MAX is as a double
    assert_quantity(SP_UNIT_NANOSECONDS, 1250, "1.25 µs");
    assert_quantity(SP_UNIT_RATIO, 1.0126, "1.013");
    assert_quantity(SP_UNIT_RATIO, 0, "-");
    assert_quantity(SP_UNIT_RATIO, 0x1p64, "1.84e+19");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_shown_in_the_unit_that_keeps_them_below_1024),
        cmocka_unit_test(times_are_shown_with_three_digits_that_count),
        cmocka_unit_test(a_quantity_is_shown_in_its_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
