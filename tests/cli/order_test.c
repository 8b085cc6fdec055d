// Traces that have the order their program made: each line of theirs has its effect on the
// simulated driver, and none has another.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "program.h"

#define MIB(n) ((double)(n)*1048576)

// Stream 1 frees 32 MiB, and stream 2 asks for as much. What stands between decides whether it gets
// the same memory.
#define FREED                                                                                      \
    "1,0,allocate,0x1000000,33554432,1\n"                                                          \
    "1,1,free,0x1000000,33554432,1\n"
#define TAKEN "1,9,allocate,0x4000000,33554432,2\n"

enum { FOLLOW = 1, OPPORTUNISTIC = 2 };

// ------------------------------------------------------------------------------------- the figures

static cJSON *results_of(const char *const settings[], const char *const arguments[]) {
    struct outcome outcome;
    program_run(&outcome, settings, arguments);
    if (outcome.status != 0)
        fail_msg("status %d: %s", outcome.status, outcome.errors);
    cJSON *results = cJSON_Parse(outcome.output);
    assert_non_null(results);
    for (const cJSON *result = results->child; result; result = result->next)
        if (cJSON_GetObjectItemCaseSensitive(result, "errors")->valuedouble != 0)
            fail_msg("errors: %s", outcome.output);
    program_forget(&outcome);
    return results;
}

static double figure(const cJSON *results, int i, const char *key) {
    const cJSON *result = cJSON_GetArrayItem(results, i);
    const cJSON *statistics = cJSON_GetObjectItemCaseSensitive(result, "statistics");
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(result, key);
    if (!number)
        number = cJSON_GetObjectItemCaseSensitive(statistics, key);
    assert_non_null(number);
    return number->valuedouble;
}

// Of a pool that asks no event, so only what the trace says makes memory go to another stream.
static double replayed(const char *text, const char *key) {
    const char *path = file_write("order.csv", text);
    cJSON *results = results_of(NO_SETTINGS, ARGUMENTS("replay", "--device", "sim", "--json", "-",
                                                       "--set", "Deterministic=1", path));
    double number = figure(results, 0, key);
    cJSON_Delete(results);
    return number;
}

static double peak_of(const char *text) {
    return replayed(text, "reserved_peak_bytes");
}

static double peak_under(unsigned policies, const char *text) {
    const char *path = file_write("order.csv", text);
    cJSON *results =
        results_of(NO_SETTINGS, ARGUMENTS("policies", "--device", "sim", "--json", "-", "--work-ns",
                                          "0", "--set", "UnfencedBytesMax=1T", path));
    double peak = figure(results, (int)policies, "reserved_peak_bytes");
    cJSON_Delete(results);
    return peak;
}

// -------------------------------------------------------------------------- events between streams

static void without_order_a_stream_gets_memory_of_its_own(void **state) {
    (void)state;
    assert_true(peak_of(TRACE_HEADER FREED TAKEN) == MIB(64));
    assert_true(peak_of(TRACE_HEADER FREED "1,2,record,0xe,0,1\n" TAKEN) == MIB(64));
}

static void a_stream_that_waits_gets_what_was_freed_before_the_record(void **state) {
    (void)state;
    static const char text[] = TRACE_HEADER FREED "1,2,record,0xe,0,1\n1,3,wait,0xe,0,2\n" TAKEN;
    assert_true(peak_of(text) == MIB(32));
    assert_true(peak_under(0, text) == MIB(64));
    assert_true(peak_under(FOLLOW, text) == MIB(32));
}

static void a_wait_before_the_record_orders_nothing(void **state) {
    (void)state;
    assert_true(peak_of(TRACE_HEADER FREED "1,2,wait,0xe,0,2\n1,3,record,0xe,0,1\n" TAKEN) ==
                MIB(64));
}

static void an_event_that_is_recorded_again_stands_behind_more(void **state) {
    (void)state;
    assert_true(peak_of(TRACE_HEADER "1,0,record,0xe,0,1\n" FREED "1,2,wait,0xe,0,2\n" TAKEN) ==
                MIB(64));
    assert_true(peak_of(TRACE_HEADER "1,0,record,0xe,0,1\n" FREED
                                     "1,2,record,0xe,0,1\n1,3,wait,0xe,0,2\n" TAKEN) == MIB(32));
}

