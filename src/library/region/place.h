// Placing by address: in a pool that several streams share, a large block of the lane's own or
// ready memory lies at the lowest address at which it fits, in the oldest segment where it does.
//
// With the best fit, where a block lies depends on all that was freed before: a program that does
// the same again and again finds other places each time, until one is missing. By address it finds
// the same again (docs/defragmentation.md). Three things go with that:
//
//   quick lists  have one block, and that is the one which the lane gave out last: so what is
//                allocated and freed in turn stays where it is, and all else is placed anew. They
//                have more while threads stand in each other's way: see region/quick.h.
//   questions    what is complete must be known early, so that memory of several streams merges:
//                see calls/miss.h.
//   extents      are finer: see supply/growth.h.
//
// A pool with one lane places by the best fit, and so does a plain device (vmm/device.h), where
// each growth is memory by itself.
#ifndef STREAMPOOL_REGION_PLACE_H
#define STREAMPOOL_REGION_PLACE_H

#include "region/lane.h"

// A lane was added to the pool, which may be shared from now on. The pool's lock is held.
void sp_place_note_lane(struct sp_pool *pool);

// Takes a large block, BUSY, from the lane's own memory and the ready one: the lowest that is large
// enough, cut to size. Null when there is none. The pool's lock is held.
struct sp_block *sp_place_take(struct sp_lane *lane, uint64_t size);

#endif
