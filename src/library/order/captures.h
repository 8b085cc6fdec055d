// Captures: how many are open in the process, as somebody tells who sees them begin and end.
//
// A capture spreads from the stream on which it begins to others, through events. So while any is
// open, any stream may capture, and each call asks the driver. While none is, no stream captures.
//
//   a capture is counted from before the driver begins it until after the driver has ended it
//
// A thread that was told of a capture's begin, by the program's own order, sees it counted. What
// tells a capture is the stream on which it began: its handle, and for the thread's own default
// stream the thread and the context as well.
//
// A stream that is found capturing while none is counted shows that not all captures are seen. From
// then on one is counted forever.
//
// All of it is thread safe, and one lock guards it. No lock is held across a driver call.
#ifndef STREAMPOOL_ORDER_CAPTURES_H
#define STREAMPOOL_ORDER_CAPTURES_H

#include "order/seen.h"

// Read by each call on a seen stream.
extern _Atomic uint32_t sp_captures_open;

// True where it is known that no stream captures.
static inline bool sp_captures_are_none(void) {
    return sp_load_relaxed(&sp_captures_open) == 0;
}

// True when the driver says that the stream captures.
typedef bool sp_captures_question(CUstream stream);

// To be called before the driver is asked to begin a capture on the stream. `context` is that of
// the stream, or null where it isn't known.
void sp_captures_begin(CUstream stream, CUcontext context);

// To be called after each sp_captures_begin() and the driver's answer.
void sp_captures_begun(CUstream stream, CUcontext context);

// To be called after a begin that has failed, and after an end. A capture that the driver still has
// open stays: a begin fails beside one, and an end by the wrong thread leaves it.
void sp_captures_settle(CUstream stream, CUcontext context, sp_captures_question *captures);

// Says that a created stream has ended, or a context with all its streams, and their captures with
// them. Those that began after the number `until` are others'.
void sp_captures_end_of_stream(CUstream stream, uint64_t until);
void sp_captures_end_of_context(CUcontext context, uint64_t until);

// Notes the driver's answer to the question whether a stream captures: sp_resolve_capture()'s. True
// when it shows that not all captures are seen.
bool sp_captures_note(struct sp_outcome answer, CUstream stream);

#endif
