// Replays with --explain-growth, and the line that STREAMPOOL_EXPLAIN_GROWTH has the library write.
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

// Operations 1, 2 and 4 grow the pool: by two large blocks on two streams, and by pages.
static const char small[] = TRACE_HEADER
    "1,0,allocate,0x1000000,67108864,3\n"
    "1,10,allocate,0x8000000,33554432,7\n"
    "1,20,free,0x1000000,67108864,3\n"
    "1,30,allocate,0x1000000,1024,3\n"
    "1,40,free,0x8000000,33554432,7\n";
enum { GROWTHS = 3 };

static const char *const keys[] = {
    "operation",
    "stream",
    "cause",
    "kind",
    "remap",
    "wanted_bytes",
    "from_free_bytes",
    "mapped_bytes",
    "extents",
    "reserved_before_bytes",
    "used_bytes",
    "free_whole_bytes",
    "free_pinned_bytes",
    "free_beside_pending_bytes",
    "pending_whole_bytes",
    "pending_pinned_bytes",
    "unfenced_whole_bytes",
    "unfenced_pinned_bytes",
    "listed_free_bytes",
    "listed_pending_bytes",
    "other_kinds_bytes",
    "slack_bytes",
    "largest_piece_bytes",
    "remap_extents",
    "remap_missing_bytes",
    "pinning_blocks",
    "pinning_bytes",
    "largest_pinning_bytes",
    "asked_driver",
    "may_wait",
    "cut_short",
    "after_trim",
    "after_waits",
};

// Of these, the ones that add up to what was reserved.
enum { FIRST_PART = 10, LAST_PART = 21 };

#define REPLAY(...)                                                                                \
    ARGUMENTS("replay", "--device", "sim", "--wide", __VA_ARGS__, file_write("small.csv", small))

static const char *text(const cJSON *object, const char *key) {
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    assert_non_null(value);
    return value;
}

static void run(struct outcome *outcome, const char *const settings[],
                const char *const arguments[]) {
    program_run(outcome, settings, arguments);
    if (outcome->status != 0)
        fail_msg("status %d: %s", outcome->status, outcome->errors);
}

// The results as JSON, which the caller deletes.
static cJSON *results(const char *const arguments[]) {
    struct outcome outcome;
    run(&outcome, NO_SETTINGS, arguments);
    cJSON *list = cJSON_Parse(outcome.output);
    assert_true(cJSON_IsArray(list));
    program_forget(&outcome);
    return list;
}

static const cJSON *growths_of(const cJSON *result) {
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(result, "growths");
    assert_true(cJSON_IsArray(list));
    return list;
}

static unsigned count(const char *in, const char *what) {
    unsigned times = 0;
    for (const char *at = strstr(in, what); at; at = strstr(at + 1, what))
        times++;
    return times;
}

// -------------------------------------------------------------------------------------------- JSON

static void assert_growth(const cJSON *growth) {
    double sum = 0;
    int i = 0;
    for (const cJSON *item = growth->child; item; item = item->next, i++) {
        assert_true(i < (int)(sizeof keys / sizeof keys[0]));
        assert_string_equal(item->string, keys[i]);
        sum += i >= FIRST_PART && i <= LAST_PART ? item->valuedouble : 0;
    }
    assert_int_equal(i, sizeof keys / sizeof keys[0]);
    assert_true(sum == number(growth, "reserved_before_bytes"));
}

static void each_growth_has_its_operation_and_its_figures(void **state) {
    (void)state;
    static const double operations[GROWTHS] = {1, 2, 4}, streams[GROWTHS] = {3, 7, 3};
    cJSON *list = results(REPLAY("--explain-growth", "--json", "-"));
    const cJSON *growths = growths_of(list->child);
    assert_int_equal(cJSON_GetArraySize(growths), GROWTHS);
    for (int i = 0; i < GROWTHS; i++) {
        const cJSON *growth = cJSON_GetArrayItem(growths, i);
        assert_growth(growth);
        assert_true(number(growth, "operation") == operations[i]);
        assert_true(number(growth, "stream") == streams[i]);
    }
    const cJSON *second = cJSON_GetArrayItem(growths, 1), *third = cJSON_GetArrayItem(growths, 2);
    assert_string_equal(text(second, "kind"), "large");
    assert_string_equal(text(second, "remap"), "filling");
    assert_true(number(second, "wanted_bytes") == 33554432);
    assert_true(number(second, "reserved_before_bytes") == 67108864);
    assert_true(number(second, "used_bytes") == 67108864);
    assert_string_equal(text(third, "kind"), "pages");
    assert_string_equal(text(third, "remap"), "wrong kind");
    assert_true(number(third, "other_kinds_bytes") == 67108864); // what was freed before
    cJSON_Delete(list);
}

static void a_pass_has_its_own_growths(void **state) {
    (void)state;
    cJSON *list = results(REPLAY("--explain-growth", "--passes", "2", "--json", "-"));
    assert_int_equal(cJSON_GetArraySize(growths_of(cJSON_GetArrayItem(list, 0))), GROWTHS);
    assert_int_equal(cJSON_GetArraySize(growths_of(cJSON_GetArrayItem(list, 1))), 0);
    cJSON_Delete(list);
}

