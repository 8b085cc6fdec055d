// Private events: the driver's calls on events that nobody else can touch, which are all that order
// is learned from.
//
// Under the default capture mode a query, or a record in another stream, would invalidate a capture
// elsewhere in the process. So these calls are made in the relaxed mode (context.h), which the
// caller enters and leaves.
#ifndef STREAMPOOL_ORDER_PRIVATE_EVENT_H
#define STREAMPOOL_ORDER_PRIVATE_EVENT_H

#include "order/context.h"
#include "order/stream.h"

// An event belongs to the stream's context, which need not be the current one.
struct sp_outcome sp_private_event_create(const struct sp_stream *stream, CUevent *event);
void sp_private_event_destroy(CUevent event);

// Tells the one event of the stream's own, which is made when it is first asked for.
struct sp_outcome sp_private_event_of(struct sp_stream *stream, CUevent *event);

// Waits for the event on the host. It enters the relaxed mode itself.
struct sp_outcome sp_private_event_await(CUevent event);

// True where no capture elsewhere minds a record or a wait, whatever the mode: in a stream that is
// not a legacy one and doesn't capture. Measured on an H200, in each mode of the capture and of the
// thread; of drivers older than those that identify streams nobody has asked it.
static inline bool sp_private_event_needs_no_mode(const struct sp_stream *stream) {
    return stream->identified && sp_stream_kind_of(stream) != SP_STREAM_LEGACY;
}

// A record waits for nothing, and a free may make one.
static inline struct sp_outcome sp_private_event_record(CUevent event, CUstream handle) {
    return sp_outcome_of_code(sp_driver->cuEventRecord(event, handle), "cuEventRecord");
}

static inline struct sp_outcome sp_private_event_wait(CUstream handle, CUevent event) {
    return sp_outcome_of_driver(sp_driver->cuStreamWaitEvent(handle, event, 0),
                                "cuStreamWaitEvent");
}

// Makes the stream wait for the event, and enters the relaxed mode itself where that is needed.
struct sp_outcome sp_private_event_wait_relaxed(const struct sp_stream *stream, CUevent event);

// Asks the event. Pending is no failure.
static inline struct sp_outcome sp_private_event_query(CUevent event, bool *complete) {
    return sp_outcome_of_query(sp_driver->cuEventQuery(event), "cuEventQuery", complete);
}

#endif
