#include "region/refine.h"

#include "region/device.h"
#include "region/figures.h"
#include "region/retain.h"

// The block is free, and all of it is known to be complete.
static bool is_complete(const struct sp_pool *pool, const struct sp_block *block) {
    bool is_known = block && sp_block_state(block) == SP_BLOCK_FREE;
    for (uint32_t i = 0; is_known && i < block->fences.count; i++)
        is_known = sp_pool_knows(pool, *sp_fence_set_at(&block->fences, i));
    return is_known;
}

// The extent lies in the block and what joins it once it is settled.
static bool is_of(const struct sp_pool *pool, const struct sp_block *block,
                  const struct sp_space_extent *extent) {
    const struct sp_block *first = block, *last = block;
    while (first->address > extent->address && is_complete(pool, first->prev))
        first = first->prev;
    while (sp_block_end(last) < extent->address + extent->size && is_complete(pool, last->next))
        last = last->next;
    return first->address <= extent->address &&
           sp_block_end(last) >= extent->address + extent->size;
}

bool sp_refine_asks(struct sp_pool *pool, uint64_t size) {
    uint64_t reserved = sp_load_relaxed(&pool->reserved);
    return size >= SP_REFINE_PENDING || size >= reserved / 2 ||
           (size >= SP_REFINE_PENDING_MIN && sp_figures_used_lately(pool) < reserved / 256);
}

// Primed memory is to be had with no call of the driver, and a plain device has no extents.
uint64_t sp_refine_due_in(struct sp_pool *pool, const struct sp_block *block, uint64_t size) {
    struct sp_space *space = &pool->device->space;
    uint64_t least = SP_REFINE_COUNT * sp_refine_size(size), found = 0;
    if (block->size < least || sp_retain_is_primed(pool) ||
        !sp_vmm_provider(&pool->device->vmm)->divides)
        return 0;
    sp_lock_acquire(&space->finding);
    for (uint64_t at = 0; at < size && found == 0; at += size - 1) { // where it begins, and ends
        const struct sp_space_extent *one = sp_space_extent_at_locked(space, block->address + at);
        if (one && one->size >= least && is_of(pool, block, one))
            found = one->size;
    }
    sp_lock_release(&space->finding);
    bool is_large =
        sp_refine_asks(pool, found) || (sp_pool_is_shared(pool) && found >= SP_REFINE_PENDING_MIN);
    if (!is_large && !is_complete(pool, block))
        found = 0;
    if (found > 0 && pool->refine_rests > 0) {
        pool->refine_rests--;
        found = 0;
    }
    return found;
}

bool sp_refine_grows(struct sp_pool *pool, uint64_t size) {
    uint64_t more = pool->refine_grown + sp_refine_size(size);
    if (more > sp_load_relaxed(&pool->reserved) / SP_REFINE_GROWS_SHARE)
        return false;
    pool->refine_grown = more;
    return true;
}
