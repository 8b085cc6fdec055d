// Outcomes: a function that can fail returns why it failed, and who said so.
//
// An outcome goes up the stack unchanged, to the function that decides by it or that tells the
// program (region/fail.h). A failure of the driver has the driver's code and the entry point that
// returned it; every other one is a fact of our own and has neither. That a question found work
// pending is no failure: the answer stands beside the outcome, in a bool.
#ifndef STREAMPOOL_DRIVER_OUTCOME_H
#define STREAMPOOL_DRIVER_OUTCOME_H

#include "base/cold.h"
#include "base/thread.h"
#include "driver/abi.h"

#include <stdbool.h>
#include <stddef.h>

enum sp_cause {
    SP_DONE, // no failure
    SP_DRIVER_FAILED,

    // Memory is lacking, and the driver had no part in it:
    SP_NO_HOST_MEMORY,
    SP_BEYOND_LIMIT, // of the pool
    SP_HOST_IS_FULL, // or the container's limit is reached (base/host_memory.h)
    SP_FORBIDDEN,    // to grow, by a flag of the call, or as the pool is evicted

    // The driver, the context or the stream isn't fit for what is asked:
    SP_NOT_SUPPORTED,
    SP_NO_CONTEXT, // is current
    SP_CAPTURES,   // the stream, or one that the call would touch

    // These are for a caller who then goes another way:
    SP_NO_EVENT,  // stands behind a fence
    SP_NO_HOLE,   // of the address space that there is is large enough
    SP_TOO_SHORT, // a segment, which must be extended first
};

// It is returned in two registers.
struct sp_outcome {
    enum sp_cause cause;
    CUresult code;           // CUDA_SUCCESS unless the driver failed
    const char *entry_point; // null unless the driver failed; a text that stays
};

// The outcome with this cause, which isn't SP_DRIVER_FAILED.
#define sp_outcome_of(its_cause) ((struct sp_outcome){.cause = (its_cause)})
#define sp_outcome_done()        sp_outcome_of(SP_DONE)

#define sp_is_done(outcome) ((outcome).cause == SP_DONE)

// The outcome of a call of the driver that has returned this.
static inline struct sp_outcome sp_outcome_of_code(CUresult code, const char *entry_point) {
    if (SP_LIKELY(code == CUDA_SUCCESS))
        return sp_outcome_done();
    return (struct sp_outcome){SP_DRIVER_FAILED, code, entry_point};
}

// Makes a call of the driver, which may wait: the thread isn't cancelled in it. Returns its
// outcome.
#define sp_outcome_of_driver(call, entry_point)                                                    \
    __extension__({                                                                                \
        int before_;                                                                               \
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_);                                  \
        const CUresult code_ = (call);                                                             \
        pthread_setcancelstate(before_, &before_);                                                 \
        sp_outcome_of_code(code_, entry_point);                                                    \
    })

// The outcome of a question to the driver, which answers that something is complete or that it
// isn't yet.
static inline struct sp_outcome sp_outcome_of_query(CUresult code, const char *entry_point,
                                                    bool *complete) {
    *complete = code == CUDA_SUCCESS;
    return *complete || code == CUDA_ERROR_NOT_READY ? sp_outcome_done()
                                                     : sp_outcome_of_code(code, entry_point);
}

// The first failure of two outcomes.
static inline struct sp_outcome sp_outcome_first(struct sp_outcome first, struct sp_outcome next) {
    return sp_is_done(first) ? next : first;
}

// True when memory is lacking: the device's, the host's, or what the pool may have.
static inline bool sp_outcome_lacks_memory(struct sp_outcome outcome) {
    return outcome.code == CUDA_ERROR_OUT_OF_MEMORY || outcome.cause == SP_NO_HOST_MEMORY ||
           outcome.cause == SP_BEYOND_LIMIT || outcome.cause == SP_HOST_IS_FULL ||
           outcome.cause == SP_FORBIDDEN;
}

// True when this is so, whether the driver or we have said it.
static inline bool sp_outcome_lacks_support(struct sp_outcome outcome) {
    return outcome.code == CUDA_ERROR_NOT_SUPPORTED || outcome.cause == SP_NOT_SUPPORTED;
}

static inline bool sp_outcome_lacks_context(struct sp_outcome outcome) {
    return outcome.code == CUDA_ERROR_INVALID_CONTEXT || outcome.cause == SP_NO_CONTEXT;
}

static inline bool sp_outcome_is_capture(struct sp_outcome outcome) {
    return outcome.code == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED || outcome.cause == SP_CAPTURES;
}

#endif
