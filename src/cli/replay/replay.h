// The parts of `streampool replay`: its arguments, the replays, and what is printed of them.
#ifndef STREAMPOOL_CLI_REPLAY_H
#define STREAMPOOL_CLI_REPLAY_H

#include "cli/play/allocator.h"
#include "cli/play/plan.h"
#include "cli/play/settings.h"
#include "cli/replay/replay_plot.h"
#include "cli/report/recorded.h"
#include "cli/trace/trace.h"

struct sp_replay;

// A request is what the command line asks for.
struct sp_replay_request {
    enum sp_device_choice choice;
    struct sp_allocator_list allocators;
    struct sp_settings variants[SP_ALLOCATORS_MAX]; // what is set of each of them beside the rest
    bool warms_up;         // each trace is played once before it is measured
    struct sp_peers peers; // stand behind the other allocators
    struct sp_allocator of_peers[SP_PEERS_MAX];
    uint64_t threshold;
    struct sp_passes passes;
    enum sp_parts parts;
    struct sp_settings settings;
    struct sp_plan plan;
    bool with_work; // times are those of its clock, even where the plan has none
    struct sp_perturbation perturbation;
    bool wide;       // all columns, and lines as long as they are
    bool statistics; // are printed below the table
    bool explain_growth;
    const char *json;
    const char *plot;
    const char *beside; // a file of recorded results; null: none
    struct sp_allocator_list beside_allocators;
    char **paths;
    size_t path_count;
    // Prints and writes what the replays gave. False when that fails, or there is nothing; standard
    // error says why.
    bool (*print)(const struct sp_replay *replay);
};

#define SP_REPLAY_REQUEST_DEFAULT                                                                  \
    {                                                                                              \
        .choice = SP_DEVICE_AUTO, .threshold = UINT64_MAX, .passes = SP_PASSES_DEFAULT,            \
        .plan = SP_PLAN_DEFAULT, .perturbation = SP_PERTURBATION_DEFAULT,                          \
    }

struct sp_replay {
    const struct sp_replay_request *request;
    struct sp_traces traces;
    struct sp_recorded recorded; // empty: none is asked for
    struct sp_device device;
    struct sp_origin origin;
    struct sp_work *work; // null: none is asked for
    struct sp_progress progress;
    const struct sp_trace *trace; // that is being played
    struct sp_result *results;
    size_t result_count;
    struct sp_growths growths;                // empty: nobody asks for them
    struct sp_replay_plot plot;               // empty: none is asked for
    char unavailable[SP_ALLOCATORS_MAX][512]; // why an allocator can't be used; "" when it can
};

// Reads a request from the command line of `replay`; ends the program where that makes no sense.
struct sp_replay_request sp_replay_arguments(int argc, char **argv);

// This parser has the options and arguments that name traces and outputs. It is a child of a
// command's own; its input is the request.
extern const struct argp sp_replay_outputs_argp;

// Does what is asked for. Returns the exit status of the program.
int sp_replay_run(struct sp_replay_request *request);

// Prints and writes the results of `replay`.
bool sp_replay_results_print(const struct sp_replay *replay);

#endif
