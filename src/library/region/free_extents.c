#include "region/free_extents.h"

#include "base/number.h"
#include "region/device.h"

struct sp_free_extents sp_free_extents_between(const struct sp_block *first,
                                               const struct sp_block *last) {
    const struct sp_view *view = &sp_segment_of(first)->view;
    uint64_t begin = first->address, end = sp_block_end(last);
    const struct sp_extent *low = sp_view_extent_at(view, begin);
    const struct sp_extent *high = sp_view_extent_at(view, end - 1);
    struct sp_free_extents parts = {0};
    if (low->address < begin && low->address + low->size <= end)
        parts.tail = low->address + low->size - begin;
    if (high->address >= begin && high->address + high->size > end)
        parts.front = end - high->address;
    const struct sp_extent *extent = sp_view_extent_from(view, begin);
    for (; extent && extent->address + extent->size <= end; extent = sp_view_extent_next(extent))
        parts.whole += extent->size;
    return parts;
}

bool sp_free_extents_has_released(const struct sp_block *first, const struct sp_block *last) {
    const struct sp_view *view = &sp_segment_of(first)->view;
    const struct sp_extent *extent = sp_view_extent_at(view, first->address);
    while (extent && extent->address < sp_block_end(last) && !extent->handle_released)
        extent = sp_view_extent_next(extent);
    return extent && extent->address < sp_block_end(last);
}

// ----------------------------------------------------------------------------------- what is ready

void sp_free_extents_each_ready(const struct sp_pool *pool, sp_free_extents_visit *visit,
                                void *context) {
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        struct sp_block *block =
            sp_tier_best_fit(&pool->regions[kind].ready, pool->device->vmm.granule);
        for (; block; block = sp_tier_next(block)) {
            struct sp_extent *extent =
                sp_view_extent_from(&sp_segment_of(block)->view, block->address);
            for (; extent && extent->address + extent->size <= sp_block_end(block);
                 extent = sp_view_extent_next(extent))
                visit(context, block, extent);
        }
    }
}

static void add_size(void *sum, const struct sp_block *block, struct sp_extent *extent) {
    (void)block;
    *(uint64_t *)sum += extent->size;
}

uint64_t sp_free_extents_ready_bytes(const struct sp_pool *pool) {
    uint64_t sum = 0;
    sp_free_extents_each_ready(pool, add_size, &sum);
    return sum;
}
