#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cli/program/utf8.h"

#define BAD "\xef\xbf\xbd"

static void assert_becomes(const char *text, const char *expected) {
    char *copy = sp_utf8_of(text);
    assert_non_null(copy);
    assert_string_equal(copy, expected);
    free(copy);
}

static void assert_stays(const char *text) {
    assert_becomes(text, text);
}

static void what_is_utf8_stays(void **state) {
    (void)state;
    assert_stays("");
    assert_stays("run \t\x7f");
    assert_stays("caf\xc3\xa9");
    assert_stays("\xc2\x80\xdf\xbf"); // two bytes: U+0080, U+07FF
    assert_stays(
        "\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"); // three: around the surrogates
    assert_stays("\xf0\x90\x80\x80\xf1\x80\x80\x80\xf4\x8f\xbf\xbf"); // four: to U+10FFFF
}

static void each_byte_that_is_no_part_of_a_character_is_replaced(void **state) {
    (void)state;
    assert_becomes("caf\xe9.csv", "caf" BAD ".csv");
    assert_becomes("\xff\xfe", BAD BAD);
    assert_becomes("\x80z\xbf", BAD "z" BAD);
}

static void a_character_that_is_cut_is_replaced(void **state) {
    (void)state;
    assert_becomes("\xc3", BAD);
    assert_becomes("\xe2\x82", BAD BAD);
    assert_becomes("\xe2\x82z", BAD BAD "z");
    assert_becomes("\xf0\x9f\x98", BAD BAD BAD);
    assert_becomes("\xe2\xc3\xa9", BAD "\xc3\xa9");
}

static void forms_that_unicode_forbids_are_replaced(void **state) {
    (void)state;
    assert_becomes("\xc0\x80\xc1\xbf", BAD BAD BAD BAD); // too long
    assert_becomes("\xe0\x9f\xbf", BAD BAD BAD);
    assert_becomes("\xf0\x8f\xbf\xbf", BAD BAD BAD BAD);
    assert_becomes("\xed\xa0\x80", BAD BAD BAD);         // half of a surrogate pair
    assert_becomes("\xf4\x90\x80\x80", BAD BAD BAD BAD); // above U+10FFFF
    assert_becomes("\xf5\x80\x80\x80", BAD BAD BAD BAD);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_utf8_stays),
        cmocka_unit_test(each_byte_that_is_no_part_of_a_character_is_replaced),
        cmocka_unit_test(a_character_that_is_cut_is_replaced),
        cmocka_unit_test(forms_that_unicode_forbids_are_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
