// Evicting: a pool's extents give their memory back while blocks are live in them, and get other
// memory later, at the same addresses. So do their aliases. Blocks, tiers and slabs stay what they
// are.
//
// Extents of fixed blocks stay, since somebody may know them by their physical memory, and so does
// what the driver doesn't unmap. What has failed half way is gone on with by the next call, in
// either direction.
#ifndef STREAMPOOL_SUPPLY_EVICT_H
#define STREAMPOOL_SUPPLY_EVICT_H

#include "region/pool.h"

// A list of addresses, which is the caller's to free.
struct sp_ranges {
    struct poolMemRange *list;
    size_t count;
};

// Lists what is in use of the extents that are evicted, by address. False without host memory.
bool sp_evict_list(struct sp_pool *pool, struct sp_ranges *ranges);

// A new pool is resident.
void sp_evict_init(struct sp_pool *pool);

// Evicts all extents of an SP_EVICTED pool. The map lock is held, as in the next.
void sp_evict_all(struct sp_pool *pool);

// Makes all extents resident, or none: then they are evicted.
struct sp_outcome sp_evict_undo(struct sp_pool *pool);

#endif
