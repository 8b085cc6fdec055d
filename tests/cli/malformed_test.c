// Traces that are not as they should be: the program says where and why, prints nothing else and
// exits with 1.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "program.h"

#define GOOD TRACE_HEADER "1,0,allocate,0x100,512,0\n"

#define TEN   "0123456789"
#define FIFTY TEN TEN TEN TEN TEN
#define LONG  FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY

//   X(name, text of the file, line, reason)
// clang-format off
#define MALFORMED(X) \
    X(an_empty_file, "", 1, "the file is empty: the header 'Thread,Time,Action,Pointer,Size,Stream' is missing") \
    X(another_header, "Thread,Time,Action,Pointer,Size\n", 1, "the header is not 'Thread,Time,Action,Pointer,Size,Stream'") \
    X(no_header, "1,0,allocate,0x100,512,0\n", 1, "the header is not 'Thread,Time,Action,Pointer,Size,Stream'") \
    X(nothing_behind_the_header, TRACE_HEADER, 2, "there is no operation behind the header") \
    X(a_missing_field, GOOD "1,1,free,0x100,512\n", 3, "expected 6 fields, found 5") \
    X(a_field_too_many, GOOD "1,1,free,0x100,512,0,0\n", 3, "expected 6 fields, found 7") \
    X(an_empty_line, GOOD "\n1,1,free,0x100,512,0\n", 3, "expected 6 fields, found 1") \
    X(a_cut_last_line, GOOD "1,1,fre", 3, "expected 6 fields, found 3") \
    X(a_bad_thread, TRACE_HEADER "main,0,allocate,0x100,512,0\n", 2, "bad thread 'main'") \
    X(a_bad_time, TRACE_HEADER "1,noon,allocate,0x100,512,0\n", 2, "bad time 'noon'") \
    X(a_bad_clock_time, TRACE_HEADER "1,25:00:00.000000,allocate,0x100,512,0\n", 2, "bad time '25:00:00.000000'") \
    X(an_unknown_action, GOOD "1,1,levitate,0x100,512,0\n", 3, "bad action 'levitate'") \
    X(an_unknown_place, GOOD "1,1,allocate cellar,0x300,512,0\n", 3, "bad action 'allocate cellar'") \
    X(a_place_of_a_free, GOOD "1,1,free host,0x100,512,0\n", 3, "bad action 'free host'") \
    X(a_block_of_the_host_that_is_alive, TRACE_HEADER "1,0,allocate host,0x100,8,0\n1,1,allocate,0x100,8,0\n", 3, "allocation at 0x100, which is alive since line 2") \
    X(a_bad_pointer, TRACE_HEADER "1,0,allocate,there,512,0\n", 2, "bad pointer 'there'") \
    X(a_pointer_too_large, TRACE_HEADER "1,0,allocate,0x10000000000000000,512,0\n", 2, "pointer '0x10000000000000000' does not fit in 64 bits") \
    X(a_bad_size, TRACE_HEADER "1,0,allocate,0x100,512B,0\n", 2, "bad size '512B'") \
    X(a_negative_size, TRACE_HEADER "1,0,allocate,0x100,-512,0\n", 2, "bad size '-512'") \
    X(a_size_too_large, TRACE_HEADER "1,0,allocate,0x100,18446744073709551616,0\n", 2, "size '18446744073709551616' does not fit in 64 bits") \
    X(sizes_too_large_together, TRACE_HEADER "1,0,allocate,0x100,18446744073709551615,0\n1,0,allocate,0x200,1,0\n", 3, "more than 2^64 bytes are alive") \
    X(a_bad_stream, TRACE_HEADER "1,0,allocate,0x100,512,first\n", 2, "bad stream 'first'") \
    X(a_free_of_an_unknown_pointer, GOOD "1,1,free,0x200,512,0\n", 3, "free of 0x200, which is not alive") \
    X(a_second_free, GOOD "1,1,free,0x100,512,0\n1,2,free,0x100,512,0\n", 4, "free of 0x100, which is not alive") \
    X(a_pointer_allocated_twice, GOOD "1,1,allocate,0x300,8,0\n1,2,allocate,0x100,8,0\n", 4, "allocation at 0x100, which is alive since line 2") \
    X(a_free_with_another_size, GOOD "1,1,free,0x100,256,0\n", 3, "free of 256 bytes at 0x100, allocated with 512 bytes at line 2") \
    X(a_null_pointer_with_a_size, TRACE_HEADER "1,0,allocate,(nil),512,0\n", 2, "a null pointer with a size of 512") \
    X(a_free_of_a_null_pointer_with_a_size, GOOD "1,1,free,(nil),512,0\n", 3, "a null pointer with a size of 512") \
    X(a_failed_allocation_with_a_pointer, TRACE_HEADER "1,0,allocate failure,0x100,512,0\n", 2, "'allocate failure' with the pointer 0x100") \
    X(a_second_free_in_no_streams_order, GOOD "1,1,free unordered,0x100,512,0\n1,2,free unordered,0x100,512,0\n", 4, "free of 0x100, which is not alive") \
    X(a_free_in_no_streams_order_with_another_size, GOOD "1,1,free unordered,0x100,256,0\n", 3, "free of 256 bytes at 0x100, allocated with 512 bytes at line 2") \
    X(a_record_with_no_event, GOOD "1,1,record,(nil),0,0\n", 3, "'record' with a null pointer for the event") \
    X(a_wait_with_a_size, GOOD "1,1,wait,0xe,8,0\n", 3, "'wait' with a size of 8") \
    X(a_trim_with_a_pointer, GOOD "1,1,trim,0xe,8,0\n", 3, "'trim' with the pointer 0xe") \
    X(a_kind_said_twice, TRACE_HEADER "1,0,blocking stream,0,0,7\n1,0,blocking stream,0,0,7\n", 3, "the kind of stream 7 is said a second time, after line 2") \
    X(another_kind, TRACE_HEADER "1,0,blocking stream,0,0,7\n1,0,non-blocking stream,0,0,7\n", 3, "the kind of stream 7 is said a second time, after line 2") \
    X(a_kind_behind_a_use, GOOD "1,1,allocate,0x300,512,7\n1,2,free,0x300,512,7\n1,3,blocking stream,0,0,7\n", 5, "the kind of stream 7 is said behind its first use at line 3") \
    X(a_second_legacy_stream, TRACE_HEADER "1,0,legacy stream,0,0,7\n1,0,legacy stream,0,0,8\n", 3, "stream 8 is a second legacy stream: stream 7 is one since line 2") \
    X(number_0_beside_a_legacy_stream, TRACE_HEADER "1,0,legacy stream,0,0,7\n1,0,synchronize stream,0,0,0\n", 3, "stream 0 is a second legacy stream: stream 7 is one since line 2") \
    X(a_legacy_stream_beside_number_0, GOOD "1,0,legacy stream,0,0,7\n", 3, "stream 7 is a second legacy stream: stream 0 is one since line 2") \
    X(a_second_per_thread_stream, TRACE_HEADER "1,0,per-thread stream,0,0,7\n1,0,per-thread stream,0,0,8\n", 3, "stream 8 is a second per-thread stream of the thread: stream 7 is one since line 2") \
    X(another_threads_per_thread_stream, GOOD "1,0,per-thread stream,0,0,7\n2,1,record,0xe,0,7\n", 4, "stream 7 is the per-thread stream of another thread since line 3") \
    X(an_allocation_on_a_destroyed_stream, GOOD "1,1,destroy stream,0,0,7\n1,2,allocate,0x300,512,7\n", 4, "stream 7 has been destroyed at line 3") \
    X(a_free_on_a_destroyed_stream, GOOD "1,1,destroy stream,0,0,7\n1,2,free,0x100,512,7\n", 4, "stream 7 has been destroyed at line 3") \
    X(a_wait_of_a_destroyed_stream, GOOD "1,1,destroy stream,0,0,7\n1,2,wait,0xe,0,7\n", 4, "stream 7 has been destroyed at line 3") \
    X(a_stream_destroyed_twice, GOOD "1,1,destroy stream,0,0,7\n1,2,destroy stream,0,0,7\n", 4, "stream 7 has been destroyed at line 3") \
    X(a_kind_of_a_destroyed_stream, GOOD "1,1,destroy stream,0,0,7\n1,2,blocking stream,0,0,7\n", 4, "stream 7 has been destroyed at line 3") \
    X(the_end_of_number_0, GOOD "1,1,destroy stream,0,0,0\n", 3, "stream 0 is a default stream, which can't be destroyed") \
    X(the_end_of_a_legacy_stream, TRACE_HEADER "1,0,legacy stream,0,0,7\n1,1,destroy stream,0,0,7\n", 3, "stream 7 is a default stream, which can't be destroyed") \
    X(the_end_of_a_per_thread_stream, TRACE_HEADER "1,0,per-thread stream,0,0,7\n1,1,destroy stream,0,0,7\n", 3, "stream 7 is a default stream, which can't be destroyed") \
    X(a_very_long_line, GOOD LONG ",0,free,0x100,512,0\n", 3, "line longer than 512 characters")
