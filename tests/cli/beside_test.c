// Recorded results beside those of a replay: which are shown, what is said of both, and files that
// are none. They are recorded on the simulated driver with work, so that every time is exact.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "program.h"

static const char small[] = TRACE_HEADER
    "1,0,allocate,0x1000000,4194304,1\n"
    "1,10,allocate,0x2000000,4194304,1\n"
    "1,20,free,0x1000000,4194304,1\n"
    "1,30,free,0x2000000,4194304,1\n";

static void assert_silent(const char *text, const char *part) {
    if (strstr(text, part))
        fail_msg("'%s' is in: %s", part, text);
}

// How many lines begin with two words.
static int lines_of(const char *text, const char *trace, const char *allocator) {
    int lines = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char first[64] = "", second[64] = "";
        if (sscanf(line, "%63s %63s", first, second) == 2)
            lines += strcmp(first, trace) == 0 && strcmp(second, allocator) == 0;
    }
    return lines;
}

// -------------------------------------------------------------------------------- what is recorded

#define RUN(...)                                                                                   \
    ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", "direct", __VA_ARGS__)

static void run(struct outcome *outcome, const char *const arguments[]) {
    program_run(outcome, NO_SETTINGS, arguments);
    if (outcome->status != 0)
        fail_msg("status %d: %s", outcome->status, outcome->errors);
}

static cJSON *results_of(const char *const arguments[]) {
    struct outcome outcome;
    run(&outcome, arguments);
    cJSON *list = cJSON_Parse(outcome.output);
    assert_true(cJSON_IsArray(list));
    program_forget(&outcome);
    return list;
}

static void set_text(cJSON *result, const char *key, const char *text) {
    cJSON_ReplaceItemInObjectCaseSensitive(result, key, cJSON_CreateString(text));
}

static void set_number(cJSON *result, const char *key, double number) {
    cJSON_ReplaceItemInObjectCaseSensitive(result, key, cJSON_CreateNumber(number));
}

// As if CUDA's pool had been replayed on a GPU, where it held half as much again in twice the time.
static cJSON *recorded_list(const char *path) {
    cJSON *list = results_of(RUN("--work-ns", "1000", "--passes", "2", "--json", "-", path));
    cJSON *result;
    cJSON_ArrayForEach(result, list) {
        set_text(result, "allocator", "driver");
        set_text(result, "device", "Some GPU");
        set_text(result, "driver_version", "999.1.2");
        set_text(result, "cuda_version", "12.4");
        set_text(result, "date", "2026-11-23");
        set_number(result, "reserved_peak_bytes", 12582912);
        set_number(result, "total_ns",
                   2 * cJSON_GetObjectItemCaseSensitive(result, "total_ns")->valuedouble);
    }
    return list;
}

// Writes a list to a file, and deletes it.
static const char *write_list(const char *name, cJSON *list) {
    char *text = cJSON_Print(list);
    const char *path = file_write(name, text);
    cJSON_free(text);
    cJSON_Delete(list);
    return path;
}

static const char *recorded_file(const char *path) {
    return write_list("recorded.json", recorded_list(path));
}

// ----------------------------------------------------------------------------------- what is shown

static const char origin[] = "\nrecorded on Some GPU, driver 999.1.2, CUDA 12.4, 2026-11-23:\n";

static void recorded_results_stand_below_the_table(void **state) {
    (void)state;
    const char *path = file_write("small.csv", small);
    struct outcome outcome;
    run(&outcome, RUN("--work-ns", "1000", "--beside", recorded_file(path), path));
    assert_says(outcome.output, origin);
    assert_int_equal(lines_of(outcome.output, "small", "cuMemAlloc"), 1);
    assert_int_equal(lines_of(outcome.output, "small", "CUDA's"), 1);
    assert_true(strstr(outcome.output, "small  cuMemAlloc") < strstr(outcome.output, origin));
    assert_true(strstr(outcome.output, "small  CUDA's pool") > strstr(outcome.output, origin));
    program_forget(&outcome);
}

static void what_was_seen_is_said_of_each_pass(void **state) {
    (void)state;
    const char *path = file_write("small.csv", small);
    struct outcome outcome;
    run(&outcome, RUN("--work-ns", "1000", "--passes", "2", "--beside", recorded_file(path), path));
    assert_says(outcome.output,
                "\nPass 1, one trace: cuMemAlloc holds 1.000 times what is live; in the recording, "
                "CUDA's pool held 1.500 times.\n"
                "Pass 2, one trace: cuMemAlloc holds 1.000 ");
    program_forget(&outcome);
}

