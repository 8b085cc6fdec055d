// Figures of one replay don't contradict each other: relations that hold for drawn traces, in JSON
// and in the table.
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

enum { ROUNDS = 40 };

static unsigned seed = 1;

static unsigned draw(unsigned below) {
    return (unsigned)rand_r(&seed) % below;
}

// ----------------------------------------------------------------------------------- drawn traces

enum { OPERATIONS_MAX = 120, BLOCKS = 12 };

// A trace, and how many allocations and frees of more than no bytes it has.
struct drawn {
    const char *path;
    double allocations, frees;
};

static unsigned drawn_size(void) {
    return draw(3) ? 1 + draw(100000) : 1 + draw(48) * 1048576;
}

static struct drawn draw_trace(void) {
    static char text[OPERATIONS_MAX * 64];
    unsigned sizes[BLOCKS] = {0}, operations = 1 + draw(OPERATIONS_MAX);
    struct drawn drawn = {NULL, 0, 0};
    size_t length = (size_t)sprintf(text, TRACE_HEADER);
    for (unsigned i = 0; i < operations; i++) {
        unsigned block = draw(BLOCKS);
        bool frees = sizes[block] > 0;
        unsigned size = frees ? sizes[block] : drawn_size();
        length +=
            (size_t)snprintf(text + length, sizeof text - length, "%u,%u,%s,0x%x,%u,%u\n", draw(3),
                             i, frees ? "free" : "allocate", (block + 1) << 27, size, 1 + draw(3));
        sizes[block] = frees ? 0 : size;
        drawn.allocations += !frees;
        drawn.frees += frees;
    }
    drawn.path = file_write("drawn.csv", text);
    return drawn;
}

// ------------------------------------------------------------------------------------- the figures

static double statistic(const cJSON *result, const char *name) {
    return number(item(result, "statistics"), name);
}

static void assert_times(const cJSON *times) {
    assert_true(number(times, "p50") <= number(times, "p99"));
    assert_true(number(times, "p99") <= number(times, "max"));
    assert_true(number(times, "mean") <= number(times, "max"));
}

// Each allocation had its memory by one rule, or failed; each is counted once.
static void assert_statistics(const cJSON *result, double allocations) {
    static const char *const ways[] = {
        "ReuseSameStream",  "ReuseComplete", "ReuseOrdered", "ReuseFoundComplete",
        "ReuseMadeOrdered", "Growths",       "OtherRegion",  "Remaps"};
    double sum = 0, reserved = number(result, "reserved_peak_bytes");
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        sum += statistic(result, ways[i]);
    if (sum + number(result, "errors") != allocations)
        fail_msg("%.0f allocations, of which %.0f are counted: %s", allocations, sum,
                 cJSON_Print(result));
    assert_true(statistic(result, "GrowthsAfterTrim") <= statistic(result, "Growths"));
    assert_true(statistic(result, "PinnedBytes") <= reserved);
    assert_true(statistic(result, "PendingBytes") <= reserved);
    assert_true(statistic(result, "LargestFree") <= reserved);
    assert_true(statistic(result, "LargestRemapped") <= reserved);
    assert_true(statistic(result, "KeptViewsUsed") <= statistic(result, "Remaps"));
}

static void assert_result(const cJSON *result, const struct drawn *drawn) {
    const cJSON *malloced = item(result, "malloc_ns"), *freed = item(result, "free_ns");
    double total = number(result, "total_ns");
    double sum =
        number(malloced, "mean") * drawn->allocations + number(freed, "mean") * drawn->frees;
    assert_true(number(result, "live_peak_bytes") <= number(result, "reserved_peak_bytes"));
    assert_times(malloced);
    assert_times(freed);
    if (number(result, "errors") == 0)
        assert_true(sum >= total - 1 && sum <= total + 1);
    if (cJSON_HasObjectItem(result, "driver_calls_modelled_ns"))
        assert_true(number(result, "driver_calls_modelled_ns") +
                        number(result, "library_measured_ns") ==
                    total);
    if (cJSON_HasObjectItem(result, "end_to_end_ns"))
        assert_true(number(result, "end_to_end_ns") >= total);
    if (cJSON_HasObjectItem(result, "statistics"))
        assert_statistics(result, drawn->allocations);
}

