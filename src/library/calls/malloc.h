// Allocating what the stream's lane has not at hand (region/at_hand.h).
#ifndef STREAMPOOL_CALLS_MALLOC_H
#define STREAMPOOL_CALLS_MALLOC_H

#include "order/action.h"
#include "region/pool.h"

// Another thread has given the pool of the handle up meanwhile.
#define SP_MALLOC_GONE ((poolError_t)-1)

// Allocates where nothing was at hand.
poolError_t sp_malloc_missed(struct sp_pool *pool, poolMemPool_t handle, struct sp_stream *stream,
                             size_t size, unsigned int flags, void **pointer);

// Allocates fixed memory, and for streams that act (order/action.h).
poolError_t sp_malloc_acting(struct sp_pool *pool, poolMemPool_t handle, struct sp_stream *stream,
                             size_t size, unsigned int flags, void **pointer);

// Gives what was taken with no pin to the caller, once the action that is owed for it is done, or
// back to its pool.
poolError_t sp_malloc_hand_over(struct sp_pool *pool, poolMemPool_t handle,
                                struct sp_stream *stream, uint64_t address, enum sp_owed owed,
                                void **pointer);

#endif
