// Priming: the program has memory mapped ahead of the requests that will need it.
//
// What is wanted is one free block, so that any requests up to its size can be cut from it,
// whatever theirs are. It is ready memory of the large region like any other, joined with what lies
// free beside it; pages for small blocks are cut from its end. Where the device or the pool's limit
// has no room for that, but has free memory in pieces, they count, and only what is missing is
// mapped. On a plain device (vmm/device.h) pieces don't count: they can't be put together.
//
// What other pools keep and what is complete by now makes room for it.
#ifndef STREAMPOOL_CALLS_PRIME_H
#define STREAMPOOL_CALLS_PRIME_H

#include "region/pool.h"

// Maps what is missing to `bytes` of free memory, and has synchronises leave it. All or nothing.
poolError_t sp_prime(struct sp_pool *pool, size_t bytes);

#endif
