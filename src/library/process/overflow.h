// Overflow: where the device has no room, a pool has large blocks in memory of the host.
//
// The overflow of a pool is another pool, of the NUMA node beside the device, to which the device
// has access, and all that the pool lets in. The program knows nothing of it: it sees its memory as
// the pool's, and the bytes of it as HostReserved. A request comes there once its own pool would
// refuse it. So what is free there is used last, and the next allocation of its size is of the
// device where that has room by then. It obeys the rules of reuse by itself, as every pool does,
// and memory of the two is never put together.
//
//   overflow.limit    = HostOverflowMax of the pool
//   overflow.reserved = HostReserved; pool.reserved has nothing of it
//   it keeps nothing at a synchronise, and the host never waits for it (HostWaitMax is 0)
//
// It is made when a pool overflows for the first time, and pinned by that until the pool is given
// up and no thread stands on it: whoever has pinned the pool needs no pin for it.
#ifndef STREAMPOOL_PROCESS_OVERFLOW_H
#define STREAMPOOL_PROCESS_OVERFLOW_H

#include "region/pool.h"

// The overflow of a pool that the caller has pinned, which is made where there is none.
// poolErrorNotSupported where the driver has no such memory.
poolError_t sp_overflow_of(struct sp_pool *pool, struct sp_pool **overflow);

#endif
