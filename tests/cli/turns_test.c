// Replays with --one-pool, --trim and --print-passes on the simulated driver: what a pool keeps
// from trace to trace and from pass to pass, and which passes are printed.
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

#define MIB(n) ((double)((uint64_t)(n) << 20))

// Three traces, of 64, 96 and 8 MiB at most. The second destroys its stream, and leaves a block.
static const char first[] = TRACE_HEADER
    "1,0,allocate,0x1000000,33554432,3\n"
    "1,1,allocate,0x8000000,33554432,4\n"
    "1,2,free,0x1000000,33554432,3\n"
    "1,3,free,0x8000000,33554432,4\n";
static const char second[] = TRACE_HEADER
    "1,0,non-blocking stream,0,0,5\n"
    "1,1,allocate,0x1000000,67108864,5\n"
    "1,2,allocate,0x8000000,33554432,6\n"
    "1,3,free,0x1000000,67108864,5\n"
    "1,4,destroy stream,0,0,5\n";
static const char third[] = TRACE_HEADER
    "1,0,allocate,0x1000000,8388608,0\n"
    "1,1,free,0x1000000,8388608,0\n";

static const char *first_file(void) {
    return file_write("first.csv", first);
}

static const char *second_file(void) {
    return file_write("second.csv", second);
}

static const char *third_file(void) {
    return file_write("third.csv", third);
}

// -------------------------------------------------------------------------------------------- JSON

static double statistic(const cJSON *result, const char *name) {
    return number(item(result, "statistics"), name);
}

