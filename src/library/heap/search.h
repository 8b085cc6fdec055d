// Searches through a chain: for the free block with the lowest address that is large enough, and
// for *rows*, free neighbours that stand in different tiers, taken together.
//
// A request that takes the lowest block leaves the memory at high addresses free for longest. A
// program that does the same again finds the same places again.
//
// Neighbours in one tier are merged, so free memory lies side by side only where blocks of
// different tiers meet. They meet at a *boundary*, the address at which the second block begins. A
// row is all free blocks side by side, and has at least two blocks.
//
// To search with no look at each block, each unit of a chain (heap/block.h) has a number for the
// blocks that begin in it, and another for the rows that have a boundary in it. Each group of units
// has the largest of their first numbers, and each leaf the largest of their second ones:
//
//   each block in a tier begins in a unit whose first number is at least the number of its size
//   each row has a boundary in a unit whose second number is at least the number of the row's size
//
// A block that goes into a tier raises the first numbers. A search that comes to a unit in vain
// lowers its number to what it has seen there.
//
// A block that is put into a tier beside a free one leaves SP_ROWS_UNKNOWN, the largest number, at
// the unit of the boundary. A block that is taken out leaves nothing, as that only makes rows
// smaller. A search for rows goes to the units whose numbers are large enough, and leaves there the
// numbers of the rows that it has found. The rule holds because the block of a row that was put in
// last has a boundary with another one, at which it left the largest number, and the row has not
// grown since.
//
// A row can have as many blocks as there are streams, and all of the pool's memory. So a search can
// go *in parts*: of a long row it looks at SP_ROWS_LONG blocks to either side of a boundary. It
// leaves SP_ROWS_LARGE where nothing was known of the unit, as the row may have any size; elsewhere
// the unit's number stays. A stretch of memory that reaches over the end of a part is found only by
// a search for whole rows.
//
// The lock of the pool that owns the chain guards all of this.
#ifndef STREAMPOOL_HEAP_SEARCH_H
#define STREAMPOOL_HEAP_SEARCH_H

#include "heap/block.h"

enum {
    SP_ROWS_UNKNOWN = UINT8_MAX,
    SP_ROWS_LARGE = SP_ROWS_UNKNOWN - 1, // the number of the largest rows, and of a part of any
    SP_ROWS_LONG = 256,
};

// Returns the number of a size: a larger size never has a smaller one. A size of 0 has none.
static inline uint8_t sp_search_number(uint64_t size) {
    unsigned bin = sp_block_bin(size);
    return (uint8_t)(bin < SP_ROWS_LARGE ? bin + 1 : SP_ROWS_LARGE);
}

// Notes a block that was put into a tier, or that begins later in it.
static inline void sp_lowest_note(const struct sp_block *block) {
    size_t unit = sp_units_at(block->chain, block->address);
    struct sp_leaf *leaf = sp_units_leaf(block->chain, unit);
    size_t at = unit & (SP_LEAF_UNITS - 1);
    uint8_t number = sp_search_number(block->size);
    if (leaf->free[at] < number)
        leaf->free[at] = number;
    if (leaf->free_most[at >> SP_GROUP_SHIFT] < number)
        leaf->free_most[at >> SP_GROUP_SHIFT] = number;
}

// Notes a boundary, whose second block this is.
static inline void sp_rows_note_boundary(const struct sp_block *second) {
    size_t unit = sp_units_at(second->chain, second->address);
    struct sp_leaf *leaf = sp_units_leaf(second->chain, unit);
    leaf->rows[unit & (SP_LEAF_UNITS - 1)] = SP_ROWS_UNKNOWN;
    leaf->rows_most = SP_ROWS_UNKNOWN;
}

// Notes the boundaries of a block that was put into a tier.
static inline void sp_rows_note(const struct sp_block *block) {
    if (sp_block_is_in_tier(block->prev))
        sp_rows_note_boundary(block);
    if (sp_block_is_in_tier(block->next))
        sp_rows_note_boundary(block->next);
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

struct sp_rows_search {
    uint64_t least; // the rows, or parts, of at least so many bytes are visited
    void (*visit)(void *context, struct sp_block *first, struct sp_block *last); // changes nothing
    void *context;
    bool in_parts;
    unsigned looks; // in parts: each look at a block lowers it, and the search ends at about 0
    uint64_t from;  // the address to begin at; a search that ends early sets where to go on
    bool cut;       // the search sets it where it looks at a row in parts
};

// Visits rows by address. True when it comes to the end of the chain.
bool sp_rows_find(struct sp_chain *chain, struct sp_rows_search *search);

// Looks at the units of which nothing is known, so that a search needn't. It looks at about
// `*looks` blocks and lowers the number by each. True when no such unit is left.
bool sp_rows_learn(struct sp_chain *chain, unsigned *looks);

#endif
