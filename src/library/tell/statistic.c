#include "tell/statistic.h"

#include "base/number.h"
#include "region/device.h"
#include "region/lane.h"
#include "region/segment.h"
#include "region/settle.h"
#include "region/stitch.h"
#include "tell/pinning.h"
#include "tell/walk.h"

const struct sp_statistic_entry sp_statistic_entries[] = {
#define ENTRY(name, number, text) {#name, poolMemPoolStat##name, text},
    STREAMPOOL_POOL_STATISTICS(ENTRY) STREAMPOOL_POOL_GAUGES(ENTRY)
#undef ENTRY
        {0},
};

static size_t index_of(enum poolMemPoolAttr attribute) {
    size_t i = 0;
    while (sp_statistic_entries[i].name && sp_statistic_entries[i].attribute != attribute)
        i++;
    return i;
}

enum sp_statistic sp_statistic_of(enum poolMemPoolAttr attribute) {
    return (enum sp_statistic)sp_min(index_of(attribute), SP_STATISTIC_COUNT);
}

const char *sp_statistic_name(enum poolMemPoolAttr attribute) {
    return sp_statistic_entries[index_of(attribute)].name;
}

// Each lane counts what it served from its own lists, and what its frees recorded.
uint64_t sp_statistic_of_lanes(struct sp_pool *pool, enum sp_statistic statistic) {
    uint64_t sum = 0;
    sp_lock_acquire(&pool->lock);
    SP_LIST_FOR_EACH_OF(const struct sp_lane, lane, link, &pool->lanes.list) {
        for (const struct sp_lane *s = lane; s; s = sp_load_relaxed(&s->next_shelf))
            sum += statistic == SP_STATISTIC_ReuseSameStream  ? sp_load_relaxed(&s->hits)
                   : statistic == SP_STATISTIC_EventsRecorded ? sp_load_relaxed(&s->records)
                                                              : 0;
    }
    sp_lock_release(&pool->lock);
    return sum;
}

// ------------------------------------------------------------------------------------- free memory

// The memory of a pool.
struct memory {
    const struct sp_pool *pool;
    uint64_t extents;
    uint64_t pending;
    // The parts that a view of ready memory could be made of: all whole extents, and the largest
    // free ends of two others. Those of the fixed region are never mapped once more.
    uint64_t whole, tail, front;
    const struct sp_block *seen; // may lie in many extents, and is looked at once
    bool can_be_remapped;
};

static void add_ready(void *context, const struct sp_extent *extent, const struct sp_block *block,
                      uint64_t bytes) {
    struct memory *memory = context;
    enum sp_region_kind kind = sp_segment_of(block)->kind;
    if (block != memory->seen)
        memory->can_be_remapped = kind != SP_REGION_FIXED &&
                                  block->tier == &memory->pool->regions[kind].ready &&
                                  !sp_free_extents_has_released(block, block);
    memory->seen = block;
    if (!memory->can_be_remapped)
        return;
    if (bytes == extent->size)
        memory->whole += bytes;
    else if (block->address <= extent->address)
        memory->front = sp_max(memory->front, bytes);
    else if (sp_block_end(block) >= extent->address + extent->size)
        memory->tail = sp_max(memory->tail, bytes);
}

static void add_extent(void *context, const struct sp_extent *extent) {
    (void)extent;
    ((struct memory *)context)->extents++;
}

static uint64_t address_space(const struct sp_pool *pool) {
    uint64_t sum = 0;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        SP_LIST_FOR_EACH_OF(const struct sp_segment, segment, link, &pool->regions[kind].segments)
            sum += segment->chain.size;
    SP_LIST_FOR_EACH_OF(const struct sp_stitch, kept, by_use, &pool->kept.views)
        sum += kept->alias->size;
    SP_LIST_FOR_EACH_OF(const struct sp_stitch, zombie, by_use, &pool->kept.zombies)
        sum += zombie->alias->size;
    return sum;
}

// With the callbacks that the wanted sum needs alone.
static struct memory look_through(const struct sp_pool *pool, struct sp_walk_visitor sums) {
    struct memory memory = {.pool = pool};
    sp_walk_pool(pool, SP_WALK_ALL, &sums, &memory);
    return memory;
}

