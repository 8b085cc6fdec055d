// Captures: how many are open in the process. The library is promised that none is as long as none
// is, once this drop-in serves.
//
// A capture spreads from the stream on which it begins to others, through events. So while any is
// open, any stream may capture, and each call asks the driver. While none is, no stream captures.
//
//   a capture is counted from before the driver begins it until after the driver has ended it
//
// A capture is told by the stream on which it began: by its handle, and for the thread's own
// default stream by the thread and the context as well. The legacy stream can't capture.
//
// Each fact of a stream or a capture has a number, which only grows. The end of a context is known
// after it has happened, when a stream of another one may have got a handle of this one's: so it
// ends what has numbers up to that of its begin.
//
// All of it is thread safe, and makes no driver call but by the functions that it is given. In a
// forked child, which has no streams, nothing is counted.
#ifndef STREAMPOOL_DROPIN_CAPTURES_H
#define STREAMPOOL_DROPIN_CAPTURES_H

#include "driver/abi.h"

#include <stdbool.h>
#include <stdint.h>

// To be called before each fact is noted, or promised. False in a child that was forked after the
// first one; and in a process without host memory to watch for forks, where none is then.
bool sp_captures_watch(void);

// True in such a child.
bool sp_captures_is_child(void);

// The number of the last fact, and a new one.
uint64_t sp_captures_now(void);
uint64_t sp_captures_next(void);

// Has the library be promised what holds, from now on. Of two drop-ins in a process only the one
// that serves calls it.
void sp_captures_promise(void);

// True when the driver says that the stream captures, or doesn't tell because something does.
typedef bool sp_captures_question(CUstream stream);

// To be called before the driver is asked to begin a capture on the stream. `context` is that of
// the stream, or null where it isn't known.
void sp_captures_begins(CUstream stream, CUcontext context);

// To be called after each sp_captures_begins(), when the driver has begun a capture, or hasn't.
void sp_captures_begun(CUstream stream, CUcontext context);
void sp_captures_refused(CUstream stream, CUcontext context, sp_captures_question *captures);

// To be called after an end, whatever the driver answered. A capture that it still has open stays:
// a begin fails beside one, and an end by the wrong thread leaves it.
void sp_captures_ended(CUstream stream, CUcontext context, sp_captures_question *captures);

// Say that a created stream has ended, or a context with all its streams, and their captures with
// them. Those that began after the number `until` are others'.
void sp_captures_end_of_stream(CUstream stream, uint64_t until);
void sp_captures_end_of_context(CUcontext context, uint64_t until);

#endif
