#include "cli/report/recorded.h"

#include "cli/program/complain.h"
#include "cli/report/rows.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------------------------------- the file

// Returns the file up to its end or a null byte, which no JSON has; null when it can't be read.
static char *read_file(const char *path) {
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "r");
    ssize_t length = file ? getdelim(&text, &size, '\0', file) : -1;
    bool is_empty = length < 0 && file && feof(file);
    if (length < 0 && !is_empty)
        sp_complain("%s: %s", path, strerror(errno));
    if (file)
        fclose(file);
    if (length >= 0)
        return text;
    free(text);
    return is_empty ? strdup("") : NULL;
}

static bool parse(struct sp_recorded *recorded, const char *text) {
    const char *end = text;
    recorded->root = cJSON_ParseWithOpts(text, &end, true);
    if (!recorded->root)
        return sp_complain("%s: is no JSON: byte %td", recorded->path, end - text + 1);
    return cJSON_IsArray(recorded->root) ||
           sp_complain("%s: is no list of results, which `streampool replay --json` writes",
                       recorded->path);
}

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

static bool take_count(const struct reader *reader, const cJSON *parent, const char *key,
                       uint64_t *count) {
    double number;
    if (!take_number(reader, parent, key, &number))
        return false;
    *count = (uint64_t)number;
    return (double)*count == number || complain(reader, "no whole number under", key);
}

// Passes count from 1.
static bool take_pass(const struct reader *reader, const cJSON *parent, const char *key,
                      unsigned *pass) {
    uint64_t number;
    if (!take_count(reader, parent, key, &number))
        return false;
    *pass = (unsigned)number;
    return (number > 0 && number == *pass) || complain(reader, "no pass under", key);
}

static bool has(const struct reader *reader, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(reader->object, key) != NULL;
}

// ---------------------------------------------------------------------------------------- a result

// Takes what stands under the key into the field that the row reads.
static bool take_field(struct reader *reader, const struct sp_row *row, const cJSON *parent,
                       const char *key, struct sp_result *result) {
    void *field = (char *)result + row->offset;
    switch (row->store) {
    case SP_ROW_TEXT:
        return take_text(reader, key, field);
    case SP_ROW_ORIGIN:
        return copy_text(reader, key, (char *)&reader->origin + row->offset);
    case SP_ROW_UNSIGNED:
        return take_pass(reader, parent, key, field);
    case SP_ROW_COUNT:
        return take_count(reader, parent, key, field);
    default:
        return take_number(reader, parent, key, field);
    }
}

static bool take_part(struct reader *reader, const struct sp_row *row, const char *dot,
                      struct sp_result *result) {
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)(dot - row->key), row->key);
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(reader->object, name);
    if (!cJSON_IsObject(object))
        return complain(reader, "no times under", name);
    return take_field(reader, row, object, dot + 1, result);
}

// A figure that not all results have is taken where it is there, or where others say that it should
// be.
static bool take_row(struct reader *reader, const struct sp_row *row, struct sp_result *result) {
    if (!row->key || row->store == SP_ROW_TOLD ||
        (row->need != SP_OF_ALL && !sp_row_is_of(row, result) && !has(reader, row->key)))
        return true;
    const char *dot = strchr(row->key, '.');
    return dot ? take_part(reader, row, dot, result)
               : take_field(reader, row, reader->object, row->key, result);
}

static bool take_parts(const struct reader *reader, struct sp_result *result) {
    if (!has(reader, sp_row_modelled->key))
        return true;
    result->base = SP_TIME_OF_MODEL_AND_HOST;
    return result->modelled_ns <= result->total_ns ||
           complain(reader, "more than the total under", sp_row_modelled->key);
}

static bool take_result(struct reader *reader, struct sp_result *result) {
    if (!cJSON_IsObject(reader->object))
        return complain(reader, "is no object with", "trace");
    if (has(reader, "starts"))
        return complain(reader, "was written with --perturb: there are", "starts");
    if (has(reader, "turn"))
        return complain(reader, "was written with --one-pool: there is a", "turn");
    result->start = 1;
    for (size_t i = 0; i < sp_row_count; i++)
        if (!take_row(reader, &sp_rows[i], result))
            return false;
    return take_parts(reader, result);
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
        if (!take_result(&reader, result))
            return false;
        if (recorded->count == 1)
            recorded->origin = reader.origin;
        if (!is_same_origin(recorded, result, &reader.origin))
            return complain(&reader, "is of another device, driver, version or day than the first:",
                            reader.origin.date);
        result->origin = &recorded->origin;
    }
    return true;
}

bool sp_recorded_read(struct sp_recorded *recorded, const char *path) {
    *recorded = (struct sp_recorded){.path = path};
    char *text = read_file(path);
    bool good = text && parse(recorded, text);
    free(text);
    if (!good)
        return false;
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
