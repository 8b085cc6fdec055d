// Replays on the simulated driver: the table, the figures that don't depend on the machine, and
// what happens when something is missing or memory is short.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include <cjson/cJSON.h>
#include <streampool/lists.h>

#include "program.h"

// Two streams; 8 MiB are alive at most; the last block is never freed.
static const char small[] = TRACE_HEADER
    "1,0,allocate,0x1000000,4194304,0\n"
    "1,10,allocate,0x2000000,4194304,7\n"
    "1,20,free,0x1000000,4194304,0\n"
    "1,30,allocate,0x1000000,1024,0\n"
    "1,40,free,0x2000000,4194304,7\n";

#define SIMULATED                                                                                  \
    "simulated driver: calls total = driver calls as they cost on an H200, modelled, + the "       \
    "library's own time, measured here\n"

// The line of the table that begins with these words, with one blank between words. The caller
// frees it.
static char *row_of(const char *table, const char *begin) {
    char *squeezed = malloc(strlen(table) + 1);
    assert_non_null(squeezed);
    for (const char *line = table; *line; line += strcspn(line, "\n") + 1) {
        size_t length = 0;
        for (const char *c = line; *c && *c != '\n'; c++)
            if (*c != ' ' || (length > 0 && squeezed[length - 1] != ' '))
                squeezed[length++] = *c;
        squeezed[length] = '\0';
        if (strncmp(squeezed, begin, strlen(begin)) == 0)
            return squeezed;
        if (line[strcspn(line, "\n")] == '\0')
            break;
    }
    fail_msg("no line begins with '%s' in: %s", begin, table);
    return squeezed;
}

static void assert_row(const char *table, const char *begin) {
    free(row_of(table, begin));
}

static void replay(struct outcome *outcome, const char *const settings[],
                   const char *const arguments[]) {
    program_run(outcome, settings, arguments);
    assert_replayed(outcome);
}

static void a_trace_is_replayed_and_its_exact_figures_printed(void **state) {
    (void)state;
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--wide", file_write("small.csv", small)));
    assert_row(outcome.output, "small streampool 5 2 0 8.0 MiB ");
    assert_string_equal(outcome.errors, "");
    program_forget(&outcome);
}

static void the_table_has_the_promised_columns_in_their_order(void **state) {
    (void)state;
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--wide", file_write("small.csv", small)));
    assert_row(outcome.output,
               "peak peak reserved malloc malloc malloc malloc free free calls "
               "driver calls library");
    assert_row(outcome.output,
               "trace allocator operations streams errors live reserved / live mean p50 p99 "
               "max mean p99 total modelled measured growths");
    program_forget(&outcome);
}

static void the_ratio_is_reserved_to_live(void **state) {
    (void)state;
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", "direct",
                     file_write("small.csv", small)));
    assert_row(outcome.output, "small cuMemAlloc 5 2 0 8.0 MiB 8.0 MiB 1.000 ");
    program_forget(&outcome);
}

static void a_simulated_device_is_named_as_such(void **state) {
    (void)state;
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--wide", file_write("small.csv", small)));
    assert_says(outcome.output, SIMULATED);
    program_forget(&outcome);
}

static void a_gzipped_trace_gives_the_same_figures(void **state) {
    (void)state;
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--wide",
                     file_write_gzipped("packed.csv.gz", small)));
    assert_row(outcome.output, "packed streampool 5 2 0 8.0 MiB ");
    program_forget(&outcome);
}

// Each byte of the trace in a gzip stream of its own, as `cat` puts files together.
static void gzip_streams_behind_each_other_are_one_trace(void **state) {
    (void)state;
    const char *path = file_path("members.csv.gz");
    for (size_t i = 0; i < strlen(small); i++) {
        gzFile file = gzopen(path, i == 0 ? "w" : "a");
        assert_non_null(file);
        assert_int_equal(gzwrite(file, small + i, 1), 1);
        assert_int_equal(gzclose(file), Z_OK);
    }
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS, ARGUMENTS("replay", "--device", "sim", "--wide", path));
    assert_row(outcome.output, "members streampool 5 2 0 8.0 MiB ");
    program_forget(&outcome);
}

static void each_trace_is_replayed_by_each_allocator_in_every_pass(void **state) {
    (void)state;
    const char *first = file_write("first.csv", small), *second = file_write("second.csv", small);
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", "direct,pool",
                     "--passes", "2", first, second));
    assert_row(outcome.output, "trace allocator pass operations ");
    static const char *const rows[] = {
        "first cuMemAlloc 1 5 2 0",  "first cuMemAlloc 2 5 2 0",  "first streampool 1 5 2 0",
        "first streampool 2 5 2 0",  "second cuMemAlloc 1 5 2 0", "second cuMemAlloc 2 5 2 0",
        "second streampool 1 5 2 0", "second streampool 2 5 2 0",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_row(outcome.output, rows[i]);
    program_forget(&outcome);
}

