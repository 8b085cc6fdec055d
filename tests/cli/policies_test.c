// The reuse policies compared on the simulated driver, in virtual time: every figure here is exact.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>
#include <streampool/streampool.h>

#include "program.h"

#define MIB(n) ((double)(n)*1048576)

enum { COMBINATIONS = 8, FOLLOW = 1, OPPORTUNISTIC = 2, INTERNAL = 4 };

static const char *const keys[] = {
    "trace",
    "device",
    "follow_event_dependencies",
    "allow_opportunistic",
    "allow_internal_dependencies",
    "operations",
    "streams",
    "errors",
    "live_peak_bytes",
    "reserved_peak_bytes",
    "growths",
    "growths_after_trim",
    "reuse_same_stream",
    "reuse_complete",
    "reuse_ordered",
    "reuse_found_complete",
    "reuse_made_ordered",
    "remaps",
    "other_region",
    "waits_inserted",
    "context_fences",
    "events_recorded",
    "host_ns",
    "work_ns",
    "end_to_end_ns",
};

// -------------------------------------------------------------------------------------- the traces

enum { PHASES = 24, BLOCKS = 8, BLOCK = 4194304, PHASE = 2 * BLOCKS };

// Streams take turns: each allocates 32 MiB in eight blocks and frees them, and then the next one
// does.
static const char *turns(const char *name, unsigned streams) {
    static char text[PHASES * PHASE * 48 + 64];
    size_t length = (size_t)sprintf(text, TRACE_HEADER);
    for (unsigned i = 0; i < PHASES * PHASE; i++) {
        const char *action = i % PHASE < BLOCKS ? "allocate" : "free";
        unsigned pointer = 0x1000000 * (1 + i % BLOCKS), stream = 1 + i / PHASE % streams;
        length += (size_t)sprintf(text + length, "1,%u,%s,0x%x,%d,%u\n", i, action, pointer, BLOCK,
                                  stream);
    }
    return file_write(name, text);
}

// ------------------------------------------------------------------------------------- the results

static char *compare(const char *const settings[], const char *const arguments[]) {
    struct outcome outcome;
    program_run(&outcome, settings, arguments);
    assert_replayed(&outcome);
    assert_string_equal(outcome.errors, "");
    free(outcome.errors);
    return outcome.output;
}

static cJSON *results_of(const char *const settings[], const char *const arguments[]) {
    char *text = compare(settings, arguments);
    cJSON *list = cJSON_Parse(text);
    free(text);
    assert_true(cJSON_IsArray(list));
    assert_int_equal(cJSON_GetArraySize(list), COMBINATIONS);
    return list;
}

static double figure(const cJSON *list, int combination, const char *key) {
    const cJSON *item =
        cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(list, combination), key);
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

static int flag(const cJSON *object, const char *key) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    assert_true(cJSON_IsBool(item));
    return cJSON_IsTrue(item);
}

static void the_keys_are_exactly_those_promised(void **state) {
    (void)state;
    cJSON *list =
        results_of(NO_SETTINGS, ARGUMENTS("policies", "--json", "-", turns("turns.csv", 2)));
    for (int combination = 0; combination < COMBINATIONS; combination++) {
        size_t i = 0;
        const cJSON *item;
        cJSON_ArrayForEach(item, cJSON_GetArrayItem(list, combination)) {
            assert_true(i < sizeof keys / sizeof keys[0]);
            assert_string_equal(item->string, keys[i++]);
        }
        assert_int_equal(i, sizeof keys / sizeof keys[0]);
    }
    cJSON_Delete(list);
}

