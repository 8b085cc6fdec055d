#include "calls/prime.h"

#include "base/number.h"
#include "calls/admit.h"
#include "order/context.h"
#include "order/resolve.h"
#include "process/reclaim.h"
#include "region/ask.h"
#include "region/collect.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/retain.h"
#include "region/settle.h"
#include "supply/grow.h"
#include "supply/trim.h"

// --------------------------------------------------------------------------------------- mapping

// Maps what the free memory lacks, wherever it lies. With no free memory, what a block of all the
// bytes has `lacked` is lacking still.
static struct sp_outcome fill_up(struct sp_pool *pool, uint64_t bytes, struct sp_outcome lacked) {
    struct sp_block *block;
    sp_lock_acquire(&pool->lock);
    uint64_t has = pool->regions[SP_REGION_LARGE].ready.bytes;
    sp_lock_release(&pool->lock);
    if (has == 0)
        return lacked;
    if (has >= bytes)
        return sp_outcome_done();
    struct sp_outcome outcome = sp_grow_aside(pool, bytes - has, &block);
    if (!sp_is_done(outcome))
        return outcome;
    sp_lock_acquire(&pool->lock);
    sp_grow_count(pool, block, block->size);
    sp_settle_insert(pool, block);
    sp_lock_release(&pool->lock);
    return sp_outcome_done();
}

// Maps what is missing to `bytes` of free memory, a multiple of the granule, and has synchronises
// leave it. Memory is lacking, and nothing changed, when the device, the host, the address space
// or the pool's limit has no more.
static struct sp_outcome map_ahead(struct sp_pool *pool, uint64_t bytes) {
    struct sp_outcome outcome = sp_outcome_done();
    sp_collect_all(pool);
    sp_pool_begin_mapping(pool);
    sp_lock_acquire(&pool->lock);
    bool has_block = sp_tier_best_fit(&pool->regions[SP_REGION_LARGE].ready, bytes) != NULL;
    sp_lock_release(&pool->lock);
    if (!has_block)
        outcome = sp_grow_ahead(pool, bytes);
    if (sp_outcome_lacks_memory(outcome) && sp_vmm_provider(&pool->device->vmm)->joins)
        outcome = fill_up(pool, bytes, outcome);
    if (sp_is_done(outcome)) {
        sp_lock_acquire(&pool->lock);
        sp_retain_primed(pool, bytes);
        sp_lock_release(&pool->lock);
    }
    sp_pool_end_mapping(pool);
    return outcome;
}

// --------------------------------------------------------------------------------------- the call

// Makes room on the device, out of what other pools keep and what is complete by now. That makes
// none below the pool's limit. A pool whose doings must not depend on the answer asks nothing.
static struct sp_outcome prime_after_trim(struct sp_pool *pool, uint64_t bytes) {
    if (bytes > sp_figures_below_limit(pool))
        return sp_outcome_of(SP_BEYOND_LIMIT);
    if (!sp_pool_is_deterministic(pool)) {
        sp_ask_lazy_lanes_of(pool->device, NULL);
        sp_ask_current_context_of(pool->device);
    }
    sp_reclaim_addresses(pool->device);
    sp_trim_await_giving(pool->device);
    sp_reclaim_until(pool->device, sp_context_current_of(pool->device->vmm.ordinal), bytes, 0);
    return map_ahead(pool, bytes);
}

poolError_t sp_prime(struct sp_pool *pool, size_t bytes) {
    size_t rounded;
    size_t most = pool->device->vmm.total_memory;
    if (pool->limit < most)
        most = pool->limit;
    if (bytes == 0)
        return poolSuccess;
    if (!sp_checked_round_up(bytes, pool->device->vmm.granule, &rounded) || rounded > most)
        return sp_fail(poolErrorMemoryAllocation,
                       "%zu bytes are more than the pool can ever hold (%zu)", bytes, most);
    sp_end_gone_contexts(NULL);
    poolError_t admitted = sp_admit(pool, NULL);
    if (admitted != poolSuccess)
        return admitted;
    struct sp_outcome outcome = map_ahead(pool, rounded);
    if (sp_outcome_lacks_memory(outcome))
        outcome = prime_after_trim(pool, rounded);
    if (outcome.cause == SP_BEYOND_LIMIT)
        return sp_fail(poolErrorMemoryAllocation,
                       "to prime %zu bytes would take the pool beyond its limit of %zu", rounded,
                       pool->limit);
    return sp_is_done(outcome) ? poolSuccess : sp_admit_fail(pool, NULL, outcome, "priming");
}
