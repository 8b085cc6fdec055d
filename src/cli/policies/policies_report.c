// The policies of a combination are columns, and keys, behind the first rows.
#include "cli/policies/policies.h"

#include "cli/report/rows.h"

#include <inttypes.h>
#include <string.h>

#define FIELD           SP_ROW_FIELD
#define STATISTIC(name) FIELD(statistics.values[SP_STATISTIC_##name])

// clang-format off
static const struct sp_row rows[] = {
    {.key = "trace", SP_ROW_TITLE("", "trace"), FIELD(trace), .where = SP_IN_TABLE},
    {.key = "device", FIELD(device)},
    {.key = "operations", FIELD(operations)},
    {.key = "streams", FIELD(streams)},
    {.key = "errors", SP_ROW_TITLE("", "errors"), FIELD(errors), .least = 1, .where = SP_IN_WIDE},
    {.key = "live_peak_bytes", SP_ROW_TITLE("peak", "live"), SP_ROW_BYTES(live_peak_bytes),
     .where = SP_IN_WIDE},
    {.key = "reserved_peak_bytes", SP_ROW_TITLE("peak", "reserved"),
     SP_ROW_BYTES(reserved_peak_bytes), .where = SP_IN_TABLE},
    {SP_ROW_TITLE("reserved", "/ live"), SP_ROW_RATIO(sp_row_tell_ratio), .where = SP_IN_TABLE},
    {.key = "growths", SP_ROW_TITLE("", "growths"), STATISTIC(Growths), .where = SP_IN_WIDE},
    {.key = "growths_after_trim", SP_ROW_TITLE("growths", "by trim"), STATISTIC(GrowthsAfterTrim),
     .least = 1, .where = SP_IN_WIDE},
    {.key = "reuse_same_stream", SP_ROW_TITLE("taken: same", "stream"), STATISTIC(ReuseSameStream),
     .where = SP_IN_WIDE},
    {.key = "reuse_complete", SP_ROW_TITLE("known", "complete"), STATISTIC(ReuseComplete),
     .where = SP_IN_WIDE},
    {.key = "reuse_ordered", SP_ROW_TITLE("", "ordered"), STATISTIC(ReuseOrdered),
     .where = SP_IN_WIDE},
    {.key = "reuse_found_complete", SP_ROW_TITLE("found", "complete"),
     STATISTIC(ReuseFoundComplete), .where = SP_IN_WIDE},
    {.key = "reuse_made_ordered", SP_ROW_TITLE("made", "ordered"), STATISTIC(ReuseMadeOrdered),
     .where = SP_IN_WIDE},
    {.key = "remaps", SP_ROW_TITLE("", "remaps"), STATISTIC(Remaps), .least = 1,
     .where = SP_IN_WIDE},
    {.key = "other_region", SP_ROW_TITLE("other", "region"), STATISTIC(OtherRegion), .least = 1,
     .where = SP_IN_WIDE},
    {.key = "waits_inserted", SP_ROW_TITLE("waits", "inserted"), STATISTIC(WaitsInserted),
     .where = SP_IN_WIDE},
    {.key = "context_fences", SP_ROW_TITLE("context", "fences"), STATISTIC(ContextFences),
     .least = 1, .where = SP_IN_WIDE},
    {.key = "events_recorded", SP_ROW_TITLE("events", "recorded"), STATISTIC(EventsRecorded),
     .where = SP_IN_WIDE},
    {.key = "host_ns", SP_ROW_TITLE("calls", "total"), SP_ROW_TIME(total_ns), .where = SP_IN_TABLE},
    {.key = "work_ns", SP_ROW_TIME(work_ns)},
    {.key = "end_to_end_ns", SP_ROW_TITLE("end to", "end"), SP_ROW_TIME(end_to_end_ns),
     .where = SP_IN_TABLE},
    {SP_ROW_TITLE("device", "busy"), SP_ROW_RATIO(sp_row_tell_busy), .where = SP_IN_WIDE},
};
// clang-format on

