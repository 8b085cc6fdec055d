// Segments: how much address space a region has, and when it gets and gives it.
//
// A segment takes little address space at first, and more as it needs it, in place: free memory of
// one segment joins, that of two doesn't. The first segment of a region is small and lies among
// other small ones, so that a hundred thousand pools are cheap. It is extended while nothing lies
// behind it. The next one is put where there is much room, and is extended by doubling, up to the
// device's memory; so is the first of the default pool and of a current one. Where a segment can't
// be extended, another is added, as large as all that the region has. Segments for fixed blocks
// have one block's size, for good.
//
// A segment without memory goes, and one with a long hole at its end becomes shorter. So a pool has
// at most about twice the address space that its memory reaches over.
//
// On a plain device (vmm/device.h) a segment is one piece of memory that the driver gave, and can't
// be extended. It belongs to the device's primary context.
//
// All functions here are called with the map lock held and the pool's not, but where they say
// otherwise.
#ifndef STREAMPOOL_REGION_SEGMENT_H
#define STREAMPOOL_REGION_SEGMENT_H

#include "region/pool.h"

// The least that a segment has, but for fixed blocks; and up to which size it lies among small
// ones.
#define SP_SEGMENT_MIN   ((uint64_t)4 << 20)
#define SP_SEGMENT_SMALL ((uint64_t)64 << 20)

// The segment of a region that may be extended, or null. The pool's lock is held.
struct sp_segment *sp_segment_to_extend(const struct sp_region *region);

// Puts a hole among those of its region. The pool's lock is held.
static inline void sp_segment_insert_hole(struct sp_block *hole) {
    const struct sp_segment *segment = sp_segment_of(hole);
    sp_tier_insert(&segment->pool->regions[segment->kind].holes, hole);
}

// Adds a segment with a hole of `bytes` (a multiple of the granule) or more. Where the caller wants
// its `hole` it is one of a plain device: `bytes` of memory, all of it a hole that is set aside
// (BUSY, and in no tier) until it is mapped. Then SP_NOT_SUPPORTED for a request of a stream that
// can't use it, and where the pool lets in peers.
struct sp_outcome sp_segment_add(struct sp_pool *pool, enum sp_region_kind kind, uint64_t bytes,
                                 const struct sp_stream *stream, struct sp_block **hole);

// Finds out if the memory of a plain device has ended with its context. Any lock may be held.
void sp_segment_note_loss(struct sp_segment *segment);

// Extends a segment so that there is a hole of `bytes` or more at its end. Without room for that
// the segment isn't to be extended any more, which is no failure; want of host memory is one.
struct sp_outcome sp_segment_extend(struct sp_segment *segment, uint64_t bytes);

// Gives back what the segment doesn't need: all of it, if it has no memory. It may be gone then.
void sp_segment_tidy(struct sp_segment *segment);

// Closes a segment that is in no list and has nothing live.
void sp_segment_close(struct sp_segment *segment);

// Closes all segments at a pool's end, when no memory is mapped. No lock is held.
void sp_segment_close_all(struct sp_pool *pool);

// ------------------------------------------------------------------------------------- lost memory

// Lost memory: that of a plain device (vmm/view.h) whose context was reset or destroyed.
//
// A segment whose memory has ended so is *lost*, and what was free of it is dropped. A live block
// stays what it is, so that it is found when it is freed. Nothing is ever taken from a lost
// segment: each of its blocks is dropped wherever it would be put into a tier.
//
// The driver may give the addresses to somebody else, another pool or this one. So the page map
// forgets what is dropped, page by page. New memory that lies where a page isn't forgotten yet is
// not used (vmm/view.h).
//
// A trim asks what is lost, and so does a miss that finds another primary context than before: so
// no request is served from memory that was lost before it began. Before one is refused, all pools
// of the device are asked, for new memory can't lie at what they have lost.
//
//   reserved = what is mapped + what of lost segments isn't dropped

// Asks whether the contexts of the pool's memory are gone, once each, takes note of what is lost,
// and closes the segments that have nothing else. The map lock is held, and nobody is giving memory
// of the pool back to the driver.
void sp_lost_find(struct sp_pool *pool);

// Buries a block of a lost segment that is BUSY or handed back, and in no index. Returns the block
// that it became part of. The pool's lock is held.
struct sp_block *sp_lost_drop(struct sp_pool *pool, struct sp_block *block);

// ------------------------------------------------------------------------------------ free extents

// These tell what could be made of free memory, by the extents that it lies in: whole ones can be
// released, or mapped elsewhere, and the free ends of others can begin a stitched view, its `tail`,
// or end it, its `front` (see the picture in supply/pieces.h). An extent is whole if all of it is
// free, in however many blocks and whatever these wait for. A row has so many bytes of each.
struct sp_free_extents {
    uint64_t whole;
    uint64_t tail, front;
};

// The parts of the row from one block to another. The map lock and the pool's lock are held.
struct sp_free_extents sp_free_extents_between(const struct sp_block *first,
                                               const struct sp_block *last);

// Tells whether one of the row's extents can't be mapped again, since its handle was released
// already, in a trim that the driver didn't let end. The pool's lock is held.
bool sp_free_extents_has_released(const struct sp_block *first, const struct sp_block *last);

// Calls `visit` for each extent that lies wholly in a ready block, with no look at blocks that are
// smaller than an extent. The pool's lock is held, as in the next.
typedef void sp_free_extents_visit(void *context, const struct sp_block *block,
                                   struct sp_extent *extent);
void sp_free_extents_each_ready(const struct sp_pool *pool, sp_free_extents_visit *visit,
                                void *context);

// Returns the bytes of these.
uint64_t sp_free_extents_ready_bytes(const struct sp_pool *pool);

// Tells whether a block is in no use, whatever it waits for. The pool's lock is held.
static inline bool sp_free_extents_is_free(const struct sp_block *block) {
    return block->tier && block->tier->state == SP_BLOCK_FREE;
}

#endif
