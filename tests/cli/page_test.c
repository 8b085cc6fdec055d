// No line that people read has more than 80 columns, whatever the names and the figures are: with
// drawn traces, options and recordings.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "program.h"

enum { COLUMNS = 80, ROUNDS = 40, WORDS_MAX = 24 };

static unsigned seed = 1;

static unsigned draw(unsigned below) {
    return (unsigned)rand_r(&seed) % below;
}

// Any power of two up to 2^63, and all below it by chance.
static uint64_t draw_number(void) {
    uint64_t most = (UINT64_C(2) << draw(64)) - 1;
    return ((uint64_t)rand_r(&seed) << 33 ^ (uint64_t)rand_r(&seed) << 11 ^ (uint64_t)draw(2048)) &
           most;
}

// ----------------------------------------------------------------------------------------- columns

static size_t columns_of(const char *line, size_t length) {
    size_t columns = 0;
    for (size_t i = 0; i < length; i++)
        columns += ((unsigned char)line[i] & 0xc0) != 0x80;
    return columns;
}

// A path alone on its line is whole, to be copied.
static bool is_path(const char *line, size_t length) {
    size_t indent = strspn(line, " ");
    return indent < length && !memchr(line + indent, ' ', length - indent) &&
           memchr(line + indent, '/', length - indent);
}

static void assert_narrow(const char *text) {
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n");
        if (columns_of(line, length) > COLUMNS && !is_path(line, length))
            fail_msg("a line of %zu columns: %.*s\nin: %s", columns_of(line, length), (int)length,
                     line, text);
        if (line[length] == '\0')
            break;
    }
}

static void run_narrow(const char *const arguments[]) {
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, arguments);
    if (outcome.status != 0 && outcome.status != CALLS_FAILED)
        fail_msg("status %d: %s", outcome.status, outcome.errors);
    assert_narrow(outcome.output);
    program_forget(&outcome);
}

// --------------------------------------------------------------------------------- what is drawn

static const char *drawn_name(void) {
    static const char *const characters[] = {"a", "Z", "7", "_", "-", ".", "é", "表", " "};
    static char name[256];
    unsigned length = draw(2) ? 1 + draw(12) : 1 + draw(200);
    size_t kinds = sizeof characters / sizeof characters[0] - draw(2); // with blanks or without
    strcpy(name, "t");
    for (unsigned i = 0; i < length && strlen(name) < 240; i++)
        strcat(name, characters[draw((unsigned)kinds)]);
    return strcat(name, ".csv");
}

// Of blocks of fewer than 2^bits bytes, which the device may not have; what isn't freed in the end
// is.
static const char *drawn_trace(unsigned bits) {
    enum { OPERATIONS = 40 };
    static char text[OPERATIONS * 80] = TRACE_HEADER;
    size_t length = strlen(TRACE_HEADER);
    for (unsigned i = 0; i < OPERATIONS; i++)
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "%u,%u,allocate,0x%x,%llu,%llu\n", draw(3), i, 0x1000 * (i + 1),
                                   (unsigned long long)(draw_number() >> (64 - bits)),
                                   (unsigned long long)(draw(3) ? draw(4) : draw_number()));
    return file_write(drawn_name(), text);
}

struct words {
    const char *list[WORDS_MAX];
    size_t count;
};

static void add(struct words *words, const char *word) {
    words->list[words->count++] = word;
}

static void add_sometimes(struct words *words, const char *const pair[2]) {
    if (draw(2))
        return;
    add(words, pair[0]);
    if (pair[1])
        add(words, pair[1]);
}

static struct words drawn_replay(void) {
    static const char *const options[][2] = {
        {"--passes", "3"}, {"--statistics", NULL}, {"--explain-growth", NULL},
        {"--work", "0.5"}, {"--set", "Reaper=0"},  {"--threads", NULL},
        {"--events", "3"},
    };
    static const char *const allocators[] = {"pool", "promised,direct", "pool,driver,direct",
                                             "pool,promised,driver,direct"};
    struct words words = {{"replay", "--device", "sim", "-a", allocators[draw(4)]}, 5};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        add_sometimes(&words, options[i]);
    bool several_starts = draw(2); // whose held block the device has to have
    unsigned bits = several_starts ? 24 : 58;
    add(&words, drawn_trace(bits));
    add(&words, drawn_trace(bits));
    if (several_starts)
        add(&words, "--perturb=2");
    return words;
}

// ----------------------------------------------------------------------------------------- outputs

static void replays_fit(void **state) {
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        struct words words = drawn_replay();
        if (draw(4) == 0)
            add(&words, "--one-pool");
        run_narrow(words.list);
    }
}

