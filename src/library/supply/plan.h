// The plan of a growth: where new memory is mapped, so that it joins free memory best.
//
// Under the pool's lock a plan is made: the hole to map into, and the free memory in front of it
// that the lane may use. Both are set aside (BUSY), cut as they will be needed, with room for every
// fence.
//
//        front      hole                rest
//      |=========|------------------|----------|      free | used part | free, ready for anybody
//      '---- the new block ---------'                 ^ mapped from here to the end
//
// On a plain device (vmm/device.h) each growth is a new segment, all of which is mapped.
//
// A new segment is a last choice elsewhere: memory in many segments can't join. So one is extended
// where it can be (region/segment.h), and a plan counts on that.
#ifndef STREAMPOOL_SUPPLY_PLAN_H
#define STREAMPOOL_SUPPLY_PLAN_H

#include "region/request.h"
#include "region/row.h"

// A plan, as it is made and as it is carried out.
struct sp_plan {
    struct sp_row front;       // free memory to begin with: once set aside, its first block is all
    struct sp_block *hole;     // once set aside: what of the mapped memory the new block takes
    struct sp_block *rest;     // once set aside: the mapped memory behind it, or null
    struct sp_segment *behind; // to be extended first: the hole is too small, or there is none yet
    uint64_t need;             // the least that must be mapped
    uint64_t amount;           // what is mapped
    bool ahead;                // for requests to come, and not for one
};

// Makes a plan for the request and sets its blocks aside, in address space that is got for it if
// need be. Memory is lacking, and nothing changed, when the address space, the host or the pool's
// limit has no more. With the map lock held, as all here, and the pool's not.
struct sp_outcome sp_plan_make(const struct sp_request *request, struct sp_plan *plan);

// Makes a plan for `bytes` of large memory in a hole that has as much, with no block in front of
// it. Errors as above.
struct sp_outcome sp_plan_make_aside(struct sp_pool *pool, uint64_t bytes, struct sp_plan *plan);

// Gives back what is to be mapped beyond the need. False when all of it is needed, or without host
// memory.
bool sp_plan_reduce(struct sp_pool *pool, struct sp_plan *plan);

// Puts everything of a plan back to where it was, and gives back the segment's address space that
// isn't needed after all.
void sp_plan_undo(struct sp_pool *pool, const struct sp_plan *plan, struct sp_segment *segment);

// The least that a plan for the request would map now. The pool's lock is held.
uint64_t sp_plan_least(const struct sp_request *request);

#endif
