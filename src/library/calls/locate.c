#include "calls/locate.h"

#include "region/device.h"
#include "region/lane.h"
#include "region/loan.h"
#include "region/owner.h"

static struct sp_location inside(uint64_t offset, uint64_t size) {
    return (struct sp_location){offset < size ? SP_PLACE_INSIDE : SP_PLACE_FREE, offset, size};
}

// A slab that was given up has no such live block, wherever its struct is by now.
static struct sp_location in_slab_locked(const struct sp_slab *slab, uint64_t address) {
    const struct sp_size_class *class = sp_slab_class(slab);
    uint64_t offset = address - slab->address, index = offset / class->block_size;
    if (address < slab->address || index >= class->blocks ||
        !sp_slab_is_live(slab, (uint32_t)index))
        return (struct sp_location){.place = SP_PLACE_FREE};
    return inside(offset % class->block_size, sp_slab_requested(slab, (uint32_t)index));
}

static struct sp_location in_slab(const struct sp_slab *slab, uint64_t address) {
    struct sp_lane *lane = slab->owner;
    struct sp_location location = {.place = SP_PLACE_FREE};
    if (!lane)
        return location;
    sp_biased_lock_acquire(&lane->lock);
    if (slab->owner == lane)
        location = in_slab_locked(slab, address);
    sp_biased_lock_release(&lane->lock);
    return location;
}

static struct sp_block *find_in(const struct sp_chain *chain, uint64_t address) {
    if (address - chain->address >= chain->size)
        return NULL;
    struct sp_block *block = sp_chain_find(chain, address);
    return sp_block_state(block) == SP_BLOCK_LOST ? NULL : block;
}

// A block that is being handed out, or was a slab's run until just now, has no account.
static struct sp_location in_block(const struct sp_block *block, uint64_t address) {
    return sp_owner_block_lane(block) ? inside(address - block->address, block->requested)
                                      : (struct sp_location){.place = SP_PLACE_FREE};
}

// The block that the address lies in, in a view of the pool or in one that was stitched; or null.
static struct sp_block *find_locked(struct sp_pool *pool, uint64_t address) {
    struct sp_block *block = NULL;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        SP_LIST_FOR_EACH(link, &pool->regions[kind].segments) {
            const struct sp_segment *segment = SP_CONTAINER_OF(link, struct sp_segment, link);
            block = block ? block : find_in(&segment->chain, address);
        }
    }
    SP_LIST_FOR_EACH(link, &pool->kept.views) {
        const struct sp_stitch *stitch = SP_CONTAINER_OF(link, struct sp_stitch, by_use);
        block = block ? block : find_in(&stitch->segment.chain, address);
    }
    return block;
}

static struct sp_location in_pool(struct sp_pool *pool, uint64_t address) {
    struct sp_location location = {.place = SP_PLACE_FREE};
    const struct sp_slab *slab = NULL;
    sp_lock_acquire(&pool->lock);
    const struct sp_block *block = find_locked(pool, address);
    if (block && sp_block_state(block) == SP_BLOCK_LIVE) {
        slab = block->is_run ? block->slab : NULL;
        location = slab ? location : in_block(block, address);
    }
    sp_lock_release(&pool->lock);
    return slab ? in_slab(slab, address) : location;
}

struct sp_location sp_locate(uint64_t address) {
    struct sp_location location = {.place = SP_PLACE_FREE};
    struct sp_device *device = NULL;
    if (!sp_page_map_has(address))
        return (struct sp_location){.place = SP_PLACE_FOREIGN};
    while ((device = sp_device_next(device))) {
        struct sp_pool *pool = NULL;
        while ((pool = sp_device_next_pool(device, pool))) {
            if (location.place == SP_PLACE_FREE)
                location = in_pool(pool, address);
        }
    }
    return location;
}
