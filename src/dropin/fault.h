// Faults: once work has failed, by an illegal access for one, every call on its context returns the
// same error, until the context is gone. Allocations and frees of ours may make no call that would
// tell. So once any call has told of a fault, they ask.
#ifndef STREAMPOOL_DROPIN_FAULT_H
#define STREAMPOOL_DROPIN_FAULT_H

#include "driver/abi.h"

#include "base/atomic.h"

// The context of which a fault was told last; null: none was, or it has been made anew since then.
extern CUcontext _Atomic sp_fault_context;

// Looks at what a call of the driver's has returned.
void sp_fault_look(CUresult result);

// Returns the current context's fault, or CUDA_SUCCESS.
CUresult sp_fault_ask(void);

static inline CUresult sp_fault_now(void) {
    return sp_load_relaxed(&sp_fault_context) ? sp_fault_ask() : CUDA_SUCCESS;
}

#endif