// This machine's time says nothing about a GPU's, and one GPU's nothing about another's.
static void times_are_compared_with_those_of_the_same_device_alone(void **state) {
    (void)state;
    static const char ratio[] =
        "The calls of cuMemAlloc take 0.5 times as long as those of CUDA's "
        "pool took in the recording.\n";
    const char *path = file_write("small.csv", small);
    struct outcome outcome;
    run(&outcome, RUN("--work-ns", "1000", "--beside", recorded_file(path), path));
    assert_silent(outcome.output, "times as long");
    program_forget(&outcome);
    cJSON *list = recorded_list(path), *result;
    cJSON_ArrayForEach(result, list) set_text(result, "device", "Simulated GPU");
    run(&outcome, RUN("--work-ns", "1000", "--beside", write_list("same.json", list), path));
    assert_says(outcome.output, ratio);
    program_forget(&outcome);
}

// By the model of an H200, which the recording may be of.
static void modelled_driver_calls_are_told_beside_the_recorded_total(void **state) {
    (void)state;
    const char *path = file_write("small.csv", small);
    cJSON *list = results_of(RUN("--json", "-", path));
    set_text(list->child, "device", "Some GPU");
    set_number(list->child, "total_ns", 70000);
    cJSON_DeleteItemFromObject(list->child, "driver_calls_modelled_ns");
    const char *file = write_list("gpu.json", list);
    struct outcome outcome;
    run(&outcome, RUN("--beside", file, "--beside-allocator", "direct", path));
    assert_says(outcome.output,
                "\nOn an H200 the driver calls of cuMemAlloc take 158 µs together, by "
                "the model, and its own instructions come to that; all calls of "
                "cuMemAlloc took 70.0 µs in the recording.\n");
    assert_silent(outcome.output, "times as long");
    program_forget(&outcome);
}

// It can only win by what it holds; its price is told by what another allocator of the table takes.
static void of_direct_allocations_the_cost_is_told(void **state) {
    (void)state;
    const char *path = file_write("small.csv", small), *file = recorded_file(path);
    struct outcome outcome;
    run(&outcome, ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", "direct,pool",
                            "--work-ns", "1000", "--passes", "2", "--beside", file, path));
    assert_says(outcome.output, "\nPass 1: cuMemAlloc costs ");
    assert_says(outcome.output, "\nPass 2: cuMemAlloc costs ");
    assert_says(outcome.output, " of calls, where those of streampool take ");
    assert_says(outcome.output, "; it holds 1.000 times what is live.\n");
    assert_says(outcome.output, "\nPass 2, one trace: streampool holds ");
    assert_silent(outcome.output, "cuMemAlloc holds");
    program_forget(&outcome);
}

static void recorded_passes_are_chosen_with_those_of_the_table(void **state) {
    (void)state;
    const char *path = file_write("small.csv", small);
    struct outcome outcome;
    run(&outcome, RUN("--work-ns", "1000", "--passes", "2", "--print-passes", "2", "--beside",
                      recorded_file(path), path));
    assert_int_equal(lines_of(outcome.output, "small", "CUDA's"), 1);
    assert_says(outcome.output, "\nPass 2, one trace: ");
    assert_silent(outcome.output, "Pass 1, ");
    program_forget(&outcome);
}

static void several_traces_are_compared_by_their_geometric_means(void **state) {
    (void)state;
    const char *path = file_write("small.csv", small), *other = file_write("other.csv", small);
    cJSON *list = results_of(RUN("--work-ns", "1000", "--json", "-", path, other));
    set_number(cJSON_GetArrayItem(list, 0), "reserved_peak_bytes", 2 * 8388608);
    set_number(cJSON_GetArrayItem(list, 1), "reserved_peak_bytes", 8 * 8388608);
    struct outcome outcome;
    run(&outcome, RUN("--work-ns", "1000", "--beside-allocator", "direct,pool", "--beside",
                      write_list("two.json", list), path, other));
    assert_says(outcome.output,
                "\nPass 1, geometric means of 2 traces: cuMemAlloc holds 1.000 "
                "times what is live; in the recording, cuMemAlloc held 4.000 times.\nThe calls "
                "of cuMemAlloc take 1 times as long ");
    assert_silent(outcome.output, "streampool held");
    program_forget(&outcome);
}

static void other_allocators_are_shown_where_they_are_named(void **state) {
    (void)state;
    const char *path = file_write("small.csv", small);
    cJSON *list = recorded_list(path);
    set_text(cJSON_GetArrayItem(list, 0), "allocator", "pool");
    const char *file = write_list("pool.json", list);
    struct outcome outcome;
    run(&outcome, RUN("--work-ns", "1000", "--beside", file, path));
    assert_int_equal(lines_of(outcome.output, "small", "streampool"), 0);
    assert_says(outcome.output,
                "pool.json has no result to show of these traces, passes and "
                "allocators\n");
    program_forget(&outcome);
    run(&outcome, RUN("--work-ns", "1000", "--beside-allocator", "pool", "--beside", file, path));
    assert_int_equal(lines_of(outcome.output, "small", "streampool"), 1);
    program_forget(&outcome);
}

