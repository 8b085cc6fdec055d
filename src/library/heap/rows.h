// Rows: free neighbours that stand in different tiers, by what they have together.
//
// Neighbours in one tier are merged, so free memory lies side by side where blocks of different
// tiers meet, at a *seam*, the address at which the second of the two begins. A row is all free
// blocks side by side, and has two blocks at least. To find the rows of so many bytes with no look
// at the others, each unit of a chain (heap/block.h) has a number for the rows with a seam in it:
//
//   for each row, the number of a unit with one of its seams is at least that of its size
//
// So a block that is put into a tier beside a free one leaves SP_ROWS_UNKNOWN at the unit of the
// seam, the largest number, and one that is taken out leaves nothing: rows only become smaller by
// that. Whoever looks for rows goes to the units with numbers that are large enough, and leaves
// there what he has found. Of the blocks of a row the one that was put in last has a seam with
// another one, which was noted, and the row is no larger now than it was then.
//
// A row can have as many blocks as there are streams, and all of the pool's memory. So a search, or
// who learns, may go *in parts*: of a long row it looks at SP_ROWS_LONG blocks to either side of a
// seam. Where nothing was known of the unit that leaves SP_ROWS_LARGE, as a row of any size may;
// else the unit's number stays. What reaches over the end of a part is found by a search for whole
// rows alone.
//
// Guarded by the lock of the pool that owns the chain.
#ifndef STREAMPOOL_HEAP_ROWS_H
#define STREAMPOOL_HEAP_ROWS_H

#include "heap/block.h"

enum {
    SP_ROWS_UNKNOWN = UINT8_MAX,
    SP_ROWS_LARGE = SP_ROWS_UNKNOWN - 1, // the number of the largest rows, and of a part of any
    SP_ROWS_LONG = 256,
};

static inline bool sp_block_is_filed(const struct sp_block *block) {
    return block && sp_block_state(block) == SP_BLOCK_FREE;
}

// For the second block of a seam.
static inline void sp_rows_note_seam(const struct sp_block *second) {
    size_t unit = sp_unit_of(second->chain, second->address);
    struct sp_leaf *leaf = sp_leaf_of(second->chain, unit);
    leaf->rows[unit & (SP_LEAF_UNITS - 1)] = SP_ROWS_UNKNOWN;
    leaf->rows_most = SP_ROWS_UNKNOWN;
}

// A block was put into a tier.
static inline void sp_rows_note(const struct sp_block *block) {
    if (sp_block_is_filed(block->prev))
        sp_rows_note_seam(block);
    if (sp_block_is_filed(block->next))
        sp_rows_note_seam(block->next);
}

typedef void sp_row_found(void *context, struct sp_block *first, struct sp_block *last);

struct sp_rows_search {
    uint64_t least;      // bytes of the rows, or the parts, that are visited
    sp_row_found *visit; // changes nothing
    void *context;
    bool in_parts;
    unsigned looks; // in parts: at so many blocks, about, less each look; 0: it goes no further
    uint64_t from;  // 0, or an address to begin at; where to go on, once there are no looks left
    bool cut;       // set where a row was looked at in parts
};

// Visits rows by address. True when it came to the end of the chain.
bool sp_rows_find(struct sp_chain *chain, struct sp_rows_search *search);

// Looks at the units of which nothing is known, so that who searches needn't; at some `*looks`
// blocks, and lowers that by each. True when no unit is left.
bool sp_rows_learn(struct sp_chain *chain, unsigned *looks);

// The rule above, and that no leaf has a larger number than it says. For checks.
bool sp_rows_check(const struct sp_chain *chain);

#endif
