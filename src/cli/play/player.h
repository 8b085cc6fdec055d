// Plays a trace through an allocator and measures each call.
//
// The figures are those of the device's memory. Blocks of another place are played where the
// allocator has pools there, aside: their calls aren't measured, no work uses them, and of them the
// peaks alone are told.
//
// The player owns the streams, one for each stream number of the trace, an event for each of them,
// the trace's own events, and the arrays that a pass fills. All but the trace's events are made
// before the pass, so that it does little but the calls.
//
// A pass is played in *parts*: one, or one for each thread of the trace, each in a host thread of
// its own and in its own order. Where a part frees what another one allocates it waits until that
// is done; lines with the same event are played in their order; and a stream is destroyed when all
// lines before that are done. A part writes only what is its own: its times, its errors, and the
// pointers of the blocks that it allocates or frees. What is alive is counted by all, with atomics.
#ifndef STREAMPOOL_CLI_PLAYER_H
#define STREAMPOOL_CLI_PLAYER_H

#include "cli/play/allocator.h"
#include "cli/play/meter.h"
#include "cli/play/plan.h"
#include "cli/play/threads.h"
#include "cli/plot/series.h"
#include "cli/program/origin.h"
#include "cli/program/progress.h"
#include "cli/program/times.h"
#include "cli/program/work.h"
#include "cli/trace/trace.h"

#include <pthread.h>
#include <stdatomic.h>

enum sp_parts { SP_ONE_PART, SP_PART_FOR_EACH_THREAD };

// The most bytes that were live and reserved at a place.
struct sp_place_peaks {
    uint64_t live_bytes;
    uint64_t reserved_bytes;
};

struct sp_result {
    const char *trace;
    const char *allocator;
    unsigned variant; // of the allocator, by which several of one name are told apart
    const char *device;
    const struct sp_origin *origin; // the player leaves it null
    unsigned start;                 // from 1
    uint64_t held_bytes;            // of the block that was held from the start
    unsigned pass;                  // from 1
    unsigned turn; // in the pass, from 1; 0: the trace has the pool for itself (turns.h)
    uint64_t operations;
    uint64_t streams;
    uint64_t errors;          // calls that failed
    uint64_t live_peak_bytes; // with the held block, which is in the reserved peak too
    uint64_t reserved_peak_bytes;
    uint64_t turn_live_peak_bytes; // where there are turns: the peaks above are those of a round
    uint64_t turn_reserved_peak_bytes;
    struct sp_place_peaks
        places[SP_TRACE_PLACE_COUNT]; // 0 where there is nothing, and of the device
    struct sp_times malloc_ns;
    struct sp_times free_ns;
    enum sp_time_base base;
    uint64_t total_ns;
    uint64_t modelled_ns;   // of it, where the base is the model and the host
    uint64_t work_ns;       // all pieces of work together
    uint64_t end_to_end_ns; // from the first operation until all streams have done their work
    char first_error[256];  // in words; "" without errors
    struct sp_statistics statistics;
    // Its growths in the list of all, where they are asked for; else null.
    const struct sp_growths *growths;
    size_t first_growth, growth_count;
};

// A play says what is to be played, and how. All that it points to outlives the player.
struct sp_play {
    const struct sp_trace *trace;
    const struct sp_allocator *allocator;
    struct sp_stage *stage; // by place; null pools where the allocator has none
    const struct sp_plan *plan;
    const struct sp_work *work; // null: the plan has no work
    enum sp_parts parts;
    unsigned variant;
    unsigned start;
    uint64_t held_bytes; // of a block on the first stream, held while the player is open; 0: none
    bool held_by_other;  // another player of the stage holds it
    struct sp_progress *progress;
    struct sp_series *series; // the figures go there; null: nobody draws them
};

// Returns what the host's clock measured of the calls.
static inline uint64_t sp_result_measured_ns(const struct sp_result *result) {
    return result->total_ns - result->modelled_ns;
}

struct sp_part;

#define SP_NO_CALL UINT64_MAX

struct sp_player {
    struct sp_play play;
    struct sp_meter meter;
    uint64_t piece_ns;       // of each piece of work
    uint64_t begin;          // of the pass, by the clock
    CUstream *streams;       // by the trace's stream index; null: the legacy one, or destroyed
    CUevent *events;         // likewise, for order that the trace doesn't have
    CUevent *trace_events;   // by the trace's event index; null: not created, or destroyed
    _Atomic uint32_t *turns; // likewise: so many lines with the event are done
    uint64_t held;           // the pointer of the held block; 0: there is none
    // The allocator's pointers of the blocks that are alive stand here, by the trace's block index.
    _Atomic uint64_t *pointers;
    uint64_t *took;    // by operation: how long its call took, in ns, or SP_NO_CALL
    uint64_t *samples; // the times of all calls, allocations first
    struct sp_part *parts;
    size_t part_count;
    struct sp_shares shares; // with several parts: what each of them plays
    struct sp_lead lead;     // with several parts
    pthread_mutex_t gate;    // held while the parts' threads are being started
    bool open;               // guarded by the gate: they may begin
    _Atomic uint64_t live_bytes[SP_TRACE_PLACE_COUNT];
    _Atomic uint64_t live_peak_bytes[SP_TRACE_PLACE_COUNT];
};

// Makes the streams and the arrays for a stage that is open, and allocates the held block. False,
// with the stage's reason.
bool sp_player_open(struct sp_player *player, const struct sp_play *play);
void sp_player_close(struct sp_player *player);

// Plays the trace once. What is still alive at its end is freed afterwards, untimed, and all
// streams are synchronised. A call that fails is counted in the result; false, with the stage's
// reason, when the device can't be used any more.
bool sp_player_run(struct sp_player *player, unsigned pass, struct sp_result *result);

#endif
