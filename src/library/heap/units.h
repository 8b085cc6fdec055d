// Units: the table by which a chain finds the block at an address.
//
// A *unit* is 2 MiB of the chain's range. The table has an entry for each: the first block that
// begins in it, or null. The entries stand in *leaves* of 512 units. A leaf is made when the first
// block begins in its part of the range, as a range has room for a whole device, and a new pool
// should not pay for that.
//
//   exactly the first block of each unit stands in the table
//   a bit of `begins` is set exactly where the entry isn't null
//
// The lock of the pool that owns the chain guards the table.
#ifndef STREAMPOOL_HEAP_UNITS_H
#define STREAMPOOL_HEAP_UNITS_H

#include "base/cold.h"
#include "heap/block.h"

enum { SP_UNIT_SHIFT = 21, SP_LEAF_SHIFT = 9, SP_LEAF_UNITS = 1 << SP_LEAF_SHIFT };

// The units of a leaf, in groups.
enum { SP_GROUP_SHIFT = 6, SP_LEAF_GROUPS = SP_LEAF_UNITS >> SP_GROUP_SHIFT };

struct sp_leaf {
    uint64_t begins[SP_LEAF_GROUPS];   // a bit for each unit, by which a long block is passed over
    uint8_t rows[SP_LEAF_UNITS];       // see heap/rows.h
    uint8_t rows_most;                 // no entry is larger
    uint8_t free[SP_LEAF_UNITS];       // see heap/lowest.h
    uint8_t free_most[SP_LEAF_GROUPS]; // no entry of the group is larger
    struct sp_block *first[];
};

// The number of the unit that an address lies in.
static inline size_t sp_units_at(const struct sp_chain *chain, uint64_t address) {
    return (size_t)((address - chain->address) >> SP_UNIT_SHIFT);
}

static inline size_t sp_units_count(const struct sp_chain *chain) {
    return (size_t)((chain->size - 1) >> SP_UNIT_SHIFT) + 1;
}

// How many leaves the chain has room for.
static inline size_t sp_units_leaves(const struct sp_chain *chain) {
    return ((sp_units_count(chain) - 1) >> SP_LEAF_SHIFT) + 1;
}

// The leaf of a unit, or null where no block has begun.
static inline struct sp_leaf *sp_units_leaf(const struct sp_chain *chain, size_t unit) {
    return chain->leaves[unit >> SP_LEAF_SHIFT];
}

// Sets the entry of a unit whose leaf has been made.
static inline void sp_units_set(const struct sp_chain *chain, size_t unit, struct sp_block *block) {
    struct sp_leaf *leaf = sp_units_leaf(chain, unit);
    size_t within = unit & (SP_LEAF_UNITS - 1);
    uint64_t *begins = &leaf->begins[within >> SP_GROUP_SHIFT], bit = (uint64_t)1 << within % 64;
    *begins = block ? *begins | bit : *begins & ~bit;
    leaf->first[within] = block;
}

// A block is the first in its unit if the one before it begins in another. The chain itself tells,
// so that the table is touched only for these.
static inline bool sp_units_is_first(const struct sp_block *block, size_t unit) {
    return !block->prev || sp_units_at(block->chain, block->prev->address) != unit;
}

// Enters a block whose neighbours are known and for which there is room.
static inline void sp_units_enter(struct sp_block *block) {
    size_t unit = sp_units_at(block->chain, block->address);
    if (sp_units_is_first(block, unit))
        sp_units_set(block->chain, unit, block);
}

// Takes out a block that is about to become part of the one before it.
static inline void sp_units_leave(const struct sp_block *block) {
    const struct sp_chain *chain = block->chain;
    size_t unit = sp_units_at(chain, block->address);
    if (!sp_units_is_first(block, unit))
        return;
    bool next_begins_here = block->next && sp_units_at(chain, block->next->address) == unit;
    sp_units_set(chain, unit, next_begins_here ? block->next : NULL);
}

// Sizes are noted as numbers: a larger size never has a smaller one. A size of 0 has none.
enum { SP_NUMBER_LARGE = UINT8_MAX - 1 }; // the number of the largest sizes
static inline uint8_t sp_units_number(uint64_t size) {
    unsigned bin = sp_size_class_bin(size);
    return (uint8_t)(bin < SP_NUMBER_LARGE ? bin + 1 : SP_NUMBER_LARGE);
}

// Makes an empty table for a chain that has its address and size. False without host memory.
bool sp_units_open(struct sp_chain *chain);

// Frees the table.
void sp_units_close(struct sp_chain *chain);

// Makes the leaf for an address. False without host memory. Called by sp_units_make_room().
bool sp_units_make_leaf(struct sp_chain *chain, uint64_t address);

// Makes room for a block to begin at an address. False without host memory.
static inline bool sp_units_make_room(struct sp_chain *chain, uint64_t address) {
    return SP_LIKELY(sp_units_leaf(chain, sp_units_at(chain, address))) ||
           sp_units_make_leaf(chain, address);
}

// Makes the table one for a chain of `size` bytes, more than it has. False without host memory;
// then nothing has changed.
bool sp_units_extend(struct sp_chain *chain, uint64_t size);

// Forgets the units that a chain of `size` bytes, less than it has, doesn't reach. No block may
// begin in them.
void sp_units_shrink(struct sp_chain *chain, uint64_t size);

// The last block in the table that begins at an address of the chain or before it.
struct sp_block *sp_units_find(const struct sp_chain *chain, uint64_t address);

#endif
