// A pool leaves trims to the release threshold, and zombies, to the worker.
//
// A pool has a task (base/worker.h). Whoever leaves something sets a flag of the pool, or adds to
// its zombies, and calls for the task; a visit finds out what there is to do (process/life.c).
// So memory that waits to be released is free until then, and an allocation may take it.
//
// The worker serves no deterministic pool, whose doings must not depend on how fast a thread is,
// and none while the simulated driver schedules the threads, for it doesn't know the worker. There
// the calling threads do the same work, where they do it with the pool's attribute off.
//
// A view that is no longer kept is a zombie (region/stitch.h). Once all work through it has
// completed it is *buried*: unmapped, and its address space given back, with the map lock held and
// the pool's not. A zombie that the driver doesn't unmap stays one.
#ifndef STREAMPOOL_SUPPLY_DEFER_H
#define STREAMPOOL_SUPPLY_DEFER_H

#include "region/stitch.h"

// Tells whether the worker does the pool's work.
bool sp_defer_serves(const struct sp_pool *pool);

// Calls for the pool's task. False when the worker doesn't serve the pool, or can't be started.
// May be called with any lock held.
bool sp_defer_call(struct sp_pool *pool);

// Leaves a trim to the pool's threshold to the worker, where the pool's attribute says so. False
// when it won't be done.
bool sp_defer_trim(struct sp_pool *pool);

// Leaves the pool's zombies to the worker, or buries those that can be. No lock is held.
void sp_defer_bury(struct sp_pool *pool);

// Buries the zombies whose work has completed, and counts them. Returns the first error. Takes the
// map lock.
struct sp_outcome sp_defer_bury_all(struct sp_pool *pool, size_t *buried);

// Buries one zombie whose work has completed, if there is one. The map lock is held.
struct sp_outcome sp_defer_bury_one(struct sp_pool *pool, bool *buried);

// Unmaps and closes a view that is in no list and that no work uses. It becomes a zombie where the
// driver doesn't unmap it. The map lock is held.
struct sp_outcome sp_defer_bury_view(struct sp_pool *pool, struct sp_stitch *stitch);

// Unmaps and closes all stitched views of a pool that ends: none of its memory is left.
void sp_defer_bury_at_end(struct sp_pool *pool);

#endif