static void an_event_that_was_destroyed_says_nothing_when_its_handle_comes_again(void **state) {
    (void)state;
    assert_true(peak_of(TRACE_HEADER FREED "1,2,record,0xe,0,1\n1,3,destroy event,0xe,0,0\n"
                                           "1,4,wait,0xe,0,2\n" TAKEN) == MIB(64));
}

// -------------------------------------------------------------- what synchronises and queries tell

static void a_synchronise_tells_of_the_work_that_it_waits_for(void **state) {
    (void)state;
    assert_true(peak_of(TRACE_HEADER FREED "1,2,synchronize stream,0,0,1\n" TAKEN) == MIB(32));
    assert_true(peak_of(TRACE_HEADER FREED "1,2,synchronize stream,0,0,2\n" TAKEN) == MIB(64));
    assert_true(peak_of(TRACE_HEADER FREED "1,2,synchronize device,0,0,0\n" TAKEN) == MIB(32));
    assert_true(peak_of(TRACE_HEADER FREED "1,2,record,0xe,0,1\n"
                                           "1,3,synchronize event,0xe,0,0\n" TAKEN) == MIB(32));
    assert_true(peak_of(TRACE_HEADER FREED "1,3,synchronize event,0xe,0,0\n" TAKEN) == MIB(64));
}

static void a_query_without_work_hears_what_the_program_heard(void **state) {
    (void)state;
    assert_true(peak_under(0, TRACE_HEADER FREED TAKEN) == MIB(64));
    assert_true(peak_under(0, TRACE_HEADER FREED "1,2,query stream,0,0,1\n" TAKEN) == MIB(32));
    assert_true(peak_under(0, TRACE_HEADER FREED "1,2,query stream,0,0,2\n" TAKEN) == MIB(64));
    assert_true(peak_under(0, TRACE_HEADER FREED "1,2,record,0xe,0,1\n"
                                                 "1,3,query event,0xe,0,0\n" TAKEN) == MIB(32));
}

static void a_query_that_hears_no_is_no_error(void **state) {
    (void)state;
    const char *path = file_write("busy.csv", TRACE_HEADER
                                  "1,0,allocate,0x100,1024,1\n"
                                  "1,1,record,0xe,0,1\n"
                                  "1,2,query event,0xe,0,0\n"
                                  "1,3,query stream,0,0,1\n");
    cJSON_Delete(
        results_of(NO_SETTINGS, ARGUMENTS("replay", "--device", "sim", "--allocator", "pool,direct",
                                          "--json", "-", "--work-ns", "1000000000", path)));
}

// ---------------------------------------------------------------- frees, ends of streams and trims

static void a_free_in_no_streams_order_is_anybodys(void **state) {
    (void)state;
    assert_true(peak_of(TRACE_HEADER "1,0,allocate,0x1000000,33554432,1\n"
                                     "1,1,free unordered,0x1000000,33554432,0\n"
                                     "1,2,free unordered,(nil),0,0\n" TAKEN) == MIB(32));
}

static void the_end_of_a_stream_puts_an_event_behind_its_frees(void **state) {
    (void)state;
    assert_true(peak_under(OPPORTUNISTIC, TRACE_HEADER FREED TAKEN) == MIB(64));
    assert_true(peak_under(OPPORTUNISTIC, TRACE_HEADER FREED "1,2,destroy stream,0,0,1\n" TAKEN) ==
                MIB(32));
}

static double growths_with_threshold(const char *threshold, const char *between) {
    static const char again[] = "1,9,allocate,0x4000000,33554432,1\n";
    char text[1024];
    snprintf(text, sizeof text, "%s%s%s", TRACE_HEADER FREED, between, again);
    const char *path = file_write("trimmed.csv", text);
    cJSON *results = results_of(NO_SETTINGS, ARGUMENTS("replay", "--device", "sim", "--json", "-",
                                                       "--threshold", threshold, path));
    double growths = figure(results, 0, "Growths");
    cJSON_Delete(results);
    return growths;
}

static void a_synchronise_trims_to_the_threshold(void **state) {
    (void)state;
    static const char *const lines[] = {
        "1,2,synchronize stream,0,0,1\n",
        "1,2,synchronize device,0,0,0\n",
        "1,2,record,0xe,0,1\n1,3,synchronize event,0xe,0,0\n",
    };
    assert_true(growths_with_threshold("0", "") == 1);
    assert_true(growths_with_threshold("0", "1,2,query stream,0,0,1\n") == 1);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_true(growths_with_threshold("0", lines[i]) == 2);
        assert_true(growths_with_threshold("max", lines[i]) == 1);
    }
}

