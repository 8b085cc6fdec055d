#include "region/before.h"

#include "order/slot.h"
#include "region/settle.h"

// A stream that runs after more of them leaves the look to the ladder.
enum { STREAMS_MOST = 16 };

// All that is complete is ready, as far as it may serve a large request.
static bool is_settled(const struct sp_pool *pool) {
    const struct sp_region *region = &pool->regions[SP_REGION_LARGE];
    bool lanes_alone = region->waiting.bytes == 0 && region->unfenced.bytes == 0;
    return sp_settle_is_done(pool) || (lanes_alone && sp_settle_is_done_by_lanes(pool));
}

// Other lanes may have something that is large enough and that the stream may take by its clock,
// and no other memory is to be compared with that.
static bool may_have(const struct sp_lane *lane, uint64_t size, unsigned int flags) {
    const struct sp_pool *pool = lane->pool;
    const struct sp_region *region = &pool->regions[SP_REGION_LARGE];
    return size <= region->lanes_most && size > region->waiting.bytes &&
           size > region->unfenced.bytes &&
           (!sp_stream_acts(lane->stream) || sp_list_empty(&pool->lanes.legacy)) &&
           !(flags & poolMallocSameStreamOnly) &&
           sp_pool_policy(pool, poolMemPoolReuseFollowEventDependencies) && is_settled(pool);
}

// A search, and the best block so far.
struct search {
    const struct sp_lane *lane;
    uint64_t size;
    struct sp_block *best;
};

// Looks at the best fit of a tier of the stream that `until` names, after which the searching one
// runs up to there. False where the best fit is out of reach, and others of the tier may not be.
static bool look_at(struct search *search, const struct sp_tier *tier, struct sp_fence until) {
    struct sp_block *fit = sp_tier_best_fit(tier, search->size);
    if (!fit || (search->best && fit->size >= search->best->size))
        return true;
    struct sp_fence fence = *sp_fence_set_at(&fit->fences, 0);
    if (fence.sequence > until.sequence && !sp_pool_knows(search->lane->pool, fence))
        return sp_calendar_earliest(tier->calendar) > until.sequence;
    search->best = fit;
    return true;
}

static bool look_at_lane(struct search *search, const struct sp_lane *lane, struct sp_fence until) {
    if (!lane || lane == search->lane)
        return true;
    return look_at(search, &lane->tiers[SP_REGION_LARGE], until) &&
           look_at(search, &lane->unfenced[SP_REGION_LARGE], until);
}

// With the stream's lock held, under which the clock stays as it is.
static struct sp_block *find_locked(const struct sp_lane *lane, uint64_t size) {
    const struct sp_fence_set *clock = &lane->stream->clock;
    struct search search = {.lane = lane, .size = size};
    if (clock->count > STREAMS_MOST)
        return NULL;
    for (uint32_t i = 0; i < clock->count; i++) {
        struct sp_fence until = *sp_fence_set_at(clock, i);
        if (!look_at_lane(&search, sp_lane_find(lane->pool, until.slot), until))
            return NULL;
    }
    return search.best;
}

struct sp_block *sp_before_find_locked(struct sp_lane *lane, uint64_t size, unsigned int flags) {
    struct sp_stream *stream = lane->stream;
    if (!may_have(lane, size, flags))
        return NULL;
    sp_lock_acquire(&stream->lock);
    struct sp_block *block = find_locked(lane, size);
    if (block)
        sp_slot_note_acquired_locked(stream, &block->fences);
    sp_lock_release(&stream->lock);
    return block;
}
