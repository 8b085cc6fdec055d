// streampool-bench on the simulated driver: every case prints its lines, and says whose figures they are.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "program.h"

enum { USAGE_ERROR = 64 };

static void assert_says(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("'%s' is not in: %s", part, text);
}

static void assert_every_line_says(char *text, const char *part) {
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        assert_says(line, part);
}

static void run_case(struct outcome *outcome, const char *name) {
    program_run(outcome, NO_SETTINGS, ARGUMENTS("--device=sim", "--rounds=1", name));
    assert_string_equal(outcome->errors, "");
    assert_int_equal(outcome->status, 0);
}

// ------------------------------------------------------------------------------------------------ the lines

struct expectation {
    const char *name;
    const char *lines[12]; // what some lines begin with
};

static const struct expectation expectations[] = {
    {"pair", {"\npair: ", "\n256 B ", "\n4 KiB ", "\n64 KiB ", "\n1 MiB ", "\n16 MiB ", "\n1 GiB "}},
    {"growth", {"\ngrowth: ", "\n2 MiB, grow ", "\n2 MiB, trim ", "\n2 GiB, grow ", "\n2 GiB, trim "}},
    {"alternate", {"\nalternate: ", "\n512 B ", "\n64 KiB ", "\n1 MiB ", "\n16 MiB "}},
    {"handoff",
     {"\nhandoff: ", "\n512 B, handoff ", "\n512 B, its events alone ", "\n16 MiB, handoff ",
      "\n16 MiB, reserved "}},
    {"streams",
     {"\nstreams: ", "\n1 stream, pair ", "\n10 streams, pair ", "\n100 streams, miss, told ",
      "\n1000 streams, miss, untold ", "\n1000 streams, reserved ", "\n1000 streams, mallinfo2 "}},
    {"unfenced",
     {"\nunfenced: ", "\nstreampool, 0 B ", "\nstreampool, 1 MiB ", "\nstreampool, 2 MiB ",
      "\nstreampool, 4 MiB ", "\nstreampool, 8 MiB ", "\nstreampool, 16 MiB ", "\nstreampool, 32 MiB ",
      "\nstreampool, 64 MiB "}},
    {"threads",
     {"\nthreads: ", "\n4 KiB, 1 thread ", "\n4 KiB, 16 threads ", "\n1 MiB, 2 threads ",
      "\n1 MiB, 16 threads "}},
    {"fragments",
     {"\nfragments: ", "\n1 GiB, malloc ", "\n1 GiB, new memory ", "\n1 GiB, floor ",
      "\n1 GiB, mappings kept "}},
    {"full",
     {"\nfull: 28 blocks ", "\n3584 MiB, malloc ", "\n3584 MiB, new memory ", "\n3584 MiB, address space "}},
    {"stall",
     {"\nstall: ", "\nown pool, hit p50 ", "\nown pool, miss worst ", "\nown pool, fill ",
      "\nown pool, fill, loss ", "\nown pool, remaps ", "\nown pool, reaper ", "\nshared pool, hit worst ",
      "\nshared pool, miss p99 ", "\nshared pool, remaps "}},
};

static void every_case_prints_its_lines(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; i++) {
        struct outcome outcome;
        run_case(&outcome, expectations[i].name);
        for (const char *const *line = expectations[i].lines; *line; line++)
            assert_says(outcome.output, *line);
        assert_every_line_says(outcome.output, "simulated driver");
        program_forget(&outcome);
    }
}

static void cases_are_named_by_an_option_too(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("--device=sim", "--rounds=1", "--case=growth", "--case", "pair"));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "\npair: ");
    assert_says(outcome.output, "\ngrowth: ");
    assert_null(strstr(outcome.output, "\nthreads: "));
    program_forget(&outcome);
}

// The driver that STREAMPOOL_DRIVER names is taken without an option.
static void the_environment_names_the_driver(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("--rounds=1", "alternate"));
    assert_int_equal(outcome.status, 0);
    assert_every_line_says(outcome.output, "simulated driver");
    program_forget(&outcome);
}

// ----------------------------------------------------------------------------------------- what they mean

