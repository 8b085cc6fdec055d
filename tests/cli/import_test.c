// streampool import on snapshots of PyTorch's and logs of RMM's, whole ones and such as begin or
// end in the middle of a run.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <zlib.h>

#include <cmocka.h>

#include "program.h"

#define LOST_BEGINNING ": 2 allocations from before the beginning\n"

// The operations of the program in snapshots/, whose beginning is lost.
#define SNAPSHOT_TRACE                                                                             \
    TRACE_HEADER                                                                                   \
    "0,0,allocate,0x7f8a40000000,500,0x0\n"                                                        \
    "0,0,allocate,0x7f8a40000400,300,0x0\n"                                                        \
    "0,0,free,0x7f8a40000000,500,0x0\n"                                                            \
    "0,14,allocate,0x7f8a40000000,1000,0x0\n"                                                      \
    "0,28,allocate,0x7f8a44000000,12884901888,0x5581ab3cd200\n"                                    \
    "0,42,free,0x7f8a40000000,1000,0x0\n"                                                          \
    "0,56,allocate,0x7f8a40000000,700,0x0\n"                                                       \
    "0,63,allocate failure,0x0,85899345920,0x0\n"                                                  \
    "0,70,free,0x7f8a44000000,12884901888,0x5581ab3cd200\n"

static void assert_outcome(const char *const arguments[], int status, const char *output,
                           const char *errors) {
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, arguments);
    assert_string_equal(outcome.errors, errors);
    assert_string_equal(outcome.output, output);
    assert_int_equal(outcome.status, status);
    program_forget(&outcome);
}

// Writes "PATH" and what stands behind it in a message.
static const char *said_of(const char *path, const char *behind) {
    static char text[1024];
    snprintf(text, sizeof text, "%s%s", path, behind);
    return text;
}

static void assert_imported(const char *path, const char *output, const char *repairs) {
    assert_outcome(ARGUMENTS("import", path), 0, output, *repairs ? said_of(path, repairs) : "");
}

static void assert_refused(const char *path, const char *reason) {
    assert_outcome(ARGUMENTS("import", path), 1, "", said_of(path, reason));
}

// A trace that was imported is one that can be replayed.
static void assert_replays(const char *path) {
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("replay", "--device", "sim", path));
    assert_replayed(&outcome);
    program_forget(&outcome);
}

// --------------------------------------------------------------------------------------- snapshots