static void a_trim_leaves_as_much_as_it_says(void **state) {
    (void)state;
    assert_true(growths_with_threshold("max",
                                       "1,2,synchronize stream,0,0,1\n"
                                       "1,3,trim,0,33554432,0\n") == 1);
    assert_true(growths_with_threshold("max",
                                       "1,2,synchronize stream,0,0,1\n"
                                       "1,3,trim,0,0,0\n") == 2);
}

// -------------------------------------------------------------------------------- kinds of streams

static void the_legacy_stream_takes_what_a_blocking_stream_has_freed(void **state) {
    (void)state;
    static const char legacy[] = TRACE_HEADER "1,0,legacy stream,0,0,2\n";
    char text[1024];
    snprintf(text, sizeof text, "%s%s%s", legacy, "1,0,blocking stream,0,0,1\n", FREED TAKEN);
    assert_true(peak_of(text) == MIB(32));
    snprintf(text, sizeof text, "%s%s%s", legacy, "1,0,per-thread stream,0,0,1\n", FREED TAKEN);
    assert_true(peak_of(text) == MIB(32));
    snprintf(text, sizeof text, "%s%s%s", legacy, "1,0,non-blocking stream,0,0,1\n", FREED TAKEN);
    assert_true(peak_of(text) == MIB(64));
    snprintf(text, sizeof text, "%s%s", legacy, FREED TAKEN);
    assert_true(peak_of(text) == MIB(64));
}

// Each has a per-thread stream. In one part they stay two, for memory doesn't pass between them.
static const char per_thread[] = TRACE_HEADER
    "1,0,per-thread stream,0,0,1\n"
    "2,0,per-thread stream,0,0,2\n" FREED
    "2,2,allocate,0x4000000,33554432,2\n"
    "2,3,free,0x4000000,33554432,2\n"
    "1,4,allocate,0x1000000,33554432,1\n";

static void per_thread_streams_of_two_threads_are_two(void **state) {
    (void)state;
    assert_true(peak_of(per_thread) == MIB(64));
    const char *path = file_write("per_thread.csv", per_thread);
    cJSON *results =
        results_of(NO_SETTINGS, ARGUMENTS("replay", "--device", "sim", "--json", "-", "--threads",
                                          "--passes", "4", "--allocator", "pool,promised,direct",
                                          "--set", "Deterministic=1", path));
    assert_int_equal(cJSON_GetArraySize(results), 12);
    assert_true(figure(results, 0, "reserved_peak_bytes") == MIB(64));
    assert_true(figure(results, 3, "reserved_peak_bytes") == MIB(64));
    cJSON_Delete(results);
}

static void promises_are_not_made_for_a_program_that_may_break_them(void **state) {
    (void)state;
    const char *bound = file_write("bound.csv", TRACE_HEADER
                                   "1,0,blocking stream,0,0,7\n"
                                   "1,1,allocate,0x100,512,0\n"
                                   "1,2,record,0x200,0,7\n");
    const char *free_of_it = file_write("free.csv", TRACE_HEADER
                                        "1,0,non-blocking stream,0,0,7\n"
                                        "1,1,allocate,0x100,512,0\n");
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device", "sim", "--wide", "--allocator", "pool,promised",
                          bound, free_of_it));
    assert_int_equal(outcome.status, 0);
    assert_non_null(strstr(outcome.output, "\nfree            StreamPromises "));
    assert_null(strstr(outcome.output, "\nbound           StreamPromises "));
    assert_non_null(strstr(outcome.output,
                           "\nStreamPromises: bound not replayed: the legacy stream 0 "
                           "orders stream 7, and the program may rely on it "
                           "(poolPromiseNoLegacyOrder)\n"));
    program_forget(&outcome);

    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device", "sim", "--allocator", "promised", bound));
    assert_int_equal(outcome.status, 1);
    assert_string_equal(outcome.output, "");
    assert_non_null(strstr(outcome.errors, "StreamPromises: bound not replayed: "));
    program_forget(&outcome);
}

static void require_promised(const char *path) {
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device", "sim", "--allocator", "promised", path));
    assert_int_equal(outcome.status, 0);
    program_forget(&outcome);
}

