// Memory that is mapped ahead of the requests that will need it.
//
// What is wanted is one free block, so that any requests up to its size can be cut from it,
// whatever theirs are. It is ready memory of the large region like any other, joined with what lies
// free beside it; pages for small blocks are cut from its end. Where the device or the pool's limit
// has no room for that, but has free memory in pieces, they count, and only what is missing is
// mapped. On a plain device (vmm/device.h) pieces don't count: they can't be put together.
#ifndef STREAMPOOL_SUPPLY_AHEAD_H
#define STREAMPOOL_SUPPLY_AHEAD_H

#include "region/pool.h"

// Maps what is missing to `bytes` of free memory, a multiple of the granule, and has synchronises
// leave it. Memory is lacking, and nothing changed, when the device, the host, the address space
// or the pool's limit has no more. Takes the map lock.
struct sp_outcome sp_ahead_map(struct sp_pool *pool, uint64_t bytes);

#endif
