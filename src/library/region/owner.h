// The page map's words: the word for a page is a slab, or a large block: the one that began in it
// last, or that was handed out last of those which lead through it. A word that is out of date
// points to a descriptor that says so itself: it has another address or isn't live.
//
// No two blocks of a page or more begin in one page. Loose blocks (region/loose.h) are smaller. A
// page in which one began has the word SP_OWNER_LOOSE, until all of it is a slab's or a large
// block's: then each block that begins there has a fine word (base/page_map.h), which is out of
// date as above.
//
//   a live block smaller than a page begins in a page  =>  the page's word is SP_OWNER_LOOSE
//
// A large block is found from each of its addresses by a few words, however large it is, as the
// sums in a Fenwick tree are. Of the pages that are all its own it stands in those with the numbers
//
//   n(0) = its first page + 1,  n(i + 1) = n(i) + the lowest bit of n(i)
//
// where page n - 1 has the number n. Who takes the number of a page in it, and takes the lowest bit
// away again and again, comes by one of them.
//
// In the bits that its alignment leaves, a slab's word has a 1 that tells it from a block, and
// above that its class: so the word tells where what was asked for with a block is noted before the
// slab's first cache line has come.
#ifndef STREAMPOOL_REGION_OWNER_H
#define STREAMPOOL_REGION_OWNER_H

#include "region/lane.h"

#include "base/cold.h"

#define SP_OWNER_SLAB        ((uintptr_t)1)
#define SP_OWNER_CLASS_SHIFT 1
#define SP_OWNER_LOOSE       ((uintptr_t)2) // no block has that address
#define SP_OWNER_TAG         ((uintptr_t) _Alignof(struct sp_slab) - 1)

static_assert(((SP_CLASS_COUNT - 1) << SP_OWNER_CLASS_SHIFT | 1) <= _Alignof(struct sp_slab) - 1,
              "a slab's alignment leaves room for its class");

// The word for an address, or 0 when it is nobody's. In a page of loose blocks it is the fine one.
static inline uintptr_t sp_owner_of(uint64_t address) {
    _Atomic uintptr_t *entry = sp_page_map_find(address);
    uintptr_t owner = entry ? sp_load_acquire(entry) : 0;
    return SP_UNLIKELY(owner == SP_OWNER_LOOSE) ? sp_load_acquire(sp_page_map_fine(address))
                                                : owner;
}

static inline struct sp_slab *sp_owner_slab(uintptr_t owner) {
    return owner & SP_OWNER_SLAB ? (struct sp_slab *)(owner & ~SP_OWNER_TAG) : NULL;
}

static inline struct sp_block *sp_owner_block(uintptr_t owner) {
    return owner & SP_OWNER_SLAB ? NULL : (struct sp_block *)owner;
}

static inline bool sp_owner_is_live_and_large(const struct sp_block *block) {
    return sp_load_acquire(&block->state) == SP_BLOCK_LIVE && !block->is_run;
}

// The lane that a large block was allocated on, or null: a block that isn't live has something else
// in that place, so it is looked at before and behind.
static inline struct sp_lane *sp_owner_block_lane(const struct sp_block *block) {
    if (!sp_owner_is_live_and_large(block))
        return NULL;
    struct sp_lane *lane = sp_load_acquire(&block->account);
    return sp_owner_is_live_and_large(block) ? lane : NULL;
}

// The lane that a live allocation was made on, by the address's word; null where none begins there,
// as far as the word tells.
static inline struct sp_lane *sp_owner_lane(uintptr_t owner) {
    if (owner & SP_OWNER_SLAB)
        return ((const struct sp_slab *)(owner & ~SP_OWNER_TAG))->owner;
    return owner ? sp_owner_block_lane((const struct sp_block *)owner) : NULL;
}

// A live large block that was allocated on this lane: exact with the lane's lock held.
static inline bool sp_owner_is_live_of(const struct sp_block *block, const struct sp_lane *lane) {
    return sp_owner_is_live_and_large(block) && sp_load_relaxed(&block->account) == lane;
}

// The class of a slab's blocks, by its word alone.
static inline const struct sp_size_class *sp_owner_class(uintptr_t owner) {
    return &sp_size_classes[(owner & SP_OWNER_TAG) >> SP_OWNER_CLASS_SHIFT];
}

