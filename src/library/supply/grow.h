// Growing: mapping new memory.
//
// A plan says where, and what is set aside for it. The pool's lock is given back, the driver is
// called, and the result is published, which can't fail any more. The map lock keeps other mappers
// out all the while.
#ifndef STREAMPOOL_SUPPLY_GROW_H
#define STREAMPOOL_SUPPLY_GROW_H

#include "region/request.h"

// Takes memory by mapping new one, next to free memory where that saves some.
// Memory is lacking (sp_outcome_lacks_memory) when the device, the host, the address space or the
// pool's limit has no more; then nothing has changed.
struct sp_outcome sp_grow(struct sp_request *request, struct sp_block **block);

// For a caller who holds the map lock. Maps what is missing to a free block of `bytes` in one
// piece, a multiple of the granule, next to ready memory where that saves some. Errors as above.
struct sp_outcome sp_grow_ahead(struct sp_pool *pool, uint64_t bytes);

// For a caller who holds the map lock. Maps `bytes` (rounded up to the granule) more as one large
// block that is BUSY, and neither counted nor published yet. Callers need exactly these bytes: a
// remap puts the front of an old extent behind them.
struct sp_outcome sp_grow_aside(struct sp_pool *pool, uint64_t bytes, struct sp_block **block);

// Counts `bytes` of such a block as reserved. The pool's lock is held.
void sp_grow_count(struct sp_pool *pool, const struct sp_block *block, uint64_t bytes);

// Unmaps such a block again. The map lock is held.
void sp_grow_back(struct sp_pool *pool, struct sp_block *block);

// The least that a growth for the request would map now. The pool's lock is held.
uint64_t sp_grow_least(const struct sp_request *request);

#endif
