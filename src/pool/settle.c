#include "pool/settle.h"

// The lane that all fences of a block are of, or null.
static inline struct sp_lane *lane_of(const struct sp_pool *pool, const struct sp_fence_set *fences) {
    return fences->count == 1 ? sp_pool_find_lane(pool, sp_fence_set_at(fences, 0)->slot) : NULL;
}

// What has no event behind it never joins what has: others could have that, and the fences of a block are those of all that has joined
// it. An open lane has no need to tell them apart: whoever wants its memory can have an event recorded.
static inline struct sp_tier *tier_of_lane(struct sp_lane *lane, enum sp_region_kind kind,
                                           uint64_t sequence) {
    bool fenced = sequence <= lane->fenced || sp_lane_is_open(lane);
    return fenced ? &lane->tiers[kind] : &lane->unfenced[kind];
}

static bool is_fenced(const struct sp_pool *pool, struct sp_fence fence) {
    const struct sp_lane *lane = sp_pool_find_lane(pool, fence.slot);
    return fence.sequence <= sp_stream_covered(sp_stream_at(fence.slot)) || (lane && sp_lane_is_open(lane));
}

// The same for what is no lane's.
static struct sp_tier *tier_of_region(struct sp_pool *pool, enum sp_region_kind kind,
                                      const struct sp_fence_set *fences) {
    bool fenced = true;
    for (uint32_t i = 0; i < fences->count; i++)
        fenced = fenced && is_fenced(pool, *sp_fence_set_at(fences, i));
    return fenced ? &pool->regions[kind].waiting : &pool->regions[kind].unfenced;
}

// The tier that a block with these fences belongs to: ready without any; a lane's when all are of its stream.
static inline struct sp_tier *tier_for(struct sp_pool *pool, enum sp_region_kind kind,
                                       const struct sp_fence_set *fences, struct sp_lane *lane) {
    if (sp_fence_set_empty(fences))
        return &pool->regions[kind].ready;
    return lane ? tier_of_lane(lane, kind, sp_fence_set_at(fences, 0)->sequence)
                : tier_of_region(pool, kind, fences);
}

// Files a free block again where its fences, less those that are complete, say.
static void refile(struct sp_pool *pool, struct sp_block *block) {
    sp_fence_set_prune(&block->fences, sp_pool_measure(pool));
    struct sp_tier *tier =
        tier_for(pool, sp_segment_of(block)->kind, &block->fences, lane_of(pool, &block->fences));
    if (tier == block->tier)
        return;
    sp_tier_remove(block);
    sp_tier_insert(tier, block); // and looks at no other one: a tier is being walked
}

static void refile_neighbour(struct sp_pool *pool, const struct sp_tier *tier, struct sp_block *neighbour) {
    if (neighbour && neighbour->tier == tier)
        refile(pool, neighbour);
}

SP_APART static struct sp_block *insert_into_region(struct sp_pool *pool, struct sp_tier *tier,
                                                    struct sp_block *block) {
    if (tier == &pool->regions[sp_segment_of(block)->kind].unfenced) {
        refile_neighbour(pool, tier, block->prev);
        refile_neighbour(pool, tier, block->next);
    }
    return sp_tier_insert(tier, block);
}

// A block whose fences have been pruned, and the lane that they are of. What lies among the unfenced blocks and has an event behind it by
// now is moved before another one can join it.
static inline struct sp_block *insert_pruned(struct sp_pool *pool, struct sp_block *block,
                                             struct sp_lane *lane) {
    if (lane)
        sp_lane_settle_fenced(lane);
    struct sp_tier *tier = tier_for(pool, sp_segment_of(block)->kind, &block->fences, lane);
    return lane || sp_fence_set_empty(&block->fences) ? sp_tier_insert(tier, block)
                                                      : insert_into_region(pool, tier, block);
}

struct sp_block *sp_pool_insert(struct sp_pool *pool, struct sp_block *block) {
    sp_fence_set_prune(&block->fences, sp_pool_measure(pool));
    return insert_pruned(pool, block, lane_of(pool, &block->fences));
}

