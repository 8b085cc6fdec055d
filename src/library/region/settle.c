#include "region/settle.h"

#include "region/device.h"
#include "region/held.h"
#include "region/lane.h"
#include "region/segment.h"

// The lane that all fences of a block are of, or null.
static inline struct sp_lane *lane_of(const struct sp_pool *pool,
                                      const struct sp_fence_set *fences) {
    return fences->count == 1 ? sp_lane_find(pool, sp_fence_set_at(fences, 0)->slot) : NULL;
}

// Returns the tier for a block that is no lane's.
static struct sp_tier *tier_of_region(struct sp_pool *pool, enum sp_region_kind kind,
                                      const struct sp_fence_set *fences) {
    bool fenced = true;
    for (uint32_t i = 0; fenced && i < fences->count; i++) {
        struct sp_fence fence = *sp_fence_set_at(fences, i);
        const struct sp_lane *lane = sp_lane_find(pool, fence.slot);
        fenced = fence.sequence <= sp_pool_covered_of(pool, sp_stream_at(fence.slot)) ||
                 (lane && sp_held_is_lazy(lane));
    }
    return fenced ? &pool->regions[kind].waiting : &pool->regions[kind].unfenced;
}

// The tier that a block with these fences belongs to: ready without any; a lane's when all are of
// its stream. Memory with no event behind it never joins memory with one: others could have that,
// and a block has the fences of all that has joined it. A lazy lane need not tell them apart:
// whoever wants its memory can have an event recorded. Without host memory for the lane's tiers the
// block stands among those that wait for several streams.
static inline struct sp_tier *tier_for(struct sp_pool *pool, enum sp_region_kind kind,
                                       const struct sp_fence_set *fences, struct sp_lane *lane) {
    if (sp_fence_set_empty(fences))
        return &pool->regions[kind].ready;
    struct sp_lane_tiers *tiers = lane ? lane->tiers[kind] : NULL;
    if (SP_UNLIKELY(tiers == &sp_lane_no_tiers))
        tiers = sp_lane_make_tiers(lane, kind);
    if (!tiers)
        return tier_of_region(pool, kind, fences);
    bool fenced =
        sp_fence_set_at(fences, 0)->sequence <= tiers->covered.now || sp_held_is_lazy(lane);
    return fenced ? &tiers->fenced : &tiers->unfenced;
}

static inline void note_size(struct sp_pool *pool, const struct sp_lane *lane,
                             const struct sp_block *inserted) {
    struct sp_region *region = &pool->regions[sp_segment_of(inserted)->kind];
    if (lane && inserted->size > region->lanes_most)
        region->lanes_most = inserted->size;
}

// Moves a free block to where its fences, less those that are complete, say. False when that is
// where it is.
static bool reinsert(struct sp_pool *pool, struct sp_block *block) {
    sp_fence_set_prune(&block->fences, sp_pool_measure(pool));
    struct sp_lane *lane = lane_of(pool, &block->fences);
    struct sp_tier *tier = tier_for(pool, sp_segment_of(block)->kind, &block->fences, lane);
    if (tier == block->tier)
        return false;
    sp_tier_remove(block);
    // This looks at no other one: a tier is being walked.
    note_size(pool, lane, sp_tier_insert(tier, block));
    return true;
}

// Among unfenced blocks that have not been looked through since: a neighbour with an event behind
// it by now doesn't stay there.
SP_APART static struct sp_block *insert_beside_late(struct sp_pool *pool, struct sp_tier *tier,
                                                    struct sp_block *block) {
    if (block->prev && block->prev->tier == tier)
        reinsert(pool, block->prev);
    if (block->next && block->next->tier == tier)
        reinsert(pool, block->next);
    return sp_tier_insert(tier, block);
}

// A neighbour that is complete doesn't wait for the block that is put beside it.
static inline void reinsert_complete(struct sp_pool *pool, const struct sp_tier *tier,
                                     struct sp_block *neighbour) {
    if (neighbour && neighbour->tier == tier &&
        SP_UNLIKELY(sp_pool_knows(pool, *sp_fence_set_at(&neighbour->fences, 0))))
        reinsert(pool, neighbour);
}

// The neighbour as ready memory that a block of a lane may swallow, or null. What is swallowed is
// held back, so it lies in an extent of the block.
static struct sp_block *swallowable(const struct sp_lane *lane, const struct sp_block *block,
                                    struct sp_block *neighbour) {
    enum sp_region_kind kind = sp_segment_of(block)->kind;
    if (!neighbour || neighbour->tier != &lane->pool->regions[kind].ready ||
        neighbour->size > block->size)
        return NULL;
    uint64_t first = neighbour == block->next ? neighbour->address - 1 : neighbour->address;
    bool lies_there = sp_held_is_lazy(lane) || sp_space_is_one_extent(&lane->pool->device->space,
                                                                      first, neighbour->size + 1);
    return lies_there ? neighbour : NULL;
}

