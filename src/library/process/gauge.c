#include "process/gauge.h"

#include "base/number.h"
#include "region/collect.h"
#include "region/device.h"
#include "region/lane.h"
#include "region/loan.h"
#include "region/settle.h"
#include "region/survey.h"

#include <streampool/lists.h>

// ------------------------------------------------------------------------------------- free memory

static uint64_t address_space(const struct sp_pool *pool) {
    uint64_t sum = 0;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        SP_LIST_FOR_EACH(link, &pool->regions[kind].segments)
            sum += SP_CONTAINER_OF(link, struct sp_segment, link)->view.size;
    }
    SP_LIST_FOR_EACH(link, &pool->kept.views)
        sum += SP_CONTAINER_OF(link, struct sp_stitch, by_use)->alias->size;
    SP_LIST_FOR_EACH(link, &pool->kept.zombies)
        sum += SP_CONTAINER_OF(link, struct sp_stitch, by_use)->alias->size;
    return sum;
}

// A visit of an extent. A region has fewer extents than it can have blocks.
typedef void extent_visit(void *context, const struct sp_chain *chain,
                          const struct sp_extent *extent);

static void for_each_extent(const struct sp_pool *pool, int kind, extent_visit *visit,
                            void *context) {
    SP_LIST_FOR_EACH(link, &pool->regions[kind].segments) {
        const struct sp_segment *segment = SP_CONTAINER_OF(link, struct sp_segment, link);
        for (const struct sp_extent *e = sp_view_extent_from(&segment->view, 0); e;
             e = sp_view_extent_next(e))
            visit(context, &segment->chain, e);
    }
}

static uint64_t end_of(const struct sp_extent *extent) {
    return extent->address + extent->size;
}

// Memory in a quick list is free, though to its chain it is taken; of a stitched block, too.
static bool is_unused(const struct sp_block *block) {
    if (sp_block_state(block) == SP_BLOCK_LENT)
        block = block->borrower;
    return sp_survey_is_free(block) || sp_block_state(block) == SP_BLOCK_CACHED;
}

static uint64_t bytes_within(const struct sp_block *block, const struct sp_extent *extent) {
    uint64_t begin = sp_max(block->address, extent->address);
    uint64_t end = sp_min(sp_block_end(block), end_of(extent));
    return end - begin;
}

// Pieces that different streams hold back may share an extent that nobody uses any more.
static void add_if_pinned(void *sum, const struct sp_chain *chain, const struct sp_extent *extent) {
    uint64_t unused = 0;
    const struct sp_block *block = sp_chain_find(chain, extent->address);
    for (; block && block->address < end_of(extent); block = block->next)
        unused += is_unused(block) ? bytes_within(block, extent) : 0;
    *(uint64_t *)sum += unused < extent->size ? unused : 0;
}

static uint64_t pinned(const struct sp_pool *pool) {
    uint64_t sum = 0;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        for_each_extent(pool, kind, add_if_pinned, &sum);
    return sum;
}

static void count_extent(void *count, const struct sp_chain *chain,
                         const struct sp_extent *extent) {
    (void)chain, (void)extent;
    (*(uint64_t *)count)++;
}

static uint64_t extents(const struct sp_pool *pool) {
    uint64_t count = 0;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        for_each_extent(pool, kind, count_extent, &count);
    return count;
}

// A large block takes a page at least, and a small one is cut from pages.
static uint64_t if_a_page(uint64_t size) {
    return size < SP_PAGE_SIZE ? 0 : size;
}

static uint64_t largest_ready(const struct sp_pool *pool, int kind) {
    const struct sp_block *last = sp_tier_last(&pool->regions[kind].ready);
    return last ? last->size : 0;
}

// The parts that a view of ready memory could be made of: all whole extents, and the largest free
// ends of two others. Those of the fixed region are never mapped once more.
struct ends {
    const struct sp_tier *ready;
    uint64_t whole;
    uint64_t tail, front;
    const struct sp_block *seen; // may lie in many extents, and is looked at once
    bool is_good;
};

static bool is_good(struct ends *ends, const struct sp_block *block) {
    if (block != ends->seen)
        ends->is_good = block->tier == ends->ready && !sp_survey_has_released(block, block);
    ends->seen = block;
    return ends->is_good;
}

static void add_ready(void *context, const struct sp_chain *chain, const struct sp_extent *extent) {
    struct ends *ends = context;
    const struct sp_block *first = sp_chain_find(chain, extent->address);
    const struct sp_block *last = sp_chain_find(chain, end_of(extent) - 1);
    uint64_t front = sp_block_end(first) - extent->address;
    uint64_t tail = end_of(extent) - last->address;
    if (first == last) {
        ends->whole += is_good(ends, first) ? extent->size : 0;
        return;
    }
    if (is_good(ends, first) && front > ends->front)
        ends->front = front;
    if (is_good(ends, last) && tail > ends->tail)
        ends->tail = tail;
}

static uint64_t largest_side_by_side(const struct sp_pool *pool) {
    static const int kinds[] = {SP_REGION_LARGE, SP_REGION_PAGES};
    struct ends ends = {0};
    for (int i = 0; i < 2 && sp_device_defragmentation(pool) != poolDefragmentNever; i++) {
        ends.ready = &pool->regions[kinds[i]].ready;
        for_each_extent(pool, kinds[i], add_ready, &ends);
    }
    return ends.whole + ends.front + ends.tail;
}