// The result of a trace in a pass, of the only allocator.
static const cJSON *result_of(const cJSON *list, const char *trace, int pass) {
    for (const cJSON *result = list->child; result; result = result->next)
        if (strcmp(item(result, "trace")->valuestring, trace) == 0 &&
            number(result, "pass") == pass)
            return result;
    fail_msg("no result of %s in pass %d", trace, pass);
    return NULL;
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

#define REPLAY(...) replay(ARGUMENTS("replay", "--device", "sim", "--json", "-", __VA_ARGS__))
#define IN_TURN(...)                                                                               \
    REPLAY("--one-pool", "--passes", "2", __VA_ARGS__, first_file(), second_file(), third_file())

// ---------------------------------------------------------------------------------------- one pool

static void each_pass_has_each_trace_in_the_order_given(void **state) {
    (void)state;
    static const char *const names[] = {"first", "second", "third"};
    cJSON *list = IN_TURN("--allocator", "pool,promised,direct");
    assert_int_equal(cJSON_GetArraySize(list), 3 * 2 * 3);
    int i = 0;
    for (const cJSON *result = list->child; result; result = result->next, i++) {
        assert_string_equal(item(result, "trace")->valuestring, names[i % 3]);
        assert_true(number(result, "pass") == 1 + i / 3 % 2);
        assert_true(number(result, "turn") == 1 + i % 3);
        assert_true(number(result, "errors") == 0);
    }
    cJSON_Delete(list);
}

static void a_trace_takes_what_the_one_before_has_left(void **state) {
    (void)state;
    cJSON *alone = REPLAY("--passes", "2", first_file(), second_file(), third_file());
    cJSON *in_turn = IN_TURN("--allocator", "pool");
    assert_true(statistic(result_of(alone, "third", 1), "Growths") >= 1);
    assert_true(statistic(result_of(in_turn, "third", 1), "Growths") == 0);
    assert_true(statistic(result_of(in_turn, "first", 1), "Growths") >= 1);
    assert_true(statistic(result_of(in_turn, "first", 2), "Growths") == 0);
    assert_true(number(result_of(alone, "third", 1), "reserved_peak_bytes") < MIB(64));
    assert_true(number(result_of(in_turn, "third", 1), "turn_reserved_peak_bytes") >= MIB(96));
    cJSON_Delete(alone);
    cJSON_Delete(in_turn);
}

static void assert_peaks(const cJSON *result, double live, double turn_live) {
    assert_true(number(result, "live_peak_bytes") == live);
    assert_true(number(result, "turn_live_peak_bytes") == turn_live);
    assert_true(number(result, "reserved_peak_bytes") >= live);
    assert_true(number(result, "turn_reserved_peak_bytes") >= turn_live);
    assert_true(number(result, "reserved_peak_bytes") >=
                number(result, "turn_reserved_peak_bytes"));
}

static void peaks_are_those_of_a_round(void **state) {
    (void)state;
    cJSON *list = IN_TURN("--allocator", "pool");
    assert_peaks(result_of(list, "first", 1), MIB(64), MIB(64));
    assert_peaks(result_of(list, "second", 1), MIB(96), MIB(96));
    assert_peaks(result_of(list, "third", 1), MIB(96), MIB(8));
    assert_peaks(result_of(list, "first", 2), MIB(96), MIB(64));
    assert_peaks(result_of(list, "second", 2), MIB(96), MIB(96));
    assert_peaks(result_of(list, "third", 2), MIB(96), MIB(8));
    cJSON_Delete(list);
}

// All but the times, and the keys that tell of turns.
static void assert_same_memory(const cJSON *a, const cJSON *b) {
    assert_true(number(a, "live_peak_bytes") == number(b, "live_peak_bytes"));
    assert_true(number(a, "reserved_peak_bytes") == number(b, "reserved_peak_bytes"));
    for (const cJSON *value = item(a, "statistics")->child; value; value = value->next)
        if (!strstr(value->string, "Time"))
            assert_true(value->valuedouble == statistic(b, value->string));
}

static void one_trace_on_one_pool_is_a_trace_alone(void **state) {
    (void)state;
    cJSON *alone = REPLAY("--passes", "3", second_file());
    cJSON *in_turn = REPLAY("--passes", "3", "--one-pool", second_file());
    assert_null(cJSON_GetObjectItemCaseSensitive(alone->child, "turn"));
    for (int pass = 1; pass <= 3; pass++) {
        const cJSON *result = result_of(in_turn, "second", pass);
        assert_same_memory(result_of(alone, "second", pass), result);
        assert_true(number(result, "turn") == 1);
    }
    cJSON_Delete(alone);
    cJSON_Delete(in_turn);
}

static const cJSON *start_of(const cJSON *result, int index) {
    const cJSON *start = cJSON_GetArrayItem(item(result, "starts"), index);
    assert_non_null(start);
    return start;
}

// Each start has one block for all traces, that of the largest one, and begins with an empty pool.
static void a_start_holds_one_block_through_all_turns(void **state) {
    (void)state;
    cJSON *alone = REPLAY("--perturb", "3", second_file());
    cJSON *list = IN_TURN("--allocator", "pool,direct", "--perturb", "3");
    assert_int_equal(cJSON_GetArraySize(list), 3 * 2 * 2);
    for (int i = 0; i < 3; i++) {
        double held = number(start_of(alone->child, i), "perturbation_bytes");
        for (const cJSON *result = list->child; result; result = result->next) {
            const cJSON *start = start_of(result, i);
            assert_true(number(start, "perturbation_bytes") == held);
            assert_true(number(start, "errors") == 0);
            if (strcmp(item(result, "trace")->valuestring, "first") == 0)
                assert_true(number(start, "turn_live_peak_bytes") == MIB(64) + held);
        }
        const cJSON *cold = start_of(result_of(list, "first", 1), i);
        assert_true(statistic(cold, "Growths") >= 1);
        assert_true(number(cold, "turn_reserved_peak_bytes") < MIB(96));
    }
    cJSON_Delete(alone);
    cJSON_Delete(list);
}

// Work on streams of one trace would make a race of what another one is given too early.
static void threads_work_events_and_synchronises_go_with_one_pool(void **state) {
    (void)state;
    cJSON *list =
        IN_TURN("--allocator", "pool,promised,direct", "--threads", "--work-ns", "50000",
                "--events", "1", "--synchronize", "3", "--threshold", "0", "--limit", "1G");
    for (const cJSON *result = list->child; result; result = result->next)
        assert_true(number(result, "errors") == 0);
    cJSON_Delete(list);
}

static void all_is_given_back_at_the_end(void **state) {
    (void)state;
    static const char range[] = "streampool: simulated driver: leak: address range ";
    struct outcome outcome;
    program_run(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=reports=print"),
                ARGUMENTS("replay", "--device", "sim", "--allocator", "pool,direct", "--one-pool",
                          "--perturb", "2", "--passes", "2", first_file(), second_file(),
                          third_file()));
    assert_int_equal(outcome.status, 0);
    for (const char *line = outcome.errors; *line; line += strcspn(line, "\n") + 1)
        if (strncmp(line, range, strlen(range)) != 0)
            fail_msg("%s", line);
    program_forget(&outcome);
}

static void a_trace_that_doesnt_suit_keeps_all_from_the_pool(void **state) {
    (void)state;
    const char *bound = file_write("bound.csv", TRACE_HEADER
                                   "1,0,blocking stream,0,0,3\n"
                                   "1,1,allocate,0x1000000,1024,3\n"
                                   "1,2,allocate,0x2000000,1024,0\n");
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", "pool,promised",
                          "--one-pool", first_file(), bound));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "\nfirst  streampool  ");
    assert_says(outcome.output, "\nbound  streampool  ");
    assert_says_not(outcome.output, "  StreamPromises ");
    assert_says(outcome.output,
                "\nStreamPromises: not replayed: bound: the legacy stream 0 orders ");
    program_forget(&outcome);
}

