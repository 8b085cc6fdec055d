// The growths of replays, explained: each one that raised the most that the pool had reserved in
// its pass, in the order in which they came.
//
// The pool's observer notes them, on the thread that plays the allocation. So a thread says before
// an allocation which operation of the trace it is. Outside of passes nothing is noted: what is
// held from the start is no operation. The caller owns the struct.
#ifndef STREAMPOOL_CLI_GROWTHS_H
#define STREAMPOOL_CLI_GROWTHS_H

#include "cli/trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <streampool/streampool.h>

struct sp_growth {
    const char *trace;
    const char *allocator;
    unsigned start; // from 1
    unsigned pass;  // from 1
    size_t operation;
    struct poolMemPoolGrowth told; // with the trace's numbers as the ids of its streams
};

struct sp_growths {
    const struct sp_trace *trace; // that is played; null: outside of passes, for the player to set
    const CUstream *streams;      // the device's, by the trace's stream index
    struct sp_growth playing;     // what is the same of all growths of the pass
    struct sp_growth *list;
    size_t count;
    bool failed; // for want of host memory: some are missing
};

void sp_growths_release(struct sp_growths *growths);

// Has the growths of a pool noted, which the struct outlives.
poolError_t sp_growths_observe(struct sp_growths *growths, poolMemPool_t pool);

// Says which operation the calling thread plays.
void sp_growths_note_operation(size_t operation);

#endif
