// Seen streams: those whose creation somebody has told of who sees each of the program's calls of
// the driver. Their ends are told of, too, so the handle of one that hasn't ended stands for it, as
// for a program that promises poolPromiseStreamDestroy.
//
// A stream is here from its creation to its end, in a process that may never use a pool: nothing
// here needs the library to be started, and no driver call is made. A forked child has no streams,
// and tells of none.
//
// Each fact has a number, which only grows. The end of a context is told of after it has happened,
// when a stream of another one may have got a handle of this one's: so it ends the streams with
// numbers up to that of its begin.
//
// All of it is thread safe, and one lock guards it.
#ifndef STREAMPOOL_ORDER_SEEN_H
#define STREAMPOOL_ORDER_SEEN_H

#include "order/stream.h"

// True in a process in which all is told that order/seen.h and order/captures.h are for.
extern _Atomic bool sp_seen_on;
static inline bool sp_seen_is_on(void) {
    return sp_load_relaxed(&sp_seen_on);
}
void sp_seen_begin(void);

// Where a stream is. Null and -1 stand for what isn't known.
struct sp_seen_place {
    CUcontext context;
    int device;
};

// The number of the last fact, and a new one.
uint64_t sp_seen_now(void);
uint64_t sp_seen_next(void);

// Adds a stream that was just created. True when its handle was here: an earlier stream's, whose
// end nobody saw. Without host memory the stream isn't seen.
bool sp_seen_add(CUstream handle, const struct sp_seen_place *place);

// Removes a stream that is about to be destroyed.
void sp_seen_remove(CUstream handle);

// Removes a stream that has ended with its context, and returns it; null when there is none any
// more. Those are the streams of the context, or of its device where that isn't -1, and those whose
// place isn't known. `bucket` is 0 at the first call, and says how far the search has come.
CUstream sp_seen_remove_of(const struct sp_seen_place *ended, uint64_t until, unsigned *bucket);

bool sp_seen_has(CUstream handle);

// The context of a seen stream, or null.
CUcontext sp_seen_context(CUstream handle);

#endif
