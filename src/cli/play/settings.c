#include "cli/play/settings.h"

#include "base/options.h"
#include "cli/program/command.h"
#include "cli/program/complain.h"

#include <inttypes.h>

enum { OPTION_LIMIT = 256, OPTION_SET };

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

static void parse_settings(struct sp_settings *settings, const char *list,
                           const struct argp_state *state) {
    struct sp_option_setting setting;
    do {
        sp_take_setting(&list, &setting, state);
        if (*setting.pool)
            argp_error(state, "--set: a replay has one pool, so '%s:' can't name one",
                       setting.pool);
        if (settings->count == SP_SETTINGS_MAX)
            argp_error(state, "--set has more than %d attributes", SP_SETTINGS_MAX);
        settings->list[settings->count++] =
            (struct sp_setting){setting.attribute, setting.is_int, setting.value};
    } while (*list);
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct sp_settings *settings = state->input;
    switch (key) {
    case OPTION_LIMIT:
        settings->limit = parse_limit(argument, state);
        return 0;
    case OPTION_SET:
        parse_settings(settings, argument, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"limit", OPTION_LIMIT, "BYTES", 0,
     "The most that the pool may reserve, rounded up to 32 MiB (default: what the device has)", 0},
    {"set", OPTION_SET, "ATTRIBUTE=VALUE", 0,
     "Set an attribute of the pool, as STREAMPOOL_POOL does (several options, or commas)", 0},
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
        void *value = setting->is_int ? (void *)&small : (void *)&number;
        poolError_t error = poolMemPoolSetAttribute(stage->pool, setting->attribute, value);
        if (error != poolSuccess)
            return sp_stage_fail(stage, "--set is refused: %s: %s", poolGetErrorName(error),
                                 poolGetLastErrorDetail());
    }
    return true;
}
