// Refining: smaller extents, where one is far larger than what comes to lie in it.
//
// The driver takes an extent back, and maps it elsewhere, only whole. So one small block that stays
// behind after a peak holds all of its extent: a block of 16 MiB in one of 512 MiB is 496 MiB that
// nobody can give back or put together. To map much in few extents takes the least time, though.
// So memory comes in large extents where much is wanted at once, and a free one is *refined* before
// a far smaller block comes to lie in it: it goes back to the device, and comes again at the same
// addresses in smaller ones. That needs memory that nothing is pending in.
#ifndef STREAMPOOL_REGION_REFINE_H
#define STREAMPOOL_REGION_REFINE_H

#include "region/pool.h"

// Memory that is known to be complete joins its stream's other memory no more, so a stream is asked
// about much of it alone.
#define SP_REFINE_MIN         ((uint64_t)16 << 20)  // the least size of a piece
#define SP_REFINE_PAIRED_MAX  ((uint64_t)32 << 20)  // pieces of up to this size hold two blocks
#define SP_REFINE_COUNT       2                     // an extent has so many pieces at least
#define SP_REFINE_PENDING     ((uint64_t)384 << 20) // from here on the extent's stream is asked
#define SP_REFINE_PENDING_MIN ((uint64_t)64 << 20)  // in shared pools, or if little is in use

// So many requests that would have an extent refined go by after one whose memory somebody else
// took meanwhile.
enum { SP_REFINE_RESTS = 1024 };

// The size of the extents in which a block of `size` bytes should lie where it is not alone, a
// power of two. Small ones lie two or more in one, for each extent costs calls of the driver.
static inline uint64_t sp_refine_size(uint64_t size) {
    uint64_t piece = SP_REFINE_MIN;
    while (piece < size || (piece < 2 * size && piece < SP_REFINE_PAIRED_MAX))
        piece *= 2;
    return piece;
}

// Tells whether the stream of an extent of this size, that is to be refined, is asked if it has
// completed: if it is large, or half of the pool, or next to nothing of the pool is in use now.
bool sp_refine_asks(struct sp_pool *pool, uint64_t size);

uint64_t sp_refine_due_in(struct sp_pool *pool, const struct sp_block *block, uint64_t size);

// Returns the size of the extent that is to be refined before a request of `size` bytes is served
// from the front of this free block: that in which the request would begin, or end; or 0. Of memory
// in which something may be pending only large ones are. Each call of those after a loss lets a
// request go by. The pool's lock is held.
static inline uint64_t sp_refine_due(struct sp_pool *pool, const struct sp_block *block,
                                     uint64_t size) {
    bool is_large = block->size >= SP_REFINE_COUNT * SP_REFINE_MIN;
    return is_large && block->size / 2 >= size ? sp_refine_due_in(pool, block, size) : 0;
}

// The pool may grow by so much in all, since memory was last given back, rather than that blocks
// come to lie in extents that can't be refined: this part of what it has.
#define SP_REFINE_GROWS_SHARE 32

// Tells whether it may for a request of `size` bytes, and counts that. The pool's lock is held.
bool sp_refine_grows(struct sp_pool *pool, uint64_t size);

#endif
