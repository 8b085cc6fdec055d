// A plan says what a replay does beside the trace's own calls: it puts work behind the blocks, and
// order between the streams.
//
// No trace records the work, and RMM's record no order. Both are made up here by rules that depend
// on the plan and on the trace alone, so that every allocator and every policy sees the same.
// docs/replay.md explains them.
#ifndef STREAMPOOL_CLI_PLAN_H
#define STREAMPOOL_CLI_PLAN_H

#include "cli/trace/trace.h"

#include <argp.h>

struct sp_plan {
    double work;          // the share of the device's time that the work fills; 0: by piece_ns
    uint64_t piece_ns;    // how long each piece of work is; 0, with a share of 0: there is none
    uint64_t pace_ns;     // with work: an operation every so often
    uint64_t events;      // an event between two streams behind every so many operations; 0: none
    uint64_t synchronize; // a synchronise of one stream behind every so many; 0: none
    uint64_t seed;        // of the draws
};

// The default plan has no work, no events and no synchronise. It is an initializer.
#define SP_PLAN_DEFAULT                                                                            \
    { .pace_ns = 10000, .seed = 1 }

// This parser has the options that fill in a plan. It is a child of a command's own parser; its
// input is the plan.
extern const struct argp sp_plan_argp;

static inline bool sp_plan_has_work(const struct sp_plan *plan) {
    return plan->work > 0 || plan->piece_ns > 0;
}

// Returns how long each piece of work is for a trace, in ns. A replay has one piece behind each
// allocation of some bytes, and one before each foreign free of some.
uint64_t sp_plan_piece_ns(const struct sp_plan *plan, const struct sp_trace *trace);

static inline bool sp_plan_is_due(uint64_t every, size_t operation) {
    return every > 0 && (operation + 1) % every == 0;
}

// Returns the stream that waits for an event of `stream` behind an operation: one of the others,
// drawn. There are at least two.
uint32_t sp_plan_waiter(const struct sp_plan *plan, size_t operation, uint32_t stream,
                        size_t stream_count);

#endif
