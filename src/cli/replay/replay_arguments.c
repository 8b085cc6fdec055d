// The command line of `streampool replay`.
#include "cli/program/command.h"
#include "cli/program/output.h"
#include "cli/replay/replay.h"

#include "base/options.h"

#include <stdlib.h>
#include <string.h>

enum {
    OPTION_THREADS = 256,
    OPTION_STATISTICS,
    OPTION_EXPLAIN_GROWTH,
    OPTION_BESIDE,
    OPTION_BESIDE_ALLOCATOR,
    OPTION_PLOT,
    OPTION_WIDE
};

// ------------------------------------------------------------------------- the traces and outputs

static error_t parse_outputs(int key, char *argument, struct argp_state *state) {
    struct sp_replay_request *request = state->input;
    switch (key) {
    case OPTION_WIDE:
        request->wide = true;
        return 0;
    case 'j':
        request->json = argument;
        return 0;
    case OPTION_PLOT:
        request->plot = argument;
        return 0;
    case ARGP_KEY_ARGS:
        request->paths = state->argv + state->next;
        request->path_count = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no trace is named");
        return 0;
    case ARGP_KEY_END:
        sp_check_outputs(request->json, request->plot, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option output_options[] = {
    {"wide", OPTION_WIDE, NULL, 0,
     "Print all columns, and lines as long as they are (default: 80 characters at most)", 0},
    {"json", 'j', "FILE", 0,
     "Write the results as JSON too; with '-', to standard output and no table", 0},
    {"plot", OPTION_PLOT, "FILE", 0,
     "Draw the memory in use over the trace, as SVG; with '-', to standard output and no table", 0},
    {0},
};

const struct argp sp_replay_outputs_argp = {.options = output_options, .parser = parse_outputs};

// ------------------------------------------------------------------------------------- the rest

static void parse_allocators(struct sp_allocator_list *allocators, const char *names,
                             struct argp_state *state) {
    allocators->count = 0;
    for (bool is_last = false; !is_last;) {
        size_t length = strcspn(names, ",");
        const struct sp_allocator *allocator = sp_allocator_find(names, length);
        if (!allocator)
            argp_error(state, "unknown allocator '%.*s'", (int)length, names);
        for (size_t i = 0; i < allocators->count; i++)
            if (allocators->items[i] == allocator)
                argp_error(state, "the allocator '%s' is named twice", allocator->name);
        allocators->items[allocators->count++] = allocator;
        is_last = names[length] == '\0';
        names += length + 1;
    }
}

static uint64_t parse_threshold(const char *text, struct argp_state *state) {
    uint64_t bytes = UINT64_MAX;
    if (strcmp(text, "max") != 0 && !sp_options_parse_size(text, &bytes))
        argp_error(
            state,
            "--threshold is a number of bytes, with K, M, G or T behind it, or max, not '%s'",
            text);
    return bytes;
}

// A picture, and a recorded result, is of a trace that has the pool for itself.
static void check_one_pool(const struct sp_replay_request *request,
                           const struct argp_state *state) {
    if (!request->passes.one_pool)
        return;
    if (request->plot)
        argp_error(state, "--plot draws each trace alone, so it can't draw --one-pool");
    if (request->beside)
        argp_error(state, "--beside compares each trace alone, so it can't compare --one-pool");
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct sp_replay_request *request = state->input;
    switch (key) {
    case 'd':
        request->choice = sp_device_choice_of(argument, state);
        return 0;
    case 'a':
        parse_allocators(&request->allocators, argument, state);
        return 0;
    case 't':
        request->threshold = parse_threshold(argument, state);
        return 0;
    case OPTION_THREADS:
        request->parts = SP_PART_FOR_EACH_THREAD;
        return 0;
    case OPTION_STATISTICS:
        request->statistics = true;
        return 0;
    case OPTION_EXPLAIN_GROWTH:
        request->explain_growth = true;
        return 0;
    case OPTION_BESIDE:
        request->beside = argument;
        return 0;
    case OPTION_BESIDE_ALLOCATOR:
        parse_allocators(&request->beside_allocators, argument, state);
        return 0;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = request;
        state->child_inputs[1] = &request->settings;
        state->child_inputs[2] = &request->plan;
        state->child_inputs[3] = &request->perturbation;
        state->child_inputs[4] = &request->peers;
        state->child_inputs[5] = &request->passes;
        return 0;
    case ARGP_KEY_END:
        check_one_pool(request, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    SP_DEVICE_OPTION,
    {"allocator", 'a', "LIST", 0,
     "Allocators to replay through, separated by commas (default: pool)", 0},
    {"threshold", 't', "BYTES|max", 0,
     "Release threshold of the pools: how much a synchronise leaves reserved (default: max)", 0},
    {"threads", OPTION_THREADS, NULL, 0, "Play each thread of a trace in a thread of its own", 0},
    {"statistics", OPTION_STATISTICS, NULL, 0, "Print all that the pool counts below the table", 0},
    {"explain-growth", OPTION_EXPLAIN_GROWTH, NULL, 0,
     "Print, below the table, why the pool's peak grew: how often and by how much for each cause, "
     "and a line for each growth (pool and promised); --plot has a mark for each",
     0},
    {"beside", OPTION_BESIDE, "FILE", 0,
     "Print, below the table, results that --json wrote into FILE earlier, on this or another "
     "machine, and compare",
     0},
    {"beside-allocator", OPTION_BESIDE_ALLOCATOR, "LIST", 0,
     "Allocators of that file to print (default: driver, CUDA's own pool)", 0},
    {.doc = "Allocators, and what tables call them:"},
#define ALLOCATOR_HELP(allocator, summary) {#allocator, 0, NULL, OPTION_DOC, summary, 0},
    SP_ALLOCATORS(ALLOCATOR_HELP)
#undef ALLOCATOR_HELP
        {0},
};

static const struct argp_child children[] = {
    {&sp_replay_outputs_argp, 0, NULL, 0},
    {&sp_settings_argp, 0, "The pool, with the allocators pool and promised:", 1},
    {&sp_plan_argp, 0, "Work and order in addition to the trace:", 2},
    {&sp_perturbation_argp, 0, "Several starts:", 3},
    {&sp_peers_argp, 0, "Allocators of others:", 4},
    {&sp_passes_argp, 0, "Passes:", 5},
    SP_HELP_CHILD,
    {0},
};

static const struct argp argp = {
    .options = options,
    .children = children,
    .parser = parse,
    .args_doc = "TRACE...",
    .doc =
        "Replays traces of allocations (RMM's log format, plain or gzipped) as fast as it can, and "
        "prints how long each call took and how much memory was reserved. docs/replay.md explains "
        "the figures.\v"
        "An allocator that the device lacks is named below the table, and the others run. A trace "
        "that can't be read ends the program before anything is replayed. "
        "A trace to try is installed with the program, as "
        "share/streampool/traces/infer_streams.csv.gz below its prefix. " SP_REPLAY_STATUSES,
};

struct sp_replay_request sp_replay_arguments(int argc, char **argv) {
    struct sp_replay_request request = SP_REPLAY_REQUEST_DEFAULT;
    request.allocators = (struct sp_allocator_list){{&sp_allocator_pool}, 1};
    request.beside_allocators = (struct sp_allocator_list){{&sp_allocator_driver}, 1};
    request.print = sp_replay_results_print;
    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        exit(EXIT_FAILURE);
    return request;
}
