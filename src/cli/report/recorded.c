#include "cli/report/recorded.h"

#include "cli/program/complain.h"
#include "cli/program/json.h"
#include "cli/report/rows.h"

#include <ctype.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --------------------------------------------------------------------------------- keys and values

// A reader takes the values of one result. The first that is missing or wrong is complained about.
struct reader {
    const struct sp_recorded *recorded;
    const cJSON *object;
    struct sp_origin origin;
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

static bool has(const struct reader *reader, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(reader->object, key) != NULL;
}

// Both take what a row reads.
static bool take_text(struct reader *reader, const struct sp_row *row, struct sp_result *result) {
    const char *text =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(reader->object, row->key));
    if (!text || !is_plain(text))
        return complain(reader, "no plain text under", row->key);
    if (row->store != SP_ROW_ORIGIN)
        *(const char **)((char *)result + row->offset) = text;
    else if (strlen(text) < SP_ORIGIN_TEXT)
        strcpy((char *)&reader->origin + row->offset, text);
    else
        return complain(reader, "too long a text under", row->key);
    return true;
}

static bool take_number(const struct reader *reader, const struct sp_row *row, const cJSON *parent,
                        struct sp_result *result) {
    void *field = (char *)result + row->offset;
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(parent, row->key);
    double number = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (number < 0 || number > 0x1p63)
        return complain(reader, "no number from 0 on under", row->key);
    uint64_t whole = (uint64_t)number;
    if (row->store == SP_ROW_NUMBER)
        *(double *)field = number;
    else if ((double)whole != number)
        return complain(reader, "no whole number under", row->key);
    else if (row->store == SP_ROW_COUNT)
        *(uint64_t *)field = whole;
    else if (whole > 0 && whole <= UINT_MAX)
        *(unsigned *)field = (unsigned)whole;
    else
        return complain(reader, "no pass under", row->key); // they count from 1
    return true;
}

// ---------------------------------------------------------------------------------------- a result

// A figure that not all results have is taken where it is there, or where others say that it should
// be.
static bool take_row(struct reader *reader, const struct sp_row *row, struct sp_result *result) {
    if (!row->key || row->store == SP_ROW_TOLD ||
        (row->need != SP_OF_ALL && !sp_row_is_of(row, result) && !has(reader, row->key)))
        return true;
    const cJSON *parent = reader->object;
    if (row->within)
        parent = cJSON_GetObjectItemCaseSensitive(reader->object, row->within);
    if (!cJSON_IsObject(parent))
        return complain(reader, "no times under", row->within);
    return sp_row_is_text(row) ? take_text(reader, row, result)
                               : take_number(reader, row, parent, result);
}

static bool take_result(struct reader *reader, struct sp_result *result) {
    static const char part[] = "driver_calls_modelled_ns";
    if (!cJSON_IsObject(reader->object))
        return complain(reader, "is no object with", "trace");
    if (has(reader, "starts"))
        return complain(reader, "was written with --perturb: there are", "starts");
    if (has(reader, "turn"))
        return complain(reader, "was written with --one-pool: there is a", "turn");
    result->start = 1;
    for (size_t i = 0; i < sp_rows_of_replay.count; i++)
        if (!take_row(reader, &sp_rows_of_replay.list[i], result))
            return false;
    if (has(reader, part))
        result->base = SP_TIME_OF_MODEL_AND_HOST;
    return result->modelled_ns <= result->total_ns ||
           complain(reader, "more than the total under", part);
}

// ------------------------------------------------------------------------------------- all results

static bool take_all(struct sp_recorded *recorded) {
    const cJSON *object;
    cJSON_ArrayForEach(object, recorded->root) {
        struct reader reader = {.recorded = recorded, .object = object};
        struct sp_result *result = &recorded->results[recorded->count++];
        if (!take_result(&reader, result))
            return false;
        if (recorded->count == 1)
            recorded->origin = reader.origin;
        if (memcmp(&reader.origin, &recorded->origin, sizeof reader.origin) != 0 ||
            strcmp(result->device, recorded->results->device) != 0)
            return complain(&reader, "is of another device, driver, version or day than the first:",
                            reader.origin.date);
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
