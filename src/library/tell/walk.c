#include "tell/walk.h"

#include "base/number.h"
#include "region/lane.h"

static void walk_segment(const struct sp_segment *segment, const struct sp_walk_visitor *visitor,
                         void *context) {
    for (const struct sp_block *b = segment->chain.first; b && visitor->block; b = b->next)
        visitor->block(context, b);
    const struct sp_extent *extent =
        visitor->extent || visitor->piece ? sp_view_extent_from(&segment->view, 0) : NULL;
    for (; extent; extent = sp_view_extent_next(extent)) {
        uint64_t end = extent->address + extent->size;
        const struct sp_block *block = sp_chain_find(&segment->chain, extent->address);
        for (; block && block->address < end && visitor->piece; block = block->next) {
            uint64_t from = sp_max(block->address, extent->address);
            visitor->piece(context, extent, block, sp_min(sp_block_end(block), end) - from);
        }
        if (visitor->extent)
            visitor->extent(context, extent);
    }
}

void sp_walk_pool(const struct sp_pool *pool, unsigned kinds, const struct sp_walk_visitor *visitor,
                  void *context) {
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        if (!(kinds & SP_WALK_KIND(kind)))
            continue;
        SP_LIST_FOR_EACH_OF(struct sp_segment, segment, link, &pool->regions[kind].segments)
            walk_segment(segment, visitor, context);
    }
}

void sp_walk_lists(struct sp_pool *pool, void (*visit)(void *context, const struct sp_block *block),
                   void *context) {
    struct sp_lane *lane = NULL;
    while ((lane = sp_lane_next(pool, lane))) {
        sp_biased_lock_acquire(&lane->lock);
        for (uint32_t used = sp_load_relaxed(&lane->quick_used); used; used &= used - 1) {
            const struct sp_block *block = lane->quick[sp_lowest_bit(used)].head;
            for (; block; block = block->quick_next)
                visit(context, block);
        }
        sp_biased_lock_release(&lane->lock);
    }
}