// A large block takes a page at least, and a small one is cut from pages.
static uint64_t if_a_page(uint64_t size) {
    return size < SP_PAGE_SIZE ? 0 : size;
}

static uint64_t largest_ready(const struct sp_pool *pool, int kind) {
    const struct sp_block *last = sp_tier_last(&pool->regions[kind].ready);
    return last ? last->size : 0;
}

// Large blocks are taken from the other regions, too, where nothing else is left.
static uint64_t largest_without_growth(const struct sp_pool *pool) {
    struct memory memory = look_through(pool, (struct sp_walk_visitor){.piece = add_ready});
    bool may_remap = sp_device_defragmentation(pool) != poolDefragmentNever;
    uint64_t largest = may_remap ? memory.whole + memory.front + memory.tail : 0;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        uint64_t ready = largest_ready(pool, kind);
        largest = sp_max(largest, ready);
    }
    return largest;
}

static void add_listed(void *context, const struct sp_block *block) {
    struct memory *memory = context;
    memory->pending += sp_settle_is_complete(memory->pool, &block->fences) ? 0 : block->size;
}

static void add_free(void *context, const struct sp_block *block) {
    const struct memory *memory = context;
    if (sp_free_extents_is_free(block) &&
        block->tier != &memory->pool->regions[sp_segment_of(block)->kind].ready)
        add_listed(context, block);
}

static uint64_t gauge_locked(const struct sp_pool *pool, enum poolMemPoolAttr attribute) {
    bool is_resident = sp_pool_residency(pool) == SP_RESIDENT;
    switch (attribute) {
    case poolMemPoolStatKeptViews:
        return pool->kept.view_count;
    case poolMemPoolStatKeptMappings:
        return pool->kept.mapping_count;
    case poolMemPoolStatZombies:
        return sp_load_relaxed(&pool->kept.zombie_count);
    case poolMemPoolStatAddressSpace:
        return address_space(pool);
    case poolMemPoolStatLargestFree:
        return is_resident ? if_a_page(largest_ready(pool, SP_REGION_LARGE)) : 0;
    case poolMemPoolStatLargestRemapped:
        return is_resident ? if_a_page(largest_without_growth(pool)) : 0;
    case poolMemPoolStatPinnedBytes:
        return sp_pinning_look(pool).pinned;
    case poolMemPoolStatPinningBlocks:
        return sp_pinning_look(pool).blocks;
    case poolMemPoolStatPinningBytes:
        return sp_pinning_look(pool).bytes;
    case poolMemPoolStatLargestPinning:
        return sp_pinning_look(pool).largest;
    case poolMemPoolStatHostReserved:
        return sp_pool_reserved_of_host(pool);
    case poolMemPoolStatEvictedBytes:
        return sp_load_relaxed(&pool->residency.bytes);
    case poolMemPoolStatExtents:
        return look_through(pool, (struct sp_walk_visitor){.extent = add_extent}).extents;
    default:
        return 0;
    }
}

// A record that a lane had counted when counting began anew, and that failed then, would leave less
// than none. Of pending memory a part lies in lanes, whose locks are taken before the pool's: so
// its two parts are not of one moment when other threads use the pool.
bool sp_statistic_read(struct sp_pool *pool, enum poolMemPoolAttr attribute, uint64_t *value) {
    enum sp_statistic statistic = sp_statistic_of(attribute);
    if (!sp_statistic_name(attribute))
        return false;
    if (statistic != SP_STATISTIC_COUNT) {
        uint64_t count =
            sp_load_relaxed(&pool->statistics[statistic]) + sp_statistic_of_lanes(pool, statistic);
        *value = (int64_t)count < 0 ? 0 : count;
    } else if (attribute == poolMemPoolStatPendingBytes) {
        static const struct sp_walk_visitor sum = {.block = add_free};
        struct memory memory = {.pool = pool};
        sp_lock_acquire(&pool->lock);
        sp_walk_pool(pool, SP_WALK_ALL, &sum, &memory);
        sp_lock_release(&pool->lock);
        sp_walk_lists(pool, add_listed, &memory);
        *value = memory.pending;
    } else {
        sp_lock_acquire(&pool->map_lock);
        sp_lock_acquire(&pool->lock);
        *value = gauge_locked(pool, attribute);
        sp_lock_release(&pool->lock);
        sp_lock_release(&pool->map_lock);
    }
    return true;
}