// Of one subject's setting in the results; fails when it isn't there.
static double median_of(const cJSON *results, const char *subject, const char *setting) {
    const cJSON *result;
    cJSON_ArrayForEach(result, results) {
        if (strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(result, "subject")), subject) == 0 &&
            strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(result, "setting")), setting) == 0)
            return cJSON_GetNumberValue(cJSON_GetObjectItem(result, "median"));
    }
    fail_msg("no result for %s, %s", subject, setting);
    return 0;
}

static cJSON *results_of(const char *name) {
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("--device=sim", "--rounds=9", "--json=-", name));
    assert_int_equal(outcome.status, 0);
    cJSON *results = cJSON_Parse(outcome.output);
    assert_non_null(results);
    program_forget(&outcome);
    return results;
}

// 500 blocks of 16 MiB would be 8 GiB.
static void memory_follows_events(void **state) {
    (void)state;
    cJSON *results = results_of("handoff");
    assert_true(median_of(results, "streampool", "16 MiB, reserved") <= 64);
    cJSON_Delete(results);
}

static void a_cap_bounds_what_others_cannot_see(void **state) {
    (void)state;
    cJSON *results = results_of("unfenced");
    assert_true(median_of(results, "streampool, 0 B", "unseen, driver's event") == 0);
    assert_true(median_of(results, "streampool, 64 MiB", "unseen, driver's event") > 1);
    assert_true(median_of(results, "streampool, 64 MiB", "unseen, driver's event") <= 64);
    assert_true(median_of(results, "streampool, 64 MiB", "unseen, hooks") == 0);
    cJSON_Delete(results);
}

static void the_floor_is_measured(void **state) {
    (void)state;
    cJSON *results = results_of("fragments");
    assert_true(median_of(results, "streampool", "1 GiB, floor") > 0);
    assert_true(median_of(results, "streampool", "1 GiB, malloc") > 0);
    assert_true(median_of(results, "streampool", "1 GiB, new memory") == 0);
    assert_true(median_of(results, "streampool", "1 GiB, mappings kept") == 64);
    cJSON_Delete(results);
}

// An eighth of the device is free, and a quarter of its blocks is wanted.
static void a_full_device_can_only_remap(void **state) {
    (void)state;
    cJSON *results = results_of("full");
    assert_true(median_of(results, "streampool", "3584 MiB, new memory") == 0);
    assert_true(median_of(results, "streampool", "3584 MiB, mappings kept") >= 7);
    assert_true(median_of(results, "streampool", "3584 MiB, address space") > 3.5);
    cJSON_Delete(results);
}

static void one_thread_remaps_in_every_second_slice(void **state) {
    (void)state;
    cJSON *results = results_of("stall");
    assert_true(median_of(results, "remapping", "own pool, remaps") > 0);
    assert_true(median_of(results, "undisturbed", "own pool, remaps") == 0);
    assert_true(median_of(results, "remapping", "shared pool, remaps") > 0);
    assert_true(median_of(results, "remapping", "own pool, fill") > 0);
    assert_true(median_of(results, "undisturbed", "own pool, fill, loss") == 0);
    cJSON_Delete(results);
}

// ------------------------------------------------------------------------------------------- the device's memory

static void a_part_of_the_device_can_be_filled(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("--device=sim", "--device-memory=4096", "full"));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "\nfull: 7 blocks of 512 MiB, every second one freed, then 768 MiB wanted");
    assert_says(outcome.output, "\n768 MiB, malloc ");
    program_forget(&outcome);
}

// The cases behind it find the memory that it had taken.
static void a_device_too_small_is_an_error(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(
        &outcome, SETTINGS("STREAMPOOL_SIMCUDA=memory=3G"),
        ARGUMENTS("--device=sim", "--rounds=1", "--device-memory=1024", "fragments", "full", "growth"));
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.errors, "fragments: CUDA_ERROR_OUT_OF_MEMORY (2)");
    assert_says(outcome.errors, "full: CUDA_ERROR_OUT_OF_MEMORY (2)");
    assert_says(outcome.output, "\n2 GiB, grow ");
    program_forget(&outcome);
}

// -------------------------------------------------------------------------------------------- the results

