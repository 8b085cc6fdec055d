// JSON is written value by value. Texts are UTF-8 already, as names of pools are.
#ifndef STREAMPOOL_OBSERVE_JSON_H
#define STREAMPOOL_OBSERVE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sp_json {
    FILE *out;
    bool has_one; // value before, in the object or list that is open
};

// Begins and ends an object or a list, by its bracket. The key is null in a list.
void sp_json_open(struct sp_json *json, const char *key, char bracket);
void sp_json_close(struct sp_json *json, char bracket);

void sp_json_number(struct sp_json *json, const char *key, uint64_t number);
void sp_json_text(struct sp_json *json, const char *key, const char *text);
void sp_json_null(struct sp_json *json, const char *key);

#endif
