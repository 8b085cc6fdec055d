#include "cli/program/command.h"

#include "base/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum sp_device_choice sp_device_choice_of(const char *text, const struct argp_state *state) {
    static const char *const names[] = {
        [SP_DEVICE_AUTO] = "auto", [SP_DEVICE_GPU] = "gpu", [SP_DEVICE_SIM] = "sim"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], text) == 0)
            return (enum sp_device_choice)i;
    argp_error(state, "--device is auto, gpu or sim, not '%s'", text);
    return SP_DEVICE_AUTO;
}

void sp_check_outputs(const char *json, const char *plot, const struct argp_state *state) {
    if (json && plot && strcmp(json, plot) == 0)
        argp_error(state, "--json and --plot can't both be written to '%s'", json);
}

static error_t parse_help(int key, char *argument, struct argp_state *state) {
    (void)argument;
    if (key != 'h')
        return ARGP_ERR_UNKNOWN;
    argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
    return 0;
}

static const struct argp_option help_options[] = {
    {.key = 'h', .flags = OPTION_HIDDEN, .doc = "--help"},
    {0},
};

const struct argp sp_help_argp = {.options = help_options, .parser = parse_help};
const struct argp_child sp_help_children[] = {SP_HELP_CHILD, {0}};

uint64_t sp_number_of(const char *option, const char *text, uint64_t least, uint64_t most,
                      const struct argp_state *state) {
    char *end;
    errno = 0;
    uint64_t number = strtoull(text, &end, 10);
    bool is_number = *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
    if (is_number && number >= least && number <= most)
        return number;
    if (most == UINT64_MAX)
        argp_error(state, "%s is a whole number, not '%s'", option, text);
    else
        argp_error(state, "%s is a number from %" PRIu64 " to %" PRIu64 ", not '%s'", option, least,
                   most, text);
    return least;
}

// The library reads a setting that is not one, or too long, as far as a comma; so does this.
void sp_take_setting(const char **list, struct sp_option_setting *setting,
                     const struct argp_state *state) {
    char text[SP_SETTING_TEXT];
    bool fits = sp_options_next_setting(list, text);
    const char *why = fits ? sp_options_read_setting(text, setting) : "it is too long";
    if (why)
        argp_error(state, "--set '%s': %s", text, why);
}
