#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/trace/record.h"

static struct sp_record parsed(const char *line) {
    struct sp_record record;
    struct sp_trace_error error = {.reason = ""};
    if (!sp_record_parse(line, strlen(line), &record, &error))
        fail_msg("%s: %s", line, error.reason);
    return record;
}

static void assert_refused(const char *line, const char *expected) {
    struct sp_record record;
    struct sp_trace_error error = {.reason = ""};
    assert_false(sp_record_parse(line, strlen(line), &record, &error));
    assert_string_equal(error.reason, expected);
}

static void a_line_as_rmm_writes_it_is_read(void **state) {
    (void)state;
    struct sp_record record =
        parsed("140573312345856,23:59:59.999999,allocate,0x7f8a40000000,1024,0x55d0c0ffee00");
    assert_int_equal(record.action, SP_TRACE_ALLOCATE);
    assert_int_equal(record.thread, 140573312345856);
    assert_int_equal(record.pointer, 0x7f8a40000000);
    assert_int_equal(record.size, 1024);
    assert_int_equal(record.stream, 0x55d0c0ffee00);
}

static void a_line_with_plain_microseconds_is_read(void **state) {
    (void)state;
    struct sp_record record = parsed("0,164,free,0x7f7fdb720400,131072,3");
    assert_int_equal(record.action, SP_TRACE_FREE);
    assert_int_equal(record.pointer, 0x7f7fdb720400);
    assert_int_equal(record.size, 131072);
    assert_int_equal(record.stream, 3);
}

static void a_clock_time_may_have_a_colon_before_its_fraction(void **state) {
    (void)state;
    assert_int_equal(parsed("1,10:23:45:678901,free,0x10,8,0").size, 8);
}

static void a_time_is_microseconds_seconds_with_a_point_or_one_of_a_clock(void **state) {
    (void)state;
    static const char *const times[] = {"164",
                                        "1634567890.123456",
                                        "0.000001",
                                        "7.5",
                                        "00:00:00.25",
                                        "23:59:60:000001",
                                        "10:23:45.1234567890123456789012345"};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        char line[128];
        snprintf(line, sizeof line, "1,%s,free,0x10,8,0", times[i]);
        assert_int_equal(parsed(line).size, 8);
    }
}

static void a_bad_number_of_seconds_is_refused(void **state) {
    (void)state;
    assert_refused("1,1.,free,0x10,8,0", "bad time '1.'");
    assert_refused("1,.5,free,0x10,8,0", "bad time '.5'");
    assert_refused("1,.,free,0x10,8,0", "bad time '.'");
    assert_refused("1,1.5.5,free,0x10,8,0", "bad time '1.5.5'");
    assert_refused("1,1.5x,free,0x10,8,0", "bad time '1.5x'");
    assert_refused("1,1.0000005x,free,0x10,8,0", "bad time '1.0000005x'");
    assert_refused("1,-1.5,free,0x10,8,0", "bad time '-1.5'");
    assert_refused("1,1.5e9,free,0x10,8,0", "bad time '1.5e9'");
    assert_refused("1,99999999999999999999.5,free,0x10,8,0",
                   "time '99999999999999999999.5' does not fit in 64 bits");
    assert_refused("1,1:2.5,free,0x10,8,0", "bad time '1:2.5'");
}

static void a_null_pointer_is_nil_or_zero(void **state) {
    (void)state;
    assert_int_equal(parsed("1,0,allocate,(nil),0,0").pointer, 0);
    assert_int_equal(parsed("1,0,allocate,0x0,0,0").pointer, 0);
    assert_int_equal(parsed("1,0,free,(nil),0,0").pointer, 0);
}

static void a_failed_allocation_has_a_size_and_no_pointer(void **state) {
    (void)state;
    struct sp_record record = parsed("1,00:00:00.000001,allocate failure,(nil),4096,(nil)");
    assert_int_equal(record.action, SP_TRACE_FAILURE);
    assert_int_equal(record.pointer, 0);
    assert_int_equal(record.size, 4096);
}

