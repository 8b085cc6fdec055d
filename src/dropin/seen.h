// Seen streams: those that were created through us and are alive. Their ends come through us, too,
// so the handle of one that hasn't ended stands for it: poolPromiseStreamDestroy is promised of it.
//
// A stream is here from its creation to its end, in a process that may never use a pool. A forked
// child has no streams. All of it is thread safe; one lock guards what changes.
#ifndef STREAMPOOL_DROPIN_SEEN_H
#define STREAMPOOL_DROPIN_SEEN_H

#include "driver/abi.h"

#include <stdbool.h>
#include <stdint.h>

// Adds a stream that the driver has made, which the program doesn't have yet. `context` is null and
// `device` -1 where they aren't known: the end of any context ends it then. A handle that is here
// already was that of a stream that has ended unseen. Without host memory the stream isn't seen.
void sp_seen_created(CUstream stream, CUcontext context, int device);

// Removes a stream that the driver is about to be asked to destroy.
void sp_seen_ends(CUstream stream);

// To be called before the driver is asked for what may end a context: no thread knows a stream by
// its handle then, and what open lanes have freed has its event. Returns the number that the end is
// noted with (dropin/captures.h).
uint64_t sp_seen_context_ends(void);

// Removes the streams of a context that have ended with it, or may have, with numbers up to
// `until`: they are asked for from here on. `device` is that of other contexts whose streams may
// have ended too, else -1. The context may be null where only the device is known.
void sp_seen_context_ended(CUcontext context, int device, uint64_t until);

// Returns what is promised of a stream while no capture is open: values of enum poolStreamPromise.
// Takes no lock. Who a default stream is depends on the current context, and isn't known.
int sp_seen_promises(CUstream stream);

// The context of a seen stream, or null.
CUcontext sp_seen_context(CUstream stream);

#endif
