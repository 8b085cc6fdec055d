#include "base/setting.h"

#include "base/options.h"

#include <limits.h>
#include <streampool/lists.h>
#include <string.h>
#include <strings.h>

// Returns a name without what all names of attributes begin with.
static const char *short_name(const char *name) {
    static const char attribute[] = "poolMemPoolAttr", policy[] = "poolMemPool";
    bool longer = strncmp(name, attribute, sizeof attribute - 1) == 0;
    return name + (longer ? sizeof attribute : sizeof policy) - 1;
}

static bool find(const char *name, struct sp_setting *setting) {
    static const struct {
        const char *name;
        enum poolMemPoolAttr attribute;
        bool is_int;
    } entries[] = {
#define ENTRY(name, number, type) {#name, name, sizeof(type) == sizeof(int)},
        STREAMPOOL_POOL_ATTRIBUTES(ENTRY)
#undef ENTRY
    };
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        if (strcasecmp(short_name(entries[i].name), name) == 0 ||
            strcasecmp(entries[i].name, name) == 0) {
            *setting = (struct sp_setting){entries[i].attribute, entries[i].is_int, 0};
            return true;
        }
    }
    return false;
}

static bool read_value(const char *text, struct sp_setting *setting) {
    uint64_t most = setting->is_int ? INT_MAX : UINT64_MAX;
    if (strcasecmp(text, "max") == 0) {
        setting->value = most;
        return true;
    }
    return sp_options_parse_size(text, &setting->value) && setting->value <= most;
}

const char *sp_setting_read(const char *text, struct sp_setting *setting) {
    char name[SP_SETTING_TEXT];
    const char *value = strchr(text, '=');
    size_t length = strcspn(text, " =");
    if (!value)
        return "it is not NAME=NUMBER";
    if (length >= sizeof name)
        return "no attribute has this name";
    memcpy(name, text, length);
    name[length] = '\0';
    value += 1 + strspn(value + 1, " ");
    if (!find(name, setting))
        return "no attribute has this name";
    if (!read_value(value, setting))
        return "the value is a number, with K, M, G or T behind it, or max";
    return NULL;
}

bool sp_setting_next(const char **list, char text[SP_SETTING_TEXT]) {
    const char *first = *list + strspn(*list, " ,");
    size_t length = strcspn(first, ",");
    *list = first + length;
    while (length > 0 && first[length - 1] == ' ')
        length--;
    bool fits = length < SP_SETTING_TEXT;
    if (!fits)
        length = SP_SETTING_TEXT - 1;
    memcpy(text, first, length);
    text[length] = '\0';
    return fits;
}
