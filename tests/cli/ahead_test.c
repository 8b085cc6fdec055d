// The trace of two streams that take turns, replayed with the host ahead of the device, in virtual
// time: the pool grows by what is pending, and with GrowthBeyondUse it holds little more than what
// the program uses, in as much time.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "program.h"

struct figures {
    double factor; // reserved / live
    double end_to_end_ns;
    double waits;
};

static double number_of(const cJSON *object, const char *key) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

static struct figures figures_of(const char *text) {
    cJSON *list = cJSON_Parse(text);
    const cJSON *result = cJSON_GetArrayItem(list, 0);
    assert_non_null(result);
    struct figures figures = {
        number_of(result, "reserved_peak_bytes") / number_of(result, "live_peak_bytes"),
        number_of(result, "end_to_end_ns"),
        number_of(cJSON_GetObjectItemCaseSensitive(result, "statistics"), "WaitsForGrowth")};
    cJSON_Delete(list);
    return figures;
}

static struct figures replay_with(const char *setting) {
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device=sim", "--json=-", "--work-ns=100000", "--pace=2000",
                          setting, TWO_STREAMS));
    assert_string_equal(outcome.errors, "");
    assert_int_equal(outcome.status, 0);
    struct figures figures = figures_of(outcome.output);
    program_forget(&outcome);
    return figures;
}

static void two_streams_hold_what_they_use_in_as_much_time(void **state) {
    (void)state;
    struct figures without = replay_with("--set=GrowthBeyondUse=18446744073709551615");
    struct figures with = replay_with("--set=GrowthBeyondUse=20");
    assert_true(without.factor > 1.8);
    assert_true(without.waits == 0);
    assert_true(with.factor <= 1.2);
    assert_true(with.waits > 0);
    assert_true(with.end_to_end_ns <= 1.03 * without.end_to_end_ns);
}

static void the_bound_is_in_percent_of_what_was_used(void **state) {
    (void)state;
    assert_true(replay_with("--set=GrowthBeyondUse=50").factor <= 1.5);
    assert_true(replay_with("--set=GrowthBeyondUse=50").factor > 1.2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_streams_hold_what_they_use_in_as_much_time),
        cmocka_unit_test(the_bound_is_in_percent_of_what_was_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