static void a_threshold_may_have_a_unit(void **state) {
    (void)state;
    static const char *const thresholds[] = {"0", "1048576", "64M", "2g", "max"};
    const char *path = file_write("small.csv", small);
    for (size_t i = 0; i < sizeof thresholds / sizeof thresholds[0]; i++) {
        struct outcome outcome;
        replay(
            &outcome, NO_SETTINGS,
            ARGUMENTS("replay", "--device", "sim", "--wide", "--threshold", thresholds[i], path));
        assert_row(outcome.output, "small streampool 5 2 0 8.0 MiB ");
        program_forget(&outcome);
    }
}

static void requests_of_no_bytes_succeed_with_every_allocator(void **state) {
    (void)state;
    const char *path = file_write("nil.csv", TRACE_HEADER
                                  "1,00:00:00.000001,allocate,(nil),0,(nil)\n"
                                  "1,00:00:00.000002,allocate,0x100,0,(nil)\n"
                                  "1,00:00:00.000003,free,(nil),0,0x0\n"
                                  "1,00:00:00.000004,free,0x100,0,0x0\n");
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", "pool,direct", path));
    assert_row(outcome.output, "nil streampool 4 1 0 0 B ");
    assert_row(outcome.output, "nil cuMemAlloc 4 1 0 0 B ");
    program_forget(&outcome);
}

// ----------------------------------------------------------------------- statistics and all traces

// The last word of a row.
static double last_of(const char *table, const char *begin) {
    char *row = row_of(table, begin);
    double number = strtod(strrchr(row, ' '), NULL);
    free(row);
    return number;
}

static void the_pools_growths_are_counted_in_each_pass(void **state) {
    (void)state;
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--wide", "--passes", "2",
                     file_write("small.csv", small)));
    assert_true(last_of(outcome.output, "small streampool 1 ") >= 1);
    assert_true(last_of(outcome.output, "small streampool 2 ") == 0);
    program_forget(&outcome);
}

static void an_allocator_without_statistics_has_no_growths(void **state) {
    (void)state;
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", "direct", "--statistics",
                     file_write("small.csv", small)));
    assert_null(strstr(outcome.output, "growths"));
    assert_null(strstr(outcome.output, "Growths"));
    program_forget(&outcome);
}

static void statistics_are_a_table_with_a_line_for_each_figure(void **state) {
    (void)state;
    const char *path = file_write("small.csv", small);
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--wide", "--statistics", path));
    assert_says(outcome.output, "\n\nsmall, streampool, pass 1\nstatistic ");
#define ASSERT_PRINTED(name, number, text) assert_row(outcome.output, #name " ");
    STREAMPOOL_POOL_STATISTICS(ASSERT_PRINTED)
    STREAMPOOL_POOL_GAUGES(ASSERT_PRINTED)
#undef ASSERT_PRINTED
    program_forget(&outcome);

    replay(&outcome, NO_SETTINGS, ARGUMENTS("replay", "--device", "sim", "--wide", path));
    assert_null(strstr(outcome.output, "\nstatistic "));
    program_forget(&outcome);
}

// The last word of the figure's line.
static const char *unit_of(const char *output, const char *name, char unit[8]) {
    char *row = row_of(output, name);
    snprintf(unit, 8, "%s", strrchr(row, ' ') + 1);
    free(row);
    return unit;
}

static bool is_one_of(const char *word, const char *const words[]) {
    while (*words && strcmp(*words, word) != 0)
        words++;
    return *words != NULL;
}

// By what the library's own description of it says.
static void assert_unit(const char *output, const char *name, const char *description) {
    static const char *const sizes[] = {"B", "KiB", "MiB", "GiB", "TiB", NULL};
    static const char *const times[] = {"ns", "µs", "ms", "s", NULL};
    char text[8];
    const char *unit = unit_of(output, name, text);
    bool largest = strncmp(name, "Largest", strlen("Largest")) == 0; // a block
    if (strstr(description, "nanoseconds")        ? !is_one_of(unit, times)
        : largest || strstr(description, "bytes") ? !is_one_of(unit, sizes)
                                                  : strspn(unit, "0123456789.") != strlen(unit))
        fail_msg("%s, which is %s, ends with '%s'", name, description, unit);
}

