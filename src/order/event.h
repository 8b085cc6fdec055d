// Users' events: the driver's calls on them, and what they let us learn.
//
// A user's event is no evidence by itself: it may be recorded again by a call that we don't see, or be
// destroyed and its handle come back. So each record here records a private event of the stream first; when
// the user's has completed, the private one has, and that one is asked. Beside it a small table remembers
// in which stream an event was last recorded. It says only whom to ask and whose memory to trim, so it may
// forget, and be out of date.
#ifndef STREAMPOOL_ORDER_EVENT_H
#define STREAMPOOL_ORDER_EVENT_H

#include "order/stream.h"

// Records the event in the stream; null for one that captures: there is nothing to learn from it, and a
// private record that fails where the user's own succeeds is no failure of his.
CUresult sp_event_record(CUevent event, struct sp_stream *stream, CUstream handle);

// Waits for the event, or asks it, and then asks the events of the stream in which it was recorded. Sets
// that stream, or null when it isn't known: then the streams of the current context have been asked.
CUresult sp_event_synchronize(CUevent event, struct sp_stream **stream);
CUresult sp_event_query(CUevent event, struct sp_stream **stream);

// For tests: forgets all events.
void sp_events_close(void);

#endif
