// The results as JSON: exactly the promised keys, whole files or none.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <cjson/cJSON.h>
#include <streampool/lists.h>

#include "items.h"
#include "program.h"

static const char small[] = TRACE_HEADER
    "1,0,allocate,0x1000000,4194304,0\n"
    "1,10,allocate,0x2000000,1024,7\n"
    "1,20,free,0x1000000,4194304,0\n";

static const char *const keys[] = {
    "trace",
    "allocator",
    "device",
    "driver_version",
    "cuda_version",
    "streampool",
    "date",
    "pass",
    "operations",
    "streams",
    "errors",
    "live_peak_bytes",
    "reserved_peak_bytes",
    "malloc_ns",
    "free_ns",
    "total_ns",
};

// Behind these, on the simulated driver without work; when there was work; and then for the
// allocator that keeps statistics:
static const char *const parts_keys[] = {"driver_calls_modelled_ns", "library_measured_ns"};
static const char *const work_keys[] = {"work_ns", "end_to_end_ns"};
static const char statistics_key[] = "statistics";

static const char *const time_keys[] = {"mean", "p50", "p99", "max"};

static void assert_keys(const cJSON *object, const char *const expected[], size_t count) {
    assert_true(cJSON_IsObject(object));
    size_t i = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, object) {
        assert_true(i < count);
        assert_string_equal(item->string, expected[i++]);
    }
    assert_int_equal(i, count);
}

static void assert_text(const cJSON *object, const char *key, const char *expected) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    assert_true(cJSON_IsString(item));
    assert_string_equal(item->valuestring, expected);
}

static void assert_times(const cJSON *result, const char *key) {
    const cJSON *times = cJSON_GetObjectItemCaseSensitive(result, key);
    assert_keys(times, time_keys, sizeof time_keys / sizeof time_keys[0]);
    assert_true(number(times, "p50") <= number(times, "p99"));
    assert_true(number(times, "p99") <= number(times, "max"));
    assert_true(number(times, "mean") <= number(times, "max"));
}

static void assert_statistics(const cJSON *result) {
    static const char *const names[] = {
#define NAME(name, number, text) #name,
        STREAMPOOL_POOL_STATISTICS(NAME) STREAMPOOL_POOL_GAUGES(NAME)
#undef NAME
    };
    assert_keys(cJSON_GetObjectItemCaseSensitive(result, statistics_key), names,
                sizeof names / sizeof names[0]);
}

enum { KEYS = sizeof keys / sizeof keys[0], MORE_KEYS = 2 };

static void assert_all_keys(const cJSON *result, bool work, bool statistics) {
    const char *expected[KEYS + MORE_KEYS + 1];
    size_t count = KEYS + MORE_KEYS;
    memcpy(expected, keys, sizeof keys);
    memcpy(expected + KEYS, work ? work_keys : parts_keys, sizeof work_keys);
    if (statistics)
        expected[count++] = statistics_key;
    assert_keys(result, expected, count);
}