static void each_statistic_has_its_unit(void **state) {
    (void)state;
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--wide", "--statistics",
                     file_write("small.csv", small)));
#define ASSERT_UNIT(name, number, text) assert_unit(outcome.output, #name " ", text);
    STREAMPOOL_POOL_STATISTICS(ASSERT_UNIT)
    STREAMPOOL_POOL_GAUGES(ASSERT_UNIT)
#undef ASSERT_UNIT
    program_forget(&outcome);
}

static double ratio_of(const cJSON *result) {
    return cJSON_GetObjectItemCaseSensitive(result, "reserved_peak_bytes")->valuedouble /
           cJSON_GetObjectItemCaseSensitive(result, "live_peak_bytes")->valuedouble;
}

// Of the two results of the pool in the file.
static void assert_geometric_mean(const char *table, const char *json) {
    char *text = file_read(json);
    assert_non_null(text);
    cJSON *list = cJSON_Parse(text);
    char expected[64];
    snprintf(expected, sizeof expected, "geometric mean streampool %.3f",
             sqrt(ratio_of(cJSON_GetArrayItem(list, 0)) * ratio_of(cJSON_GetArrayItem(list, 2))));
    assert_row(table, expected);
    cJSON_Delete(list);
    free(text);
}

static void several_traces_end_with_the_geometric_mean_of_their_ratios(void **state) {
    (void)state;
    const char *first = file_write("first.csv", small), *json = file_path("mean.json");
    const char *second =
        file_write("second.csv", TRACE_HEADER "1,0,allocate,0x1000000,104857600,0\n");
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", "pool,direct", "--json",
                     json, first, second));
    assert_geometric_mean(outcome.output, json);
    assert_row(outcome.output, "geometric mean cuMemAlloc 1.000");
    program_forget(&outcome);
}

static void a_trace_with_nothing_alive_is_left_out_of_the_mean(void **state) {
    (void)state;
    const char *first = file_write("first.csv", small), *second = file_write("second.csv", small);
    const char *nothing = file_write("nothing.csv", TRACE_HEADER "1,0,allocate,0x100,0,0\n");
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--allocator", "direct", first, nothing, second));
    assert_row(outcome.output, "nothing cuMemAlloc 0 B 0 B - ");
    assert_row(outcome.output, "geometric mean cuMemAlloc 1.000");
    program_forget(&outcome);
}

static void one_trace_has_no_geometric_mean(void **state) {
    (void)state;
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--wide", "--passes", "2",
                     file_write("small.csv", small)));
    assert_null(strstr(outcome.output, "geometric mean"));
    program_forget(&outcome);
}

// ------------------------------------------------------------------------- work, order and threads

static void work_is_put_behind_the_blocks_and_all_of_it_is_waited_for(void **state) {
    (void)state;
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", "pool,direct", "--work",
                     "0.9", file_write("small.csv", small)));
    assert_says(outcome.output, "times are those of its virtual clock, not of a GPU\n");
    assert_row(outcome.output,
               "trace allocator operations streams errors live reserved / live mean p50 p99 max "
               "mean p99 total busy end growths");
    assert_row(outcome.output, "small streampool 5 2 0 8.0 MiB ");
    assert_row(outcome.output, "small cuMemAlloc 5 2 0 8.0 MiB ");
    program_forget(&outcome);
}

static void without_work_nothing_is_said_about_it(void **state) {
    (void)state;
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--wide", file_write("small.csv", small)));
    assert_null(strstr(outcome.output, "busy"));
    assert_null(strstr(outcome.output, "end to"));
    program_forget(&outcome);
}

static void with_work_the_simulated_drivers_figures_are_the_same_in_every_run(void **state) {
    (void)state;
    const char *path = file_write("small.csv", small);
    struct outcome first, second;
    replay(&first, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--wide", "--work", "0.5", "--passes", "2",
                     "--events", "1", path));
    replay(&second, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--wide", "--work", "0.5", "--passes", "2",
                     "--events", "1", path));
    assert_string_equal(first.output, second.output);
    program_forget(&first);
    program_forget(&second);
}

// Thread 1 allocates on stream 1, thread 2 frees on stream 2, and once the other way round.
static const char handed_over[] = TRACE_HEADER
    "1,0,allocate,0x1000000,4194304,1\n"
    "1,1,allocate,0x2000000,4194304,1\n"
    "2,2,free,0x1000000,4194304,2\n"
    "2,3,allocate,0x3000000,1024,2\n"
    "1,4,free,0x3000000,1024,1\n"
    "1,5,allocate,0x1000000,8388608,1\n"
    "2,6,free,0x2000000,4194304,2\n"
    "2,7,free,0x1000000,8388608,2\n";