static void results_are_written_as_json(void **state) {
    (void)state;
    struct outcome outcome;
    const char *path = file_path("bench.json");
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("--device=sim", "--rounds=3", "--json", path, "growth"));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "\n2 GiB, trim ");
    char *text = file_read(path);
    cJSON *results = cJSON_Parse(text);
    const cJSON *first = cJSON_GetArrayItem(results, 0);
    assert_int_equal(cJSON_GetArraySize(results), 10); // five sizes, two figures each
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(first, "simulated")));
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(first, "case")), "growth");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(first, "setting")), "2 MiB, grow");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(first, "unit")), "us");
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(first, "samples")) == 3);
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(first, "least")) <=
                cJSON_GetNumberValue(cJSON_GetObjectItem(first, "median")));
    cJSON_Delete(results);
    free(text);
    program_forget(&outcome);
}

static void a_file_that_cannot_be_written_is_an_error(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("--device=sim", "--rounds=1", "--json", file_path("no/such/folder"), "pair"));
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.errors, "No such file or directory");
    program_forget(&outcome);
}

// A case that fails is named, and the others run.
static void a_case_that_fails_is_named(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=memory=1G"),
                ARGUMENTS("--device=sim", "--rounds=1", "growth", "alternate"));
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.errors, "growth: CUDA_ERROR_OUT_OF_MEMORY (2)");
    assert_says(outcome.output, "\nalternate: ");
    assert_says(outcome.output, "\n16 MiB ");
    program_forget(&outcome);
}

// ------------------------------------------------------------------------------------------ the arguments

static void nonsense_is_refused(void **state) {
    (void)state;
    const struct {
        const char *argument;
        const char *answer;
    } mistakes[] = {
        {"--rounds=0", "--rounds is a number from 1 to 512, not '0'"},
        {"--rounds=513", "--rounds is a number from 1 to 512, not '513'"},
        {"--rounds=3x", "--rounds is a number from 1 to 512, not '3x'"},
        {"--rounds=", "--rounds is a number from 1 to 512, not ''"},
        {"--seconds=0", "--seconds is a number from 1 to 256, not '0'"},
        {"--seconds=1.5", "--seconds is a number from 1 to 256, not '1.5'"},
        {"--device-memory=0", "--device-memory is a number from 1 to 16777216, not '0'"},
        {"--device-memory=4G", "--device-memory is a number from 1 to 16777216, not '4G'"},
        {"--device=tpu", "--device is auto, gpu or sim, not 'tpu'"},
        {"--case=pairs", "there is no case 'pairs'"},
        {"grow", "there is no case 'grow'"},
        {"--speed", "unrecognized option"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct outcome outcome;
        program_run(&outcome, NO_SETTINGS, ARGUMENTS(mistakes[i].argument));
        assert_says(outcome.errors, mistakes[i].answer);
        assert_string_equal(outcome.output, "");
        assert_int_equal(outcome.status, USAGE_ERROR);
        program_forget(&outcome);
    }
}

static void the_help_names_every_case(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("--help"));
    assert_int_equal(outcome.status, 0);
    for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; i++)
        assert_says(outcome.output, expectations[i].name);
    program_forget(&outcome);
}

static void a_missing_driver_is_an_error(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS("STREAMPOOL_DRIVER=/no/such/driver.so"), ARGUMENTS("--rounds=1"));
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.errors, "/no/such/driver.so");
    program_forget(&outcome);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_prints_its_lines),
        cmocka_unit_test(cases_are_named_by_an_option_too),
        cmocka_unit_test(the_environment_names_the_driver),
        cmocka_unit_test(memory_follows_events),
        cmocka_unit_test(a_cap_bounds_what_others_cannot_see),
        cmocka_unit_test(the_floor_is_measured),
        cmocka_unit_test(a_full_device_can_only_remap),
        cmocka_unit_test(one_thread_remaps_in_every_second_slice),
        cmocka_unit_test(a_part_of_the_device_can_be_filled),
        cmocka_unit_test(a_device_too_small_is_an_error),
        cmocka_unit_test(results_are_written_as_json),
        cmocka_unit_test(a_file_that_cannot_be_written_is_an_error),
        cmocka_unit_test(a_case_that_fails_is_named),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(the_help_names_every_case),
        cmocka_unit_test(a_missing_driver_is_an_error),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
