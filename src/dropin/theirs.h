// The driver's own pools: those that the program has got from it through us, because they can be
// exported, were imported, or are of memory that the library has no pools of.
//
// A handle that isn't here goes to the library, which knows its own and refuses all else. So the
// driver, which trusts any handle, never gets one that it hasn't given out.
#ifndef STREAMPOOL_DROPIN_THEIRS_H
#define STREAMPOOL_DROPIN_THEIRS_H

#include "driver/abi.h"

#include "base/atomic.h"
#include "base/cold.h"

#include <stdbool.h>

// Notes a pool that the driver has given out, if it isn't noted. False without host memory.
bool sp_theirs_note(CUmemoryPool pool);

// Forgets a pool that the driver is about to destroy.
void sp_theirs_forget(CUmemoryPool pool);

// Has places whose current pool it was use our default pool, after the driver has destroyed it.
void sp_theirs_end_current(CUmemoryPool pool);

// Takes no lock as long as there are none.
bool sp_theirs_has(CUmemoryPool pool);

// A place has a current pool for each type of memory: a device, the host, a node of it, and for
// managed memory also no place.
//
// The pool of the driver's that is a place's current one, or null: then that is one of ours.
CUmemoryPool sp_theirs_current(CUmemLocation location, CUmemAllocationType type);

// That of a device's pinned memory.
static inline CUmemoryPool sp_theirs_current_of(CUdevice device) {
    return sp_theirs_current((CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, device},
                             CU_MEM_ALLOCATION_TYPE_PINNED);
}

// Makes one current, or none (null).
void sp_theirs_make_current(CUmemLocation location, CUmemAllocationType type, CUmemoryPool pool);

// The device of a stream.
bool sp_theirs_find_device(CUstream stream, CUdevice *device);

// True when allocations in this stream come from a pool of the driver's. Asks the driver nothing as
// long as no device has one.
extern _Atomic int sp_theirs_current_count;
bool sp_theirs_serves_device_of(CUstream stream);
static inline bool sp_theirs_serves(CUstream stream) {
    return SP_UNLIKELY(sp_load_relaxed(&sp_theirs_current_count) > 0) &&
           sp_theirs_serves_device_of(stream);
}

#endif
