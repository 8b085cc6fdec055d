// What no snapshot has: opcodes that run code, damaged pickles and JSON, entries without what they
// need, and files that are made to take time or memory.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/import/recording.h"
#include "program.h"

static const struct sp_recording_options by_content = {SP_RECORDING_BY_CONTENT,
                                                       {.device = SP_SNAPSHOT_ANY_DEVICE}};

static void assert_reason_with(const struct sp_recording_options *options, const void *bytes,
                               size_t size, const char *reason) {
    const char *path = file_write_bytes("recording", bytes, size);
    struct sp_mend mend = {.is_strict = false};
    struct sp_trace_error error;
    assert_false(sp_recording_read(path, options, &mend, &error));
    assert_string_equal(error.reason, reason);
    assert_int_equal(error.line, 0);
    sp_mend_release(&mend);
}

static void assert_reason(const void *bytes, size_t size, const char *reason) {
    assert_reason_with(&by_content, bytes, size, reason);
}

// ----------------------------------------------------------------------------------------- pickles

#define RUNS  "it would run code or build an object, and nothing of that is done here"
#define PROTO "\x80\4"

//   X(test, bytes, reason)
#define PICKLES(X)                                                                                 \
    X(global, "\x80\2cos\nsystem\n.", "byte 2: GLOBAL: " RUNS)                                     \
    X(stack_global, PROTO "N\x93.", "byte 3: STACK_GLOBAL: " RUNS)                                 \
    X(reduce, PROTO "N)R.", "byte 4: REDUCE: " RUNS)                                               \
    X(build, PROTO "NNb.", "byte 4: BUILD: " RUNS)                                                 \
    X(inst, PROTO "(ios\nsystem\n.", "byte 3: INST: " RUNS)                                        \
    X(obj, PROTO "(No.", "byte 4: OBJ: " RUNS)                                                     \
    X(newobj, PROTO "N)\x81.", "byte 4: NEWOBJ: " RUNS)                                            \
    X(newobj_ex, PROTO "N)}\x92.", "byte 5: NEWOBJ_EX: " RUNS)                                     \
    X(ext1, PROTO "\x82\1.", "byte 2: EXT1: " RUNS)                                                \
    X(ext2, PROTO "\x83\1\1.", "byte 2: EXT2: " RUNS)                                              \
    X(ext4, PROTO "\x84\1\1\1\1.", "byte 2: EXT4: " RUNS)                                          \
    X(persid, PROTO "P1\n.", "byte 2: PERSID: " RUNS)                                              \
    X(binpersid, PROTO "NQ.", "byte 3: BINPERSID: " RUNS)                                          \
    X(next_buffer, PROTO "\x97.",                                                                  \
      "byte 2: NEXT_BUFFER: the buffer that it names is not in the file")                          \
    X(an_unknown_opcode, PROTO "\xff.", "byte 2: 0xff: this is no opcode of a pickle")             \
    X(a_later_protocol, "\x80\6N.", "byte 0: PROTO: only protocols 0 to 5 are known")              \
    X(a_pickle_without_a_stop, PROTO "}", "byte 3: the file is cut off")                           \
    X(something_behind_a_stop, PROTO "}.}", "byte 4: something stands behind the pickle")          \
    X(a_stop_with_an_empty_stack, PROTO ".", "byte 3: there are too few values before this")       \
    X(a_stop_on_a_mark, PROTO "(.", "byte 4: a mark is where a value should be")                   \
    X(a_pop_of_nothing, PROTO "0.", "byte 2: POP: there are too few values before this")           \
    X(a_pop_without_a_mark, PROTO "N1.", "byte 3: POP_MARK: there is no mark before this")         \
    X(a_copy_of_a_mark, PROTO "(2.", "byte 3: DUP: a mark is where a value should be")             \
    X(a_mark_in_the_memo, PROTO "(\x94.", "byte 3: MEMOIZE: a mark is where a value should be")    \
    X(a_get_of_nothing, PROTO "Nh\0.", "byte 3: BINGET: nothing has this number in the memo")      \
    X(a_put_far_away, PROTO "Nr\xff\xff\xff\xff.",                                                 \
      "byte 3: LONG_BINPUT: the number in the memo is larger than the file is long")               \
    X(a_put_of_no_number, "(lp-1\n.", "byte 2: PUT: this is no number of the memo")                \
    X(an_append_to_a_number, PROTO "K\1Na.", "byte 5: APPEND: this appends to what is no list")    \
    X(an_append_to_nothing, PROTO "Na.", "byte 3: APPEND: there is no list before this")           \
    X(appends_to_nothing, PROTO "(Ne.", "byte 4: APPENDS: there is no list before this")           \
    X(a_key_of_a_list, PROTO "]\x8c\4sizeNs.",                                                     \
      "byte 10: SETITEM: this sets a key of what is no dictionary")                                \
    X(a_key_without_a_value, PROTO "}(Nu.", "byte 5: SETITEMS: a key has no value")                \
    X(a_tuple_of_too_few, PROTO "N\x86.", "byte 3: TUPLE2: there are too few values before this")  \
    X(a_long_text_that_is_not_there, PROTO "\x8d\0\0\0\0\0\0\0\x10x",                              \
      "byte 2: BINUNICODE8: the file is cut off")                                                  \
    X(a_negative_length, PROTO "\x8b\xff\xff\xff\xff.", "byte 2: LONG4: the length is negative")   \
    X(an_int_that_is_none, "(lI12x\n.", "byte 2: INT: this is no whole number")                    \
    X(a_string_without_quotes, "(lSabc\n.", "byte 2: STRING: the text has no quotes")              \
    X(a_pickle_of_something_else, PROTO "]K\1a.",                                                  \
      "there is no list 'device_traces' in it: is it a snapshot of PyTorch's?")

