#include "supply/grow.h"

#include "base/log.h"
#include "base/number.h"
#include "base/thread.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/find.h"
#include "region/retain.h"
#include "region/settle.h"
#include "supply/growth.h"
#include "supply/plan.h"

// ----------------------------------------------------------------------------------------- growing

void sp_grow_count(struct sp_pool *pool, const struct sp_block *block, uint64_t bytes) {
    pool->regions[sp_segment_of(block)->kind].mapped += bytes;
    sp_figures_reserved_add(pool, bytes);
}

// Memory that was mapped for a growth that then failed, and could not be unmapped again, is free
// memory.
static void keep_mapped(struct sp_pool *pool, struct sp_plan *plan, uint64_t mapped) {
    struct sp_block *unmapped = NULL;
    sp_lock_acquire(&pool->lock);
    if (plan->rest)
        sp_block_absorb_next(plan->hole); // neither has fences, so this needs no memory
    plan->rest = NULL;
    if (mapped < plan->hole->size)
        unmapped = sp_block_split(plan->hole, mapped);
    if (unmapped || mapped == plan->hole->size) {
        sp_grow_count(pool, plan->hole, mapped);
        sp_settle_insert(pool, plan->hole);
    } else {
        sp_log_warn("no host memory: %zu MiB of device memory are lost", (size_t)(mapped >> 20));
    }
    plan->hole = unmapped;
    sp_lock_release(&pool->lock);
}

// Maps the amount, or only what is needed if the device hasn't got more.
static struct sp_outcome map(struct sp_pool *pool, struct sp_plan *plan) {
    struct sp_segment *segment = sp_segment_of(plan->hole);
    struct sp_outcome outcome;
    uint64_t mapped = 0;
    do {
        uint64_t extent = sp_growth_extent(pool, segment->kind, plan->amount, plan->ahead);
        uint64_t begin = sp_time_now();
        outcome =
            sp_view_map_pieces(&segment->view, plan->hole->address, plan->amount, extent, &mapped);
        sp_pool_add(pool, SP_STATISTIC_GrowthTime, sp_time_now() - begin);
    } while (mapped == 0 && sp_outcome_lacks_memory(outcome) && sp_plan_reduce(pool, plan));
    if (!sp_is_done(outcome) && mapped > 0)
        keep_mapped(pool, plan, mapped);
    return outcome;
}

static struct sp_block *publish_locked(struct sp_pool *pool, const struct sp_plan *plan) {
    struct sp_block *block = plan->hole;
    sp_grow_count(pool, block, plan->amount);
    if (plan->rest)
        sp_settle_insert(pool, plan->rest);
    if (plan->front.first) {
        block = plan->front.first;
        sp_block_absorb_next(block); // a hole brings no fences, so this needs no memory
        sp_in_flight_put(&pool->in_flight);
    }
    if (!plan->ahead)
        sp_retain_note_use(pool);
    sp_block_set_live(block);
    return block;
}

// Plans and maps; what is left is to publish. Where the device refuses, it may get another provider
// by that.
static struct sp_outcome map_for(const struct sp_request *request, struct sp_plan *plan) {
    struct sp_pool *pool = request->pool;
    struct sp_vmm_device *device = &pool->device->vmm;
    const struct sp_vmm_provider *provider = sp_vmm_provider(device);
    struct sp_outcome outcome = sp_plan_make(request, plan);
    if (sp_is_done(outcome)) {
        struct sp_segment *segment = sp_segment_of(plan->hole);
        outcome = map(pool, plan);
        if (!sp_is_done(outcome))
            sp_plan_undo(pool, plan, segment);
    }
    if (sp_is_done(outcome))
        sp_vmm_device_note_mapped(device);
    else if (sp_outcome_lacks_support(outcome) && sp_vmm_device_change_from(device, provider))
        outcome = map_for(request, plan);
    return outcome;
}

static struct sp_outcome grow_mapping(struct sp_request *request, struct sp_block **block) {
    struct sp_pool *pool = request->pool;
    struct sp_plan plan;
    *block = sp_find(request); // another thread may have grown while this one waited
    if (*block)
        return sp_outcome_done();
    if (request->listener) { // before anything is set aside
        sp_request_tell(request, begin(request));
        sp_lock_acquire(&pool->lock);
        sp_request_tell(request, look(request));
        sp_lock_release(&pool->lock);
    }
    if (request->kind == SP_REGION_LARGE)
        sp_growth_note(pool, request->size);
    struct sp_outcome outcome = map_for(request, &plan);
    if (!sp_is_done(outcome))
        return outcome;
    sp_lock_acquire(&pool->lock);
    sp_request_tell(request, growth(request, plan.hole, plan.amount, plan.front.size));
    *block = publish_locked(pool, &plan);
    sp_request_took_locked(request, SP_RULE_NONE);
    sp_lock_release(&pool->lock);
    return sp_outcome_done();
}

struct sp_outcome sp_grow(struct sp_request *request, struct sp_block **block) {
    sp_pool_begin_mapping(request->pool);
    struct sp_outcome outcome = grow_mapping(request, block);
    sp_pool_end_mapping(request->pool);
    return outcome;
}

// --------------------------------------------------------------------------- growing ahead of need

struct sp_outcome sp_grow_ahead(struct sp_pool *pool, uint64_t bytes) {
    struct sp_request nobodys = {
        .pool = pool, .kind = SP_REGION_LARGE, .unit = 1, .size = bytes, .reach = SP_RULE_COMPLETE};
    struct sp_plan plan;
    struct sp_outcome outcome = map_for(&nobodys, &plan);
    if (!sp_is_done(outcome))
        return outcome;
    sp_lock_acquire(&pool->lock);
    sp_settle_insert(pool, publish_locked(pool, &plan));
    sp_lock_release(&pool->lock);
    return sp_outcome_done();
}

// ---------------------------------------------------------------------- memory for a stitched view

struct sp_outcome sp_grow_aside(struct sp_pool *pool, uint64_t bytes, struct sp_block **block) {
    struct sp_plan plan;
    uint64_t amount = sp_round_up(bytes, pool->device->vmm.granule);
    if (amount > sp_figures_below_limit(pool))
        return sp_outcome_of(SP_BEYOND_LIMIT);
    struct sp_outcome outcome = sp_plan_make_aside(pool, amount, &plan);
    if (!sp_is_done(outcome))
        return outcome;
    struct sp_segment *segment = sp_segment_of(plan.hole);
    outcome = map(pool, &plan);
    if (!sp_is_done(outcome))
        sp_plan_undo(pool, &plan, segment);
    *block = plan.hole;
    return outcome;
}

void sp_grow_back(struct sp_pool *pool, struct sp_block *block) {
    struct sp_plan plan = {.hole = block};
    struct sp_segment *segment = sp_segment_of(block);
    size_t mapped = block->size;
    sp_view_unmap_back(&segment->view, block->address, &mapped);
    if (mapped > 0)
        keep_mapped(pool, &plan, mapped);
    sp_plan_undo(pool, &plan, segment);
}
