// The parts of `streampool replay`: its arguments, the replays, and what is printed of them.
#ifndef STREAMPOOL_CLI_REPLAY_H
#define STREAMPOOL_CLI_REPLAY_H

#include "cli/play/allocator.h"
#include "cli/play/passes.h"
#include "cli/play/perturb.h"
#include "cli/play/settings.h"
#include "cli/replay/replay_plot.h"
#include "cli/report/recorded.h"
#include "cli/trace/traces.h"

// A request is what the command line asks for.
struct sp_replay_request {
    enum sp_device_choice choice;
    struct sp_allocator_list allocators;
    struct sp_peers peers; // stand behind the other allocators
    struct sp_allocator of_peers[SP_PEERS_MAX];
    uint64_t threshold;
    struct sp_passes passes;
    enum sp_parts parts;
    struct sp_settings settings;
    struct sp_plan plan;
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
};

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

// Reads a request from a command line; ends the program where that makes no sense.
struct sp_replay_request sp_replay_arguments(int argc, char **argv);

// Prints and writes what the replays gave. False when that fails, or there is nothing; standard
// error says why.
bool sp_replay_results_print(const struct sp_replay *replay);

#endif
