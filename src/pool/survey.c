// How a pool stands: gauges, which nobody counts as they change, so each is found by looking.
#include "pool/survey.h"

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

static uint64_t whole_between(const struct sp_view *view, uint64_t begin, uint64_t end) {
    uint64_t sum = 0;
    const struct sp_extent *extent = sp_view_extent_from(view, begin);
    for (; extent && extent->address + extent->size <= end; extent = sp_view_extent_next(extent))
        sum += extent->size;
    return sum;
}

uint64_t sp_block_whole_extents(const struct sp_block *block) {
    return whole_between(&sp_segment_of(block)->view, block->address, sp_block_end(block));
}

// Without the whole ones.
static struct sp_row_extents ends_of(const struct sp_view *view, uint64_t begin, uint64_t end) {
    const struct sp_extent *low = sp_view_extent_at(view, begin);
    const struct sp_extent *high = sp_view_extent_at(view, end - 1);
    uint64_t low_end = low->address + low->size;
    bool has_tail = low->address < begin && low_end <= end;
    bool has_front = high->address >= begin && high->address + high->size > end;
    return (struct sp_row_extents){.tail = has_tail ? low_end - begin : 0,
                                   .front = has_front ? end - high->address : 0};
}

struct sp_row_extents sp_row_extents(const struct sp_block *first, const struct sp_block *last) {
    const struct sp_view *view = &sp_segment_of(first)->view;
    struct sp_row_extents extents = ends_of(view, first->address, sp_block_end(last));
    extents.whole = whole_between(view, first->address, sp_block_end(last));
    return extents;
}

struct rows {
    sp_meant *is_meant;
    sp_free_row *visit;
    void *context;
};

static bool is_in_row(const struct rows *rows, const struct sp_block *block) {
    return block && rows->is_meant(rows->context, block);
}

static void visit_row_from(const struct rows *rows, const struct sp_block *block) {
    if (!is_in_row(rows, block) || is_in_row(rows, block->prev))
        return;
    const struct sp_block *last = block;
    while (is_in_row(rows, last->next))
        last = last->next;
    rows->visit(rows->context, block, last);
}

static void visit_rows(const struct rows *rows, const struct sp_tier *tier) {
    for (const struct sp_block *b = sp_tier_first(tier); b; b = sp_tier_next(b))
        visit_row_from(rows, b);
}

void sp_for_each_free_row(const struct sp_pool *pool, enum sp_region_kind kind, sp_meant *is_meant,
                          sp_free_row *visit, void *context) {
    const struct sp_region *region = &pool->regions[kind];
    struct rows rows = {is_meant, visit, context};
    visit_rows(&rows, &region->ready);
    visit_rows(&rows, &region->waiting);
    visit_rows(&rows, &region->unfenced);
    SP_LIST_FOR_EACH(link, &pool->lanes) {
        const struct sp_lane *lane = SP_CONTAINER_OF(link, struct sp_lane, link);
        visit_rows(&rows, &lane->tiers[kind]);
        visit_rows(&rows, &lane->unfenced[kind]);
    }
}

struct whole_sum {
    sp_meant *is_meant;
    const void *context;
    uint64_t bytes;
};

static bool is_meant_of_sum(const void *sum, const struct sp_block *block) {
    const struct whole_sum *whole = sum;
    return whole->is_meant(whole->context, block);
}

static void add_whole(void *sum, const struct sp_block *first, const struct sp_block *last) {
    ((struct whole_sum *)sum)->bytes += sp_row_extents(first, last).whole;
}

uint64_t sp_whole_extents(const struct sp_pool *pool, sp_meant *is_meant, const void *context) {
    struct whole_sum sum = {is_meant, context, 0};
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        sp_for_each_free_row(pool, (enum sp_region_kind)kind, is_meant_of_sum, add_whole, &sum);
    return sum.bytes;
}

static uint64_t free_bytes(const struct sp_pool *pool) {
    uint64_t sum = 0;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        const struct sp_region *region = &pool->regions[kind];
        sum += region->ready.bytes + region->waiting.bytes + region->unfenced.bytes;
        SP_LIST_FOR_EACH(link, &pool->lanes) {
            const struct sp_lane *lane = SP_CONTAINER_OF(link, struct sp_lane, link);
            sum += lane->tiers[kind].bytes + lane->unfenced[kind].bytes;
        }
    }
    return sum;
}

static bool is_any_free(const void *context, const struct sp_block *block) {
    (void)context;
    return sp_block_is_free(block);
}

// Pieces that different streams hold back may share an extent that nobody uses any more.
static uint64_t pinned(const struct sp_pool *pool) {
    return free_bytes(pool) - sp_whole_extents(pool, is_any_free, NULL);
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
        struct sp_row_extents ends = ends_of(view, b->address, sp_block_end(b));
        sum += sp_block_whole_extents(b);
        begin = ends.tail > begin ? ends.tail : begin;
        end = ends.front > end ? ends.front : end;
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
