#include "region/loose.h"

#include "base/number.h"
#include "region/device.h"
#include "region/lane.h"

void sp_loose_forget(struct sp_pool *pool) {
    uint64_t most = sp_min(pool->device->vmm.total_memory, sp_load_relaxed(&pool->limit));
    atomic_store(&pool->slabs.bytes, 0);
    atomic_store(&pool->slabs.live, 0);
    atomic_store(&pool->slabs.rests, 0);
    atomic_store(&pool->slabs.idle_min, sp_min(SP_LOOSE_IDLE_MIN, most / SP_LOOSE_IDLE_SHARE));
}

// Sums up what is live in the slabs of a shelf, and counts these.
static uint64_t live_on(struct sp_lane *shelf, uint32_t *looks) {
    uint64_t live = 0;
    if (sp_load_relaxed(&shelf->slab_count) == 0)
        return 0;
    sp_biased_lock_acquire(&shelf->lock);
    SP_LIST_FOR_EACH_OF(const struct sp_slab, slab, owned_link, &shelf->owned_slabs) {
        live += (uint64_t)slab->live * sp_slab_class(slab)->block_size;
        (*looks)++;
    }
    sp_biased_lock_release(&shelf->lock);
    return live;
}

// If two threads come here at once both may look.
static uint64_t look_at_all(const struct sp_pool *pool, uint32_t *looks) {
    const struct sp_lane_table *table = sp_load_acquire(&pool->lane_table);
    uint64_t live = 0;
    *looks = sp_load_relaxed(&pool->lanes.count);
    for (uint32_t slot = 0; table && slot < table->count; slot++) {
        struct sp_lane *shelf = sp_load_acquire(&table->lanes[slot]);
        for (; shelf; shelf = sp_load_acquire(&shelf->next_shelf))
            live += live_on(shelf, looks);
    }
    return live;
}

static bool is_too_much(const struct sp_pool *pool, uint64_t bytes, uint64_t live) {
    uint64_t least = sp_load_relaxed(&pool->slabs.idle_min);
    return sp_excess(bytes, live) > sp_max(least, live / SP_LOOSE_IDLE_SHARE);
}

bool sp_loose_is_due(struct sp_pool *pool, unsigned class_index) {
    struct sp_slabs *slabs = &pool->slabs;
    uint64_t bytes = sp_load_relaxed(&slabs->bytes), live = sp_load_relaxed(&slabs->live);
    uint32_t rests = sp_load_relaxed(&slabs->rests), looks;
    if (SP_UNLIKELY(live > bytes))
        sp_store_relaxed(&slabs->live, live = bytes);
    bytes += sp_size_classes[class_index].pages * SP_PAGE_SIZE;
    if (!is_too_much(pool, bytes, live))
        return false;
    if (rests > 0) {
        sp_store_relaxed(&slabs->rests, rests - 1);
        return true;
    }
    live = look_at_all(pool, &looks);
    sp_store_relaxed(&slabs->live, live);
    bool is_due = is_too_much(pool, bytes, live);
    sp_store_relaxed(&slabs->rests, is_due ? looks : 0);
    return is_due;
}

uint64_t sp_loose_idle(const struct sp_pool *pool) {
    uint32_t looks;
    uint64_t bytes = sp_load_relaxed(&pool->slabs.bytes);
    return sp_excess(bytes, look_at_all(pool, &looks));
}
