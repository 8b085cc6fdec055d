#include "cli/policies/policies.h"

#include "cli/program/table.h"

#include <inttypes.h>

// ----------------------------------------------------------------------------------------- columns

//   X(first line of the title, second line, what fills the cell of the result r)
#define REPLAY_COLUMNS(X)                                                                          \
    X("peak", "reserved", sp_cell_bytes(cell, r->reserved_peak_bytes))                             \
    X("reserved", "/ live", sp_cell_ratio(cell, r->reserved_peak_bytes, r->live_peak_bytes))

#define TIME_COLUMNS(X)                                                                            \
    X("", "errors", sp_cell_count(cell, r->errors))                                                \
    X("host", "time", sp_cell_time(cell, (double)r->total_ns))                                     \
    X("end to", "end", sp_cell_time(cell, (double)r->end_to_end_ns))                               \
    X("device", "busy", sp_cell_ratio(cell, r->work_ns, r->end_to_end_ns))

#define COUNT_COLUMN(...) +1
enum {
    TRACE_COLUMN,
    POLICY_COLUMN,
    FIRST_NUMBER = POLICY_COLUMN + SP_POLICY_COUNT,
    FIRST_STATISTIC = FIRST_NUMBER REPLAY_COLUMNS(COUNT_COLUMN),
    ERRORS_COLUMN = FIRST_STATISTIC + SP_POLICY_STATISTIC_COUNT,
    COLUMN_COUNT = FIRST_NUMBER + SP_POLICY_STATISTIC_COUNT REPLAY_COLUMNS(COUNT_COLUMN)
                                      TIME_COLUMNS(COUNT_COLUMN),
    TITLE_ROWS = 2
};
#undef COUNT_COLUMN

static void fill_titles(const struct sp_table *table) {
    static const char *const titles[COLUMN_COUNT][TITLE_ROWS] = {
        {"", "trace"},
#define TITLE(first, second, fill)         {first, second},
#define KEY_TITLE(key, first, second, ...) {first, second},
        SP_POLICIES(KEY_TITLE) REPLAY_COLUMNS(TITLE) SP_POLICY_STATISTICS(KEY_TITLE)
            TIME_COLUMNS(TITLE)
#undef TITLE
#undef KEY_TITLE
    };
    for (size_t row = 0; row < TITLE_ROWS; row++)
        for (size_t column = 0; column < COLUMN_COUNT; column++)
            sp_cell_text(sp_table_cell(table, row, column), titles[column][row]);
}

static void fill_row(const struct sp_table *table, size_t row,
                     const struct sp_policy_result *result) {
    const struct sp_result *r = &result->replay;
    size_t column = 0;
    char *cell = sp_table_cell(table, row, column++);
    sp_cell_text(cell, r->trace);
    for (unsigned i = 0; i < SP_POLICY_COUNT; i++)
        sp_cell_text(sp_table_cell(table, row, column++),
                     result->combination & 1u << i ? "on" : "-");
#define FILL(first, second, fill)                                                                  \
    cell = sp_table_cell(table, row, column++);                                                    \
    fill;
    REPLAY_COLUMNS(FILL)
    for (size_t i = 0; i < SP_POLICY_STATISTIC_COUNT; i++)
        sp_cell_count(sp_table_cell(table, row, column++), result->statistics[i]);
    TIME_COLUMNS(FILL)
#undef FILL
}

// ---------------------------------------------------------------------------------------- printing

// Prints the policies that are on, by their keys in JSON.
static void print_policies(FILE *out, unsigned combination) {
    static const char *const names[] = {
#define NAME(key, first, second, attribute) #key,
        SP_POLICIES(NAME)
#undef NAME
    };
    const char *gap = "";
    for (unsigned i = 0; i < SP_POLICY_COUNT; i++) {
        if (!(combination & 1u << i))
            continue;
        fprintf(out, "%s%s", gap, names[i]);
        gap = ", ";
    }
    if (combination == 0)
        fputs("no policy", out);
}

