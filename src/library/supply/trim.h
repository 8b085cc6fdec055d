// Trimming: giving whole free extents back to the device, and none whose memory may still be in
// use.
//
// Under the pool's lock the extents that lie wholly in ready memory are sorted by size. As many as
// are to go are chosen, the largest that fit first, and cut out of the tiers (BUSY). Then, without
// the lock, each is unmapped and becomes a hole. One that the driver doesn't take stays ready.
//
// A trim keeps no less than was asked for, as with CUDA's pool. So when the last extent is larger
// than what is still to go, it goes and the difference is mapped anew. On a plain
// device (vmm/device.h) nothing can be mapped anew, and such an extent stays.
#ifndef STREAMPOOL_SUPPLY_TRIM_H
#define STREAMPOOL_SUPPLY_TRIM_H

#include "region/request.h"

// Releases whole free extents until at most `keep` bytes (rounded up to the granule) are reserved,
// and buries zombies.
struct sp_outcome sp_trim_to(struct sp_pool *pool, size_t keep);

// Releases whole free extents of `bytes` together, which somebody else needs: on a plain device
// (vmm/device.h) of more, where none is as small. Buries zombies, too.
struct sp_outcome sp_trim_by(struct sp_pool *pool, uint64_t bytes);

// On a plain device a trim gives the map lock back while the driver waits for all work. So that one
// thread at a time trims pools of the device, it holds device.gives, which this takes and returns;
// null on another device.
struct sp_lock *sp_trim_begin_giving(struct sp_device *device);
void sp_trim_end_giving(struct sp_lock *gives);

// Waits for threads that give memory back so, there or where the memory is the same. True when some
// may have.
bool sp_trim_await_giving(struct sp_device *device);

// Takes note of what a reset of the device has taken of the pool's memory (region/segment.h), and
// drops what was freed of that. True when something was dropped. No lock is held.
bool sp_trim_lost(struct sp_pool *pool);

// Does what follows from a synchronise: trims the pool to the release threshold if it holds more,
// and buries zombies; or leaves that to the worker.
void sp_trim_at_synchronize(struct sp_pool *pool);

// Trims the pool for the program, which then needs no more than `keep` of what it had primed.
struct sp_outcome sp_trim_for_program(struct sp_pool *pool, size_t keep);

// Refines an extent of ready memory that the request would begin in (region/refine.h). False when
// there is none. A driver that maps less leaves the pool with less.
bool sp_trim_refine(struct sp_request *request);

// Releases one extent of what a trim to the threshold would release now, and tells its bytes, or 0.
// The pool was `synchronized` since the last time. The map lock is held, and device.gives as above.
struct sp_outcome sp_trim_one(struct sp_pool *pool, bool synchronized, uint64_t *released);

// Releases whole free extents of `bytes` or more together; false, and nothing, if there is less.
bool sp_trim_make_room(struct sp_pool *pool, size_t bytes);

// Returns the bytes that a trim to 0 would release now.
size_t sp_trim_releasable(struct sp_pool *pool);

#endif
