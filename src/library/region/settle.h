// Which tier a free block is put into, and how it moves when its fences complete.
//
// All with the pool's lock held.
#ifndef STREAMPOOL_REGION_SETTLE_H
#define STREAMPOOL_REGION_SETTLE_H

#include "order/progress.h"
#include "region/lane.h"

#include "base/cold.h"

// How a free block is put into a tier.
typedef struct sp_block *sp_settle_how(struct sp_pool *pool, struct sp_block *block);

// Puts a block that is in no index into the tier that its fences, less those that are complete,
// allow. Returns the block that it became part of. The second, for a lane that is about to
// allocate, lets a lane's block swallow ready neighbours of its size or less: that places better,
// but what is swallowed is held back from others until the lane's fences complete.
sp_settle_how sp_settle_insert;
sp_settle_how sp_settle_insert_and_swallow;

// Moves memory whose fences have completed since the last look to the ready tiers; and what of a
// lane's has an event behind it now to what others can have. The work is in proportion to what has
// moved, but for memory that waits for several streams; the lock is given back now and then. The
// second does no more than others can wait for, and tells whether that was all.
void sp_settle_all(struct sp_pool *pool);
bool sp_settle_part(struct sp_pool *pool);

// Does so for what waits for one stream alone, without looking at the rest: as much as others can
// wait for, and tells whether that was all.
bool sp_settle_lanes_part(struct sp_pool *pool);

// Nothing has become known since the tiers were last looked through to the end; or those of the
// lanes were.
static inline bool sp_settle_is_done(const struct sp_pool *pool) {
    return pool->settled == sp_progress_news(sp_pool_goes_by(pool));
}
static inline bool sp_settle_is_done_by_lanes(const struct sp_pool *pool) {
    return pool->settled_lanes == sp_progress_news(sp_pool_goes_by(pool));
}

// Some free memory isn't known to be complete.
bool sp_settle_is_any_pending(const struct sp_pool *pool);

// Moves what has an event behind it now, for one lane's tiers in a region, with the lock held
// throughout: some hundred blocks at most, and the rest at later calls. Who puts a block among the
// unfenced ones moves its neighbours there himself, if they are late.
enum { SP_SETTLED_AT_ONCE = 256, SP_SETTLED_LATER = 4 };
void sp_settle_reinsert_unfenced(struct sp_lane_tiers *tiers, uint64_t covered);
static inline void sp_settle_fenced(const struct sp_lane *lane, enum sp_region_kind kind) {
    struct sp_lane_tiers *tiers = lane->tiers[kind];
    uint64_t covered = sp_pool_covered_of(lane->pool, lane->stream);
    if (SP_UNLIKELY((covered != tiers->covered.now || sp_calendar_is_behind(&tiers->covered)) &&
                    sp_lane_has_tiers(lane, kind)))
        sp_settle_reinsert_unfenced(tiers, covered);
}

// True when a free block stands among those that no event stood behind, and none does since.
bool sp_settle_is_unfenced(const struct sp_pool *pool, const struct sp_block *block);

// True when nobody uses memory with these fences any more, as far as the pool knows: it is ready
// once it is settled. Needs no lock but one that guards the fences.
bool sp_settle_is_complete(const struct sp_pool *pool, const struct sp_fence_set *fences);

#endif
