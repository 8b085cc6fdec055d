// Each exit status that docs/program.md states comes about, and no command ends with another one.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "program.h"

#define DRIVER_MISSING "STREAMPOOL_DRIVER=/nonexistent"
#define NO_DEVICE      "STREAMPOOL_SIMCUDA=devices=0"
#define LITTLE_MEMORY  "STREAMPOOL_SIMCUDA=memory=64M"

// A word that begins with @ stands for a file of the test's folder. @nowhere is the setting by
// which the machine has no driver.
struct deed {
    int status;
    const char *settings[3];
    const char *arguments[8];
};

static const struct deed deeds[] = {
    {0, {NULL}, {"info", "--device", "sim"}},
    {0, {"STREAMPOOL_DRIVER=sim"}, {"info"}},
    {1, {NO_DEVICE}, {"info", "--device", "sim"}},
    {1, {NO_DEVICE}, {"info"}},
    {1, {NULL}, {"info", "--json", "@missing/info.json"}},
    {3, {"@nowhere", "STREAMPOOL_DRIVER"}, {"info"}},
    {3, {"@nowhere", "STREAMPOOL_DRIVER"}, {"info", "--json", "-"}},
    {3, {"@nowhere", "STREAMPOOL_DRIVER", NO_DEVICE}, {"info"}},
    {3, {"@nowhere", "STREAMPOOL_DRIVER"}, {"info", "--device", "gpu"}},
    {3, {DRIVER_MISSING}, {"info"}},
    {3, {NULL}, {"info", "--device", "gpu"}},
    {64, {NULL}, {"info", "more"}},
    {64, {NULL}, {"info", "--device", "tpu"}},

    {0, {NULL}, {"replay", "--device", "sim", "@good.csv"}},
    {0, {"@nowhere", "STREAMPOOL_DRIVER"}, {"replay", "@good.csv"}},
    {1, {NULL}, {"replay", "--device", "sim", "@bad.csv"}},
    {1, {NULL}, {"replay", "--device", "sim", "@good.csv", "@missing.csv"}},
    {1, {NULL}, {"replay", "--device", "sim", "--set", "Defragmentation=9", "@good.csv"}},
    {1, {NULL}, {"replay", "--device", "sim", "--json", "@missing/replay.json", "@good.csv"}},
    {1, {NO_DEVICE}, {"replay", "--device", "sim", "@good.csv"}},
    {3, {NULL}, {"replay", "--device", "gpu", "@good.csv"}},
    {3, {DRIVER_MISSING}, {"replay", "@good.csv"}},
    {4, {NULL}, {"replay", "--device", "sim", "--limit", "32M", "@good.csv"}},
    {4, {NULL}, {"replay", "--device", "sim", "--limit", "32M", "--json", "-", "@good.csv"}},
    {4, {LITTLE_MEMORY}, {"replay", "--device", "sim", "--allocator", "direct", "@good.csv"}},
    {4,
     {LITTLE_MEMORY},
     {"replay", "--device", "sim", "--perturb", "2", "@small.csv", "@good.csv"}},
    {1, {LITTLE_MEMORY}, {"replay", "--device", "sim", "--perturb", "8", "@huge.csv"}},
    {64, {NULL}, {"replay"}},
    {64, {NULL}, {"replay", "--limit", "0", "@good.csv"}},

    {0, {NULL}, {"policies", "@good.csv"}},
    {1, {NULL}, {"policies", "@bad.csv"}},
    {1, {NULL}, {"policies", "--plot", "@missing/policies.svg", "@good.csv"}},
    {3, {NULL}, {"policies", "--device", "gpu", "@good.csv"}},
    {3, {DRIVER_MISSING}, {"policies", "--device", "auto", "@good.csv"}},
    {4, {NULL}, {"policies", "--limit", "32M", "@good.csv"}},
    {4, {LITTLE_MEMORY}, {"policies", "--json", "-", "@good.csv"}},
    {64, {NULL}, {"policies", "--work", "0", "@good.csv"}},

    {0, {NULL}, {"import", "@small.csv"}},
    {1, {NULL}, {"import", "@bad.csv"}},
    {1, {NULL}, {"import", "--output", "@missing/trace.csv", "@small.csv"}},
    {3, {"PATH=/nonexistent"}, {"import", "@small.csv"}},
    {64, {NULL}, {"import"}},

    {0, {NULL}, {"plot", "--output", "@.", "@results.json"}},
    {1, {NULL}, {"plot", "@bad.csv"}},
    {1, {NULL}, {"plot", "--output", "@missing/folder", "@results.json"}},
    {64, {NULL}, {"plot"}},

    {0, {NULL}, {"options"}},
    {0, {NULL}, {"options", "--markdown"}},
    {64, {NULL}, {"options", "more"}},

    {0, {NULL}, {"help"}},
    {0, {NULL}, {"help", "replay"}},
    {64, {NULL}, {"help", "everything"}},

#ifdef HAS_DROPIN
    {0, {NULL}, {"run", "true"}},
    {0, {NULL}, {"run", "--check", "true"}},
    {5, {NULL}, {"run", "--check", STREAMPOOL_FAULTS, "leak"}},
    {1, {NULL}, {"run", "false"}},
    {1, {"@nowhere", "STREAMPOOL_DRIVER"}, {"run", "false"}},
    {64, {NULL}, {"run"}},
    {64, {NULL}, {"run", "--mode", "other", "true"}},
    {125, {NULL}, {"run", "--json", "@missing/run.json", "true"}},
    {125, {NULL}, {"run", "--output", "@missing/run.txt", "true"}},
    {125, {NULL}, {"run", "--record", "@missing/run.csv", "true"}},
    {125, {"TMPDIR=/nonexistent"}, {"run", "true"}},
    {126, {NULL}, {"run", "@good.csv"}},
    {127, {NULL}, {"run", "@missing"}},
    {128 + 9, {NULL}, {"run", "sh", "-c", "kill -9 $$"}},
    {128 + 15, {NULL}, {"run", "sh", "-c", "kill $$"}},
#endif
};

