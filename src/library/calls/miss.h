// A miss: an allocation that its lane doesn't have at hand (region/at_hand.h). Blocks that others
// have returned to the lane's slabs serve it, or the ladder (calls/ladder.h) does.
#ifndef STREAMPOOL_CALLS_MISS_H
#define STREAMPOOL_CALLS_MISS_H

#include "region/lane.h"

// True when it is the lane's turn to ask the others: once in so many misses of its quick lists.
// False in a pool with one lane, and while another thread asks: questions of several threads at
// once take many times as long, and what one learns all know. A question takes about as long as a
// miss. Where the pool's free memory lies in pieces each miss of a lane that is not contended asks:
// see sp_growth_note() and region/quick.h.
enum { SP_MISSES_PER_POLL = 8 };
bool sp_miss_is_due_to_ask(const struct sp_lane *lane);

// Counts a miss towards that.
void sp_miss_count(struct sp_lane *lane);

struct sp_miss {
    struct sp_pool *pool; // pinned
    struct sp_lane *lane;
    struct sp_lane *shelf; // of a small block: the lane itself, unless that is crowded
    size_t size;
    unsigned int flags;
    bool loose;               // a small block gets no slab: see region/loose.h
    struct sp_outcome lacked; // by its last growth, if a part of the ladder was climbed before
    // By the overflow, if that was asked; or why there is none.
    struct sp_outcome overflowed;
    const char *no_overflow;
    // All 0 where the pool is watched, and then notes a growth that is to be told; else null.
    struct poolMemPoolGrowth *growth;
};

// Allocates. Where free memory may have been in flight (region/in_flight.h), it looks again
// before it says that there is none, and may wait for them some tens of milliseconds.
struct sp_outcome sp_miss_serve(const struct sp_miss *miss, uint64_t *address);

// Says why that has failed, and counts a failure for lack of memory.
poolError_t sp_miss_describe(const struct sp_miss *miss, struct sp_outcome outcome);

#endif
