// Contexts: which one is current, and which incarnation a handle stands for.
//
// A context's handle can come back for another one: that of a device's primary context always does.
// An id tells them apart, and is never 0: the driver's own (cuCtxGetId, 12.0), and where there is
// none, that of the context's sentinel (sentinel.h).
#ifndef STREAMPOOL_ORDER_CONTEXT_H
#define STREAMPOOL_ORDER_CONTEXT_H

#include "driver/driver.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Of a context that is alive. One driver call; more at the first use of a context that gets a
// sentinel.
CUresult sp_context_id(CUcontext context, uint64_t *id);
CUresult sp_context_device(CUcontext context, int *device);

// What its device has free by the driver's account; 0 when that doesn't say.
size_t sp_context_free_memory(CUcontext context);

// Whether this incarnation was destroyed or reset: its work has completed then, and its events are
// gone. The driver can be asked about any context that there ever was.
bool sp_context_is_gone(CUcontext context, uint64_t id);

// The calling thread's current one, (null, 0) for none. The id is 0 too where no stream of the
// context was ever met.
CUresult sp_context_current(CUcontext *context, uint64_t *id);

#endif