static bool is_date(const char *text) {
    unsigned year, month, day;
    int length = 0;
    return sscanf(text, "%4u-%2u-%2u%n", &year, &month, &day, &length) == 3 && length == 10 &&
           text[10] == '\0' && year >= 2024 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

static void assert_origin(const cJSON *result) {
    assert_text(result, "driver_version", "simulated");
    assert_text(result, "cuda_version", "13.0");
    assert_text(result, "streampool", STREAMPOOL_VERSION);
    assert_true(is_date(cJSON_GetObjectItemCaseSensitive(result, "date")->valuestring));
}

static void assert_result(const cJSON *result, const char *allocator, int pass) {
    bool is_pool = strcmp(allocator, "pool") == 0;
    assert_all_keys(result, false, is_pool);
    if (is_pool)
        assert_statistics(result);
    assert_text(result, "trace", "small");
    assert_text(result, "allocator", allocator);
    assert_true(strlen(cJSON_GetObjectItemCaseSensitive(result, "device")->valuestring) > 0);
    assert_origin(result);
    assert_true(number(result, "pass") == pass);
    assert_true(number(result, "operations") == 3);
    assert_true(number(result, "streams") == 2);
    assert_true(number(result, "errors") == 0);
    assert_true(number(result, "live_peak_bytes") == 4194304 + 1024);
    assert_true(number(result, "reserved_peak_bytes") >= 4194304 + 1024);
    assert_times(result, "malloc_ns");
    assert_times(result, "free_ns");
}

// The times of two requests and one free make the total, and so do its two parts.
static void assert_total(const cJSON *result) {
    double modelled = number(result, "driver_calls_modelled_ns");
    double measured = number(result, "library_measured_ns");
    assert_true(modelled >= 0 && measured >= 0);
    assert_true(number(result, "total_ns") == modelled + measured);
    double mallocs = 2 * number(cJSON_GetObjectItemCaseSensitive(result, "malloc_ns"), "mean");
    double frees = number(cJSON_GetObjectItemCaseSensitive(result, "free_ns"), "mean");
    assert_true(number(result, "total_ns") == mallocs + frees);
}

static void assert_four_results(const char *text) {
    cJSON *list = cJSON_Parse(text);
    assert_true(cJSON_IsArray(list));
    assert_int_equal(cJSON_GetArraySize(list), 4);
    assert_result(cJSON_GetArrayItem(list, 0), "pool", 1);
    assert_result(cJSON_GetArrayItem(list, 1), "pool", 2);
    assert_result(cJSON_GetArrayItem(list, 2), "direct", 1);
    assert_result(cJSON_GetArrayItem(list, 3), "direct", 2);
    for (int i = 0; i < 4; i++)
        assert_total(cJSON_GetArrayItem(list, i));
    cJSON_Delete(list);
}

static void replay_to(struct outcome *outcome, const char *json) {
    program_run(outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device", "sim", "--allocator", "pool,direct", "--passes",
                          "2", "--json", json, file_write("small.csv", small)));
}

static void the_keys_are_exactly_those_promised_and_the_figures_agree(void **state) {
    (void)state;
    const char *path = file_path("keys.json");
    struct outcome outcome;
    replay_to(&outcome, path);
    assert_int_equal(outcome.status, 0);
    char *text = file_read(path);
    assert_non_null(text);
    assert_four_results(text);
    free(text);
    program_forget(&outcome);
}

static double statistic(const cJSON *result, const char *name) {
    return number(cJSON_GetObjectItemCaseSensitive(result, statistics_key), name);
}

// The pool is empty before the first pass, and has all that the second one needs.
static void statistics_are_those_of_a_pass_alone(void **state) {
    (void)state;
    struct outcome outcome;
    replay_to(&outcome, "-");
    cJSON *list = cJSON_Parse(outcome.output);
    const cJSON *cold = cJSON_GetArrayItem(list, 0), *warm = cJSON_GetArrayItem(list, 1);
    assert_true(statistic(cold, "Growths") >= 1);
    assert_true(statistic(warm, "Growths") == 0);
    assert_true(statistic(warm, "ReuseSameStream") >= 1);
    assert_true(statistic(warm, "Failures") == 0);
    cJSON_Delete(list);
    program_forget(&outcome);
}

static void work_adds_what_it_was_and_how_long_all_took(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device", "sim", "--work-ns", "50000", "--json", "-",
                          file_write("small.csv", small)));
    assert_int_equal(outcome.status, 0);
    cJSON *list = cJSON_Parse(outcome.output);
    const cJSON *result = cJSON_GetArrayItem(list, 0);
    assert_all_keys(result, true, true);
    assert_true(number(result, "work_ns") == 2 * 50000);
    assert_true(number(result, "end_to_end_ns") >= 50000);
    cJSON_Delete(list);
    program_forget(&outcome);
}

static void a_dash_is_standard_output_and_leaves_out_the_table(void **state) {
    (void)state;
    struct outcome outcome;
    replay_to(&outcome, "-");
    assert_int_equal(outcome.status, 0);
    assert_four_results(outcome.output);
    assert_string_equal(outcome.errors, "");
    program_forget(&outcome);
}

static void assert_name_becomes(const char *command, const char *name, const char *expected) {
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS(command, "--device", "sim", "--json", "-", file_write(name, small)));
    assert_int_equal(outcome.status, 0);
    cJSON *list = cJSON_Parse(outcome.output);
    assert_text(cJSON_GetArrayItem(list, 0), "trace", expected);
    cJSON_Delete(list);
    program_forget(&outcome);
}

