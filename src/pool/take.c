// Taking free memory without mapping any: the lane's own, what is ready, and both side by side.
#include "pool/runtime.h"

#include "base/checked.h"

// The tier that a block with these fences belongs to: ready without any; a lane's when all are of its stream.
static struct sp_tier *tier_for(struct sp_pool *pool, enum sp_region_kind kind,
                                const struct sp_fence_set *fences) {
    if (sp_fence_set_empty(fences))
        return &pool->regions[kind].ready;
    struct sp_lane *lane =
        fences->count == 1 ? sp_pool_find_lane(pool, sp_fence_set_at(fences, 0)->slot) : NULL;
    return lane ? &lane->tiers[kind] : &pool->regions[kind].waiting;
}

struct sp_block *sp_pool_insert(struct sp_pool *pool, struct sp_block *block) {
    sp_fence_set_prune(&block->fences, sp_fence_is_complete);
    return sp_tier_insert(tier_for(pool, sp_segment_of(block)->kind, &block->fences), block);
}

// The neighbour as ready memory that a block of a lane may swallow, or null.
static struct sp_block *swallowable(const struct sp_pool *pool, const struct sp_block *block,
                                    struct sp_block *neighbour) {
    const struct sp_tier *ready = &pool->regions[sp_segment_of(block)->kind].ready;
    return neighbour && neighbour->tier == ready && neighbour->size <= block->size ? neighbour : NULL;
}

struct sp_block *sp_pool_insert_and_swallow(struct sp_pool *pool, struct sp_block *block) {
    sp_fence_set_prune(&block->fences, sp_fence_is_complete);
    if (block->fences.count != 1)
        return sp_pool_insert(pool, block);
    struct sp_block *next = swallowable(pool, block, block->next);
    if (next) {
        sp_tier_remove(next);
        sp_block_absorb_next(block); // ready memory has no fences, so this needs no memory
    }
    struct sp_block *prev = swallowable(pool, block, block->prev);
    if (prev) {
        sp_tier_remove(prev);
        sp_block_absorb_next(prev); // one fence has its place in the set itself
        block = prev;
    }
    return sp_pool_insert(pool, block);
}

// ----------------------------------------------------------------------------------------------- settling

// Files a free block again where its fences, less those that are complete, say.
static void refile(struct sp_pool *pool, struct sp_block *block) {
    sp_fence_set_prune(&block->fences, sp_fence_is_complete);
    if (tier_for(pool, sp_segment_of(block)->kind, &block->fences) == block->tier)
        return;
    sp_tier_remove(block);
    sp_pool_insert(pool, block);
}

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

static void settle_lane(struct sp_pool *pool, struct sp_lane *lane) {
    uint64_t completed = sp_stream_completed(lane->stream);
    if (completed == lane->settled)
        return;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        refile_tier(pool, &lane->tiers[kind]);
    lane->settled = completed;
}

void sp_pool_settle(struct sp_pool *pool) {
    uint64_t news = sp_streams_news();
    if (news == pool->settled)
        return;
    SP_LIST_FOR_EACH(link, &pool->lanes)
    settle_lane(pool, SP_CONTAINER_OF(link, struct sp_lane, link));
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        refile_tier(pool, &pool->regions[kind].waiting);
    pool->settled = news;
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
    sp_block_set_state(block, SP_BLOCK_LIVE);
    return true;
}

// Takes a block out of its tier and cuts it. Null without host memory.
static struct sp_block *take_block(struct sp_pool *pool, struct sp_block *block, uint64_t size) {
    if (!block)
        return NULL;
    sp_tier_remove(block);
    if (sp_take_cut(pool, block, size))
        return block;
    sp_pool_insert(pool, block);
    return NULL;
}

// --------------------------------------------------------------------------------------- side by side

bool sp_block_usable(const struct sp_pool *pool, const struct sp_lane *lane, const struct sp_block *block) {
    enum sp_region_kind kind = sp_segment_of(block)->kind;
    return block->tier && (block->tier == &pool->regions[kind].ready || block->tier == &lane->tiers[kind]);
}

// A row of neighbouring free blocks that the lane may use.
struct row {
    struct sp_block *first;
    uint64_t size;
};

