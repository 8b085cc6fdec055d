// Handles of pools.
//
// A handle is not a pointer but (serial number, index) packed into one: a handle that was never
// given out or whose pool was given up is recognised, whatever stands in memory.
#ifndef STREAMPOOL_REGION_HANDLE_H
#define STREAMPOOL_REGION_HANDLE_H

#include "region/pool.h"

// So many pools can have handles at once.
enum { SP_HANDLE_MOST = (1 << 20) - 1 };

// The pool behind a handle, or null when it is no pool (any more).
struct sp_pool *sp_handle_pool(poolMemPool_t handle);

// Tells whether the struct's pool has the handle.
static inline bool sp_handle_is(const struct sp_pool *pool, poolMemPool_t handle) {
    return sp_load_acquire(&pool->handle) == handle;
}

// Gives a pool its handle. False when too many pools have one.
bool sp_handle_publish(struct sp_pool *pool);

// Takes a pool's handle back. True for one of the threads that do so: the struct may be another
// pool's by then, which keeps its own.
bool sp_handle_withdraw(struct sp_pool *pool, poolMemPool_t handle);

#endif
