// Traces that are as they should be, and what they resolve to. Those that are not are
// tests/cli/malformed_test.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "cli/trace/trace.h"

#define HEADER "Thread,Time,Action,Pointer,Size,Stream\n"

static char folder[] = "/tmp/streampool_trace_XXXXXX";
static char path[sizeof folder + 32];

static const char *path_of(const char *name) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void read_plain(const char *text, struct sp_trace *trace) {
    FILE *file = fopen(path_of("plain.csv"), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    struct sp_trace_error error;
    if (!sp_trace_read(path, trace, &error))
        fail_msg("line %lu: %s", error.line, error.reason);
}

static void read_gzipped(const char *text, struct sp_trace *trace) {
    gzFile file = gzopen(path_of("packed.csv.gz"), "w");
    assert_non_null(file);
    assert_int_equal(gzputs(file, text), strlen(text));
    assert_int_equal(gzclose(file), Z_OK);
    struct sp_trace_error error;
    if (!sp_trace_read(path, trace, &error))
        fail_msg("line %lu: %s", error.line, error.reason);
}

static void assert_operation(const struct sp_trace *trace, size_t i, enum sp_trace_action action,
                             uint32_t block, uint32_t stream) {
    assert_true(i < trace->operation_count);
    assert_int_equal(trace->operations[i].action, action);
    assert_int_equal(trace->operations[i].block, block);
    assert_int_equal(trace->operations[i].stream, stream);
}

static const char small[] = HEADER
    "1,0,allocate,0x100,512,0\n"
    "1,1,allocate,0x300,1024,7\n"
    "1,2,free,0x100,512,0\n"
    "1,3,allocate,0x100,64,7\n"
    "1,4,free,0x300,1024,0\n";

static void assert_small(const struct sp_trace *trace) {
    assert_int_equal(trace->operation_count, 5);
    assert_int_equal(trace->block_count, 3);
    assert_int_equal(trace->stream_count, 2);
    assert_int_equal(trace->streams[0].number, 0);
    assert_int_equal(trace->streams[1].number, 7);
    assert_operation(trace, 0, SP_TRACE_ALLOCATE, 0, 0);
    assert_operation(trace, 1, SP_TRACE_ALLOCATE, 1, 1);
    assert_operation(trace, 2, SP_TRACE_FREE, 0, 0);
    assert_operation(trace, 3, SP_TRACE_ALLOCATE, 2, 1);
    assert_operation(trace, 4, SP_TRACE_FREE, 1, 0);
    assert_int_equal(trace->blocks[1].size, 1024);
    assert_int_equal(trace->blocks[1].stream, 1);
    assert_int_equal(trace->live_peak_bytes, 512 + 1024);
    assert_int_equal(trace->live_peak_operation, 1);
    assert_int_equal(trace->event_count, 0);
    assert_false(trace->has_order);
}

static void a_plain_trace_is_resolved_to_blocks_and_streams(void **state) {
    (void)state;
    struct sp_trace trace;
    read_plain(small, &trace);
    assert_small(&trace);
    assert_string_equal(trace.name, "plain");
    sp_trace_release(&trace);
}

static void a_gzipped_trace_is_the_same_as_a_plain_one(void **state) {
    (void)state;
    struct sp_trace trace;
    read_gzipped(small, &trace);
    assert_small(&trace);
    assert_string_equal(trace.name, "packed");
    sp_trace_release(&trace);
}

static void lines_may_end_with_a_carriage_return_and_the_last_one_with_nothing(void **state) {
    (void)state;
    struct sp_trace trace;
    read_plain(
        "Thread,Time,Action,Pointer,Size,Stream\r\n"
        "1,0,allocate,0x100,512,0\r\n"
        "1,1,free,0x100,512,0",
        &trace);
    assert_int_equal(trace.operation_count, 2);
    assert_operation(&trace, 1, SP_TRACE_FREE, 0, 0);
    sp_trace_release(&trace);
}

static void null_pointers_are_blocks_of_no_bytes_and_may_be_many_at_once(void **state) {
    (void)state;
    struct sp_trace trace;
    read_plain(HEADER
               "1,0,allocate,(nil),0,0\n"
               "1,1,allocate,(nil),0,0\n"
               "1,2,free,(nil),0,0\n",
               &trace);
    assert_int_equal(trace.block_count, 2);
    assert_operation(&trace, 1, SP_TRACE_ALLOCATE, 1, 0);
    assert_operation(&trace, 2, SP_TRACE_FREE, SP_TRACE_NO_BLOCK, 0);
    assert_int_equal(trace.live_peak_bytes, 0);
    sp_trace_release(&trace);
}

static void a_failed_request_is_a_block_that_is_not_alive(void **state) {
    (void)state;
    struct sp_trace trace;
    read_plain(HEADER
               "1,0,allocate,0x100,512,0\n"
               "1,1,allocate failure,(nil),4096,3\n",
               &trace);
    assert_operation(&trace, 1, SP_TRACE_FAILURE, 1, 1);
    assert_int_equal(trace.blocks[1].size, 4096);
    assert_int_equal(trace.live_peak_bytes, 512);
    sp_trace_release(&trace);
}

static void the_peak_is_that_of_the_devices_blocks(void **state) {
    (void)state;
    struct sp_trace trace;
    read_plain(HEADER
               "1,0,allocate host,0x100,8192,0\n"
               "1,1,allocate,0x200,512,0\n"
               "1,2,allocate managed,0x300,8192,0\n"
               "1,3,free,0x100,8192,0\n"
               "1,4,trim host,0,4096,0\n"
               "1,5,allocate failure node,0,64,0\n",
               &trace);
    assert_int_equal(trace.live_peak_bytes, 512);
    assert_int_equal(trace.live_peak_operation, 1);
    assert_int_equal(trace.blocks[0].place, SP_TRACE_AT_HOST);
    assert_int_equal(trace.blocks[1].place, SP_TRACE_AT_DEVICE);
    assert_int_equal(trace.blocks[2].place, SP_TRACE_AT_MANAGED);
    assert_int_equal(trace.operations[4].place, SP_TRACE_AT_HOST);
    assert_int_equal(trace.operations[4].keep, 4096);
    assert_true(trace.has_place[SP_TRACE_AT_DEVICE] && trace.has_place[SP_TRACE_AT_HOST] &&
                trace.has_place[SP_TRACE_AT_NODE] && trace.has_place[SP_TRACE_AT_MANAGED]);
    assert_false(trace.has_place[SP_TRACE_AT_STAGING]);
    sp_trace_release(&trace);
}

static void clock_times_and_handles_as_streams_are_read(void **state) {
    (void)state;
    struct sp_trace trace;
    read_plain(HEADER
               "77,10:23:45.678901,allocate,0x7f0000000000,512,(nil)\n"
               "78,10:23:45.678902,allocate,0x7f0000000200,512,0x55aa\n"
               "77,10:23:45.678903,free,0x7f0000000000,512,0x0\n",
               &trace);
    assert_int_equal(trace.stream_count, 2);
    assert_int_equal(trace.streams[0].number, 0);
    assert_int_equal(trace.streams[1].number, 0x55aa);
    sp_trace_release(&trace);
}

static void threads_are_numbered_in_the_order_of_their_appearance(void **state) {
    (void)state;
    struct sp_trace trace;
    read_plain(HEADER
               "77,0,allocate,0x100,512,0\n"
               "12,1,allocate,0x300,512,0\n"
               "77,2,free,0x300,512,0\n",
               &trace);
    assert_int_equal(trace.thread_count, 2);
    assert_int_equal(trace.operations[0].thread, 0);
    assert_int_equal(trace.operations[1].thread, 1);
    assert_int_equal(trace.operations[2].thread, 0);
    sp_trace_release(&trace);
}

static void a_free_on_another_stream_than_its_allocation_is_foreign(void **state) {
    (void)state;
    struct sp_trace trace;
    read_plain(HEADER
               "1,0,allocate,0x100,512,5\n"
               "1,1,free,0x100,512,6\n"
               "1,2,allocate,0x100,512,5\n"
               "1,3,free,0x100,512,5\n"
               "1,4,free,(nil),0,6\n",
               &trace);
    static const bool foreign[] = {false, true, false, false, false};
    for (size_t i = 0; i < trace.operation_count; i++)
        assert_int_equal(sp_trace_is_foreign(&trace, &trace.operations[i]), foreign[i]);
    sp_trace_release(&trace);
}

// ------------------------------------------------------------------------------- streams and order

static void assert_stream(const struct sp_trace *trace, size_t i, uint64_t number,
                          enum sp_trace_kind kind, uint32_t thread) {
    assert_true(i < trace->stream_count);
    assert_int_equal(trace->streams[i].number, number);
    assert_int_equal(trace->streams[i].kind, kind);
    assert_int_equal(trace->streams[i].thread, thread);
}

static void a_stream_has_the_kind_that_its_first_line_says(void **state) {
    (void)state;
    struct sp_trace trace;
    read_plain(HEADER
               "1,0,legacy stream,0,0,4\n"
               "1,1,per-thread stream,0,0,5\n"
               "2,2,per-thread stream,0,0,6\n"
               "1,3,blocking stream,0,0,0\n"
               "2,4,non-blocking stream,0,0,8\n"
               "2,5,allocate,0x100,512,9\n",
               &trace);
    assert_int_equal(trace.stream_count, 6);
    assert_stream(&trace, 0, 4, SP_TRACE_LEGACY, 0);
    assert_stream(&trace, 1, 5, SP_TRACE_PER_THREAD, 0);
    assert_stream(&trace, 2, 6, SP_TRACE_PER_THREAD, 1);
    assert_stream(&trace, 3, 0, SP_TRACE_BLOCKING, 0);
    assert_stream(&trace, 4, 8, SP_TRACE_NON_BLOCKING, 1);
    assert_stream(&trace, 5, 9, SP_TRACE_NON_BLOCKING, 1);
    assert_operation(&trace, 4, SP_TRACE_NON_BLOCKING_STREAM, SP_TRACE_NO_BLOCK, 4);
    assert_true(trace.has_order);
    sp_trace_release(&trace);
}

static void number_0_is_the_legacy_stream_where_nothing_else_is_said(void **state) {
    (void)state;
    struct sp_trace trace;
    read_plain(HEADER "1,0,allocate,0x100,512,0\n", &trace);
    assert_stream(&trace, 0, 0, SP_TRACE_LEGACY, 0);
    sp_trace_release(&trace);
}

static void a_stream_ends_with_the_line_that_destroys_it(void **state) {
    (void)state;
    struct sp_trace trace;
    read_plain(HEADER
               "1,0,allocate,0x100,512,5\n"
               "1,1,allocate,0x300,512,6\n"
               "1,2,destroy stream,0,0,5\n"
               "1,3,free,0x100,512,6\n",
               &trace);
    assert_int_equal(trace.streams[0].first, 0);
    assert_int_equal(trace.streams[0].end, 2);
    assert_int_equal(trace.streams[1].first, 1);
    assert_true(trace.streams[1].end == SP_TRACE_NO_END);
    sp_trace_release(&trace);
}

static void assert_event(const struct sp_trace *trace, size_t i, uint32_t event, uint32_t turn) {
    assert_int_equal(trace->operations[i].event, event);
    assert_int_equal(trace->operations[i].turn, turn);
    assert_int_equal(trace->operations[i].block, SP_TRACE_NO_BLOCK);
}

static void a_handle_that_comes_again_behind_its_destroy_is_another_event(void **state) {
    (void)state;
    struct sp_trace trace;
    read_plain(HEADER
               "1,0,record,0xe,0,5\n"
               "1,1,wait,0xf,0,5\n"
               "1,2,synchronize event,0xe,0,77\n"
               "1,3,destroy event,0xe,0,77\n"
               "1,4,record,0xe,0,5\n"
               "1,5,query event,0xe,0,77\n"
               "1,6,wait,0xf,0,5\n",
               &trace);
    assert_int_equal(trace.event_count, 3);
    assert_event(&trace, 0, 0, 0);
    assert_event(&trace, 1, 1, 0);
    assert_event(&trace, 2, 0, 1);
    assert_event(&trace, 3, 0, 2);
    assert_event(&trace, 4, 2, 0);
    assert_event(&trace, 5, 2, 1);
    assert_event(&trace, 6, 1, 1);
    sp_trace_release(&trace);
}

// The number in the column doesn't make a stream of it.
static void a_line_without_a_stream_names_none(void **state) {
    (void)state;
    struct sp_trace trace;
    read_plain(HEADER
               "1,0,allocate,0x100,512,5\n"
               "1,1,synchronize device,0,0,1\n"
               "1,2,query event,0xe,0,2\n"
               "1,3,trim,0,4096,3\n"
               "1,4,free unordered,0x100,512,4\n"
               "1,5,free unordered,0,0,4\n",
               &trace);
    assert_int_equal(trace.stream_count, 1);
    for (size_t i = 1; i < trace.operation_count; i++)
        assert_int_equal(trace.operations[i].stream, SP_TRACE_NO_STREAM);
    assert_int_equal(trace.operations[3].keep, 4096);
    assert_operation(&trace, 4, SP_TRACE_FREE_UNORDERED, 0, SP_TRACE_NO_STREAM);
    assert_operation(&trace, 5, SP_TRACE_FREE_UNORDERED, SP_TRACE_NO_BLOCK, SP_TRACE_NO_STREAM);
    assert_false(sp_trace_is_foreign(&trace, &trace.operations[4]));
    assert_int_equal(trace.live_peak_bytes, 512);
    sp_trace_release(&trace);
}

static void a_block_that_its_stream_does_not_free_is_handed_over(void **state) {
    (void)state;
    struct sp_trace trace;
    read_plain(HEADER
               "1,0,allocate,0x100,512,5\n"
               "1,1,allocate,0x300,512,5\n"
               "1,2,allocate,0x500,512,5\n"
               "1,3,free,0x100,512,5\n"
               "1,4,free,0x300,512,6\n"
               "1,5,free unordered,0x500,512,5\n",
               &trace);
    static const bool handed_over[] = {false, true, true};
    for (size_t i = 0; i < trace.block_count; i++)
        assert_int_equal(trace.blocks[i].handed_over, handed_over[i]);
    sp_trace_release(&trace);
}

enum { RENEWALS = 5000 };

// Longer than the first arrays of streams and events: each is destroyed before the next one begins.
static void very_many_streams_and_events_may_come_and_go(void **state) {
    (void)state;
    FILE *file = fopen(path_of("long.csv"), "w");
    assert_non_null(file);
    fputs(HEADER, file);
    for (unsigned i = 0; i < RENEWALS; i++)
        fprintf(file,
                "%u,0,per-thread stream,0,0,%u\n"
                "1,1,record,0xe,0,%u\n"
                "1,2,destroy event,0xe,0,0\n"
                "1,3,destroy stream,0,0,%u\n",
                2 + i, 3 * i + 1, 3 * i + 2, 3 * i + 2);
    assert_int_equal(fclose(file), 0);
    struct sp_trace trace;
    struct sp_trace_error error;
    assert_true(sp_trace_read(path, &trace, &error));
    assert_int_equal(trace.stream_count, 2 * RENEWALS);
    assert_int_equal(trace.event_count, RENEWALS);
    assert_int_equal(trace.thread_count, RENEWALS + 1);
    for (size_t i = 0; i < RENEWALS; i++)
        assert_int_equal(trace.streams[2 * i + 1].end, 4 * i + 3);
    sp_trace_release(&trace);
}

// ---------------------------------------------------------------------------------- the whole file

enum { MANY = 50000 };

// Longer than every buffer on the way: 50,000 blocks alive at once, on 100 streams.
static void a_long_trace_is_read_whole(void **state) {
    (void)state;
    FILE *file = fopen(path_of("long.csv"), "w");
    assert_non_null(file);
    fputs(HEADER, file);
    for (unsigned i = 0; i < MANY; i++)
        fprintf(file, "1,%u,allocate,0x%x,%u,%u\n", i, 0x1000 + 512 * i, i + 1, i % 100);
    for (unsigned i = 0; i < MANY; i++)
        fprintf(file, "1,%u,free,0x%x,%u,%u\n", i, 0x1000 + 512 * i, i + 1, i % 100);
    assert_int_equal(fclose(file), 0);

    struct sp_trace trace;
    struct sp_trace_error error;
    assert_true(sp_trace_read(path, &trace, &error));
    assert_int_equal(trace.operation_count, 2 * MANY);
    assert_int_equal(trace.block_count, MANY);
    assert_int_equal(trace.stream_count, 100);
    assert_int_equal(trace.live_peak_bytes, (uint64_t)MANY * (MANY + 1) / 2);
    for (uint32_t i = 0; i < MANY; i++)
        assert_operation(&trace, MANY + i, SP_TRACE_FREE, i, i % 100);
    sp_trace_release(&trace);
}

static void a_name_loses_only_its_folder_and_its_own_suffixes(void **state) {
    (void)state;
    FILE *file = fopen(path_of("run.v2.log"), "w");
    assert_non_null(file);
    fputs(small, file);
    assert_int_equal(fclose(file), 0);
    struct sp_trace trace;
    struct sp_trace_error error;
    assert_true(sp_trace_read(path, &trace, &error));
    assert_string_equal(trace.name, "run.v2.log");
    sp_trace_release(&trace);
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    static const char *const names[] = {"plain.csv", "packed.csv.gz", "long.csv", "run.v2.log"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unlink(path_of(names[i]));
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_trace_is_resolved_to_blocks_and_streams),
        cmocka_unit_test(a_gzipped_trace_is_the_same_as_a_plain_one),
        cmocka_unit_test(lines_may_end_with_a_carriage_return_and_the_last_one_with_nothing),
        cmocka_unit_test(null_pointers_are_blocks_of_no_bytes_and_may_be_many_at_once),
        cmocka_unit_test(a_failed_request_is_a_block_that_is_not_alive),
        cmocka_unit_test(the_peak_is_that_of_the_devices_blocks),
        cmocka_unit_test(clock_times_and_handles_as_streams_are_read),
        cmocka_unit_test(threads_are_numbered_in_the_order_of_their_appearance),
        cmocka_unit_test(a_free_on_another_stream_than_its_allocation_is_foreign),
        cmocka_unit_test(a_stream_has_the_kind_that_its_first_line_says),
        cmocka_unit_test(number_0_is_the_legacy_stream_where_nothing_else_is_said),
        cmocka_unit_test(a_stream_ends_with_the_line_that_destroys_it),
        cmocka_unit_test(a_handle_that_comes_again_behind_its_destroy_is_another_event),
        cmocka_unit_test(a_line_without_a_stream_names_none),
        cmocka_unit_test(a_block_that_its_stream_does_not_free_is_handed_over),
        cmocka_unit_test(very_many_streams_and_events_may_come_and_go),
        cmocka_unit_test(a_long_trace_is_read_whole),
        cmocka_unit_test(a_name_loses_only_its_folder_and_its_own_suffixes),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
