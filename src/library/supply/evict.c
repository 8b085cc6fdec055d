#include "supply/evict.h"

#include "base/log.h"
#include "base/number.h"
#include "region/lane.h"
#include "vmm/alias.h"

#include <stdlib.h>

// --------------------------------------------------------------------------------------- what goes

static bool is_evictable(const struct sp_segment *segment) {
    return segment->kind != SP_REGION_FIXED;
}

static bool is_in_use(const struct sp_block *block) {
    enum sp_block_state state = sp_block_state(block);
    return state == SP_BLOCK_LIVE || state == SP_BLOCK_CACHED || state == SP_BLOCK_STITCHED ||
           state == SP_BLOCK_BUSY;
}

// Neighbours become one range.
static bool add(struct sp_ranges *ranges, size_t *room, const struct sp_block *block) {
    struct poolMemRange *last = ranges->count > 0 ? &ranges->list[ranges->count - 1] : NULL;
    if (last && (uint64_t)(uintptr_t)last->ptr + last->size == block->address) {
        last->size += block->size;
        return true;
    }
    if (ranges->count == *room) {
        size_t more = sp_max(2 * *room, 64);
        struct poolMemRange *longer = realloc(ranges->list, more * sizeof *longer);
        if (!longer)
            return false;
        ranges->list = longer;
        *room = more;
    }
    ranges->list[ranges->count++] =
        (struct poolMemRange){(void *)(uintptr_t)block->address, block->size};
    return true;
}

static int compare(const void *a, const void *b) {
    const struct poolMemRange *left = a, *right = b;
    return sp_compare((uintptr_t)left->ptr, (uintptr_t)right->ptr);
}

bool sp_evict_list(struct sp_pool *pool, struct sp_ranges *ranges) {
    size_t room = 0;
    bool listed = true;
    *ranges = (struct sp_ranges){0};
    sp_pool_begin_mapping(pool);
    sp_lock_acquire(&pool->lock);
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        SP_LIST_FOR_EACH_OF(const struct sp_segment, segment, link, &pool->regions[kind].segments) {
            const struct sp_block *block = is_evictable(segment) ? segment->chain.first : NULL;
            for (; block && listed; block = block->next)
                listed = !is_in_use(block) || add(ranges, &room, block);
        }
    }
    sp_lock_release(&pool->lock);
    sp_pool_end_mapping(pool);
    if (ranges->count > 0)
        qsort(ranges->list, ranges->count, sizeof ranges->list[0], compare);
    return listed;
}

// ------------------------------------------------------------------------------------- all extents

void sp_evict_init(struct sp_pool *pool) {
    sp_lane_set_residency(pool, SP_RESIDENT);
    atomic_store(&pool->residency.bytes, 0);
    atomic_store(&pool->residency.changes, false);
}

typedef struct sp_outcome change_extent(struct sp_pool *pool, struct sp_extent *extent);

// An alias is unmapped while the handle stands, with which it can be mapped again.
static struct sp_outcome evict(struct sp_pool *pool, struct sp_extent *extent) {
    struct sp_outcome outcome = sp_outcome_done();
    bool was_evicted = sp_view_is_evicted(extent);
    SP_LIST_FOR_EACH_OF(struct sp_alias_entry, entry, link, &extent->aliases)
        outcome = sp_outcome_first(outcome, sp_alias_evict(entry));
    if (sp_is_done(outcome))
        outcome = sp_view_evict(extent);
    if (!was_evicted && sp_view_is_evicted(extent))
        sp_add_relaxed(&pool->residency.bytes, extent->size);
    return outcome;
}

static struct sp_outcome make_resident(struct sp_pool *pool, struct sp_extent *extent) {
    bool was_evicted = sp_view_is_evicted(extent);
    struct sp_outcome outcome = sp_view_make_resident(extent);
    if (was_evicted && !sp_view_is_evicted(extent))
        sp_subtract_relaxed(&pool->residency.bytes, extent->size);
    SP_LIST_FOR_EACH_OF(struct sp_alias_entry, entry, link, &extent->aliases) {
        if (sp_is_done(outcome))
            outcome = sp_alias_make_resident(entry, &pool->access);
    }
    return outcome;
}

// Changes extents until one fails, or where it `goes_on` all of them; returns the first failure.
static struct sp_outcome change_all(struct sp_pool *pool, change_extent *change, bool goes_on) {
    struct sp_outcome first = sp_outcome_done();
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        SP_LIST_FOR_EACH_OF(const struct sp_segment, segment, link, &pool->regions[kind].segments) {
            struct sp_extent *extent =
                is_evictable(segment) ? sp_view_extent_from(&segment->view, 0) : NULL;
            for (; extent && (goes_on || sp_is_done(first)); extent = sp_view_extent_next(extent))
                first = sp_outcome_first(first, change(pool, extent));
        }
    }
    return first;
}

void sp_evict_all(struct sp_pool *pool) {
    struct sp_outcome outcome = change_all(pool, evict, true);
    if (!sp_is_done(outcome))
        sp_log_warn("some memory of a pool is not evicted, since %s failed", outcome.entry_point);
}

struct sp_outcome sp_evict_undo(struct sp_pool *pool) {
    struct sp_outcome outcome = change_all(pool, make_resident, false);
    if (!sp_is_done(outcome))
        sp_evict_all(pool);
    return outcome;
}
