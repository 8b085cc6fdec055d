#include "region/free_extents.h"

#include "base/number.h"
#include "region/device.h"

static uint64_t whole_between(const struct sp_view *view, uint64_t begin, uint64_t end) {
    uint64_t sum = 0;
    const struct sp_extent *extent = sp_view_extent_from(view, begin);
    for (; extent && extent->address + extent->size <= end; extent = sp_view_extent_next(extent))
        sum += extent->size;
    return sum;
}

// Without the whole ones.
static struct sp_free_extents ends_of(const struct sp_view *view, uint64_t begin, uint64_t end) {
    const struct sp_extent *low = sp_view_extent_at(view, begin);
    const struct sp_extent *high = sp_view_extent_at(view, end - 1);
    uint64_t low_end = low->address + low->size;
    bool has_tail = low->address < begin && low_end <= end;
    bool has_front = high->address >= begin && high->address + high->size > end;
    return (struct sp_free_extents){.tail = has_tail ? low_end - begin : 0,
                                    .front = has_front ? end - high->address : 0};
}

struct sp_free_extents sp_free_extents_between(const struct sp_block *first,
                                               const struct sp_block *last) {
    const struct sp_view *view = &sp_segment_of(first)->view;
    struct sp_free_extents extents = ends_of(view, first->address, sp_block_end(last));
    extents.whole = whole_between(view, first->address, sp_block_end(last));
    return extents;
}

bool sp_free_extents_has_released(const struct sp_block *first, const struct sp_block *last) {
    const struct sp_view *view = &sp_segment_of(first)->view;
    const struct sp_extent *extent = sp_view_extent_at(view, first->address);
    while (extent && extent->address < sp_block_end(last) && !extent->handle_released)
        extent = sp_view_extent_next(extent);
    return extent && extent->address < sp_block_end(last);
}

// ----------------------------------------------------------------------------------- what is ready

struct sp_block *sp_free_extents_first_ready(const struct sp_pool *pool, int kind) {
    return sp_tier_best_fit(&pool->regions[kind].ready, pool->device->vmm.granule);
}

void sp_free_extents_each_ready(const struct sp_pool *pool, sp_free_extents_visit *visit,
                                void *context) {
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        struct sp_block *block = sp_free_extents_first_ready(pool, kind);
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
