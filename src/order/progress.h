// How far streams have come, and who learns of it: sequence numbers, marks, clocks.
//
// A *mark* is a record of a private event in a stream: (event, the number that it closed, the stream's
// clock as it was then). It is never changed once it is published, and counted: a stream keeps its newest
// ones, and a user's event keeps the one that stands before its record (order/event.h). Two things can be
// learned from a mark:
//
//   complete   its event was found complete: then so are all frees up to its number, and all that its clock
//   holds. ordered    a stream waits for its event: then that stream runs after all frees up to its number,
//   and after all that
//              its clock holds. This is joined to the waiting stream's clock.
//
// Each function that makes a driver call takes its numbers and snapshots before the call, and publishes
// exactly those after it, and nothing when it failed. Records, waits and queries switch the thread to the
// relaxed capture mode and back: under the default mode a query would invalidate a capture elsewhere in the
// process. Thread safe. No lock is held across a driver call.
#ifndef STREAMPOOL_ORDER_PROGRESS_H
#define STREAMPOOL_ORDER_PROGRESS_H

#include "order/stream.h"

struct sp_mark {
    _Atomic uint32_t references;
    CUevent event;
    struct sp_stream *stream;
    uint64_t sequence;
    uint64_t clock_version; // of the stream, when the clock was copied
    struct sp_clock clock;
    struct sp_mark *next_spare;
};

static inline uint64_t sp_stream_completed(const struct sp_stream *stream) {
    return atomic_load_explicit(&stream->completed, memory_order_acquire);
}

// The highest number up to which others can learn of the frees: recorded, or complete already.
static inline uint64_t sp_stream_covered(const struct sp_stream *stream) {
    uint64_t recorded = atomic_load_explicit(&stream->recorded, memory_order_relaxed);
    uint64_t completed = atomic_load_explicit(&stream->completed, memory_order_relaxed);
    return recorded > completed ? recorded : completed;
}

// Changes whenever something becomes known to be complete, of any stream.
uint64_t sp_streams_news(void);

// True when the work before the fence is known to be complete; and when a synchronise alone has shown so.
bool sp_fence_is_complete(struct sp_fence fence);
bool sp_fence_is_synchronized(struct sp_fence fence);

// ---- what a call does to the stream that it was given; only inside that call

// Before taking memory that this stream freed: nothing for an identified stream, a wait for an anonymous one.
CUresult sp_stream_before_reuse(struct sp_stream *stream);

// The sequence number for memory that is freed now; records it where the stream is anonymous. Call it
// before anything is changed: it may fail.
CUresult sp_stream_free_point(struct sp_stream *stream, uint64_t *sequence);

// Records a mark behind all frees so far, or finds that the newest one does. Null when there is nothing to
// mark: the stream never freed anything and is ordered behind nothing. The reference is the caller's.
CUresult sp_stream_mark(struct sp_stream *stream, struct sp_mark **mark);
void sp_mark_release(struct sp_mark *mark);
void sp_mark_keep(struct sp_mark *mark);

// The same for who needs no mark in hand.
CUresult sp_stream_record(struct sp_stream *stream);

// Makes the stream wait for a mark, and joins it to the stream's clock.
CUresult sp_stream_wait_mark(struct sp_stream *stream, struct sp_mark *mark);

// Makes the stream wait for a fence: for the oldest mark that covers it, or the chain of an anonymous
// stream. Nothing when the fence is complete. CUDA_ERROR_NOT_FOUND when no event stands behind it.
CUresult sp_stream_wait_fence(struct sp_stream *stream, struct sp_fence fence);

// Where the driver can record a whole context: makes the stream wait for all work of its context so far,
// frees without a mark included. CUDA_ERROR_NOT_SUPPORTED where it can't. Only where nothing of the context
// captures: the driver refuses, and invalidates the capture (measured on an H200).
CUresult sp_stream_wait_context(struct sp_stream *stream);

// ---- what can be asked

// The oldest mark of a stream that covers a number, or null. The reference is the caller's.
struct sp_mark *sp_stream_mark_covering(struct sp_stream *stream, uint64_t sequence);

// A copy of what the stream runs after, into an empty clock. Without host memory it says less.
void sp_stream_copy_clock(struct sp_stream *stream, struct sp_clock *clock);

// Asks the marks of one stream, or of all streams of a context, what has completed. The context must be
// alive: that of a stream that the caller was just passed, or the current one. Returns a driver's failure
// that is neither complete nor pending.
CUresult sp_stream_poll(struct sp_stream *stream);
CUresult sp_streams_poll_context_of(const struct sp_stream *stream);
CUresult sp_streams_poll_current_context(void);
bool sp_stream_is_of_current_context(const struct sp_stream *stream);

// What the driver's calls do, and then publish what they have shown.
CUresult sp_stream_synchronize(struct sp_stream *stream, CUstream handle);
CUresult sp_stream_query(struct sp_stream *stream, CUstream handle);
CUresult sp_context_synchronize(void);

// Asks a mark whose event a synchronise is known to have passed.
CUresult sp_mark_confirm(struct sp_mark *mark);
// Asks a mark.
CUresult sp_mark_ask(struct sp_mark *mark);

// ---- for the registry

// The stream was given memory with these fences. As long as one is pending, the memory that came of it and
// lies about in the stream's lanes is for this stream alone, and not for the next one in its slot.
void sp_stream_note_acquired(struct sp_stream *stream, const struct sp_fence_set *fences);
// Nothing of the stream is pending: neither what it freed nor what it was given.
bool sp_stream_is_spent(struct sp_stream *stream);

// The stream's context was destroyed: its work has completed, its events are gone.
void sp_stream_end_with_context(struct sp_stream *stream);
// Forgets marks and clock of a slot that is to be used again.
void sp_stream_forget(struct sp_stream *stream);
// For tests: destroys the stream's events.
void sp_stream_destroy_events(struct sp_stream *stream);

#endif