static void all_eight_combinations_are_there_once_in_their_order(void **state) {
    (void)state;
    cJSON *list =
        results_of(NO_SETTINGS, ARGUMENTS("policies", "--json", "-", turns("turns.csv", 2)));
    for (int combination = 0; combination < COMBINATIONS; combination++) {
        const cJSON *result = cJSON_GetArrayItem(list, combination);
        assert_int_equal(flag(result, "follow_event_dependencies"), (combination & FOLLOW) != 0);
        assert_int_equal(flag(result, "allow_opportunistic"), (combination & OPPORTUNISTIC) != 0);
        assert_int_equal(flag(result, "allow_internal_dependencies"),
                         (combination & INTERNAL) != 0);
        assert_true(figure(list, combination, "operations") == PHASES * PHASE);
        assert_true(figure(list, combination, "streams") == 2);
        assert_true(figure(list, combination, "live_peak_bytes") == MIB(32));
    }
    cJSON_Delete(list);
}

static void each_allocation_came_by_one_rule_or_by_growth_or_failed(void **state) {
    (void)state;
    static const char *const ways[] = {
        "growths",       "reuse_same_stream",    "reuse_complete",
        "reuse_ordered", "reuse_found_complete", "reuse_made_ordered",
        "remaps",        "other_region",         "errors"};
    cJSON *list =
        results_of(NO_SETTINGS, ARGUMENTS("policies", "--json", "-", "--work", "2", "--limit",
                                          "64M", "--events", "7", turns("turns.csv", 3)));
    for (int combination = 0; combination < COMBINATIONS; combination++) {
        double sum = 0;
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
            sum += figure(list, combination, ways[i]);
        assert_true(sum == PHASES * BLOCKS);
    }
    cJSON_Delete(list);
}

static void the_table_names_policies_and_rules(void **state) {
    (void)state;
    char *text = compare(NO_SETTINGS, ARGUMENTS("policies", "--wide", turns("turns.csv", 2)));
    assert_non_null(strstr(text, "times are those of its virtual clock, not of a GPU\n"));
    assert_non_null(strstr(text, "growths"));
    assert_non_null(strstr(text, "ordered"));
    size_t rows = 0;
    for (const char *row = text; (row = strstr(row, "\nturns ")); row++)
        rows++;
    assert_int_equal(rows, COMBINATIONS);
    free(text);
}

static void assert_head(const char *const arguments[], const char *line) {
    char *text = compare(NO_SETTINGS, arguments);
    assert_says(text, line);
    free(text);
}

static void the_head_says_what_is_made_up(void **state) {
    (void)state;
    const char *trace = turns("turns.csv", 2);
    assert_head(ARGUMENTS("policies", trace), "\n\ninvented work: 0.9 of the device's time\n\n");
    assert_head(ARGUMENTS("policies", "--work", "2", "--events", "64", trace),
                "invented work: 2 of the device's time; an event every 64 operations\n\n");
    assert_head(ARGUMENTS("policies", "--work-ns", "500", "--synchronize", "8", trace),
                "invented work: 500 ns behind each allocation; a synchronise every 8\n\n");
    assert_head(ARGUMENTS("policies", "--work-ns", "0", trace), "invented work: none\n\n");
    assert_head(ARGUMENTS("policies", "--help"), "docs/policies.md explains");
}

// ------------------------------------------------------------------------------------ what they do

// Work of 10 ms behind each block, so that whatever was freed is pending throughout.
#define PENDING "--work-ns", "10000000"

static void without_policies_each_stream_has_memory_of_its_own(void **state) {
    (void)state;
    cJSON *list =
        results_of(NO_SETTINGS, ARGUMENTS("policies", "--json", "-", PENDING, turns("two.csv", 2)));
    assert_true(figure(list, 0, "reserved_peak_bytes") == MIB(64));
    assert_true(figure(list, 0, "reuse_ordered") == 0);
    assert_true(figure(list, 0, "reuse_found_complete") == 0);
    assert_true(figure(list, 0, "reuse_made_ordered") == 0);
    assert_true(figure(list, 0, "waits_inserted") == 0);
    cJSON_Delete(list);
}

