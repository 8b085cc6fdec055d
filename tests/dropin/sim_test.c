// streampool run --sim: each way in which programs ask for a driver leads to the simulated one, and
// streampool's pools are in front of it. Beside it is a driver that ends who loads it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/program.h"

#define HOSTILE  "LD_LIBRARY_PATH=" HOSTILE_DRIVER
#define BY_PATH  HOSTILE_DRIVER "/libcuda.so.1"
#define SIM_PATH LIBRARY_FOLDER "/streampool/sim"

static const char *const modes[] = {"--mode=preload", "--mode=library"};

// Runs a program with --sim where the environment leads to the hostile driver by each variable.
static void simulate(struct outcome *outcome, const char *mode, const char *program,
                     const char *way, const char *name) {
    program_run(outcome, SETTINGS(HOSTILE, "STREAMPOOL_DRIVER=" BY_PATH),
                ARGUMENTS("run", "--sim", mode, program, way, name));
}

static size_t count(const char *text, const char *part) {
    size_t found = 0;
    for (; (text = strstr(text, part)); text++)
        found++;
    return found;
}

// Long lines go on in the next one, so blanks and line ends are compared as one.
static void assert_words(char *text, const char *part) {
    char *end = text;
    for (const char *from = text; *from; from++) {
        bool is_blank = *from == ' ' || *from == '\n';
        if (!is_blank || end == text || end[-1] != ' ')
            *end++ = is_blank ? ' ' : *from;
    }
    *end = '\0';
    assert_says(text, part);
}

// ------------------------------------------------------------------------------------- every way

// In front of the driver is a libcuda.so.1 of streampool's, whose file has another number.
static void assert_simulated(const struct outcome *outcome, bool is_library) {
    assert_int_equal(outcome->status, 0);
    assert_says(outcome->errors, "  streampool served     3 allocations, 3 frees\n");
    assert_says(outcome->errors, "took hold             yes: ");
    assert_int_equal(count(outcome->output, "/"),
                     count(outcome->output, LIBRARY_FOLDER "/") * count(LIBRARY_FOLDER "/", "/") +
                         (is_library ? 1 : 0));
    assert_int_equal(count(outcome->output, STREAMPOOL_SIMULATED "\n"), 1);
    assert_says_not(outcome->output, HOSTILE_DRIVER);
}

static void each_way_to_a_driver_leads_to_one_simulated_driver(void **state) {
    (void)state;
    static const char *const rows[][3] = {
        {OPENED, "now", "libcuda.so.1"},  {OPENED, "now", "libcuda.so"},
        {OPENED, "ask", "libcuda.so.1"},  {OPENED, "fork", "libcuda.so.1"},
        {OPENED, "exec", "libcuda.so.1"}, {LINKED, "now", NULL},
        {LINKED, "fork", NULL},           {LINKED, "exec", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t k = 0; k < 2; k++) {
            struct outcome outcome;
            simulate(&outcome, modes[k], rows[i][0], rows[i][1], rows[i][2]);
            assert_simulated(&outcome, k == 1);
            program_forget(&outcome);
        }
}

static void a_program_that_is_linked_with_it_by_its_own_name_gets_the_same_one(void **state) {
    (void)state;
    static const char *const ways[] = {"now", "fork", "exec"};
    for (size_t i = 0; i < 3; i++) {
        struct outcome outcome;
        simulate(&outcome, modes[0], NAMED, ways[i], NULL);
        assert_simulated(&outcome, false);
        program_forget(&outcome);
    }
}

// It reaches the driver directly, which has no pools.
static void in_library_mode_a_program_with_that_name_is_not_served(void **state) {
    (void)state;
    struct outcome outcome;
    simulate(&outcome, modes[1], NAMED, "now", NULL);
    assert_int_equal(outcome.status, 2);
    assert_says(outcome.errors, "streampool served nothing: ");
    assert_says_not(outcome.errors, "touched");
    program_forget(&outcome);
}

static void a_program_of_another_folder_finds_the_library_of_that_name(void **state) {
    (void)state;
    struct outcome outcome;
    const char *copy = file_path("named");
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("run", "sh", "-c", "cp \"$0\" \"$1\" && chmod 700 \"$1\"", NAMED, copy));
    assert_int_equal(outcome.status, 0);
    program_forget(&outcome);
    simulate(&outcome, modes[0], copy, "now", NULL);
    assert_simulated(&outcome, false);
    program_forget(&outcome);
}

