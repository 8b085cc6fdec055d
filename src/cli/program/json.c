#include "cli/program/json.h"

#include "cli/program/complain.h"
#include "cli/program/output.h"
#include "cli/program/utf8.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------------------------------- the text

// cJSON writes a text's bytes as they are, so they are made UTF-8 before.
bool sp_json_add_text(cJSON *object, const char *key, const char *text) {
    char *valid = sp_utf8_of(text);
    bool good = valid && cJSON_AddStringToObject(object, key, valid);
    free(valid);
    return good;
}

bool sp_json_add_number(cJSON *object, const char *key, double value) {
    return cJSON_AddNumberToObject(object, key, value) != NULL;
}

bool sp_json_add_count(cJSON *object, const char *key, uint64_t value) {
    return sp_json_add_number(object, key, (double)value);
}

bool sp_json_add_flag(cJSON *object, const char *key, bool value) {
    return cJSON_AddBoolToObject(object, key, value) != NULL;
}

cJSON *sp_json_add_object(cJSON *array) {
    cJSON *object = cJSON_CreateObject();
    if (!object || cJSON_AddItemToArray(array, object))
        return object;
    cJSON_Delete(object);
    return NULL;
}

// ---------------------------------------------------------------------------------------- the file

// Writes a value as text, and deletes it; null where there was no memory for it.
static bool write_value(const char *path, cJSON *value) {
    char *text = value ? cJSON_Print(value) : NULL;
    cJSON_Delete(value);
    if (!text)
        return sp_complain("out of host memory for %s", path);
    bool good = sp_output_write(path, text);
    cJSON_free(text);
    return good;
}

bool sp_json_write(const char *path, size_t count,
                   bool (*fill)(cJSON *object, const void *items, size_t index),
                   const void *items) {
    cJSON *array = cJSON_CreateArray();
    bool good = array != NULL;
    for (size_t i = 0; i < count && good; i++) {
        cJSON *object = sp_json_add_object(array);
        good = object && fill(object, items, i);
    }
    if (!good) {
        cJSON_Delete(array);
        array = NULL;
    }
    return write_value(path, array);
}

bool sp_json_write_object(const char *path, bool (*fill)(cJSON *object, const void *item),
                          const void *item) {
    cJSON *object = cJSON_CreateObject();
    if (object && !fill(object, item)) {
        cJSON_Delete(object);
        object = NULL;
    }
    return write_value(path, object);
}

// ------------------------------------------------------------------------------------ what is read

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

cJSON *sp_json_read(const char *path) {
    char *text = read_file(path);
    const char *end = text;
    cJSON *value = text ? cJSON_ParseWithOpts(text, &end, true) : NULL;
    if (text && !value)
        sp_complain("%s: is no JSON: byte %td", path, end - text + 1);
    free(text);
    return value;
}
