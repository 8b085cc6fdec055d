#include "supply/ahead.h"

#include "region/collect.h"
#include "region/device.h"
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

static struct sp_outcome prime_mapping(struct sp_pool *pool, uint64_t bytes) {
    struct sp_outcome outcome =
        has_block(pool, bytes) ? sp_outcome_done() : sp_grow_ahead(pool, bytes);
    if (sp_outcome_lacks_memory(outcome) && !sp_vmm_is_plain(&pool->device->vmm))
        outcome = fill_up(pool, bytes, outcome);
    if (!sp_is_done(outcome))
        return outcome;
    sp_lock_acquire(&pool->lock);
    sp_keep_primed(pool, bytes);
    sp_lock_release(&pool->lock);
    return sp_outcome_done();
}

struct sp_outcome sp_ahead_map(struct sp_pool *pool, uint64_t bytes) {
    sp_collect_all(pool);
    sp_pool_begin_mapping(pool);
    struct sp_outcome outcome = prime_mapping(pool, bytes);
    sp_pool_end_mapping(pool);
    return outcome;
}