static void promises_are_made_where_nothing_uses_one_of_the_two_streams(void **state) {
    (void)state;
    require_promised(file_write("unused.csv", TRACE_HEADER "1,0,allocate,0x100,512,0\n"
                                                           "1,1,blocking stream,0,0,7\n"
                                                           "1,2,destroy stream,0,0,7\n"));
    require_promised(file_write("unused.csv", TRACE_HEADER "1,0,legacy stream,0,0,1\n"
                                                           "1,1,blocking stream,0,0,7\n"
                                                           "1,2,allocate,0x100,512,7\n"));
}

// -------------------------------------------------------------------------- what is made up or not

// Stream 2 frees a block of stream 1, which has freed another one.
#define FOREIGN                                                                                    \
    "1,0,allocate,0x1000000,33554432,1\n"                                                          \
    "1,1,allocate,0x8000000,33554432,1\n"                                                          \
    "1,2,free,0x1000000,33554432,1\n"                                                              \
    "1,3,free,0x8000000,33554432,2\n"                                                              \
    "1,4,allocate,0x10000000,67108864,2\n"

static void a_trace_with_order_gets_no_other(void **state) {
    (void)state;
    assert_true(peak_of(TRACE_HEADER FOREIGN) == MIB(64));
    assert_true(peak_of(TRACE_HEADER "1,0,non-blocking stream,0,0,1\n" FOREIGN) == MIB(96));
}

// All that can be done with blocks, streams and events: a stream is destroyed while a block of its
// own is alive, per-thread streams hand blocks over, and a block is freed in no order.
static const char varied[] = TRACE_HEADER
    "1,0,non-blocking stream,0,0,1\n"
    "1,0,per-thread stream,0,0,3\n"
    "2,0,per-thread stream,0,0,4\n"
    "1,0,allocate,0x1000000,4194304,1\n"
    "1,1,allocate,0x2000000,4194304,3\n"
    "2,1,allocate,0x3000000,4194304,4\n"
    "2,1,allocate,0x4000000,4194304,2\n"
    "1,1,allocate,0x7000000,4194304,1\n"
    "1,2,record,0xe,0,1\n"
    "2,3,wait,0xe,0,2\n"
    "2,4,free,0x1000000,4194304,2\n"
    "2,5,free,0x2000000,4194304,4\n"
    "1,6,free,0x3000000,4194304,3\n"
    "1,6,free unordered,0x4000000,4194304,0\n"
    "1,7,destroy stream,0,0,1\n"
    "2,8,free,0x7000000,4194304,2\n"
    "2,8,destroy event,0xe,0,0\n"
    "1,9,allocate,0x1000000,4194304,3\n"
    "2,9,allocate,0x5000000,4194304,4\n"
    "2,9,allocate,0x6000000,4194304,5\n"
    "1,9,destroy stream,0,0,5\n"
    "1,9,wait,0xf,0,3\n"
    "2,9,record,0xf,0,4\n"
    "1,9,synchronize device,0,0,0\n";

// The simulated driver reports two pieces of work that use a block without an order between them.
static void blocks_are_handed_over_behind_their_work(void **state) {
    (void)state;
    static const char *const settings[] = {"STREAMPOOL_SIMCUDA=completion=earliest",
                                           "STREAMPOOL_SIMCUDA=completion=latest",
                                           "STREAMPOOL_SIMCUDA=completion=latest,api=10020"};
    const char *path = file_write("varied.csv", varied);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        cJSON_Delete(results_of(SETTINGS(settings[i]),
                                ARGUMENTS("replay", "--device", "sim", "--json", "-", "--passes",
                                          "3", "--allocator", "pool,promised,direct", "--work-ns",
                                          "1000000", path)));
        cJSON_Delete(results_of(SETTINGS(settings[i]),
                                ARGUMENTS("replay", "--device", "sim", "--json", "-", "--passes",
                                          "10", "--allocator", "pool,promised,direct", "--threads",
                                          "--work-ns", "1000000", path)));
    }
    cJSON_Delete(results_of(NO_SETTINGS, ARGUMENTS("policies", "--json", "-", path)));
}

