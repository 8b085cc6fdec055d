// Rows of neighbouring free blocks: memory within a request's reach that lies side by side.
//
// A row of which nothing is known yet is looked at in parts, and others that wait for the pool's
// lock have it in between. A request looks at so many blocks of rows in vain at most; the next one
// goes on from there. All functions are called with the pool's lock held.
#ifndef STREAMPOOL_REGION_ROW_H
#define STREAMPOOL_REGION_ROW_H

#include "region/request.h"

// True when all that can be within reach is enough, wherever it lies. Others may have very much
// that isn't, in rows that are long, so this comes before a look at any.
bool sp_row_is_possible(const struct sp_request *request);

// Looks at rows of which nothing is known, at no more than others can wait for. True when all are
// known.
bool sp_row_learn_some(const struct sp_request *request);

// Looks at all of them. True when the lock was given back meanwhile.
bool sp_row_learn_all(const struct sp_request *request);

// A part of a row: blocks that lie side by side, from the first one on.
struct sp_row {
    struct sp_block *first; // or null
    uint64_t size;
};

// Returns the row within reach that ends with a block, or null, less than so many bytes of it. It
// looks at that block, and at `looks` more at most, which it takes off.
struct sp_row sp_row_up_to(const struct sp_request *request, struct sp_block *last,
                           uint64_t less_than, unsigned *looks);

// Takes a row out of the tiers, joined to its first block, as many blocks of it as make `size`
// bytes. Without host memory it is fewer, so the caller looks at the size again.
struct sp_block *sp_row_join(struct sp_pool *pool, struct sp_row row, uint64_t size);

// True when a dry request (region/request.h) would take a row.
bool sp_row_would(struct sp_request *dry);

// Takes the best row within reach out of the tiers, joined to one block that is BUSY and at least
// as large as asked for. Null when there is none.
struct sp_block *sp_row_take_aside(struct sp_request *request);

#endif