static void pickles_of_all_protocols_and_json_give_the_same_trace(void **state) {
    (void)state;
    static const char *const names[] = {
        STREAMPOOL_SNAPSHOTS "/protocol_0.pickle", STREAMPOOL_SNAPSHOTS "/protocol_1.pickle",
        STREAMPOOL_SNAPSHOTS "/protocol_2.pickle", STREAMPOOL_SNAPSHOTS "/protocol_3.pickle",
        STREAMPOOL_SNAPSHOTS "/protocol_4.pickle", STREAMPOOL_SNAPSHOTS "/protocol_5.pickle",
        STREAMPOOL_SNAPSHOTS "/snapshot.json",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_imported(names[i], SNAPSHOT_TRACE, LOST_BEGINNING);
}

#define PICKLE STREAMPOOL_SNAPSHOTS "/protocol_4.pickle"

// The bytes of a file, gzipped.
static const char *gzipped(const char *name, const char *from) {
    char bytes[8192];
    FILE *in = fopen(from, "r");
    assert_non_null(in);
    size_t size = fread(bytes, 1, sizeof bytes, in);
    assert_true(size > 0 && size < sizeof bytes);
    fclose(in);
    const char *path = file_path(name);
    gzFile out = gzopen(path, "w");
    assert_non_null(out);
    assert_int_equal(gzwrite(out, bytes, (unsigned)size), size);
    assert_int_equal(gzclose(out), Z_OK);
    return path;
}

static void a_gzipped_pickle_is_read(void **state) {
    (void)state;
    assert_imported(gzipped("snapshot.pickle.gz", PICKLE), SNAPSHOT_TRACE, LOST_BEGINNING);
}

static void segments_are_what_the_allocator_asked_the_driver_for(void **state) {
    (void)state;
    assert_outcome(ARGUMENTS("import", "--segments", PICKLE), 0,
                   TRACE_HEADER
                   "0,0,allocate,0x7f8a42000000,2097152,0x0\n"
                   "0,0,allocate,0x7f8a40000000,2097152,0x0\n"
                   "0,0,allocate,0x7f8a44000000,20971520,0x5581ab3cd200\n"
                   "0,56,free,0x7f8a42000000,2097152,0x0\n",
                   PICKLE LOST_BEGINNING);
}

static void a_strict_import_refuses_a_snapshot_with_a_lost_beginning(void **state) {
    (void)state;
    assert_outcome(ARGUMENTS("import", "--strict", PICKLE), 1, "",
                   PICKLE ": device_traces[1][1]: free of 0x7f8a40000000, which is not alive\n");
}

#define ALLOC(address)                                                                             \
    "{\"action\":\"alloc\",\"addr\":" address ",\"size\":8,\"stream\":0,\"time_us\":5}"
#define SNAPSHOT(traces, segments) "{\"device_traces\":[" traces "],\"segments\":[" segments "]}"

static void of_several_devices_one_is_to_be_chosen(void **state) {
    (void)state;
    const char *path =
        file_write("devices.json", SNAPSHOT("[" ALLOC("512") "],[],[" ALLOC("1024") "]", ""));
    assert_refused(path, ": several devices have a history, choose by --device-index: 0, 2\n");
    assert_outcome(ARGUMENTS("import", "--device-index", "2", path), 0,
                   TRACE_HEADER "0,0,allocate,0x400,8,0x0\n", "");
    assert_outcome(ARGUMENTS("import", "--device-index", "1", path), 1, "",
                   said_of(path, ": device 1 has no history\n"));
    assert_outcome(ARGUMENTS("import", "--device-index", "3", path), 1, "",
                   said_of(path, ": device 3 has no history\n"));
}

static void a_snapshot_without_a_history_is_refused(void **state) {
    (void)state;
    assert_refused(file_write("empty.json", SNAPSHOT("[],[]", "")),
                   ": no device has a history: was it recorded? "
                   "(torch.cuda.memory._record_memory_history())\n");
}

// Old versions of PyTorch note neither addresses of blocks nor requested sizes nor times.
static void blocks_without_an_address_lie_side_by_side(void **state) {
    (void)state;
    const char *path = file_write(
        "old.json",
        SNAPSHOT("[{\"action\":\"alloc\",\"addr\":4096,\"size\":8,\"stream\":0}]",
                 "{\"device\":0,\"address\":8192,\"stream\":3,\"total_size\":2048,\"blocks\":["
                 "{\"size\":512,\"state\":\"inactive\"},"
                 "{\"size\":1024,\"state\":\"active_allocated\"},"
                 "{\"size\":512,\"state\":\"active_awaiting_free\"}]}"));
    assert_imported(path,
                    TRACE_HEADER
                    "0,0,allocate,0x2200,1024,0x3\n"
                    "0,0,allocate,0x1000,8,0x0\n",
                    ": 1 allocation from before the beginning\n");
}

static void a_block_that_the_trace_freed_and_that_is_active_is_left_out(void **state) {
    (void)state;
    const char *path = file_write(
        "torn.json",
        SNAPSHOT("[" ALLOC("512") ",{\"action\":\"free_requested\",\"addr\":512,\"size\":8,"
                                  "\"stream\":0}]",
                 "{\"device\":0,\"address\":512,\"stream\":0,\"total_size\":512,\"blocks\":["
                 "{\"size\":512,\"address\":512,\"state\":\"active_allocated\"}]}"));
    assert_imported(path,
                    TRACE_HEADER
                    "0,5,allocate,0x200,8,0x0\n"
                    "0,0,free,0x200,8,0x0\n",
                    ": 1 block left out that is active at the end though the trace freed it\n");
}

static void the_last_of_several_values_of_a_key_counts(void **state) {
    (void)state;
    const char *path = file_write(
        "twice.json", SNAPSHOT("[{\"size\":1,\"action\":\"alloc\",\"addr\":512,\"stream\":0,"
                               "\"size\":2,\"addr\":1024,\"size\":3}]",
                               ""));
    assert_imported(path, TRACE_HEADER "0,0,allocate,0x400,3,0x0\n", "");
}

static void entries_of_unknown_kinds_are_left_out(void **state) {
    (void)state;
    const char *path =
        file_write("unknown.json", SNAPSHOT("[" ALLOC("512") ",{\"action\":\"levitate\"}]", ""));
    assert_imported(path, TRACE_HEADER "0,0,allocate,0x200,8,0x0\n",
                    ": 1 entry of an unknown kind left out\n");
    assert_outcome(ARGUMENTS("import", "--strict", path), 1, "",
                   said_of(path, ": device_traces[0][1]: its 'action' is unknown\n"));
}

// ----------------------------------------------------------------------------------- logs of RMM's

//   X(test, log, trace behind its header, repairs)
#define LOGS(X)                                                                                    \
    X(a_whole_log_stays_as_it_is,                                                                  \
      TRACE_HEADER                                                                                 \
      "7,10:23:45.678901,allocate,0x100,64,0x5\n"                                                  \
      "8,10:23:45:678951,free,0x100,64,0x0\n"                                                      \
      "8,10:23:46.5,allocate failure,(nil),640,(nil)\n",                                           \
      "7,0,allocate,0x100,64,0x5\n8,50,free,0x100,64,0x0\n"                                        \
      "8,821099,allocate failure,0x0,640,0x0\n",                                                   \
      "")                                                                                          \
    X(what_is_freed_and_was_not_allocated_is_older_than_the_log,                                   \
      TRACE_HEADER                                                                                 \
      "1,100,allocate,0x100,8,0x0\n1,101,free,0x200,16,0x5\n"                                      \
      "1,102,free,0x300,32,0x6\n",                                                                 \
      "1,0,allocate,0x200,16,0x5\n1,0,allocate,0x300,32,0x6\n1,0,allocate,0x100,8,0x0\n"           \
      "1,1,free,0x200,16,0x5\n1,2,free,0x300,32,0x6\n",                                            \
      ": 2 allocations from before the beginning\n")                                               \
    X(what_is_allocated_while_it_is_alive_was_freed_before,                                        \
      TRACE_HEADER "1,1,allocate,0x100,8,0x5\n2,4,allocate,0x100,16,0x6\n",                        \
      "1,0,allocate,0x100,8,0x5\n1,3,free,0x100,8,0x5\n2,3,allocate,0x100,16,0x6\n",               \
      ": 1 lost free\n")                                                                           \
    X(what_is_freed_twice_was_allocated_between,                                                   \
      TRACE_HEADER "1,1,allocate,0x100,8,0x5\n1,2,free,0x100,8,0x5\n2,4,free,0x100,16,0x6\n",      \
      "1,0,allocate,0x100,8,0x5\n1,1,free,0x100,8,0x5\n2,3,allocate,0x100,16,0x6\n"                \
      "2,3,free,0x100,16,0x6\n",                                                                   \
      ": 1 lost allocation\n")                                                                     \
    X(the_size_of_an_allocation_counts_and_not_that_of_its_free,                                   \
      TRACE_HEADER                                                                                 \
      "1,1,allocate,0x100,8,0\n1,2,free,0x100,9,0\n1,3,allocate,0x100,9,0\n"                       \
      "1,4,free,0x100,0,0\n",                                                                      \
      "1,0,allocate,0x100,8,0x0\n1,1,free,0x100,8,0x0\n1,2,allocate,0x100,9,0x0\n"                 \
      "1,3,free,0x100,9,0x0\n",                                                                    \
      ": 2 frees with another size\n")                                                             \
    X(a_free_in_no_order_is_a_free,                                                                \
      TRACE_HEADER                                                                                 \
      "1,1,free unordered,0x100,8,0\n1,2,allocate,0x100,8,0\n"                                     \
      "1,3,free unordered,0x100,9,0\n1,4,synchronize device,0,0,0\n",                              \
      "1,0,allocate,0x100,8,0x0\n1,0,free unordered,0x100,8,0x0\n1,1,allocate,0x100,8,0x0\n"       \
      "1,2,free unordered,0x100,8,0x0\n1,3,synchronize device,0x0,0,0x0\n",                        \
      ": 1 allocation from before the beginning, 1 free with another size\n")                      \
    X(a_place_stays_with_its_allocation,                                                           \
      TRACE_HEADER                                                                                 \
      "1,1,allocate host,0x100,8,0\n1,2,allocate node,0x100,16,0\n"                                \
      "1,3,free,0x100,9,0\n1,4,allocate failure managed,0,8,0\n1,5,trim staging,0,8,0\n",          \
      "1,0,allocate host,0x100,8,0x0\n1,1,free,0x100,8,0x0\n1,1,allocate node,0x100,16,0x0\n"      \
      "1,2,free,0x100,16,0x0\n1,3,allocate failure managed,0x0,8,0x0\n"                            \
      "1,4,trim staging,0x0,8,0x0\n",                                                              \
      ": 1 lost free, 1 free with another size\n")                                                 \
    X(null_pointers_are_no_blocks,                                                                 \
      TRACE_HEADER "1,1,allocate,(nil),0,0\n1,1,allocate,0x0,0,0\n1,2,free,(nil),0,0\n",           \
      "1,0,allocate,0x0,0,0x0\n1,0,allocate,0x0,0,0x0\n1,1,free,0x0,0,0x0\n", "")                  \
    X(columns_may_stand_in_another_order_with_others_between,                                      \
      "size,\"Device\", ACTION ,Pointer,stream,Comment,TIME\r\n"                                   \
      "8,0,\"allocate\",100,12,\"a, \"\"b\"\"\",5\r\n"                                             \
      " 8 ,0,free,0x100,0xC,,\"7\"\r\n",                                                           \
      "0,0,allocate,0x100,8,0xc\n0,2,free,0x100,8,0xc\n", "")                                      \
    X(thread_time_and_stream_may_be_missing, "Pointer,Size,Action\n0x100,8,allocate\n",            \
      "0,0,allocate,0x100,8,0x0\n", "")                                                            \
    X(a_log_that_begins_behind_its_header_has_the_usual_columns,                                   \
      "1,5,allocate,0x100,8,0\n\n1,6,free,0x100,8,0\n",                                            \
      "1,0,allocate,0x100,8,0x0\n1,1,free,0x100,8,0x0\n", ": 1 missing header\n")                  \
    X(a_first_line_that_is_cut_is_left_out, "45.6,allocate,0x100,8,0\n1,6,allocate,0x200,8,0\n",   \
      "1,0,allocate,0x200,8,0x0\n", ": 1 missing header, 1 line left out that was cut\n")          \
    X(a_last_line_that_is_cut_is_left_out, TRACE_HEADER "1,6,allocate,0x200,8,0\n1,7,fre",         \
      "1,0,allocate,0x200,8,0x0\n", ": 1 line left out that was cut\n")                            \
    X(a_last_line_may_lack_its_newline, TRACE_HEADER "1,6,allocate,0x200,8,0",                     \
      "1,0,allocate,0x200,8,0x0\n", "")                                                            \
    X(logs_one_behind_the_other_are_one,                                                           \
      TRACE_HEADER "1,6,allocate,0x200,8,0\nPointer,Size,Action\n0x300,9,allocate\n",              \
      "1,6,allocate,0x200,8,0x0\n0,0,allocate,0x300,9,0x0\n", ": 1 header between the lines\n")    \
    X(a_clock_may_pass_midnight,                                                                   \
      TRACE_HEADER                                                                                 \
      "1,23:59:59.999999,allocate,0x100,8,0\n1,00:00:00.000001,free,0x100,8,0\n"                   \
      "1,23:59:59.999998,allocate,0x100,8,0\n1,00:00:00.1,free,0x100,8,0\n",                       \
      "1,1,allocate,0x100,8,0x0\n1,3,free,0x100,8,0x0\n1,0,allocate,0x100,8,0x0\n"                 \
      "1,100002,free,0x100,8,0x0\n",                                                               \
      "")                                                                                          \
    X(a_time_with_a_point_is_in_seconds,                                                           \
      TRACE_HEADER                                                                                 \
      "140573312345856,1634567890.123456,allocate,0x7f8a40000000,1024,0x7f8a38001020\n"            \
      "140573312345856,1634567890.234567,allocate,0x7f8a40000400,2048,0x7f8a38001020\n"            \
      "140573312345856,1634567891.3,deallocate,0x7f8a40000000,1024,0x7f8a38001020\n"               \
      "140573312345856,1634567891.3000009,free,0x7f8a40000400,2048,0x7f8a38001020\n",              \
      "140573312345856,0,allocate,0x7f8a40000000,1024,0x7f8a38001020\n"                            \
      "140573312345856,111111,allocate,0x7f8a40000400,2048,0x7f8a38001020\n"                       \
      "140573312345856,1176544,free,0x7f8a40000000,1024,0x7f8a38001020\n"                          \
      "140573312345856,1176544,free,0x7f8a40000400,2048,0x7f8a38001020\n",                         \
      "")                                                                                          \
    X(blank_lines_are_skipped,                                                                     \
      "\r\n" TRACE_HEADER "\n1,6,allocate,0x200,8,0\r\n \t \r\n\n1,6,free,0x200,8,0\n  ",          \
      "1,0,allocate,0x200,8,0x0\n1,0,free,0x200,8,0x0\n", "")                                      \
    X(a_comment_may_be_the_name_of_a_column,                                                       \
      "Pointer,Size,Action,Comment\n0x200,8,allocate,size\n0x200,8,free,Pointer\n",                \
      "0,0,allocate,0x200,8,0x0\n0,0,free,0x200,8,0x0\n", "")                                      \
    X(a_byte_order_mark_is_skipped, "\xef\xbb\xbf" TRACE_HEADER "1,6,allocate,0x200,8,0\n",        \
      "1,0,allocate,0x200,8,0x0\n", "")

#define LOG_TEST(name, log, trace, repairs)                                                        \
    static void name(void **state) {                                                               \
        (void)state;                                                                               \
        assert_imported(file_write(#name ".csv", log), TRACE_HEADER trace, repairs);               \
    }
LOGS(LOG_TEST)
#undef LOG_TEST

//   X(test, log, reason)
#define STRICT_LOGS(X)                                                                             \
    X(an_older_block, TRACE_HEADER "1,1,free,0x100,8,0\n",                                         \
      ":2: free of 0x100, which is not alive\n")                                                   \
    X(a_lost_free, TRACE_HEADER "1,1,allocate,0x100,8,0\n1,1,allocate,0x100,8,0\n",                \
      ":3: allocation at 0x100, which is alive\n")                                                 \
    X(another_size, TRACE_HEADER "1,1,allocate,0x100,8,0\n1,1,free,0x100,9,0\n",                   \
      ":3: free of 9 bytes at 0x100, allocated with 8 bytes\n")                                    \
    X(a_missing_header, "1,1,allocate,0x100,8,0\n", ":1: the header is missing\n")                 \
    X(a_second_header, TRACE_HEADER "1,1,allocate,0x100,8,0\n" TRACE_HEADER,                       \
      ":3: a header between the lines\n")                                                          \
    X(a_cut_line, TRACE_HEADER "1,1,allocate,0x100,8,0\n1,1", ":3: expected 6 fields, found 2\n")

#define STRICT_TEST(name, log, reason)                                                             \
    static void a_strict_import_refuses_##name(void **state) {                                     \
        (void)state;                                                                               \
        const char *path = file_write(#name ".csv", log);                                          \
        assert_outcome(ARGUMENTS("import", "--strict", path), 1, "", said_of(path, reason));       \
    }
STRICT_LOGS(STRICT_TEST)
#undef STRICT_TEST

//   X(test, log, reason)
#define BAD_LOGS(X)                                                                                \
    X(an_empty_log, "", ": there is no operation in it\n")                                         \
    X(a_header_alone, TRACE_HEADER, ": there is no operation in it\n")                             \
    X(a_log_without_pointers, "Size,Action,Pointers\n8,allocate,1\n",                              \
      ":1: the header has no column 'Pointer'\n")                                                  \
    X(a_log_without_sizes, "Action,Pointer\nallocate,1\n",                                         \
      ":1: the header has no column 'Size'\n")                                                     \
    X(a_column_that_stands_twice, "Size,Action,Pointer,SIZE\n",                                    \
      ":1: the header has two columns 'Size'\n")                                                   \
    X(a_line_that_is_no_row, TRACE_HEADER "1,1,allocate,0x100,8,0\nhello\n",                       \
      ":3: expected 6 fields, found 1\n")                                                          \
    X(an_action_that_is_none, TRACE_HEADER "1,1,levitate,0x100,8,0\n",                             \
      ":2: bad action 'levitate'\n")                                                               \
    X(a_time_that_is_none, TRACE_HEADER "1,1:2,allocate,0x100,8,0\n", ":2: bad time '1:2'\n")      \
    X(a_time_in_thousands, TRACE_HEADER "1,1e9,allocate,0x100,8,0\n", ":2: bad time '1e9'\n")      \
    X(a_time_before_1970, TRACE_HEADER "1,-1.5,allocate,0x100,8,0\n", ":2: bad time '-1.5'\n")     \
    X(an_open_quote, TRACE_HEADER "1,1,\"allocate,0x100,8,0\n",                                    \
      ":2: the quotes are wrong: unexpected end of data\n")                                        \
    X(a_quote_before_text, TRACE_HEADER "1,1,\"allocate\"d,0x100,8,0\n",                           \
      ":2: the quotes are wrong: ',' expected after '\"'\n")                                       \
    X(a_quoted_comma, TRACE_HEADER "1,1,\"allocate,2\",0x100,8,0\n",                               \
      ":2: bad action 'allocate,2'\n")                                                             \
    X(more_bytes_alive_than_there_are,                                                             \
      TRACE_HEADER "1,1,allocate,0x100,18446744073709551615,0\n1,1,allocate,0x200,1,0\n",          \
      ": more than 2^64 bytes are alive\n")

#define BAD_TEST(name, log, reason)                                                                \
    static void name##_is_refused(void **state) {                                                  \
        (void)state;                                                                               \
        assert_refused(file_write(#name ".csv", log), reason);                                     \
    }
BAD_LOGS(BAD_TEST)
#undef BAD_TEST

// -------------------------------------------------------------------------------------- the output

static void the_output_is_a_file_that_can_be_replayed(void **state) {
    (void)state;
    const char *path = file_path("imported.csv");
    assert_outcome(ARGUMENTS("import", "-o", path, PICKLE), 0, "", PICKLE LOST_BEGINNING);
    char *text = file_read(path);
    assert_string_equal(text, SNAPSHOT_TRACE);
    free(text);
    assert_replays(path);
}

static void an_output_whose_name_ends_with_gz_is_gzipped(void **state) {
    (void)state;
    const char *path = file_path("imported.csv.gz");
    assert_outcome(ARGUMENTS("import", PICKLE, "--output", path), 0, "", PICKLE LOST_BEGINNING);
    char *bytes = file_read(path), text[1024];
    assert_memory_equal(bytes, "\x1f\x8b", 2);
    free(bytes);
    gzFile file = gzopen(path, "r");
    int length = gzread(file, text, sizeof text - 1);
    assert_true(length > 0);
    text[length] = '\0';
    assert_int_equal(gzclose(file), Z_OK);
    assert_string_equal(text, SNAPSHOT_TRACE);
    assert_replays(path);
}

static void a_mended_log_can_be_replayed(void **state) {
    (void)state;
    const char *path = file_path("mended.csv");
    const char *log =
        file_write("torn.csv",
                   "5,allocate,0x1\n1,1,free,0x100,8,1\n1,2,allocate,0x200,8,1\n"
                   "1,3,allocate,0x200,9,1\n1,4,free,0x200,7,2\n1,5,free,0x200,7,2\n1,6,f");
    assert_outcome(ARGUMENTS("import", log, "-o", path), 0, "",
                   said_of(log,
                           ": 1 allocation from before the beginning, 1 lost free, "
                           "1 lost allocation, 1 free with another size, 1 missing header, "
                           "2 lines left out that were cut\n"));
    assert_replays(path);
}

static void a_trace_may_take_the_place_of_the_log_that_it_comes_from(void **state) {
    (void)state;
    const char *path = file_write("same.csv", "1,7,allocate,0x200,8,0\n");
    assert_outcome(ARGUMENTS("import", path, "-o", path), 0, "",
                   said_of(path, ": 1 missing header\n"));
    assert_imported(path, TRACE_HEADER "1,0,allocate,0x200,8,0x0\n", "");
}

static void a_failed_import_leaves_the_output_as_it_was(void **state) {
    (void)state;
    const char *path = file_write("kept.csv", "old");
    const char *bad = file_write("bad.csv", TRACE_HEADER "1,1,free,0x100\n1,1,free,0x100,8,0\n");
    size_t files = file_count();
    assert_outcome(ARGUMENTS("import", bad, "-o", path), 1, "",
                   said_of(bad, ":2: expected 6 fields, found 4\n"));
    char *text = file_read(path);
    assert_string_equal(text, "old");
    free(text);
    assert_int_equal(file_count(), files);
}

static void an_output_that_can_not_be_written_is_a_failure(void **state) {
    (void)state;
    assert_outcome(ARGUMENTS("import", PICKLE, "-o", "/dev/full"), 1, "",
                   "streampool: /dev/full: No space left on device\n");
    const char *path = file_path("no/folder.csv");
    char errors[1024];
    snprintf(errors, sizeof errors, "streampool: %s: No such file or directory\n", path);
    assert_outcome(ARGUMENTS("import", PICKLE, "-o", path), 1, "", errors);
}

// A disk that gets full is a limit of how large files become; messages are shorter.
static void an_output_that_can_not_be_written_whole_is_not_there(void **state) {
    (void)state;
    enum { LIMIT = 4096, LINES = 200 };
    static char text[LINES * 64] = TRACE_HEADER;
    size_t length = strlen(text);
    for (unsigned i = 1; i <= LINES; i++)
        length += (size_t)sprintf(text + length, "1,1,allocate,0x%x,8,0\n", i);
    const char *log = file_write("long.csv", text), *path = file_write("full.csv", "old");
    size_t files = file_count();
    char errors[1024];
    snprintf(errors, sizeof errors, "streampool: %s: File too large\n", path);

    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    struct rlimit low = {LIMIT, old.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    assert_outcome(ARGUMENTS("import", log, "-o", path), 1, "", errors);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, handler);

    char *kept = file_read(path);
    assert_string_equal(kept, "old");
    free(kept);
    assert_int_equal(file_count(), files);
}

// ----------------------------------------------------------------------------------- the arguments

static void a_format_that_is_asked_for_is_not_guessed(void **state) {
    (void)state;
    const char *path = file_write("log.csv", TRACE_HEADER "1,1,allocate,0x100,8,0\n");
    assert_outcome(ARGUMENTS("import", "--format", "json", path), 1, "",
                   said_of(path, ": this is no JSON: Expecting value: line 1 column 1 (char 0)\n"));
    assert_outcome(ARGUMENTS("import", "--format", "pickle", path), 1, "",
                   said_of(path, ": byte 0: BINSTRING: the file is cut off\n"));
}

static void options_of_snapshots_are_refused_for_logs(void **state) {
    (void)state;
    const char *path = file_write("log.csv", TRACE_HEADER "1,1,allocate,0x100,8,0\n");
    const char *errors = said_of(
        path, ": --device-index and --segments are for snapshots, and this is no snapshot\n");
    assert_outcome(ARGUMENTS("import", "--segments", path), 1, "", errors);
    assert_outcome(ARGUMENTS("import", "--device-index", "0", path), 1, "", errors);
}

static void a_missing_file_is_refused(void **state) {
    (void)state;
    assert_refused(file_path("missing"), ": No such file or directory\n");
}

static void assert_usage(const char *const arguments[], const char *reason) {
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, arguments);
    assert_int_equal(outcome.status, 64);
    assert_string_equal(outcome.output, "");
    assert_memory_equal(outcome.errors, reason, strlen(reason));
    program_forget(&outcome);
}

static void a_command_line_that_makes_no_sense_is_refused(void **state) {
    (void)state;
    assert_usage(ARGUMENTS("import"), "streampool import: no file to import\n");
    assert_usage(ARGUMENTS("import", "a", "b"),
                 "streampool import: one file at a time, not 'b' too\n");
    assert_usage(ARGUMENTS("import", "--format", "xml", "a"),
                 "streampool import: --format is pickle, json or rmm, not 'xml'\n");
    assert_usage(ARGUMENTS("import", "--device-index", "x", "a"),
                 "streampool import: --device-index is a number from 0 to 4294967295, not 'x'\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pickles_of_all_protocols_and_json_give_the_same_trace),
        cmocka_unit_test(a_gzipped_pickle_is_read),
        cmocka_unit_test(segments_are_what_the_allocator_asked_the_driver_for),
        cmocka_unit_test(a_strict_import_refuses_a_snapshot_with_a_lost_beginning),
        cmocka_unit_test(of_several_devices_one_is_to_be_chosen),
        cmocka_unit_test(a_snapshot_without_a_history_is_refused),
        cmocka_unit_test(blocks_without_an_address_lie_side_by_side),
        cmocka_unit_test(a_block_that_the_trace_freed_and_that_is_active_is_left_out),
        cmocka_unit_test(the_last_of_several_values_of_a_key_counts),
        cmocka_unit_test(entries_of_unknown_kinds_are_left_out),
#define LOG_ROW(name, log, trace, repairs) cmocka_unit_test(name),
        LOGS(LOG_ROW)
#undef LOG_ROW
#define STRICT_ROW(name, log, reason) cmocka_unit_test(a_strict_import_refuses_##name),
            STRICT_LOGS(STRICT_ROW)
#undef STRICT_ROW
#define BAD_ROW(name, log, reason) cmocka_unit_test(name##_is_refused),
                BAD_LOGS(BAD_ROW)
#undef BAD_ROW
                    cmocka_unit_test(the_output_is_a_file_that_can_be_replayed),
        cmocka_unit_test(an_output_whose_name_ends_with_gz_is_gzipped),
        cmocka_unit_test(a_mended_log_can_be_replayed),
        cmocka_unit_test(a_trace_may_take_the_place_of_the_log_that_it_comes_from),
        cmocka_unit_test(a_failed_import_leaves_the_output_as_it_was),
        cmocka_unit_test(an_output_that_can_not_be_written_is_a_failure),
        cmocka_unit_test(an_output_that_can_not_be_written_whole_is_not_there),
        cmocka_unit_test(a_format_that_is_asked_for_is_not_guessed),
        cmocka_unit_test(options_of_snapshots_are_refused_for_logs),
        cmocka_unit_test(a_missing_file_is_refused),
        cmocka_unit_test(a_command_line_that_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
