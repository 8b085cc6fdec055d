// The observer's file: it is loaded for a process that asks for it and for no other. Where it can't
// be used, one line says so, and the program goes on.
//
//   observe_load_test LIBRARY OBSERVER
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/program.h"
#include "random/numbers.h"
#include "support/copy.h"

static char library[PATH_MAX];       // a copy, in a folder of its own
static char observer[PATH_MAX];      // that copy looks for it there
static const char *given, *original; // the arguments

// A file in the observer's place, and why the library refuses it; null where it doesn't.
static const struct place {
    const char *file; // null: none
    const char *why;
} places[] = {
    {NULL, "cannot open shared object file: No such file or directory"},
    {"", NULL}, // the original
    {"", NULL},
    {OTHER_RELEASE_FILE, "it is not of the same build as the library"},
    {OTHER_SIZE_FILE, "it is not of the same build as the library"},
    {OTHER_STREAM_FILE, "it is not of the same build as the library"},
    {NO_ENTRY_FILE, "it is not of the same build as the library"},
    {TEXT_FILE, "invalid ELF header"},
    {"/tmp", "cannot read file data: Is a directory"},
};
enum { PLACES = sizeof places / sizeof places[0], ORIGINAL = 1 };

struct asked {
    bool stats, leaks, trace;
};

struct run {
    struct asked asked;
    unsigned threads;
    bool has_plugin;
};

static void put(const struct place *place) {
    unlink(observer);
    if (place->file)
        assert_int_equal(symlink(*place->file ? place->file : original, observer), 0);
}

static struct outcome load(const struct run *run, const char *trace) {
    char threads[16], file[PATH_MAX + 32];
    struct outcome outcome;
    const struct asked *asked = &run->asked;
    snprintf(threads, sizeof threads, "%u", run->threads);
    snprintf(file, sizeof file, "STREAMPOOL_TRACE=%s", asked->trace ? trace : "");
    program_run_at(LOADING, &outcome,
                   SETTINGS(asked->stats ? "STREAMPOOL_STATS=1" : "STREAMPOOL_STATS",
                            asked->leaks ? "STREAMPOOL_LEAKS=1" : "STREAMPOOL_LEAKS", file),
                   ARGUMENTS(library, threads, run->has_plugin ? PLUGIN_FILE : NULL));
    if (outcome.status != 0)
        fputs(outcome.errors, stderr);
    assert_int_equal(outcome.status, 0);
    return outcome;
}

static size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        count++;
    return count;
}

static void require_observed(const struct run *run, const struct outcome *outcome,
                             const char *trace) {
    char never_freed[64];
    size_t blocks = run->threads + run->has_plugin;
    snprintf(never_freed, sizeof never_freed, "never freed: %zu block%s of", blocks,
             blocks == 1 ? "" : "s");
    bool prints = run->asked.stats || run->asked.leaks;
    assert_string_equal(outcome->output, "mapped\n");
    assert_int_equal(count_of(outcome->errors, never_freed), prints);
    assert_int_equal(count_of(outcome->errors, "default pool "), run->asked.stats);
    assert_int_equal(count_of(outcome->errors, ": 1000 bytes, "), run->asked.leaks ? blocks : 0);
    char *lines = file_read(trace);
    assert_int_equal(lines != NULL, run->asked.trace);
    assert_int_equal(lines ? count_of(lines, ",allocate,") : 0, run->asked.trace ? blocks : 0);
    free(lines);
}

static void require_plain(const struct outcome *outcome, const char *errors, const char *trace) {
    char *lines = file_read(trace);
    assert_string_equal(outcome->output, "not mapped\n");
    assert_string_equal(outcome->errors, errors);
    assert_null(lines);
}

