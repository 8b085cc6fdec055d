// Burying: unmapping stitched views that nobody can use any more.
//
// A view that is no longer kept is a zombie (region/loan.h). Once all work through it has completed
// it is unmapped and its address space given back, with the map lock held and the pool's not. A
// zombie that the driver doesn't unmap stays one.
#ifndef STREAMPOOL_SUPPLY_BURY_H
#define STREAMPOOL_SUPPLY_BURY_H

#include "region/loan.h"

// Buries the zombies whose work has completed, and counts them. Returns the first error. Takes the
// map lock.
struct sp_outcome sp_bury_all(struct sp_pool *pool, size_t *buried);

// Buries one zombie whose work has completed, if there is one. The map lock is held.
struct sp_outcome sp_bury_one(struct sp_pool *pool, bool *buried);

// Unmaps and closes a view that is in no list and that no work uses. It becomes a zombie where the
// driver doesn't unmap it. The map lock is held.
struct sp_outcome sp_bury_view(struct sp_pool *pool, struct sp_stitch *stitch);

// Unmaps and closes all stitched views of a pool that ends: none of its memory is left.
void sp_bury_at_end(struct sp_pool *pool);

#endif