static void a_run_on_the_simulated_driver_may_be_run(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct outcome outcome;
        const char *inner = file_path("inner");
        program_run(&outcome, SETTINGS(HOSTILE, "STREAMPOOL_DRIVER"),
                    ARGUMENTS("run", "--sim", modes[i], STREAMPOOL_PROGRAM, "run", "--sim",
                              modes[1 - i], "--output", inner, OPENED));
        char *summary = file_read(inner);
        assert_int_equal(outcome.status, 0);
        assert_says(summary, "  streampool served     3 allocations, 3 frees\n");
        assert_int_equal(count(outcome.output, STREAMPOOL_SIMULATED "\n"), 1);
        free(summary);
        program_forget(&outcome);
    }
}

static void the_commands_of_the_program_run_on_it(void **state) {
    (void)state;
    struct outcome outcome;
    simulate(&outcome, modes[0], STREAMPOOL_PROGRAM, "info", NULL);
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, STREAMPOOL_SIMULATED);
    program_forget(&outcome);
}

// It is an example, which is linked with the simulated driver.
static void a_program_that_calls_streampool_itself_runs_on_the_same_one(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct outcome outcome;
        simulate(&outcome, modes[i], EXAMPLE, NULL, NULL);
        assert_int_equal(outcome.status, 0);
        assert_says(outcome.output, "b got the memory that a freed: yes\n");
        program_forget(&outcome);
    }
}

// Nothing can lead it away from there.
static void a_driver_that_a_program_opens_by_its_path_is_told(void **state) {
    (void)state;
    struct outcome outcome;
    simulate(&outcome, modes[0], OPENED, "now", NEWER_DRIVER "/libcuda.so.1");
    assert_words(outcome.errors, " not simulated " NEWER_DRIVER
                                 "/libcuda.so.1: the program has a "
                                 "path of its own to this driver ");
    program_forget(&outcome);
    simulate(&outcome, modes[0], OPENED, "now", "libcuda.so.1");
    assert_says_not(outcome.errors, "not simulated");
    program_forget(&outcome);
}

// ------------------------------------------------------------------------------ without the option

static void a_program_that_is_linked_with_it_is_served_beside_a_driver(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS(HOSTILE, "STREAMPOOL_DRIVER"), ARGUMENTS("run", NAMED));
    assert_simulated(&outcome, false);
    program_forget(&outcome);
}

static void its_look_ups_in_that_driver_are_left_alone(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS("LD_LIBRARY_PATH=" NEWER_DRIVER, "STREAMPOOL_DRIVER"),
                ARGUMENTS("run", NAMED, "apart", "libcuda.so.1"));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "apart: " NEWER_DRIVER "/libcuda.so.1\n");
    assert_says(outcome.errors, "  streampool served     3 allocations, 3 frees\n");
    program_forget(&outcome);
}

static void one_that_stands_behind_another_driver_is_not_the_driver(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome,
                SETTINGS("LD_PRELOAD=" NEWER_DRIVER "/libcuda.so.1:" STREAMPOOL_SIMULATED,
                         "STREAMPOOL_DRIVER"),
                ARGUMENTS("run", OPENED));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.errors, "  streampool served     3 allocations, 3 frees\n");
    program_forget(&outcome);
}

static void a_program_without_pools_is_told_so_briefly(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("run", "--sim", "true"));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.errors, "\nno call of CUDA's pools\n");
    assert_says_not(outcome.errors, "served nothing");
    program_forget(&outcome);
}

// A program that has it under a path of its own is linked with no driver.
static void one_that_is_opened_without_the_drivers_name_is_no_driver(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS("LD_LIBRARY_PATH=" NEWER_DRIVER, "STREAMPOOL_DRIVER"),
                ARGUMENTS("run", OPENED, "now", STREAMPOOL_SIMULATED));
    assert_int_equal(outcome.status, 2);
    assert_says(outcome.errors, "streampool served nothing: ");
    program_forget(&outcome);
}

// ------------------------------------------------------------------------------------ the settings

#define PRINT_VARIABLES "sh", "-c", "echo \"$STREAMPOOL_SIMCUDA|$STREAMPOOL_DRIVER\""

static void assert_variables(const char *const settings[], const char *const options[],
                             const char *expected) {
    struct outcome outcome;
    char line[2048];
    program_run(&outcome, settings,
                ARGUMENTS("run", options[0], options[1], "--", PRINT_VARIABLES));
    snprintf(line, sizeof line, "%s|%s\n", expected, STREAMPOOL_SIMULATED);
    assert_string_equal(outcome.output, line);
    assert_int_equal(outcome.status, 0);
    program_forget(&outcome);
}

