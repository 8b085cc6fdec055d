#include "supply/loss.h"

#include "order/context.h"
#include "order/end.h"
#include "region/collect.h"
#include "region/device.h"
#include "region/lost.h"

// The last question. Most memory of a pool is of one context.
struct answer {
    CUcontext context;
    uint64_t id;
    bool gone;
};

static bool find_in(struct sp_region *region, struct answer *last) {
    bool found = false;
    SP_LIST_FOR_EACH(link, &region->segments) {
        struct sp_segment *segment = SP_CONTAINER_OF(link, struct sp_segment, link);
        const struct sp_plain *plain = &segment->view.plain;
        if (!segment->view.provider->is_of_context || segment->is_lost)
            continue;
        if (plain->context != last->context || plain->context_id != last->id)
            *last = (struct answer){plain->context, plain->context_id,
                                    sp_context_is_gone(plain->context, plain->context_id)};
        if (!last->gone)
            continue;
        sp_lock_acquire(&segment->pool->lock);
        region->rows_from = 0; // it may lie there
        sp_lost_note(segment);
        sp_lock_release(&segment->pool->lock);
        found = true;
    }
    return found;
}

bool sp_loss_find(struct sp_pool *pool) {
    struct answer last = {NULL, 0, false};
    bool found = false;
    if (!sp_vmm_provider(&pool->device->vmm)->is_of_context)
        return false;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        found = find_in(&pool->regions[kind], &last) || found;
    if (sp_load_relaxed(&pool->lost_whole) > 0)
        sp_lost_close(pool);
    return found;
}

// Memory in the lanes is dropped as it is put into tiers.
bool sp_loss_note(struct sp_pool *pool) {
    uint64_t before = sp_load_relaxed(&pool->reserved);
    if (!sp_vmm_provider(&pool->device->vmm)->is_of_context)
        return false;
    sp_lock_acquire(&pool->device->gives);
    sp_pool_begin_mapping(pool);
    sp_loss_find(pool);
    sp_pool_end_mapping(pool);
    sp_lock_release(&pool->device->gives);
    if (sp_load_relaxed(&pool->lost) > 0) {
        sp_end_gone_contexts(NULL);
        sp_collect_all(pool);
    }
    return sp_load_relaxed(&pool->reserved) < before;
}

// A thread that comes late with the id of before finds nothing, and the next one looks once more.
void sp_loss_note_context(struct sp_pool *pool, uint64_t id) {
    if (sp_load_relaxed(&pool->context_id) == id && sp_load_relaxed(&pool->lost_whole) == 0)
        return;
    sp_loss_note(pool);
    sp_store_relaxed(&pool->context_id, id);
}
