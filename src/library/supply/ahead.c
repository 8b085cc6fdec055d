#include "supply/ahead.h"

#include "region/collect.h"
#include "region/keep.h"
#include "region/settle.h"
#include "supply/grow.h"

// Tells whether a block of so many bytes is free.
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

CUresult sp_ahead_map(struct sp_pool *pool, uint64_t bytes) {
    sp_collect_all(pool);
    sp_pool_begin_mapping(pool);
    CUresult error = prime_mapping(pool, bytes);
    sp_pool_end_mapping(pool);
    return error;
}