// The row of the table that the result has: its live and reserved bytes, and their ratio.
static void assert_row(const char *table, const cJSON *result) {
    static const char units[] = "BKMGTPE";
    static const char *const titles[][2] = {
        {"pool", "streampool"}, {"promised", "StreamPromises"}, {"direct", "cuMemAlloc"}};
    double live = number(result, "live_peak_bytes"), read[2], ratio;
    const char *allocator = item(result, "allocator")->valuestring;
    char unit[2][8], begin[64];
    for (size_t i = 0; i < 3; i++)
        if (strcmp(titles[i][0], allocator) == 0)
            snprintf(begin, sizeof begin, "\ndrawn  %-14s", titles[i][1]);
    const char *row = strstr(table, begin);
    assert_non_null(row);
    assert_int_equal(sscanf(row + strlen(begin), "%lf %7s %lf %7s %lf", &read[0], unit[0], &read[1],
                            unit[1], &ratio),
                     5);
    double expected = number(result, "reserved_peak_bytes") / live;
    assert_true(ratio >= expected - 0.0006 && ratio <= expected + 0.0006);
    for (int i = 0; i < 2; i++)
        for (const char *prefix = units; *prefix != unit[i][0]; prefix++)
            read[i] *= 1024;
    assert_true(read[0] <= live * 1.06 && read[0] >= live * 0.94);
    assert_true(read[0] <= read[1] * 1.0001);
}

static void replay(const struct drawn *drawn, const char *option, const char *value) {
    const char *json = file_path("results.json");
    struct outcome outcome;
    program_run(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=memory=256M"),
                ARGUMENTS("replay", "--device", "sim", "-a", "pool,promised,direct", "--json", json,
                          drawn->path, option, value));
    assert_replayed(&outcome);
    char *text = file_read(json);
    cJSON *list = cJSON_Parse(text), *result;
    cJSON_ArrayForEach(result, list) {
        assert_result(result, drawn);
        if (number(result, "live_peak_bytes") > 0)
            assert_row(outcome.output, result);
    }
    free(text);
    cJSON_Delete(list);
    program_forget(&outcome);
}

static void figures_of_a_replay_fit_together(void **state) {
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        struct drawn drawn = draw_trace();
        replay(&drawn, "--seed", "1");
        replay(&drawn, "--work", "0.9");
        replay(&drawn, "--threads", NULL);
    }
}

static void figures_of_policies_fit_together(void **state) {
    (void)state;
    static const char *const ways[] = {
        "growths",       "reuse_same_stream",    "reuse_complete",
        "reuse_ordered", "reuse_found_complete", "reuse_made_ordered",
        "remaps",        "other_region",         "errors"};
    for (int i = 0; i < ROUNDS / 4; i++) {
        struct drawn drawn = draw_trace();
        struct outcome outcome;
        program_run(&outcome, NO_SETTINGS,
                    ARGUMENTS("policies", "--json", "-", "--limit", "256M", drawn.path));
        assert_replayed(&outcome);
        cJSON *list = cJSON_Parse(outcome.output), *result;
        cJSON_ArrayForEach(result, list) {
            double sum = 0;
            for (size_t k = 0; k < sizeof ways / sizeof ways[0]; k++)
                sum += number(result, ways[k]);
            assert_true(sum == drawn.allocations);
            assert_true(number(result, "growths_after_trim") <= number(result, "growths"));
            assert_true(number(result, "live_peak_bytes") <= number(result, "reserved_peak_bytes"));
            assert_true(number(result, "host_ns") <= number(result, "end_to_end_ns"));
        }
        cJSON_Delete(list);
        program_forget(&outcome);
    }
}

// Memory that was mapped for a block before and never used counts as complete.
static void where_nothing_was_freed_no_table_says_that_it_was_used_again(void **state) {
    (void)state;
    const char *path = file_write("kept.csv", TRACE_HEADER
                                  "1,0,allocate,0x1000000,65536,1\n"
                                  "1,1,allocate,0x2000000,65536,1\n");
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("policies", "--wide", path));
    assert_says(outcome.output, "taken: same");
    assert_says_not(outcome.output, "reuse");
    program_forget(&outcome);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_of_a_replay_fit_together),
        cmocka_unit_test(figures_of_policies_fit_together),
        cmocka_unit_test(where_nothing_was_freed_no_table_says_that_it_was_used_again),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