static void a_free_may_be_called_deallocate(void **state) {
    (void)state;
    assert_int_equal(parsed("1,0,deallocate,0x10,8,0").action, SP_TRACE_FREE);
    assert_refused("1,0,deallocated,0x10,8,0", "bad action 'deallocated'");
}

static void a_stream_is_decimal_hexadecimal_or_nil(void **state) {
    (void)state;
    assert_int_equal(parsed("1,0,free,0x10,8,10").stream, 10);
    assert_int_equal(parsed("1,0,free,0x10,8,0x10").stream, 16);
    assert_int_equal(parsed("1,0,free,0x10,8,(nil)").stream, 0);
}

static void the_largest_numbers_fit(void **state) {
    (void)state;
    struct sp_record record = parsed(
        "18446744073709551615,18446744073709551615,allocate,0xffffffffffffffff,"
        "18446744073709551615,7");
    assert_int_equal(record.pointer, UINT64_MAX);
    assert_int_equal(record.size, UINT64_MAX);
}

static void a_number_that_is_one_too_large_is_refused(void **state) {
    (void)state;
    assert_refused("1,0,allocate,0x10,18446744073709551616,0",
                   "size '18446744073709551616' does not fit in 64 bits");
    assert_refused("1,0,allocate,0x10000000000000000,8,0",
                   "pointer '0x10000000000000000' does not fit in 64 bits");
}

static void a_bad_field_is_named_and_shown(void **state) {
    (void)state;
    assert_refused("x,0,allocate,0x10,8,0", "bad thread 'x'");
    assert_refused("1,,allocate,0x10,8,0", "bad time ''");
    assert_refused("1,0,realloc,0x10,8,0", "bad action 'realloc'");
    assert_refused("1,0,allocate,0xg,8,0", "bad pointer '0xg'");
    assert_refused("1,0,allocate,0x,8,0", "bad pointer '0x'");
    assert_refused("1,0,allocate,0x10,-8,0", "bad size '-8'");
    assert_refused("1,0,allocate,0x10, 8,0", "bad size ' 8'");
    assert_refused("1,0,allocate,0x10,8,ff", "bad stream 'ff'");
}

static void a_bad_clock_time_is_refused(void **state) {
    (void)state;
    assert_refused("1,24:00:00.000000,free,0x10,8,0", "bad time '24:00:00.000000'");
    assert_refused("1,10:60:00.000000,free,0x10,8,0", "bad time '10:60:00.000000'");
    assert_refused("1,10:00:61.000000,free,0x10,8,0", "bad time '10:00:61.000000'");
    assert_refused("1,10:00:00,free,0x10,8,0", "bad time '10:00:00'");
    assert_refused("1,10:00:00.,free,0x10,8,0", "bad time '10:00:00.'");
    assert_refused("1,1:00:00.000000,free,0x10,8,0", "bad time '1:00:00.000000'");
    assert_refused("1,10:00:00x000000,free,0x10,8,0", "bad time '10:00:00x000000'");
    assert_refused("1,:,free,0x10,8,0", "bad time ':'");
}

static void a_long_or_unprintable_field_is_shown_as_far_as_a_terminal_can(void **state) {
    (void)state;
    assert_refused("1,0,\033[2J,0x10,8,0", "bad action '?[2J'");
    assert_refused("1,0,aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,0x10,8,0",
                   "bad action 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'");
}

static void too_few_and_too_many_fields_are_counted(void **state) {
    (void)state;
    assert_refused("", "expected 6 fields, found 1");
    assert_refused("1,0,allocate,0x10,8", "expected 6 fields, found 5");
    assert_refused("1,0,allocate,0x10,8,0,", "expected 6 fields, found 7");
}

static void a_null_pointer_with_a_size_is_refused(void **state) {
    (void)state;
    assert_refused("1,0,allocate,(nil),8,0", "a null pointer with a size of 8");
    assert_refused("1,0,free,0x0,8,0", "a null pointer with a size of 8");
}

static void a_failed_allocation_with_a_pointer_is_refused(void **state) {
    (void)state;
    assert_refused("1,0,allocate failure,0x10,8,0", "'allocate failure' with the pointer 0x10");
}