static void settings_are_put_behind_those_of_the_user(void **state) {
    (void)state;
    const char *unset = "STREAMPOOL_SIMCUDA";
    assert_variables(SETTINGS(unset), ARGUMENTS("--sim", "--sim"), "");
    assert_variables(SETTINGS(unset), ARGUMENTS("--check", "--sim"), "reports=check");
    assert_variables(SETTINGS(unset), ARGUMENTS("--stacks", "--sim"), "reports=check,stacks=1");
    assert_variables(SETTINGS(unset), ARGUMENTS("--stacks", "--check"), "reports=check,stacks=1");
    assert_variables(SETTINGS("STREAMPOOL_SIMCUDA=devices=2,memory.1=1G"),
                     ARGUMENTS("--sim", "--sim"), "devices=2,memory.1=1G");
    assert_variables(SETTINGS("STREAMPOOL_SIMCUDA=devices=2,reports=print"),
                     ARGUMENTS("--check", "--sim"), "devices=2,reports=print,reports=check");
    assert_variables(SETTINGS("STREAMPOOL_SIMCUDA="), ARGUMENTS("--check", "--sim"),
                     "reports=check");
}

static void assert_found(const char *path, const char *words) {
    char *text = file_read(path);
    assert_non_null(text);
    assert_says(text, words);
    free(text);
}

// They go through no shell, so quotes, blanks and dollars are as any other character.
static void settings_and_files_may_have_any_characters(void **state) {
    (void)state;
    char option[600];
    const char *file = file_path("a 'b\" $HOME `id` %p\\.json");
    snprintf(option, sizeof option, "--check=%s", file);
    assert_variables(SETTINGS("STREAMPOOL_SIMCUDA=name=\"a b\",'$x' y"),
                     ARGUMENTS(option, "--check"), "name=\"a b\",'$x' y,reports=check");
    assert_found(file, "\"mistakes\":\t0");
}

// The program may change to another folder.
static void the_file_of_what_is_found_is_where_it_was_asked_for(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("run", "sh", "-c",
                          "cd \"$0\" && exec \"$1\" run --check=found.json -- sh -c 'cd /'",
                          file_path(""), STREAMPOOL_PROGRAM));
    assert_int_equal(outcome.status, 0);
    assert_found(file_path("found.json"), "\"mistakes\":\t0");
    program_forget(&outcome);
}

// The status of a shell says nothing of what it has run, and the one of a program that fails stays.
static void mistakes_of_all_processes_are_put_together(void **state) {
    (void)state;
    struct outcome outcome;
    char option[600];
    const char *file = file_path("found.json");
    snprintf(option, sizeof option, "--check=%s", file);
    program_run(
        &outcome, NO_SETTINGS,
        ARGUMENTS("run", option, "sh", "-c", FAULTS " leak; " FAULTS " race_of_kernels; true"));
    assert_int_equal(outcome.status, 5);
    assert_found(file, "\"mistakes\":\t2,");
    assert_found(file, "\"race\":\t1");
    assert_found(file, "\"leak\":\t1");
    assert_found(file, "\"process\":\t");
    program_forget(&outcome);
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("run", "--check", FAULTS, "leak", "7"));
    assert_int_equal(outcome.status, 7);
    program_forget(&outcome);
}

// Its stream is a leak.
static void what_is_recorded_of_a_program_with_a_mistake_is_whole(void **state) {
    (void)state;
    struct outcome outcome;
    char option[600];
    const char *file = file_path("trace.csv");
    snprintf(option, sizeof option, "--record=%s", file);
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("run", "--check", option, LINKED, "now"));
    assert_int_equal(outcome.status, 5);
    assert_says(outcome.errors, "streampool check: 1 mistake found: leak 1\n");
    assert_found(file, ",allocate,");
    program_forget(&outcome);
}

static void a_file_that_can_not_be_written_is_refused(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("run", "--check=/no/such/folder/found.json", "echo", "started"));
    assert_int_equal(outcome.status, 125);
    assert_says(outcome.errors, "--check=/no/such/folder/found.json: No such file or directory\n");
    assert_string_equal(outcome.output, "");
    program_forget(&outcome);
    assert_usage_error(ARGUMENTS("run", "--check=-", "true"),
                       "--check can't write to standard output");
    assert_usage_error(ARGUMENTS("run", "--check=a", "--json=a", "true"),
                       "--json and --check can't both be written to 'a'");
    assert_usage_error(ARGUMENTS("run", "--sim=a", "true"), "doesn't allow an argument");
}