#define PICKLE_TEST(name, bytes, reason)                                                           \
    static void name##_is_refused(void **state) {                                                  \
        (void)state;                                                                               \
        assert_reason(bytes, sizeof(bytes) - 1, reason);                                           \
    }
PICKLES(PICKLE_TEST)
#undef PICKLE_TEST

// --------------------------------------------------------------------------------- other opcodes

// A snapshot of one allocation, whose values come by opcodes that Python 3 doesn't write, with sets
// and bytes beside it, of which nothing is kept.
static void opcodes_that_python_3_does_not_write_are_read(void **state) {
    (void)state;
    static const char bytes[] =
        "(dp0\n"
        "U\10segments(ls"                  // SHORT_BINSTRING, LIST
        "S'device_traces'\n"               // STRING
        "((dT\6\0\0\0actionS\"alloc\"\nsS" // BINSTRING
        "'addr'\nL18446744073709551615L\nsS'size'\nI7\nsS'stream'\nI00\n"
        "sS'time_us'\nI01\nsS'x'\n\x8f(K\1\x90sS'y'\n(N\x91sS'z'\nC\1as"
        "S'n'\nL-5L\nsS'm'\nF1.5\nsS'o'\nI-7\nstp7\n0(g7\nlsN0(N12"
        "0.";
    const char *path = file_write_bytes("recording", bytes, sizeof bytes - 1);
    struct sp_mend mend = {.is_strict = true};
    struct sp_trace_error error;
    bool good = sp_recording_read(path, &by_content, &mend, &error);
    if (!good)
        fail_msg("%s", error.reason);
    assert_int_equal(mend.rest.count, 1);
    assert_true(mend.rest.operations[0].pointer == UINT64_MAX);
    assert_int_equal(mend.rest.operations[0].size, 7);
    assert_int_equal(mend.rest.operations[0].time, 1);
    sp_mend_release(&mend);
}

// -------------------------------------------------------------------------------------------- JSON

//   X(test, text, reason)
#define JSONS(X)                                                                                   \
    X(json_that_is_cut_off, "{\"a\": [1", "byte 8: the file is cut off")                           \
    X(json_that_ends_in_a_text, "{\"a\\", "byte 4: the file is cut off")                           \
    X(json_with_two_values, "{} {}", "byte 3: something stands behind the value")                  \
    X(json_with_a_bad_literal, "[nul]", "byte 4: this is no value of JSON")                        \
    X(json_with_a_bad_number, "[-]", "byte 2: this is no value of JSON")                           \
    X(json_with_a_comma_too_many, "[1,]", "byte 3: this is no value of JSON")                      \
    X(json_with_a_comma_too_few, "[1 2]", "byte 3: a comma or a bracket follows a value")          \
    X(json_with_the_wrong_bracket, "[1}", "byte 2: a comma or a bracket follows a value")          \
    X(json_with_a_key_that_is_no_text, "{1:2}", "byte 1: an object has a text as a key")           \
    X(json_without_a_colon, "{\"a\" 2}", "byte 5: a colon follows a key")                          \
    X(json_with_a_line_in_a_text, "[\"a\nb\"]", "byte 3: a text ends with a quote")                \
    X(json_of_something_else, "[{}]",                                                              \
      "there is no list 'device_traces' in it: is it a snapshot of PyTorch's?")

