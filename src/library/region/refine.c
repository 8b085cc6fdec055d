#include "region/refine.h"

#include "region/device.h"
#include "region/retain.h"

// Primed memory is to be had with no call of the driver. A deterministic pool never asks how much
// the device has left, and a plain device has no extents.
static bool may_refine(const struct sp_pool *pool) {
    return !sp_retain_is_primed(pool) && !sp_pool_is_deterministic(pool) &&
           sp_vmm_provider(&pool->device->vmm)->divides;
}

uint64_t sp_refine_due_in(struct sp_pool *pool, const struct sp_block *block, uint64_t size) {
    struct sp_space *space = &pool->device->space;
    uint64_t least = SP_REFINE_COUNT * sp_refine_size(size), found = 0;
    if (block->size < least || !may_refine(pool))
        return 0;
    sp_lock_acquire(&space->finding);
    const struct sp_space_extent *extent =
        sp_space_extent_at_locked(space, block->address + size - 1);
    if (extent && extent->size >= least && extent->address >= block->address &&
        extent->address + extent->size <= sp_block_end(block))
        found = extent->size;
    sp_lock_release(&space->finding);
    uint64_t pending = sp_pool_is_shared(pool) ? SP_REFINE_PENDING_SHARED : SP_REFINE_PENDING;
    if (found < pending && block->tier != &pool->regions[SP_REGION_LARGE].ready)
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