// What finds mistakes ends the program with 5.
static void the_status_is_the_programs(void **state) {
    (void)state;
    static const char *const options[] = {"--sim", "--check"};
    for (size_t i = 0; i < 2; i++) {
        struct outcome outcome;
        program_run(&outcome, NO_SETTINGS, ARGUMENTS("run", options[i], "sh", "-c", "exit 5"));
        assert_int_equal(outcome.status, 5);
        program_forget(&outcome);
    }
}

// --------------------------------------------------------------------------------- what is missing

// A copy of the program and of the drop-in has no simulated driver beside it.
static void a_simulated_driver_that_is_not_there_is_named(void **state) {
    (void)state;
    struct outcome outcome;
    const char *copy = file_path("streampool");
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("run", "cp", STREAMPOOL_PROGRAM, copy));
    program_forget(&outcome);
    program_run_at(copy, &outcome, SETTINGS("LD_LIBRARY_PATH=" LIBRARY_FOLDER),
                   ARGUMENTS("run", "--sim", "echo", "started"));
    assert_int_equal(outcome.status, 125);
    assert_says(outcome.errors,
                "/streampool/sim/libcuda.so.1: No such file or directory: the "
                "simulated driver is not built, or not installed\n");
    assert_string_equal(outcome.output, "");
    program_forget(&outcome);
}

// Where there is no driver, all that misses it says how to do without.
static void what_finds_no_driver_names_the_option(void **state) {
    (void)state;
    struct outcome outcome;
    char setting[600];
    file_write("libcuda.so.1", "not a library");
    snprintf(setting, sizeof setting, "LD_LIBRARY_PATH=%s", file_path(""));
    program_run(&outcome, SETTINGS(setting, "STREAMPOOL_DRIVER"), ARGUMENTS("run", "true"));
    assert_words(outcome.errors, "`streampool run --sim` takes a simulated one");
    program_forget(&outcome);
    static const char *const commands[] = {"info", "replay"};
    const char *trace = file_write("t.csv", TRACE_HEADER "1,0,allocate,0x1000000,1024,0\n");
    for (size_t i = 0; i < 2; i++) {
        program_run(&outcome, SETTINGS(setting, "STREAMPOOL_DRIVER"),
                    ARGUMENTS(commands[i], "--device", "gpu", i == 0 ? NULL : trace));
        assert_int_equal(outcome.status, 3);
        assert_says(outcome.errors, "`streampool run --sim` takes a simulated one");
        program_forget(&outcome);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_to_a_driver_leads_to_one_simulated_driver),
        cmocka_unit_test(a_program_that_is_linked_with_it_by_its_own_name_gets_the_same_one),
        cmocka_unit_test(in_library_mode_a_program_with_that_name_is_not_served),
        cmocka_unit_test(a_program_of_another_folder_finds_the_library_of_that_name),
        cmocka_unit_test(a_run_on_the_simulated_driver_may_be_run),
        cmocka_unit_test(the_commands_of_the_program_run_on_it),
        cmocka_unit_test(a_program_that_calls_streampool_itself_runs_on_the_same_one),
        cmocka_unit_test(a_driver_that_a_program_opens_by_its_path_is_told),
        cmocka_unit_test(a_program_that_is_linked_with_it_is_served_beside_a_driver),
        cmocka_unit_test(its_look_ups_in_that_driver_are_left_alone),
        cmocka_unit_test(one_that_stands_behind_another_driver_is_not_the_driver),
        cmocka_unit_test(a_program_without_pools_is_told_so_briefly),
        cmocka_unit_test(one_that_is_opened_without_the_drivers_name_is_no_driver),
        cmocka_unit_test(settings_are_put_behind_those_of_the_user),
        cmocka_unit_test(settings_and_files_may_have_any_characters),
        cmocka_unit_test(the_file_of_what_is_found_is_where_it_was_asked_for),
        cmocka_unit_test(mistakes_of_all_processes_are_put_together),
        cmocka_unit_test(what_is_recorded_of_a_program_with_a_mistake_is_whole),
        cmocka_unit_test(a_file_that_can_not_be_written_is_refused),
        cmocka_unit_test(the_status_is_the_programs),
        cmocka_unit_test(a_simulated_driver_that_is_not_there_is_named),
        cmocka_unit_test(what_finds_no_driver_names_the_option),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
