// `streampool options`, and the page of the docs that is made from it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "cli/program.h"

static struct outcome outcome;

static int forget(void **state) {
    (void)state;
    program_forget(&outcome);
    return 0;
}

static void the_page_of_the_docs_has_the_table_of_the_program(void **state) {
    (void)state;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("options", "--markdown"));
    assert_int_equal(outcome.status, 0);
    assert_non_null(strstr(outcome.output, "| `STREAMPOOL_TRACE` | text | not set | "));
    char *page = file_read(STREAMPOOL_PAGE);
    assert_non_null(page);
    assert_non_null(strstr(page, outcome.output));
    free(page);
}

static void each_option_is_shown_with_what_it_is_set_to(void **state) {
    (void)state;
    program_run(&outcome, SETTINGS("STREAMPOOL_STACKS=5", "STREAMPOOL_STATS=perhaps"),
                ARGUMENTS("options"));
    assert_int_equal(outcome.status, 0);
    assert_non_null(strstr(outcome.output, "STREAMPOOL_STACKS (number; default: 0)\n"));
    assert_non_null(strstr(outcome.output, "    is set now: 5\n"));
    assert_non_null(
        strstr(outcome.output, "    is set now: perhaps (ignored: not such a value)\n"));
    assert_non_null(strstr(outcome.output, "STREAMPOOL_LOG (text; default: not set)\n"));
}

static void attributes_are_listed_as_settings_name_them(void **state) {
    (void)state;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("options"));
    assert_non_null(strstr(outcome.output, "\n    ReuseFollowEventDependencies\n"));
    assert_non_null(strstr(outcome.output, "\n    ReleaseThreshold\n"));
}

static void a_name_that_nobody_reads_is_shown(void **state) {
    (void)state;
    program_run(&outcome, SETTINGS("STREAMPOOL_STATTS=1", "STREAMPOOL_TESTS=ON"),
                ARGUMENTS("options"));
    assert_int_equal(outcome.status, 0);
    assert_non_null(strstr(outcome.output,
                           "\nSTREAMPOOL_STATTS is set now, and nobody reads it; "
                           "did you mean STREAMPOOL_STATS?\n"));
    assert_null(strstr(outcome.output, "STREAMPOOL_TESTS"));
}

static void an_argument_is_refused(void **state) {
    (void)state;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("options", "STREAMPOOL_LOG"));
    assert_int_equal(outcome.status, 64);
    assert_non_null(strstr(outcome.errors, "Too many arguments"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_page_of_the_docs_has_the_table_of_the_program, forget),
        cmocka_unit_test_teardown(each_option_is_shown_with_what_it_is_set_to, forget),
        cmocka_unit_test_teardown(attributes_are_listed_as_settings_name_them, forget),
        cmocka_unit_test_teardown(a_name_that_nobody_reads_is_shown, forget),
        cmocka_unit_test_teardown(an_argument_is_refused, forget),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
