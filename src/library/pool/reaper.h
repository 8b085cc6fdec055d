// The reaper: the library's own thread, which unmaps and releases what nobody waits for.
//
// There is one for the process. It is started when there is something to do, sleeps when there is
// nothing, and ends when it has slept for a while: it keeps no process alive whose other threads
// have ended. It has a queue of pools, and visits each in turn: it buries one zombie whose work is
// known to have completed, or releases one extent of a trim that was left to it. Of a trim it is
// told no more than that: what it releases is chosen at each visit, so memory that waits for it is
// free memory, and an allocation takes it back by taking it.
//
//   - It takes a pool's map lock for one view or extent at a time, and where others want it, once
//     in a millisecond at most.
//   - What a trim needs to know, it finds out: the synchronise that left it collects nothing from
//     the lanes, unless a release delay has it counted.
//   - It asks no event, for it can't know that the event's context is alive. Whoever learns of
//     something wakes it.
//   - What the driver refuses stays what it was, and is tried again after a pause that grows.
//   - It holds no lock while it sleeps or waits.
//   - It ends before the driver's own end at exit, and a forked child has none.
//
// Some pools it doesn't serve: then the same work is done by the calling threads, at the same
// points as with the pool's attribute off. These are Deterministic pools, whose doings must not
// depend on how fast a thread was; and all pools while the simulated driver schedules the threads,
// for it knows nothing of this one.
#ifndef STREAMPOOL_POOL_REAPER_H
#define STREAMPOOL_POOL_REAPER_H

#include "pool/pool.h"

// Whether the pool's work is the reaper's now.
bool sp_reaper_serves(const struct sp_pool *pool);

// Puts the pool into the queue. False when the reaper doesn't serve it, or can't be started. May be
// called with any lock held.
bool sp_reaper_call(struct sp_pool *pool);

// Leaves a trim to the pool's threshold to the reaper, where the pool's attribute says so. False
// when it won't be done.
bool sp_reaper_take_trim(struct sp_pool *pool);

// Leaves the pool's zombies to the reaper, or buries those that can be. No lock is held.
void sp_reaper_take_zombies(struct sp_pool *pool);

// Waits until the reaper no longer stands on a pool that was given up: it takes that apart when it
// leaves. No lock is held.
void sp_reaper_await_given_up(void);

// For tests. Waits until the reaper has done what it can do now; and ends it, so that the next call
// starts it again.
void sp_reaper_rest(void);
void sp_reaper_stop(void);

#endif