static void the_trace_whose_turn_it_was_is_named(void **state) {
    (void)state;
    const char *huge = file_write("huge.csv", TRACE_HEADER "1,0,allocate,0x100,1099511627776,0\n");
    struct outcome outcome;
    program_run(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=memory=64M"),
                ARGUMENTS("replay", "--device", "sim", "--wide", "--one-pool", "--perturb", "1",
                          third_file(), huge));
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.errors, "streampool: third, streampool: the held block of ");
    program_forget(&outcome);
}

// ------------------------------------------------------------------------------- trims of the pool

static void a_trim_between_passes_makes_the_pool_grow_again(void **state) {
    (void)state;
    cJSON *kept = REPLAY("--passes", "2", "--trim", "1G", second_file());
    cJSON *trimmed = REPLAY("--passes", "2", "--trim", "0", second_file());
    assert_true(statistic(result_of(kept, "second", 2), "Growths") == 0);
    assert_true(statistic(result_of(trimmed, "second", 2), "Growths") ==
                statistic(result_of(trimmed, "second", 1), "Growths"));
    cJSON_Delete(kept);
    cJSON_Delete(trimmed);
}

// The second trace's turn finds what the first one has left, and then the first one nothing.
static void with_one_pool_a_trim_is_between_passes_and_not_between_turns(void **state) {
    (void)state;
    cJSON *list = IN_TURN("--allocator", "pool", "--trim", "0");
    assert_true(statistic(result_of(list, "third", 1), "Growths") == 0);
    assert_true(statistic(result_of(list, "first", 2), "Growths") >= 1);
    assert_true(statistic(result_of(list, "third", 2), "Growths") == 0);
    assert_true(number(result_of(list, "first", 2), "turn_reserved_peak_bytes") < MIB(96));
    assert_true(number(result_of(list, "first", 2), "reserved_peak_bytes") >= MIB(96));
    cJSON_Delete(list);
}

// ------------------------------------------------------------------------------------- the table

static void run(struct outcome *outcome, const char *const arguments[]) {
    program_run(outcome, NO_SETTINGS, arguments);
    if (outcome->status != 0)
        fail_msg("status %d: %s", outcome->status, outcome->errors);
}

static int lines_with(const char *text, const char *begin) {
    int lines = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        lines += strncmp(line, begin, strlen(begin)) == 0;
    return lines;
}

static void the_table_says_that_peaks_are_of_rounds_and_has_no_mean(void **state) {
    (void)state;
    static const char note[] = "\nall traces in turn on one pool: the peaks are those of a round";
    struct outcome alone, in_turn;
    run(&alone, ARGUMENTS("replay", "--device", "sim", first_file(), second_file()));
    run(&in_turn, ARGUMENTS("replay", "--device", "sim", "--wide", "--one-pool", first_file(),
                            second_file()));
    assert_says(alone.output, "\ngeometric mean  streampool ");
    assert_says_not(alone.output, note);
    assert_says_not(in_turn.output, "geometric mean");
    assert_says(in_turn.output, note);
    program_forget(&alone);
    program_forget(&in_turn);
}

static void passes_that_are_named_are_printed_and_no_others(void **state) {
    (void)state;
    struct outcome outcome;
    run(&outcome, ARGUMENTS("replay", "--device", "sim", "--passes", "12", "--print-passes",
                            "1,12,3", "--statistics", first_file(), second_file()));
    assert_int_equal(lines_with(outcome.output, "first           streampool "), 3);
    assert_int_equal(lines_with(outcome.output, "first           streampool    12 "), 1);
    assert_int_equal(lines_with(outcome.output, "first           streampool     2 "), 0);
    assert_int_equal(lines_with(outcome.output, "geometric mean  streampool "), 3);
    assert_int_equal(lines_with(outcome.output, "second, streampool, pass 3"), 1);
    assert_int_equal(lines_with(outcome.output, "second, streampool, pass 4"), 0);
    program_forget(&outcome);
}

static void starts_are_chosen_by_their_pass_too_and_json_has_all(void **state) {
    (void)state;
    const char *path = file_path("all.json");
    struct outcome outcome;
    run(&outcome,
        ARGUMENTS("replay", "--device", "sim", "--wide", "--passes", "4", "--print-passes", "4",
                  "--perturb", "2", "--one-pool", "--json", path, first_file(), second_file()));
    assert_says(outcome.output,
                "\nmedians of starts, each with a block of up to 2 % of the "
                "largest trace's peak held (2 starts, seed 1)\n");
    assert_int_equal(lines_with(outcome.output, "first   streampool     4 "), 1);
    assert_int_equal(lines_with(outcome.output, "first   streampool "), 1);
    char *text = file_read(path);
    cJSON *list = cJSON_Parse(text);
    assert_int_equal(cJSON_GetArraySize(list), 2 * 4);
    cJSON_Delete(list);
    free(text);
    program_forget(&outcome);
}

