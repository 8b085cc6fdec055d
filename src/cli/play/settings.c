#include "cli/play/settings.h"

#include "base/options.h"
#include "cli/program/complain.h"

#include <inttypes.h>
#include <limits.h>
#include <streampool/lists.h>
#include <string.h>

enum { OPTION_LIMIT = 256, OPTION_SET };

// Attributes from here on are the library's own.
#define OWN_ATTRIBUTES 1000

#define PREFIX_LENGTH (sizeof "poolMemPoolAttr" - 1)

// ----------------------------------------------------------------------------------- the arguments

// streampool.h says so of maxSize.
#define LIMIT_UNIT (UINT64_C(32) << 20)

static uint64_t parse_limit(const char *text, struct argp_state *state) {
    uint64_t bytes = 0;
    if (!sp_options_parse_size(text, &bytes) || bytes == 0)
        argp_error(state,
                   "--limit is a number of bytes above 0, with K, M, G or T behind it, not '%s'",
                   text);
    uint64_t units = bytes / LIMIT_UNIT + (bytes % LIMIT_UNIT != 0);
    if (bytes % LIMIT_UNIT != 0 && units <= UINT64_MAX / LIMIT_UNIT)
        sp_complain("--limit %s is rounded up to %" PRIu64 "M: limits are multiples of 32M", text,
                    units * LIMIT_UNIT >> 20);
    return bytes;
}

static const struct sp_setting *find_attribute(const char *name, size_t length) {
    static const struct sp_setting attributes[] = {
#define ATTRIBUTE(name, number, type) {&#name[PREFIX_LENGTH], name, sizeof(type), 0},
        STREAMPOOL_POOL_ATTRIBUTES(ATTRIBUTE)
#undef ATTRIBUTE
    };
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++)
        if (attributes[i].attribute >= OWN_ATTRIBUTES && strlen(attributes[i].name) == length &&
            memcmp(attributes[i].name, name, length) == 0)
            return &attributes[i];
    return NULL;
}

static void parse_setting(struct sp_settings *settings, const char *text,
                          struct argp_state *state) {
    size_t length = strcspn(text, "=");
    const struct sp_setting *attribute = find_attribute(text, length);
    uint64_t value = 0;
    if (!attribute)
        argp_error(state, "'%.*s' is no attribute of a pool's own", (int)length, text);
    if (text[length] == '\0' || !sp_options_parse_size(text + length + 1, &value))
        argp_error(state, "--set is NAME=NUMBER, with K, M, G or T behind it, not '%s'", text);
    if (attribute->size == sizeof(int) && value > INT_MAX)
        argp_error(state, "%s is a number up to %d, not '%s'", attribute->name, INT_MAX,
                   text + length + 1);
    if (settings->count == SP_SETTINGS_MAX)
        argp_error(state, "--set is there more than %d times", SP_SETTINGS_MAX);
    settings->list[settings->count] = *attribute;
    settings->list[settings->count++].value = value;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct sp_settings *settings = state->input;
    switch (key) {
    case OPTION_LIMIT:
        settings->limit = parse_limit(argument, state);
        return 0;
    case OPTION_SET:
        parse_setting(settings, argument, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"limit", OPTION_LIMIT, "BYTES", 0,
     "The most that the pool may reserve, rounded up to 32 MiB (default: what the device has)", 0},
    {"set", OPTION_SET, "NAME=NUMBER", 0,
     "Set one of the pool's own attributes, such as UnfencedBytesMax or ContextFence", 0},
    {0},
};

const struct argp sp_settings_argp = {.options = options, .parser = parse};

// ---------------------------------------------------------------------------------------- the pool

// Passes the numbers on as they are: only the library knows which are values of an attribute.
bool sp_settings_apply(const struct sp_settings *settings, struct sp_stage *stage) {
    for (size_t i = 0; i < settings->count && stage->pool; i++) {
        const struct sp_setting *setting = &settings->list[i];
        uint64_t number = setting->value;
        int small = (int)number;
        void *value = setting->size == sizeof small ? (void *)&small : (void *)&number;
        poolError_t error = poolMemPoolSetAttribute(stage->pool, setting->attribute, value);
        if (error != poolSuccess)
            return sp_stage_fail(stage, "%s=%" PRIu64 " is refused: %s: %s", setting->name, number,
                                 poolGetErrorName(error), poolGetLastErrorDetail());
    }
    return true;
}
