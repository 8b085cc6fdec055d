// Primary contexts that the library makes current where a program has none, or has memory in.
//
// The runtime's calls on a default stream work in a program that never heard of contexts: without a
// current one they retain the primary context of the thread's device, make it current in the
// thread, and go on. So does the library. A device's context is retained once for the process, and
// stays so until that ends. One that was reset meanwhile, which takes all references back, is
// retained anew.
//
// All of it is thread safe. The lock is held across the driver's calls, which may take as long as
// it takes to make a context: a thread that waits for it wants the same one.
#ifndef STREAMPOOL_ORDER_PRIMARY_H
#define STREAMPOOL_ORDER_PRIMARY_H

#include "base/lock.h"
#include "driver/driver.h"

#include <stdint.h>

// The primary context of one device; zeroed memory is one that isn't retained.
struct sp_primary {
    struct sp_lock lock;
    CUcontext context; // null: not retained
    uint64_t id;       // sp_context_id's
};

// Retains the context of the device, unless it still is, and tells which it is.
struct sp_outcome sp_primary_retain(struct sp_primary *primary, int ordinal, CUcontext *context,
                                    uint64_t *id);

// Retains the context of the device, unless it still is, and makes it the calling thread's current
// one. After a failure nothing more is retained than before, or the context is and isn't current.
struct sp_outcome sp_primary_make_current(struct sp_primary *primary, int ordinal);

#endif