// Large blocks are taken from the other regions, too, where nothing else is left.
static uint64_t largest_without_growth(const struct sp_pool *pool) {
    uint64_t largest = largest_side_by_side(pool);
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        uint64_t ready = largest_ready(pool, kind);
        largest = sp_max(largest, ready);
    }
    return largest;
}

// ----------------------------------------------------------------------------------- pending
// memory

static bool is_pending(const struct sp_pool *pool, const struct sp_block *block) {
    uint32_t i = 0;
    while (i < block->fences.count && sp_pool_knows(pool, *sp_fence_set_at(&block->fences, i)))
        i++;
    return i < block->fences.count;
}

static uint64_t pending_in_tier(const struct sp_pool *pool, const struct sp_tier *tier) {
    uint64_t sum = 0;
    for (const struct sp_block *block = sp_tier_first(tier); block; block = sp_tier_next(block))
        sum += is_pending(pool, block) ? block->size : 0;
    return sum;
}

static uint64_t pending_in_tiers(struct sp_pool *pool) {
    uint64_t sum = 0;
    sp_lock_acquire(&pool->lock);
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        const struct sp_region *region = &pool->regions[kind];
        sum += pending_in_tier(pool, &region->waiting) + pending_in_tier(pool, &region->unfenced);
        SP_LIST_FOR_EACH(link, &pool->lanes.list) {
            const struct sp_lane *lane = SP_CONTAINER_OF(link, struct sp_lane, link);
            sum += pending_in_tier(pool, &lane->tiers[kind]) +
                   pending_in_tier(pool, &lane->unfenced[kind]);
        }
    }
    sp_lock_release(&pool->lock);
    return sum;
}

static uint64_t pending_in_quick_lists(struct sp_lane *lane) {
    uint64_t sum = 0;
    sp_biased_lock_acquire(&lane->lock);
    for (uint32_t used = sp_load_relaxed(&lane->quick_used); used; used &= used - 1) {
        const struct sp_block *block = lane->quick[sp_lowest_bit(used)].head;
        for (; block; block = block->quick_next)
            sum += is_pending(lane->pool, block) ? block->size : 0;
    }
    sp_biased_lock_release(&lane->lock);
    return sum;
}

// A lane's lock is taken before the pool's, so the two sums are not of one moment when other
// threads use the pool.
static uint64_t pending(struct sp_pool *pool) {
    uint64_t sum = pending_in_tiers(pool);
    for (struct sp_lane *lane = sp_lane_next(pool, NULL); lane; lane = sp_lane_next(pool, lane))
        sum += pending_in_quick_lists(lane);
    return sum;
}

// ------------------------------------------------------------------------------------------ gauges

static bool read_locked(const struct sp_pool *pool, enum poolMemPoolAttr attribute,
                        uint64_t *value) {
    size_t zombies = 0;
    switch (attribute) {
    case poolMemPoolStatKeptViews:
        *value = pool->kept.view_count;
        return true;
    case poolMemPoolStatKeptMappings:
        *value = pool->kept.mapping_count;
        return true;
    case poolMemPoolStatZombies:
        SP_LIST_FOR_EACH(link, &pool->kept.zombies)
            zombies++;
        *value = zombies;
        return true;
    case poolMemPoolStatAddressSpace:
        *value = address_space(pool);
        return true;
    case poolMemPoolStatLargestFree:
        *value = if_a_page(largest_ready(pool, SP_REGION_LARGE));
        return true;
    case poolMemPoolStatLargestRemapped:
        *value = if_a_page(largest_without_growth(pool));
        return true;
    case poolMemPoolStatPinnedBytes:
        *value = pinned(pool);
        return true;
    case poolMemPoolStatExtents:
        *value = extents(pool);
        return true;
    default:
        return false;
    }
}

// Memory that lanes hold free is free, and so is memory whose work has completed.
static bool needs_all_in_tiers(enum poolMemPoolAttr attribute) {
    return attribute == poolMemPoolStatLargestFree || attribute == poolMemPoolStatLargestRemapped;
}

// Reading a gauge that needs no such look moves nothing, so a program may do it often and still be
// served what it would have been.
bool sp_gauge_read(struct sp_pool *pool, enum poolMemPoolAttr attribute, uint64_t *value) {
    if (!sp_gauge_name(attribute))
        return false;
    if (attribute == poolMemPoolStatPendingBytes) {
        *value = pending(pool);
        return true;
    }
    if (needs_all_in_tiers(attribute))
        sp_collect_all(pool);
    sp_lock_acquire(&pool->map_lock);
    sp_lock_acquire(&pool->lock);
    if (needs_all_in_tiers(attribute))
        sp_settle_all(pool);
    bool read = read_locked(pool, attribute, value);
    sp_lock_release(&pool->lock);
    sp_lock_release(&pool->map_lock);
    return read;
}

const char *sp_gauge_name(enum poolMemPoolAttr attribute) {
    switch (attribute) {
#define GAUGE_NAME(name, number, text)                                                             \
    case poolMemPoolStat##name:                                                                    \
        return #name;
        STREAMPOOL_POOL_GAUGES(GAUGE_NAME)
#undef GAUGE_NAME
    default:
        return NULL;
    }
}
