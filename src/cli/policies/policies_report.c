#include "cli/policies/policies.h"

#include "cli/report/report.h"

#include <inttypes.h>
#include <string.h>

#define FIELD           SP_ROW_FIELD
#define STATISTIC(name) FIELD(statistics.values[SP_STATISTIC_##name])

enum {
#define INDEX(key, first, second, attribute) POLICY_##key,
    SP_POLICIES(INDEX)
#undef INDEX
};

#define TELL(key, first, second, attribute)                                                        \
    static double tell_##key(const struct sp_result *result) {                                     \
        return result->variant >> POLICY_##key & 1;                                                \
    }
SP_POLICIES(TELL)
#undef TELL

#define POLICY(name, first, second, attribute)                                                     \
    {.key = #name,                                                                                 \
     SP_ROW_TITLE(first, second),                                                                  \
     .unit = SP_UNIT_FLAG,                                                                         \
     SP_ROW_FUNCTION(tell_##name),                                                                 \
     .where = SP_IN_TABLE | SP_NAMED},

// clang-format off
static const struct sp_row rows[] = {
    {.key = "trace", SP_ROW_TITLE("", "trace"), FIELD(trace),
     .where = SP_IN_TABLE | SP_NAMED},
    {.key = "device", FIELD(device)},
    SP_POLICIES(POLICY)
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

static const struct sp_rows all = SP_ROWS_OF(rows);

static void print_error(const struct sp_page *page, const struct sp_result *result) {
    char names[128] = "";
    for (const struct sp_row *row = rows; row < rows + all.count; row++) {
        size_t length = strlen(names);
        if (row->unit == SP_UNIT_FLAG && sp_row_number(row, result) > 0)
            snprintf(names + length, sizeof names - length, ", %s", row->key);
    }
    sp_page_say(page, "%s%s: %s (errors in all: %" PRIu64 ")\n", result->trace,
                names[0] ? names : ", no policy", result->first_error, result->errors);
}

bool sp_policies_print(const struct sp_page *page, const struct sp_result *results, size_t count) {
    struct sp_summaries summaries;
    if (!sp_summaries_open(&summaries, results, count, NULL))
        return false;
    bool good = sp_report_print(page, &all, &summaries);
    sp_summaries_release(&summaries);
    for (size_t i = 0; i < count && good; i++)
        if (results[i].errors > 0)
            print_error(page, &results[i]);
    return good;
}

static bool fill_object(cJSON *object, const void *items, size_t index) {
    const struct sp_result *result = (const struct sp_result *)items + index;
    size_t row = 0;
    while (row < all.count && sp_row_add(object, &rows[row], result))
        row++;
    return row == all.count;
}

struct sp_json_list sp_policies_list(const struct sp_result *results, size_t count) {
    return (struct sp_json_list){.count = count, .fill = fill_object, .items = results};
}