// The row that a ready block lies in, if it is the first ready one there; else of size 0, for the first one
// has been or will be looked at too.
static struct row row_around(const struct sp_pool *pool, const struct sp_lane *lane, struct sp_block *block) {
    struct row row = {block, block->size};
    while (row.first->prev && sp_block_usable(pool, lane, row.first->prev)) {
        row.first = row.first->prev;
        row.size += row.first->size;
        if (row.first->tier == block->tier)
            return (struct row){block, 0};
    }
    for (struct sp_block *b = block->next; b && sp_block_usable(pool, lane, b); b = b->next)
        row.size += b->size;
    return row;
}

// Joins the row's blocks into its first. Stops early without host memory, so the caller looks at the size
// again.
static struct sp_block *join_row(struct sp_pool *pool, struct row row) {
    uint64_t joined = row.first->size;
    sp_tier_remove(row.first);
    while (joined < row.size) {
        struct sp_block *next = row.first->next;
        joined += next->size;
        sp_tier_remove(next);
        if (sp_block_absorb_next(row.first))
            continue;
        sp_pool_insert(pool, next);
        break;
    }
    return row.first;
}

// The lane's own blocks never touch each other, nor do ready ones: so a row has a ready block in it.
static struct sp_block *take_row(struct sp_pool *pool, struct sp_lane *lane, enum sp_region_kind kind,
                                 uint64_t size) {
    struct row best = {NULL, UINT64_MAX};
    if (lane->tiers[kind].bytes + pool->regions[kind].ready.bytes < size)
        return NULL;
    for (struct sp_block *b = sp_tier_first(&pool->regions[kind].ready); b; b = sp_tier_next(b)) {
        struct row row = row_around(pool, lane, b);
        if (row.size >= size && row.size < best.size)
            best = row;
    }
    if (!best.first)
        return NULL;
    struct sp_block *block = join_row(pool, best);
    if (block->size >= size && sp_take_cut(pool, block, size))
        return block;
    sp_pool_insert(pool, block);
    return NULL;
}

// The better fit of the lane's own memory and the ready one; its own among equals.
static struct sp_block *best_usable(const struct sp_pool *pool, const struct sp_lane *lane,
                                    enum sp_region_kind kind, uint64_t size) {
    struct sp_block *own = sp_tier_best_fit(&lane->tiers[kind], size);
    struct sp_block *ready = sp_tier_best_fit(&pool->regions[kind].ready, size);
    return own && (!ready || own->size <= ready->size) ? own : ready;
}

static struct sp_block *take_locked(struct sp_pool *pool, struct sp_lane *lane, enum sp_region_kind kind,
                                    uint64_t size) {
    struct sp_block *block = take_block(pool, best_usable(pool, lane, kind, size), size);
    if (block)
        return block;
    sp_pool_settle(pool);
    block = take_block(pool, best_usable(pool, lane, kind, size), size);
    return block ? block : take_row(pool, lane, kind, size);
}

struct sp_block *sp_take(struct sp_pool *pool, struct sp_lane *lane, enum sp_region_kind kind,
                         uint64_t size) {
    sp_lock_acquire(&pool->lock);
    struct sp_block *block = take_locked(pool, lane, kind, size);
    sp_lock_release(&pool->lock);
    return block;
}

// ------------------------------------------------------------------------------------ from the other region

// Cuts off what stands before the first page boundary, so that the rest can be a run.
static struct sp_block *align_to_page(struct sp_pool *pool, struct sp_block *block) {
    uint64_t aligned = sp_round_up(block->address, SP_PAGE_SIZE);
    if (aligned == block->address)
        return block;
    struct sp_block *rest = sp_block_split(block, aligned - block->address);
    sp_pool_insert(pool, block);
    return rest;
}

static struct sp_block *take_run_of_large(struct sp_pool *pool, struct sp_lane *lane, uint64_t size) {
    uint64_t enough = size + SP_PAGE_SIZE - SP_ALIGNMENT;
    struct sp_block *block = best_usable(pool, lane, SP_REGION_LARGE, enough);
    if (!block)
        return NULL;
    sp_tier_remove(block);
    block = align_to_page(pool, block);
    if (!block || sp_take_cut(pool, block, size))
        return block;
    sp_pool_insert(pool, block);
    return NULL;
}

struct sp_block *sp_take_from_other(struct sp_pool *pool, struct sp_lane *lane, enum sp_region_kind kind,
                                    uint64_t size) {
    sp_lock_acquire(&pool->lock);
    struct sp_block *block = kind == SP_REGION_PAGES
                                 ? take_run_of_large(pool, lane, size)
                                 : take_locked(pool, lane, SP_REGION_PAGES, sp_round_up(size, SP_PAGE_SIZE));
    sp_lock_release(&pool->lock);
    return block;
}
