// An observer sees what a program would promise otherwise: see api/observe.h. So it is told in the
// words of enum poolStreamPromise.
#ifndef STREAMPOOL_API_KNOWN_H
#define STREAMPOOL_API_KNOWN_H

#include "api/api.h"
#include "order/captures.h"
#include "order/remember.h"

// True for a seen stream that the thread doesn't know, or knows by a promise alone.
SP_COLD bool sp_known_is_seen(CUstream handle);

// Tells what is known of a stream in an observed process. Who a default stream is depends on the
// current context, and isn't known.
static inline int sp_known_of(CUstream handle) {
    int no_capture = sp_captures_are_none() ? poolPromiseNoCapture : poolPromiseNothing;
    if (sp_stream_is_default(handle))
        return no_capture;
    const struct sp_stream *stream = sp_remember_find(handle);
    if (SP_LIKELY(stream && sp_load_relaxed(&stream->seen)) || sp_known_is_seen(handle))
        return poolPromiseStreamDestroy | no_capture;
    return poolPromiseNothing;
}

// Tells what is known of a stream in any process.
static inline int sp_known_if_observed(CUstream handle) {
    return sp_seen_is_on() ? sp_known_of(handle) : poolPromiseNothing;
}

// Finds the stream by what is known of it. Else it is sp_api_stream().
poolError_t sp_known_stream(CUstream handle, int known, struct sp_stream **stream);

#endif