// Each action, with the least that its line can have.
static const struct {
    const char *word;
    enum sp_trace_action action;
    const char *pointer, *size;
    bool has_stream;
} others[] = {
    {"free unordered", SP_TRACE_FREE_UNORDERED, "0x10", "8", false},
    {"legacy stream", SP_TRACE_LEGACY_STREAM, "0", "0", true},
    {"per-thread stream", SP_TRACE_PER_THREAD_STREAM, "0x0", "0", true},
    {"blocking stream", SP_TRACE_BLOCKING_STREAM, "(nil)", "0", true},
    {"non-blocking stream", SP_TRACE_NON_BLOCKING_STREAM, "0", "0", true},
    {"destroy stream", SP_TRACE_DESTROY_STREAM, "0", "0", true},
    {"record", SP_TRACE_RECORD, "0xe", "0", true},
    {"wait", SP_TRACE_WAIT, "e", "0", true},
    {"synchronize event", SP_TRACE_SYNCHRONIZE_EVENT, "0xe", "0", false},
    {"synchronize stream", SP_TRACE_SYNCHRONIZE_STREAM, "0", "0", true},
    {"synchronize device", SP_TRACE_SYNCHRONIZE_DEVICE, "0", "0", false},
    {"query event", SP_TRACE_QUERY_EVENT, "0xe", "0", false},
    {"query stream", SP_TRACE_QUERY_STREAM, "0", "0", true},
    {"destroy event", SP_TRACE_DESTROY_EVENT, "0xe", "0", false},
    {"trim", SP_TRACE_TRIM, "0", "4096", false},
};

enum { OTHER_COUNT = sizeof others / sizeof others[0] };

static const char *line_of(size_t i, const char *pointer, const char *size) {
    static char line[128];
    snprintf(line, sizeof line, "7,0,%s,%s,%s,3", others[i].word, pointer, size);
    return line;
}

static void each_other_action_is_read(void **state) {
    (void)state;
    for (size_t i = 0; i < OTHER_COUNT; i++) {
        struct sp_record record = parsed(line_of(i, others[i].pointer, others[i].size));
        assert_int_equal(record.action, others[i].action);
        assert_int_equal(record.thread, 7);
        assert_int_equal(record.pointer, strtoull(others[i].pointer, NULL, 16));
        assert_int_equal(record.size, strtoull(others[i].size, NULL, 10));
        assert_int_equal(record.stream, 3);
        assert_int_equal(record.has_stream, others[i].has_stream);
    }
}

static void assert_field_refused(size_t i, const char *pointer, const char *size,
                                 const char *reason) {
    char expected[128];
    snprintf(expected, sizeof expected, "'%s' with a%s", others[i].word, reason);
    assert_refused(line_of(i, pointer, size), expected);
}

static void a_column_without_meaning_holds_nothing_else(void **state) {
    (void)state;
    for (size_t i = 0; i < OTHER_COUNT; i++) {
        const char *pointer = others[i].pointer, *size = others[i].size;
        if (strcmp(size, "0") == 0)
            assert_field_refused(i, pointer, "8", " size of 8");
        if (strtoull(pointer, NULL, 16) == 0)
            continue;
        if (others[i].action != SP_TRACE_FREE_UNORDERED)
            assert_field_refused(i, "(nil)", size, " null pointer for the event");
    }
    assert_refused("7,0,trim,0x10,8,0", "'trim' with the pointer 0x10");
    assert_refused("7,0,blocking stream,0x10,0,3", "'blocking stream' with the pointer 0x10");
    assert_refused("7,0,destroy stream,0x10,0,3", "'destroy stream' with the pointer 0x10");
    assert_refused("7,0,synchronize device,0x10,0,3", "'synchronize device' with the pointer 0x10");
    assert_refused("7,0,query stream,0x10,0,3", "'query stream' with the pointer 0x10");
    assert_refused("7,0,free unordered,(nil),8,0", "a null pointer with a size of 8");
}