static void a_name_that_is_not_utf8_becomes_so(void **state) {
    (void)state;
    assert_name_becomes("replay", "caf\xe9.csv", "caf\xef\xbf\xbd");
    assert_name_becomes("policies", "caf\xe9.csv", "caf\xef\xbf\xbd");
    assert_name_becomes("replay", "caf\xc3\xa9.csv", "caf\xc3\xa9");
}

static void an_allocator_that_is_missing_is_not_in_the_list(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS("STREAMPOOL_DRIVER_API=11010"),
                ARGUMENTS("replay", "--device", "sim", "--allocator", "driver,pool", "--json", "-",
                          file_write("small.csv", small)));
    assert_int_equal(outcome.status, 0);
    cJSON *list = cJSON_Parse(outcome.output);
    assert_int_equal(cJSON_GetArraySize(list), 1);
    assert_result(cJSON_GetArrayItem(list, 0), "pool", 1);
    cJSON_Delete(list);
    assert_string_equal(
        outcome.errors,
        "CUDA's pool: not replayed: the driver has no cuMemAllocAsync (new in CUDA 11.2)\n");
    program_forget(&outcome);
}

static void an_older_file_is_replaced_and_nothing_else_is_left(void **state) {
    (void)state;
    const char *path = file_write("old.json", "old\n");
    file_write("small.csv", small);
    assert_int_equal(chmod(path, 0640), 0);
    size_t files = file_count();
    struct outcome outcome;
    replay_to(&outcome, path);
    assert_int_equal(outcome.status, 0);
    char *text = file_read(path);
    assert_four_results(text);
    free(text);
    assert_int_equal(file_count(), files);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
    program_forget(&outcome);
}

static void a_link_stays_and_what_it_names_is_replaced(void **state) {
    (void)state;
    const char *target = file_write("target.json", "old\n");
    const char *link = file_path("link.json");
    assert_int_equal(symlink(target, link), 0);
    struct outcome outcome;
    replay_to(&outcome, link);
    assert_int_equal(outcome.status, 0);
    struct stat status;
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    char *text = file_read(target);
    assert_four_results(text);
    free(text);
    program_forget(&outcome);
}

static void a_folder_that_is_not_there_is_an_error(void **state) {
    (void)state;
    const char *path = file_path("nowhere/out.json");
    char expected[512];
    snprintf(expected, sizeof expected, "streampool: %s: No such file or directory\n", path);
    struct outcome outcome;
    replay_to(&outcome, path);
    assert_int_equal(outcome.status, 1);
    assert_string_equal(outcome.errors, expected);
    program_forget(&outcome);
}

static void a_device_is_written_to_and_not_replaced(void **state) {
    (void)state;
    struct outcome outcome;
    replay_to(&outcome, "/dev/null");
    assert_int_equal(outcome.status, 0);
    program_forget(&outcome);
    struct stat status;
    assert_int_equal(stat("/dev/null", &status), 0);
    assert_true(S_ISCHR(status.st_mode));
}

static void a_full_disk_is_an_error(void **state) {
    (void)state;
    struct outcome outcome;
    replay_to(&outcome, "/dev/full");
    assert_int_equal(outcome.status, 1);
    assert_string_equal(outcome.errors, "streampool: /dev/full: No space left on device\n");
    program_forget(&outcome);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_keys_are_exactly_those_promised_and_the_figures_agree),
        cmocka_unit_test(statistics_are_those_of_a_pass_alone),
        cmocka_unit_test(work_adds_what_it_was_and_how_long_all_took),
        cmocka_unit_test(a_dash_is_standard_output_and_leaves_out_the_table),
        cmocka_unit_test(a_name_that_is_not_utf8_becomes_so),
        cmocka_unit_test(an_allocator_that_is_missing_is_not_in_the_list),
        cmocka_unit_test(an_older_file_is_replaced_and_nothing_else_is_left),
        cmocka_unit_test(a_link_stays_and_what_it_names_is_replaced),
        cmocka_unit_test(a_folder_that_is_not_there_is_an_error),
        cmocka_unit_test(a_device_is_written_to_and_not_replaced),
        cmocka_unit_test(a_full_disk_is_an_error),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