static void order_on_top_leaves_out_what_is_gone(void **state) {
    (void)state;
    const char *path = file_write("varied.csv", varied);
    cJSON_Delete(
        results_of(NO_SETTINGS, ARGUMENTS("replay", "--device", "sim", "--json", "-", "--allocator",
                                          "pool,promised,direct", "--passes", "2", "--events", "1",
                                          "--synchronize", "1", "--work-ns", "100000", path)));
    cJSON_Delete(
        results_of(NO_SETTINGS, ARGUMENTS("replay", "--device", "sim", "--json", "-", "--allocator",
                                          "pool", "--threads", "--passes", "10", "--events", "1",
                                          "--synchronize", "1", path)));
}

// The library keeps its address ranges until the process ends.
static void streams_and_events_that_come_and_go_leave_nothing_behind(void **state) {
    (void)state;
    static const char range[] = "streampool: simulated driver: leak: address range ";
    struct outcome outcome;
    program_run(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=reports=print"),
                ARGUMENTS("replay", "--device", "sim", "--allocator", "pool,promised,direct",
                          "--passes", "3", "--perturb", "2", file_write("varied.csv", varied)));
    assert_int_equal(outcome.status, 0);
    assert_null(strstr(outcome.output, "errors in all"));
    for (const char *line = outcome.errors; *line; line += strcspn(line, "\n") + 1)
        if (strncmp(line, range, strlen(range)) != 0)
            fail_msg("%s", line);
    program_forget(&outcome);
}

static void work_of_a_stream_that_is_gone_is_waited_for(void **state) {
    (void)state;
    const char *path = file_write("gone.csv", TRACE_HEADER
                                  "1,0,allocate,0x100,1024,1\n"
                                  "1,1,destroy stream,0,0,1\n");
    cJSON *results = results_of(NO_SETTINGS, ARGUMENTS("replay", "--device", "sim", "--allocator",
                                                       "pool,direct", "--json", "-", "--passes",
                                                       "2", "--work-ns", "1000000", path));
    for (int i = 0; i < 4; i++)
        assert_true(figure(results, i, "end_to_end_ns") >= 1000000);
    cJSON_Delete(results);
}

static void a_synchronise_is_no_part_of_the_calls(void **state) {
    (void)state;
    double totals[2];
    static const char *const texts[] = {
        TRACE_HEADER "1,0,non-blocking stream,0,0,1\n" FREED,
        TRACE_HEADER "1,0,non-blocking stream,0,0,1\n" FREED
                     "1,2,synchronize stream,0,0,1\n"
                     "1,3,record,0xe,0,1\n1,4,synchronize event,0xe,0,0\n",
    };
    for (size_t i = 0; i < 2; i++) {
        cJSON *results = results_of(NO_SETTINGS, ARGUMENTS("replay", "--device", "sim", "--json",
                                                           "-", "--work-ns", "1000000",
                                                           file_write("calls.csv", texts[i])));
        totals[i] = figure(results, 0, "total_ns");
        assert_true(figure(results, 0, "operations") == (i == 0 ? 3 : 6));
        cJSON_Delete(results);
    }
    assert_true(totals[0] > 0);
    assert_true(totals[0] == totals[1]);
}

// -------------------------------------------------------------------------------------------
// threads

// Thread 1 has much to do before it frees. Thread 2 waits for it by the event alone, and so it gets
// the same memory in every run; and it destroys the event and the stream behind all that thread 1
// does with them.
static void what_passes_between_threads_keeps_its_order(void **state) {
    (void)state;
    enum { BEFORE = 100 };
    static char text[BEFORE * 96 + 1024];
    size_t length = (size_t)sprintf(text, TRACE_HEADER "1,0,allocate,0x1000000,33554432,1\n");
    for (unsigned i = 0; i < BEFORE; i++)
        length +=
            (size_t)sprintf(text + length, "1,1,allocate,0x100,1024,1\n1,1,free,0x100,1024,1\n");
    sprintf(text + length,
            "1,2,free,0x1000000,33554432,1\n"
            "1,3,record,0xe,0,1\n"
            "2,4,wait,0xe,0,2\n"
            "2,5,allocate,0x4000000,33554432,2\n"
            "1,6,record,0xe,0,1\n"
            "2,7,destroy event,0xe,0,0\n"
            "2,8,destroy stream,0,0,1\n");
    cJSON *results = results_of(
        NO_SETTINGS, ARGUMENTS("replay", "--device", "sim", "--json", "-", "--threads", "--perturb",
                               "10", "--allocator", "pool,promised", "--set", "Deterministic=1",
                               file_write("threads.csv", text)));
    for (int i = 0; i < 2; i++) {
        const cJSON *ratio =
            cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(results, i), "ratio");
        assert_true(cJSON_GetObjectItemCaseSensitive(ratio, "most")->valuedouble < 1.25);
    }
    cJSON_Delete(results);
}