// A place in the cache line that has what was asked for with the block at an address, if its slab
// is mixed; the slab is not looked at. A slab of one page has it at the index. One of several has
// few blocks, which are all in one line, so the index within the page leads to it too.
static inline const uint16_t *sp_owner_asked_line(uintptr_t owner, uint64_t address) {
    const struct sp_size_class *class = sp_owner_class(owner);
    const struct sp_slab *slab = (const struct sp_slab *)(owner & ~SP_OWNER_TAG);
    return &slab->asked_each[sp_slab_index(class, address % SP_PAGE_SIZE)];
}

// The word for an address that is to be freed. Has the cache lines fetched that the free will look
// at, both at once where it needs two: they lie apart, and among many blocks neither is at hand.
// (gcc 12 takes a function that does nothing else for one without an effect.)
static inline uintptr_t sp_owner_of_freed(uint64_t address) {
    _Atomic uintptr_t *entry = sp_page_map_find(address);
    uintptr_t owner = entry ? sp_load_acquire(entry) : 0;
    if (SP_LIKELY(owner & SP_OWNER_SLAB)) {
        uint32_t mixed = sp_load_relaxed(&sp_slab_mixed_classes);
        const void *slab = (const void *)(owner & ~SP_OWNER_TAG);
        __builtin_prefetch(slab, 1);
        if (SP_UNLIKELY(mixed >> ((owner & SP_OWNER_TAG) >> SP_OWNER_CLASS_SHIFT) & 1))
            __builtin_prefetch(sp_owner_asked_line(owner, address), 0);
    } else if (SP_UNLIKELY(owner == SP_OWNER_LOOSE)) {
        owner = sp_load_acquire(sp_page_map_fine(address));
    }
    return owner;
}

// Sees to it that there is a word for a block of so many bytes, which is about to be handed out.
// False without host memory.
static inline bool sp_owner_has_room(uint64_t address, uint64_t size) {
    return SP_LIKELY(size >= SP_PAGE_SIZE) || sp_page_map_make_fine(address);
}

// For a block that is handed out, unless it was handed out before. Its last page may be the first
// one of another block, whose word that is. Steps that are shorter than a window end in it.
void sp_owner_set_loose(struct sp_block *block);
static inline void sp_owner_set_block(struct sp_block *block) {
    if (SP_UNLIKELY(block->size < SP_PAGE_SIZE)) {
        sp_owner_set_loose(block);
        return;
    }
    _Atomic uintptr_t *entry = sp_page_map_find(block->address);
    uint64_t end = (block->address + block->size) >> SP_PAGE_SHIFT;
    uint64_t number = (block->address >> SP_PAGE_SHIFT) + 1, step = number & -number;
    // Loose blocks of others may come to begin in the first page at the same time.
    uintptr_t first = sp_load_acquire(entry);
    while (SP_LIKELY(first != SP_OWNER_LOOSE) &&
           !atomic_compare_exchange_weak_explicit(entry, &first, (uintptr_t)block,
                                                  memory_order_release, memory_order_acquire))
        ;
    if (SP_UNLIKELY(first == SP_OWNER_LOOSE))
        sp_store_release(sp_page_map_fine(block->address), (uintptr_t)block);
    for (; number + step <= end; step = number & -number) {
        number += step;
        entry = step < SP_PAGE_WINDOW_SIZE / SP_PAGE_SIZE
                    ? entry + step
                    : sp_page_map_find((number - 1) << SP_PAGE_SHIFT);
        sp_store_release(entry, (uintptr_t)block);
    }
}

// For every page of a slab's run; null clears.
static inline void sp_owner_set_run(const struct sp_block *run, struct sp_slab *slab) {
    uintptr_t owner = 0;
    if (slab)
        owner =
            (uintptr_t)slab | (uintptr_t)slab->class_index << SP_OWNER_CLASS_SHIFT | SP_OWNER_SLAB;
    for (uint64_t offset = 0; offset < run->size; offset += SP_PAGE_SIZE)
        sp_store_release(sp_page_map_find(run->address + offset), owner);
}

#endif