enum { DEED_COUNT = sizeof deeds / sizeof deeds[0] };

// ------------------------------------------------------------------------------------ what is done

static const char *nowhere(void) {
    static char setting[600];
    file_write("libcuda.so.1", "not a library");
    snprintf(setting, sizeof setting, "LD_LIBRARY_PATH=%s", file_path(""));
    return setting;
}

static const char *meant(const char *word) {
    if (!word || word[0] != '@')
        return word;
    return strcmp(word, "@nowhere") == 0 ? nowhere() : file_path(word + 1);
}

static void words_of(const struct deed *deed, char text[512]) {
    size_t length = 0;
    for (size_t i = 0; i < 3 && deed->settings[i]; i++)
        length += (size_t)snprintf(text + length, 512 - length, "%s ", deed->settings[i]);
    for (size_t i = 0; i < 8 && deed->arguments[i]; i++)
        length += (size_t)snprintf(text + length, 512 - length, "%s ", deed->arguments[i]);
}

static int status_of(const struct deed *deed) {
    const char *settings[4] = {NULL}, *arguments[9] = {NULL};
    struct outcome outcome;
    for (size_t i = 0; i < 3; i++)
        settings[i] = meant(deed->settings[i]);
    for (size_t i = 0; i < 8; i++)
        arguments[i] = meant(deed->arguments[i]);
    program_run(&outcome, settings, arguments);
    program_forget(&outcome);
    return outcome.status;
}

static void write_traces(void) {
    file_write("small.csv", TRACE_HEADER "1,0,allocate,0x1000000,1024,0\n");
    file_write("good.csv", TRACE_HEADER "1,0,allocate,0x1000000,134217728,0\n");
    file_write("huge.csv", TRACE_HEADER "1,0,allocate,0x1000000,1099511627776,0\n");
    file_write("bad.csv", TRACE_HEADER "1,0,levitate,0x1000000,1024,0\n");
    file_write("results.json",
               "[{\"device\":\"GPU\",\"trace\":\"t\",\"allocator\":\"pool\",\"pass\":1,"
               "\"live_peak_bytes\":1,\"reserved_peak_bytes\":2}]");
}

