// Free memory by rows, for whoever asks what could be made of it. Of a row of neighbouring free
// blocks these parts are told apart:
//
//      row     ...##|====|--------|--------|==##...     - whole extents: can be released, or mapped
//                    tail                   front         elsewhere
//                                                       = the free end of an extent that is partly
//                                                         in use: can begin a stitched view, or end
//                                                         it; see pool/pieces.h
//
// An extent is whole if all of it is free, in however many blocks and whatever these wait for.
#ifndef STREAMPOOL_POOL_SURVEY_H
#define STREAMPOOL_POOL_SURVEY_H

#include "pool/pool.h"

// Whether a block, which may be in use, is one of the free ones that are meant.
typedef bool sp_meant(const void *context, const struct sp_block *block);
typedef void sp_free_row(void *context, const struct sp_block *first, const struct sp_block *last);

// Visits the rows of a region's blocks that are meant, each as long as it is. With the map lock and
// the pool's lock held, as all here.
void sp_for_each_free_row(const struct sp_pool *pool, enum sp_region_kind kind, sp_meant *is_meant,
                          sp_free_row *visit, void *context);

struct sp_row_extents {
    uint64_t whole;
    uint64_t tail, front;
};
struct sp_row_extents sp_row_extents(const struct sp_block *first, const struct sp_block *last);

// In no use by anybody, whatever it waits for.
static inline bool sp_block_is_free(const struct sp_block *block) {
    return block->tier && block->tier->state == SP_BLOCK_FREE;
}

// The bytes of the pool's whole extents all of whose blocks are meant.
uint64_t sp_whole_extents(const struct sp_pool *pool, sp_meant *is_meant, const void *context);

#endif
