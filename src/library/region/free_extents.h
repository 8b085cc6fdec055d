// This tells what could be made of free memory, by the extents that it lies in. A row of
// neighbouring free blocks has these parts:
//
//      row     ...##|====|--------|--------|==##...
//                    tail                   front
//
// Whole extents (-) can be released, or mapped elsewhere. The free end (=) of an extent that is
// partly in use can begin a stitched view, or end it (supply/pieces.h).
//
// An extent is whole if all of it is free, in however many blocks and whatever these wait for.
#ifndef STREAMPOOL_REGION_FREE_EXTENTS_H
#define STREAMPOOL_REGION_FREE_EXTENTS_H

#include "region/pool.h"

// The bytes of each part of a row.
struct sp_free_extents {
    uint64_t whole;
    uint64_t tail, front;
};

// Returns the parts of the row from one block to another. The map lock and the pool's lock are
// held.
struct sp_free_extents sp_free_extents_between(const struct sp_block *first,
                                               const struct sp_block *last);

// Tells whether one of the row's extents can't be mapped again, since its handle was released
// already, in a trim that the driver didn't let end. The pool's lock is held.
bool sp_free_extents_has_released(const struct sp_block *first, const struct sp_block *last);

// Calls `visit` for each extent that lies wholly in a ready block. However many blocks there are
// that are smaller than an extent, none is looked at. The pool's lock is held, as in the next.
typedef void sp_free_extents_visit(void *context, const struct sp_block *block,
                                   struct sp_extent *extent);
void sp_free_extents_each_ready(const struct sp_pool *pool, sp_free_extents_visit *visit,
                                void *context);

// Returns the bytes of these.
uint64_t sp_free_extents_ready_bytes(const struct sp_pool *pool);

// Tells whether a block is in no use, whatever it waits for. The pool's lock is held.
static inline bool sp_free_extents_is_free(const struct sp_block *block) {
    return block->tier && block->tier->state == SP_BLOCK_FREE;
}

#endif
