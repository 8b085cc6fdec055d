#include "cli/json.h"

#include "cli/complain.h"
#include "cli/output.h"
#include "cli/utf8.h"

#include <stdlib.h>

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

static bool add_object(cJSON *array, const struct sp_json_list *list, size_t index) {
    cJSON *object = cJSON_CreateObject();
    if (!object)
        return false;
    if (list->fill(object, list->items, index) && cJSON_AddItemToArray(array, object))
        return true;
    cJSON_Delete(object);
    return false;
}

// Returns the list as JSON text, which the caller frees; null without host memory.
static char *text_of(const struct sp_json_list *list) {
    cJSON *array = cJSON_CreateArray();
    char *text = NULL;
    size_t i = 0;
    while (array && i < list->count && add_object(array, list, i))
        i++;
    if (array && i == list->count)
        text = cJSON_Print(array);
    cJSON_Delete(array);
    return text;
}

// ---------------------------------------------------------------------------------------- the file

bool sp_json_write(const char *path, const struct sp_json_list *list) {
    char *text = text_of(list);
    if (!text)
        return sp_complain("out of host memory for %s", path);
    bool good = sp_output_write(path, text);
    cJSON_free(text);
    return good;
}
