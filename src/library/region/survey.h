// A survey tells what could be made of free memory. In a row of neighbouring free blocks it tells
// these parts apart:
//
//      row     ...##|====|--------|--------|==##...
//                    tail                   front
//
// Whole extents (-) can be released, or mapped elsewhere. The free end (=) of an extent that is
// partly in use can begin a stitched view, or end it (supply/pieces.h).
//
// An extent is whole if all of it is free, in however many blocks and whatever these wait for.
#ifndef STREAMPOOL_REGION_SURVEY_H
#define STREAMPOOL_REGION_SURVEY_H

#include "region/pool.h"

// The bytes of each part of a row.
struct sp_survey_row {
    uint64_t whole;
    uint64_t tail, front;
};

// Surveys the row from one block to another. The map lock and the pool's lock are held.
struct sp_survey_row sp_survey_row(const struct sp_block *first, const struct sp_block *last);

// Tells whether one of the row's extents can't be mapped again, since its handle was released
// already, in a trim that the driver didn't let end. The pool's lock is held.
bool sp_survey_has_released(const struct sp_block *first, const struct sp_block *last);

// Returns the smallest ready block that an extent may lie in, or null. However many smaller ones
// there are, none is looked at. The pool's lock is held, as in the next two.
struct sp_block *sp_survey_first_ready(const struct sp_pool *pool, int kind);

// Calls `visit` for each extent that lies wholly in a ready block.
typedef void sp_survey_visit(void *context, const struct sp_block *block, struct sp_extent *extent);
void sp_survey_each_ready(const struct sp_pool *pool, sp_survey_visit *visit, void *context);

// Returns the bytes of these.
uint64_t sp_survey_ready_bytes(const struct sp_pool *pool);

// Tells whether a block is in no use, whatever it waits for. The pool's lock is held.
static inline bool sp_survey_is_free(const struct sp_block *block) {
    return block->tier && block->tier->state == SP_BLOCK_FREE;
}

#endif