#define ENTRY(fields) "{\"segments\":[],\"device_traces\":[[" fields "]]}"
#define SEGMENT(fields)                                                                            \
    "{\"device_traces\":[[{\"action\":\"snapshot\"}]],\"segments\":[" fields "]}"
#define PLACED "{\"device\":0,\"stream\":0,\"address\":4096"

//   X(test, text, reason)
#define SNAPSHOTS(X)                                                                               \
    X(an_entry_that_is_a_list, ENTRY("[]"), "device_traces[0][0]: it is no dictionary")            \
    X(an_entry_without_an_action, ENTRY("{}"), "device_traces[0][0]: it has no 'action'")          \
    X(an_entry_without_an_address, ENTRY("{\"action\":\"alloc\"}"),                                \
      "device_traces[0][0]: it has no 'addr'")                                                     \
    X(an_entry_at_address_0, ENTRY("{\"action\":\"alloc\",\"addr\":0}"),                           \
      "device_traces[0][0]: its 'addr' is 0")                                                      \
    X(an_entry_at_a_negative_address, ENTRY("{\"action\":\"alloc\",\"addr\":-8}"),                 \
      "device_traces[0][0]: its 'addr' is no whole number from 0 to 2^64 - 1")                     \
    X(an_entry_with_an_address_beyond_64_bits,                                                     \
      ENTRY("{\"action\":\"alloc\",\"addr\":18446744073709551616}"),                               \
      "device_traces[0][0]: its 'addr' is no whole number from 0 to 2^64 - 1")                     \
    X(an_entry_without_a_size, ENTRY("{\"action\":\"alloc\",\"addr\":8}"),                         \
      "device_traces[0][0]: it has no 'size'")                                                     \
    X(an_entry_without_a_stream,                                                                   \
      ENTRY("{\"action\":\"snapshot\"},{\"action\":\"oom\",\"size\":8}"),                          \
      "device_traces[0][1]: it has no 'stream'")                                                   \
    X(an_entry_with_a_time_in_words,                                                               \
      ENTRY("{\"action\":\"oom\",\"size\":8,\"stream\":0,\"time_us\":\"noon\"}"),                  \
      "device_traces[0][0]: its 'time_us' is no whole number from 0 to 2^64 - 1")                  \
    X(a_history_without_operations, ENTRY("{\"action\":\"snapshot\"}"),                            \
      "there is no operation in it")                                                               \
    X(a_snapshot_without_segments, "{\"device_traces\":[[{\"action\":\"snapshot\"}]]}",            \
      "there is no list 'segments' in it: is it a snapshot of PyTorch's?")                         \
    X(a_segment_that_is_a_number, SEGMENT("7"), "segments[0]: it is no dictionary")                \
    X(a_segment_without_a_device, SEGMENT("{}"), "segments[0]: it has no 'device'")                \
    X(a_segment_without_an_address, SEGMENT("{\"device\":1},{\"device\":0}"),                      \
      "segments[1]: it has no 'address'")                                                          \
    X(a_segment_without_blocks, SEGMENT(PLACED "}"), "segments[0]: it has no list 'blocks'")       \
    X(a_block_without_a_size, SEGMENT(PLACED ",\"blocks\":[{}]}"),                                 \
      "segments[0]: it has no 'size'")                                                             \
    X(a_block_behind_the_last_address,                                                             \
      SEGMENT(PLACED ",\"blocks\":[{\"size\":18446744073709551615}]}"),                            \
      "segments[0]: a block of it lies nowhere")

#define TEXT_TEST(name, text, reason)                                                              \
    static void name##_is_refused(void **state) {                                                  \
        (void)state;                                                                               \
        assert_reason(text, sizeof(text) - 1, reason);                                             \
    }
JSONS(TEXT_TEST)
SNAPSHOTS(TEXT_TEST)
#undef TEXT_TEST

static void parts_of_expandable_segments_are_no_allocations(void **state) {
    (void)state;
    static const struct sp_recording_options of_segments = {SP_RECORDING_BY_CONTENT,
                                                            {SP_SNAPSHOT_ANY_DEVICE, true}};
    static const char mapped[] = ENTRY("{\"action\":\"segment_map\"}");
    static const char expandable[] = SEGMENT(PLACED ",\"is_expandable\":true}");
    assert_reason_with(&of_segments, mapped, sizeof mapped - 1,
                       "device_traces[0][0]: expandable segments are mapped in parts, which are no "
                       "allocations");
    assert_reason_with(&of_segments, expandable, sizeof expandable - 1,
                       "segments[0]: expandable segments are mapped in parts, which are no "
                       "allocations");
}

