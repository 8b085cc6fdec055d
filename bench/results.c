#include "results.h"

#include "cli/program/complain.h"
#include "cli/program/json.h"

#include <stdlib.h>

// Room for one more, of a list that grows by doubling.
static struct result *extend(struct results *results) {
    size_t count = results->count;
    if ((count & (count - 1)) == 0) {
        struct result *list = realloc(results->list, (count ? 2 * count : 1) * sizeof *list);
        if (!list)
            return NULL;
        results->list = list;
    }
    return &results->list[results->count++];
}

void results_add(struct results *results, const struct result *result, struct samples *samples) {
    struct result *kept = extend(results);
    if (!kept) {
        results->lost = true;
        return;
    }
    *kept = *result;
    kept->samples = samples->count;
    for (int i = 0; i < 5; i++)
        kept->quartiles[i] = samples_at(samples, i / 4.0);
    kept->p99 = samples_at(samples, 0.99);
}

static bool fill_quartiles(cJSON *object, const struct result *result) {
    static const char *const keys[] = {"least", "first_quartile", "median", "third_quartile",
                                       "most"};
    for (int i = 0; i < 5; i++)
        if (!sp_json_add_number(object, keys[i], result->quartiles[i]))
            return false;
    return true;
}

static bool fill_ratio(cJSON *object, const char *const keys[3], const struct ratio *ratio) {
    return !ratio->is_known || (sp_json_add_number(object, keys[0], ratio->low) &&
                                sp_json_add_number(object, keys[1], ratio->median) &&
                                sp_json_add_number(object, keys[2], ratio->high));
}

static bool fill_ratios(cJSON *object, const struct result *result) {
    static const char *const to_reference[] = {"ratio_low", "ratio", "ratio_high"};
    static const char *const to_floor[] = {"floor_ratio_low", "floor_ratio", "floor_ratio_high"};
    return fill_ratio(object, to_reference, &result->to_reference) &&
           fill_ratio(object, to_floor, &result->to_floor);
}

static bool fill(cJSON *object, const void *items, size_t index) {
    const struct results *results = items;
    const struct result *result = &results->list[index];
    return sp_json_add_text(object, "device", results->device) &&
           sp_json_add_flag(object, "simulated", results->simulated) &&
           sp_json_add_text(object, "library", results->library) &&
           sp_json_add_text(object, "build", results->build) &&
           sp_json_add_text(object, "defaults", results->defaults) &&
           sp_json_add_text(object, "case", result->case_name) &&
           sp_json_add_text(object, "setting", result->label) &&
           (result->at <= 0 || sp_json_add_number(object, "at", result->at)) &&
           sp_json_add_text(object, "subject", result->subject) &&
           sp_json_add_text(object, "unit", result->unit) &&
           sp_json_add_count(object, "samples", result->samples) &&
           fill_quartiles(object, result) && sp_json_add_number(object, "p99", result->p99) &&
           fill_ratios(object, result);
}

bool results_write(const struct results *results, const char *path) {
    if (results->lost)
        return sp_complain("out of host memory for %s", path);
    return sp_json_write(path, results->count, fill, results);
}

void results_release(struct results *results) {
    free(results->list);
}