static void events_between_streams_matter_to_the_policy_that_follows_them(void **state) {
    (void)state;
    const char *trace = turns("two.csv", 2);
    cJSON *with = results_of(
        NO_SETTINGS, ARGUMENTS("policies", "--json", "-", PENDING, "--events", "16", trace));
    assert_true(figure(with, 0, "reserved_peak_bytes") == MIB(64));
    assert_true(figure(with, FOLLOW, "reserved_peak_bytes") == MIB(32));
    assert_true(figure(with, 0, "reuse_ordered") == 0);
    assert_true(figure(with, FOLLOW, "reuse_ordered") > 0);
    cJSON_Delete(with);

    cJSON *without = results_of(NO_SETTINGS, ARGUMENTS("policies", "--json", "-", PENDING, trace));
    assert_true(figure(without, FOLLOW, "reuse_ordered") == 0);
    cJSON_Delete(without);
}

// An event behind every free, so that no memory is held back for want of one.
#define FENCED "--set", "UnfencedBytesMax=0"

static void the_opportunistic_policy_finds_what_has_completed(void **state) {
    (void)state;
    cJSON *list = results_of(NO_SETTINGS, ARGUMENTS("policies", "--json", "-", "--work-ns", "1000",
                                                    FENCED, turns("four.csv", 4)));
    assert_true(figure(list, 0, "reserved_peak_bytes") == MIB(128));
    assert_true(figure(list, OPPORTUNISTIC, "reserved_peak_bytes") == MIB(32));
    assert_true(figure(list, OPPORTUNISTIC, "reuse_complete") > figure(list, 0, "reuse_complete"));
    cJSON_Delete(list);
}

static void a_limit_makes_the_pool_insert_waits_where_it_may(void **state) {
    (void)state;
    cJSON *list = results_of(NO_SETTINGS, ARGUMENTS("policies", "--json", "-", PENDING, FENCED,
                                                    "--limit", "32M", turns("two.csv", 2)));
    assert_true(figure(list, 0, "errors") > 0);
    assert_true(figure(list, 0, "reuse_made_ordered") == 0);
    assert_true(figure(list, INTERNAL, "errors") == 0);
    assert_true(figure(list, INTERNAL, "reuse_made_ordered") > 0);
    assert_true(figure(list, INTERNAL, "waits_inserted") > 0);
    for (int combination = 0; combination < COMBINATIONS; combination++)
        assert_true(figure(list, combination, "reserved_peak_bytes") <= MIB(32));
    cJSON_Delete(list);
}

static void an_attribute_is_set_by_its_name(void **state) {
    (void)state;
    const char *trace = turns("two.csv", 2);
    cJSON *all = results_of(NO_SETTINGS, ARGUMENTS("policies", "--json", "-", FENCED, trace));
    cJSON *none = results_of(
        NO_SETTINGS, ARGUMENTS("policies", "--json", "-", "--set", "UnfencedBytesMax=1T", trace));
    for (int combination = 0; combination < COMBINATIONS; combination++) {
        assert_true(figure(all, combination, "events_recorded") == PHASES * BLOCKS);
        assert_true(figure(none, combination, "events_recorded") == 0);
    }
    cJSON_Delete(all);
    cJSON_Delete(none);
}

// Every other one of 32 blocks is freed, and what is asked for next is as large as half of those
// holes.
static const char *holes(void) {
    enum { HOLED = 32 };
    static char text[3 * HOLED * 48];
    size_t length = (size_t)sprintf(text, TRACE_HEADER);
    for (unsigned i = 0; i < HOLED; i++)
        length += (size_t)sprintf(text + length, "1,%u,allocate,0x%x,%d,1\n", i,
                                  0x1000000 * (1 + i), BLOCK);
    for (unsigned i = 0; i < HOLED; i += 2)
        length +=
            (size_t)sprintf(text + length, "1,%u,free,0x%x,%d,1\n", i, 0x1000000 * (1 + i), BLOCK);
    sprintf(text + length, "1,99,allocate,0x90000000,%d,1\n", 8 * BLOCK);
    return file_write("holes.csv", text);
}

