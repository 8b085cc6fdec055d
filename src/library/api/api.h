// What the public entry points share: each checks its arguments, finds the stream and the pool, and
// calls pool/.
#ifndef STREAMPOOL_API_API_H
#define STREAMPOOL_API_API_H

#include "order/resolve.h"
#include "pool/runtime.h"

// The stream of a `_ptsz` variant: stream 0 is the calling thread's default stream there.
static inline CUstream sp_api_per_thread(CUstream stream) {
    return stream ? stream : CU_STREAM_PER_THREAD;
}

// Where `error` says of a call on a default stream that no context is current: makes the primary
// context current of the device of `pool`, null: of device 0, and returns CUDA_SUCCESS, or why that
// failed. Any other error is returned.
CUresult sp_api_supply_context(CUresult error, CUstream handle, const struct sp_pool *pool);

// Whether calls of this thread are to fail in such a case, with 201, as the driver's own do, and
// the runtime that calls the driver counts on. For who stands in for the driver's calls and not the
// runtime's. Returns what it was.
bool sp_api_demand_context(bool demand);

// The stream behind a caller's handle, or an error that is noted. A context is supplied where that
// is what lacks; `pool` is the one that the call names, or null.
SP_APART poolError_t sp_api_stream(CUstream handle, const struct sp_pool *pool,
                                   struct sp_stream **stream);

// The same where the driver has just answered a question of the handle, so that a context is there.
static inline poolError_t sp_api_stream_at_once(CUstream handle, struct sp_stream **stream) {
    CUresult error = sp_resolve_stream(handle, stream);
    return error == CUDA_SUCCESS ? poolSuccess : sp_fail_driver(error, "identifying the stream");
}

static inline poolError_t sp_api_pool(poolMemPool_t handle, struct sp_pool **pool) {
    *pool = sp_pool_from_handle(handle);
    return *pool ? poolSuccess : sp_fail(poolErrorInvalidValue, "%p is not a pool", (void *)handle);
}

#endif
