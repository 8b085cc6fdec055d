#include "cli/play/passes.h"

#include "cli/program/command.h"

#include "base/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_ONE_POOL = 256, OPTION_TRIM, OPTION_PRINT_PASSES };

static uint64_t parse_bytes(const char *text, const struct argp_state *state) {
    uint64_t bytes = 0;
    if (!sp_options_parse_size(text, &bytes))
        argp_error(state, "--trim is a number of bytes, with K, M, G or T behind it, not '%s'",
                   text);
    return bytes;
}

static void parse_list(struct sp_passes *passes, char *text, const struct argp_state *state) {
    passes->chosen = true;
    for (char *rest = text, *number; (number = strsep(&rest, ","));)
        passes->list[sp_number_of("--print-passes", number, 1, SP_PASSES_MAX, state)] = true;
}

static void check_list(const struct sp_passes *passes, const struct argp_state *state) {
    unsigned last = SP_PASSES_MAX;
    while (last > 0 && !passes->list[last])
        last--;
    if (last > passes->count)
        argp_error(state, "--print-passes names pass %u, and --passes makes %u", last,
                   passes->count);
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct sp_passes *passes = state->input;
    switch (key) {
    case 'n':
        passes->count = (unsigned)sp_number_of("--passes", argument, 1, SP_PASSES_MAX, state);
        return 0;
    case OPTION_ONE_POOL:
        passes->one_pool = true;
        return 0;
    case OPTION_TRIM:
        passes->trims = true;
        passes->trim_to = parse_bytes(argument, state);
        return 0;
    case OPTION_PRINT_PASSES:
        parse_list(passes, argument, state);
        return 0;
    case ARGP_KEY_END:
        check_list(passes, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"passes", 'n', "N", 0, "Replay each trace N times with the same pool (default: 1)", 0},
    {"one-pool", OPTION_ONE_POOL, NULL, 0,
     "Replay all traces in turn with one pool: a pass is each trace once, in the order given", 0},
    {"trim", OPTION_TRIM, "BYTES", 0,
     "Between two passes, trim the pool to BYTES (default: it isn't trimmed)", 0},
    {"print-passes", OPTION_PRINT_PASSES, "LIST", 0,
     "Print these passes alone, such as 1,10,50 (default: all); JSON has all", 0},
    {0},
};

const struct argp sp_passes_argp = {.options = options, .parser = parse};