static void each_deed_ends_with_its_status(void **state) {
    (void)state;
    char words[512];
    write_traces();
    for (size_t i = 0; i < DEED_COUNT; i++) {
        int status = status_of(&deeds[i]);
        words_of(&deeds[i], words);
        if (status != deeds[i].status)
            fail_msg("%s ends with status %d, not %d", words, status, deeds[i].status);
    }
}

// ---------------------------------------------------------------------------------- what is stated

struct row {
    int status;
    char commands[128];
};

struct rows {
    struct row list[32];
    size_t count;
};

// The rows of the table under "Exit statuses".
static void read_rows(struct rows *rows) {
    FILE *page = fopen(STREAMPOOL_PAGE, "r");
    char line[1024];
    assert_non_null(page);
    rows->count = 0;
    while (fgets(line, sizeof line, page)) {
        struct row *row = &rows->list[rows->count];
        if (sscanf(line, "| %d | %127[^|]|", &row->status, row->commands) == 2)
            rows->count++;
        assert_true(rows->count < 32);
    }
    fclose(page);
    assert_true(rows->count > 10);
}

static bool names(const struct row *row, const char *command) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "`%s`", command);
    return strstr(row->commands, quoted);
}

// "others" are those that no row of the status names.
static bool states(const struct rows *rows, const struct row *row, const char *command) {
    if (names(row, command) || strncmp(row->commands, "all", 3) == 0)
        return true;
    for (size_t i = 0; i < rows->count; i++)
        if (rows->list[i].status == row->status && names(&rows->list[i], command))
            return false;
    return strncmp(row->commands, "others", 6) == 0;
}

// From 128 on a row stands for all that follow.
static int row_status(int status) {
    return status > 128 ? 128 : status;
}

static void each_status_of_a_deed_is_stated(void **state) {
    (void)state;
    struct rows rows;
    char words[512];
    read_rows(&rows);
    for (size_t i = 0; i < DEED_COUNT; i++) {
        bool stated = false;
        for (size_t k = 0; k < rows.count; k++)
            stated |= rows.list[k].status == row_status(deeds[i].status) &&
                      states(&rows, &rows.list[k], deeds[i].arguments[0]);
        words_of(&deeds[i], words);
        if (!stated)
            fail_msg("%s: the page doesn't state status %d", words, deeds[i].status);
    }
}

// Nothing but standard output can fail in these two.
static bool needs_no_deed(const char *command, int status) {
    return status == 1 && (strcmp(command, "options") == 0 || strcmp(command, "help") == 0);
}

static void each_status_that_is_stated_has_a_deed(void **state) {
    (void)state;
    static const char *const commands[] = {"info",   "replay",  "policies",
                                           "import", "options", "help",
#ifdef HAS_DROPIN
                                           "run"
#endif
    };
    struct rows rows;
    read_rows(&rows);
    for (size_t k = 0; k < rows.count; k++)
        for (size_t c = 0; c < sizeof commands / sizeof commands[0]; c++) {
            bool done = !states(&rows, &rows.list[k], commands[c]) ||
                        needs_no_deed(commands[c], rows.list[k].status);
            for (size_t i = 0; i < DEED_COUNT; i++)
                done |= row_status(deeds[i].status) == rows.list[k].status &&
                        strcmp(deeds[i].arguments[0], commands[c]) == 0;
            if (!done)
                fail_msg("no deed of %s ends with status %d", commands[c], rows.list[k].status);
        }
}

static void the_page_of_a_replays_help_names_the_status_of_failed_calls(void **state) {
    (void)state;
    static const char *const commands[] = {"replay", "policies"};
    for (size_t i = 0; i < 2; i++) {
        struct outcome outcome;
        program_run(&outcome, NO_SETTINGS, ARGUMENTS(commands[i], "--help"));
        for (char *end = outcome.output; (end = strchr(end, '\n'));)
            *end = ' ';
        assert_says(outcome.output, "4 when calls failed");
        program_forget(&outcome);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_deed_ends_with_its_status),
        cmocka_unit_test(each_status_of_a_deed_is_stated),
        cmocka_unit_test(each_status_that_is_stated_has_a_deed),
        cmocka_unit_test(the_page_of_a_replays_help_names_the_status_of_failed_calls),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
