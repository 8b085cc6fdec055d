// What must not grow doesn't: the cases of streampool-bench that measure memory and address space,
// at a part of their amounts.
//
//   program_bounded_test [--whole] [CASE]
//
// Between the first and the last point of a loop each figure grows by so many bytes for each piece
// of work in between, and each has a limit: next to nothing for what comes and goes, and what it
// may take for what is alive. What the simulated driver keeps counts in. With --whole the amounts
// are whole, which takes minutes.
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

enum { LIMITS_MAX = 5, KIB = 1024, MIB = 1024 * KIB };

struct limit {
    const char *figure; // behind the amount
    double bytes;       // for each more
};

// Malloc's figure is exact; that of resident memory is in pages, and of what malloc and the kernel
// keep in store. Address space is four times what a pool of one granule holds, and twice what a
// size more takes.
static const struct row {
    const char *name; // the case
    const char *divisor;
    struct limit limits[LIMITS_MAX];
} rows[] = {
    {"ended_threads", "100", {{" threads, mallinfo2", 32}, {" threads, resident", 256}}},
    {"ended_contexts", "100", {{" contexts, mallinfo2", 64}, {" contexts, resident", 512}}},
    {"many_pools",
     "100",
     {{" pools, trimmed, mallinfo2", 64 * KIB},
      {" pools, trimmed, address space", 1},
      {" pools, holding, mallinfo2", 64 * KIB},
      {" pools, holding, address space", 8 * MIB}}},
    {"fixed_sizes", "10", {{" sizes, address space", 4 * MIB}}},
    {"ended_streams",
     "40",
     {{" streams, pool, mallinfo2", 4},
      {" streams, pool, resident", 32},
      {" streams, driver, mallinfo2", 4},
      {" streams, driver, resident", 32}}},
    {"user_events", "40", {{" events, mallinfo2", 1280}, {" events, resident", 1536}}},
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

static bool whole;

// ------------------------------------------------------------------------------------- the figures

static const char *text_of(const cJSON *result, const char *key) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(result, key));
    if (!text)
        fail_msg("a result has no %s", key);
    return text;
}

static double number_of(const cJSON *result, const char *key) {
    const cJSON *number = cJSON_GetObjectItem(result, key);
    if (!cJSON_IsNumber(number))
        fail_msg("%s has no %s", text_of(result, "setting"), key);
    return cJSON_GetNumberValue(number);
}

static double bytes_of(const cJSON *result) {
    const char *unit = text_of(result, "unit");
    double factor = strcmp(unit, "MiB") == 0   ? MIB
                    : strcmp(unit, "GiB") == 0 ? (double)KIB * MIB
                                               : 0;
    if (factor <= 0)
        fail_msg("%s is not a figure of memory", text_of(result, "setting"));
    return number_of(result, "median") * factor;
}

// Whether a setting is an amount and this figure.
static bool is_of(const cJSON *result, const char *figure) {
    const char *setting = text_of(result, "setting");
    return strcmp(setting + strspn(setting, "0123456789"), figure) == 0;
}

static double growth(const cJSON *results, const char *figure) {
    const cJSON *result, *first = NULL, *last = NULL;
    cJSON_ArrayForEach(result, results) {
        if (!is_of(result, figure))
            continue;
        first = first ? first : result;
        last = result;
    }
    if (first == last)
        fail_msg("there are no two points of '%s'", figure);
    return (bytes_of(last) - bytes_of(first)) / (number_of(last, "at") - number_of(first, "at"));
}

// ---------------------------------------------------------------------------------------- the rows

static cJSON *measure(const struct row *row) {
    struct outcome outcome;
    char divide[32];
    snprintf(divide, sizeof divide, "--divide=%s", whole ? "1" : row->divisor);
    // No host has the memory; a GPU has it, and nothing is written.
    program_run(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=memory=256G"),
                ARGUMENTS("--device=sim", "--rounds=1", divide, "--json=-", row->name));
    assert_string_equal(outcome.errors, "");
    assert_int_equal(outcome.status, 0);
    cJSON *results = cJSON_Parse(outcome.output);
    assert_non_null(results);
    program_forget(&outcome);
    return results;
}

static void it_is_bounded(void **state) {
    const struct row *row = *state;
    cJSON *results = measure(row);
    bool good = true;
    for (const struct limit *limit = row->limits; limit->figure; limit++) {
        double bytes = growth(results, limit->figure);
        good = good && bytes <= limit->bytes;
        printf("%s,%s: %.1f bytes for each more, at most %.0f\n", row->name, limit->figure, bytes,
               limit->bytes);
    }
    cJSON_Delete(results);
    if (!good)
        fail_msg("%s grows", row->name);
}

int main(int argc, char **argv) {
    struct CMUnitTest tests[ROW_COUNT];
    for (size_t i = 0; i < ROW_COUNT; i++)
        tests[i] = (struct CMUnitTest){
            .name = rows[i].name, .test_func = it_is_bounded, .initial_state = (void *)&rows[i]};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--whole") == 0)
            whole = true;
        else
            cmocka_set_test_filter(argv[i]);
    }
    return cmocka_run_group_tests_name("bounded", tests, files_begin, files_end);
}
