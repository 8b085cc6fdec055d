// When a pool grows, how much a growth maps, and in extents of which size: all numbers of growing.
//
// Mapping takes a call to the driver for each extent, so a growth maps more than is needed, as long
// as the pool stays near the most that its program is known to need.
#ifndef STREAMPOOL_SUPPLY_GROWTH_H
#define STREAMPOOL_SUPPLY_GROWTH_H

#include "region/pool.h"

// The pages of slabs grow by a part of what they are, and by so much at most when less is needed.
// maxSize is rounded up to it, too.
#define SP_PAGES_SHARE 64
#define SP_GROWTH_UNIT ((size_t)32 << 20)

// Requests that get one extent of their own size, and so leave it whole when they are freed.
// Where several streams share the pool, another size often takes the place of such a request, and
// leaves the rest of its extent of no use to remaps: so there the largest are smaller.
#define SP_EXTENT_OWN_MIN        ((uint64_t)8 << 20)
#define SP_EXTENT_OWN_MAX        ((uint64_t)48 << 20)
#define SP_EXTENT_OWN_MAX_SHARED ((uint64_t)16 << 20)

// How the large region grows; see docs/notes/growth.md for what was tried. Extents lie between the
// bounds: this part of the pool, rounded up to a power of two (to a granule where several streams
// share the pool), but never less than that part of what the growth maps.
#define SP_EXTENT_MIN         ((uint64_t)4 << 20)
#define SP_EXTENT_MAX         ((uint64_t)768 << 20)
#define SP_EXTENT_PARTED_MIN  ((uint64_t)384 << 20) // the last granule is one of its own
#define SP_EXTENT_AHEAD_MAX   ((uint64_t)32 << 20)  // of what is primed, which is never refined
#define SP_EXTENTS_OF_POOL    64
#define SP_EXTENTS_OF_REQUEST 16

// So many pools with memory are many: each grows by little then.
#define SP_MANY_POOLS 64

// The pool grows, rather than to remap, up to a part more than the most that was ever in use at
// once.
#define SP_SLACK_SHARE 25
#define SP_SLACK_MIN   ((uint64_t)8 << 20)

// A shared pool grows, rather than to remap, by this much of what its need rose by in the last part
// of its misses, and up to another part more than the need; see docs/notes/growth.md for what was
// tried.
#define SP_RISE_NUMERATOR   3
#define SP_RISE_DENOMINATOR 4
#define SP_RISE_SHARE       5
#define SP_RISE_PERIOD      8
#define SP_RISE_PERIOD_MIN  32

// Free memory is put together with new memory (supply/pieces.h) where that saves at least this part
// of the new.
#define SP_SAVING_SHARE 3

// Tells whether the pool may hold `size` bytes more without going far beyond the most that its
// program is known to need.
bool sp_growth_is_due(struct sp_pool *pool, uint64_t size);

// Tells whether a pool that several streams share may hold `size` bytes more because its program
// will soon need them: the most that was in use at once is rising, and leads as far. So no time is
// spent on remaps before. Each call notes where the need stands, so it is asked at each miss that
// may grow. Misses are counted and no clock is read. False in a pool of very many lanes. No lock is
// held.
bool sp_growth_is_foreseen(struct sp_pool *pool, uint64_t size);

// Notes that the pool is about to grow for a large block of `size` bytes. If several streams share
// the pool, and it holds more than its program needs, and that need has rested, then its free
// memory lies in pieces. From then on its lanes ask the others at each miss (see calls/miss.h), as
// they know by chance what is complete otherwise, and place their blocks by chance. Not so in a
// pool that has a limit, or has found no more memory. Only the map lock is held.
void sp_growth_note(struct sp_pool *pool, uint64_t size);

// Returns how many bytes the pool may grow by within the attribute GrowthBeyondUse, for a request
// of `size` bytes.
uint64_t sp_growth_room(struct sp_pool *pool, uint64_t size);

// Returns how much is to be mapped where `need` is needed, a multiple of the granule. It is less
// than `need` where the pool's limit has no room for that. On a plain device (vmm/device.h) it is
// one piece, of a rounded size: so that a block that is a little larger finds a place where one was
// freed.
uint64_t sp_growth_amount(struct sp_pool *pool, enum sp_region_kind kind, uint64_t need);

// Returns the size of the extents that `amount` bytes are made of, so many of which are needed now.
// The amount stands for the size of the request, also where a growth maps more than that, or less
// beside free memory. `ahead` says that it is for requests to come.
uint64_t sp_growth_extent(const struct sp_pool *pool, enum sp_region_kind kind, uint64_t amount,
                          uint64_t need, bool ahead);

#endif
