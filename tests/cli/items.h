// Reading the program's JSON: an item that must be there ends the test where it isn't.
#ifndef STREAMPOOL_TESTS_CLI_ITEMS_H
#define STREAMPOOL_TESTS_CLI_ITEMS_H

#include <cjson/cJSON.h>

static inline const cJSON *item(const cJSON *object, const char *key) {
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!found)
        fail_msg("there is no key '%s'", key);
    return found;
}

static inline double number(const cJSON *object, const char *key) {
    assert_true(cJSON_IsNumber(item(object, key)));
    return item(object, key)->valuedouble;
}

#endif
