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

#include "cli/trace.h"

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
    assert_int_equal(trace->streams[0], 0);
    assert_int_equal(trace->streams[1], 7);
    assert_operation(trace, 0, SP_TRACE_ALLOCATE, 0, 0);
    assert_operation(trace, 1, SP_TRACE_ALLOCATE, 1, 1);
    assert_operation(trace, 2, SP_TRACE_FREE, 0, 0);
    assert_operation(trace, 3, SP_TRACE_ALLOCATE, 2, 1);
    assert_operation(trace, 4, SP_TRACE_FREE, 1, 0);
    assert_int_equal(trace->blocks[1].size, 1024);
    assert_int_equal(trace->blocks[1].stream, 1);
    assert_int_equal(trace->live_peak_bytes, 512 + 1024);
    assert_int_equal(trace->live_peak_operation, 1);
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

static void clock_times_and_handles_as_streams_are_read(void **state) {
    (void)state;
    struct sp_trace trace;
    read_plain(HEADER
               "77,10:23:45.678901,allocate,0x7f0000000000,512,(nil)\n"
               "78,10:23:45.678902,allocate,0x7f0000000200,512,0x55aa\n"
               "77,10:23:45.678903,free,0x7f0000000000,512,0x0\n",
               &trace);
    assert_int_equal(trace.stream_count, 2);
    assert_int_equal(trace.streams[0], 0);
    assert_int_equal(trace.streams[1], 0x55aa);
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
        cmocka_unit_test(clock_times_and_handles_as_streams_are_read),
        cmocka_unit_test(threads_are_numbered_in_the_order_of_their_appearance),
        cmocka_unit_test(a_free_on_another_stream_than_its_allocation_is_foreign),
        cmocka_unit_test(a_long_trace_is_read_whole),
        cmocka_unit_test(a_name_loses_only_its_folder_and_its_own_suffixes),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
