// Victims: the extents that a trim releases.
//
// The extents that lie wholly in ready memory are sorted by size. As many as are wanted are chosen,
// the largest that fit first, and cut out of the tiers (BUSY).
//
// Extents differ in size, so taking them whole can overshoot. What is kept must be at least what
// was asked to be kept, as with CUDA's pool; so when the last extent is larger than what is still
// to go, it goes and the difference is mapped anew. On a plain device (vmm/device.h) nothing can be
// mapped anew, and such an extent stays.
#ifndef STREAMPOOL_SUPPLY_VICTIMS_H
#define STREAMPOOL_SUPPLY_VICTIMS_H

#include "region/pool.h"

// An extent to release: the block that stands for it while it is set aside.
struct sp_victim {
    struct sp_block *block;
    struct sp_extent *extent;
};

// Filled under the pool's lock, worked off without it. The list is the caller's to free.
struct sp_victims {
    struct sp_victim *list;
    size_t count;
    size_t capacity;
    struct sp_extent *partial; // the extent that is larger than what is still to go, or null
    uint64_t map_back;         // bytes to map anew at its start
};

// Chooses extents of `excess` bytes together and sets them aside. With less host memory than it
// takes, fewer. With the map lock and the pool's lock held, as all here.
void sp_victims_choose_all(struct sp_pool *pool, uint64_t excess, struct sp_victims *victims);

// Chooses likewise where somebody else needs `excess` bytes: on a plain device an extent that is
// larger goes whole.
void sp_victims_choose_needed(struct sp_pool *pool, uint64_t excess, struct sp_victims *victims);

// Chooses the first extent that sp_victims_choose_all() would choose, and sets it aside.
void sp_victims_choose_one(struct sp_pool *pool, uint64_t excess, struct sp_victims *victims);

#endif
