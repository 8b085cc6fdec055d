// Starts of a replay that differ in one thing: a block of a drawn size, held from before the first
// operation.
//
// Where an allocator puts a block decides about all later ones, so a single run of a trace is one
// of many that the same program could have had. docs/replay.md explains what is made of them.
#ifndef STREAMPOOL_CLI_PERTURB_H
#define STREAMPOOL_CLI_PERTURB_H

#include "cli/trace/trace.h"

#include <argp.h>

// A held block is at most this part of the trace's peak of live bytes: 2 %.
#define SP_PERTURBATION_PEAK_SHARE 50

struct sp_perturbation {
    unsigned starts; // of each trace for each allocator; 0: one, with no block held
    uint64_t seed;   // of the sizes
};

#define SP_PERTURBATION_DEFAULT                                                                    \
    { .seed = 1 }

// The options that fill it in, as a child of a command's own; its input is the perturbation.
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

#endif
