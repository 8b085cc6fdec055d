// Finding the stream of an allocation or a free, by its handle: refused while it captures, and with
// no question to the driver that the program's promises answer.
#ifndef STREAMPOOL_API_ADMIT_H
#define STREAMPOOL_API_ADMIT_H

#include "api/api.h"
#include "order/remember.h"

// The errors of a call in a capture, by what asking has shown.
poolError_t sp_admit_refuse_allocation(struct sp_outcome outcome);
poolError_t sp_admit_refuse_free(struct sp_outcome outcome);
typedef poolError_t sp_admit_refuse(struct sp_outcome outcome);

// True when the promises let a thread know the stream by its handle.
static inline bool sp_admit_lets_remember(int promises, CUstream handle) {
    if (!(promises & poolPromiseStreamDestroy))
        return false;
    return !sp_stream_is_default(handle) || promises & poolPromiseOneContext;
}

// These are seldom: the thread doesn't remember the stream; the driver has not told the handle's
// capture state, which may be for want of a context; the driver was asked nothing.
SP_COLD struct sp_stream *sp_admit_remember(CUstream handle, const struct sp_pool *pool,
                                            poolError_t *error);
SP_COLD struct sp_stream *sp_admit_late(struct sp_outcome capture, CUstream handle,
                                        const struct sp_pool *pool, sp_admit_refuse *refuse,
                                        poolError_t *error);
SP_APART struct sp_stream *sp_admit_identify(CUstream handle, const struct sp_pool *pool,
                                             poolError_t *error);

// Finds a stream to note it. Null for one that captures: asking who it is would end the capture.
struct sp_stream *sp_admit_to_note(CUstream handle);

// Finds the stream of a call that names this pool, or none, and asks the driver nothing that the
// promises answer. Returns null with an error. `refuse` makes the error of a call in a capture.
static SP_HOT struct sp_stream *sp_admit_stream(CUstream handle, const struct sp_pool *pool,
                                                int promises, sp_admit_refuse *refuse,
                                                poolError_t *error) {
    struct sp_stream *stream = NULL;
    bool asks = !(promises & (poolPromiseNoCapture | poolPromiseNeverCapture));
    if (asks) {
        struct sp_outcome capture = sp_resolve_capture(handle);
        if (SP_UNLIKELY(!sp_is_done(capture)))
            return sp_admit_late(capture, handle, pool, refuse, error);
    }
    if (promises && sp_admit_lets_remember(promises, handle)) {
        stream = sp_remember_find(handle);
        return SP_LIKELY(stream) ? stream : sp_admit_remember(handle, pool, error);
    }
    if (SP_UNLIKELY(!asks))
        return sp_admit_identify(handle, pool, error);
    struct sp_outcome resolved = sp_resolve_stream(handle, &stream);
    if (SP_UNLIKELY(!sp_is_done(resolved)))
        *error = sp_fail_outcome(resolved, "identifying the stream");
    return stream;
}

#endif