// The block that is held is no operation of the trace.
static void each_start_has_its_own_growths(void **state) {
    (void)state;
    cJSON *list = results(REPLAY("--explain-growth", "--perturb", "3", "--json", "-"));
    const cJSON *starts = cJSON_GetObjectItemCaseSensitive(list->child, "starts");
    assert_int_equal(cJSON_GetArraySize(starts), 3);
    for (const cJSON *start = starts->child; start; start = start->next) {
        const cJSON *first = growths_of(start)->child;
        assert_true(number(first, "operation") == 1);
        assert_true(number(first, "used_bytes") == number(start, "perturbation_bytes"));
    }
    cJSON_Delete(list);
}

static void allocators_without_a_pool_of_ours_have_none(void **state) {
    (void)state;
    cJSON *list =
        results(REPLAY("--explain-growth", "--allocator", "direct,promised", "--json", "-"));
    assert_null(cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(list, 0), "growths"));
    assert_int_equal(cJSON_GetArraySize(growths_of(cJSON_GetArrayItem(list, 1))), GROWTHS);
    cJSON_Delete(list);
}

static void without_the_option_nothing_is_told(void **state) {
    (void)state;
    struct outcome outcome;
    cJSON *list = results(REPLAY("--json", "-"));
    assert_null(cJSON_GetObjectItemCaseSensitive(list->child, "growths"));
    cJSON_Delete(list);
    run(&outcome, NO_SETTINGS, REPLAY("--passes", "2"));
    assert_says_not(outcome.output, "grew by");
    assert_says_not(outcome.output, "growths that raised");
    assert_string_equal(outcome.errors, "");
    program_forget(&outcome);
}

// Blocks of 1 to 16 MiB on many streams, a third of them alive at a time.
static const char *write_many_streams(void) {
    enum { OPERATIONS = 600, ALIVE = 60, STREAMS = 12 };
    static char trace[OPERATIONS * 64] = TRACE_HEADER;
    unsigned sizes[ALIVE] = {0}, drawn = 1;
    size_t length = strlen(trace);
    for (int i = 0; i < OPERATIONS; i++) {
        drawn = drawn * 1103515245 + 12345;
        unsigned block = drawn >> 16 & 0x7fff, slot = block % ALIVE;
        bool frees = sizes[slot] > 0;
        unsigned size = frees ? sizes[slot] : (1 + block % 16) << 20;
        length += (size_t)snprintf(trace + length, sizeof trace - length, "1,%d,%s,0x%x,%u,%u\n", i,
                                   frees ? "free" : "allocate", (slot + 1) << 26, size,
                                   1 + slot % STREAMS);
        sizes[slot] = frees ? 0 : size;
    }
    return file_write("many.csv", trace);
}

static void what_is_replayed_is_the_same_with_and_without(void **state) {
    (void)state;
    static const char *const figures[] = {"ReuseSameStream", "ReuseComplete", "ReuseOrdered",
                                          "Growths",         "Remaps",        "EventsRecorded",
                                          "RemappedBytes",   "PinnedBytes",   "PendingBytes"};
    const char *path = write_many_streams();
    cJSON *plain =
        results(ARGUMENTS("replay", "--device", "sim", "--passes", "2", "--json", "-", path));
    cJSON *told = results(ARGUMENTS("replay", "--device", "sim", "--passes", "2", "--json", "-",
                                    "--explain-growth", path));
    for (int pass = 0; pass < 2; pass++) {
        const cJSON *one = cJSON_GetArrayItem(plain, pass), *other = cJSON_GetArrayItem(told, pass);
        assert_true(number(one, "reserved_peak_bytes") == number(other, "reserved_peak_bytes"));
        for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
            assert_true(number(cJSON_GetObjectItem(one, "statistics"), figures[i]) ==
                        number(cJSON_GetObjectItem(other, "statistics"), figures[i]));
    }
    const cJSON *growths = growths_of(told->child), *growth;
    assert_true(cJSON_GetArraySize(growths) > 10);
    cJSON_ArrayForEach(growth, growths) assert_growth(growth);
    cJSON_Delete(plain);
    cJSON_Delete(told);
}

// ----------------------------------------------------------------------------- the table and lines

static void the_table_sums_up_and_each_growth_is_a_line(void **state) {
    (void)state;
    struct outcome outcome;
    run(&outcome, NO_SETTINGS, REPLAY("--explain-growth", "--passes", "2"));
    assert_says(outcome.output,
                "\n\nsmall, streampool, pass 1: growths that raised the peak\ncause ");
    assert_says(outcome.output, "        3  98.0 MiB\n\n");
    assert_says_not(outcome.output, "pass 2: growths");
    assert_says(outcome.output, "\n\nsmall, streampool, pass 1, operation 1: pool ");
    assert_says(outcome.output, "\nsmall, streampool, pass 1, operation 2: pool ");
    assert_says(outcome.output, " grew by 32.0 MiB in 8 extents to 96.0: ");
    assert_says(outcome.output, "; not remapped: the pool is filling\n");
    assert_int_equal(count(outcome.output, " grew by "), GROWTHS);
    program_forget(&outcome);
}

