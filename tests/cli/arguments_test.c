// What the program says about its arguments. A command line that it can't make sense of exits with
// 64.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "program.h"

static void assert_good(const char *const arguments[], const char *part) {
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, arguments);
    assert_says(outcome.output, part);
    assert_string_equal(outcome.errors, "");
    assert_int_equal(outcome.status, 0);
    program_forget(&outcome);
}

static void the_version_is_the_projects(void **state) {
    (void)state;
    assert_good(ARGUMENTS("--version"), "streampool " STREAMPOOL_VERSION "\n");
}

static void help_names_every_command(void **state) {
    (void)state;
    assert_good(ARGUMENTS("--help"), "  info ");
    assert_good(ARGUMENTS("--help"), "  replay ");
    assert_good(ARGUMENTS("--help"), "  policies ");
}

static void each_command_has_help_under_its_own_name(void **state) {
    (void)state;
    assert_good(ARGUMENTS("info", "--help"), "Usage: streampool info [OPTION...]");
    assert_good(ARGUMENTS("replay", "--help"), "Usage: streampool replay [OPTION...] TRACE...");
    assert_good(ARGUMENTS("replay", "--help"), "--threshold=BYTES|max");
    assert_good(ARGUMENTS("replay", "--help"), "  direct ");
    assert_good(ARGUMENTS("replay", "--help"), "--threads");
    assert_good(ARGUMENTS("replay", "--help"), "--perturb=N");
    assert_good(ARGUMENTS("policies", "--help"), "Usage: streampool policies [OPTION...] TRACE...");
    assert_good(ARGUMENTS("policies", "--help"), "--limit=BYTES");
}

// The shell has the program's standard output be a device that is full.
static void what_can_not_be_printed_is_an_error(void **state) {
    (void)state;
    static const char print[] = "exec \"$0\" \"$@\" >/dev/full";
    const char *trace = file_write("one.csv", TRACE_HEADER "1,0,allocate,0x1000000,1024,0\n");
    const char *const commands[][3] = {
        {"--help"},
        {"-h"},
        {"--usage"},
        {"--version"},
        {"help"},
        {"help", "-h"},
        {"help", "info"},
        {"help", "replay"},
        {"help", "import"},
        {"help", "run"},
        {"info", "--help"},
        {"replay", "--help"},
        {"import", "-h"},
        {"run", "-h"},
        {"policies", "-h"},
        {"options", "--help"},
        {"options"},
        {"info", "-dsim"},
        {"replay", "-dsim", trace},
        {"policies", trace},
    };
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        struct outcome outcome;
        program_run_at("/bin/sh", &outcome, NO_SETTINGS,
                       ARGUMENTS("-c", print, STREAMPOOL_PROGRAM, commands[i][0], commands[i][1],
                                 commands[i][2]));
        if (outcome.status != 1)
            fail_msg("%s: status %d", commands[i][0], outcome.status);
        assert_string_equal(outcome.errors,
                            "streampool: standard output: No space left on device\n");
        program_forget(&outcome);
    }
}

static char *output_of(const char *const arguments[]) {
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, arguments);
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.errors, "");
    free(outcome.errors);
    return outcome.output;
}

static void assert_same_output(const char *const arguments[], const char *const others[]) {
    char *output = output_of(arguments), *other = output_of(others);
    assert_string_equal(other, output);
    free(output);
    free(other);
}

static void help_is_had_in_every_form(void **state) {
    (void)state;
    static const char *const commands[] = {"info",     "replay",  "import",
                                           "policies", "options", "help"};
    assert_same_output(ARGUMENTS("--help"), ARGUMENTS("-h"));
    assert_same_output(ARGUMENTS("--help"), ARGUMENTS("-?"));
    assert_same_output(ARGUMENTS("--help"), ARGUMENTS("help"));
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        assert_same_output(ARGUMENTS(commands[i], "--help"), ARGUMENTS(commands[i], "-h"));
        assert_same_output(ARGUMENTS(commands[i], "--help"), ARGUMENTS("help", commands[i]));
    }
}

static void help_is_for_one_command_that_there_is(void **state) {
    (void)state;
    assert_usage_error(ARGUMENTS("help", "repaly"),
                       "streampool help: unknown command 'repaly': the commands are info, ");
    assert_usage_error(ARGUMENTS("help", "info", "replay"), "Too many arguments");
}

// A heading ends with a colon, and the lines under it follow at once.
static void assert_no_empty_heading(const char *const arguments[]) {
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, arguments);
    assert_int_equal(outcome.status, 0);
    if (strstr(outcome.output, ":\n\n"))
        fail_msg("a heading has nothing under it: %s", outcome.output);
    program_forget(&outcome);
}

