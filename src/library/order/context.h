// Contexts: which one is current, which incarnation a handle stands for, and how the library makes
// calls of its own in one.
//
// A context's handle can come back for another one: that of a device's primary context always does.
// An id tells them apart, and is never 0. Where it comes from is told by order/identity.h.
#ifndef STREAMPOOL_ORDER_CONTEXT_H
#define STREAMPOOL_ORDER_CONTEXT_H

#include "base/lock.h"
#include "driver/driver.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---------------------------------------------------------------------------- calls of the library

// Makes a context the current one until sp_context_leave().
static inline struct sp_outcome sp_context_enter(CUcontext context) {
    return sp_outcome_of_driver(sp_driver->cuCtxPushCurrent(context), "cuCtxPushCurrent");
}

static inline void sp_context_leave(void) {
    CUcontext popped;
    sp_driver->cuCtxPopCurrent(&popped);
}

// The library makes its own calls in the relaxed capture mode, so that a call that a capture
// elsewhere in the process forbids leaves that capture valid. A caller relaxes the mode before the
// first of its calls and restores it after the last. Returns the mode to restore.
static inline CUstreamCaptureMode sp_capture_mode_relax(void) {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    sp_driver->cuThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

static inline void sp_capture_mode_restore(CUstreamCaptureMode mode) {
    sp_driver->cuThreadExchangeStreamCaptureMode(&mode);
}

// --------------------------------------------------------------------------------- which one it is

// Tells the id of a context that is alive, by one driver call, and more where it gets a sentinel.
struct sp_outcome sp_context_id(CUcontext context, uint64_t *id);

// Tells the context of a stream that is alive. A default stream is one of the current context.
struct sp_outcome sp_context_of_stream(CUstream handle, CUcontext *context);

// Tells the ordinal of the context's device.
struct sp_outcome sp_context_device(CUcontext context, int *device);

// Returns what the context's device has free by the driver's account; 0 when that doesn't say.
size_t sp_context_free_memory(CUcontext context);

// True when this incarnation was destroyed or reset: its work has completed then, and its events
// are gone. The driver can be asked about any context that there ever was.
bool sp_context_is_gone(CUcontext context, uint64_t id);

// Tell the calling thread's current context, (null, 0) for none, and the second for one that is
// gone, too: it has no work. The id is 0 too where no stream of the context was ever met.
struct sp_outcome sp_context_current(CUcontext *context, uint64_t *id);
struct sp_outcome sp_context_current_alive(CUcontext *context, uint64_t *id);

// Returns the calling thread's current context, which is alive, if it is one of the device; or
// null.
CUcontext sp_context_current_of(int device);

// True when this incarnation is the calling thread's current context.
bool sp_context_is_current(CUcontext context, uint64_t id);

// -------------------------------------------------------------------------------- primary contexts
//
// The library makes a primary context current where a program has none, or has memory in one, as
// the runtime's calls on a default stream do. A device's context is retained once, until the
// process ends. One that was reset meanwhile, which takes all references back, is retained anew.
//
// The lock is held across the driver's calls, which may take as long as it takes to make a context:
// a thread that waits for it wants the same one.
struct sp_primary {
    struct sp_lock lock;
    CUcontext context; // null: not retained, as in zeroed memory
    uint64_t id;       // sp_context_id's
};

// Retains the context of the device, unless it still is, and tells which it is.
struct sp_outcome sp_context_retain_primary(struct sp_primary *primary, int ordinal,
                                            CUcontext *context, uint64_t *id);

// Retains it likewise, and makes it the calling thread's current one. After a failure nothing more
// is retained than before, or the context is and isn't current.
struct sp_outcome sp_context_make_primary_current(struct sp_primary *primary, int ordinal);

#endif