// Stream 902 can't have what 901 has freed: with no event behind it, or behind work.
static void a_stream_has_the_traces_number_everywhere(void **state) {
    (void)state;
    static const char numbered[] = TRACE_HEADER
        "1,0,allocate,0x1000000,67108864,901\n"
        "1,10,free,0x1000000,67108864,901\n"
        "1,20,allocate,0x1000000,67108864,902\n";
    const char *path = file_write("numbered.csv", numbered);
    static const char *const work[] = {"0", "10000000"};
    for (size_t i = 0; i < 2; i++) {
        struct outcome outcome;
        run(&outcome, NO_SETTINGS,
            ARGUMENTS("replay", "--device", "sim", "--wide", "--explain-growth", "--work-ns",
                      work[i], "--set", i == 0 ? "UnfencedBytesMax=max" : "UnfencedBytesMax=0",
                      path));
        assert_says(outcome.output, " on stream 901 (0x");
        assert_says(outcome.output, " on stream 902 (0x");
        assert_says(outcome.output, i == 0 ? "no event behind it yet (64.0 of stream 901 (0x"
                                           : "not yet complete (64.0 of stream 901 (0x");
        program_forget(&outcome);
    }
}

static void with_starts_a_line_names_its_own(void **state) {
    (void)state;
    struct outcome outcome;
    run(&outcome, NO_SETTINGS, REPLAY("--explain-growth", "--perturb", "2"));
    assert_says(outcome.output, "\nsmall, streampool, start 1, pass 1, operation 1: pool");
    assert_says(outcome.output, "\nsmall, streampool, start 2, pass 1, operation 1: pool");
    assert_says_not(outcome.output, "pass 0"); // where the block is held
    program_forget(&outcome);
}

static void threads_name_their_own_operations(void **state) {
    (void)state;
    static const char threads[] = TRACE_HEADER
        "1,0,allocate,0x1000000,67108864,3\n"
        "2,10,allocate,0x8000000,67108864,7\n";
    cJSON *list = results(ARGUMENTS("replay", "--device", "sim", "--threads", "--explain-growth",
                                    "--json", "-", file_write("threads.csv", threads)));
    const cJSON *growths = growths_of(list->child), *growth;
    assert_int_equal(cJSON_GetArraySize(growths), 2);
    cJSON_ArrayForEach(growth, growths) {
        double operation = number(growth, "operation");
        assert_true(operation == 1 || operation == 2);
        assert_true(number(growth, "stream") == (operation == 1 ? 3 : 7));
    }
    cJSON_Delete(list);
}

// --------------------------------------------------------------------------------- the environment

static void the_environment_has_the_same_lines_written(void **state) {
    (void)state;
    struct outcome outcome;
    run(&outcome, SETTINGS("STREAMPOOL_EXPLAIN_GROWTH=1"), REPLAY("--explain-growth"));
    assert_int_equal(count(outcome.errors, "streampool: "), GROWTHS);
    const char *at = outcome.errors;
    for (int i = 0; i < GROWTHS; i++) {
        char line[1024];
        const char *end = strchr(at, '\n'), *stream = strstr(at, " on stream ");
        assert_non_null(end);
        assert_true(stream && stream < end);
        snprintf(line, sizeof line, ": %.*s", (int)(stream - at) - 12, at + 12);
        assert_says(outcome.output, line); // but for what the replay knows
        const char *behind = strchr(stream, ')');
        snprintf(line, sizeof line, "%.*s\n", (int)(end - behind), behind);
        assert_says(outcome.output, line);
        at = end + 1;
    }
    assert_string_equal(at, "");
    program_forget(&outcome);
}

static void the_environment_needs_no_observer(void **state) {
    (void)state;
    struct outcome outcome;
    run(&outcome, SETTINGS("STREAMPOOL_EXPLAIN_GROWTH=yes"), REPLAY("--passes", "2"));
    assert_int_equal(count(outcome.errors, " grew by "), GROWTHS);
    program_forget(&outcome);
    run(&outcome, SETTINGS("STREAMPOOL_EXPLAIN_GROWTH=0"), REPLAY("--passes", "2"));
    assert_string_equal(outcome.errors, "");
    program_forget(&outcome);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_growth_has_its_operation_and_its_figures),
        cmocka_unit_test(a_pass_has_its_own_growths),
        cmocka_unit_test(each_start_has_its_own_growths),
        cmocka_unit_test(allocators_without_a_pool_of_ours_have_none),
        cmocka_unit_test(without_the_option_nothing_is_told),
        cmocka_unit_test(what_is_replayed_is_the_same_with_and_without),
        cmocka_unit_test(the_table_sums_up_and_each_growth_is_a_line),
        cmocka_unit_test(a_stream_has_the_traces_number_everywhere),
        cmocka_unit_test(with_starts_a_line_names_its_own),
        cmocka_unit_test(threads_name_their_own_operations),
        cmocka_unit_test(the_environment_has_the_same_lines_written),
        cmocka_unit_test(the_environment_needs_no_observer),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
