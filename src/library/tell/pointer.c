#include "tell/pointer.h"

#include "base/page_map.h"
#include "region/device.h"
#include "region/owner.h"

enum look { LOOK_FREE, LOOK_LIVE, LOOK_AGAIN };

// The pool of a live block stays; its handle doesn't, if the pool was destroyed. False for a lane
// that is nobody's by now.
static bool describe_lane(struct poolPointerAttributes *attributes, struct sp_lane *lane) {
    struct sp_pool *pool = sp_load_plain(&lane->pool);
    const struct sp_stream *stream = sp_load_plain(&lane->stream);
    if (!pool || !stream)
        return false;
    poolMemPool_t handle = sp_load_acquire(&pool->overflow_of);
    if (!handle)
        handle = sp_load_acquire(&pool->handle);
    attributes->state = poolPointerLive;
    attributes->device = pool->device->vmm.ordinal;
    attributes->pool = sp_handle_pool(handle) ? handle : NULL;
    bool gone = sp_load_relaxed(&stream->gone);
    attributes->stream = gone ? NULL : sp_stream_proper_handle(sp_stream_handle_now(stream));
    return true;
}

static void describe_place(struct poolPointerAttributes *attributes, uint64_t base, uint64_t size) {
    attributes->base = (void *)(uintptr_t)base;
    attributes->size = size;
    attributes->extents = sp_page_map_count_pieces(base, size);
}

// The bytes that were asked for with a slab's block, or 0 where it isn't live. A slab sets a
// block's bit in one word before it takes that in another one away, and notes what was asked for
// before it takes the last bit away.
static uint16_t asked_for(const struct sp_slab *slab, uint64_t index) {
    uint64_t returned = __atomic_load_n(&slab->returned_blocks[index / 64], __ATOMIC_ACQUIRE);
    uint64_t not_live = returned | __atomic_load_n(&slab->free[index / 64], __ATOMIC_ACQUIRE);
    if ((not_live >> index % 64 & 1) != 0)
        return 0;
    uint16_t asked = __atomic_load_n(&slab->asked, __ATOMIC_ACQUIRE);
    return asked == SP_SLAB_MIXED ? sp_load_plain(&slab->asked_each[index]) : asked;
}

// A slab that is no more has the address 0, or that of its next run.
static enum look look_in_slab(struct poolPointerAttributes *attributes, uintptr_t owner,
                              uint64_t address) {
    struct sp_slab *slab = sp_owner_slab(owner);
    const struct sp_size_class *class = sp_owner_class(owner);
    uint64_t begin = sp_load_plain(&slab->address);
    uint64_t index = (address - begin) / class->block_size;
    struct sp_lane *lane = sp_load_plain(&slab->owner);
    if (!lane || index >= class->blocks)
        return sp_owner_of(address) == owner ? LOOK_FREE : LOOK_AGAIN;
    uint16_t asked = asked_for(slab, index);
    if (asked == 0 || !describe_lane(attributes, lane))
        return LOOK_FREE;
    describe_place(attributes, begin + index * class->block_size, class->block_size);
    attributes->requestedSize = asked;
    atomic_thread_fence(memory_order_acquire); // what follows is read behind all of that
    bool is_same = sp_load_plain(&slab->address) == begin && sp_load_plain(&slab->owner) == lane &&
                   asked_for(slab, index) == asked && sp_owner_of(address) == owner;
    return is_same ? LOOK_LIVE : LOOK_AGAIN;
}

static enum look look_at_block(struct poolPointerAttributes *attributes, struct sp_block *block,
                               uint64_t address) {
    uint64_t begin = sp_load_plain(&block->address), size = sp_load_plain(&block->size);
    uint64_t requested = sp_load_plain(&block->requested);
    struct sp_lane *lane = sp_owner_block_lane(block);
    if (!lane || address - begin >= size)
        return LOOK_AGAIN;
    if (!describe_lane(attributes, lane))
        return LOOK_FREE;
    describe_place(attributes, begin, size);
    attributes->requestedSize = requested;
    atomic_thread_fence(memory_order_acquire); // what follows is read behind all of that
    bool is_same = sp_load_plain(&block->address) == begin && sp_load_plain(&block->size) == size &&
                   sp_load_plain(&block->requested) == requested &&
                   sp_owner_block_lane(block) == lane;
    return is_same ? LOOK_LIVE : LOOK_AGAIN;
}

// The block that a word names, if it is a live large one with the address. A block that is being
// handed out has no lane yet.
static struct sp_block *named_by(uintptr_t owner, uint64_t address) {
    struct sp_block *block = sp_owner_block(owner);
    if (!block || !sp_owner_block_lane(block))
        return NULL;
    uint64_t begin = sp_load_plain(&block->address), size = sp_load_plain(&block->size);
    return begin <= address && address - begin < size ? block : NULL;
}

// The one that the word of a page names. In a page of loose blocks it is named by one of the fine
// words up to the address.
static struct sp_block *named_in(const struct sp_page_range *range, uint64_t page,
                                 uint64_t address) {
    uintptr_t owner = sp_load_acquire(sp_page_map_entry(range, page));
    struct sp_block *block = NULL;
    if (owner != SP_OWNER_LOOSE)
        return named_by(owner, address);
    uint64_t last = sp_min(address, page + SP_PAGE_SIZE - 1) >> SP_PAGE_FINE_SHIFT;
    for (uint64_t fine = last; !block && fine >= page >> SP_PAGE_FINE_SHIFT; fine--)
        block = named_by(sp_load_acquire(sp_page_map_fine(fine << SP_PAGE_FINE_SHIFT)), address);
    return block;
}

// The live large block with the address, or null. Its words are found as region/owner.h says: the
// first page's is looked at first, as a block that begins behind the page's begin has no other
// there. A block may begin in the window before.
static struct sp_block *find_block(uint64_t address) {
    const struct sp_page_range *range = sp_page_map_range(address);
    uint64_t number = address >> SP_PAGE_SHIFT;
    struct sp_block *block = named_in(range, sp_round_down(address, SP_PAGE_SIZE), address);
    for (; !block && number > 0; number &= number - 1) {
        uint64_t at = (number - 1) << SP_PAGE_SHIFT;
        if (at - range->base >= range->size)
            range = sp_page_map_range(at);
        if (!range)
            return NULL;
        block = named_in(range, at, address);
    }
    return block;
}

void sp_pointer_look(struct poolPointerAttributes *attributes, uint64_t address) {
    struct poolPointerAttributes found = {.state = poolPointerForeign, .device = -1};
    enum look seen = LOOK_FREE;
    *attributes = found;
    if (!sp_page_map_has(address))
        return;
    do {
        uintptr_t owner = sp_owner_of(address);
        struct sp_block *block = sp_owner_slab(owner) ? NULL : find_block(address);
        seen = sp_owner_slab(owner) ? look_in_slab(&found, owner, address)
               : block              ? look_at_block(&found, block, address)
                                    : LOOK_FREE;
    } while (seen == LOOK_AGAIN);
    attributes->state = poolPointerFree;
    if (seen == LOOK_LIVE)
        *attributes = found;
}
