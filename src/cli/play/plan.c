#include "cli/play/plan.h"

#include "cli/program/command.h"
#include "cli/program/draw.h"

#include <errno.h>
#include <stdlib.h>

#define WORK_MAX 1000.0
#define TIME_MAX 1000000000u // a second

// ----------------------------------------------------------------------------------- the arguments

enum {
    OPTION_WORK = 256,
    OPTION_WORK_NS,
    OPTION_PACE,
    OPTION_EVENTS,
    OPTION_SYNCHRONIZE,
    OPTION_SEED
};

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
    case OPTION_WORK:
        plan->work = parse_share(argument, state);
        plan->piece_ns = 0;
        return 0;
    case OPTION_WORK_NS:
        plan->piece_ns = sp_number_of("--work-ns", argument, 0, TIME_MAX, state);
        plan->work = 0;
        return 0;
    case OPTION_PACE:
        plan->pace_ns = sp_number_of("--pace", argument, 1, TIME_MAX, state);
        return 0;
    case OPTION_EVENTS:
        plan->events = sp_number_of("--events", argument, 0, UINT64_MAX, state);
        return 0;
    case OPTION_SYNCHRONIZE:
        plan->synchronize = sp_number_of("--synchronize", argument, 0, UINT64_MAX, state);
        return 0;
    case OPTION_SEED:
        plan->seed = sp_number_of("--seed", argument, 0, UINT64_MAX, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"work", OPTION_WORK, "FRACTION", 0,
     "Put work on the stream after each allocation; together the work fills this share of the "
     "device's time",
     0},
    {"work-ns", OPTION_WORK_NS, "NS", 0,
     "Put work there in pieces of NS nanoseconds; 0 for no work", 0},
    {"pace", OPTION_PACE, "NS", 0,
     "With work: begin an operation of the trace every NS nanoseconds (default: 10000)", 0},
    {"events", OPTION_EVENTS, "N", 0,
     "After every N operations, make another stream wait for the stream of the last one "
     "(default: never)",
     0},
    {"synchronize", OPTION_SYNCHRONIZE, "N", 0,
     "After every N operations, synchronise the stream of the last one (default: never)", 0},
    {"seed", OPTION_SEED, "NUMBER", 0,
     "Seed for the random choice of the stream that waits (default: 1)", 0},
    {0},
};

const struct argp sp_plan_argp = {.options = options, .parser = parse};

// --------------------------------------------------------------------------------------- the rules

static bool has_piece(const struct sp_trace *trace, const struct sp_trace_operation *operation) {
    bool has_block =
        operation->block != SP_TRACE_NO_BLOCK && trace->blocks[operation->block].size > 0;
    return has_block &&
           (operation->action == SP_TRACE_ALLOCATE || sp_trace_is_foreign(trace, operation));
}

// The pieces are equal. Together they fill the plan's share of the time that the operations take at
// their pace.
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