static void an_attribute_gets_the_number_and_not_whether_it_is_0(void **state) {
    (void)state;
    static const char *const settings[] = {
        [poolDefragmentNever] = "Defragmentation=0",
        [poolDefragmentUnderPressure] = "Defragmentation=1",
        [poolDefragmentBeforeGrowth] = "Defragmentation=2",
    };
    const char *trace = holes();
    for (int i = poolDefragmentNever; i <= poolDefragmentBeforeGrowth; i++) {
        cJSON *list = results_of(NO_SETTINGS,
                                 ARGUMENTS("policies", "--json", "-", "--set", settings[i], trace));
        assert_true(figure(list, 0, "remaps") == (i == poolDefragmentBeforeGrowth));
        cJSON_Delete(list);
    }
}

static void assert_setting_refused(const char *setting, const char *reason) {
    const char *trace = turns("two.csv", 2);
    char expected[512];
    snprintf(expected, sizeof expected,
             "streampool: two, streampool: --set is refused: poolErrorInvalidValue: %s\n", reason);
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("policies", "--set", setting, trace));
    assert_string_equal(outcome.errors, expected);
    assert_string_equal(outcome.output, "");
    assert_int_equal(outcome.status, 1);
    program_forget(&outcome);
}

static void a_number_that_the_library_refuses_is_an_error(void **state) {
    (void)state;
    assert_setting_refused("Defragmentation=3",
                           "poolMemPoolAttrDefragmentation can't be 3, which is no policy");
    assert_setting_refused("StreamPromises=64",
                           "poolMemPoolAttrStreamPromises can't be 0x40, which is no combination "
                           "of poolStreamPromise");
}

// They are for a pool that can't grow. So this also shows that nothing is carried over from one
// combination to a later one.
static void while_there_is_memory_the_policy_of_inserted_waits_changes_nothing(void **state) {
    (void)state;
    cJSON *list = results_of(NO_SETTINGS, ARGUMENTS("policies", "--json", "-", "--work", "2",
                                                    "--events", "5", turns("four.csv", 4)));
    for (int combination = 0; combination < INTERNAL; combination++) {
        const cJSON *without = cJSON_GetArrayItem(list, combination);
        const cJSON *with = cJSON_GetArrayItem(list, combination + INTERNAL);
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
            if (strcmp(keys[i], "allow_internal_dependencies") != 0)
                assert_true(cJSON_Compare(cJSON_GetObjectItemCaseSensitive(without, keys[i]),
                                          cJSON_GetObjectItemCaseSensitive(with, keys[i]), 1));
    }
    cJSON_Delete(list);
}

static void a_synchronise_shows_what_is_complete_under_every_policy(void **state) {
    (void)state;
    cJSON *list = results_of(NO_SETTINGS, ARGUMENTS("policies", "--json", "-", PENDING,
                                                    "--synchronize", "16", turns("two.csv", 2)));
    for (int combination = 0; combination < COMBINATIONS; combination++) {
        assert_true(figure(list, combination, "reserved_peak_bytes") == MIB(32));
        assert_true(figure(list, combination, "reuse_complete") > 0);
    }
    cJSON_Delete(list);
}

static void one_stream_is_the_same_under_every_policy(void **state) {
    (void)state;
    cJSON *list = results_of(NO_SETTINGS, ARGUMENTS("policies", "--json", "-", "--events", "1",
                                                    PENDING, turns("one.csv", 1)));
    for (int combination = 0; combination < COMBINATIONS; combination++) {
        assert_true(figure(list, combination, "reserved_peak_bytes") == MIB(32));
        assert_true(figure(list, combination, "end_to_end_ns") == figure(list, 0, "end_to_end_ns"));
    }
    cJSON_Delete(list);
}