// The simulated driver reports it when the one stream's work doesn't run after the other's; the
// program then fails.
static void a_free_on_another_stream_is_ordered_behind_the_allocations(void **state) {
    (void)state;
    static const char *const settings[] = {"STREAMPOOL_SIMCUDA=completion=earliest",
                                           "STREAMPOOL_SIMCUDA=completion=latest",
                                           "STREAMPOOL_SIMCUDA=completion=latest,api=10020"};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        struct outcome outcome;
        replay(&outcome, SETTINGS(settings[i]),
               ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", "pool,direct",
                         "--passes", "3", "--work-ns", "1000000",
                         file_write("handed_over.csv", handed_over)));
        assert_row(outcome.output, "handed_over streampool 1 8 2 0 12.0 MiB ");
        assert_row(outcome.output, "handed_over cuMemAlloc 3 8 2 0 12.0 MiB ");
        assert_string_equal(outcome.errors, "");
        program_forget(&outcome);
    }
}

// How the threads mix is not settled, and so is the peak; what each does is.
static void each_thread_of_a_trace_may_have_a_thread_of_its_own(void **state) {
    (void)state;
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", "pool,direct",
                     "--threads", "--passes", "20", file_write("handed_over.csv", handed_over)));
    assert_row(outcome.output, "handed_over streampool 20 8 2 0 ");
    assert_row(outcome.output, "handed_over cuMemAlloc 20 8 2 0 ");
    program_forget(&outcome);
}

static void threads_with_work_misuse_no_memory(void **state) {
    (void)state;
    struct outcome outcome;
    replay(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=completion=latest"),
           ARGUMENTS("replay", "--device", "sim", "--wide", "--threads", "--passes", "20",
                     "--work-ns", "100000", "--events", "2",
                     file_write("handed_over.csv", handed_over)));
    assert_row(outcome.output, "handed_over streampool 20 8 2 0 ");
    assert_string_equal(outcome.errors, "");
    program_forget(&outcome);
}

static void a_trace_may_have_very_many_threads(void **state) {
    (void)state;
    enum { THREADS = 1000 };
    static char text[THREADS * 48 + 64];
    size_t length = (size_t)sprintf(text, TRACE_HEADER);
    for (unsigned i = 0; i < THREADS; i++)
        length +=
            (size_t)sprintf(text + length, "%u,%u,allocate,0x%x,512,0\n", i, i, 512 * (i + 1));
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--wide", "--threads",
                     file_write("crowd.csv", text)));
    assert_row(outcome.output, "crowd streampool 1000 1 0 500.0 KiB ");
    program_forget(&outcome);
}

static void a_thread_whose_block_could_not_be_allocated_is_not_waited_for(void **state) {
    (void)state;
    const char *path = file_write("too_much.csv", TRACE_HEADER
                                  "1,0,allocate,0x1000000,1073741824,1\n"
                                  "2,1,free,0x1000000,1073741824,2\n"
                                  "2,2,allocate,0x2000000,1024,2\n");
    struct outcome outcome;
    replay(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=memory=64M"),
           ARGUMENTS("replay", "--device", "sim", "--wide", "--threads", path));
    assert_row(outcome.output, "too_much streampool 3 2 1 ");
    assert_says(
        outcome.output,
        "too_much, streampool, pass 1: allocation at line 2: poolErrorMemoryAllocation (errors "
        "in all: 1)\n");
    program_forget(&outcome);
}

// --------------------------------------------------------------------------------- short of memory

// The second request is more than the device has; its free has nothing to free.
static const char demanding[] = TRACE_HEADER
    "1,0,allocate,0x1000000,33554432,0\n"
    "1,1,allocate,0x8000000,134217728,0\n"
    "1,2,free,0x8000000,134217728,0\n"
    "1,3,free,0x1000000,33554432,0\n";

static void a_failed_allocation_is_an_error_and_its_free_is_skipped(void **state) {
    (void)state;
    struct outcome outcome;
    replay(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=memory=64M"),
           ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", "pool,direct",
                     file_write("big.csv", demanding)));
    assert_row(outcome.output, "big streampool 4 1 1 32.0 MiB 32.0 MiB 1.000 ");
    assert_row(outcome.output, "big cuMemAlloc 4 1 1 32.0 MiB ");
    assert_says(outcome.output,
                "big, streampool, pass 1: allocation at line 3: poolErrorMemoryAllocation (errors "
                "in all: 1)\n");
    assert_says(outcome.output,
                "big, cuMemAlloc, pass 1: allocation at line 3: CUDA_ERROR_OUT_OF_MEMORY (errors "
                "in all: 1)\n");
    program_forget(&outcome);
}

