// The driver's version is found in the words of its kernel module, of both kinds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/program/origin.h"

static void assert_version(const char *text, const char *expected) {
    char version[SP_ORIGIN_TEXT] = "";
    assert_true(sp_origin_find_version(text, version));
    assert_string_equal(version, expected);
}

static void it_is_found_behind_other_words(void **state) {
    (void)state;
    assert_version(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 "
        "UTC 2023\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n",
        "535.54.03");
    assert_version(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release "
        "Build  (root@builder)\n",
        "580.159.04");
    assert_version("NVRM version: 1.2", "1.2");
}

static void the_compilers_version_is_not_taken_for_it(void **state) {
    (void)state;
    char version[SP_ORIGIN_TEXT] = "as it was";
    assert_false(sp_origin_find_version(
        "NVRM version: NVIDIA UNIX\nGCC version:  gcc version 12.2.0 (Debian)\n", version));
    assert_false(sp_origin_find_version("GCC version:  gcc version 12.2.0\n", version));
    assert_false(sp_origin_find_version("", version));
    assert_false(sp_origin_find_version("NVRM version: 580. .4 580 12.2a 2.x\n", version));
    assert_string_equal(version, "as it was");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_found_behind_other_words),
        cmocka_unit_test(the_compilers_version_is_not_taken_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
