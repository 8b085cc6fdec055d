// Shares: how many bytes each lane of a pool may hold back (region/unfenced.h), of what the
// attribute UnfencedBytesMax allows all of them together.
//
// Each lane may always hold back an equal part. A lane that frees more claims what others leave:
// the parts of those that are idle, but for what these hold back still. Who is idle is looked at
// when a lane's claims have been in vain for a while: shares are reviewed then.
//
// Two limits keep memory within others' reach. The first claims of a stream get nothing: one that
// comes and goes claims none, and so the n-th of them holds back at most an n-th when it is gone.
// And of a share that has grown little goes to large blocks, which others could use.
//
// An open lane (region/open.h) has no limit, and in a pool that is to record each free the shares
// are 0.
#ifndef STREAMPOOL_REGION_SHARE_H
#define STREAMPOOL_REGION_SHARE_H

#include "region/lane.h"

// The default of poolMemPoolAttrUnfencedBytesMax, or that part of what the pool has reserved if it
// is more. See docs/notes/unfenced-bytes.md.
#define SP_UNFENCED_MAX  ((uint64_t)8 << 20)
#define SP_UNFENCED_PART 64

// The value of poolMemPoolAttrUnfencedBytesMax now, and the equal part of it for each lane.
uint64_t sp_share_max(const struct sp_pool *pool);
uint64_t sp_share_part(const struct sp_pool *pool);

// Returns what the lane holds back: the bytes that it has counted, as long as no event stands
// behind them. Who doesn't hold the lane's lock may be told somewhat too little or too much.
uint64_t sp_share_used(const struct sp_lane *lane);

// With the lane's lock held, as the next one: the lane may claim more than its share. One that is
// alone has all that there is, and an anonymous stream has recorded each free.
static inline bool sp_share_may_claim(const struct sp_lane *lane) {
    return sp_load_relaxed(&lane->pool->lanes.count) > 1 && !lane->records_each_free &&
           sp_load_relaxed(&lane->unfenced_most) > 0;
}

// Makes the lane's share as large as what it holds back, which is more since a small block was
// freed, or a large one. False when that can't be had.
bool sp_share_claim(struct sp_lane *lane, bool large);

// All with the pool's lock held.

// Gives each lane the equal part, when something that this depends on has changed: the pool's
// attribute, what it has reserved, the number of its lanes, its promises, that it is short of
// memory or given up.
void sp_share_deal(struct sp_pool *pool);

// Does so where the equal part has changed alone: of several lanes once it has by more than an
// eighth, for what was claimed is to be claimed anew then.
void sp_share_deal_again(struct sp_pool *pool);

// Does so with no lane open any more, until shares are dealt again.
void sp_share_deal_closed(struct sp_pool *pool);

// Sets the share of a new lane, which is in the pool's list.
void sp_share_begin(struct sp_lane *lane);

#endif