static void a_place_stands_behind_what_a_pool_does(void **state) {
    (void)state;
    static const char *const words[] = {"host", "node", "staging", "managed"};
    char line[64];
    assert_int_equal(parsed("1,0,allocate,0x10,8,0").place, SP_TRACE_AT_DEVICE);
    for (int i = 0; i < 4; i++) {
        snprintf(line, sizeof line, "1,0,allocate %s,0x10,8,3", words[i]);
        assert_int_equal(parsed(line).action, SP_TRACE_ALLOCATE);
        assert_int_equal(parsed(line).place, SP_TRACE_AT_HOST + i);
        assert_true(parsed(line).has_stream);
        snprintf(line, sizeof line, "1,0,allocate failure %s,0,8,0", words[i]);
        assert_int_equal(parsed(line).action, SP_TRACE_FAILURE);
        assert_int_equal(parsed(line).place, SP_TRACE_AT_HOST + i);
        snprintf(line, sizeof line, "1,0,trim %s,0,8,0", words[i]);
        assert_int_equal(parsed(line).action, SP_TRACE_TRIM);
        assert_int_equal(parsed(line).place, SP_TRACE_AT_HOST + i);
    }
    assert_refused("1,0,allocate nowhere,0x10,8,0", "bad action 'allocate nowhere'");
    assert_refused("1,0,allocate device,0x10,8,0", "bad action 'allocate device'");
    assert_refused("1,0,allocate  host,0x10,8,0", "bad action 'allocate  host'");
    assert_refused("1,0,allocate host host,0x10,8,0", "bad action 'allocate host host'");
    assert_refused("1,0,free host,0x10,8,0", "bad action 'free host'");
    assert_refused("1,0,deallocate host,0x10,8,0", "bad action 'deallocate host'");
    assert_refused("1,0,record host,0xe,0,3", "bad action 'record host'");
    assert_refused("1,0, host,0x10,8,0", "bad action ' host'");
    assert_refused("1,0,host,0x10,8,0", "bad action 'host'");
}

static void a_free_in_no_streams_order_may_be_of_a_null_pointer(void **state) {
    (void)state;
    assert_int_equal(parsed("7,0,free unordered,(nil),0,0").pointer, 0);
}

static void a_word_is_the_whole_action(void **state) {
    (void)state;
    assert_refused("7,0,synchronize,0,0,3", "bad action 'synchronize'");
    assert_refused("7,0,records,0xe,0,3", "bad action 'records'");
    assert_refused("7,0,Wait,0xe,0,3", "bad action 'Wait'");
    assert_refused("7,0,blocking  stream,0,0,3", "bad action 'blocking  stream'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_as_rmm_writes_it_is_read),
        cmocka_unit_test(a_line_with_plain_microseconds_is_read),
        cmocka_unit_test(a_clock_time_may_have_a_colon_before_its_fraction),
        cmocka_unit_test(a_time_is_microseconds_seconds_with_a_point_or_one_of_a_clock),
        cmocka_unit_test(a_bad_number_of_seconds_is_refused),
        cmocka_unit_test(a_null_pointer_is_nil_or_zero),
        cmocka_unit_test(a_failed_allocation_has_a_size_and_no_pointer),
        cmocka_unit_test(a_free_may_be_called_deallocate),
        cmocka_unit_test(a_stream_is_decimal_hexadecimal_or_nil),
        cmocka_unit_test(the_largest_numbers_fit),
        cmocka_unit_test(a_number_that_is_one_too_large_is_refused),
        cmocka_unit_test(a_bad_field_is_named_and_shown),
        cmocka_unit_test(a_bad_clock_time_is_refused),
        cmocka_unit_test(a_long_or_unprintable_field_is_shown_as_far_as_a_terminal_can),
        cmocka_unit_test(too_few_and_too_many_fields_are_counted),
        cmocka_unit_test(a_null_pointer_with_a_size_is_refused),
        cmocka_unit_test(a_failed_allocation_with_a_pointer_is_refused),
        cmocka_unit_test(each_other_action_is_read),
        cmocka_unit_test(a_column_without_meaning_holds_nothing_else),
        cmocka_unit_test(a_place_stands_behind_what_a_pool_does),
        cmocka_unit_test(a_free_in_no_streams_order_may_be_of_a_null_pointer),
        cmocka_unit_test(a_word_is_the_whole_action),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