// --------------------------------------------------------------------------- what takes very much

enum { MEBIBYTE = 1 << 20 };

static void assert_long_reason(const char *begin, char filler, const char *part) {
    char *bytes = malloc(4 * MEBIBYTE);
    assert_non_null(bytes);
    size_t length = strlen(begin);
    memset(bytes, filler, 4 * MEBIBYTE);
    memcpy(bytes, begin, length);
    const char *path = file_write_bytes("recording", bytes, 4 * MEBIBYTE);
    struct sp_mend mend = {.is_strict = false};
    struct sp_trace_error error;
    assert_false(sp_recording_read(path, &by_content, &mend, &error));
    if (!strstr(error.reason, part))
        fail_msg("'%s' is not in '%s'", part, error.reason);
    sp_mend_release(&mend);
    free(bytes);
}

static void a_file_that_takes_many_times_its_size_is_refused(void **state) {
    (void)state;
    assert_long_reason(PROTO "]", ']',
                       "EMPTY_LIST: this takes far more memory than a snapshot of its size does");
}

static void marks_alone_come_to_an_end(void **state) {
    (void)state;
    assert_long_reason(PROTO, '(', "byte 4194304: the file is cut off");
}

static void brackets_alone_come_to_an_end(void **state) {
    (void)state;
    assert_long_reason("[", '[', "byte 513: this nests too deep");
}

// Each of ten thousand segments has the same ten thousand blocks.
static void blocks_that_segments_share_are_refused(void **state) {
    (void)state;
    enum { SHARES = 10000 };
    char *bytes = malloc(16 * SHARES);
    assert_non_null(bytes);
    size_t size = 0;
#define ADD(text)                                                                                  \
    do {                                                                                           \
        memcpy(bytes + size, text, sizeof(text) - 1);                                              \
        size += sizeof(text) - 1;                                                                  \
    } while (0)
    ADD("}(\x8c\rdevice_traces](](}(\x8c\6action\x8c\10snapshotuee");
    ADD("\x8c\10segments](}(\x8c\6deviceK\0\x8c\6streamK\0\x8c\7addressK\1\x8c\6blocks](");
    for (size_t i = 0; i < SHARES; i++)
        ADD("}\x8c\4sizeK\1s");
    ADD("eu");
    for (size_t i = 1; i < SHARES; i++)
        ADD("2");
    ADD("eu.");
#undef ADD
    assert_reason(bytes, size, "segments[1]: its blocks are those of others, too");
    free(bytes);
}

static void an_entry_that_stands_many_times_is_refused(void **state) {
    (void)state;
    static const char bytes[] = PROTO "}\x8c\rdevice_traces](](}222222ees.";
    assert_reason(bytes, sizeof bytes - 1, "the history of device 0 has one entry many times");
}

static void a_list_that_holds_itself_is_no_entry(void **state) {
    (void)state;
    static const char bytes[] = PROTO "}\x8c\rdevice_traces]\x94(h\0h\0es.";
    assert_reason(bytes, sizeof bytes - 1,
                  "several devices have a history, choose by --device-index: 0, 1");
    static const struct sp_recording_options first = {SP_RECORDING_BY_CONTENT, {.device = 0}};
    assert_reason_with(&first, bytes, sizeof bytes - 1, "device_traces[0][0]: it is no dictionary");
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define ROW(name, bytes, reason) cmocka_unit_test(name##_is_refused),
        PICKLES(ROW) JSONS(ROW) SNAPSHOTS(ROW)
#undef ROW
            cmocka_unit_test(opcodes_that_python_3_does_not_write_are_read),
        cmocka_unit_test(parts_of_expandable_segments_are_no_allocations),
        cmocka_unit_test(a_file_that_takes_many_times_its_size_is_refused),
        cmocka_unit_test(marks_alone_come_to_an_end),
        cmocka_unit_test(brackets_alone_come_to_an_end),
        cmocka_unit_test(blocks_that_segments_share_are_refused),
        cmocka_unit_test(an_entry_that_stands_many_times_is_refused),
        cmocka_unit_test(a_list_that_holds_itself_is_no_entry),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
