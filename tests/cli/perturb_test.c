// Replays with --perturb on the simulated driver: the starts, the blocks that are held in them, and
// what is made of their figures.
#include <math.h>
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

#include "items.h"
#include "program.h"

// Two streams; the last block is never freed. The block that is held is at most a 50th of the peak.
#define PEAK (2.0 * 67108864)
static const char small[] = TRACE_HEADER
    "1,0,allocate,0x1000000,67108864,3\n"
    "1,10,allocate,0x8000000,67108864,7\n"
    "1,20,free,0x1000000,67108864,3\n"
    "1,30,allocate,0x1000000,1024,3\n"
    "1,40,free,0x8000000,67108864,7\n";

static const char *const keys[] = {"trace",
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
                                   "ratio",
                                   "malloc_max_ns",
                                   "total_ns",
                                   "driver_calls_modelled_ns",
                                   "library_measured_ns"};

static const char *const start_keys[] = {
    "perturbation_bytes",  "errors",     "live_peak_bytes", "reserved_peak_bytes",
    "malloc_ns",           "free_ns",    "total_ns",        "driver_calls_modelled_ns",
    "library_measured_ns", "statistics",
};

static const char *const spread_keys[] = {"median", "least", "most", "mean"};

// -------------------------------------------------------------------------------------------- JSON

static void assert_keys(const cJSON *object, const char *const expected[], size_t count) {
    size_t i = 0;
    for (const cJSON *child = object->child; child; child = child->next) {
        assert_true(i < count);
        assert_string_equal(child->string, expected[i++]);
    }
    assert_int_equal(i, count);
}

#define ASSERT_KEYS(object, expected)                                                              \
    assert_keys(object, expected, sizeof(expected) / sizeof(expected)[0])

static const cJSON *start_of(const cJSON *result, int index) {
    const cJSON *start = cJSON_GetArrayItem(item(result, "starts"), index);
    assert_non_null(start);
    return start;
}

static double ratio_of(const cJSON *start) {
    return number(start, "reserved_peak_bytes") / number(start, "live_peak_bytes");
}

static bool is_near(double a, double b) {
    return fabs(a - b) <= 1e-12 * fabs(b);
}

// The results of a run that writes nothing else. The caller deletes them.
static cJSON *replay(const char *const arguments[]) {
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, arguments);
    if (outcome.status != 0)
        fail_msg("status %d: %s", outcome.status, outcome.errors);
    cJSON *list = cJSON_Parse(outcome.output);
    assert_true(cJSON_IsArray(list));
    program_forget(&outcome);
    return list;
}

#define REPLAY(starts, seed, ...)                                                                  \
    replay(ARGUMENTS("replay", "--device", "sim", "--json", "-", "--perturb", starts,              \
                     "--perturb-seed", seed, __VA_ARGS__, file_write("small.csv", small)))

// ------------------------------------------------------------------------------------- the figures

static void each_start_is_there_with_its_block(void **state) {
    (void)state;
    cJSON *list = REPLAY("5", "1", "--allocator", "pool");
    assert_int_equal(cJSON_GetArraySize(list), 1);
    const cJSON *starts = item(list->child, "starts");
    assert_int_equal(cJSON_GetArraySize(starts), 5);
    for (const cJSON *start = starts->child; start; start = start->next) {
        double bytes = number(start, "perturbation_bytes");
        ASSERT_KEYS(start, start_keys);
        assert_true(bytes >= 1 && bytes <= PEAK / 50);
        assert_true(number(start, "errors") == 0);
        assert_true(number(start, "live_peak_bytes") == PEAK + bytes);
        assert_true(number(start, "reserved_peak_bytes") >= PEAK + bytes);
    }
    cJSON_Delete(list);
}

static void the_summary_has_the_promised_keys(void **state) {
    (void)state;
    cJSON *list = REPLAY("2", "1", "--allocator", "pool");
    const char *expected[sizeof keys / sizeof keys[0] + 1];
    memcpy(expected, keys, sizeof keys);
    expected[sizeof keys / sizeof keys[0]] = "starts";
    ASSERT_KEYS(list->child, expected);
    ASSERT_KEYS(item(list->child, "ratio"), spread_keys);
    ASSERT_KEYS(item(list->child, "total_ns"), spread_keys);
    ASSERT_KEYS(item(list->child, "driver_calls_modelled_ns"), spread_keys);
    ASSERT_KEYS(item(list->child, "library_measured_ns"), spread_keys);
    ASSERT_KEYS(item(list->child, "malloc_max_ns"), spread_keys);
    cJSON_Delete(list);
}