// The neighbour as ready memory that a block of a lane may swallow, or null. What is swallowed counts as held back, so there is as much
// of it at most as the lane may hold back.
static struct sp_block *swallowable(const struct sp_lane *lane, const struct sp_block *block,
                                    struct sp_block *neighbour) {
    enum sp_region_kind kind = sp_segment_of(block)->kind;
    if (!neighbour || neighbour->tier != &lane->pool->regions[kind].ready || neighbour->size > block->size)
        return NULL;
    uint64_t most = atomic_load_explicit(&lane->unfenced_most, memory_order_relaxed);
    return lane->unfenced[kind].bytes + neighbour->size <= most ? neighbour : NULL;
}

struct sp_block *sp_pool_insert_and_swallow(struct sp_pool *pool, struct sp_block *block) {
    sp_fence_set_prune(&block->fences, sp_pool_measure(pool));
    struct sp_lane *lane = lane_of(pool, &block->fences);
    if (!lane)
        return insert_pruned(pool, block, NULL);
    struct sp_block *next = swallowable(lane, block, block->next);
    if (next) {
        sp_tier_remove(next);
        sp_block_absorb_next(block); // ready memory has no fences, so this needs no memory
    }
    struct sp_block *prev = swallowable(lane, block, block->prev);
    if (prev) {
        sp_tier_remove(prev);
        sp_block_absorb_next(prev); // one fence has its place in the set itself
        block = prev;
    }
    return insert_pruned(pool, block, lane);
}

// ----------------------------------------------------------------------------------------------- settling

// A block that is filed elsewhere may be merged with blocks there, never with one of this tier. So the next
// one stays valid.
static void refile_tier(struct sp_pool *pool, struct sp_tier *tier) {
    struct sp_block *block = sp_tier_first(tier);
    while (block) {
        struct sp_block *next = sp_tier_next(block);
        refile(pool, block);
        block = next;
    }
}

void sp_lane_refile_unfenced(struct sp_lane *lane, uint64_t covered) {
    lane->fenced = covered;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        refile_tier(lane->pool, &lane->unfenced[kind]);
}

static void settle_lane(struct sp_pool *pool, struct sp_lane *lane) {
    sp_lane_settle_fenced(lane);
    uint64_t completed = sp_stream_completed(lane->stream);
    if (completed == lane->settled && !sp_pool_is_deterministic(pool))
        return;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        refile_tier(pool, &lane->tiers[kind]);
    lane->settled = completed;
}

static void refile_region(struct sp_pool *pool, struct sp_region *region) {
    refile_tier(pool, &region->waiting);
    refile_tier(pool, &region->unfenced);
}

// The lanes of the streams that have brought news since. False when there are more news than lanes, or when
// it isn't known any more whose they are.
static bool settle_by_news(struct sp_pool *pool, uint64_t news) {
    uint32_t slot;
    if (pool->settled > news ||
        news - pool->settled > atomic_load_explicit(&pool->lane_count, memory_order_relaxed))
        return false;
    for (uint64_t number = pool->settled; number < news; number++) {
        if (!sp_streams_news_of(number, &slot))
            return false;
        struct sp_lane *lane = sp_pool_find_lane(pool, slot);
        if (lane)
            settle_lane(pool, lane);
    }
    return true;
}

static void settle_lanes(struct sp_pool *pool) {
    SP_LIST_FOR_EACH(link, &pool->lanes)
    settle_lane(pool, SP_CONTAINER_OF(link, struct sp_lane, link));
}

void sp_pool_settle(struct sp_pool *pool) {
    uint64_t news = sp_streams_news();
    if (news == pool->settled)
        return;
    if (!settle_by_news(pool, news))
        settle_lanes(pool);
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        refile_region(pool, &pool->regions[kind]);
    pool->settled = news;
}

bool sp_block_is_unfenced(const struct sp_pool *pool, const struct sp_block *block) {
    enum sp_region_kind kind = sp_segment_of(block)->kind;
    const struct sp_lane *lane = lane_of(pool, &block->fences);
    return block->tier == &pool->regions[kind].unfenced || (lane && block->tier == &lane->unfenced[kind]);
}

// ------------------------------------------------------------------------------------------ cutting blocks

bool sp_take_cut(struct sp_pool *pool, struct sp_block *block, uint64_t size) {
    if (!sp_fence_set_reserve(&block->fences, 1))
        return false;
    if (block->size > size) {
        struct sp_block *rest = sp_block_split(block, size);
        if (!rest)
            return false;
        sp_pool_insert(pool, rest);
    }
    sp_block_set_live(block);
    return true;
}
