// Admission: who may have memory of a plain device (vmm/device.h), which is its primary context's.
//
// A stream of another context of the device can't use it, and no pool has any that lets other
// devices in. A reset of the device takes it: then nothing that the pool had before is given to
// anybody (region/segment.h).
//
// A miss asks. So that a hit needn't, a stream that was admitted marks its slot for good
// (order/registry.h), what others free goes to no quick list (calls/release.c), and a stream of
// another context misses each time (region/lane.h).
#ifndef STREAMPOOL_CALLS_ADMIT_H
#define STREAMPOOL_CALLS_ADMIT_H

#include "region/pool.h"

// Admits a stream, or a call that names none (null), to a pool; or says why not. On a plain device
// it retains the primary context. No lock is held.
poolError_t sp_admit(struct sp_pool *pool, struct sp_stream *stream);

// Fails a request of an admitted stream with what sp_fail_outcome() says of the outcome; or with
// what admission says, if the device has become plain by that request. No lock is held.
poolError_t sp_admit_fail(struct sp_pool *pool, struct sp_stream *stream, struct sp_outcome outcome,
                          const char *what);

#endif