// A block among the unfenced ones that has an event behind it by now is moved before another one
// can join it.
static inline struct sp_block *insert(struct sp_pool *pool, struct sp_block *block, bool swallows) {
    enum sp_region_kind kind = sp_segment_of(block)->kind;
    if (SP_UNLIKELY(sp_segment_of(block)->is_lost))
        return sp_lost_drop(pool, block);
    sp_fence_set_prune(&block->fences, sp_pool_measure(pool));
    struct sp_lane *lane = lane_of(pool, &block->fences);
    struct sp_block *next = lane && swallows ? swallowable(lane, block, block->next) : NULL;
    if (next) {
        sp_tier_remove(next);
        sp_block_absorb_next(block); // ready memory has no fences, so this needs no memory
    }
    struct sp_block *prev = lane && swallows ? swallowable(lane, block, block->prev) : NULL;
    if (prev) {
        sp_tier_remove(prev);
        sp_block_absorb_next(prev); // one fence has its place in the set itself
        block = prev;
    }
    if (lane)
        sp_settle_fenced(lane, kind);
    struct sp_tier *tier = tier_for(pool, kind, &block->fences, lane);
    bool may_have_late = tier == &pool->regions[kind].unfenced;
    if (lane) {
        reinsert_complete(pool, tier, block->prev);
        reinsert_complete(pool, tier, block->next);
        may_have_late |= SP_UNLIKELY(sp_calendar_is_behind(&lane->tiers[kind]->covered)) &&
                         tier == &lane->tiers[kind]->unfenced;
    }
    struct sp_block *inserted =
        may_have_late ? insert_beside_late(pool, tier, block) : sp_tier_insert(tier, block);
    note_size(pool, lane, inserted);
    return inserted;
}

struct sp_block *sp_settle_insert(struct sp_pool *pool, struct sp_block *block) {
    return insert(pool, block, false);
}

struct sp_block *sp_settle_insert_and_swallow(struct sp_pool *pool, struct sp_block *block) {
    return insert(pool, block, true);
}

// ---------------------------------------------------------------------------------------- settling

// Moves blocks that are over by a calendar, as many as there are looks for. False: not all, maybe.
static bool reinsert_over(struct sp_pool *pool, struct sp_calendar *calendar, unsigned *looks) {
    struct sp_block *block;
    while ((block = sp_calendar_next_over(calendar, looks))) {
        if (!reinsert(pool, block))
            break; // it can't be: what a calendar takes for over has somewhere else to go
    }
    return !sp_calendar_is_behind(calendar);
}

// Unfenced blocks of a lazy lane are of the time before it was lazy. A block that is moved
// elsewhere is never merged with one of this tier, so the next one stays valid.
static bool reinsert_unfenced(struct sp_lane_tiers *tiers, uint64_t covered, unsigned *looks) {
    struct sp_pool *pool = tiers->lane->pool;
    sp_calendar_advance(&tiers->covered, covered);
    if (!reinsert_over(pool, &tiers->covered, looks))
        return false;
    struct sp_block *block = sp_held_is_lazy(tiers->lane) ? sp_tier_first(&tiers->unfenced) : NULL;
    while (block) {
        struct sp_block *next = sp_tier_next(block);
        reinsert(pool, block);
        block = next;
    }
    return true;
}

void sp_settle_reinsert_unfenced(struct sp_lane_tiers *tiers, uint64_t covered) {
    unsigned looks = covered != tiers->covered.now ? SP_SETTLED_AT_ONCE : SP_SETTLED_LATER;
    reinsert_unfenced(tiers, covered, &looks);
}

// False when there is more to do. Tiers that are empty by then, end.
static bool settle_tiers(struct sp_lane *lane, enum sp_region_kind kind, unsigned *looks) {
    struct sp_pool *pool = lane->pool;
    struct sp_lane_tiers *tiers = lane->tiers[kind];
    if (!sp_lane_has_tiers(lane, kind))
        return true;
    if (!reinsert_unfenced(tiers, sp_pool_covered_of(pool, lane->stream), looks))
        return false;
    sp_calendar_advance(&tiers->due, sp_pool_known_of(pool, lane->stream));
    bool whole = reinsert_over(pool, &tiers->due, looks);
    if (tiers->fenced.bytes == 0 && tiers->unfenced.bytes == 0)
        sp_lane_end_tiers(lane, kind);
    return whole;
}

