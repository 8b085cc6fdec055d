// Finding the free block with the lowest address that is large enough.
//
// A request that takes it leaves the memory at high addresses free for longest. A program that does
// the same again finds the same places again.
//
// To find it with no look at each block, each unit of a chain (heap/units.h) has a number for the
// blocks that begin in it, and each group of units the largest of theirs:
//
//   each block in a tier begins in a unit whose number is at least the number of its size
//
// A block that goes into a tier raises the numbers. A search that comes to a unit in vain lowers
// its number to what it has seen there.
//
// The lock of the pool that owns the chain guards all of this.
#ifndef STREAMPOOL_HEAP_LOWEST_H
#define STREAMPOOL_HEAP_LOWEST_H

#include "heap/units.h"

// Notes a block that was put into a tier, or that begins later in it.
static inline void sp_lowest_note(const struct sp_block *block) {
    size_t unit = sp_units_at(block->chain, block->address);
    struct sp_leaf *leaf = sp_units_leaf(block->chain, unit);
    size_t at = unit & (SP_LEAF_UNITS - 1);
    uint8_t number = sp_units_number(block->size);
    if (leaf->free[at] < number)
        leaf->free[at] = number;
    if (leaf->free_most[at >> SP_GROUP_SHIFT] < number)
        leaf->free_most[at >> SP_GROUP_SHIFT] = number;
}

struct sp_lowest_search {
    uint64_t size; // at least
    // Tells whether a free block that is large enough will do. It is asked by address until one
    // does.
    bool (*takes)(void *context, const struct sp_block *block);
    void *context;
    unsigned looks; // at blocks, that are left; with none left the search finds nothing
};

struct sp_block *sp_lowest_find(struct sp_chain *chain, struct sp_lowest_search *search);

#endif
