#include "base/options.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <streampool/lists.h>
#include <string.h>
#include <strings.h>

const struct sp_option_entry sp_option_entries[] = {
#define SP_OPTION_ENTRY(name, environment, kind, initial, help)                                    \
    {#name, environment, SP_OPTION_##kind, #initial, help, offsetof(struct sp_options, name)},
    SP_OPTIONS(SP_OPTION_ENTRY)
#undef SP_OPTION_ENTRY
};

const size_t sp_option_count = sizeof(sp_option_entries) / sizeof(sp_option_entries[0]);

static struct sp_options options = {
#define SP_OPTION_DEFAULT(name, environment, kind, initial, help) .name = (initial),
    SP_OPTIONS(SP_OPTION_DEFAULT)
#undef SP_OPTION_DEFAULT
};

// The values that were ignored, by option.
static const char *ignored_texts[sizeof(sp_option_entries) / sizeof(sp_option_entries[0])];

static pthread_once_t read_once = PTHREAD_ONCE_INIT;

static bool parse_number(const char **text, uint64_t *number) {
    const char *at = *text;
    uint64_t value = 0;
    if (*at < '0' || *at > '9')
        return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return false;
    }
    *text = at;
    *number = value;
    return true;
}

bool sp_options_parse_size(const char *text, uint64_t *bytes) {
    static const char suffixes[] = "kKmMgGtT";
    uint64_t number;
    if (!parse_number(&text, &number))
        return false;
    unsigned shift = 0;
    if (*text != '\0') {
        const char *suffix = strchr(suffixes, *text);
        if (!suffix || text[1] != '\0')
            return false;
        shift = 10 * (unsigned)((suffix - suffixes) / 2 + 1);
    }
    if (number > UINT64_MAX >> shift)
        return false;
    *bytes = number << shift;
    return true;
}

static bool parse_int(const char *text, int *value) {
    bool negative = *text == '-';
    uint64_t magnitude;
    if (negative)
        text++;
    if (!parse_number(&text, &magnitude) || *text != '\0')
        return false;
    if (magnitude > (negative ? (uint64_t)INT_MAX + 1 : (uint64_t)INT_MAX))
        return false;
    *value = negative ? (int)-(int64_t)magnitude : (int)magnitude;
    return true;
}

static bool parse_bool(const char *text, bool *value) {
    static const char *const spellings[] = {"0", "1", "false", "true", "no", "yes", "off", "on"};
    for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
        if (strcasecmp(text, spellings[i]) == 0) {
            *value = i % 2 == 1;
            return true;
        }
    }
    return false;
}

bool sp_options_parse(enum sp_option_kind kind, const char *text, void *value) {
    switch (kind) {
    case SP_OPTION_string:
        *(const char **)value = text;
        return true;
    case SP_OPTION_size:
        return sp_options_parse_size(text, value);
    case SP_OPTION_int:
        return parse_int(text, value);
    case SP_OPTION_bool:
        return parse_bool(text, value);
    }
    return false;
}

// An option's text is copied for the life of the process, as the environment may change under its
// readers.
static void read_environment(void) {
    for (size_t i = 0; i < sp_option_count; i++) {
        const struct sp_option_entry *entry = &sp_option_entries[i];
        const char *text = secure_getenv(entry->environment);
        char *copy = text && text[0] != '\0' ? strdup(text) : NULL;
        if (!copy)
            continue;
        if (!sp_options_parse(entry->kind, copy, (char *)&options + entry->offset))
            ignored_texts[i] = copy;
        else if (entry->kind != SP_OPTION_string)
            free(copy);
    }
}

const struct sp_options *sp_options(void) {
    pthread_once(&read_once, read_environment);
    return &options;
}

const char *sp_options_ignored(size_t index) {
    pthread_once(&read_once, read_environment);
    return ignored_texts[index];
}

// ------------------------------------------------------------------------------ settings of a pool

// A name may stand without what all names of attributes begin with.
static bool find_attribute(const char *name, struct sp_option_setting *setting) {
    static const struct {
        const char *name;
        enum poolMemPoolAttr attribute;
        bool is_int;
    } entries[] = {
#define ENTRY(name, number, type) {#name, name, sizeof(type) == sizeof(int)},
        STREAMPOOL_POOL_ATTRIBUTES(ENTRY)
#undef ENTRY
    };
    static const char attribute[] = "poolMemPoolAttr", policy[] = "poolMemPool";
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        bool longer = strncmp(entries[i].name, attribute, sizeof attribute - 1) == 0;
        const char *rest = entries[i].name + (longer ? sizeof attribute : sizeof policy) - 1;
        if (strcasecmp(rest, name) == 0 || strcasecmp(entries[i].name, name) == 0) {
            *setting = (struct sp_option_setting){entries[i].attribute, entries[i].is_int, 0};
            return true;
        }
    }
    return false;
}

const char *sp_options_read_setting(const char *text, struct sp_option_setting *setting) {
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
    if (!find_attribute(name, setting))
        return "no attribute has this name";
    uint64_t most = setting->is_int ? INT_MAX : UINT64_MAX;
    if (strcasecmp(value, "max") == 0)
        setting->value = most;
    else if (!sp_options_parse_size(value, &setting->value) || setting->value > most)
        return "the value is a number, with K, M, G or T behind it, or max";
    return NULL;
}

bool sp_options_next_setting(const char **list, char text[SP_SETTING_TEXT]) {
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
