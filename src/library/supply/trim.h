// Trimming: giving whole free extents back to the device, and none whose memory may still be in
// use.
//
// Under the pool's lock extents are chosen and set aside (supply/victims.h); then, without the
// lock, each is unmapped and becomes a hole. An extent that the driver doesn't take stays what it
// was, ready memory.
#ifndef STREAMPOOL_SUPPLY_TRIM_H
#define STREAMPOOL_SUPPLY_TRIM_H

#include "region/pool.h"

// Releases whole free extents until at most `keep` bytes (rounded up to the granule) are reserved,
// and buries zombies.
struct sp_outcome sp_trim_to(struct sp_pool *pool, size_t keep);

// Does what follows from a synchronise: trims the pool to the release threshold if it holds more,
// and buries zombies; or leaves that to the worker.
void sp_trim_at_synchronize(struct sp_pool *pool);

// Trims the pool for the program, which then needs no more than `keep` of what it had primed.
struct sp_outcome sp_trim_for_program(struct sp_pool *pool, size_t keep);

// Releases one extent of what a trim to the threshold would release now, and tells how many bytes
// that was, 0 for none. The pool was `synchronized` since the last time. The map lock is held.
struct sp_outcome sp_trim_one(struct sp_pool *pool, bool synchronized, uint64_t *released);

// Releases whole free extents of `bytes` or more together, if there are as many; else does nothing.
// True when something was released.
bool sp_trim_make_room(struct sp_pool *pool, size_t bytes);

// Returns the bytes that a trim to 0 would release now.
size_t sp_trim_releasable(struct sp_pool *pool);

#endif
