// Serving: the library behind our functions, from the first pool call of the process on.
//
// Before that call nothing of the library's runs, and every other call goes to the driver: there is
// no memory of ours yet, and nothing to learn. Where the library can't start (the driver is too old
// for it, or has no device), the driver serves everything, as if we weren't there.
#ifndef STREAMPOOL_DROPIN_SERVED_H
#define STREAMPOOL_DROPIN_SERVED_H

#include "driver/abi.h"

#include "api/interpose.h"
#include "base/atomic.h"
#include "base/cold.h"
#include "dropin/tally.h"

#include <stdbool.h>
#include <streampool/streampool.h>

// For a call of any kind: true once the library serves pools.
extern _Atomic bool sp_served_on;
static inline bool sp_served_is_on(void) {
    return sp_load_acquire(&sp_served_on);
}

// True where the library has found that it can't serve in this process.
bool sp_served_is_refused(void);

// For a pool call, first of all: starts the library if that wasn't tried yet. False: the call is to
// be answered with `refused`, or by the driver where that is CUDA_SUCCESS.
bool sp_served_try(CUresult *refused);
static inline bool sp_served_begin(CUresult *refused) {
    *refused = CUDA_SUCCESS;
    return SP_LIKELY(sp_served_is_on()) || sp_served_try(refused);
}

// The driver's code for what the library returned last in this thread.
CUresult sp_served_failure(poolError_t error);
static inline CUresult sp_served_code(poolError_t error) {
    return SP_LIKELY(error == poolSuccess) ? CUDA_SUCCESS : sp_served_failure(error);
}

// CUDA_SUCCESS when the thread has a current context. Else what the driver says to a call that
// needs one: that there is none, or that it was destroyed.
CUresult sp_served_context(void);

// True for the answers of an allocation in a stream that captures: memory of the graph is wanted,
// which the driver has.
bool sp_served_is_capture(CUresult result);

// Makes a call of the library as the driver's own would be made: it fails where no context is
// current, and the runtime, which counts on that, makes one.
#define SP_SERVE(result, call) SP_SERVE_AS(result, call, SP_TALLY_NOTHING)

// Counts it as `what`, too, where a report is wanted.
#define SP_SERVE_AS(result, call, what)                                                            \
    SP_SERVE_COUNTED(result, SP_SERVE_ON_TERMS(result, SP_INTERPOSE_DEMANDS, call), what,          \
                     SP_TALLY_pool_calls, SP_TALLY_pool_time)

// For a pool call that is known to have a context.
#define SP_SERVE_UNDEMANDING(result, call, what)                                                   \
    SP_SERVE_COUNTED(result, (result) = sp_served_code(call), what, SP_TALLY_pool_calls,           \
                     SP_TALLY_pool_time)

// For a call that the library makes for the program and learns from, instead of a pool call.
// `promises` are of the stream that it is passed.
#define SP_SERVE_ORDER(result, promises, call)                                                     \
    SP_SERVE_COUNTED(result, SP_SERVE_ON_TERMS(result, SP_INTERPOSE_DEMANDS | (promises), call),   \
                     SP_TALLY_NOTHING, SP_TALLY_order_calls, SP_TALLY_order_time)

#define SP_SERVE_COUNTED(result, statement, what, calls, time)                                     \
    do {                                                                                           \
        if (sp_wanted_is()) {                                                                      \
            uint64_t began_ = sp_time_now();                                                       \
            statement;                                                                             \
            sp_tally_call(result, what, calls, time, began_);                                      \
        } else {                                                                                   \
            statement;                                                                             \
        }                                                                                          \
    } while (0)

#define SP_SERVE_ON_TERMS(result, terms, call)                                                     \
    do {                                                                                           \
        int before_ = sp_interpose_set_terms(terms);                                               \
        (result) = sp_served_code(call);                                                           \
        sp_interpose_set_terms(before_);                                                           \
    } while (0)

#endif
