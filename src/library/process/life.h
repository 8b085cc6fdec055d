// The life of a pool: how it is made, what the worker does for it meanwhile, and who may still look
// at it when it has ended.
//
// Pools are type-stable: a struct is used again for another pool of its device, never given back to
// the system, so that a thread that comes late may still look at it. Such a thread can come to its
// own pool's end, or to the struct's next pool: so it reads nothing but the device, which stays,
// and atomics; and the handle tells it which pool it is.
#ifndef STREAMPOOL_PROCESS_LIFE_H
#define STREAMPOOL_PROCESS_LIFE_H

#include "region/pool.h"

// Makes a pool, which is the overflow of another one (process/overflow.h) unless that is null.
// poolErrorMemoryAllocation without host memory, or when too many pools exist.
poolError_t sp_life_create(struct sp_device *device, const struct poolMemPoolProps *props,
                           poolMemPool_t overflow_of, struct sp_pool **created);

// Marks the pool behind a handle as given up, and takes it apart if that is possible now. False
// when another thread has done so already.
bool sp_life_destroy(struct sp_pool *pool, poolMemPool_t handle);

#endif
