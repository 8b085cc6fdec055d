#include "region/offer.h"

#include "order/poll.h"
#include "order/registry.h"
#include "region/quick.h"
#include "region/settle.h"

// A look for a stream at what the lane of another one offers.
struct look {
    const struct sp_pool *pool;
    struct sp_stream *stream;
    struct sp_lane *from;
    uint64_t size;
    unsigned int flags;
    struct sp_fence fence; // of the block that was found; the number 0: there was none
    enum sp_rule rule;     // by which the stream has it, or SP_RULE_NONE
};

// With the other lane's lock held. A block in a stitched view stays with its stream: the home
// memory under it has room for the fences of that stream alone.
static struct sp_block *find_locked(const struct look *look) {
    const struct sp_lane *from = look->from;
    const struct sp_quick_bin *bin = &from->quick[sp_quick_index(look->size)];
    struct sp_block *block = bin->head;
    bool is_offered = from->pool == look->pool && block && bin->size == look->size;
    return is_offered && sp_segment_of(block)->kind == SP_REGION_LARGE && block->fences.count == 1
               ? block
               : NULL;
}

// By rules 1 to 3. What the stream has by its clock is noted for it.
static enum sp_rule decide(const struct look *look, const struct sp_fence_set *fences) {
    const struct sp_pool *pool = look->pool;
    struct sp_stream *stream = look->stream;
    struct sp_fence fence = *sp_fence_set_at(fences, 0);
    struct sp_rule_facts facts = {
        .taker_slot = stream->slot,
        .taker_first = stream->first,
        .known_completed = sp_pool_knows(pool, fence) ? fence.sequence : 0,
        .follow_dependencies = !(look->flags & poolMallocSameStreamOnly) &&
                               sp_pool_policy(pool, poolMemPoolReuseFollowEventDependencies),
    };
    enum sp_rule rule = sp_fence_rule(fence, &facts);
    if (rule != SP_RULE_NONE || !facts.follow_dependencies)
        return rule;
    sp_lock_acquire(&stream->lock);
    facts.ordered_until = sp_fence_set_number(&stream->clock, fence.slot);
    rule = sp_fence_rule(fence, &facts);
    if (rule != SP_RULE_NONE)
        sp_registry_note_acquired_locked(stream, fences);
    sp_lock_release(&stream->lock);
    return rule;
}

static struct sp_block *take_locked(struct look *look) {
    struct sp_block *block = find_locked(look);
    look->fence = (struct sp_fence){0, 0};
    if (!block)
        return NULL;
    look->fence = *sp_fence_set_at(&block->fences, 0);
    look->rule = decide(look, &block->fences);
    if (look->rule == SP_RULE_NONE)
        return NULL;
    sp_quick_take(look->from, look->size);
    block->quick_next = NULL;
    sp_block_set_state(block, SP_BLOCK_BUSY);
    return block;
}

static struct sp_block *take(struct look *look) {
    sp_biased_lock_acquire(&look->from->lock);
    struct sp_block *block = take_locked(look);
    sp_biased_lock_release(&look->from->lock);
    return block;
}

// Asks for what is in the way of the block. True when it is out of the way.
static bool ask(const struct look *look) {
    const struct sp_stream *taker = look->stream;
    return look->fence.sequence > 0 && !(look->flags & poolMallocSameStreamOnly) &&
           sp_pool_may_ask(look->pool) &&
           sp_stream_is_of(sp_stream_at(look->fence.slot), taker->context, taker->context_id) &&
           sp_poll_fence(look->fence);
}

static enum sp_statistic statistic_of(enum sp_rule rule, bool asked) {
    if (rule == SP_RULE_COMPLETE)
        return asked ? SP_STATISTIC_ReuseFoundComplete : SP_STATISTIC_ReuseComplete;
    return rule == SP_RULE_ORDERED ? SP_STATISTIC_ReuseOrdered : SP_STATISTIC_ReuseSameStream;
}

struct sp_block *sp_offer_take(struct sp_pool *pool, struct sp_stream *stream, uint64_t size,
                               unsigned int flags) {
    struct look look = {.pool = pool,
                        .stream = stream,
                        .from = sp_load_relaxed(&pool->lanes.offers),
                        .size = size,
                        .flags = flags};
    if (!look.from || !(sp_load_relaxed(&look.from->quick_used) & 1u << sp_quick_index(size)))
        return NULL;
    struct sp_block *block = take(&look);
    bool asked = !block && ask(&look);
    if (asked)
        block = take(&look);
    if (!block)
        return NULL;
    sp_fence_set_prune(&block->fences, sp_pool_measure(pool));
    sp_pool_count(pool, statistic_of(look.rule, asked));
    return block;
}

// --------------------------------------------------------------------- what its stream runs after

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
static bool may_have_before(const struct sp_lane *lane, uint64_t size, unsigned int flags) {
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
static struct sp_block *find_before_locked(const struct sp_lane *lane, uint64_t size) {
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

struct sp_block *sp_offer_find_before_locked(struct sp_lane *lane, uint64_t size,
                                             unsigned int flags) {
    struct sp_stream *stream = lane->stream;
    if (!may_have_before(lane, size, flags))
        return NULL;
    sp_lock_acquire(&stream->lock);
    struct sp_block *block = find_before_locked(lane, size);
    if (block)
        sp_registry_note_acquired_locked(stream, &block->fences);
    sp_lock_release(&stream->lock);
    return block;
}