// clang-format on

static void assert_refused(const char *path, unsigned long line, const char *reason) {
    char expected[1024];
    if (line > 0)
        snprintf(expected, sizeof expected, "%s:%lu: %s\n", path, line, reason);
    else
        snprintf(expected, sizeof expected, "%s: %s\n", path, reason);
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("replay", "--device", "sim", path));
    assert_string_equal(outcome.errors, expected);
    assert_string_equal(outcome.output, "");
    assert_int_equal(outcome.status, 1);
    program_forget(&outcome);
}

#define MALFORMED_TEST(name, text, line, reason)                                                   \
    static void name##_is_refused(void **state) {                                                  \
        (void)state;                                                                               \
        assert_refused(file_write(#name ".csv", text), line, reason);                              \
    }
MALFORMED(MALFORMED_TEST)
#undef MALFORMED_TEST

static void a_missing_file_is_refused(void **state) {
    (void)state;
    assert_refused(file_path("nothing.csv"), 0, "No such file or directory");
}

static void a_directory_is_refused(void **state) {
    (void)state;
    assert_refused(file_path(""), 0, "Is a directory");
}

static void an_unprintable_field_does_not_reach_the_terminal(void **state) {
    (void)state;
    const char *path = file_write("escape.csv", TRACE_HEADER "1,0,\033[2J,0x100,512,0\n");
    assert_refused(path, 2, "bad action '?[2J'");
}

static void a_null_byte_is_refused_as_any_bad_character(void **state) {
    (void)state;
    static const char text[] = TRACE_HEADER "1,0,allocate,0x100,5\0,0\n";
    assert_refused(file_write_bytes("null.csv", text, sizeof text - 1), 2, "bad size '5?'");
}

// ---------------------------------------------------------------------------- damaged gzip streams

enum { TRAILER = 8, GZIP_HEADER = 10, LINES = 3000 };

// The bytes of a gzipped trace of 3,000 lines behind the header. The caller frees them.
static unsigned char *gzipped_trace(size_t *size) {
    static char text[LINES * 64];
    size_t length = (size_t)sprintf(text, "%s", TRACE_HEADER);
    for (unsigned i = 0; i < LINES; i++)
        length += (size_t)sprintf(text + length, "1,%u,allocate,0x%x,%u,0\n", i, 512 * (i + 1),
                                  i * 2654435761u >> 8);
    const char *path = file_write_gzipped("whole.csv.gz", text);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    unsigned char *bytes = malloc(sizeof text);
    assert_non_null(bytes);
    *size = fread(bytes, 1, sizeof text, file);
    fclose(file);
    assert_true(*size > 4096);
    return bytes;
}

static void a_gzip_stream_cut_in_its_trailer_is_refused_behind_the_last_line(void **state) {
    (void)state;
    size_t size;
    unsigned char *bytes = gzipped_trace(&size);
    assert_refused(file_write_bytes("cut.csv.gz", bytes, size - TRAILER / 2), LINES + 2,
                   "the gzip stream is cut off");
    free(bytes);
}

static void a_gzip_stream_cut_in_its_header_is_refused(void **state) {
    (void)state;
    size_t size;
    unsigned char *bytes = gzipped_trace(&size);
    assert_refused(file_write_bytes("cut.csv.gz", bytes, GZIP_HEADER / 2), 1,
                   "the gzip stream is cut off");
    free(bytes);
}

// Where in the text the trouble begins depends on zlib; that there is trouble, and which, does not.
static void assert_refused_somewhere(const char *path, const char *reason) {
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("replay", "--device", "sim", path));
    assert_int_equal(outcome.status, 1);
    assert_string_equal(outcome.output, "");
    unsigned long line;
    int behind_line = 0;
    assert_memory_equal(outcome.errors, path, strlen(path));
    assert_int_equal(sscanf(outcome.errors + strlen(path), ":%lu: %n", &line, &behind_line), 1);
    assert_true(line >= 1 && line <= LINES + 2);
    assert_string_equal(outcome.errors + strlen(path) + behind_line, reason);
    program_forget(&outcome);
}

