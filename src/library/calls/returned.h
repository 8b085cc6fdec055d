// Small blocks of a lane that other streams have returned to their slabs, and that the lane's
// stream can't have as it is.
#ifndef STREAMPOOL_CALLS_RETURNED_H
#define STREAMPOOL_CALLS_RETURNED_H

#include "region/lane.h"

// Each tells the address of a block, which is counted by its rule, or 0. No lock is held.

// Takes one that a question to a few streams and contexts, by turns, brings back.
uint64_t sp_returned_take(struct sp_pool *pool, struct sp_lane *lane, size_t size,
                          unsigned int flags);

// Takes one before the request is refused, when all has been asked: one that is complete by now, or
// one for which the stream is made to wait.
struct sp_outcome sp_returned_take_at_last(struct sp_pool *pool, struct sp_lane *lane, size_t size,
                                           unsigned int flags, uint64_t *address);

#endif
