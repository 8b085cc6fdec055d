// How a pool stands: gauges, which nobody counts as they change, so each is found by looking.
#include "pool/settle.h"
#include "pool/stitch.h"

// ------------------------------------------------------------------------------------------- free memory

static uint64_t address_space(const struct sp_pool *pool) {
    uint64_t sum = 0;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        SP_LIST_FOR_EACH(link, &pool->regions[kind].segments)
        sum += SP_CONTAINER_OF(link, struct sp_segment, link)->view.size;
    }
    SP_LIST_FOR_EACH(link, &pool->kept)
    sum += SP_CONTAINER_OF(link, struct sp_stitch, by_use)->alias->size;
    SP_LIST_FOR_EACH(link, &pool->zombies)
    sum += SP_CONTAINER_OF(link, struct sp_stitch, by_use)->alias->size;
    return sum;
}

uint64_t sp_block_whole_extents(const struct sp_block *block) {
    uint64_t sum = 0;
    const struct sp_extent *extent = sp_view_extent_from(&sp_segment_of(block)->view, block->address);
    for (; extent && extent->address + extent->size <= sp_block_end(block);
         extent = sp_view_extent_next(extent))
        sum += extent->size;
    return sum;
}

static uint64_t pinned_in(const struct sp_tier *tier) {
    uint64_t sum = 0;
    for (const struct sp_block *b = sp_tier_first(tier); b; b = sp_tier_next(b))
        sum += b->size - sp_block_whole_extents(b);
    return sum;
}

static uint64_t pinned(const struct sp_pool *pool) {
    uint64_t sum = 0;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        const struct sp_region *region = &pool->regions[kind];
        sum += pinned_in(&region->ready) + pinned_in(&region->waiting) + pinned_in(&region->unfenced);
        SP_LIST_FOR_EACH(link, &pool->lanes) {
            const struct sp_lane *lane = SP_CONTAINER_OF(link, struct sp_lane, link);
            sum += pinned_in(&lane->tiers[kind]) + pinned_in(&lane->unfenced[kind]);
        }
    }
    return sum;
}

static uint64_t largest_ready(const struct sp_pool *pool) {
    const struct sp_block *last = sp_tier_last(&pool->regions[SP_REGION_LARGE].ready);
    return last ? last->size : 0;
}

// All whole free extents, and the largest free ends of two others.
static uint64_t largest_remapped(const struct sp_pool *pool) {
    uint64_t sum = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
    const struct sp_tier *ready = &pool->regions[SP_REGION_LARGE].ready;
    for (const struct sp_block *b = sp_tier_first(ready); b; b = sp_tier_next(b)) {
        const struct sp_view *view = &sp_segment_of(b)->view;
        const struct sp_extent *low = sp_view_extent_at(view, b->address);
        const struct sp_extent *high = sp_view_extent_at(view, sp_block_end(b) - 1);
        uint64_t low_end = low->address + low->size;
        bool has_tail = low->address < b->address && low_end <= sp_block_end(b);
        bool has_front = high->address >= b->address && high->address + high->size > sp_block_end(b);
        uint64_t before = has_tail ? low_end - b->address : 0;
        uint64_t behind = has_front ? sp_block_end(b) - high->address : 0;
        sum += sp_block_whole_extents(b);
        begin = before > begin ? before : begin;
        end = behind > end ? behind : end;
    }
    uint64_t largest = largest_ready(pool);
    return sum + begin + end > largest ? sum + begin + end : largest;
}

// ------------------------------------------------------------------------------------------------ gauges

static bool read_locked(const struct sp_pool *pool, enum poolMemPoolAttr attribute, uint64_t *value) {
    size_t zombies = 0;
    switch (attribute) {
    case poolMemPoolStatKeptViews:
        *value = pool->kept_views;
        return true;
    case poolMemPoolStatKeptMappings:
        *value = pool->kept_mappings;
        return true;
    case poolMemPoolStatZombies:
        SP_LIST_FOR_EACH(link, &pool->zombies)
        zombies++;
        *value = zombies;
        return true;
    case poolMemPoolStatAddressSpace:
        *value = address_space(pool);
        return true;
    case poolMemPoolStatLargestFree:
        *value = largest_ready(pool);
        return true;
    case poolMemPoolStatLargestRemapped:
        *value = largest_remapped(pool);
        return true;
    case poolMemPoolStatPinnedBytes:
        *value = pinned(pool);
        return true;
    default:
        return false;
    }
}

bool sp_pool_survey(struct sp_pool *pool, enum poolMemPoolAttr attribute, uint64_t *value) {
    if (!sp_gauge_name(attribute))
        return false;
    if (attribute >= poolMemPoolStatLargestFree)
        sp_pool_collect(pool); // what the lanes hold free is free
    sp_lock_acquire(&pool->map_lock);
    sp_lock_acquire(&pool->lock);
    sp_pool_settle(pool);
    bool read = read_locked(pool, attribute, value);
    sp_lock_release(&pool->lock);
    sp_lock_release(&pool->map_lock);
    return read;
}

const char *sp_gauge_name(enum poolMemPoolAttr attribute) {
    switch (attribute) {
#define GAUGE_NAME(name, number, text)                                                                       \
    case poolMemPoolStat##name:                                                                              \
        return #name;
        STREAMPOOL_POOL_GAUGES(GAUGE_NAME)
#undef GAUGE_NAME
    default:
        return NULL;
    }
}
