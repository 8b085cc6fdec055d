// The search for free memory: what the lane itself has, what is ready, and what other lanes have
// within reach, from the cheapest source to the dearest. Nothing is mapped.
//
// In a pool that several streams share, a large block of the lane's own or ready memory lies at the
// lowest address at which it fits, in the oldest segment where it does. With the best fit, where a
// block lies depends on all that was freed before: a program that does the same again and again
// finds other places each time, until one is missing. By address it finds the same again
// (docs/defragmentation.md). Three things go with that:
//
//   quick lists  have one block, and that is the one which the lane gave out last: so what is
//                allocated and freed in turn stays where it is, and all else is placed anew. They
//                have more while threads stand in each other's way: see region/quick.h.
//   questions    what is complete must be known early, so that memory of several streams merges:
//                see calls/miss.h.
//   extents      are finer: see supply/growth.h.
//
// A pool with one lane places by the best fit, and so does one whose memory doesn't join.
#ifndef STREAMPOOL_REGION_FIND_H
#define STREAMPOOL_REGION_FIND_H

#include "region/request.h"

// Takes memory within the request's reach: from the lane's own, from what is ready, from other
// lanes' where the rule allows, and from free neighbours of all these kinds together. The block is
// live, has room for one more fence, and keeps its fences. Null when there is none. Takes the
// pool's lock.
struct sp_block *sp_find(struct sp_request *request);

// With the pool's lock held, which may be given back and taken again.
struct sp_block *sp_find_locked(struct sp_request *request);

// Takes memory out of the ready tier and the lane's own as it is, in one block. Takes the pool's
// lock.
struct sp_block *sp_find_own_or_ready(struct sp_request *request);

// With the pool's lock held: returns the free block from whose front the request would be served
// out of own and ready memory, where that lies in an extent which is to be refined before
// (region/refine.h), and the size of that; else null.
struct sp_block *sp_find_to_refine(const struct sp_request *request, uint64_t *extent_size);

// A first look returns a block that is BUSY, or null, and the rule by which the stream has it.
struct sp_found {
    struct sp_block *block;
    enum sp_rule rule;
    bool unfenced; // the lane has large memory that no event stands behind
};

// A first look, with the lane's lock held, under which it takes the pool's: for a large block, or a
// loose one, of the lane's own memory, its quick lists included, which are put back first; of the
// ready memory; and if the lane has nothing unfenced, of what the stream has by its clock in few
// other lanes. Where there were too many in the quick lists some are still in them, and nothing is
// taken: both locks are to be given back, and then it goes on.
struct sp_found sp_find_first_locked(struct sp_lane *lane, uint64_t size, unsigned int flags);

// Makes the request as it is put to the i-th region that isn't its own, a last resort, for it mixes
// what is kept apart: for a small block it takes the ends of large ones. False when there are no
// more. A fixed block has none.
bool sp_find_other_region(const struct sp_request *request, int i, struct sp_request *other);

// With the pool's lock held, which may be given back and taken again: takes the best free memory
// within reach out of the tiers, in one piece that is BUSY and at least as large as asked for; a
// run begins where its pages do. Of a request that waits by choice the best is what takes the
// cheapest wait. Null when there is none.
struct sp_block *sp_find_aside(struct sp_request *request);

// With the pool's lock held: true when a dry request (region/request.h) would find memory in its
// own region, or in one that it is put to. It takes nothing.
bool sp_find_would(struct sp_request *dry);

// Cuts a BUSY block that is in no index to `size` bytes, puts the rest where its fences say, and
// makes it live. False without host memory; then the block is as it was.
bool sp_find_cut(struct sp_pool *pool, struct sp_block *block, uint64_t size);

#endif
