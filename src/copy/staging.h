// Pinned memory for copies under way: a pool of the host, of which each copy has a block.
//
// A block is taken with poolMallocFromPool, so that the host may write there at once, and given
// back in the order of the copy's stream. The pool lets devices in as they are first used.
#ifndef STREAMPOOL_COPY_STAGING_H
#define STREAMPOOL_COPY_STAGING_H

#include <stddef.h>
#include <streampool/streampool.h>

// The pool, which is made where there is none.
poolError_t sp_staging_pool(poolMemPool_t *pool);

// Takes a block that the device can use, whose context is current. It waits for copies that are
// under way where they have all memory that there may be, so the caller must have no other block.
poolError_t sp_staging_take(int device, size_t bytes, void **block);

// Takes one that the device is the first to use, in the order of a stream. That is quicker.
poolError_t sp_staging_take_ordered(int device, size_t bytes, CUstream stream, void **block);

// Gives it back behind what the stream has to do so far.
poolError_t sp_staging_give(void *block, CUstream stream);

#endif