static void require_as_asked(const struct place *place, const struct run *run, const char *trace) {
    char refusal[2 * PATH_MAX] = "";
    bool asks = run->asked.stats || run->asked.leaks || run->asked.trace;
    put(place);
    struct outcome outcome = load(run, trace);
    if (asks && place->why)
        snprintf(refusal, sizeof refusal,
                 "streampool: STREAMPOOL_STATS, STREAMPOOL_LEAKS and STREAMPOOL_TRACE are ignored: "
                 "%s can't be used: %s\n",
                 observer, place->why);
    if (asks && !place->why)
        require_observed(run, &outcome, trace);
    else
        require_plain(&outcome, refusal, trace);
    program_forget(&outcome);
}

static void a_process_that_does_not_ask_does_not_carry_the_observer(void **state) {
    (void)state;
    require_as_asked(&places[ORIGINAL], &(struct run){.threads = 1}, file_path("plain.csv"));
}

static void a_process_that_asks_carries_the_observer(void **state) {
    (void)state;
    const struct run run = {.asked = {true, true, true}, .threads = 2, .has_plugin = true};
    require_as_asked(&places[ORIGINAL], &run, file_path("asked.csv"));
}

static void an_observer_that_cannot_be_used_is_named_and_the_program_goes_on(void **state) {
    (void)state;
    const struct run run = {.asked = {.stats = true}, .threads = 1};
    for (size_t i = 0; i < PLACES; i++)
        require_as_asked(&places[i], &run, file_path("refused.csv"));
}

// Draws what a process asks for, what lies in the observer's place, and how many threads make the
// first call at once.
static void a_process_has_what_it_asks_for_and_no_more(void **state) {
    (void)state;
    struct numbers numbers = {.state = 584};
    for (int i = 0; i < 40; i++) {
        char name[32];
        snprintf(name, sizeof name, "drawn-%d.csv", i);
        const struct run run = {
            .asked = {numbers_once_in(&numbers, 2), numbers_once_in(&numbers, 2),
                      numbers_once_in(&numbers, 2)},
            .threads = 1 + (unsigned)numbers_below(&numbers, 8),
            .has_plugin = numbers_once_in(&numbers, 2),
        };
        require_as_asked(&places[numbers_below(&numbers, PLACES)], &run, file_path(name));
    }
}

// The dynamic linker's name of the library leads nowhere when the first call is made.
static void a_relative_library_path_leads_to_the_observer(void **state) {
    (void)state;
    const struct run run = {.asked = {true, true, true}, .threads = 1};
    char trace[PATH_MAX + 32], *folder = strdup(library);
    struct outcome outcome;
    snprintf(trace, sizeof trace, "STREAMPOOL_TRACE=%s", file_path("relative.csv"));
    put(&places[ORIGINAL]);
    assert_int_equal(chdir(dirname(folder)), 0);
    program_run_at(LOADING, &outcome,
                   SETTINGS("LD_LIBRARY_PATH=.", "STREAMPOOL_STATS=1", "STREAMPOOL_LEAKS=1", trace),
                   ARGUMENTS("libstreampool.so", "1"));
    require_observed(&run, &outcome, file_path("relative.csv"));
    program_forget(&outcome);
    free(folder);
}

// The copy takes the name that the library looks for from the original's.
static int begin(void **state) {
    char folder[PATH_MAX];
    if (files_begin(state) != 0 || !realpath(file_path("."), folder))
        return -1;
    snprintf(library, sizeof library, "%.4000s/libstreampool.so", folder);
    snprintf(observer, sizeof observer, "%.4000s/%s", folder, strrchr(original, '/') + 1);
    return test_copy_file(given, library) ? 0 : -1;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    given = argv[1];
    original = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_does_not_ask_does_not_carry_the_observer),
        cmocka_unit_test(a_process_that_asks_carries_the_observer),
        cmocka_unit_test(an_observer_that_cannot_be_used_is_named_and_the_program_goes_on),
        cmocka_unit_test(a_relative_library_path_leads_to_the_observer),
        cmocka_unit_test(a_process_has_what_it_asks_for_and_no_more),
    };
    return cmocka_run_group_tests(tests, begin, files_end);
}
