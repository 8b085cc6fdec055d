// Marks: records of private events in a stream, behind its frees.
//
// A *mark* is (event, the number that its record closed, the stream's clock as it was then). It is
// never changed once it is published, and counted: a stream keeps some, from the oldest pending one
// to the newest, and a user's event keeps the one that stands before its record (order/event.h).
// Two things can be learned from a mark:
//
//   complete   Its event was found complete: then so are all frees up to its number, and all that
//              its clock holds (order/poll.h).
//   ordered    A stream waits for its event: then that runs after all of these. They are joined to
//              the waiting stream's clock, once the driver has taken the wait.
#ifndef STREAMPOOL_ORDER_MARK_H
#define STREAMPOOL_ORDER_MARK_H

#include "order/context.h"
#include "order/progress.h"

// ---------------------------------------------------------------------------------- private events
//
// Order is learned only of events that nobody else can touch. Under the default capture mode a
// query, or a record in another stream, would invalidate a capture elsewhere in the process: so the
// calls on them are made in the relaxed mode (context.h), which the caller enters and leaves.

// An event belongs to the stream's context, which need not be the current one.
struct sp_outcome sp_private_event_create(const struct sp_stream *stream, CUevent *event);
void sp_private_event_destroy(CUevent event);

// Tells the one event of the stream's own, which is made when it is first asked for.
struct sp_outcome sp_private_event_of(struct sp_stream *stream, CUevent *event);

// Waits for the event on the host. It enters the relaxed mode itself.
struct sp_outcome sp_private_event_await(CUevent event);

// True where no capture elsewhere minds a record or a wait, whatever the mode: in a stream that is
// not a legacy one and doesn't capture (measured on an H200, in each mode of the capture and of the
// thread, and not with drivers older than those that identify streams).
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

// ------------------------------------------------------------------------------------------- marks

struct sp_mark {
    _Atomic uint32_t references;
    CUevent event;
    struct sp_stream *stream;
    uint64_t sequence;
    uint64_t freed;         // the latest free up to `sequence` that had been noted by then
    uint64_t clock_version; // of the stream, when the clock was copied
    uint32_t epoch;         // of the slot, when the event was made
    struct sp_fence_set clock;
    struct sp_mark *next_spare;
};

// True when it is complete, together with all that its clock holds.
static inline bool sp_mark_is_complete(const struct sp_mark *mark) {
    return mark->sequence <= sp_progress_completed(mark->stream);
}

// True for a mark of the stream itself: from that of an earlier one in its slot it may learn.
static inline bool sp_mark_is_own(const struct sp_stream *stream, const struct sp_mark *mark) {
    return mark->stream == stream && mark->sequence >= stream->first;
}

// --------------------------------------------------------------------------- recording and waiting
//
// These are called only inside a call that was given the stream.

// Records a mark behind all frees so far, or finds that the newest one stands there. Null when the
// stream never freed anything and is ordered behind nothing. The reference is the caller's;
// `wanted` is null for one who needs none in hand.
struct sp_outcome sp_mark_stream(struct sp_stream *stream, struct sp_mark **wanted);
static inline struct sp_outcome sp_mark_record(struct sp_stream *stream) {
    return sp_mark_stream(stream, NULL);
}

// Records a mark on an identified stream, whether there is anything to mark or not. With `freed` it
// is behind a free, which is noted whether the record can be made or not: the number that the free
// was stamped with is an open one or was one before. The reference is as above.
struct sp_outcome sp_mark_anew(struct sp_stream *stream, bool freed, struct sp_mark **wanted);

// Makes the stream wait for a mark, and joins it to the stream's clock.
struct sp_outcome sp_mark_wait(struct sp_stream *stream, struct sp_mark *mark);

// Makes the stream wait for a fence: for the oldest mark that covers it, or an anonymous stream's
// chain, unless the fence is complete. SP_NO_EVENT when none stands behind it.
struct sp_outcome sp_mark_wait_for_fence(struct sp_stream *stream, struct sp_fence fence);

// --------------------------------------------------------------------- with the stream's lock held

// The newest mark, or null. The second is null also if something was freed or joined since.
struct sp_mark *sp_mark_newest_locked(const struct sp_stream *stream);
struct sp_mark *sp_mark_current_locked(const struct sp_stream *stream);

// True when the stream has freed nothing that may be pending, and is ordered behind nothing that
// may. Drops from its clock what is over.
bool sp_mark_has_nothing_locked(struct sp_stream *stream);

// ----------------------------------------------------------------------------------------- keeping

void sp_mark_acquire(struct sp_mark *mark);
void sp_mark_release(struct sp_mark *mark);

// Returns the oldest mark of a stream that covers a number, or null. The reference is the caller's.
struct sp_mark *sp_mark_covering(struct sp_stream *stream, uint64_t sequence);

// Says that the stream keeps no mark up to a number any longer.
void sp_mark_drop_until(struct sp_stream *stream, uint64_t until);

// Says that it keeps none at all, and has waited for none: its slot is to be another's.
void sp_mark_drop_all(struct sp_stream *stream);

// Says that it keeps none that a synchronise has passed. One that a question found complete stays:
// it tells the order, to those who go by synchronises alone. It is called where
// sp_mark_trim_spares() may be.
void sp_mark_drop_passed(struct sp_stream *stream);

// Destroys the events of spare marks, but for a few, inside a call that was given the stream, or
// with its context current.
void sp_mark_trim_spares(struct sp_stream *stream);

// Says that the stream's context was destroyed, and all events with it. Marks that others still
// hold are complete, so nobody will touch their events. The caller holds the registry's lock.
void sp_mark_drop_events(struct sp_stream *stream);

#endif
