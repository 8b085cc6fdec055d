// Quick lists: large blocks as they were freed on a lane, by exact size.
//
// A program that repeats itself asks for the sizes that it has freed. So a freed large block is
// kept whole, and a request of the same size takes it back with no search and no splitting or
// merging. To its chain such a block is taken; whoever finds no fit in a lane's lists puts them all
// back first, so no memory is overlooked. All under the lane's lock.
#ifndef STREAMPOOL_REGION_QUICK_H
#define STREAMPOOL_REGION_QUICK_H

#include "base/hash.h"
#include "region/crowd.h"
#include "region/unfenced.h"

static inline unsigned sp_quick_index(uint64_t size) {
    return (unsigned)sp_hash_bits(size / SP_ALIGNMENT, 5);
}

static_assert(SP_QUICK_BINS == 1 << (64 - 59), "sp_quick_index yields a bin");

static inline void sp_quick_note_empty(struct sp_lane *lane, unsigned index) {
    sp_store_release(&lane->quick_used, sp_load_relaxed(&lane->quick_used) & ~(1u << index));
}

static inline struct sp_block *sp_quick_take(struct sp_lane *lane, uint64_t size) {
    unsigned index = sp_quick_index(size);
    struct sp_quick_bin *bin = &lane->quick[index];
    struct sp_block *block = bin->head;
    if (!block || bin->size != size)
        return NULL;
    bin->head = block->quick_next;
    if (!bin->head)
        sp_quick_note_empty(lane, index);
    return block;
}

// True when a block of the size can be put in and none has to go.
static inline bool sp_quick_has_room(const struct sp_lane *lane, uint64_t size) {
    const struct sp_quick_bin *bin = &lane->quick[sp_quick_index(size)];
    return !bin->head || bin->size == size;
}

// Puts a block in. False, and nothing is changed, where blocks of another size stand in its bin.
static inline bool sp_quick_put(struct sp_lane *lane, struct sp_block *block) {
    unsigned index = sp_quick_index(block->size);
    struct sp_quick_bin *bin = &lane->quick[index];
    if (SP_UNLIKELY(bin->head && bin->size != block->size))
        return false;
    bin->size = block->size;
    block->quick_next = bin->head;
    bin->head = block;
    sp_store_relaxed(&lane->quick_used, sp_load_relaxed(&lane->quick_used) | 1u << index);
    sp_block_set_state(block, SP_BLOCK_CACHED);
    return true;
}

// Puts in what the lane's own stream frees. In a lane that places by address that is only the block
// that it gave out last, and it alone, unless the lane is in a crowd.
static inline bool sp_quick_put_own(struct sp_lane *lane, struct sp_block *block) {
    if (SP_UNLIKELY(sp_load_relaxed(&lane->by_address)) &&
        (sp_load_relaxed(&lane->quick_used) != 0 || sp_load_relaxed(&lane->latest) != block) &&
        !sp_crowd_keeps(lane))
        return false;
    return sp_quick_put(lane, block);
}

#endif
