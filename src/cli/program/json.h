// Results are written for programs in JSON, and read again.
#ifndef STREAMPOOL_CLI_JSON_H
#define STREAMPOOL_CLI_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Write a list of so many objects, or one object, to a file as sp_output_write() does. `fill` adds
// the keys of an object, and returns false without host memory. False when something fails;
// standard error says why.
bool sp_json_write(const char *path, size_t count,
                   bool (*fill)(cJSON *object, const void *items, size_t index), const void *items);
bool sp_json_write_object(const char *path, bool (*fill)(cJSON *object, const void *item),
                          const void *item);

// Reads a file of JSON, which the caller deletes. Null when that fails; standard error says why.
cJSON *sp_json_read(const char *path);

// Functions that fill an object add its keys by these. They return false without host memory. Bytes
// of a text that are not UTF-8 become U+FFFD.
bool sp_json_add_text(cJSON *object, const char *key, const char *text);
bool sp_json_add_number(cJSON *object, const char *key, double value);
bool sp_json_add_count(cJSON *object, const char *key, uint64_t value);
bool sp_json_add_flag(cJSON *object, const char *key, bool value);

// Returns a new object at the end of an array; null without host memory.
cJSON *sp_json_add_object(cJSON *array);

#endif