static void a_request_that_had_failed_is_tried_and_given_back_at_once(void **state) {
    (void)state;
    const char *path = file_write("failure.csv", TRACE_HEADER
                                  "1,0,allocate failure,(nil),33554432,0\n"
                                  "1,1,allocate failure,(nil),33554432,0\n"
                                  "1,2,allocate,0x100,1024,0\n");
    struct outcome outcome;
    replay(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=memory=48M"),
           ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", "pool,direct", path));
    assert_row(outcome.output, "failure streampool 3 1 0 32.0 MiB ");
    assert_row(outcome.output, "failure cuMemAlloc 3 1 0 32.0 MiB ");
    program_forget(&outcome);
}

static void one_replay_leaves_no_memory_to_the_next(void **state) {
    (void)state;
    const char *path = file_write("most.csv", TRACE_HEADER
                                  "1,0,allocate,0x1000000,50331648,0\n"
                                  "1,1,free,0x1000000,50331648,0\n");
    struct outcome outcome;
    replay(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=memory=64M"),
           ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", "pool,direct",
                     "--passes", "2", path, path));
    assert_null(strstr(outcome.output, "errors in all"));
    assert_row(outcome.output, "most streampool 2 2 1 0 48.0 MiB ");
    assert_row(outcome.output, "most cuMemAlloc 2 2 1 0 48.0 MiB ");
    program_forget(&outcome);
}

// The library keeps its address ranges, which cost nothing, until the process ends. All else is
// given back.
static void a_replay_misuses_nothing_and_leaves_nothing_behind(void **state) {
    (void)state;
    static const char range[] = "streampool: simulated driver: leak: address range ";
    struct outcome outcome;
    replay(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=reports=print"),
           ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", "pool,direct",
                     "--passes", "2", file_write("small.csv", small)));
    for (const char *line = outcome.errors; *line; line += strcspn(line, "\n") + 1)
        if (strncmp(line, range, strlen(range)) != 0)
            fail_msg("%s", line);
    program_forget(&outcome);
}

// ----------------------------------------------------------------------------- the pool's settings

// Of each place another number of bytes, and of the host two blocks, of which one is alive at a
// time on one stream.
static const char placed[] = TRACE_HEADER
    "1,0,allocate,0x100,33554432,1\n"
    "1,1,allocate host,0x200,8388608,1\n"
    "1,2,allocate node,0x300,4194304,1\n"
    "1,3,allocate staging,0x400,16777216,1\n"
    "1,4,allocate managed,0x500,12582912,2\n"
    "1,5,allocate failure host,0,1125899906842624,1\n"
    "1,6,free,0x200,8388608,1\n"
    "1,7,trim host,0,0,0\n"
    "1,8,allocate host,0x200,6291456,1\n"
    "1,9,free,0x100,33554432,1\n"
    "1,10,free unordered,0x400,16777216,0\n";

static void memory_of_other_places_has_figures_of_its_own(void **state) {
    (void)state;
    const char *path = file_write("placed.csv", placed);
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--allocator", "pool,direct", path));
    assert_row(outcome.output, "placed streampool 32.0 MiB 32.0 MiB 1.000 ");
    assert_row(outcome.output, "placed cuMemAlloc 32.0 MiB 32.0 MiB 1.000 ");
    assert_row(outcome.output, "placed streampool host 8.0 MiB 8.0 MiB 1.000");
    assert_row(outcome.output, "placed streampool node 4.0 MiB 4.0 MiB 1.000");
    assert_row(outcome.output, "placed streampool staging 16.0 MiB 16.0 MiB 1.000");
    assert_row(outcome.output, "placed streampool managed 12.0 MiB ");
    assert_says_not(outcome.output, "cuMemAlloc  host");
    program_forget(&outcome);
}