static void work_adds_the_time_from_end_to_end(void **state) {
    (void)state;
    cJSON *list = REPLAY("2", "1", "--work-ns", "50000");
    ASSERT_KEYS(item(list->child, "end_to_end_ns"), spread_keys);
    assert_true(number(item(list->child, "end_to_end_ns"), "least") >= 50000);
    assert_true(number(start_of(list->child, 1), "end_to_end_ns") >= 50000);
    cJSON_Delete(list);
}

static void the_summary_is_that_of_its_starts(void **state) {
    (void)state;
    cJSON *list = REPLAY("4", "1", "--allocator", "pool");
    const cJSON *total = item(list->child, "total_ns");
    double sum = 0, least = INFINITY, most = 0, below = 0;
    for (int i = 0; i < 4; i++) {
        double time = number(start_of(list->child, i), "total_ns");
        sum += time;
        least = fmin(least, time);
        most = fmax(most, time);
        below += time <= number(total, "median");
    }
    assert_true(number(total, "mean") == sum / 4);
    assert_true(number(total, "least") == least);
    assert_true(number(total, "most") == most);
    assert_true(is_near(number(total, "median"), (sum - least - most) / 2));
    assert_true(below >= 2);
    cJSON_Delete(list);
}

static void of_one_start_every_figure_is_the_same(void **state) {
    (void)state;
    cJSON *list = REPLAY("1", "1", "--allocator", "pool");
    const cJSON *result = list->child, *start = start_of(result, 0);
    assert_int_equal(cJSON_GetArraySize(item(result, "starts")), 1);
    for (size_t i = 0; i < sizeof spread_keys / sizeof spread_keys[0]; i++) {
        assert_true(is_near(number(item(result, "ratio"), spread_keys[i]), ratio_of(start)));
        assert_true(number(item(result, "total_ns"), spread_keys[i]) == number(start, "total_ns"));
        assert_true(number(item(result, "driver_calls_modelled_ns"), spread_keys[i]) ==
                    number(start, "driver_calls_modelled_ns"));
        assert_true(number(item(result, "library_measured_ns"), spread_keys[i]) ==
                    number(start, "library_measured_ns"));
        assert_true(number(item(result, "malloc_max_ns"), spread_keys[i]) ==
                    number(item(start, "malloc_ns"), "max"));
    }
    cJSON_Delete(list);
}

// --------------------------------------------------------------------------------- the held blocks

static void assert_same_ratios(const cJSON *a, const cJSON *b, int starts, bool same) {
    bool equal = true;
    for (int i = 0; i < starts; i++)
        equal = equal && ratio_of(start_of(a, i)) == ratio_of(start_of(b, i));
    assert_int_equal(equal, same);
}

static void the_seed_decides_about_the_ratios(void **state) {
    (void)state;
    cJSON *first = REPLAY("5", "7", "--allocator", "pool");
    cJSON *again = REPLAY("5", "7", "--allocator", "pool");
    cJSON *other = REPLAY("5", "8", "--allocator", "pool");
    assert_same_ratios(first->child, again->child, 5, true);
    assert_same_ratios(first->child, other->child, 5, false);
    cJSON_Delete(first);
    cJSON_Delete(again);
    cJSON_Delete(other);
}

static void starts_differ_and_more_of_them_begin_with_the_same_ones(void **state) {
    (void)state;
    cJSON *few = REPLAY("3", "1", "--allocator", "pool");
    cJSON *many = REPLAY("6", "1", "--allocator", "pool");
    assert_same_ratios(few->child, many->child, 3, true);
    assert_true(number(start_of(few->child, 0), "perturbation_bytes") !=
                number(start_of(few->child, 1), "perturbation_bytes"));
    cJSON_Delete(few);
    cJSON_Delete(many);
}

// In every pass, and by what the allocator reserves too.
static void every_allocator_holds_the_same_blocks_to_the_end(void **state) {
    (void)state;
    cJSON *list = REPLAY("4", "1", "--allocator", "direct,pool", "--passes", "2");
    assert_int_equal(cJSON_GetArraySize(list), 4);
    for (const cJSON *result = list->child; result; result = result->next)
        for (int i = 0; i < 4; i++) {
            const cJSON *start = start_of(result, i);
            double bytes = number(start, "perturbation_bytes");
            assert_true(bytes == number(start_of(list->child, i), "perturbation_bytes"));
            assert_true(number(start, "live_peak_bytes") == PEAK + bytes);
            assert_true(number(start, "reserved_peak_bytes") >= PEAK + bytes);
        }
    cJSON_Delete(list);
}

