// Segments: how much address space a region has, and when it gets and gives it.
//
// A segment takes little address space at first, and more as it needs it, in place: free memory of
// one segment joins, that of two doesn't. The first segment of a region is small and lies among
// other small ones, so that a hundred thousand pools are cheap. It is extended while nothing lies
// behind it. The next segment is put where there is much room behind it, and is extended by
// doubling, up to the device's memory; so is the first of the default pool and of a current one.
// Where a segment can't be extended, another is added, as large as all that the region has.
// Segments for fixed blocks have one block's size, for good.
//
// Address space goes back where a trim gave memory back or it wasn't needed after all: a segment
// without memory goes, and one with a long hole at its end becomes shorter. So a pool has at most
// about twice the address space that its memory reaches over.
//
// On a plain device (vmm/device.h) a segment is one piece of memory that the driver gave, and can't
// be extended. It belongs to the device's primary context.
//
// All functions here are called with the map lock held and the pool's not, but where they say
// otherwise.
#ifndef STREAMPOOL_REGION_SEGMENT_H
#define STREAMPOOL_REGION_SEGMENT_H

#include "region/pool.h"

// The least that a segment has, unless it is for fixed blocks; and up to which size one is put
// among small ones.
#define SP_SEGMENT_MIN   ((uint64_t)4 << 20)
#define SP_SEGMENT_SMALL ((uint64_t)64 << 20)

// Returns the segment of a region that may be extended, or null. The pool's lock is held.
struct sp_segment *sp_segment_to_extend(const struct sp_region *region);

// Adds a segment with a hole of `bytes` (a multiple of the granule) or more.
struct sp_outcome sp_segment_add(struct sp_pool *pool, enum sp_region_kind kind, uint64_t bytes);

// Adds a segment of a plain device: `bytes` (a multiple of the granule) of memory, all of it a hole
// that is set aside (BUSY, and in no tier) until it is mapped. SP_NOT_SUPPORTED for a request of a
// stream that can't use it, and where the pool lets in peers.
struct sp_outcome sp_segment_add_plain(struct sp_pool *pool, enum sp_region_kind kind,
                                       uint64_t bytes, const struct sp_stream *stream,
                                       struct sp_block **hole);

// Finds out if the memory of a plain device has ended with its context. Any lock may be held.
void sp_segment_note_loss(struct sp_segment *segment);

// Extends a segment so that there is a hole of `bytes` or more at its end. When there is no room
// for that the segment isn't to be extended any more, which is no failure; want of host
// memory is one.
struct sp_outcome sp_segment_extend(struct sp_segment *segment, uint64_t bytes);

// Gives back what the segment doesn't need: all of it, if it has no memory. It may be gone then.
void sp_segment_tidy(struct sp_segment *segment);

// Closes a segment that is in no list and has nothing live.
void sp_segment_close(struct sp_segment *segment);

// Closes all segments at a pool's end, when no memory is mapped. No lock is held.
void sp_segment_close_all(struct sp_pool *pool);

#endif