static void a_result_that_is_there_twice_is_shown_once(void **state) {
    (void)state;
    const char *path = file_write("small.csv", small);
    cJSON *list = recorded_list(path);
    set_number(cJSON_GetArrayItem(list, 1), "pass", 1);
    struct outcome outcome;
    run(&outcome, RUN("--work-ns", "1000", "--beside", write_list("twice.json", list), path));
    assert_int_equal(lines_of(outcome.output, "small", "CUDA's"), 1);
    program_forget(&outcome);
}

static void assert_left_out(const char *file, const char *path, const char *reason) {
    char expected[256];
    struct outcome outcome;
    snprintf(expected, sizeof expected, "\nsmall, CUDA's pool, pass 1: not shown: %s\n", reason);
    run(&outcome, RUN("--work-ns", "1000", "--beside", file, path));
    assert_says(outcome.output, expected);
    assert_int_equal(lines_of(outcome.output, "small", "CUDA's"), 0);
    assert_silent(outcome.output, "times what is live");
    program_forget(&outcome);
}

static void what_can_not_be_compared_is_left_out_with_a_reason(void **state) {
    (void)state;
    const char *path = file_write("small.csv", small);
    static const char another[] = "it was recorded from another trace of that name";
    static const char *const keys[] = {"operations", "streams"};
    for (size_t i = 0; i < 2; i++) {
        cJSON *list = recorded_list(path);
        set_number(cJSON_GetArrayItem(list, 0), keys[i], 77);
        assert_left_out(write_list("another.json", list), path, another);
    }
    cJSON *list = recorded_list(path);
    cJSON_DeleteItemFromObject(cJSON_GetArrayItem(list, 0), "work_ns");
    assert_left_out(write_list("idle.json", list), path,
                    "it was recorded without work on the streams");
    struct outcome outcome;
    run(&outcome, RUN("--beside", recorded_file(path), path));
    assert_says(outcome.output, "not shown: it was recorded with work on the streams\n");
    program_forget(&outcome);
}

static void results_with_errors_are_shown_and_not_compared(void **state) {
    (void)state;
    const char *path = file_write("small.csv", small);
    cJSON *list = recorded_list(path);
    set_number(cJSON_GetArrayItem(list, 0), "errors", 1);
    struct outcome outcome;
    run(&outcome, RUN("--work-ns", "1000", "--beside", write_list("errors.json", list), path));
    assert_int_equal(lines_of(outcome.output, "small", "CUDA's"), 1);
    assert_silent(outcome.output, "times what is live");
    program_forget(&outcome);
}

static void a_trace_is_found_though_its_name_is_no_utf8(void **state) {
    (void)state;
    const char *path = file_write("caf\xe9.csv", small);
    struct outcome outcome;
    run(&outcome, RUN("--work-ns", "1000", "--beside", recorded_file(path), path));
    assert_int_equal(lines_of(outcome.output, "caf\xe9", "CUDA's"), 1);
    program_forget(&outcome);
}

static void starts_are_compared_by_their_medians(void **state) {
    (void)state;
    const char *path = file_write("small.csv", small);
    struct outcome outcome;
    run(&outcome,
        RUN("--work-ns", "1000", "--perturb", "3", "--beside", recorded_file(path), path));
    assert_says(outcome.output, "\nPass 1, one trace: cuMemAlloc holds 1.");
    program_forget(&outcome);
}

// The parts of a time that was recorded on the simulated driver are shown too.
static void a_recording_of_the_simulated_driver_is_shown_as_it_was(void **state) {
    (void)state;
    const char *path = file_write("small.csv", small), *file = file_path("simulated.json");
    struct outcome outcome;
    run(&outcome, RUN("--json", file, path));
    program_forget(&outcome);
    run(&outcome, RUN("--beside", file, "--beside-allocator", "direct", path));
    assert_says(outcome.output, "\nrecorded on Simulated GPU, driver simulated, CUDA 13.0, 20");
    const char *below = strstr(outcome.output, "recorded on");
    assert_says(below, "driver calls");
    assert_int_equal(lines_of(below, "small", "cuMemAlloc"), 1);
    program_forget(&outcome);
}

static void an_empty_list_has_nothing_to_show(void **state) {
    (void)state;
    struct outcome outcome;
    run(&outcome,
        RUN("--beside", file_write("empty.json", "[]\n"), file_write("small.csv", small)));
    assert_says(outcome.output, "empty.json has no result to show ");
    program_forget(&outcome);
}

// ----------------------------------------------------------------------------- files that are none

static void assert_refused(const char *file, const char *reason) {
    char expected[512];
    snprintf(expected, sizeof expected, "streampool: %s: %s\n", file, reason);
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, RUN("--beside", file, file_write("small.csv", small)));
    assert_string_equal(outcome.errors, expected);
    assert_string_equal(outcome.output, "");
    assert_int_equal(outcome.status, 1);
    program_forget(&outcome);
}

