// The end of streams: by a call that destroys one, with their thread, or with their context.
#ifndef STREAMPOOL_ORDER_END_H
#define STREAMPOOL_ORDER_END_H

#include "order/stream.h"

// Marks what the stream freed, and destroys it. `stream` is the one behind the handle, or null when
// that is capturing.
struct sp_outcome sp_end_stream(struct sp_stream *stream, CUstream handle);

// Has streams be destroyed by this function, in place of the driver's.
void sp_end_set_destroyer(CUresult (*destroy)(CUstream stream));

// Ends the streams of contexts that were destroyed or reset, as far as the driver can tell: what
// was freed there is complete. Each context with frees pending is asked once, but that of `alive`
// (may be null), a stream that the caller was just passed. True when something was learned.
bool sp_end_gone_contexts(const struct sp_stream *alive);

// Asks a few contexts, by turns. Else it is as sp_end_gone_contexts().
bool sp_end_some_gone_contexts(const struct sp_stream *alive);

// The end of a thread takes the thread's own default streams along.
//
// The driver tells nobody of it, and no call with such a stream comes any more. So each thread
// keeps a list of its default streams, one for each context in which it has used one, and its end
// says that they are gone: see order/registry.h. No driver call is made then, for the driver's own
// state of the thread may be gone already. A thread that uses one still later, in a destructor of
// the program's, finds it again if nobody has its slot.
//
// Notes that the stream is the calling thread's own default stream of some context; it may be noted
// already. Without host memory it stays for good.
void sp_end_with_thread(struct sp_stream *stream, const struct sp_stream_name *name);

#endif