// What is left when a pool is destroyed is a leak of memory then; the library keeps address ranges.
static void what_was_held_is_freed(void **state) {
    (void)state;
    static const char range[] = "streampool: simulated driver: leak: address range ";
    struct outcome outcome;
    program_run(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=reports=print"),
                ARGUMENTS("replay", "--device", "sim", "--allocator", "pool,direct", "--perturb",
                          "3", "--passes", "2", file_write("small.csv", small)));
    assert_int_equal(outcome.status, 0);
    for (const char *line = outcome.errors; *line; line += strcspn(line, "\n") + 1)
        if (strncmp(line, range, strlen(range)) != 0)
            fail_msg("%s", line);
    program_forget(&outcome);
}

static void a_trace_of_fewer_than_50_bytes_has_no_block(void **state) {
    (void)state;
    const char *path = file_write("few.csv", TRACE_HEADER "1,0,allocate,0x100,49,0\n");
    cJSON *list =
        replay(ARGUMENTS("replay", "--device", "sim", "--json", "-", "--perturb", "2", path));
    assert_true(number(start_of(list->child, 0), "perturbation_bytes") == 0);
    assert_true(number(start_of(list->child, 1), "live_peak_bytes") == 49);
    cJSON_Delete(list);
}

static void a_block_that_the_device_has_no_room_for_is_an_error(void **state) {
    (void)state;
    const char *path = file_write("huge.csv", TRACE_HEADER "1,0,allocate,0x100,1099511627776,0\n");
    struct outcome outcome;
    program_run(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=memory=64M"),
                ARGUMENTS("replay", "--device", "sim", "--perturb", "2", path));
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.errors, "streampool: huge, streampool: the held block of ");
    assert_says(outcome.errors, " bytes can't be allocated: poolErrorMemoryAllocation\n");
    program_forget(&outcome);
}

// --------------------------------------------------------------------------------------- the table

static int lines_with(const char *text, const char *begin) {
    int lines = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        lines += strncmp(line, begin, strlen(begin)) == 0;
    return lines;
}

static void the_table_has_a_row_for_each_pass_and_none_for_a_start(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", "pool,direct",
                          "--passes", "2", "--perturb", "5", "--perturb-seed", "3",
                          file_write("small.csv", small)));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output,
                "\nmedians of starts, each with a block of up to 2 % of the trace's peak held "
                "(5 starts, seed 3)\n");
    assert_says(outcome.output, "reserved  reserved  reserved");
    assert_int_equal(lines_with(outcome.output, "small  streampool "), 2);
    assert_int_equal(lines_with(outcome.output, "small  cuMemAlloc "), 2);
    assert_says(outcome.output, "1.000     1.000     1.000");
    program_forget(&outcome);
}

static void errors_are_those_of_all_starts(void **state) {
    (void)state;
    const char *path = file_write("big.csv", TRACE_HEADER
                                  "1,0,allocate,0x1000000,1048576,0\n"
                                  "1,1,allocate,0x8000000,134217728,0\n");
    struct outcome outcome;
    program_run(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=memory=64M"),
                ARGUMENTS("replay", "--device", "sim", "--wide", "--perturb", "3", path));
    assert_int_equal(outcome.status, CALLS_FAILED);
    assert_says(outcome.output,
                "big, streampool, pass 1: allocation at line 3: poolErrorMemoryAllocation (errors "
                "in all: 3)\n");
    program_forget(&outcome);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_start_is_there_with_its_block),
        cmocka_unit_test(the_summary_has_the_promised_keys),
        cmocka_unit_test(work_adds_the_time_from_end_to_end),
        cmocka_unit_test(the_summary_is_that_of_its_starts),
        cmocka_unit_test(of_one_start_every_figure_is_the_same),
        cmocka_unit_test(the_seed_decides_about_the_ratios),
        cmocka_unit_test(starts_differ_and_more_of_them_begin_with_the_same_ones),
        cmocka_unit_test(every_allocator_holds_the_same_blocks_to_the_end),
        cmocka_unit_test(what_was_held_is_freed),
        cmocka_unit_test(a_trace_of_fewer_than_50_bytes_has_no_block),
        cmocka_unit_test(a_block_that_the_device_has_no_room_for_is_an_error),
        cmocka_unit_test(the_table_has_a_row_for_each_pass_and_none_for_a_start),
        cmocka_unit_test(errors_are_those_of_all_starts),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
