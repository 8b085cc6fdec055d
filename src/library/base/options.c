#include "base/options.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
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
    static const struct {
        const char *text;
        bool value;
    } spellings[] = {
        {"1", true},  {"true", true},   {"yes", true}, {"on", true},
        {"0", false}, {"false", false}, {"no", false}, {"off", false},
    };
    for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
        if (strcasecmp(text, spellings[i].text) == 0) {
            *value = spellings[i].value;
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

// Reads one option. Its text is copied for the life of the process, as the environment may change
// under its readers.
static void read_option(size_t index) {
    const struct sp_option_entry *entry = &sp_option_entries[index];
    const char *text = secure_getenv(entry->environment);
    if (!text || text[0] == '\0')
        return;
    char *copy = strdup(text);
    if (!copy)
        return;
    if (!sp_options_parse(entry->kind, copy, (char *)&options + entry->offset)) {
        ignored_texts[index] = copy;
    } else if (entry->kind != SP_OPTION_string) {
        free(copy);
    }
}

static void read_environment(void) {
    for (size_t i = 0; i < sp_option_count; i++)
        read_option(i);
}

const struct sp_options *sp_options(void) {
    pthread_once(&read_once, read_environment);
    return &options;
}

bool sp_options_observe(void) {
    const struct sp_options *asked = sp_options();
    return asked->stats || asked->leaks || asked->trace;
}

const char *sp_options_ignored(size_t index) {
    pthread_once(&read_once, read_environment);
    return ignored_texts[index];
}
