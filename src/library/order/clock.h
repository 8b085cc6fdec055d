// Clocks: a clock says what a stream is known to run after.
//
// A clock holds, for some streams, the latest sequence number that the clock's owner is ordered
// behind. It is sparse and sorted by slot, and entries that are known to be complete may be dropped
// at any time, for they say nothing: so a clock is no larger than the number of streams with work
// pending. Plain values: nothing here knows a driver or a lock.
//
//   entries[i].slot < entries[i + 1].slot
#ifndef STREAMPOOL_ORDER_CLOCK_H
#define STREAMPOOL_ORDER_CLOCK_H

#include "order/fence.h"

// A zeroed clock is empty. Clearing gives back what it allocated.
struct sp_clock {
    uint32_t count;
    uint32_t capacity;
    struct sp_fence *entries;
};

void sp_clock_clear(struct sp_clock *clock);

// Returns the number that the owner is ordered behind in the stream of a slot; 0 when none is
// known.
uint64_t sp_clock_at(const struct sp_clock *clock, uint32_t slot);

// A walk tells the same of slots that rise from call to call, so all of these together look at each
// entry once. The clock stays as it is meanwhile.
struct sp_clock_walk {
    const struct sp_clock *clock;
    uint32_t at;
};
static inline uint64_t sp_clock_walk_to(struct sp_clock_walk *walk, uint32_t slot) {
    const struct sp_clock *clock = walk->clock;
    while (walk->at < clock->count && clock->entries[walk->at].slot < slot)
        walk->at++;
    return walk->at < clock->count && clock->entries[walk->at].slot == slot
               ? clock->entries[walk->at].sequence
               : 0;
}

// The next three are false without host memory; then the clock says less than it might, and nothing
// that isn't so.

// Raises one entry.
bool sp_clock_raise(struct sp_clock *clock, struct sp_fence fence);

// Raises all entries of another clock.
bool sp_clock_join(struct sp_clock *clock, const struct sp_clock *from);

// Copies another clock into an empty one.
bool sp_clock_copy(struct sp_clock *clock, const struct sp_clock *from);

// Drops every entry for which `gone` says so.
void sp_clock_prune(struct sp_clock *clock, bool (*gone)(struct sp_fence fence));

#endif
