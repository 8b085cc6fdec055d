// A plan says what a replay does beside the trace's own calls: it puts work behind the blocks, and
// order between the streams. A perturbation makes several starts of it, and passes are how often
// the traces are played with the same pool.
//
// No trace records the work, and RMM's record no order. All is made up here by rules that depend on
// the options and on the trace alone, so that every allocator and every policy sees the same.
// docs/replay.md explains them.
//
// Each of the structs has a parser with the options that fill it in: a child of a command's own,
// whose input is the struct.
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

extern const struct argp sp_plan_argp;

static inline bool sp_plan_has_work(const struct sp_plan *plan) {
    return plan->work > 0 || plan->piece_ns > 0;
}

// Returns how long each piece of work is for a trace, in ns. A replay has one piece behind each
// allocation of some bytes, and one before each foreign free of some. The pieces are equal.
// Together they fill the plan's share of the time that the operations take at their pace.
uint64_t sp_plan_piece_ns(const struct sp_plan *plan, const struct sp_trace *trace);

static inline bool sp_plan_is_due(uint64_t every, size_t operation) {
    return every > 0 && (operation + 1) % every == 0;
}

// Returns the stream that waits for an event of `stream` behind an operation: one of the others,
// drawn. There are at least two.
uint32_t sp_plan_waiter(const struct sp_plan *plan, size_t operation, uint32_t stream,
                        size_t stream_count);

// ---------------------------------------------------------------------------------- several starts
//
// They differ in one thing: a block of a drawn size, held from before the first operation. Where an
// allocator puts a block decides about all later ones, so a single run of a trace is one of many
// that the same program could have had.

// A held block is at most this part of the trace's peak of live bytes: 2 %.
#define SP_PERTURBATION_PEAK_SHARE 50

struct sp_perturbation {
    unsigned starts; // of each trace for each allocator; 0: one, with no block held
    uint64_t seed;   // of the sizes
};

#define SP_PERTURBATION_DEFAULT                                                                    \
    { .seed = 1 }

extern const struct argp sp_perturbation_argp;

static inline bool sp_perturbation_is_asked(const struct sp_perturbation *perturbation) {
    return perturbation->starts > 0;
}

static inline unsigned sp_perturbation_starts(const struct sp_perturbation *perturbation) {
    return sp_perturbation_is_asked(perturbation) ? perturbation->starts : 1;
}

// The size of the block that is held in a start, from 1: the same for every allocator. 0: there is
// none.
uint64_t sp_perturbation_bytes(const struct sp_perturbation *perturbation,
                               const struct sp_trace *trace, unsigned start);

// ------------------------------------------------------------------------------------------ passes

enum { SP_PASSES_MAX = 1000 };

struct sp_passes {
    unsigned count;
    bool one_pool; // all traces are played in turn on one pool (cli/play/turns.h)
    bool trims;    // between two passes
    uint64_t trim_to;
    bool chosen; // not all are printed, but those of the list
    bool list[SP_PASSES_MAX + 1];
};

#define SP_PASSES_DEFAULT                                                                          \
    { .count = 1 }

extern const struct argp sp_passes_argp;

static inline bool sp_passes_is_printed(const struct sp_passes *passes, unsigned pass) {
    return !passes->chosen || passes->list[pass];
}

#endif