// Thread 1 uses the stream until long after thread 2 got where it destroys it.
static void a_stream_is_destroyed_behind_all_that_other_threads_do_with_it(void **state) {
    (void)state;
    enum { PAIRS = 100 };
    static char text[PAIRS * 96 + 1024];
    size_t length = (size_t)sprintf(text, TRACE_HEADER);
    for (unsigned i = 0; i < PAIRS; i++)
        length +=
            (size_t)sprintf(text + length, "1,1,allocate,0x100,1024,1\n1,1,free,0x100,1024,1\n");
    sprintf(text + length, "2,8,destroy stream,0,0,1\n1,9,allocate,0x100,1024,2\n");
    cJSON_Delete(
        results_of(NO_SETTINGS, ARGUMENTS("replay", "--device", "sim", "--json", "-", "--threads",
                                          "--passes", "5", "--allocator", "pool,direct",
                                          "--work-ns", "1000", file_write("end.csv", text))));
}

// Thread 2 can't make thread 1's per-thread stream wait. An event for it would stand behind what
// thread 2 freed, and thread 1 would get that memory.
static void order_on_top_leaves_another_threads_stream_alone(void **state) {
    (void)state;
    const char *path = file_write("own.csv", TRACE_HEADER
                                  "1,0,per-thread stream,0,0,3\n"
                                  "2,1,allocate,0x1000000,33554432,2\n"
                                  "2,2,free,0x1000000,33554432,2\n"
                                  "2,3,allocate,0x100,512,2\n"
                                  "1,4,free unordered,0x100,512,0\n"
                                  "1,5,allocate,0x1000000,33554432,3\n");
    cJSON *results =
        results_of(NO_SETTINGS, ARGUMENTS("replay", "--device", "sim", "--json", "-", "--threads",
                                          "--events", "1", "--set", "UnfencedBytesMax=1T", path));
    assert_true(figure(results, 0, "reserved_peak_bytes") > MIB(64));
    cJSON_Delete(results);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_order_a_stream_gets_memory_of_its_own),
        cmocka_unit_test(a_stream_that_waits_gets_what_was_freed_before_the_record),
        cmocka_unit_test(a_wait_before_the_record_orders_nothing),
        cmocka_unit_test(an_event_that_is_recorded_again_stands_behind_more),
        cmocka_unit_test(an_event_that_was_destroyed_says_nothing_when_its_handle_comes_again),
        cmocka_unit_test(a_synchronise_tells_of_the_work_that_it_waits_for),
        cmocka_unit_test(a_query_without_work_hears_what_the_program_heard),
        cmocka_unit_test(a_query_that_hears_no_is_no_error),
        cmocka_unit_test(a_free_in_no_streams_order_is_anybodys),
        cmocka_unit_test(the_end_of_a_stream_puts_an_event_behind_its_frees),
        cmocka_unit_test(a_synchronise_trims_to_the_threshold),
        cmocka_unit_test(a_trim_leaves_as_much_as_it_says),
        cmocka_unit_test(the_legacy_stream_takes_what_a_blocking_stream_has_freed),
        cmocka_unit_test(per_thread_streams_of_two_threads_are_two),
        cmocka_unit_test(promises_are_not_made_for_a_program_that_may_break_them),
        cmocka_unit_test(promises_are_made_where_nothing_uses_one_of_the_two_streams),
        cmocka_unit_test(a_trace_with_order_gets_no_other),
        cmocka_unit_test(blocks_are_handed_over_behind_their_work),
        cmocka_unit_test(order_on_top_leaves_out_what_is_gone),
        cmocka_unit_test(streams_and_events_that_come_and_go_leave_nothing_behind),
        cmocka_unit_test(work_of_a_stream_that_is_gone_is_waited_for),
        cmocka_unit_test(a_synchronise_is_no_part_of_the_calls),
        cmocka_unit_test(what_passes_between_threads_keeps_its_order),
        cmocka_unit_test(a_stream_is_destroyed_behind_all_that_other_threads_do_with_it),
        cmocka_unit_test(order_on_top_leaves_another_threads_stream_alone),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