// ------------------------------------------------------------------------------------ virtual time

static void work_is_the_share_of_the_time_that_was_asked_for(void **state) {
    (void)state;
    cJSON *list = results_of(NO_SETTINGS, ARGUMENTS("policies", "--json", "-", "--work", "0.5",
                                                    "--pace", "2000", turns("two.csv", 2)));
    for (int combination = 0; combination < COMBINATIONS; combination++) {
        assert_true(figure(list, combination, "work_ns") == 0.5 * 2000 * PHASES * PHASE);
        assert_true(figure(list, combination, "end_to_end_ns") >= 2000 * (PHASES * PHASE - 1));
    }
    cJSON_Delete(list);
}

static void without_work_there_is_none(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("policies", "--work-ns", "0", turns("two.csv", 2)));
    assert_int_equal(outcome.status, 0);
    program_forget(&outcome);
    cJSON *list = results_of(
        NO_SETTINGS, ARGUMENTS("policies", "--json", "-", "--work-ns", "0", turns("two.csv", 2)));
    assert_true(figure(list, 0, "work_ns") == 0);
    cJSON_Delete(list);
}

#define CROWDED(seed)                                                                              \
    ARGUMENTS("policies", "--json", "-", "--work", "3", "--limit", "64M", "--events", "5",         \
              "--seed", seed, turns("crowd.csv", 4))

static void the_same_trace_and_seed_give_the_same_figures(void **state) {
    (void)state;
    char *first = compare(NO_SETTINGS, CROWDED("7")), *second = compare(NO_SETTINGS, CROWDED("7"));
    assert_string_equal(first, second);
    free(first);
    free(second);
}

static void another_seed_draws_other_streams(void **state) {
    (void)state;
    char *first = compare(NO_SETTINGS, CROWDED("7")), *second = compare(NO_SETTINGS, CROWDED("8"));
    assert_string_not_equal(first, second);
    free(first);
    free(second);
}

// The work names the bytes of its block, so memory that is handed out too early is a race, and an
// error.
static void no_memory_is_handed_out_too_early_whenever_work_completes(void **state) {
    (void)state;
    static const char *const settings[] = {
        "STREAMPOOL_SIMCUDA=completion=latest",
        "STREAMPOOL_SIMCUDA=completion=seeded,seed=3,delay=3000000",
        "STREAMPOOL_SIMCUDA=api=10020,completion=latest"};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        free(compare(SETTINGS(settings[i]), CROWDED("1")));
}

// ------------------------------------------------------------------------------ files and failures

static void a_json_file_goes_with_the_table(void **state) {
    (void)state;
    const char *path = file_path("policies.json");
    char *table = compare(NO_SETTINGS, ARGUMENTS("policies", "--json", path, turns("two.csv", 2)));
    assert_non_null(strstr(table, "\ntwo "));
    free(table);
    char *text = file_read(path);
    assert_non_null(text);
    cJSON *list = cJSON_Parse(text);
    assert_int_equal(cJSON_GetArraySize(list), COMBINATIONS);
    cJSON_Delete(list);
    free(text);
}

static void several_traces_are_compared_one_after_the_other(void **state) {
    (void)state;
    char *text = compare(NO_SETTINGS, ARGUMENTS("policies", "--json", "-", turns("one.csv", 1),
                                                turns("two.csv", 2)));
    cJSON *list = cJSON_Parse(text);
    free(text);
    assert_int_equal(cJSON_GetArraySize(list), 2 * COMBINATIONS);
    assert_true(figure(list, 0, "streams") == 1);
    assert_true(figure(list, COMBINATIONS, "streams") == 2);
    cJSON_Delete(list);
}

