// Unfenced bytes: a lane holds back from others what was freed with no event behind it yet.
//
// The free that brings a lane above its share (region/share.h) records an event. All with the
// lane's lock held where nothing else is said.
#ifndef STREAMPOOL_REGION_UNFENCED_H
#define STREAMPOOL_REGION_UNFENCED_H

#include "base/number.h"
#include "region/lane.h"

// Counts bytes freed under `sequence` as unfenced, those of a slab or of a large block; true when
// they are now more than the lane's share, and it can't have a larger one.
bool sp_unfenced_count(struct sp_lane *lane, uint64_t sequence, uint64_t bytes, bool large);

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

// Counts the bytes of a free where they are the first that no event stands behind under the number,
// or too many.
unsigned sp_unfenced_count_late_locked(struct sp_lane *lane, uint64_t sequence, uint64_t bytes,
                                       bool large);

// Takes back the count of bytes that the lane's own stream takes again: they are held back from
// nobody. Of bytes that were counted under an older number nobody knows whether they still are.
static inline void sp_unfenced_uncount(struct sp_lane *lane, uint64_t sequence, uint64_t bytes) {
    uint64_t counted = sp_load_relaxed(&lane->unfenced_bytes);
    if (sequence != sp_load_relaxed(&lane->unfenced_sequence))
        return;
    sp_store_relaxed(&lane->unfenced_bytes, sp_excess(counted, bytes));
}

// Something that was freed on the lane may be pending, and no event stands behind it.
bool sp_unfenced_holds_back(const struct sp_lane *lane);

#endif
