// How much a growth maps, and in extents of which size.
//
// Mapping takes a call to the driver for each extent, so a growth maps more than is needed, as long
// as the pool stays near the most that its program is known to need.
#ifndef STREAMPOOL_SUPPLY_GROWTH_H
#define STREAMPOOL_SUPPLY_GROWTH_H

#include "region/pool.h"

// Tells whether the pool may hold `size` bytes more without going far beyond the most that its
// program is known to need.
bool sp_growth_is_due(struct sp_pool *pool, uint64_t size);

// Tells whether a pool that several streams share may hold `size` bytes more because its program
// will soon need them: the most that was in use at once is rising, and it would hold no more than
// where that leads. What it grows by it needs then anyway, and has no time spent on remaps before.
// Misses are counted and no clock is read. False in a pool of very many lanes. No lock is held.
bool sp_growth_is_foreseen(struct sp_pool *pool, uint64_t size);

// Notes that the pool is about to grow for a large block of `size` bytes. If several streams share
// the pool, and it holds more than its program needs, and that need has rested, then its free
// memory lies in pieces. From then on its lanes ask the others at each miss (see calls/near.h).
// Not so in a pool that has a limit, or has found no more memory. Lanes that ask less often know
// what is complete by chance, and place their blocks by chance. No lock of the pool's but the map
// lock is held.
void sp_growth_note(struct sp_pool *pool, uint64_t size);

// Returns how many bytes the pool may grow by within the attribute GrowthBeyondUse, for a request
// of `size` bytes.
uint64_t sp_growth_room(struct sp_pool *pool, uint64_t size);

// On a plain device (vmm/device.h) a growth is one piece, of a rounded size: so that a block that
// is a little larger finds a place where one was freed.

// Returns how much is to be mapped where `need` is needed, a multiple of the granule. It is less
// than `need` where the pool's limit has no room for that.
uint64_t sp_growth_amount(struct sp_pool *pool, enum sp_region_kind kind, uint64_t need);

// Returns the size of the extents that `amount` bytes are made of. `ahead` says that they are for
// requests to come.
uint64_t sp_growth_extent(const struct sp_pool *pool, enum sp_region_kind kind, uint64_t amount,
                          bool ahead);

#endif