static void a_gzip_stream_cut_anywhere_is_refused(void **state) {
    (void)state;
    size_t size;
    unsigned char *bytes = gzipped_trace(&size);
    for (size_t kept = GZIP_HEADER; kept < size; kept += size / 8)
        assert_refused_somewhere(file_write_bytes("cut.csv.gz", bytes, kept),
                                 "the gzip stream is cut off\n");
    free(bytes);
}

static void a_gzip_stream_with_a_wrong_checksum_is_refused(void **state) {
    (void)state;
    size_t size;
    unsigned char *bytes = gzipped_trace(&size);
    bytes[size - TRAILER] ^= 1;
    assert_refused_somewhere(file_write_bytes("flipped.csv.gz", bytes, size),
                             "the gzip stream is corrupt here or behind\n");
    free(bytes);
}

// ------------------------------------------------------------ small files that unpack to much text

#ifdef CAN_LIMIT_MEMORY

// A thousand times the lines, so often.
static const char *repeated(const char *name, const char *lines, int times) {
    const char *path = file_path(name);
    size_t length = strlen(lines);
    char *text = malloc(1000 * length);
    gzFile file = gzopen(path, "w1");
    assert_true(text && file);
    for (size_t i = 0; i < 1000; i++)
        memcpy(text + i * length, lines, length);
    assert_true(gzputs(file, TRACE_HEADER) > 0);
    for (int i = 0; i < times; i++)
        assert_int_equal(gzwrite(file, text, (unsigned)(1000 * length)), 1000 * length);
    assert_int_equal(gzclose(file), Z_OK);
    free(text);
    return path;
}