static void errors_are_printed_of_passes_that_are_not(void **state) {
    (void)state;
    const char *path = file_write("big.csv", TRACE_HEADER
                                  "1,0,allocate,0x1000000,1048576,0\n"
                                  "1,1,allocate,0x8000000,134217728,0\n");
    struct outcome outcome;
    program_run(
        &outcome, SETTINGS("STREAMPOOL_SIMCUDA=memory=64M"),
        ARGUMENTS("replay", "--device", "sim", "--passes", "3", "--print-passes", "3", path));
    assert_int_equal(outcome.status, CALLS_FAILED);
    assert_int_equal(lines_with(outcome.output, "big    streampool "), 1);
    assert_says(outcome.output, "\nbig, streampool, pass 2: allocation at line 3: ");
    program_forget(&outcome);
}

// -------------------------------------------------------------------------- what can't be combined

static void what_compares_or_draws_a_trace_alone_is_refused(void **state) {
    (void)state;
    assert_usage_error(ARGUMENTS("replay", "--one-pool", "--plot", "x.svg", "trace.csv"),
                       "--plot draws each trace alone, so it can't draw --one-pool");
    assert_usage_error(ARGUMENTS("replay", "--beside", "x.json", "--one-pool", "trace.csv"),
                       "--beside compares each trace alone, so it can't compare --one-pool");
}

static void results_of_turns_are_refused_as_recorded_ones(void **state) {
    (void)state;
    const char *path = file_path("turns.json");
    struct outcome outcome;
    run(&outcome, ARGUMENTS("replay", "--device", "sim", "--wide", "--one-pool", "--json", path,
                            first_file(), second_file()));
    program_forget(&outcome);
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device", "sim", "--beside", path, first_file()));
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.errors,
                "turns.json: result 1: was written with --one-pool: there is a "
                "'turn'\n");
    program_forget(&outcome);
}

static void printed_passes_are_numbers_of_passes(void **state) {
    (void)state;
    static const char *const bad[] = {"0", "1,,2", "2-4"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_usage_error(
            ARGUMENTS("replay", "--passes", "9", "--print-passes", bad[i], "trace.csv"),
            "--print-passes is a number from 1 to 1000, not '");
    assert_usage_error(ARGUMENTS("replay", "--print-passes", "1,10", "--passes", "9", "trace.csv"),
                       "--print-passes names pass 10, and --passes makes 9");
}

static void a_trim_is_to_a_number_of_bytes(void **state) {
    (void)state;
    static const char *const bad[] = {"max", "1MB"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_usage_error(ARGUMENTS("replay", "--trim", bad[i], "trace.csv"),
                           "--trim is a number of bytes, with K, M, G or T behind it, not '");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pass_has_each_trace_in_the_order_given),
        cmocka_unit_test(a_trace_takes_what_the_one_before_has_left),
        cmocka_unit_test(peaks_are_those_of_a_round),
        cmocka_unit_test(one_trace_on_one_pool_is_a_trace_alone),
        cmocka_unit_test(a_start_holds_one_block_through_all_turns),
        cmocka_unit_test(threads_work_events_and_synchronises_go_with_one_pool),
        cmocka_unit_test(all_is_given_back_at_the_end),
        cmocka_unit_test(a_trace_that_doesnt_suit_keeps_all_from_the_pool),
        cmocka_unit_test(the_trace_whose_turn_it_was_is_named),
        cmocka_unit_test(a_trim_between_passes_makes_the_pool_grow_again),
        cmocka_unit_test(with_one_pool_a_trim_is_between_passes_and_not_between_turns),
        cmocka_unit_test(the_table_says_that_peaks_are_of_rounds_and_has_no_mean),
        cmocka_unit_test(passes_that_are_named_are_printed_and_no_others),
        cmocka_unit_test(starts_are_chosen_by_their_pass_too_and_json_has_all),
        cmocka_unit_test(errors_are_printed_of_passes_that_are_not),
        cmocka_unit_test(what_compares_or_draws_a_trace_alone_is_refused),
        cmocka_unit_test(results_of_turns_are_refused_as_recorded_ones),
        cmocka_unit_test(printed_passes_are_numbers_of_passes),
        cmocka_unit_test(a_trim_is_to_a_number_of_bytes),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