// Without its trim the pool would hold the host's first block beside the second one.
static void a_trim_is_of_the_pool_of_its_place(void **state) {
    (void)state;
    static const char trimmed[] = TRACE_HEADER
        "1,0,allocate,0x100,33554432,1\n"
        "1,1,allocate host,0x200,8388608,1\n"
        "1,2,free,0x100,33554432,1\n"
        "1,3,free,0x200,8388608,1\n"
        "1,4,synchronize device,0,0,0\n"
        "1,5,trim host,0,0,0\n"
        "1,6,allocate,0x100,33554432,1\n"
        "1,7,allocate host,0x200,16777216,1\n";
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--threshold", "1G", "--wide",
                     file_write("trimmed.csv", trimmed)));
    assert_row(outcome.output, "trimmed streampool host 16.0 MiB 16.0 MiB 1.000");
    char *row = row_of(outcome.output, "trimmed streampool 8 1 0 32.0 MiB 32.0 MiB ");
    assert_string_equal(strrchr(row, ' '), " 1"); // the device's pool grew once
    free(row);
    program_forget(&outcome);
}

static void calls_at_other_places_are_not_timed(void **state) {
    (void)state;
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--allocator", "pool,promised,direct",
                     file_write("host.csv", TRACE_HEADER "1,0,allocate host,0x200,8388608,1\n"
                                                         "1,1,free,0x200,8388608,1\n")));
    assert_row(outcome.output, "host streampool 0 B 0 B - 0 ns");
    assert_row(outcome.output, "host StreamPromises 0 B 0 B - 0 ns");
    assert_row(outcome.output, "host cuMemAlloc 0 B 0 B - 0 ns");
    assert_row(outcome.output, "host StreamPromises host 8.0 MiB 8.0 MiB 1.000");
    program_forget(&outcome);
}

static double work_of(const cJSON *list, int index) {
    return cJSON_GetObjectItem(cJSON_GetArrayItem(list, index), "work_ns")->valuedouble;
}

static void work_is_put_behind_blocks_of_the_device_alone(void **state) {
    (void)state;
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--work-ns", "1000", "--allocator", "pool,direct",
                     "--json", "-", file_write("placed.csv", placed)));
    cJSON *list = cJSON_Parse(outcome.output);
    assert_true(work_of(list, 0) == 1000 && work_of(list, 1) == 1000);
    cJSON_Delete(list);
    program_forget(&outcome);
}

static void work_and_threads_go_with_other_places(void **state) {
    (void)state;
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--work", "0.9", "--threads", "--perturb", "2",
                     file_write("placed.csv", placed)));
    assert_row(outcome.output, "placed streampool host 8.0 MiB 8.0 MiB 1.000");
    program_forget(&outcome);
}

static void a_place_that_the_driver_lacks_is_named(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=api=11080"),
                ARGUMENTS("replay", "--device", "sim", file_write("placed.csv", placed)));
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.errors, "streampool: not replayed: memory of the place 'node': ");
    program_forget(&outcome);
}

static void a_limit_binds_the_pool_and_nobody_else(void **state) {
    (void)state;
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", "pool,promised,direct",
                     "--limit", "64M", file_write("big.csv", demanding)));
    assert_row(outcome.output, "big streampool 4 1 1 32.0 MiB 32.0 MiB 1.000 ");
    assert_row(outcome.output, "big StreamPromises 4 1 1 32.0 MiB 32.0 MiB 1.000 ");
    assert_row(outcome.output, "big cuMemAlloc 4 1 0 160.0 MiB ");
    program_forget(&outcome);
}

static double events_recorded(const char *allocator, const char *first, const char *second) {
    struct outcome outcome;
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", allocator, "--json", "-",
                     "--set", first, "--set", second, file_write("small.csv", small)));
    cJSON *list = cJSON_Parse(outcome.output);
    const cJSON *statistics =
        cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(list, 0), "statistics");
    double events = cJSON_GetObjectItemCaseSensitive(statistics, "EventsRecorded")->valuedouble;
    cJSON_Delete(list);
    program_forget(&outcome);
    return events;
}

// An event stands behind each of the two frees, or behind none.
static void attributes_are_set_by_their_names(void **state) {
    (void)state;
    static const char none[] = "UnfencedBytesMax=0", all[] = "UnfencedBytesMax=1T";
    assert_true(events_recorded("pool", "Reaper=0", none) == 2);
    assert_true(events_recorded("pool", none, all) == 0);
    assert_true(events_recorded("promised", "Reaper=0", none) == 0);
    assert_true(events_recorded("promised", "StreamPromises=0", none) == 2);
    assert_true(events_recorded("pool", none, "unfencedbytesmax=max, ReleaseThreshold=1") == 0);
    assert_true(events_recorded("pool", none, "poolMemPoolAttrUnfencedBytesMax=1G") == 0);
}