static void no_heading_of_a_help_text_is_empty(void **state) {
    (void)state;
    assert_no_empty_heading(ARGUMENTS("--help"));
    assert_no_empty_heading(ARGUMENTS("info", "--help"));
    assert_no_empty_heading(ARGUMENTS("replay", "--help"));
    assert_no_empty_heading(ARGUMENTS("policies", "--help"));
}

static void a_command_is_needed_and_must_be_known(void **state) {
    (void)state;
    assert_usage_error(ARGUMENTS(NULL), "Usage: streampool");
    assert_usage_error(ARGUMENTS(NULL), "\n  import  ");
    assert_usage_error(ARGUMENTS(NULL), "\n  run  ");
    assert_usage_error(ARGUMENTS("repaly"),
                       "streampool: unknown command 'repaly': the commands are info, ");
    assert_usage_error(ARGUMENTS("-x"), "invalid option");
}

static void replay_and_policies_need_a_trace(void **state) {
    (void)state;
    assert_usage_error(ARGUMENTS("policies"), "streampool policies: no trace is named");
    assert_usage_error(ARGUMENTS("replay"), "streampool replay: no trace is named");
}

static void info_takes_no_argument(void **state) {
    (void)state;
    assert_usage_error(ARGUMENTS("info", "trace.csv"), "streampool info: Too many arguments");
}

static void a_device_is_auto_gpu_or_sim(void **state) {
    (void)state;
    assert_usage_error(ARGUMENTS("replay", "--device", "cpu", "trace.csv"),
                       "--device is auto, gpu or sim, not 'cpu'");
    assert_usage_error(ARGUMENTS("info", "--device="), "--device is auto, gpu or sim, not ''");
}

static void allocators_are_known_and_named_once(void **state) {
    (void)state;
    assert_usage_error(ARGUMENTS("replay", "--allocator", "pool,malloc", "trace.csv"),
                       "unknown allocator 'malloc'");
    assert_usage_error(ARGUMENTS("replay", "--allocator", "pool,", "trace.csv"),
                       "unknown allocator ''");
    assert_usage_error(ARGUMENTS("replay", "--allocator", "poo", "trace.csv"),
                       "unknown allocator 'poo'");
    assert_usage_error(ARGUMENTS("replay", "--allocator", "pool,direct,pool", "trace.csv"),
                       "the allocator 'pool' is named twice");
}

static void a_threshold_is_a_number_of_bytes_or_max(void **state) {
    (void)state;
    assert_usage_error(ARGUMENTS("replay", "--threshold", "much", "trace.csv"), "not 'much'");
    assert_usage_error(ARGUMENTS("replay", "--threshold", "-1", "trace.csv"), "not '-1'");
    assert_usage_error(ARGUMENTS("replay", "--threshold", "1MB", "trace.csv"), "not '1MB'");
}

static void passes_are_from_1_to_1000(void **state) {
    (void)state;
    assert_usage_error(ARGUMENTS("replay", "--passes", "0", "trace.csv"),
                       "from 1 to 1000, not '0'");
    assert_usage_error(ARGUMENTS("replay", "--passes", "1001", "trace.csv"), "not '1001'");
    assert_usage_error(ARGUMENTS("replay", "--passes", "two", "trace.csv"), "not 'two'");
    assert_usage_error(ARGUMENTS("replay", "--passes", "2x", "trace.csv"), "not '2x'");
    assert_usage_error(ARGUMENTS("replay", "--passes", "", "trace.csv"), "not ''");
}

static void starts_are_from_1_to_1000_and_their_seed_is_a_number(void **state) {
    (void)state;
    static const char *const bad_starts[] = {"0", "1001", "-1", "ten", "2.5", ""};
    for (size_t i = 0; i < sizeof bad_starts / sizeof bad_starts[0]; i++)
        assert_usage_error(ARGUMENTS("replay", "--perturb", bad_starts[i], "trace.csv"),
                           "--perturb is a number from 1 to 1000, not '");
    assert_usage_error(ARGUMENTS("replay", "--perturb-seed", "any", "trace.csv"),
                       "--perturb-seed is a whole number, not 'any'");
    assert_usage_error(ARGUMENTS("replay", "--perturb"), "requires an argument");
}