// The shell lets the program have 150 MB of address space.
static void replay_in_little_memory(struct outcome *outcome, const char *path) {
    program_run_at("/bin/sh", outcome, NO_SETTINGS,
                   ARGUMENTS("-c", "ulimit -v 150000; exec \"$0\" \"$@\"", STREAMPOOL_PROGRAM,
                             "replay", "--device=sim", "--allocator=direct", path));
}

static void the_text_of_a_trace_takes_no_memory(void **state) {
    (void)state;
    struct outcome outcome;
    char lines[1024];
    snprintf(lines, sizeof lines, "1,%0440d,allocate,0x100,8,0\n1,%0440d,free,0x100,8,0\n", 0, 0);
    const char *path = repeated("long.csv.gz", lines, 200); // 190 MB
    replay_in_little_memory(&outcome, path);
    assert_string_equal(outcome.errors, "");
    assert_int_equal(outcome.status, 0);
    program_forget(&outcome);
    remove(path);
}

static void more_lines_than_memory_has_room_for_are_refused(void **state) {
    (void)state;
    struct outcome outcome;
    const char *path =
        repeated("many.csv.gz", "1,0,allocate,0x100,8,0\n1,0,free,0x100,8,0\n", 3000);
    replay_in_little_memory(&outcome, path);
    assert_int_equal(outcome.status, 1);
    assert_string_equal(outcome.output, "");
    assert_memory_equal(outcome.errors, path, strlen(path));
    assert_says(outcome.errors, ": out of host memory\n");
    program_forget(&outcome);
    remove(path);
}

#endif

// -------------------------------------------------------------------------- behind the gzip stream

