// The common steps of the public entry points. Each entry point checks its arguments, finds the
// stream and the pool, and calls what is below.
#ifndef STREAMPOOL_API_API_H
#define STREAMPOOL_API_API_H

#include "order/resolve.h"
#include "process/runtime.h"
#include "region/handle.h"

// The stream of a `_ptsz` variant, in which stream 0 is the calling thread's default stream.
static inline CUstream sp_api_per_thread(CUstream stream) {
    return stream ? stream : CU_STREAM_PER_THREAD;
}

// Makes a primary context current where `outcome` says of a call on a default stream that none is.
// It is that of the device of `pool`, or of device 0 where that is null. Returns the outcome of the
// attempt; any other `outcome` is returned unchanged.
struct sp_outcome sp_api_supply_context(struct sp_outcome outcome, CUstream handle,
                                        const struct sp_pool *pool);

// Sets on what terms the thread makes its next calls, and returns those from before. With
// SP_API_DEMANDS they fail with 201 where no context is current, as the driver's own calls do. It
// is for code that stands in for the driver, on whose errors the runtime relies. What is promised
// besides, as enum poolStreamPromise has it, counts for streams that are passed to calls that
// synchronise, query, record, wait and destroy.
enum { SP_API_DEMANDS = 1 << 7 };
int sp_api_set_terms(int set);

// Returns those of the terms that are promises, and hold.
int sp_api_promises(void);

// Finds the stream behind a caller's handle, or notes an error and returns it. It supplies a
// context where one is missing. `pool` is the one that the call names, or null.
SP_APART poolError_t sp_api_stream(CUstream handle, const struct sp_pool *pool,
                                   struct sp_stream **stream);

static inline poolError_t sp_api_no_pool(poolMemPool_t handle) {
    return sp_fail(poolErrorInvalidValue, "%p is not a pool", (void *)handle);
}

// Finds the pool behind a caller's handle, or notes an error and returns it.
static inline poolError_t sp_api_pool(poolMemPool_t handle, struct sp_pool **pool) {
    *pool = sp_handle_pool(handle);
    return *pool ? poolSuccess : sp_api_no_pool(handle);
}

// As poolMallocAsync(), poolMallocFromPoolAsync() and poolFreeAsync() in a process whose runtime is
// plain, with pointers that aren't null. `known` combines promises that hold for the stream
// whatever the pool was promised.
poolError_t sp_api_allocate(void **ptr, size_t size, CUstream stream, int known);
poolError_t sp_api_allocate_from(void **ptr, size_t size, poolMemPool_t handle, CUstream stream,
                                 int known);

// A free of memory that is no pool's is refused, with no word said: `is_foreign` says so.
poolError_t sp_api_free(void *ptr, CUstream stream, int known, bool *is_foreign);

#endif
