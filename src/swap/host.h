// Pinned memory of the host for contents: a pool of its own, and how much of it may be taken.
#ifndef STREAMPOOL_SWAP_HOST_H
#define STREAMPOOL_SWAP_HOST_H

#include <stddef.h>
#include <stdint.h>
#include <streampool/streampool.h>

// The pool, which is made where there is none.
poolError_t sp_host_pool(poolMemPool_t *pool);

// From now on no more than that is taken.
void sp_host_set_limit(uint64_t bytes);

// Takes a piece for as much of `wanted` bytes as there is room for, a multiple of 4 KiB unless it
// is all of them. The device can use it. `memory` is null, and `size` is 0, where there is none.
poolError_t sp_host_take(int device, uint64_t wanted, void **memory, size_t *size);

// Gives a piece back, which no work uses any more. What the pool keeps is then trimmed.
void sp_host_give(void *memory, size_t size);
void sp_host_trim(void);

#endif