// A synchronise leaves what the threshold says, so the second allocation is a growth again.
static void an_attribute_need_not_be_the_librarys_own(void **state) {
    (void)state;
    struct outcome outcome;
    const char *path = file_write("again.csv", TRACE_HEADER
                                  "1,0,allocate,0x1000000,67108864,1\n"
                                  "1,1,free,0x1000000,67108864,1\n"
                                  "1,2,allocate,0x1000000,1024,1\n"
                                  "1,3,free,0x1000000,1024,1\n"
                                  "1,4,allocate,0x1000000,67108864,1\n");
    replay(&outcome, NO_SETTINGS,
           ARGUMENTS("replay", "--device", "sim", "--synchronize", "1", "--statistics", "--set",
                     "ReleaseThreshold=0", path));
    assert_row(outcome.output, "Growths 3");
    program_forget(&outcome);
}

static void an_attribute_that_the_library_refuses_ends_the_replay(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", "direct,pool",
                          "--set", "Defragmentation=3", file_write("small.csv", small)));
    assert_string_equal(
        outcome.errors,
        "streampool: small, streampool: --set is refused: "
        "poolErrorInvalidValue: poolMemPoolAttrDefragmentation can't be 3, which is no policy\n");
    assert_string_equal(outcome.output, "");
    assert_int_equal(outcome.status, 1);
    program_forget(&outcome);
}

// --------------------------------------------------------------------------- what the device lacks

static void an_allocator_that_the_device_lacks_is_named_and_the_others_run(void **state) {
    (void)state;
    struct outcome outcome;
    replay(&outcome, SETTINGS("STREAMPOOL_DRIVER_API=11010"),
           ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", "driver,pool,direct",
                     file_write("small.csv", small)));
    assert_says(
        outcome.output,
        "\nCUDA's pool: not replayed: the driver has no cuMemAllocAsync (new in CUDA 11.2)\n");
    assert_row(outcome.output, "small streampool 5 2 0 ");
    assert_row(outcome.output, "small cuMemAlloc 5 2 0 ");
    program_forget(&outcome);
}

static void a_replay_of_nothing_fails(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS("STREAMPOOL_DRIVER_API=11010"),
                ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", "driver",
                          file_write("small.csv", small)));
    assert_int_equal(outcome.status, 1);
    assert_string_equal(outcome.output, "");
    assert_string_equal(
        outcome.errors,
        "CUDA's pool: not replayed: the driver has no cuMemAllocAsync (new in CUDA 11.2)\n"
        "streampool: nothing was replayed\n");
    program_forget(&outcome);
}

static void without_virtual_memory_the_pool_is_replayed_too(void **state) {
    (void)state;
    struct outcome outcome;
    replay(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=vmm=missing"),
           ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", "pool,direct",
                     file_write("small.csv", small)));
    assert_row(outcome.output, "small streampool 5 2 0 ");
    assert_row(outcome.output, "small cuMemAlloc 5 2 0 ");
    program_forget(&outcome);
}

enum { NO_GPU = 3 };

static void a_gpu_is_insisted_on_when_it_is_asked_for(void **state) {
    (void)state;
    const char *path = file_write("small.csv", small);
    struct outcome outcome;
    program_run(&outcome, SETTINGS("STREAMPOOL_DRIVER=/nonexistent/libcuda.so.1"),
                ARGUMENTS("replay", "--device", "gpu", path));
    assert_int_equal(outcome.status, NO_GPU);
    assert_string_equal(outcome.output, "");
    assert_says(outcome.errors, "streampool: no usable GPU: ");
    assert_says(outcome.errors, "/nonexistent/libcuda.so.1");
    program_forget(&outcome);

    program_run(&outcome, NO_SETTINGS, ARGUMENTS("replay", "--device", "gpu", path));
    assert_int_equal(outcome.status, NO_GPU);
    assert_string_equal(outcome.output, "");
    assert_string_equal(
        outcome.errors,
        "streampool: no usable GPU: STREAMPOOL_DRIVER names the simulated driver\n");
    program_forget(&outcome);

    program_run(&outcome, NO_SETTINGS, ARGUMENTS("policies", "--device", "gpu", path));
    assert_int_equal(outcome.status, NO_GPU);
    program_forget(&outcome);
}

static void auto_takes_the_driver_that_the_environment_names(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS("STREAMPOOL_DRIVER=/nonexistent/libcuda.so.1"),
                ARGUMENTS("replay", "--device", "auto", file_write("small.csv", small)));
    assert_int_equal(outcome.status, NO_GPU);
    assert_string_equal(outcome.output, "");
    assert_says(outcome.errors, "/nonexistent/libcuda.so.1");
    program_forget(&outcome);
}