static void several_traces_end_with_the_mean_ratio_of_each_combination(void **state) {
    (void)state;
    const char *one = turns("one.csv", 1), *same = turns("same.csv", 1);
    char *text = compare(NO_SETTINGS, ARGUMENTS("policies", one, same));
    size_t rows = 0;
    for (const char *row = text; (row = strstr(row, "\ngeometric mean  ")); row++, rows++)
        assert_non_null(strstr(row, "1.000\n"));
    assert_int_equal(rows, COMBINATIONS);
    free(text);
}

static void a_failed_allocation_is_explained_below_the_table(void **state) {
    (void)state;
    char *text = compare(NO_SETTINGS, ARGUMENTS("policies", "--wide", PENDING, "--limit", "32M",
                                                turns("two.csv", 2)));
    assert_non_null(strstr(text, "two, no policy: allocation at line "));
    assert_non_null(strstr(text, ": poolErrorMemoryAllocation (errors in all: "));
    free(text);
}

static void a_bad_trace_ends_it_before_anything_is_printed(void **state) {
    (void)state;
    const char *bad = file_write("bad.csv", TRACE_HEADER "1,0,free,0x100,512,0\n");
    char expected[512];
    snprintf(expected, sizeof expected, "%s:2: free of 0x100, which is not alive\n", bad);
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("policies", turns("two.csv", 2), bad));
    assert_int_equal(outcome.status, 1);
    assert_string_equal(outcome.output, "");
    assert_string_equal(outcome.errors, expected);
    program_forget(&outcome);
}

static void policies_are_compared_without_virtual_memory_too(void **state) {
    (void)state;
    char *text = compare(SETTINGS("STREAMPOOL_SIMCUDA=vmm=missing"),
                         ARGUMENTS("policies", "--json", "-", turns("two.csv", 2)));
    cJSON *list = cJSON_Parse(text);
    free(text);
    assert_int_equal(cJSON_GetArraySize(list), COMBINATIONS);
    cJSON_Delete(list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_keys_are_exactly_those_promised),
        cmocka_unit_test(all_eight_combinations_are_there_once_in_their_order),
        cmocka_unit_test(each_allocation_came_by_one_rule_or_by_growth_or_failed),
        cmocka_unit_test(the_table_names_policies_and_rules),
        cmocka_unit_test(the_head_says_what_is_made_up),
        cmocka_unit_test(without_policies_each_stream_has_memory_of_its_own),
        cmocka_unit_test(events_between_streams_matter_to_the_policy_that_follows_them),
        cmocka_unit_test(the_opportunistic_policy_finds_what_has_completed),
        cmocka_unit_test(a_limit_makes_the_pool_insert_waits_where_it_may),
        cmocka_unit_test(while_there_is_memory_the_policy_of_inserted_waits_changes_nothing),
        cmocka_unit_test(an_attribute_is_set_by_its_name),
        cmocka_unit_test(an_attribute_gets_the_number_and_not_whether_it_is_0),
        cmocka_unit_test(a_number_that_the_library_refuses_is_an_error),
        cmocka_unit_test(a_synchronise_shows_what_is_complete_under_every_policy),
        cmocka_unit_test(one_stream_is_the_same_under_every_policy),
        cmocka_unit_test(work_is_the_share_of_the_time_that_was_asked_for),
        cmocka_unit_test(without_work_there_is_none),
        cmocka_unit_test(the_same_trace_and_seed_give_the_same_figures),
        cmocka_unit_test(another_seed_draws_other_streams),
        cmocka_unit_test(no_memory_is_handed_out_too_early_whenever_work_completes),
        cmocka_unit_test(a_json_file_goes_with_the_table),
        cmocka_unit_test(several_traces_are_compared_one_after_the_other),
        cmocka_unit_test(several_traces_end_with_the_mean_ratio_of_each_combination),
        cmocka_unit_test(a_failed_allocation_is_explained_below_the_table),
        cmocka_unit_test(a_bad_trace_ends_it_before_anything_is_printed),
        cmocka_unit_test(policies_are_compared_without_virtual_memory_too),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
