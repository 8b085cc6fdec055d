// Contexts: which one is current, and which incarnation a handle stands for.
//
// A context's handle can come back for another one: that of a device's primary context always does. Where
// the driver has cuCtxGetId (12.0) the id tells them apart; elsewhere every id is 0.
#ifndef STREAMPOOL_ORDER_CONTEXT_H
#define STREAMPOOL_ORDER_CONTEXT_H

#include "driver/driver.h"

// Of a context that is alive.
CUresult sp_context_id(CUcontext context, uint64_t *id);
CUresult sp_context_device(CUcontext context, int *device);

// The calling thread's current one, (null, 0) for none.
CUresult sp_context_current(CUcontext *context, uint64_t *id);

#endif