// Both commands read them by the same code.
static void work_is_a_share_or_a_time(void **state) {
    (void)state;
    static const char *const bad_shares[] = {"0", "-0.5", "half", "1001", "nan", "0.5x", ""};
    for (size_t i = 0; i < sizeof bad_shares / sizeof bad_shares[0]; i++)
        assert_usage_error(ARGUMENTS("replay", "--work", bad_shares[i], "trace.csv"),
                           "--work is a share of the device's time above 0 and up to 1000, not '");
    assert_usage_error(ARGUMENTS("policies", "--work-ns", "1000000001", "trace.csv"),
                       "--work-ns is a number from 0 to 1000000000, not '1000000001'");
    assert_usage_error(ARGUMENTS("policies", "--work-ns", "-1", "trace.csv"), "not '-1'");
    assert_usage_error(ARGUMENTS("replay", "--pace", "0", "trace.csv"),
                       "--pace is a number from 1 to 1000000000, not '0'");
}

static void events_and_seeds_are_whole_numbers(void **state) {
    (void)state;
    assert_usage_error(ARGUMENTS("policies", "--events", "some", "trace.csv"),
                       "--events is a whole number, not 'some'");
    assert_usage_error(ARGUMENTS("policies", "--synchronize", "1.5", "trace.csv"),
                       "--synchronize is a whole number, not '1.5'");
    assert_usage_error(ARGUMENTS("replay", "--seed", "99999999999999999999", "trace.csv"),
                       "--seed is a whole number, not '99999999999999999999'");
}

// Both commands read them by the same code, too.
static const char *const commands_with_a_pool[] = {"policies", "replay"};

static void assert_limit_refused(const char *command) {
    assert_usage_error(ARGUMENTS(command, "--limit", "0", "trace.csv"), "not '0'");
    assert_usage_error(ARGUMENTS(command, "--limit", "max", "trace.csv"), "not 'max'");
    assert_usage_error(ARGUMENTS(command, "--limit", "1MB", "trace.csv"), "not '1MB'");
}

static void a_limit_is_a_number_of_bytes_above_0(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof commands_with_a_pool / sizeof commands_with_a_pool[0]; i++)
        assert_limit_refused(commands_with_a_pool[i]);
}

static void assert_setting_refused(const char *command) {
    assert_usage_error(ARGUMENTS(command, "--set", "Colour=1", "trace.csv"),
                       "'Colour' is no attribute of a pool's own");
    assert_usage_error(ARGUMENTS(command, "--set", "ReleaseThreshold=1", "trace.csv"),
                       "'ReleaseThreshold' is no attribute of a pool's own");
    assert_usage_error(ARGUMENTS(command, "--set", "UnfencedBytesMax", "trace.csv"),
                       "--set is NAME=NUMBER");
    assert_usage_error(ARGUMENTS(command, "--set", "UnfencedBytesMax=many", "trace.csv"),
                       "not 'UnfencedBytesMax=many'");
    assert_usage_error(ARGUMENTS(command, "--set", "Deterministic=4294967297", "trace.csv"),
                       "Deterministic is a number up to 2147483647, not '4294967297'");
}

static void an_attribute_that_is_set_is_one_of_our_own_and_a_number(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof commands_with_a_pool / sizeof commands_with_a_pool[0]; i++)
        assert_setting_refused(commands_with_a_pool[i]);
}

static void an_unknown_option_is_named(void **state) {
    (void)state;
    assert_usage_error(ARGUMENTS("replay", "--speed", "trace.csv"),
                       "unrecognized option '--speed'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_version_is_the_projects),
        cmocka_unit_test(what_can_not_be_printed_is_an_error),
        cmocka_unit_test(help_names_every_command),
        cmocka_unit_test(each_command_has_help_under_its_own_name),
        cmocka_unit_test(help_is_had_in_every_form),
        cmocka_unit_test(help_is_for_one_command_that_there_is),
        cmocka_unit_test(no_heading_of_a_help_text_is_empty),
        cmocka_unit_test(a_command_is_needed_and_must_be_known),
        cmocka_unit_test(replay_and_policies_need_a_trace),
        cmocka_unit_test(info_takes_no_argument),
        cmocka_unit_test(a_device_is_auto_gpu_or_sim),
        cmocka_unit_test(allocators_are_known_and_named_once),
        cmocka_unit_test(a_threshold_is_a_number_of_bytes_or_max),
        cmocka_unit_test(passes_are_from_1_to_1000),
        cmocka_unit_test(starts_are_from_1_to_1000_and_their_seed_is_a_number),
        cmocka_unit_test(work_is_a_share_or_a_time),
        cmocka_unit_test(events_and_seeds_are_whole_numbers),
        cmocka_unit_test(a_limit_is_a_number_of_bytes_above_0),
        cmocka_unit_test(an_attribute_that_is_set_is_one_of_our_own_and_a_number),
        cmocka_unit_test(an_unknown_option_is_named),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