static void auto_without_a_usable_gpu_takes_the_simulated_driver_and_says_so(void **state) {
    (void)state;
    file_write("libcuda.so.1", "not a library");
    char search[300];
    snprintf(search, sizeof search, "LD_LIBRARY_PATH=%s", file_path(""));
    struct outcome outcome;
    replay(&outcome, SETTINGS("STREAMPOOL_DRIVER", search),
           ARGUMENTS("replay", "--wide", file_write("small.csv", small)));
    assert_says(outcome.errors, "streampool: no usable GPU (");
    assert_says(outcome.errors, "): using the simulated driver\n");
    assert_int_equal(strcspn(outcome.errors, "\n") + 1, strlen(outcome.errors));
    assert_says(outcome.output, SIMULATED);
    assert_row(outcome.output, "small streampool 5 2 0 8.0 MiB ");
    program_forget(&outcome);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_is_replayed_and_its_exact_figures_printed),
        cmocka_unit_test(the_table_has_the_promised_columns_in_their_order),
        cmocka_unit_test(the_ratio_is_reserved_to_live),
        cmocka_unit_test(a_simulated_device_is_named_as_such),
        cmocka_unit_test(a_gzipped_trace_gives_the_same_figures),
        cmocka_unit_test(gzip_streams_behind_each_other_are_one_trace),
        cmocka_unit_test(each_trace_is_replayed_by_each_allocator_in_every_pass),
        cmocka_unit_test(a_threshold_may_have_a_unit),
        cmocka_unit_test(requests_of_no_bytes_succeed_with_every_allocator),
        cmocka_unit_test(the_pools_growths_are_counted_in_each_pass),
        cmocka_unit_test(an_allocator_without_statistics_has_no_growths),
        cmocka_unit_test(statistics_are_a_table_with_a_line_for_each_figure),
        cmocka_unit_test(each_statistic_has_its_unit),
        cmocka_unit_test(several_traces_end_with_the_geometric_mean_of_their_ratios),
        cmocka_unit_test(a_trace_with_nothing_alive_is_left_out_of_the_mean),
        cmocka_unit_test(one_trace_has_no_geometric_mean),
        cmocka_unit_test(work_is_put_behind_the_blocks_and_all_of_it_is_waited_for),
        cmocka_unit_test(without_work_nothing_is_said_about_it),
        cmocka_unit_test(with_work_the_simulated_drivers_figures_are_the_same_in_every_run),
        cmocka_unit_test(a_free_on_another_stream_is_ordered_behind_the_allocations),
        cmocka_unit_test(each_thread_of_a_trace_may_have_a_thread_of_its_own),
        cmocka_unit_test(threads_with_work_misuse_no_memory),
        cmocka_unit_test(a_trace_may_have_very_many_threads),
        cmocka_unit_test(a_thread_whose_block_could_not_be_allocated_is_not_waited_for),
        cmocka_unit_test(a_failed_allocation_is_an_error_and_its_free_is_skipped),
        cmocka_unit_test(a_request_that_had_failed_is_tried_and_given_back_at_once),
        cmocka_unit_test(one_replay_leaves_no_memory_to_the_next),
        cmocka_unit_test(a_replay_misuses_nothing_and_leaves_nothing_behind),
        cmocka_unit_test(memory_of_other_places_has_figures_of_its_own),
        cmocka_unit_test(a_trim_is_of_the_pool_of_its_place),
        cmocka_unit_test(calls_at_other_places_are_not_timed),
        cmocka_unit_test(work_is_put_behind_blocks_of_the_device_alone),
        cmocka_unit_test(work_and_threads_go_with_other_places),
        cmocka_unit_test(a_place_that_the_driver_lacks_is_named),
        cmocka_unit_test(a_limit_binds_the_pool_and_nobody_else),
        cmocka_unit_test(attributes_are_set_by_their_names),
        cmocka_unit_test(an_attribute_need_not_be_the_librarys_own),
        cmocka_unit_test(an_attribute_that_the_library_refuses_ends_the_replay),
        cmocka_unit_test(an_allocator_that_the_device_lacks_is_named_and_the_others_run),
        cmocka_unit_test(a_replay_of_nothing_fails),
        cmocka_unit_test(without_virtual_memory_the_pool_is_replayed_too),
        cmocka_unit_test(a_gpu_is_insisted_on_when_it_is_asked_for),
        cmocka_unit_test(auto_takes_the_driver_that_the_environment_names),
        cmocka_unit_test(auto_without_a_usable_gpu_takes_the_simulated_driver_and_says_so),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
