#include "observe/json.h"

#include <inttypes.h>

static void quote(struct sp_json *json, const char *text) {
    fputc('"', json->out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', json->out);
        if ((unsigned char)*text < ' ')
            fprintf(json->out, "\\u%04x", (unsigned)*text);
        else
            fputc(*text, json->out);
    }
    fputc('"', json->out);
}

static void begin(struct sp_json *json, const char *key) {
    if (json->has_one)
        fputc(',', json->out);
    json->has_one = true;
    if (!key)
        return;
    quote(json, key);
    fputc(':', json->out);
}

void sp_json_open(struct sp_json *json, const char *key, char bracket) {
    begin(json, key);
    fputc(bracket, json->out);
    json->has_one = false;
}

void sp_json_close(struct sp_json *json, char bracket) {
    fputc(bracket, json->out);
    json->has_one = true;
}

void sp_json_number(struct sp_json *json, const char *key, uint64_t number) {
    begin(json, key);
    fprintf(json->out, "%" PRIu64, number);
}

void sp_json_text(struct sp_json *json, const char *key, const char *text) {
    begin(json, key);
    quote(json, text);
}

void sp_json_null(struct sp_json *json, const char *key) {
    begin(json, key);
    fputs("null", json->out);
}
