// A device's home for managers: its primary context, and one stream there that nothing is ever
// submitted to.
//
// A pool orders its memory by streams. On a stream that has no work each point is complete as soon
// as it is there, and what is freed on it can be allocated on it again with no question to the
// driver. So all managers of a device allocate and free on this stream, each from its own pool.
//
// The first manager that takes a chunk opens the home, and the last one that goes closes it. A
// program that resets the primary context ends the stream, and the handle may be a stream of its
// own by then. So the stream is touched only while the context is the one that it was made in; and
// the next manager that takes a chunk gets another one, for all.
#ifndef STREAMPOOL_MAM_HOME_H
#define STREAMPOOL_MAM_HOME_H

#include "base/atomic.h"
#include "base/lock.h"
#include "driver/driver.h"

#include <stdbool.h>
#include <stdint.h>

struct sp_home {
    _Atomic(CUstream) stream; // null: no manager has a chunk
    // Guarded by the lock:
    struct sp_lock lock;
    size_t managers;
    CUdevice device;
    CUcontext context;   // of the stream
    uint64_t context_id; // of the context that is retained; 0: none, or the driver has no ids
};

// Opens the home of a device for one more manager.
struct sp_outcome sp_home_open(int ordinal, struct sp_home **home);

// Has the library learn that all that was freed on the stream is complete. At most an event of the
// library's is on its way there, for which it waits.
void sp_home_settle(struct sp_home *home);

// Gives it up for one manager.
void sp_home_close(struct sp_home *home);

// True when the program has reset the context of the stream, which a driver older than CUDA 12.0
// doesn't tell.
bool sp_home_is_gone(struct sp_home *home);

// Bytes that a device has free, and in all.
struct sp_home_memory {
    size_t available, total;
};

struct sp_outcome sp_home_measure(struct sp_home *home, struct sp_home_memory *memory);

#endif
