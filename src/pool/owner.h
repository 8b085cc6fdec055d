// What the page map says: the word for a page is a slab (tagged), or the large block that began in it last. A
// word that is out of date points to a descriptor that says so itself: it has another address or isn't live.
#ifndef STREAMPOOL_POOL_OWNER_H
#define STREAMPOOL_POOL_OWNER_H

#include "pool/pool.h"

#define SP_OWNER_SLAB ((uintptr_t)1)

// The word for an address, or 0 when it is nobody's.
static inline uintptr_t sp_owner_of(uint64_t address) {
    _Atomic uintptr_t *entry = sp_page_map_find(address);
    return entry ? atomic_load_explicit(entry, memory_order_acquire) : 0;
}

static inline struct sp_slab *sp_owner_slab(uintptr_t owner) {
    return owner & SP_OWNER_SLAB ? (struct sp_slab *)(owner & ~SP_OWNER_SLAB) : NULL;
}

static inline struct sp_block *sp_owner_block(uintptr_t owner) {
    return owner & SP_OWNER_SLAB ? NULL : (struct sp_block *)owner;
}

// The lane that a live allocation was made on, by the address's word; null where none begins there, as far as the word tells.
static inline struct sp_lane *sp_owner_lane(uintptr_t owner) {
    struct sp_slab *slab = sp_owner_slab(owner);
    struct sp_block *block = sp_owner_block(owner);
    if (slab)
        return slab->owner;
    return block ? atomic_load_explicit(&block->account, memory_order_acquire) : NULL;
}

// A live large block that was allocated on this lane: exact with the lane's lock held.
static inline bool sp_block_is_live_of(const struct sp_block *block, const struct sp_lane *lane) {
    return sp_block_state(block) == SP_BLOCK_LIVE && !block->slab &&
           atomic_load_explicit(&block->account, memory_order_relaxed) == lane;
}

// The pool that the live allocation at an address is of, by the address's word; null when none begins there. In a slab, the pool
// of the slab. For a caller that holds the allocation.
static inline struct sp_pool *sp_owner_pool(uintptr_t owner, uint64_t address) {
    struct sp_slab *slab = sp_owner_slab(owner);
    struct sp_block *block = sp_owner_block(owner);
    if (slab)
        return ((struct sp_lane *)slab->owner)->pool;
    return block && block->address == address && sp_block_state(block) == SP_BLOCK_LIVE
               ? sp_segment_of(block)->pool
               : NULL;
}

static inline void sp_owner_set_block(struct sp_block *block) {
    atomic_store_explicit(sp_page_map_find(block->address), (uintptr_t)block, memory_order_release);
}

// For every page of a slab's run; null clears.
static inline void sp_owner_set_run(const struct sp_block *run, struct sp_slab *slab) {
    uintptr_t owner = slab ? (uintptr_t)slab | SP_OWNER_SLAB : 0;
    for (uint64_t offset = 0; offset < run->size; offset += SP_PAGE_SIZE)
        atomic_store_explicit(sp_page_map_find(run->address + offset), owner, memory_order_release);
}

#endif
