// A pool leaves trims to the release threshold, and zombies, to the worker.
//
// A pool has a chore (base/worker.h). Whoever leaves something sets a flag of the pool, or adds to
// its zombies, and calls for the chore; a visit finds out what there is to do (process/reaper.h).
// So memory that waits to be released is free memory until then, and an allocation takes it back by
// taking it.
//
// The worker doesn't serve some pools. Then the calling threads do the same work, at the points at
// which they do it with the pool's attribute off. These are deterministic pools, whose doings must
// not depend on how fast a thread is; and all pools while the simulated driver schedules the
// threads, for it doesn't know the worker.
#ifndef STREAMPOOL_SUPPLY_LATER_H
#define STREAMPOOL_SUPPLY_LATER_H

#include "region/pool.h"

// Tells whether the worker does the pool's work.
bool sp_later_serves(const struct sp_pool *pool);

// Calls for the pool's chore. False when the worker doesn't serve the pool, or can't be started.
// May be called with any lock held.
bool sp_later_call(struct sp_pool *pool);

// Leaves a trim to the pool's threshold to the worker, where the pool's attribute says so. False
// when it won't be done.
bool sp_later_trim(struct sp_pool *pool);

// Leaves the pool's zombies to the worker, or buries those that can be. No lock is held.
void sp_later_bury(struct sp_pool *pool);

#endif
