#include "cli/play/perturb.h"

#include "cli/program/command.h"
#include "cli/program/draw.h"

enum { STARTS_MAX = 1000, OPTION_PERTURB = 256, OPTION_PERTURB_SEED };

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct sp_perturbation *perturbation = state->input;
    switch (key) {
    case OPTION_PERTURB:
        perturbation->starts = (unsigned)sp_number_of("--perturb", argument, 1, STARTS_MAX, state);
        return 0;
    case OPTION_PERTURB_SEED:
        perturbation->seed = sp_number_of("--perturb-seed", argument, 0, UINT64_MAX, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"perturb", OPTION_PERTURB, "N", 0,
     "Replay each trace N times, each time with one block of random size (up to 2 % of the trace's "
     "peak) held from the beginning, and print medians (default: once, with no such block)",
     0},
    {"perturb-seed", OPTION_PERTURB_SEED, "NUMBER", 0, "Seed for these random sizes (default: 1)",
     0},
    {0},
};

const struct argp sp_perturbation_argp = {.options = options, .parser = parse};

uint64_t sp_perturbation_bytes(const struct sp_perturbation *perturbation,
                               const struct sp_trace *trace, unsigned start) {
    uint64_t most = trace->live_peak_bytes / SP_PERTURBATION_PEAK_SHARE;
    if (perturbation->starts == 0 || most == 0)
        return 0;
    return 1 + sp_draw(perturbation->seed, start) % most;
}
