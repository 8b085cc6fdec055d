// Priming: memory that is mapped before it is needed.
//
// What is wanted is one free block, so that any requests up to its size can be cut from it,
// whatever theirs are. It is ready memory of the large region like any other, joined with what lies
// free beside it; pages for small blocks are cut from its end. Where the device or the pool's limit
// has no room for that, but has free memory in pieces, they count, and only what is missing is
// mapped.
#include "order/context.h"
#include "order/end.h"
#include "pool/ask.h"
#include "pool/collect.h"
#include "pool/device.h"
#include "pool/keep.h"
#include "pool/reclaim.h"
#include "pool/request.h"
#include "pool/settle.h"

#include "base/checked.h"

static poolError_t describe(const struct sp_pool *pool, uint64_t bytes, CUresult error) {
    if (error == CUDA_SUCCESS)
        return poolSuccess;
    if (error == CUDA_ERROR_OUT_OF_MEMORY && bytes > pool->limit - sp_load_relaxed(&pool->reserved))
        return sp_fail(poolErrorMemoryAllocation,
                       "to prime %llu bytes would take the pool beyond its limit of %zu",
                       (unsigned long long)bytes, pool->limit);
    return sp_fail_driver(error, "priming");
}

// Whether a block of so many bytes is free.
static bool has_block(struct sp_pool *pool, uint64_t bytes) {
    sp_lock_acquire(&pool->lock);
    sp_settle_all(pool);
    bool has = sp_tier_best_fit(&pool->regions[SP_REGION_LARGE].ready, bytes) != NULL;
    sp_lock_release(&pool->lock);
    return has;
}

// Maps what the free memory lacks, wherever it lies.
static CUresult fill_up(struct sp_pool *pool, uint64_t bytes) {
    struct sp_block *block;
    sp_lock_acquire(&pool->lock);
    uint64_t has = pool->regions[SP_REGION_LARGE].ready.bytes;
    sp_lock_release(&pool->lock);
    if (has == 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (has >= bytes)
        return CUDA_SUCCESS;
    CUresult error = sp_grow_aside(pool, bytes - has, &block);
    if (error != CUDA_SUCCESS)
        return error;
    sp_lock_acquire(&pool->lock);
    sp_grow_count(pool, block, block->size);
    sp_settle_insert(pool, block);
    sp_lock_release(&pool->lock);
    return CUDA_SUCCESS;
}

static CUresult prime_mapping(struct sp_pool *pool, uint64_t bytes) {
    CUresult error = has_block(pool, bytes) ? CUDA_SUCCESS : sp_grow_ahead(pool, bytes);
    if (error == CUDA_ERROR_OUT_OF_MEMORY)
        error = fill_up(pool, bytes);
    if (error != CUDA_SUCCESS)
        return error;
    sp_lock_acquire(&pool->lock);
    sp_keep_primed(pool, bytes);
    sp_lock_release(&pool->lock);
    return CUDA_SUCCESS;
}

static CUresult prime(struct sp_pool *pool, uint64_t bytes) {
    sp_collect_all(pool);
    sp_pool_begin_mapping(pool);
    CUresult error = prime_mapping(pool, bytes);
    sp_pool_end_mapping(pool);
    return error;
}

// The calling thread's current context, which is alive, if it is one of the pool's device.
static CUcontext current_context_of(const struct sp_pool *pool) {
    CUcontext context = NULL;
    uint64_t id;
    int device = -1;
    if (sp_context_current(&context, &id) != CUDA_SUCCESS || !context ||
        sp_context_device(context, &device) != CUDA_SUCCESS)
        return NULL;
    return device == pool->device->vmm.ordinal ? context : NULL;
}

// What other pools keep and what is complete by now makes room on the device; it makes none below
// the pool's limit. A pool whose doings must not depend on the answer asks nothing.
static CUresult prime_after_trim(struct sp_pool *pool, uint64_t bytes) {
    if (bytes > pool->limit - sp_load_relaxed(&pool->reserved))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!sp_pool_is_deterministic(pool))
        sp_pool_ask_current_context(pool);
    sp_reclaim_zombies(pool->device);
    sp_reclaim_until(pool->device, current_context_of(pool), bytes, 0);
    return prime(pool, bytes);
}

poolError_t sp_pool_prime(struct sp_pool *pool, size_t bytes) {
    size_t rounded;
    size_t most = pool->device->vmm.total_memory;
    if (pool->limit < most)
        most = pool->limit;
    if (bytes == 0)
        return poolSuccess;
    if (!sp_checked_round_up(bytes, pool->device->vmm.granule, &rounded) || rounded > most)
        return sp_fail(poolErrorMemoryAllocation,
                       "%zu bytes are more than the pool can ever hold (%zu)", bytes, most);
    sp_native_error_note(CUDA_SUCCESS, "");
    sp_end_gone_contexts(NULL);
    CUresult error = prime(pool, rounded);
    if (error == CUDA_ERROR_OUT_OF_MEMORY)
        error = prime_after_trim(pool, rounded);
    return describe(pool, rounded, error);
}
