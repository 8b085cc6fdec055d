// Contexts: which one is current, and which incarnation a handle stands for.
//
// A context's handle can come back for another one: that of a device's primary context always does.
// An id tells them apart, and is never 0. Where it comes from depends on the driver: see
// order/identity.h.
#ifndef STREAMPOOL_ORDER_CONTEXT_H
#define STREAMPOOL_ORDER_CONTEXT_H

#include "driver/driver.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Tells the id of a context that is alive. It is one driver call, and more at the first use of a
// context that gets a sentinel.
struct sp_outcome sp_context_id(CUcontext context, uint64_t *id);

// Tells the ordinal of the context's device.
struct sp_outcome sp_context_device(CUcontext context, int *device);

// Returns what the context's device has free by the driver's account; 0 when that doesn't say.
size_t sp_context_free_memory(CUcontext context);

// True when this incarnation was destroyed or reset: its work has completed then, and its events
// are gone. The driver can be asked about any context that there ever was.
bool sp_context_is_gone(CUcontext context, uint64_t id);

// Tells the calling thread's current context, (null, 0) for none. The id is 0 too where no stream
// of the context was ever met.
struct sp_outcome sp_context_current(CUcontext *context, uint64_t *id);

// Likewise, but (null, 0) for one that is gone, too: it has no work.
struct sp_outcome sp_context_current_alive(CUcontext *context, uint64_t *id);

// True when this incarnation is the calling thread's current context.
bool sp_context_is_current(CUcontext context, uint64_t id);

#endif
