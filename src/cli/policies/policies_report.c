// The policies of a combination are columns, and keys, behind the first rows.
#include "cli/policies/policies.h"

#include "cli/report/rows.h"

#include <inttypes.h>
#include <string.h>

#define FIELD           SP_ROW_FIELD
#define STATISTIC(name) FIELD(statistics.values[SP_STATISTIC_##name])

//   X(key in JSON, first line of the title, second line, unit, where it comes from, left out unless
//     above, where it is shown)
// clang-format off
#define ROWS(X) \
    X("trace", "", "trace", COUNT, FIELD(trace), -1, SP_IN_TABLE) \
    X("device", "", "", COUNT, FIELD(device), -1, 0) \
    X("operations", "", "", COUNT, FIELD(operations), -1, 0) \
    X("streams", "", "", COUNT, FIELD(streams), -1, 0) \
    X("errors", "", "errors", COUNT, FIELD(errors), 0, SP_IN_WIDE) \
    X("live_peak_bytes", "peak", "live", BYTES, FIELD(live_peak_bytes), -1, SP_IN_WIDE) \
    X("reserved_peak_bytes", "peak", "reserved", BYTES, FIELD(reserved_peak_bytes), -1, \
      SP_IN_TABLE) \
    X(NULL, "reserved", "/ live", RATIO, SP_ROW_FUNCTION(sp_row_tell_ratio), -1, SP_IN_TABLE) \
    X("growths", "", "growths", COUNT, STATISTIC(Growths), -1, SP_IN_WIDE) \
    X("growths_after_trim", "growths", "by trim", COUNT, STATISTIC(GrowthsAfterTrim), 0, \
      SP_IN_WIDE) \
    X("reuse_same_stream", "taken: same", "stream", COUNT, STATISTIC(ReuseSameStream), -1, \
      SP_IN_WIDE) \
    X("reuse_complete", "known", "complete", COUNT, STATISTIC(ReuseComplete), -1, SP_IN_WIDE) \
    X("reuse_ordered", "", "ordered", COUNT, STATISTIC(ReuseOrdered), -1, SP_IN_WIDE) \
    X("reuse_found_complete", "found", "complete", COUNT, STATISTIC(ReuseFoundComplete), -1, \
      SP_IN_WIDE) \
    X("reuse_made_ordered", "made", "ordered", COUNT, STATISTIC(ReuseMadeOrdered), -1, SP_IN_WIDE) \
    X("remaps", "", "remaps", COUNT, STATISTIC(Remaps), 0, SP_IN_WIDE) \
    X("other_region", "other", "region", COUNT, STATISTIC(OtherRegion), 0, SP_IN_WIDE) \
    X("waits_inserted", "waits", "inserted", COUNT, STATISTIC(WaitsInserted), -1, SP_IN_WIDE) \
    X("context_fences", "context", "fences", COUNT, STATISTIC(ContextFences), 0, SP_IN_WIDE) \
    X("events_recorded", "events", "recorded", COUNT, STATISTIC(EventsRecorded), -1, SP_IN_WIDE) \
    X("host_ns", "calls", "total", NANOSECONDS, FIELD(total_ns), -1, SP_IN_TABLE) \
    X("work_ns", "", "", NANOSECONDS, FIELD(work_ns), -1, 0) \
    X("end_to_end_ns", "end to", "end", NANOSECONDS, FIELD(end_to_end_ns), -1, SP_IN_TABLE) \
    X(NULL, "device", "busy", RATIO, SP_ROW_FUNCTION(sp_row_tell_busy), -1, SP_IN_WIDE)
// clang-format on

static const struct sp_row rows[] = {
#define ROW(name, first, second, quantity, from, least, shown)                                     \
    {.key = (name),                                                                                \
     .title = {first, second},                                                                     \
     .unit = SP_UNIT_##quantity,                                                                   \
     from,                                                                                         \
     .above = (least),                                                                             \
     .where = (shown)},
    ROWS(ROW)
#undef ROW
};

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
