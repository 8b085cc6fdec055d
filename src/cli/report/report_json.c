#include "cli/report/report.h"

// Adds the rows that are the same for all starts of a replay, or the others.
static bool add_rows(cJSON *object, const struct sp_result *result, unsigned which) {
    bool good = true;
    const struct sp_row *end = sp_rows_of_replay.list + sp_rows_of_replay.count;
    for (const struct sp_row *row = sp_rows_of_replay.list; row < end && good; row++)
        if ((row->where & SP_OF_REPLAY) == which)
            good = sp_row_add(object, row, result);
    return good;
}

// The object is made for the first place that has figures.
static bool add_places(cJSON *object, const struct sp_result *result) {
    cJSON *places = NULL;
    bool good = true;
    for (int place = SP_TRACE_AT_DEVICE + 1; place < SP_TRACE_PLACE_COUNT && good; place++) {
        struct sp_row live = sp_row_of_live_at((enum sp_trace_place)place);
        struct sp_row reserved = sp_row_of_reserved_at((enum sp_trace_place)place);
        if (sp_row_number(&live, result) <= 0)
            continue;
        places = places ? places : cJSON_AddObjectToObject(object, "places");
        good = places && sp_row_add(places, &live, result) && sp_row_add(places, &reserved, result);
    }
    return good;
}

static bool add_figures(cJSON *object, const struct sp_result *result) {
    bool good = add_rows(object, result, 0), is_known = result->statistics.known;
    cJSON *list = good && is_known ? cJSON_AddObjectToObject(object, "statistics") : NULL;
    for (size_t i = 0; i < SP_STATISTIC_COUNT && good && is_known; i++) {
        struct sp_row row = sp_row_of_statistic(i);
        good = list && sp_row_add(list, &row, result);
    }
    return good && add_places(object, result) && sp_growths_report_add(object, result);
}

static bool fill_result(cJSON *object, const void *items, size_t index) {
    const struct sp_summaries *summaries = items;
    const struct sp_result *result = sp_summary_first(&summaries->list[index]);
    return add_rows(object, result, SP_OF_REPLAY) && add_figures(object, result);
}

// ---------------------------------------------------------------------------------- several starts

static bool add_spreads(cJSON *parent, const struct sp_summaries *summaries,
                        const struct sp_summary *summary) {
    bool good = true;
    const struct sp_row *end = sp_rows_of_replay.list + sp_rows_of_replay.count;
    for (const struct sp_row *row = sp_rows_of_replay.list; row < end && good; row++) {
        if (!row->spread_key || !sp_row_is_of(row, sp_summary_first(summary)))
            continue;
        struct sp_spread spread = sp_summary_spread(summaries, summary, row);
        cJSON *object = cJSON_AddObjectToObject(parent, row->spread_key);
        good = object && sp_json_add_number(object, "median", spread.median) &&
               sp_json_add_number(object, "least", spread.least) &&
               sp_json_add_number(object, "most", spread.most) &&
               sp_json_add_number(object, "mean", spread.mean);
    }
    return good;
}

static bool fill_summary(cJSON *object, const void *items, size_t index) {
    const struct sp_summaries *summaries = items;
    const struct sp_summary *summary = &summaries->list[index];
    bool good = add_rows(object, sp_summary_first(summary), SP_OF_REPLAY) &&
                sp_json_add_count(object, "errors", summary->errors) &&
                add_spreads(object, summaries, summary);
    cJSON *starts = good ? cJSON_AddArrayToObject(object, "starts") : NULL;
    for (size_t i = 0; i < summary->start_count && good; i++) {
        const struct sp_result *result = summary->starts[i];
        cJSON *start = sp_json_add_object(starts);
        good = start && sp_json_add_count(start, "perturbation_bytes", result->held_bytes) &&
               add_figures(start, result);
    }
    return good;
}

bool sp_report_write(const char *path, const struct sp_summaries *summaries, bool several_starts) {
    return sp_json_write(path, summaries->count, several_starts ? fill_summary : fill_result,
                         summaries);
}
