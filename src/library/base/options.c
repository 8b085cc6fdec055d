#include "base/options.h"

#include "base/number.h"

#include <ctype.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <streampool/lists.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <unistd.h>

#define PREFIX "STREAMPOOL_"

const struct sp_option_entry sp_option_entries[] = {
#define SP_OPTION_ENTRY(name, environment, kind, initial, help)                                    \
    {#name, environment, SP_OPTION_##kind, #initial, help, offsetof(struct sp_options, name)},
    SP_OPTIONS(SP_OPTION_ENTRY)
#undef SP_OPTION_ENTRY
};

const char *const sp_option_values[] = {
    [SP_OPTION_string] = "text",
    [SP_OPTION_size] = "bytes",
    [SP_OPTION_int] = "number",
    [SP_OPTION_bool] = "0 or 1",
    [SP_OPTION_report] = "0, 1 or json:FILE",
};

const size_t sp_option_count = sizeof(sp_option_entries) / sizeof(sp_option_entries[0]);

static struct sp_options options = {
#define SP_OPTION_DEFAULT(name, environment, kind, initial, help) .name = (initial),
    SP_OPTIONS(SP_OPTION_DEFAULT)
#undef SP_OPTION_DEFAULT
};

// The values that were ignored, by option; and names that nobody knows.
static const char *ignored_texts[sizeof(sp_option_entries) / sizeof(sp_option_entries[0])];
static const char *unknown_names[8];

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

// The value is the text itself.
static bool parse_report(const char *text, const char **report) {
    bool on = strncmp(text, "json:", 5) == 0 && text[5] != '\0';
    bool good = on || parse_bool(text, &on);
    if (good)
        *report = on ? text : NULL;
    return good;
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
    case SP_OPTION_report:
        return parse_report(text, value);
    }
    return false;
}

// ------------------------------------------------------------------------------------ near names

// Counts the letters to be put in, left out or changed, to make one text the other. Names are
// short.
static size_t distance(const char *text, const char *name) {
    size_t costs[64], length = strlen(name);
    if (length >= sizeof costs / sizeof costs[0])
        return SIZE_MAX;
    for (size_t i = 0; i <= length; i++)
        costs[i] = i;
    for (; *text; text++) {
        size_t before = costs[0]++;
        for (size_t i = 1; i <= length; i++) {
            bool differs = tolower((unsigned char)*text) != tolower((unsigned char)name[i - 1]);
            size_t changed = before + differs, moved = 1 + sp_min(costs[i], costs[i - 1]);
            before = costs[i];
            costs[i] = sp_min(changed, moved);
        }
    }
    return costs[length];
}

const char *sp_options_nearest(const char *text, const char *(*name_at)(size_t index)) {
    const char *nearest = NULL, *name;
    size_t least = strlen(text) / 3 + 1; // less than a third of the letters is wrong
    for (size_t i = 0; (name = name_at(i)); i++) {
        bool is_beginning = strncasecmp(text, name, strlen(text)) == 0 && strlen(text) >= 4;
        size_t one = is_beginning ? 1 : distance(text, name);
        if (one < least) {
            least = one;
            nearest = name;
        }
    }
    return nearest;
}

// Those that somebody reads, without the beginning that all have.
static const char *variable_at(size_t index) {
    static const char *const foreign[] = {
#define NAME(name) name,
        SP_FOREIGN_VARIABLES(NAME)
#undef NAME
            NULL};
    const char *name = index < sp_option_count ? sp_option_entries[index].environment
                                               : foreign[index - sp_option_count];
    return name ? name + sizeof PREFIX - 1 : NULL;
}

static bool is_known(const char *name, size_t length) {
    const char *known;
    for (size_t i = 0; (known = variable_at(i)); i++)
        if (strlen(known) == length && memcmp(known, name, length) == 0)
            return true;
    return false;
}

static void note_unknown_names(void) {
    size_t most = sizeof unknown_names / sizeof unknown_names[0], count = 0;
    for (char **at = environ; at && *at && count < most; at++) {
        size_t length = strcspn(*at, "="), begin = sizeof PREFIX - 1;
        if (strncmp(*at, PREFIX, begin) != 0 || is_known(*at + begin, length - begin))
            continue;
        unknown_names[count] = strndup(*at, length);
        count += unknown_names[count] != NULL;
    }
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
        void *value = (char *)&options + entry->offset;
        bool is_text = entry->kind == SP_OPTION_string || entry->kind == SP_OPTION_report;
        if (!sp_options_parse(entry->kind, copy, value))
            ignored_texts[i] = copy;
        else if (!is_text || !*(const char **)value)
            free(copy);
    }
    if (getauxval(AT_SECURE) == 0)
        note_unknown_names();
}

const struct sp_options *sp_options(void) {
    pthread_once(&read_once, read_environment);
    return &options;
}

const char *sp_options_ignored(size_t index) {
    pthread_once(&read_once, read_environment);
    return ignored_texts[index];
}

const char *sp_options_unknown(size_t index, const char **meant) {
    pthread_once(&read_once, read_environment);
    size_t most = sizeof unknown_names / sizeof unknown_names[0];
    const char *name = index < most ? unknown_names[index] : NULL;
    *meant = name ? sp_options_nearest(name + sizeof PREFIX - 1, variable_at) : NULL;
    if (*meant)
        *meant -= sizeof PREFIX - 1;
    return name;
}

// ------------------------------------------------------------------------------ settings of a pool

const struct sp_option_attribute sp_option_attributes[] = {
#define ATTRIBUTE(name, number, type) {#name, name, sizeof(type) == sizeof(int)},
    STREAMPOOL_POOL_ATTRIBUTES(ATTRIBUTE)
#undef ATTRIBUTE
        {0},
};

// A name may stand without what all names of attributes begin with.
static const char *without_beginning(const char *name) {
    static const char attribute[] = "poolMemPoolAttr", policy[] = "poolMemPool";
    if (strncasecmp(name, attribute, sizeof attribute - 1) == 0)
        return name + sizeof attribute - 1;
    return strncasecmp(name, policy, sizeof policy - 1) == 0 ? name + sizeof policy - 1 : name;
}

static const char *attribute_at(size_t index) {
    const char *name = sp_option_attributes[index].name;
    return name ? without_beginning(name) : NULL;
}

static const char *refuse_name(struct sp_option_setting *setting, const char *name) {
    const char *nearest = sp_options_nearest(name, attribute_at);
    snprintf(setting->reason, sizeof setting->reason, "no attribute has this name%s%s%s",
             nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    return setting->reason;
}

const char *sp_options_read_setting(const char *text, struct sp_option_setting *setting) {
    char name[SP_SETTING_TEXT];
    const char *value = strchr(text, '=');
    if (!value)
        return "it is not NAME=NUMBER";
    const char *colon = memrchr(text, ':', (size_t)(value - text));
    const char *first = colon ? colon + 1 : text;
    size_t length = strcspn(first, " =");
    if (length >= sizeof name || (size_t)(first - text) >= sizeof setting->pool)
        return "it is too long";
    snprintf(name, sizeof name, "%.*s", (int)length, first);
    snprintf(setting->pool, sizeof setting->pool, "%.*s", colon ? (int)(colon - text) : 0, text);
    const struct sp_option_attribute *entry = sp_option_attributes;
    while (entry->name && strcasecmp(without_beginning(entry->name), without_beginning(name)) != 0)
        entry++;
    if (!entry->name)
        return refuse_name(setting, without_beginning(name));
    setting->attribute = entry->attribute;
    setting->is_int = entry->is_int;
    value += 1 + strspn(value + 1, " ");
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
