// Files that the commands write: one that can't be written is found before the work, and work that
// fails leaves what was there.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "program.h"

enum { RUN_FAILED = 125, WORDS_MAX = 12 };

// Each option that names an output, in a command that works and, but for `run`, in one that fails
// once it has begun. OUTPUT, GOOD and BAD stand for files, and MARK for one that a program makes.
static const struct output {
    int failed;
    const char *arguments[WORDS_MAX];
    const char *failing[WORDS_MAX];
} outputs[] = {
    {1,
     {"info", "--device", "sim", "--json", "OUTPUT"},
     {"info", "--device", "gpu", "--json", "OUTPUT"}},
    {1,
     {"replay", "--device", "sim", "--json", "OUTPUT", "GOOD"},
     {"replay", "--device", "sim", "--json", "OUTPUT", "BAD"}},
    {1,
     {"replay", "--device", "sim", "--plot", "OUTPUT", "GOOD"},
     {"replay", "--device", "sim", "--plot", "OUTPUT", "--set", "Defragmentation=9", "GOOD"}},
    {1, {"policies", "--json", "OUTPUT", "GOOD"}, {"policies", "--json", "OUTPUT", "BAD"}},
    {1,
     {"policies", "--plot", "OUTPUT", "GOOD"},
     {"policies", "--plot", "OUTPUT", "--set", "Defragmentation=9", "GOOD"}},
    {1, {"import", "-o", "OUTPUT", "GOOD"}, {"import", "-o", "OUTPUT", "BAD"}},
#ifdef HAS_DROPIN
    {RUN_FAILED, {"run", "--json", "OUTPUT", "touch", "MARK"}, {NULL}},
    {RUN_FAILED, {"run", "--output", "OUTPUT", "touch", "MARK"}, {NULL}},
    {RUN_FAILED,
     {"run", "--record", "OUTPUT", "touch", "MARK"},
     {"run", "--record", "OUTPUT", "/"}},
#endif
};

enum { OUTPUT_COUNT = sizeof outputs / sizeof outputs[0] };

static const char *meant(const char *word, const char *path) {
    if (strcmp(word, "OUTPUT") == 0)
        return path;
    if (strcmp(word, "GOOD") == 0)
        return file_path("good.csv");
    if (strcmp(word, "BAD") == 0)
        return file_path("bad.csv");
    return strcmp(word, "MARK") == 0 ? file_path("mark") : word;
}

static void run(struct outcome *outcome, const char *const words[WORDS_MAX], const char *path) {
    const char *arguments[WORDS_MAX + 1] = {NULL};
    for (size_t i = 0; i < WORDS_MAX && words[i]; i++)
        arguments[i] = meant(words[i], path);
    program_run(outcome, NO_SETTINGS, arguments);
}

static void write_traces(void) {
    file_write("good.csv", TRACE_HEADER "1,0,allocate,0x1000000,1024,0\n");
    file_write("bad.csv", TRACE_HEADER "1,0,levitate,0x1000000,1024,0\n");
}

// ------------------------------------------------------------------------------------- bad places

static const char *long_name(void) {
    char name[300];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    return file_path(name);
}

static const char *locked_folder(void) {
    mkdir(file_path("locked"), 0500);
    return file_path("locked/file");
}

// Root may write everywhere.
static size_t bad_places(const char *places[8]) {
    size_t count = 0;
    mkdir(file_path("folder"), 0700);
    places[count++] = "";
    places[count++] = file_path("missing/file");
    places[count++] = file_path("good.csv/file");
    places[count++] = file_path("folder");
    places[count++] = file_path("new/");
    places[count++] = long_name();
    places[count++] = "/proc/self/no";
    if (geteuid() != 0)
        places[count++] = locked_folder();
    return count;
}

