// Lists of results for programs: JSON, written whole or not at all.
#ifndef STREAMPOOL_CLI_JSON_H
#define STREAMPOOL_CLI_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What is written: `count` objects. `fill` writes the keys of one; false without host memory.
struct sp_json_list {
    size_t count;
    bool (*fill)(cJSON *object, const void *items, size_t index);
    const void *items;
};

// Writes the list to a file, or to standard output for the path "-". A file is written beside its
// place and then renamed, so there is never half of one; what is no regular file (a pipe, a device)
// is written to directly. Says on standard error why it could not.
bool sp_json_write(const char *path, const struct sp_json_list *list);

// For the functions that fill. False without host memory. What is not UTF-8 in a text becomes
// U+FFFD.
bool sp_json_add_text(cJSON *object, const char *key, const char *text);
bool sp_json_add_number(cJSON *object, const char *key, double value);
bool sp_json_add_count(cJSON *object, const char *key, uint64_t value);
bool sp_json_add_flag(cJSON *object, const char *key, bool value);

#endif
