#include "results.h"

#include "cli/complain.h"
#include "cli/json.h"

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

void results_add(struct results *results, const struct result *result, struct samples *samples,
                 struct samples *divisor) {
    struct result *kept = extend(results);
    if (!kept) {
        results->lost = true;
        return;
    }
    *kept = *result;
    kept->samples = samples->count;
    for (int i = 0; i < 5; i++)
        kept->quartiles[i] = samples_at(samples, i / 4.0);
    kept->has_ratio = divisor && samples_ratio(samples, divisor, &kept->ratio);
}

static bool fill_quartiles(cJSON *object, const struct result *result) {
    static const char *const keys[] = {"least", "first_quartile", "median", "third_quartile", "most"};
    for (int i = 0; i < 5; i++)
        if (!sp_json_add_number(object, keys[i], result->quartiles[i]))
            return false;
    return true;
}

static bool fill_ratio(cJSON *object, const struct result *result) {
    return sp_json_add_number(object, "ratio_low", result->ratio.low) &&
           sp_json_add_number(object, "ratio", result->ratio.median) &&
           sp_json_add_number(object, "ratio_high", result->ratio.high);
}

static bool fill(cJSON *object, const void *items, size_t index) {
    const struct results *results = items;
    const struct result *result = &results->list[index];
    return sp_json_add_text(object, "device", results->device) &&
           sp_json_add_flag(object, "simulated", results->simulated) &&
           sp_json_add_text(object, "case", result->case_name) &&
           sp_json_add_text(object, "setting", result->label) &&
           sp_json_add_text(object, "subject", result->subject) &&
           sp_json_add_text(object, "unit", result->unit) &&
           sp_json_add_count(object, "samples", result->samples) && fill_quartiles(object, result) &&
           (!result->has_ratio || fill_ratio(object, result));
}

bool results_write(const struct results *results, const char *path) {
    struct sp_json_list list = {results->count, fill, results};
    if (results->lost)
        return sp_complain("out of host memory for %s", path);
    return sp_json_write(path, &list);
}

void results_release(struct results *results) {
    free(results->list);
}