static void assert_found_before_the_work(const struct output *output, const char *place) {
    struct outcome outcome;
    size_t files = file_count();
    run(&outcome, output->arguments, place);
    if (outcome.status != output->failed)
        fail_msg("%s %s '%s': status %d: %s", output->arguments[0], output->arguments[1], place,
                 outcome.status, outcome.errors);
    assert_string_equal(outcome.output, "");
    assert_says(outcome.errors, "streampool: ");
    assert_int_equal(file_count(), files);
    program_forget(&outcome);
}

static void a_place_that_can_not_be_written_is_found_before_the_work(void **state) {
    (void)state;
    const char *places[8];
    write_traces();
    size_t count = bad_places(places);
    for (size_t i = 0; i < OUTPUT_COUNT; i++)
        for (size_t k = 0; k < count; k++)
            assert_found_before_the_work(&outputs[i], places[k]);
    rmdir(file_path("folder"));
    rmdir(file_path("locked"));
}

// -------------------------------------------------------------------------------- work that fails

static void work_that_fails_leaves_the_file_that_was_there(void **state) {
    (void)state;
    write_traces();
    for (size_t i = 0; i < OUTPUT_COUNT; i++) {
        if (!outputs[i].failing[0])
            continue;
        struct outcome outcome;
        const char *path = file_write("kept", "as it was");
        size_t files = file_count();
        run(&outcome, outputs[i].failing, path);
        assert_true(outcome.status != 0);
        char *text = file_read(path);
        assert_string_equal(text, "as it was");
        free(text);
        remove(path);
        program_forget(&outcome);
        run(&outcome, outputs[i].failing, path);
        assert_int_equal(file_count(), files - 1);
        program_forget(&outcome);
    }
}

static void work_that_is_done_has_its_file(void **state) {
    (void)state;
    write_traces();
    for (size_t i = 0; i < OUTPUT_COUNT; i++) {
        struct outcome outcome;
        const char *path = file_path("written");
        run(&outcome, outputs[i].arguments, path);
        assert_int_equal(outcome.status, 0);
        char *text = file_read(path);
        if (strcmp(outputs[i].arguments[1], "--record") != 0) // of a program without pools
            assert_true(text && strlen(text) > 10);
        free(text);
        remove(path);
        remove(file_path("mark"));
        program_forget(&outcome);
    }
}

// --------------------------------------------------------------------------- pipes and devices

static void a_pipe_is_opened_once(void **state) {
    (void)state;
    write_traces();
    const char *pipe = file_path("pipe"), *copy = file_path("copy");
    char script[2048];
    snprintf(script, sizeof script,
             "cat %s > %s & %s replay --device sim --json %s %s > /dev/null; status=$?; wait; "
             "exit $status",
             pipe, copy, STREAMPOOL_PROGRAM, pipe, file_path("good.csv"));
    assert_int_equal(mkfifo(pipe, 0600), 0);
    struct outcome outcome;
    program_run_at("/bin/sh", &outcome, NO_SETTINGS, ARGUMENTS("-c", script));
    assert_int_equal(outcome.status, 0);
    char *text = file_read(copy);
    assert_says(text, "\"allocator\"");
    free(text);
    program_forget(&outcome);
    remove(pipe);
}

// The reader of the table has gone before the first line comes, so SIGPIPE ends the program.
static void a_reader_that_goes_leaves_the_files(void **state) {
    (void)state;
    static const char *const commands[] = {"replay --device sim", "policies"};
    static const char *const files[] = {"left.json", "left.svg"};
    write_traces();
    const char *pipe = file_path("closed");
    for (size_t i = 0; i < 2; i++) {
        struct outcome outcome;
        char script[2048];
        snprintf(script, sizeof script,
                 "exec 3<>%s 4>%s 3<&-; exec %s %s --json %s --plot %s %s >&4", pipe, pipe,
                 STREAMPOOL_PROGRAM, commands[i], file_path(files[0]), file_path(files[1]),
                 file_path("good.csv"));
        assert_int_equal(mkfifo(pipe, 0600), 0);
        program_run_at("/bin/sh", &outcome, NO_SETTINGS, ARGUMENTS("-c", script));
        assert_true(outcome.status != 0);
        for (size_t k = 0; k < 2; k++) {
            char *text = file_read(file_path(files[k]));
            assert_true(text && strlen(text) > 10);
            free(text);
            remove(file_path(files[k]));
        }
        program_forget(&outcome);
        remove(pipe);
    }
}

