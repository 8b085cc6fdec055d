// What the public entry points share: each checks its arguments, finds the stream and the pool, and calls
// pool/.
#ifndef STREAMPOOL_API_API_H
#define STREAMPOOL_API_API_H

#include "pool/runtime.h"

// The stream of a `_ptsz` variant: stream 0 is the calling thread's default stream there.
static inline CUstream sp_api_per_thread(CUstream stream) {
    return stream ? stream : CU_STREAM_PER_THREAD;
}

// The stream behind a caller's handle, or an error that is noted.
static inline poolError_t sp_api_stream(CUstream handle, struct sp_stream **stream) {
    CUresult error = sp_stream_resolve(handle, stream);
    return error == CUDA_SUCCESS ? poolSuccess : sp_fail_driver(error, "identifying the stream");
}

static inline poolError_t sp_api_pool(poolMemPool_t handle, struct sp_pool **pool) {
    *pool = sp_pool_from_handle(handle);
    return *pool ? poolSuccess : sp_fail(poolErrorInvalidValue, "%p is not a pool", (void *)handle);
}

#endif
