// The end of a thread takes the thread's own default streams along.
//
// The driver tells nobody of it, and no call with such a stream comes any more. So each thread
// keeps a list of its default streams, one for each context in which it has used one, and its end
// says that they are gone: see order/registry.h. No driver call is made then, for the driver's own
// state of the thread may be gone already. A thread that uses one still later, in a destructor of
// the program's, finds it again if nobody has its slot.
#ifndef STREAMPOOL_ORDER_THREAD_END_H
#define STREAMPOOL_ORDER_THREAD_END_H

#include "order/stream.h"

// Notes that the stream is the calling thread's own default stream of some context; it may be noted
// already. Without host memory it stays for good.
void sp_thread_end_note(struct sp_stream *stream, const struct sp_stream_name *name);

#endif
