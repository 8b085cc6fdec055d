#include "cli/report/recorded.h"

#include "cli/program/complain.h"
#include "cli/program/json.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --------------------------------------------------------------------------------- keys and values

// A reader takes the values of one result. The first that is missing or wrong is complained about.
struct reader {
    const struct sp_recorded *recorded;
    const cJSON *object;
};

static bool complain(const struct reader *reader, const char *what, const char *key) {
    size_t index = 0;
    for (const cJSON *item = reader->recorded->root->child; item != reader->object;
         item = item->next)
        index++;
    return sp_complain("%s: result %zu: %s '%s'", reader->recorded->path, index + 1, what, key);
}

static bool is_plain(const char *text) {
    while (*text && !iscntrl((unsigned char)*text))
        text++;
    return *text == '\0';
}

static bool take_text(const struct reader *reader, const char *key, const char **text) {
    *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(reader->object, key));
    return (*text && is_plain(*text)) || complain(reader, "no plain text under", key);
}

static bool copy_text(const struct reader *reader, const char *key, char copy[SP_ORIGIN_TEXT]) {
    const char *text;
    if (!take_text(reader, key, &text))
        return false;
    if (strlen(text) >= SP_ORIGIN_TEXT)
        return complain(reader, "too long a text under", key);
    strcpy(copy, text);
    return true;
}

static bool take_number(const struct reader *reader, const cJSON *parent, const char *key,
                        double *number) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(parent, key);
    *number = cJSON_IsNumber(item) ? item->valuedouble : -1;
    return (*number >= 0 && *number <= 0x1p63) ||
           complain(reader, "no number from 0 on under", key);
}

static bool take_count_of(const struct reader *reader, const cJSON *parent, const char *key,
                          uint64_t *count) {
    double number;
    if (!take_number(reader, parent, key, &number))
        return false;
    *count = (uint64_t)number;
    return (double)*count == number || complain(reader, "no whole number under", key);
}

static bool take_count(const struct reader *reader, const char *key, uint64_t *count) {
    return take_count_of(reader, reader->object, key, count);
}

static bool take_times(const struct reader *reader, const char *key, struct sp_times *times) {
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(reader->object, key);
    if (!cJSON_IsObject(object))
        return complain(reader, "no times under", key);
    return take_number(reader, object, "mean", &times->mean) &&
           take_count_of(reader, object, "p50", &times->p50) &&
           take_count_of(reader, object, "p99", &times->p99) &&
           take_count_of(reader, object, "max", &times->max);
}

static bool has(const struct reader *reader, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(reader->object, key) != NULL;
}

// ---------------------------------------------------------------------------------------- a result

static bool take_pass(const struct reader *reader, unsigned *pass) {
    uint64_t number;
    if (!take_count(reader, "pass", &number))
        return false;
    *pass = (unsigned)number;
    return (number > 0 && number == *pass) || complain(reader, "no pass under", "pass");
}

static bool take_parts(const struct reader *reader, struct sp_result *result) {
    static const char key[] = "driver_calls_modelled_ns";
    if (!has(reader, key))
        return true;
    result->base = SP_TIME_OF_MODEL_AND_HOST;
    return take_count(reader, key, &result->modelled_ns) &&
           (result->modelled_ns <= result->total_ns ||
            complain(reader, "more than the total under", key));
}

static bool take_work(const struct reader *reader, struct sp_result *result) {
    return !has(reader, "work_ns") || (take_count(reader, "work_ns", &result->work_ns) &&
                                       take_count(reader, "end_to_end_ns", &result->end_to_end_ns));
}

static bool take_result(const struct reader *reader, struct sp_result *result) {
    if (!cJSON_IsObject(reader->object))
        return complain(reader, "is no object with", "trace");
    if (has(reader, "starts"))
        return complain(reader, "was written with --perturb: there are", "starts");
    if (has(reader, "turn"))
        return complain(reader, "was written with --one-pool: there is a", "turn");
    result->start = 1;
    return take_text(reader, "trace", &result->trace) &&
           take_text(reader, "allocator", &result->allocator) &&
           take_text(reader, "device", &result->device) && take_pass(reader, &result->pass) &&
           take_count(reader, "operations", &result->operations) &&
           take_count(reader, "streams", &result->streams) &&
           take_count(reader, "errors", &result->errors) &&
           take_count(reader, "live_peak_bytes", &result->live_peak_bytes) &&
           take_count(reader, "reserved_peak_bytes", &result->reserved_peak_bytes) &&
           take_times(reader, "malloc_ns", &result->malloc_ns) &&
           take_times(reader, "free_ns", &result->free_ns) &&
           take_count(reader, "total_ns", &result->total_ns) && take_parts(reader, result) &&
           take_work(reader, result);
}

static bool take_origin(const struct reader *reader, struct sp_origin *origin) {
    *origin = (struct sp_origin){.date = ""};
    return copy_text(reader, "driver_version", origin->driver_version) &&
           copy_text(reader, "cuda_version", origin->cuda_version) &&
           copy_text(reader, "streampool", origin->streampool) &&
           copy_text(reader, "date", origin->date);
}

// ------------------------------------------------------------------------------------- all results

static bool is_same_origin(const struct sp_recorded *recorded, const struct sp_result *result,
                           const struct sp_origin *origin) {
    return memcmp(origin, &recorded->origin, sizeof *origin) == 0 &&
           strcmp(result->device, recorded->results[0].device) == 0;
}

static bool take_all(struct sp_recorded *recorded) {
    const cJSON *object;
    cJSON_ArrayForEach(object, recorded->root) {
        struct reader reader = {.recorded = recorded, .object = object};
        struct sp_result *result = &recorded->results[recorded->count++];
        struct sp_origin origin;
        if (!take_result(&reader, result) || !take_origin(&reader, &origin))
            return false;
        if (recorded->count == 1)
            recorded->origin = origin;
        if (!is_same_origin(recorded, result, &origin))
            return complain(&reader, "is of another device, driver, version or day than the first:",
                            origin.date);
        result->origin = &recorded->origin;
    }
    return true;
}

bool sp_recorded_read(struct sp_recorded *recorded, const char *path) {
    *recorded = (struct sp_recorded){.path = path};
    recorded->root = sp_json_read(path);
    if (!recorded->root)
        return false;
    if (!cJSON_IsArray(recorded->root))
        return sp_complain("%s: is no list of results, which `streampool replay --json` writes",
                           path);
    size_t count = (size_t)cJSON_GetArraySize(recorded->root);
    recorded->results = calloc(count + 1, sizeof *recorded->results);
    if (!recorded->results)
        return sp_complain("out of host memory for %s", path);
    return take_all(recorded);
}

void sp_recorded_release(struct sp_recorded *recorded) {
    free(recorded->results);
    cJSON_Delete(recorded->root);
}
