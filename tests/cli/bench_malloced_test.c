// streampool-bench as it is built where the C library has no mallinfo2: the figure is left out, and
// it says so.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "program.h"

static void assert_left_out(const char *name, const char *other_row) {
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("--device=sim", "--rounds=1", name));
    assert_string_equal(outcome.errors, "");
    assert_int_equal(outcome.status, 0);
    const char *word = strstr(outcome.output,
                              "\nwhat malloc handed out: left out, the C library has no mallinfo2");
    assert_non_null(word);
    assert_null(strstr(word + 2, "what malloc handed out"));
    assert_null(strstr(outcome.output, ", mallinfo2 "));
    assert_non_null(strstr(outcome.output, other_row));
    program_forget(&outcome);
}

static void what_malloc_handed_out_is_left_out_with_a_word(void **state) {
    (void)state;
    assert_left_out("live", "\n100000 live, resident ");
    assert_left_out("streams", "\n1000 streams, pair ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_malloc_handed_out_is_left_out_with_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
