#include "calls/prime.h"

#include "base/checked.h"
#include "calls/admit.h"
#include "order/context.h"
#include "order/end.h"
#include "process/reclaim.h"
#include "region/ask.h"
#include "region/collect.h"
#include "region/device.h"
#include "region/open_lanes.h"
#include "supply/ahead.h"

static poolError_t describe(struct sp_pool *pool, uint64_t bytes, struct sp_outcome outcome) {
    if (sp_is_done(outcome))
        return poolSuccess;
    if (outcome.cause == SP_BEYOND_LIMIT)
        return sp_fail(poolErrorMemoryAllocation,
                       "to prime %llu bytes would take the pool beyond its limit of %zu",
                       (unsigned long long)bytes, pool->limit);
    return sp_admit_fail(pool, NULL, outcome, "priming");
}

// Returns the calling thread's current context, which is alive, if it is one of the pool's device.
static CUcontext current_context_of(const struct sp_pool *pool) {
    CUcontext context = NULL;
    uint64_t id;
    int device = -1;
    if (!sp_is_done(sp_context_current(&context, &id)) || !context ||
        !sp_is_done(sp_context_device(context, &device)))
        return NULL;
    return device == pool->device->vmm.ordinal ? context : NULL;
}

// Makes room on the device, out of what other pools keep and what is complete by now. That makes
// none below the pool's limit. A pool whose doings must not depend on the answer asks nothing.
static struct sp_outcome prime_after_trim(struct sp_pool *pool, uint64_t bytes) {
    if (bytes > pool->limit - sp_load_relaxed(&pool->reserved))
        return sp_outcome_of(SP_BEYOND_LIMIT);
    if (!sp_pool_is_deterministic(pool)) {
        sp_open_lanes_ask_device(pool->device, NULL);
        sp_ask_current_context_of(pool->device);
    }
    sp_reclaim_addresses(pool->device);
    sp_reclaim_until(pool->device, current_context_of(pool), bytes, 0);
    return sp_ahead_map(pool, bytes);
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
    struct sp_outcome outcome = sp_ahead_map(pool, rounded);
    if (sp_outcome_lacks_memory(outcome))
        outcome = prime_after_trim(pool, rounded);
    return describe(pool, rounded, outcome);
}