enum { ROW_COUNT = sizeof rows / sizeof rows[0], ROWS_BEFORE = 2 };

static const struct {
    const char *key;
    const char *title[2];
} policies[] = {
#define POLICY(key, first, second, attribute) {#key, {first, second}},
    SP_POLICIES(POLICY)
#undef POLICY
};

static bool is_on(const struct sp_policy_result *result, size_t policy) {
    return result->combination & 1u << policy;
}

// ---------------------------------------------------------------------------------------- printing

// Fills the columns of the policies, which are behind that of the trace.
static void fill_policies(const struct sp_table *table, const struct sp_policy_result *results,
                          size_t count) {
    for (size_t policy = 0; policy < SP_POLICY_COUNT; policy++) {
        sp_table_title(table, 1 + policy, policies[policy].title);
        for (size_t i = 0; i < count; i++)
            sp_cell_text(sp_table_cell(table, i, 1 + policy),
                         is_on(&results[i], policy) ? "on" : "-");
    }
}

static bool is_shown(const struct sp_row *row, const struct sp_page *page,
                     const struct sp_policy_result *results, size_t count) {
    bool worth = false;
    for (size_t i = 0; i < count; i++)
        worth = worth || sp_row_is_worth_a_column(row, &results[i].replay);
    return worth && row->where & (SP_IN_TABLE | (page->wide ? SP_IN_WIDE : 0));
}

static void fill(const struct sp_table *table, const struct sp_page *page,
                 const struct sp_policy_result *results, size_t count) {
    for (size_t row = 0; row < ROW_COUNT; row++) {
        size_t column = row < ROWS_BEFORE ? row : row - ROWS_BEFORE + 1 + SP_POLICY_COUNT;
        if (!is_shown(&rows[row], page, results, count))
            continue;
        sp_table_title(table, column, rows[row].title);
        for (size_t i = 0; i < count; i++)
            sp_row_fill(sp_table_cell(table, i, column), &rows[row], &results[i].replay);
    }
    fill_policies(table, results, count);
}

static void print_error(const struct sp_page *page, const struct sp_policy_result *result) {
    char names[128] = "";
    for (size_t policy = 0; policy < SP_POLICY_COUNT; policy++) {
        size_t length = strlen(names);
        if (is_on(result, policy))
            snprintf(names + length, sizeof names - length, ", %s", policies[policy].key);
    }
    sp_page_say(page, "%s%s: %s (errors in all: %" PRIu64 ")\n", result->replay.trace,
                names[0] ? names : ", no policy", result->replay.first_error,
                result->replay.errors);
}

bool sp_policies_print(const struct sp_page *page, const struct sp_policy_result *results,
                       size_t count) {
    struct sp_table table;
    if (!sp_table_open(&table, ROW_COUNT + SP_POLICY_COUNT, 1 + SP_POLICY_COUNT, count))
        return false;
    fill(&table, page, results, count);
    sp_table_print(&table, page);
    sp_table_release(&table);
    for (size_t i = 0; i < count; i++)
        if (results[i].replay.errors > 0)
            print_error(page, &results[i]);
    return true;
}

// -------------------------------------------------------------------------------------------- JSON

static bool fill_object(cJSON *object, const void *items, size_t index) {
    const struct sp_policy_result *result = (const struct sp_policy_result *)items + index;
    bool good = true;
    for (size_t row = 0; row < ROW_COUNT; row++) {
        for (size_t policy = 0; row == ROWS_BEFORE && policy < SP_POLICY_COUNT; policy++)
            good = good && sp_json_add_flag(object, policies[policy].key, is_on(result, policy));
        good = good && sp_row_add(object, &rows[row], &result->replay);
    }
    return good;
}

struct sp_json_list sp_policies_list(const struct sp_policy_result *results, size_t count) {
    return (struct sp_json_list){.count = count, .fill = fill_object, .items = results};
}
