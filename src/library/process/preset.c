#include "process/preset.h"

#include "base/log.h"
#include "base/options.h"
#include "process/attributes.h"
#include "region/fail.h"

#include <limits.h>
#include <streampool/lists.h>
#include <string.h>
#include <strings.h>

enum { SETTING_LENGTH = 128 };

struct preset {
    enum poolMemPoolAttr attribute;
    bool is_int;
    uint64_t value;
};

static _Atomic bool told; // what is wrong with the option

static void ignore(const char *setting, const char *why) {
    if (!sp_load_relaxed(&told))
        sp_log_write("STREAMPOOL_POOL: '%s' is ignored: %s", setting, why);
}

// Returns a name without what all names of attributes begin with.
static const char *short_name(const char *name) {
    static const char attribute[] = "poolMemPoolAttr", policy[] = "poolMemPool";
    bool longer = strncmp(name, attribute, sizeof attribute - 1) == 0;
    return name + (longer ? sizeof attribute : sizeof policy) - 1;
}

static bool find(const char *name, struct preset *preset) {
    static const struct {
        const char *name;
        enum poolMemPoolAttr attribute;
        bool is_int;
    } rows[] = {
#define ROW(name, number, type) {#name, name, sizeof(type) == sizeof(int)},
        STREAMPOOL_POOL_ATTRIBUTES(ROW)
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcasecmp(short_name(rows[i].name), name) == 0 ||
            strcasecmp(rows[i].name, name) == 0) {
            *preset = (struct preset){rows[i].attribute, rows[i].is_int, 0};
            return true;
        }
    }
    return false;
}

static bool parse_value(const char *text, struct preset *preset) {
    uint64_t most = preset->is_int ? INT_MAX : UINT64_MAX;
    if (strcasecmp(text, "max") == 0) {
        preset->value = most;
        return true;
    }
    return sp_options_parse_size(text, &preset->value) && preset->value <= most;
}

static void set(struct sp_pool *pool, const struct preset *preset, const char *setting) {
    int narrow = (int)preset->value;
    const void *value = preset->is_int ? (const void *)&narrow : (const void *)&preset->value;
    poolError_t unread = sp_fail_unread();
    if (sp_attributes_set(pool, preset->attribute, value) != poolSuccess)
        ignore(setting, sp_fail_detail());
    sp_fail_set_unread(unread); // the program's call doesn't fail
}

// `setting` is NAME=NUMBER.
static void apply(struct sp_pool *pool, const char *setting) {
    char name[SETTING_LENGTH];
    struct preset preset;
    const char *value = strchr(setting, '=');
    if (!value) {
        ignore(setting, "it is not NAME=NUMBER");
        return;
    }
    size_t length = strcspn(setting, " =");
    memcpy(name, setting, length);
    name[length] = '\0';
    value += 1 + strspn(value + 1, " ");
    if (!find(name, &preset))
        ignore(setting, "no attribute has this name");
    else if (!parse_value(value, &preset))
        ignore(setting, "the value is a number, with K, M, G or T behind it, or max");
    else
        set(pool, &preset, setting);
}

// Applies the first setting of a list, and returns the place behind it.
static const char *apply_first(struct sp_pool *pool, const char *list) {
    char setting[SETTING_LENGTH];
    list += strspn(list, " ,");
    size_t length = strcspn(list, ",");
    const char *next = list + length;
    while (length > 0 && list[length - 1] == ' ')
        length--;
    if (length >= SETTING_LENGTH)
        ignore(list, "it is too long");
    if (length == 0 || length >= SETTING_LENGTH)
        return next;
    memcpy(setting, list, length);
    setting[length] = '\0';
    apply(pool, setting);
    return next;
}

void sp_preset_apply(struct sp_pool *pool) {
    const char *list = sp_options()->pool;
    while (list && *list)
        list = apply_first(pool, list);
    sp_store_relaxed(&told, true);
}
