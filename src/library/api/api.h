// The common steps of the public entry points. Each entry point checks its arguments, finds the
// stream and the pool, and calls what is below.
#ifndef STREAMPOOL_API_API_H
#define STREAMPOOL_API_API_H

#include "order/resolve.h"
#include "process/runtime.h"
#include "region/device.h"

// The stream of a `_ptsz` variant, in which stream 0 is the calling thread's default stream.
static inline CUstream sp_api_per_thread(CUstream stream) {
    return stream ? stream : CU_STREAM_PER_THREAD;
}

// Makes a primary context current where `outcome` says of a call on a default stream that none is,
// as the runtime's calls do. It is that of the device of `pool`, or of device 0 where that is null.
// Returns the outcome of the attempt; any other `outcome` is returned unchanged.
struct sp_outcome sp_api_supply_context(struct sp_outcome outcome, CUstream handle,
                                        const struct sp_pool *pool);

// Waits for the work of the current context, which is supplied as on a default stream. `pool` as
// above.
struct sp_outcome sp_api_synchronize_context(const struct sp_pool *pool);

// Returns the promises that hold, of the terms on which the thread makes its calls
// (sp_interpose_set_terms()).
int sp_api_promises(void);

// Finds the stream behind a caller's handle, or notes an error and returns it. It supplies a
// context where one is missing. `pool` is the one that the call names, or null.
SP_APART poolError_t sp_api_stream(CUstream handle, const struct sp_pool *pool,
                                   struct sp_stream **stream);

// Finds the pool behind a caller's handle, or notes an error and returns it.
static inline poolError_t sp_api_pool(poolMemPool_t handle, struct sp_pool **pool) {
    *pool = sp_handle_pool(handle);
    return *pool ? poolSuccess : sp_fail(poolErrorInvalidValue, "%p is not a pool", (void *)handle);
}

#endif
