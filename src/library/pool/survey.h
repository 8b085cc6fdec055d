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

// With the map lock and the pool's lock held, as all here.
struct sp_survey_row {
    uint64_t whole;
    uint64_t tail, front;
};
struct sp_survey_row sp_survey_row(const struct sp_block *first, const struct sp_block *last);

// In no use by anybody, whatever it waits for.
static inline bool sp_survey_is_free(const struct sp_block *block) {
    return block->tier && block->tier->state == SP_BLOCK_FREE;
}

// The value of a gauge, one of STREAMPOOL_POOL_GAUGES. False for any other attribute.
bool sp_survey_gauge(struct sp_pool *pool, enum poolMemPoolAttr attribute, uint64_t *value);
const char *sp_survey_name(enum poolMemPoolAttr attribute);

#endif
