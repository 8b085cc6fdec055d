#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "unit/base/child.h"

static struct child_outcome outcome;
static int evaluated;

static int count_evaluation(void) {
    return ++evaluated;
}

static void log_one_of_each(void *result) {
    sp_log_error("an %s", "error");
    sp_log_warn("a warning");
    sp_log_info("some information");
    sp_log_debug("number %d", count_evaluation());
    *(int *)result = evaluated;
}

static int run_with_level(const char *level, void (*body)(void *)) {
    int result = 0;
    evaluated = 0;
    if (level)
        assert_int_equal(setenv("STREAMPOOL_LOG", level, 1), 0);
    else
        assert_int_equal(unsetenv("STREAMPOOL_LOG"), 0);
    assert_true(child_run(body, &result, sizeof(result), &outcome));
    assert_int_equal(outcome.status, 0);
    return result;
}

static void nothing_is_written_unless_asked_for(void **state) {
    (void)state;
    assert_int_equal(run_with_level(NULL, log_one_of_each), 0);
    assert_string_equal(outcome.errors, "");
    run_with_level("", log_one_of_each);
    assert_string_equal(outcome.errors, "");
}

static void a_level_writes_itself_and_what_is_graver(void **state) {
    (void)state;
    run_with_level("error", log_one_of_each);
    assert_string_equal(outcome.errors, "streampool: an error\n");
    run_with_level("warn", log_one_of_each);
    assert_string_equal(outcome.errors, "streampool: an error\nstreampool: a warning\n");
    assert_int_equal(run_with_level("info", log_one_of_each), 0);
    assert_string_equal(
        outcome.errors,
        "streampool: an error\nstreampool: a warning\nstreampool: some information\n");
}

static void arguments_are_evaluated_only_when_the_line_is_written(void **state) {
    (void)state;
    assert_int_equal(run_with_level("debug", log_one_of_each), 1);
    assert_non_null(strstr(outcome.errors, "streampool: number 1\n"));
    assert_int_equal(run_with_level("info", log_one_of_each), 0);
}

static void a_level_that_does_not_exist_is_named_once_and_taken_as_warn(void **state) {
    (void)state;
    run_with_level("loud", log_one_of_each);
    assert_string_equal(
        outcome.errors,
        "streampool: STREAMPOOL_LOG=loud is not a level (error, warn, info, debug); using warn\n"
        "streampool: an error\n"
        "streampool: a warning\n");
}

static void log_long_line(void *result) {
    char text[3 * SP_LOG_LINE];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    errno = ENOSPC;
    sp_log_error("%s", text);
    *(int *)result = errno;
}

static void a_long_line_is_cut_and_still_ends_its_line(void **state) {
    (void)state;
    run_with_level("error", log_long_line);
    assert_int_equal(strlen(outcome.errors), SP_LOG_LINE);
    assert_ptr_equal(strchr(outcome.errors, '\n'), &outcome.errors[SP_LOG_LINE - 1]);
}

static void a_line_leaves_errno_alone(void **state) {
    (void)state;
    assert_int_equal(run_with_level("error", log_long_line), ENOSPC);
}

static void *log_when_asked_to_end(void *result) {
    pthread_cancel(pthread_self());
    sp_log_write("a line");
    *(int *)result = 1;
    pthread_testcancel();
    *(int *)result = 2;
    return NULL;
}

static void log_in_a_thread_that_ends(void *result) {
    pthread_t thread;
    pthread_create(&thread, NULL, log_when_asked_to_end, result);
    pthread_join(thread, NULL);
}

static void a_thread_that_is_cancelled_ends_behind_its_line(void **state) {
    (void)state;
    assert_int_equal(run_with_level(NULL, log_in_a_thread_that_ends), 1);
    assert_string_equal(outcome.errors, "streampool: a line\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_written_unless_asked_for),
        cmocka_unit_test(a_level_writes_itself_and_what_is_graver),
        cmocka_unit_test(arguments_are_evaluated_only_when_the_line_is_written),
        cmocka_unit_test(a_level_that_does_not_exist_is_named_once_and_taken_as_warn),
        cmocka_unit_test(a_long_line_is_cut_and_still_ends_its_line),
        cmocka_unit_test(a_line_leaves_errno_alone),
        cmocka_unit_test(a_thread_that_is_cancelled_ends_behind_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
