#include "cli/play/plan.h"

#include "cli/program/command.h"
#include "cli/program/draw.h"

#include "base/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORK_MAX 1000.0
enum { TIME_MAX = 1000000000 /* a second */, STARTS_MAX = 1000 };

enum { WORK = 256, WORK_NS, PACE, EVENTS, SYNCHRONIZE, SEED, PERTURB, PERTURB_SEED };
enum { ONE_POOL = 256, TRIM, PRINT_PASSES };

// ---------------------------------------------------------------------------------------- the plan

static double parse_share(const char *text, const struct argp_state *state) {
    char *end;
    errno = 0;
    double share = strtod(text, &end);
    if (errno || end == text || *end || !(share > 0) || share > WORK_MAX)
        argp_error(state, "--work is a share of the device's time above 0 and up to %.0f, not '%s'",
                   WORK_MAX, text);
    return share;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct sp_plan *plan = state->input;
    switch (key) {
    case WORK:
        plan->work = parse_share(argument, state);
        plan->piece_ns = 0;
        return 0;
    case WORK_NS:
        plan->piece_ns = sp_number_of("--work-ns", argument, 0, TIME_MAX, state);
        plan->work = 0;
        return 0;
    case PACE:
        plan->pace_ns = sp_number_of("--pace", argument, 1, TIME_MAX, state);
        return 0;
    case EVENTS:
        plan->events = sp_number_of("--events", argument, 0, UINT64_MAX, state);
        return 0;
    case SYNCHRONIZE:
        plan->synchronize = sp_number_of("--synchronize", argument, 0, UINT64_MAX, state);
        return 0;
    case SEED:
        plan->seed = sp_number_of("--seed", argument, 0, UINT64_MAX, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"work", WORK, "FRACTION", 0,
     "Put work on the stream after each allocation; together the work fills this share of the "
     "device's time",
     0},
    {"work-ns", WORK_NS, "NS", 0, "Put work there in pieces of NS nanoseconds; 0 for no work", 0},
    {"pace", PACE, "NS", 0,
     "With work: begin an operation of the trace every NS nanoseconds (default: 10000)", 0},
    {"events", EVENTS, "N", 0,
     "After every N operations, make another stream wait for the stream of the last one "
     "(default: never)",
     0},
    {"synchronize", SYNCHRONIZE, "N", 0,
     "After every N operations, synchronise the stream of the last one (default: never)", 0},
    {"seed", SEED, "NUMBER", 0, "Seed for the random choice of the stream that waits (default: 1)",
     0},
    {0},
};

const struct argp sp_plan_argp = {.options = options, .parser = parse};

static bool has_piece(const struct sp_trace *trace, const struct sp_trace_operation *operation) {
    return operation->block != SP_TRACE_NO_BLOCK && trace->blocks[operation->block].size > 0 &&
           trace->blocks[operation->block].place == SP_TRACE_AT_DEVICE &&
           (operation->action == SP_TRACE_ALLOCATE || sp_trace_is_foreign(trace, operation));
}

uint64_t sp_plan_piece_ns(const struct sp_plan *plan, const struct sp_trace *trace) {
    if (plan->work <= 0)
        return plan->piece_ns;
    size_t pieces = 0;
    for (size_t i = 0; i < trace->operation_count; i++)
        pieces += has_piece(trace, &trace->operations[i]);
    double time = (double)plan->pace_ns * (double)trace->operation_count;
    return pieces ? (uint64_t)(plan->work * time / (double)pieces) : 0;
}

uint32_t sp_plan_waiter(const struct sp_plan *plan, size_t operation, uint32_t stream,
                        size_t stream_count) {
    uint64_t step = 1 + sp_draw(plan->seed, operation) % (stream_count - 1);
    return (uint32_t)((stream + step) % stream_count);
}

// ---------------------------------------------------------------------------------- several starts

static error_t parse_perturbation(int key, char *argument, struct argp_state *state) {
    struct sp_perturbation *perturbation = state->input;
    switch (key) {
    case PERTURB:
        perturbation->starts = (unsigned)sp_number_of("--perturb", argument, 1, STARTS_MAX, state);
        return 0;
    case PERTURB_SEED:
        perturbation->seed = sp_number_of("--perturb-seed", argument, 0, UINT64_MAX, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option perturbation_options[] = {
    {"perturb", PERTURB, "N", 0,
     "Replay each trace N times, each time with one block of random size (up to 2 % of the trace's "
     "peak) held from the beginning, and print medians (default: once, with no such block)",
     0},
    {"perturb-seed", PERTURB_SEED, "NUMBER", 0, "Seed for these random sizes (default: 1)", 0},
    {0},
};

const struct argp sp_perturbation_argp = {.options = perturbation_options,
                                          .parser = parse_perturbation};

uint64_t sp_perturbation_bytes(const struct sp_perturbation *perturbation,
                               const struct sp_trace *trace, unsigned start) {
    uint64_t most = trace->live_peak_bytes / SP_PERTURBATION_PEAK_SHARE;
    if (perturbation->starts == 0 || most == 0)
        return 0;
    return 1 + sp_draw(perturbation->seed, start) % most;
}

// ------------------------------------------------------------------------------------------ passes

static error_t parse_passes(int key, char *argument, struct argp_state *state) {
    struct sp_passes *passes = state->input;
    switch (key) {
    case 'n':
        passes->count = (unsigned)sp_number_of("--passes", argument, 1, SP_PASSES_MAX, state);
        return 0;
    case ONE_POOL:
        passes->one_pool = true;
        return 0;
    case TRIM:
        passes->trims = true;
        if (!sp_options_parse_size(argument, &passes->trim_to))
            argp_error(state, "--trim is a number of bytes, with K, M, G or T behind it, not '%s'",
                       argument);
        return 0;
    case PRINT_PASSES:
        passes->chosen = true;
        for (char *number; (number = strsep(&argument, ","));)
            passes->list[sp_number_of("--print-passes", number, 1, SP_PASSES_MAX, state)] = true;
        return 0;
    case ARGP_KEY_END:
        for (unsigned pass = SP_PASSES_MAX; pass > passes->count; pass--)
            if (passes->list[pass])
                argp_error(state, "--print-passes names pass %u, and --passes makes %u", pass,
                           passes->count);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option passes_options[] = {
    {"passes", 'n', "N", 0, "Replay each trace N times with the same pool (default: 1)", 0},
    {"one-pool", ONE_POOL, NULL, 0,
     "Replay all traces in turn with one pool: a pass is each trace once, in the order given", 0},
    {"trim", TRIM, "BYTES", 0,
     "Between two passes, trim the pool to BYTES (default: it isn't trimmed)", 0},
    {"print-passes", PRINT_PASSES, "LIST", 0,
     "Print these passes alone, such as 1,10,50 (default: all); JSON has all", 0},
    {0},
};

const struct argp sp_passes_argp = {.options = passes_options, .parser = parse_passes};
