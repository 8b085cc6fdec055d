// Promises: what is said of streams, so that the driver needn't be asked in each call. enum
// poolStreamPromise has the values.
//
// The program makes them for the streams that it uses a pool with, combined in
// poolMemPoolAttrStreamPromises. Who sees all of the program's calls of the driver makes them in
// its place (api/interpose.h), call by call: each counts as long as it holds in the process.
#ifndef STREAMPOOL_PROCESS_PROMISES_H
#define STREAMPOOL_PROCESS_PROMISES_H

#include "region/pool.h"

// So many pools have a promise. While none has, a free needn't find out whose memory it is before
// it asks the driver.
extern _Atomic uint32_t sp_promises_pools;

// Sets what a pool is promised, and counts it. Nothing else follows: that is for the next two.
void sp_promises_set(struct sp_pool *pool, int promises);

// Sets what a pool is promised, for the program. poolErrorInvalidValue where that is no combination
// of promises. It walks the pools, so the caller is to look for given-up ones then.
poolError_t sp_promises_change(struct sp_pool *pool, int promises);

// Forgets what was cached for the sake of a promise that a pool has no longer, or of streams
// that may be about to end. No lock is held.
void sp_promises_end(void);

// The promises of calls that hold now.
extern _Atomic int sp_promises_now;
static inline int sp_promises_that_hold(int promises) {
    return promises & sp_load_relaxed(&sp_promises_now);
}

// Sets them. Where poolPromiseNoCapture is among them no stream captures, and the library may
// borrow those that are known by their handles: their lanes may be open (region/ask.h).
// Where it is no longer, what the lazy lanes hold back gets its events, and no stream is borrowed
// any more, when this returns. One thread calls it at a time.
void sp_promises_hold(int promises);

// Takes note of an answer to sp_resolve_capture(). Where it shows that a stream captures while none
// is said to, captures begin unseen: poolPromiseNoCapture never holds again.
void sp_promises_note_capture(struct sp_outcome answer, CUstream stream);

#endif