static void print_errors(FILE *out, const struct sp_policy_result *results, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct sp_result *r = &results[i].replay;
        if (r->errors == 0)
            continue;
        fprintf(out, "%s, ", r->trace);
        print_policies(out, results[i].combination);
        fprintf(out, ": %s (errors in all: %" PRIu64 ")\n", r->first_error, r->errors);
    }
}

static bool is_zero_everywhere(const struct sp_policy_result *results, size_t count,
                               size_t statistic) {
    size_t i = 0;
    while (i < count && results[i].statistics[statistic] == 0)
        i++;
    return i == count;
}

static bool without_errors(const struct sp_policy_result *results, size_t count) {
    size_t i = 0;
    while (i < count && results[i].replay.errors == 0)
        i++;
    return i == count;
}

static void hide_columns(struct sp_table *table, const struct sp_policy_result *results,
                         size_t count) {
    static const enum sp_column_need needs[] = {
#define NEED(key, first, second, attribute, need) need,
        SP_POLICY_STATISTICS(NEED)
#undef NEED
    };
    for (size_t i = 0; i < SP_POLICY_STATISTIC_COUNT; i++)
        if (needs[i] == SP_COLUMN_WHERE_ANY && is_zero_everywhere(results, count, i))
            sp_table_hide(table, FIRST_STATISTIC + i);
    if (without_errors(results, count))
        sp_table_hide(table, ERRORS_COLUMN);
}

bool sp_policies_print(FILE *out, const struct sp_policy_result *results, size_t count) {
    struct sp_table table;
    if (!sp_table_open(&table, COLUMN_COUNT, FIRST_NUMBER, TITLE_ROWS + count))
        return false;
    fill_titles(&table);
    for (size_t i = 0; i < count; i++)
        fill_row(&table, TITLE_ROWS + i, &results[i]);
    hide_columns(&table, results, count);
    sp_table_print(&table, out);
    print_errors(out, results, count);
    sp_table_release(&table);
    return true;
}

// -------------------------------------------------------------------------------------------- JSON

static bool add_policies(cJSON *object, unsigned combination) {
    static const char *const keys[] = {
#define KEY(key, first, second, attribute) #key,
        SP_POLICIES(KEY)
#undef KEY
    };
    size_t i = 0;
    while (i < SP_POLICY_COUNT && sp_json_add_flag(object, keys[i], combination & 1u << i))
        i++;
    return i == SP_POLICY_COUNT;
}

static bool add_statistics(cJSON *object, const struct sp_policy_result *result) {
    static const char *const keys[] = {
#define KEY(key, first, second, attribute, need) #key,
        SP_POLICY_STATISTICS(KEY)
#undef KEY
    };
    size_t i = 0;
    while (i < SP_POLICY_STATISTIC_COUNT &&
           sp_json_add_count(object, keys[i], result->statistics[i]))
        i++;
    return i == SP_POLICY_STATISTIC_COUNT;
}

static bool fill_object(cJSON *object, const void *items, size_t index) {
    const struct sp_policy_result *result = (const struct sp_policy_result *)items + index;
    const struct sp_result *replay = &result->replay;
    return sp_json_add_text(object, "trace", replay->trace) &&
           sp_json_add_text(object, "device", replay->device) &&
           add_policies(object, result->combination) &&
           sp_json_add_count(object, "operations", replay->operations) &&
           sp_json_add_count(object, "streams", replay->streams) &&
           sp_json_add_count(object, "errors", replay->errors) &&
           sp_json_add_count(object, "live_peak_bytes", replay->live_peak_bytes) &&
           sp_json_add_count(object, "reserved_peak_bytes", replay->reserved_peak_bytes) &&
           add_statistics(object, result) &&
           sp_json_add_count(object, "host_ns", replay->total_ns) &&
           sp_json_add_count(object, "work_ns", replay->work_ns) &&
           sp_json_add_count(object, "end_to_end_ns", replay->end_to_end_ns);
}

struct sp_json_list sp_policies_list(const struct sp_policy_result *results, size_t count) {
    return (struct sp_json_list){.count = count, .fill = fill_object, .items = results};
}