static void policies_fit(void **state) {
    (void)state;
    for (int i = 0; i < ROUNDS / 4; i++)
        run_narrow(ARGUMENTS("policies", "--limit", "64M", drawn_trace(58), drawn_trace(58)));
}

// Changes all numbers that a table may show to drawn ones, and those of the passes aside.
static void draw_figures(cJSON *object) {
    cJSON *item;
    cJSON_ArrayForEach(item, object) {
        if (cJSON_IsObject(item))
            draw_figures(item);
        else if (strstr(item->string, "_bytes") || strstr(item->string, "_ns") ||
                 strstr(item->string, "p50") || strstr(item->string, "max"))
            cJSON_SetNumberHelper(item, (double)(draw_number() >> 1));
    }
    cJSON_DeleteItemFromObject(object, "driver_calls_modelled_ns");
}

static const char *drawn_recording(const char *trace) {
    static const char *const devices[] = {"Simulated GPU", "NVIDIA H200",
                                          "A GPU whose maker was very proud of its very long name"};
    const char *device = devices[draw(3)];
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device", "sim", "-a", "pool,promised,direct", "--passes",
                          "2", "--json", "-", trace));
    cJSON *list = cJSON_Parse(outcome.output), *result;
    cJSON_ArrayForEach(result, list) {
        draw_figures(result);
        cJSON_ReplaceItemInObject(result, "device", cJSON_CreateString(device));
    }
    char *text = cJSON_Print(list);
    const char *path = file_write("recorded.json", text);
    cJSON_free(text);
    cJSON_Delete(list);
    program_forget(&outcome);
    return path;
}

static void recorded_results_fit(void **state) {
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        const char *trace = drawn_trace(58);
        run_narrow(ARGUMENTS("replay", "--device", "sim", "-a", "pool,direct", "--passes", "2",
                             "--beside", drawn_recording(trace), "--beside-allocator",
                             "pool,promised,driver,direct", trace));
    }
}

static void information_fits(void **state) {
    (void)state;
    static const char *const settings[][2] = {{"STREAMPOOL_DRIVER_API=10020", NULL},
                                              {"STREAMPOOL_SIMCUDA=vmm=missing", NULL},
                                              {NULL, NULL}};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        struct outcome outcome;
        program_run(&outcome, settings[i], ARGUMENTS("info", "--device", "sim"));
        assert_says(outcome.output, "Simulated GPU");
        assert_narrow(outcome.output);
        program_forget(&outcome);
    }
    run_narrow(ARGUMENTS("options"));
}

// --------------------------------------------------------------------------------------- what fits

static const char small[] = TRACE_HEADER
    "1,0,allocate,0x1000000,4194304,0\n"
    "1,10,free,0x1000000,4194304,0\n";

static void a_table_has_six_columns_and_a_wide_one_has_all(void **state) {
    (void)state;
    const char *path = file_write("small.csv", small);
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("replay", "--device", "sim", path));
    assert_says(outcome.output, "\ntrace  allocator      live  reserved    / live ");
    assert_says_not(outcome.output, "operations");
    program_forget(&outcome);
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("replay", "--device", "sim", "--wide", path));
    assert_says(outcome.output, "\ntrace  allocator   operations  streams  errors ");
    program_forget(&outcome);
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("policies", path));
    assert_says_not(outcome.output, "growths");
    program_forget(&outcome);
}

// Once for the rows that it belongs to.
static void a_name_that_is_too_long_stands_above_its_rows_whole(void **state) {
    (void)state;
    static const char name[] = "a_trace_with_a_name_that_no_column_of_the_table_has_room_for";
    char file[128], line[128];
    snprintf(file, sizeof file, "%s.csv", name);
    snprintf(line, sizeof line, "\n%s\n ", name);
    struct outcome outcome;
    program_run(
        &outcome, NO_SETTINGS,
        ARGUMENTS("replay", "--device", "sim", "-a", "pool,direct", file_write(file, small)));
    assert_says(outcome.output, line);
    assert_null(strstr(strstr(outcome.output, name) + 1, name));
    assert_says(outcome.output, "  cuMemAlloc  4.0 MiB   4.0 MiB     1.000 ");
    program_forget(&outcome);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replays_fit),
        cmocka_unit_test(policies_fit),
        cmocka_unit_test(recorded_results_fit),
        cmocka_unit_test(information_fits),
        cmocka_unit_test(a_table_has_six_columns_and_a_wide_one_has_all),
        cmocka_unit_test(a_name_that_is_too_long_stands_above_its_rows_whole),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
