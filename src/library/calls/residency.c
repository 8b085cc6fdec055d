#include "calls/residency.h"

#include "base/number.h"
#include "order/context.h"
#include "process/reclaim.h"
#include "region/ask.h"
#include "region/collect.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/lane.h"
#include "region/stitch.h"
#include "supply/evict.h"
#include "supply/trim.h"
#include "tell/text.h"

#include <stdlib.h>

static void set_state(struct sp_pool *pool, enum sp_residency_state state) {
    sp_pool_begin_mapping(pool);
    sp_lock_acquire(&pool->lock);
    sp_lane_set_residency(pool, state);
    sp_lock_release(&pool->lock);
    sp_pool_end_mapping(pool);
}

// A single thread at a time changes the state, also while it is in the program's visitor.
static poolError_t begin(struct sp_pool *pool) {
    return atomic_exchange(&pool->residency.changes, true)
               ? sp_fail(poolErrorIllegalState,
                         "the pool is being evicted or made resident already")
               : poolSuccess;
}

static poolError_t end(struct sp_pool *pool, poolError_t error) {
    atomic_store(&pool->residency.changes, false);
    return error;
}

// Gives back what is free, so that only extents with live memory are left, and no stitched view
// that serves nobody.
static void give_free_memory(struct sp_pool *pool) {
    sp_collect_all(pool);
    sp_lock_acquire(&pool->lock);
    sp_stitch_limit_kept(pool, 0, 0);
    sp_lock_release(&pool->lock);
    sp_trim_for_program(pool, 0);
}

static poolError_t show(struct sp_pool *pool, struct sp_visit visit) {
    struct sp_ranges ranges;
    if (!visit.visitor)
        return poolSuccess;
    poolError_t error = sp_evict_list(pool, &ranges)
                            ? visit.visitor(visit.user, ranges.list, ranges.count)
                            : sp_fail(poolErrorMemoryAllocation, "out of host memory");
    free(ranges.list);
    return error == poolSuccess || error == sp_fail_unread()
               ? error
               : sp_fail(error, "the program's visitor returned %d", (int)error);
}

poolError_t sp_residency_evict(struct sp_pool *pool, struct sp_visit save, size_t *stayed) {
    if (!sp_vmm_provider(&pool->device->vmm)->joins || pool->props.handleTypes != 0)
        return sp_fail(poolErrorNotSupported,
                       pool->props.handleTypes != 0
                           ? "the pool's memory can be exported, so others may have it"
                           : "the pool's memory isn't mapped, so it can't come back elsewhere");
    poolError_t error = begin(pool);
    if (error != poolSuccess)
        return error;
    if (sp_pool_residency(pool) == SP_RESIDENT) {
        set_state(pool, SP_CLOSED);
        give_free_memory(pool);
        set_state(pool, SP_EVICTED);
        error = show(pool, save);
        if (error == poolSuccess && sp_load_acquire(&pool->destroyed))
            error = sp_fail(poolErrorInvalidValue, "the pool was destroyed meanwhile");
        if (error != poolSuccess) {
            set_state(pool, SP_RESIDENT);
            return end(pool, error);
        }
    }
    sp_pool_begin_mapping(pool);
    sp_evict_all(pool);
    sp_pool_end_mapping(pool);
    *stayed = sp_figures_resident(pool);
    return end(pool, poolSuccess);
}

static struct sp_outcome restore(struct sp_pool *pool) {
    const struct sp_vmm_device *device = &pool->device->vmm;
    uint64_t bytes = sp_load_relaxed(&pool->residency.bytes);
    struct sp_outcome outcome = sp_vmm_device_begin_taking(device, bytes);
    if (!sp_is_done(outcome))
        return outcome;
    sp_pool_begin_mapping(pool);
    outcome = sp_evict_undo(pool);
    sp_pool_end_mapping(pool);
    sp_vmm_device_end_taking(device, bytes);
    return outcome;
}

// Where there is no room, what other pools have free makes some.
static struct sp_outcome restore_after_trim(struct sp_pool *pool) {
    uint64_t bytes = sp_load_relaxed(&pool->residency.bytes);
    CUcontext context = sp_context_current_of(pool->device->vmm.ordinal);
    struct sp_outcome outcome = restore(pool);
    if (!sp_outcome_lacks_memory(outcome))
        return outcome;
    sp_ask_lazy_lanes_of(pool->device, NULL);
    sp_ask_current_context_of(pool->device);
    sp_reclaim_addresses(pool->device);
    return sp_reclaim_until(pool->device, context, bytes, 0) ? restore(pool) : outcome;
}

static poolError_t refuse(struct sp_pool *pool, struct sp_outcome outcome) {
    uint64_t bytes = sp_load_relaxed(&pool->residency.bytes);
    CUcontext context = sp_context_current_of(pool->device->vmm.ordinal);
    size_t left;
    if (!sp_outcome_lacks_memory(outcome) || !sp_device_free_memory(pool->device, context, &left))
        return sp_fail_outcome(outcome, "making a pool resident");
    sp_fail(poolErrorMemoryAllocation, "the pool needs %s to become resident, and %s are free",
            sp_text_bytes(bytes).text, sp_text_bytes(left).text);
    sp_fail_of_driver(outcome);
    return poolErrorMemoryAllocation;
}

poolError_t sp_residency_restore(struct sp_pool *pool, struct sp_visit load) {
    poolError_t error = begin(pool);
    if (error != poolSuccess || sp_pool_residency(pool) == SP_RESIDENT)
        return error == poolSuccess ? end(pool, error) : error;
    set_state(pool, SP_CLOSED);
    give_free_memory(pool);
    set_state(pool, SP_EVICTED);
    struct sp_outcome outcome = restore_after_trim(pool);
    if (!sp_is_done(outcome))
        return end(pool, refuse(pool, outcome));
    error = show(pool, load);
    if (error == poolSuccess) {
        sp_atomic_raise(&pool->reserved_high, sp_load_relaxed(&pool->reserved));
        set_state(pool, SP_RESIDENT);
    } else {
        sp_pool_begin_mapping(pool);
        sp_evict_all(pool);
        sp_pool_end_mapping(pool);
    }
    return end(pool, error);
}
