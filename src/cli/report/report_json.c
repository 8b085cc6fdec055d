#include "cli/report/growths_report.h"
#include "cli/report/report.h"

static bool add_times(cJSON *parent, const char *key, const struct sp_times *times) {
    cJSON *object = cJSON_AddObjectToObject(parent, key);
    return object && sp_json_add_number(object, "mean", times->mean) &&
           sp_json_add_count(object, "p50", times->p50) &&
           sp_json_add_count(object, "p99", times->p99) &&
           sp_json_add_count(object, "max", times->max);
}

static bool add_parts(cJSON *object, const struct sp_result *result) {
    return result->base != SP_TIME_OF_MODEL_AND_HOST ||
           (sp_json_add_count(object, "driver_calls_modelled_ns", result->modelled_ns) &&
            sp_json_add_count(object, "library_measured_ns", sp_result_measured_ns(result)));
}

static bool add_work(cJSON *object, const struct sp_result *result) {
    return result->work_ns == 0 ||
           (sp_json_add_count(object, "work_ns", result->work_ns) &&
            sp_json_add_count(object, "end_to_end_ns", result->end_to_end_ns));
}

static bool add_statistics(cJSON *object, const struct sp_statistics *statistics) {
    if (!statistics->known)
        return true;
    cJSON *list = cJSON_AddObjectToObject(object, "statistics");
    bool good = list != NULL;
    for (size_t i = 0; i < SP_STATISTIC_COUNT && good; i++)
        good = sp_json_add_count(list, sp_statistics_name(i), statistics->values[i]);
    return good;
}

static bool add_origin(cJSON *object, const struct sp_origin *origin) {
    return sp_json_add_text(object, "driver_version", origin->driver_version) &&
           sp_json_add_text(object, "cuda_version", origin->cuda_version) &&
           sp_json_add_text(object, "streampool", origin->streampool) &&
           sp_json_add_text(object, "date", origin->date);
}

static bool add_turn(cJSON *object, const struct sp_result *result) {
    return result->turn == 0 || sp_json_add_count(object, "turn", result->turn);
}

static bool add_turn_peaks(cJSON *object, const struct sp_result *result) {
    return result->turn == 0 ||
           (sp_json_add_count(object, "turn_live_peak_bytes", result->turn_live_peak_bytes) &&
            sp_json_add_count(object, "turn_reserved_peak_bytes",
                              result->turn_reserved_peak_bytes));
}

// Adds the keys whose values are the same for all starts of a replay.
static bool add_replay(cJSON *object, const struct sp_result *result) {
    return sp_json_add_text(object, "trace", result->trace) &&
           sp_json_add_text(object, "allocator", result->allocator) &&
           sp_json_add_text(object, "device", result->device) &&
           add_origin(object, result->origin) && sp_json_add_count(object, "pass", result->pass) &&
           add_turn(object, result) &&
           sp_json_add_count(object, "operations", result->operations) &&
           sp_json_add_count(object, "streams", result->streams);
}

static bool add_figures(cJSON *object, const struct sp_result *result) {
    return sp_json_add_count(object, "errors", result->errors) &&
           sp_json_add_count(object, "live_peak_bytes", result->live_peak_bytes) &&
           sp_json_add_count(object, "reserved_peak_bytes", result->reserved_peak_bytes) &&
           add_turn_peaks(object, result) && add_times(object, "malloc_ns", &result->malloc_ns) &&
           add_times(object, "free_ns", &result->free_ns) &&
           sp_json_add_count(object, "total_ns", result->total_ns) && add_parts(object, result) &&
           add_work(object, result) && add_statistics(object, &result->statistics) &&
           sp_growths_report_add(object, result);
}

static bool fill_result(cJSON *object, const void *items, size_t index) {
    const struct sp_result *result = (const struct sp_result *)items + index;
    return add_replay(object, result) && add_figures(object, result);
}

struct sp_json_list sp_report_list(const struct sp_result *results, size_t count) {
    return (struct sp_json_list){.count = count, .fill = fill_result, .items = results};
}

// ---------------------------------------------------------------------------------- several starts

static bool add_spread(cJSON *parent, const char *key, const struct sp_spread *spread) {
    cJSON *object = cJSON_AddObjectToObject(parent, key);
    return object && sp_json_add_number(object, "median", spread->median) &&
           sp_json_add_number(object, "least", spread->least) &&
           sp_json_add_number(object, "most", spread->most) &&
           sp_json_add_number(object, "mean", spread->mean);
}

static bool add_spreads_of_parts(cJSON *object, const struct sp_summary *summary) {
    return sp_summary_first(summary)->base != SP_TIME_OF_MODEL_AND_HOST ||
           (add_spread(object, "driver_calls_modelled_ns", &summary->modelled_ns) &&
            add_spread(object, "library_measured_ns", &summary->measured_ns));
}

static bool add_start(cJSON *array, const struct sp_result *result) {
    cJSON *object = cJSON_CreateObject();
    if (!object || !cJSON_AddItemToArray(array, object)) {
        cJSON_Delete(object);
        return false;
    }
    return sp_json_add_count(object, "perturbation_bytes", result->held_bytes) &&
           add_figures(object, result);
}

static bool add_starts(cJSON *parent, const struct sp_summary *summary) {
    cJSON *array = cJSON_AddArrayToObject(parent, "starts");
    bool good = array != NULL;
    for (size_t i = 0; i < summary->start_count && good; i++)
        good = add_start(array, summary->starts[i]);
    return good;
}

static bool fill_summary(cJSON *object, const void *items, size_t index) {
    const struct sp_summary *summary = (const struct sp_summary *)items + index;
    const struct sp_result *first = sp_summary_first(summary);
    return add_replay(object, first) && sp_json_add_count(object, "errors", summary->errors) &&
           add_spread(object, "ratio", &summary->ratio) &&
           add_spread(object, "total_ns", &summary->total_ns) &&
           add_spreads_of_parts(object, summary) &&
           add_spread(object, "malloc_max_ns", &summary->malloc_max_ns) &&
           (first->work_ns == 0 || add_spread(object, "end_to_end_ns", &summary->end_to_end_ns)) &&
           add_starts(object, summary);
}

struct sp_json_list sp_report_list_of_starts(const struct sp_summaries *summaries) {
    return (struct sp_json_list){
        .count = summaries->count, .fill = fill_summary, .items = summaries->list};
}
