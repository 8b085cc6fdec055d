// Plays a trace through an allocator and measures each call.
//
// The player owns the streams, one for each stream number of the trace, and the arrays that a pass fills; all
// are made before the first pass, so that a pass does nothing but the calls. One thread at a time uses it.
#ifndef STREAMPOOL_CLI_PLAYER_H
#define STREAMPOOL_CLI_PLAYER_H

#include "cli/allocator.h"
#include "cli/progress.h"
#include "cli/times.h"
#include "cli/trace.h"

struct sp_result {
    const char *trace;
    const char *allocator;
    const char *device;
    unsigned pass; // from 1
    uint64_t operations;
    uint64_t streams;
    uint64_t errors; // calls that failed
    uint64_t live_peak_bytes;
    uint64_t reserved_peak_bytes;
    struct sp_times malloc_ns;
    struct sp_times free_ns;
    uint64_t total_ns;
    char first_error[256]; // in words; "" without errors
};

struct sp_player {
    const struct sp_trace *trace;
    const struct sp_allocator *allocator;
    struct sp_stage *stage;
    struct sp_progress *progress;
    uint64_t clock_cost;
    CUstream *streams;  // by the trace's stream index
    uint64_t *pointers; // by the trace's block index: what the allocator returned, while it is alive
    struct sp_samples mallocs;
    struct sp_samples frees;
    uint64_t live_bytes;
    struct sp_result *result; // of the pass that is being played
};

// Makes the streams and the arrays for a trace and a stage that is open. False, with the stage's reason.
bool sp_player_open(struct sp_player *player, const struct sp_trace *trace,
                    const struct sp_allocator *allocator, struct sp_stage *stage,
                    struct sp_progress *progress);
void sp_player_close(struct sp_player *player);

// Plays the trace once. What is still alive at its end is freed afterwards, untimed, and all streams are
// synchronised. A call that fails is counted in the result; false, with the stage's reason, when the device
// can't be used any more.
bool sp_player_run(struct sp_player *player, unsigned pass, struct sp_result *result);

#endif