// The lanes of the streams that have brought the news since, where it is known which these are, and
// there are fewer of them than lanes with tiers. Else all of these.
static bool settle_by_news(struct sp_pool *pool, uint64_t seen, uint64_t news, unsigned *looks) {
    uint32_t slot;
    bool is_known = seen <= news && news - seen <= pool->lanes.with_tiers;
    for (uint64_t number = seen; is_known && number < news; number++) {
        is_known = sp_progress_news_of(sp_pool_goes_by(pool), number, &slot);
        struct sp_lane *lane = is_known ? sp_lane_find(pool, slot) : NULL;
        for (int kind = 0; lane && kind < SP_REGION_COUNT; kind++) {
            if (!settle_tiers(lane, (enum sp_region_kind)kind, looks))
                return false;
        }
    }
    for (int kind = 0; !is_known && kind < SP_REGION_COUNT; kind++) {
        SP_LIST_FOR_EACH_SAFE(link, &pool->regions[kind].lanes) {
            struct sp_lane_tiers *tiers = SP_CONTAINER_OF(link, struct sp_lane_tiers, link);
            if (!settle_tiers(tiers->lane, (enum sp_region_kind)kind, looks))
                return false;
        }
    }
    return true;
}

bool sp_settle_lanes_part(struct sp_pool *pool) {
    unsigned looks = SP_SETTLED_AT_ONCE;
    uint64_t news = sp_progress_news(sp_pool_goes_by(pool));
    uint64_t seen = pool->settled_lanes;
    bool settled = seen == news || settle_by_news(pool, seen, news, &looks);
    if (settled)
        pool->settled_lanes = news;
    return settled;
}

// Looks at all that waits for several streams: no number says when it is over. The next block may
// be another one when the lock was given back meanwhile.
static void settle_tier(struct sp_pool *pool, struct sp_tier *tier) {
    unsigned looks = SP_SETTLED_AT_ONCE;
    struct sp_block *block = tier->bytes > 0 ? sp_tier_first(tier) : NULL;
    while (block) {
        struct sp_block *next = sp_tier_next(block);
        uint64_t size = next ? next->size : 0;
        uint64_t rank = next ? sp_chain_rank(next) : 0;
        reinsert(pool, block);
        block = next;
        if (next && --looks == 0) {
            sp_lock_give_way(&pool->lock);
            looks = SP_SETTLED_AT_ONCE;
            block = sp_tier_from(tier, size, rank);
        }
    }
}

// Where several threads are at it at once, and when the pool's measure changes meanwhile, the next
// call looks again.
bool sp_settle_part(struct sp_pool *pool) {
    enum { AT_WORK = -2 };
    unsigned looks = SP_SETTLED_AT_ONCE;
    uint64_t news = sp_progress_news(sp_pool_goes_by(pool));
    uint64_t seen = pool->settled;
    if (news == seen)
        return true;
    if (seen > news)
        pool->settled = seen = (uint64_t)AT_WORK;
    if (!settle_by_news(pool, seen, news, &looks))
        return false;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        settle_tier(pool, &pool->regions[kind].waiting);
        settle_tier(pool, &pool->regions[kind].unfenced);
    }
    if (pool->settled == seen)
        pool->settled = news;
    return true;
}

void sp_settle_all(struct sp_pool *pool) {
    while (!sp_settle_part(pool))
        sp_lock_give_way(&pool->lock);
}

bool sp_settle_is_any_pending(const struct sp_pool *pool) {
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        const struct sp_region *region = &pool->regions[kind];
        if (region->waiting.bytes + region->unfenced.bytes > 0)
            return true;
        SP_LIST_FOR_EACH_OF(const struct sp_lane_tiers, tiers, link, &region->lanes) {
            if (tiers->fenced.bytes + tiers->unfenced.bytes > 0)
                return true;
        }
    }
    return false;
}

// An event may have come since the block was put there.
static bool is_covered(const struct sp_pool *pool, struct sp_fence fence) {
    return fence.sequence <= sp_pool_covered_of(pool, sp_stream_at(fence.slot));
}

bool sp_settle_is_unfenced(const struct sp_pool *pool, const struct sp_block *block) {
    enum sp_region_kind kind = sp_segment_of(block)->kind;
    const struct sp_lane *lane = lane_of(pool, &block->fences);
    bool stands_there = block->tier == &pool->regions[kind].unfenced ||
                        (lane && block->tier == &lane->tiers[kind]->unfenced);
    uint32_t i = 0;
    while (i < block->fences.count && is_covered(pool, *sp_fence_set_at(&block->fences, i)))
        i++;
    return stands_there && i < block->fences.count;
}

bool sp_settle_is_complete(const struct sp_pool *pool, const struct sp_fence_set *fences) {
    uint32_t i = 0;
    while (i < fences->count && sp_pool_knows(pool, *sp_fence_set_at(fences, i)))
        i++;
    return i == fences->count;
}
