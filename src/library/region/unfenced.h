// Unfenced memory: a lane holds back from others what was freed with no event behind it yet.
//
// A free for which the lane can't hold the extent (region/held.h) records an event.
#ifndef STREAMPOOL_REGION_UNFENCED_H
#define STREAMPOOL_REGION_UNFENCED_H

#include "base/number.h"
#include "region/lane.h"
#include "region/open.h"

// A put leaves these things to do, once the lane's lock is given back.
enum sp_left {
    SP_LEFT_RECORD =
        1, // the lane holds back more than it may: an event is to stand behind the free
    SP_LEFT_SHORTEN = 2, // its quick lists may have become long
    SP_LEFT_SLAB = 4,    // the slab is empty and unlinked: its run goes back to the region
    SP_LEFT_FILE = 8,    // the large block is BUSY: the quick lists have no place for it
    SP_LEFT_REAP = 16,   // the pool is given up
    SP_LEFT_ALL = 32,    // nothing was done: no live block of the lane begins there
    // The pool is needed for it. So the bytes are taken off the account last: a pool that was given
    // up may be taken apart once nothing is used.
    SP_LEFT_WITH_POOL = SP_LEFT_SLAB | SP_LEFT_FILE | SP_LEFT_REAP
};

// With the lane's lock held: so many events more were recorded behind its frees.
static inline void sp_unfenced_count_records_locked(struct sp_lane *lane, uint64_t more) {
    sp_store_relaxed(&lane->records, sp_load_relaxed(&lane->records) + more);
}

// Counts a free that lies in another place than the last one, or is the first under the number. Of
// a slab that was counted under the number there are no bytes.
unsigned sp_unfenced_count_late_locked(struct sp_lane *lane, uint64_t sequence, uint64_t address,
                                       uint64_t bytes);

// An event stands behind what was freed on the lane under a number, or it is known to be complete;
// or others can have one recorded.
static inline bool sp_unfenced_is_covered(const struct sp_lane *lane, uint64_t sequence) {
    return sequence <= sp_pool_covered_of(lane->pool, lane->stream) || sp_open_is(lane);
}

// Something that was freed on the lane may be pending, and no event stands behind it.
bool sp_unfenced_holds_back(const struct sp_lane *lane);

#endif
