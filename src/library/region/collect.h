// From the lanes back to the regions: quick lists, and slabs in which nothing is live.
#ifndef STREAMPOOL_REGION_COLLECT_H
#define STREAMPOOL_REGION_COLLECT_H

#include "region/settle.h"

// Puts what the lanes hold free back into the regions, and settles these, so that who takes the map
// lock next has little to settle while others wait for it. Takes each lane's lock in turn.
void sp_collect_all(struct sp_pool *pool);

// Puts it back up to a pause, from so many lanes at most, which it counts down; those come first
// that have waited longest. True when that was all that these have.
bool sp_collect_part(struct sp_pool *pool, uint32_t *lanes);

// Puts a large block of exactly this size, or none, back into its region: out of the quick list of
// the lane that *offers*. Of the lanes that share a pool that is the one which recorded an event
// behind a free last. Each of them keeps the block that it gave out last (region/quick.h), where
// others find it by a look through all lanes alone; and a large block that goes from stream to
// stream mostly has an event behind its free. With no lock held, nor a pin.
bool sp_collect_offered(struct sp_pool *pool, const struct sp_lane *to, uint64_t size);

// Puts the quick lists of one lane back.
void sp_collect_quick(struct sp_lane *lane, sp_settle_how *insert);

// Takes blocks out of the quick lists, with the lane's lock held: a chain by quick_next, so many at
// most, for which nobody waits long; quick_used tells whether there are more. The second takes
// those of another size that stand in the way of a block of this one, and they are in flight, up to
// sp_collect_flush_detached().
enum { SP_DETACHED_AT_ONCE = 256 };
struct sp_block *sp_collect_detach_locked(struct sp_lane *lane);
struct sp_block *sp_collect_detach_other_locked(struct sp_lane *lane, uint64_t size);

// A quick list keeps so many blocks, for who frees more than that looks at each of them again
// before his next miss is served; the oldest go to the tiers. With no lock held, and the lane may
// be another's by now.
enum { SP_QUICK_BLOCKS = 2048 };
void sp_collect_shorten(struct sp_lane *lane, struct sp_pool *pool, const struct sp_stream *stream);

// Put such a chain, or none, into the regions; the second with the pool's lock held. The third
// one's is in flight, and then no more.
void sp_collect_flush(struct sp_pool *pool, struct sp_block *blocks, sp_settle_how *insert);
void sp_collect_flush_locked(struct sp_pool *pool, struct sp_block *blocks, sp_settle_how *insert);
void sp_collect_flush_detached(struct sp_pool *pool, struct sp_block *blocks,
                               sp_settle_how *insert);

// Gives the run of an empty slab, unlinked from its lane, back to its region, with the fences of
// the slab: it is in flight no more.
void sp_collect_slab(struct sp_pool *pool, struct sp_lane *lane, struct sp_slab *slab);

#endif
