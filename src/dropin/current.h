// The calling thread's current context, as far as that is one at all: a pool call without one is to
// fail with 201, and to ask the driver in each call would cost more than the call itself.
//
// The driver is asked once for each thread, and again after a call that may have left the thread
// with none: one that sets or pops the current context, or any thread's that ends a context.
#ifndef STREAMPOOL_DROPIN_CURRENT_H
#define STREAMPOOL_DROPIN_CURRENT_H

#include "driver/abi.h"

#include "base/atomic.h"
#include "base/cold.h"

// CUDA_SUCCESS when the thread has a current context that works. Else what the driver says to a
// call that needs one: that there is none, or that it was destroyed.
CUresult sp_current_ask(void);

// A thread's knowledge is good as long as the number that it was got at is that of all, which is
// never 0.
extern _Atomic uint64_t sp_current_round;
extern _Thread_local __attribute__((tls_model("initial-exec"))) uint64_t sp_current_round_of_thread;
static inline CUresult sp_current_check(void) {
    return SP_LIKELY(sp_current_round_of_thread == sp_load_acquire(&sp_current_round))
               ? CUDA_SUCCESS
               : sp_current_ask();
}

// The context, by a question to the driver; null for none.
CUcontext sp_current_context(void);

// Has the calling thread, or each thread, ask again.
void sp_current_forget(void);
void sp_current_forget_all(void);

#endif
