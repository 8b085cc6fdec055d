// The calling thread's current context, as far as that is one at all: a pool call without one is to
// fail with 201, and to ask the driver in each call would cost more than the call itself.
//
// The driver is asked once for each thread, and again after a call that may have left the thread
// with none: one that sets or pops the current context, or any thread's that ends a context.
#ifndef STREAMPOOL_DROPIN_CURRENT_H
#define STREAMPOOL_DROPIN_CURRENT_H

#include "driver/abi.h"

// CUDA_SUCCESS when the thread has a current context that works. Else what the driver says to a
// call that needs one: that there is none, or that it was destroyed.
CUresult sp_current_check(void);

// The context, by a question to the driver; null for none.
CUcontext sp_current_context(void);

// Has the calling thread, or each thread, ask again.
void sp_current_forget(void);
void sp_current_forget_all(void);

#endif
