// Rows: free neighbours that stand in different tiers, taken together.
//
// Neighbours in one tier are merged, so free memory lies side by side only where blocks of
// different tiers meet. They meet at a *boundary*, the address at which the second block begins. A
// row is all free blocks side by side, and has at least two blocks.
//
// To find the rows of a size with no look at the others, each unit of a chain (heap/units.h) has a
// number for the rows that have a boundary in it:
//
//   each row has a boundary in a unit whose number is at least the number of the row's size
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
#ifndef STREAMPOOL_HEAP_ROWS_H
#define STREAMPOOL_HEAP_ROWS_H

#include "heap/units.h"

enum {
    SP_ROWS_UNKNOWN = UINT8_MAX,
    SP_ROWS_LARGE = SP_NUMBER_LARGE, // the number of the largest rows, and of a part of any
    SP_ROWS_LONG = 256,
};

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

typedef void sp_row_found(void *context, struct sp_block *first, struct sp_block *last);

struct sp_rows_search {
    uint64_t least;      // the rows, or parts, of at least so many bytes are visited
    sp_row_found *visit; // changes nothing
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