#ifdef HAS_DROPIN
// It would be renamed over.
static void a_pipe_is_no_place_for_a_recording(void **state) {
    (void)state;
    const char *pipe = file_path("pipe");
    struct outcome outcome;
    struct stat status;
    assert_int_equal(mkfifo(pipe, 0600), 0);
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("run", "--record", pipe, "echo", "started"));
    assert_int_equal(outcome.status, RUN_FAILED);
    assert_string_equal(outcome.output, "");
    assert_int_equal(stat(pipe, &status), 0);
    assert_true(S_ISFIFO(status.st_mode));
    program_forget(&outcome);
    remove(pipe);
}

static void two_outputs_have_two_places(void **state) {
    (void)state;
    assert_usage_error(ARGUMENTS("run", "--json", "a", "--record", "a", "true"),
                       "--json and --record can't both be written to 'a'");
    assert_usage_error(ARGUMENTS("run", "--output", "a", "--record", "a", "true"),
                       "--output and --record can't both be written to 'a'");
    assert_usage_error(ARGUMENTS("run", "--output", "a", "--json", "a", "true"),
                       "--output and --json can't both be written to 'a'");
}
#endif

// ------------------------------------------------------------------------------------- the limit

enum { UNIT = 32 }; // MiB, to which limits are rounded up

// The pool gets no block that is larger than what is said, and one that isn't.
static void assert_limit(uint64_t bytes, uint64_t mebibytes) {
    char limit[32], said[128], trace[256];
    struct outcome outcome;
    snprintf(limit, sizeof limit, "%llu", (unsigned long long)bytes);
    snprintf(said, sizeof said, "--limit %s is rounded up to %lluM: ", limit,
             (unsigned long long)mebibytes);
    snprintf(trace, sizeof trace,
             TRACE_HEADER
             "1,0,allocate,0x1000000,%llu,0\n1,0,free,0x1000000,%llu,0\n"
             "1,0,allocate,0x1000000,%llu,0\n",
             (unsigned long long)mebibytes << 20, (unsigned long long)mebibytes << 20,
             ((unsigned long long)mebibytes << 20) + 1);
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device", "sim", "--wide", "--limit", limit,
                          file_write("limited.csv", trace)));
    if (bytes == mebibytes << 20)
        assert_string_equal(outcome.errors, "");
    else
        assert_says(outcome.errors, said);
    assert_says(outcome.output,
                "allocation at line 4: poolErrorMemoryAllocation (errors in all: 1)");
    assert_int_equal(outcome.status, CALLS_FAILED);
    program_forget(&outcome);
}

static void a_limit_that_is_rounded_is_said(void **state) {
    (void)state;
    unsigned seed = 1;
    for (unsigned i = 0; i < 20; i++) {
        uint64_t units = 1 + (uint64_t)rand_r(&seed) % 8;
        uint64_t less = i % 4 == 0 ? 0 : (uint64_t)rand_r(&seed) % (UNIT << 20);
        assert_limit((units * UNIT << 20) - less, units * UNIT);
    }
    assert_limit(1, UNIT);
    assert_limit((UNIT << 20) + 1, 2 * UNIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_that_can_not_be_written_is_found_before_the_work),
        cmocka_unit_test(work_that_fails_leaves_the_file_that_was_there),
        cmocka_unit_test(work_that_is_done_has_its_file),
        cmocka_unit_test(a_pipe_is_opened_once),
        cmocka_unit_test(a_reader_that_goes_leaves_the_files),
#ifdef HAS_DROPIN
        cmocka_unit_test(a_pipe_is_no_place_for_a_recording),
        cmocka_unit_test(two_outputs_have_two_places),
#endif
        cmocka_unit_test(a_limit_that_is_rounded_is_said),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
