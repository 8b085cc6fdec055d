// The reaper: what the worker does for a pool. At a visit it buries one zombie whose work is known
// to have completed, or releases one extent of a trim that was left to it (supply/defer.h).
//
//   - It takes a pool's map lock for one view or extent at a time, and where others want it, once
//     in a millisecond at most.
//   - It finds out what a trim needs to know: the synchronise that left the trim collects nothing
//     from the lanes, unless a release delay has it counted.
//   - It asks no event, for it can't know that the event's context is alive. Whoever learns of
//     something wakes it.
//   - What the driver refuses stays what it was, and is tried again after a pause that grows.
#ifndef STREAMPOOL_PROCESS_REAPER_H
#define STREAMPOOL_PROCESS_REAPER_H

#include "region/pool.h"

// Makes the task of a pool's struct. Once for each struct: the worker may come late, and look at
// the struct's next pool then.
void sp_reaper_init(struct sp_pool *pool);

#endif
