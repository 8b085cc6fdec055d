// Pools that were given up: what they wait for, and their end.
//
// A pool that was destroyed while memory of it was in use is *given up*: it is taken apart once
// nothing of it is live and all work that used its memory is known to have completed. Creations,
// synchronises and growths look for such pools, and what that costs doesn't depend on how many
// wait. For each is either
//
//   due      to be looked at: it was just given up, or something of it was freed since, or the
//            driver refused something
//   waiting  for fences. Each of its lanes that has free memory with a pending fence stands in
//            device.awaited, by the stream's slot and the lowest such number: so a look at the
//            first lane of each slot shows whose fence has completed
//   resting  until something of it is freed: what is left is live
//
// or it is claimed by the thread that takes it apart. A look takes what is complete by then, and
// puts the pool in its place anew. So each look is paid for by a number that has completed, or by a
// free.
#ifndef STREAMPOOL_PROCESS_GIVEN_UP_H
#define STREAMPOOL_PROCESS_GIVEN_UP_H

#include "region/pool.h"

// For a device that is opened.
void sp_given_up_init(struct sp_device *device);

// Takes the pool apart if it is given up, nothing of it is live and everything has completed; else
// does nothing. The struct may be another pool's by now, which is looked at then if it was given
// up, too.
void sp_given_up_reap_pool(struct sp_device *device, struct sp_pool *pool);

// After something of a given-up pool was freed: it is looked at when one is looked for. The struct
// may be another pool's by now.
void sp_given_up_wake(struct sp_device *device, struct sp_pool *pool);

// Asks the events of the current context where a pool waits for one: the program may have heard
// from CUDA alone that the work has ended, and make no other call that asks.
void sp_given_up_ask(struct sp_device *device);

// Looks at those that are due, or that have waited for what is known to be complete by now. What is
// left of them then isn't free, or the reaper is about to take it apart: the caller may count on
// that memory.
void sp_given_up_reap(struct sp_device *device);

// Looks at all given-up pools, whatever they wait for: before a request is refused.
void sp_given_up_reap_all(struct sp_device *device);

// Where a pool of the device is given up, waits until the worker no longer stands on such a pool:
// it takes the pool apart when it leaves. No lock is held.
void sp_given_up_await_worker(struct sp_device *device);

// Claims a pool that is given up and on which no thread stands: one thread at a time takes it
// apart. False when it can't be claimed. With the device's lock held.
bool sp_given_up_claim_locked(struct sp_pool *pool);

// Ends a pool that is in no list of its device any more but that of its pools, and has no memory
// mapped.
void sp_given_up_dispose(struct sp_pool *pool);

// A pin keeps the pool of a handle from being taken apart while the caller works on it outside its
// lists. False when it is given up: then it must not be touched. A pool with a live allocation that
// the caller holds needs no pin.
bool sp_pin_take(struct sp_pool *pool, poolMemPool_t handle);
void sp_pin_drop(struct sp_pool *pool);

#endif
