// Unfenced bytes: a lane holds back from others what was freed with no event behind it yet.
//
// Each lane may hold back an equal part of what the pool's attribute allows; the free that crosses
// it records an event. All with the lane's lock held where nothing else is said.
#ifndef STREAMPOOL_REGION_UNFENCED_H
#define STREAMPOOL_REGION_UNFENCED_H

#include "base/number.h"
#include "region/lane.h"

// Counts bytes freed under `sequence` as unfenced; true when they are now more than the pool
// allows. Lane's lock held.
bool sp_unfenced_count(struct sp_lane *lane, uint64_t sequence, uint64_t bytes);

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
unsigned sp_unfenced_count_late_locked(struct sp_lane *lane, uint64_t sequence, uint64_t bytes);

// Takes back the count of bytes that the lane's own stream takes again: they are held back from
// nobody. Of bytes that were counted under an older number nobody knows whether they still are.
static inline void sp_unfenced_uncount(struct sp_lane *lane, uint64_t sequence, uint64_t bytes) {
    uint64_t counted = sp_load_relaxed(&lane->unfenced_bytes);
    if (sequence != sp_load_relaxed(&lane->unfenced_sequence))
        return;
    sp_store_relaxed(&lane->unfenced_bytes, sp_excess(counted, bytes));
}

// The value of poolMemPoolAttrUnfencedBytesMax now.
uint64_t sp_unfenced_max(const struct sp_pool *pool);

// Computes anew what each lane may hold back, when something that this depends on has changed: the
// pool's attribute, what it has reserved, the number of its lanes, that it is short of memory or
// given up. With the pool's lock held.
void sp_unfenced_share_out(struct sp_pool *pool);

// Does so where the equal part has changed alone: not for each lane of many, as long as it has
// changed by less than an eighth.
void sp_unfenced_share_again(struct sp_pool *pool);

// Something that was freed on the lane may be pending, and no event stands behind it.
bool sp_unfenced_holds_back(const struct sp_lane *lane);

// The equal part of what the pool allows that each lane may hold back.
uint64_t sp_unfenced_part(const struct sp_pool *pool);

// With the pool's lock held: sets what a new lane may hold back.
void sp_unfenced_set_most(struct sp_lane *lane);

// The program has promised what it takes for open lanes; lanes of the pool may be open, by that or
// because their streams are seen; the stream may be borrowed for what its lane holds back; its lane
// is to be open; none is any more, until all is shared out again.
bool sp_unfenced_is_promised(const struct sp_pool *pool);
bool sp_unfenced_may_be_open(const struct sp_pool *pool);
bool sp_unfenced_may_borrow(const struct sp_pool *pool, const struct sp_stream *stream);
bool sp_unfenced_opens(const struct sp_pool *pool, const struct sp_stream *stream);
void sp_unfenced_close(struct sp_pool *pool);

// True when the lane is open: see sp_open_lanes_fence().
static inline bool sp_unfenced_is_open(const struct sp_lane *lane) {
    return sp_load_relaxed(&lane->unfenced_most) == UINT64_MAX;
}

#endif