// A gzipped trace with some bytes behind it.
static const char *with_bytes_behind(const char *name, const void *behind, size_t size) {
    size_t whole;
    unsigned char *bytes = gzipped_trace(&whole);
    unsigned char *longer = realloc(bytes, whole + size);
    assert_non_null(longer);
    memcpy(longer + whole, behind, size);
    const char *path = file_write_bytes(name, longer, whole + size);
    free(longer);
    return path;
}

static void other_bytes_behind_a_gzip_stream_are_refused(void **state) {
    (void)state;
    static const char lost[] = "1,1,free,0x200,512,0\n", zeros[512], half[] = "\x1f";
    const char *paths[] = {
        with_bytes_behind("text.csv.gz", lost, sizeof lost - 1),
        with_bytes_behind("zeros.csv.gz", zeros, sizeof zeros),
        with_bytes_behind("half.csv.gz", half, 1),
    };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        assert_refused(paths[i], LINES + 2, "what stands behind the gzip stream is no gzip stream");
}

static void a_second_gzip_stream_is_held_to_the_same(void **state) {
    (void)state;
    size_t size;
    unsigned char *bytes = gzipped_trace(&size);
    assert_refused(with_bytes_behind("cut.csv.gz", bytes, GZIP_HEADER / 2), LINES + 2,
                   "the gzip stream is cut off");
    assert_refused(with_bytes_behind("twice.csv.gz", bytes, size), LINES + 2,
                   "bad thread 'Thread'"); // the header of the second one
    bytes[2] ^= 1;
    assert_refused(with_bytes_behind("method.csv.gz", bytes, size), LINES + 2,
                   "the gzip stream is corrupt here or behind");
    free(bytes);
}

// ---------------------------------------------------------------------------------- several traces

static void a_bad_trace_behind_a_good_one_leaves_no_half_printed_table(void **state) {
    (void)state;
    const char *good = file_write("good.csv", GOOD);
    const char *bad = file_write("bad.csv", GOOD "1,1,free,0x200,512,0\n");
    char expected[512];
    snprintf(expected, sizeof expected, "%s:3: free of 0x200, which is not alive\n", bad);
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("replay", "--device", "sim", good, bad));
    assert_int_equal(outcome.status, 1);
    assert_string_equal(outcome.output, "");
    assert_string_equal(outcome.errors, expected);
    program_forget(&outcome);
}

static void a_bad_trace_leaves_no_json_file(void **state) {
    (void)state;
    const char *bad = file_write("bad.csv", "nonsense\n");
    size_t files = file_count();
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device", "sim", "--json", file_path("out.json"), bad));
    assert_int_equal(outcome.status, 1);
    assert_int_equal(file_count(), files);
    program_forget(&outcome);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define MALFORMED_ROW(name, text, line, reason) cmocka_unit_test(name##_is_refused),
        MALFORMED(MALFORMED_ROW)
#undef MALFORMED_ROW
            cmocka_unit_test(a_missing_file_is_refused),
        cmocka_unit_test(a_directory_is_refused),
        cmocka_unit_test(an_unprintable_field_does_not_reach_the_terminal),
        cmocka_unit_test(a_null_byte_is_refused_as_any_bad_character),
        cmocka_unit_test(a_gzip_stream_cut_in_its_trailer_is_refused_behind_the_last_line),
        cmocka_unit_test(a_gzip_stream_cut_in_its_header_is_refused),
#ifdef CAN_LIMIT_MEMORY
        cmocka_unit_test(the_text_of_a_trace_takes_no_memory),
        cmocka_unit_test(more_lines_than_memory_has_room_for_are_refused),
#endif
        cmocka_unit_test(a_gzip_stream_cut_anywhere_is_refused),
        cmocka_unit_test(a_gzip_stream_with_a_wrong_checksum_is_refused),
        cmocka_unit_test(other_bytes_behind_a_gzip_stream_are_refused),
        cmocka_unit_test(a_second_gzip_stream_is_held_to_the_same),
        cmocka_unit_test(a_bad_trace_behind_a_good_one_leaves_no_half_printed_table),
        cmocka_unit_test(a_bad_trace_leaves_no_json_file),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