static void a_file_that_is_no_list_of_results_is_refused(void **state) {
    (void)state;
    static const char no_list[] = "is no list of results, which `streampool replay --json` writes";
    assert_refused(file_path("nowhere.json"), "No such file or directory");
    assert_refused(file_path(""), "Is a directory");
    assert_refused(file_write("broken.json", "[1, 2"), "is no JSON: byte 6");
    assert_refused(file_write("void.json", ""), "is no JSON: byte 1");
    assert_refused(file_write("behind.json", "[] x"), "is no JSON: byte 4");
    assert_refused(file_write("object.json", "{}"), no_list);
    assert_refused(file_write("numbers.json", "[7]"), "result 1: is no object with 'trace'");
}

// Each row changes the second result.
static const struct {
    const char *key;
    const char *value; // null: the key is taken away
    const char *reason;
} changes[] = {
    {"trace", NULL, "result 2: no plain text under 'trace'"},
    {"trace", "7", "result 2: no plain text under 'trace'"},
    {"device", "\"a\\u001bb\"", "result 2: no plain text under 'device'"},
    {"date", NULL, "result 2: no plain text under 'date'"},
    {"driver_version", "\"0123456789012345678901234567890123456789012345678901234567890123\"",
     "result 2: too long a text under 'driver_version'"},
    {"operations", NULL, "result 2: no number from 0 on under 'operations'"},
    {"streams", "\"1\"", "result 2: no number from 0 on under 'streams'"},
    {"errors", "-1", "result 2: no number from 0 on under 'errors'"},
    {"total_ns", "1e30", "result 2: no number from 0 on under 'total_ns'"},
    {"live_peak_bytes", "0.5", "result 2: no whole number under 'live_peak_bytes'"},
    {"pass", "0", "result 2: no pass under 'pass'"},
    {"pass", "4294967297", "result 2: no pass under 'pass'"},
    {"malloc_ns", "3", "result 2: no times under 'malloc_ns'"},
    {"free_ns", "{\"mean\": 1, \"p50\": 1, \"max\": 1}",
     "result 2: no number from 0 on under 'p99'"},
    {"end_to_end_ns", NULL, "result 2: no number from 0 on under 'end_to_end_ns'"},
    {"starts", "[]", "result 2: was written with --perturb: there are 'starts'"},
    {"driver_calls_modelled_ns", "1e12",
     "result 2: more than the total under 'driver_calls_modelled_ns'"},
    {"date", "\"2026-11-24\"",
     "result 2: is of another device, driver, version or day than the first: '2026-11-24'"},
    {"device", "\"Other GPU\"",
     "result 2: is of another device, driver, version or day than the first: '2026-11-23'"},
};

static void a_result_that_is_damaged_is_named(void **state) {
    (void)state;
    const char *path = file_write("small.csv", small);
    cJSON *whole = recorded_list(path);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        cJSON *list = cJSON_Duplicate(whole, true);
        cJSON *result = cJSON_GetArrayItem(list, 1);
        cJSON_DeleteItemFromObjectCaseSensitive(result, changes[i].key);
        if (changes[i].value)
            cJSON_AddItemToObject(result, changes[i].key, cJSON_Parse(changes[i].value));
        assert_refused(write_list("damaged.json", list), changes[i].reason);
    }
    cJSON_Delete(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_results_stand_below_the_table),
        cmocka_unit_test(what_was_seen_is_said_of_each_pass),
        cmocka_unit_test(times_are_compared_with_those_of_the_same_device_alone),
        cmocka_unit_test(modelled_driver_calls_are_told_beside_the_recorded_total),
        cmocka_unit_test(of_direct_allocations_the_cost_is_told),
        cmocka_unit_test(recorded_passes_are_chosen_with_those_of_the_table),
        cmocka_unit_test(several_traces_are_compared_by_their_geometric_means),
        cmocka_unit_test(other_allocators_are_shown_where_they_are_named),
        cmocka_unit_test(a_result_that_is_there_twice_is_shown_once),
        cmocka_unit_test(what_can_not_be_compared_is_left_out_with_a_reason),
        cmocka_unit_test(results_with_errors_are_shown_and_not_compared),
        cmocka_unit_test(a_trace_is_found_though_its_name_is_no_utf8),
        cmocka_unit_test(starts_are_compared_by_their_medians),
        cmocka_unit_test(a_recording_of_the_simulated_driver_is_shown_as_it_was),
        cmocka_unit_test(an_empty_list_has_nothing_to_show),
        cmocka_unit_test(a_file_that_is_no_list_of_results_is_refused),
        cmocka_unit_test(a_result_that_is_damaged_is_named),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
