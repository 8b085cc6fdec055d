// How far streams have come: sequence numbers, what the host knows to be complete, and who is told.
//
// All that the folder does with a stream comes down to the numbers here:
//
//   mark.h      records of private events behind a stream's frees, and waits for them
//   identity.h  who a stream is, and the event behind the frees of one that can't be told
//   event.h     the program's own events, which tell of marks
//   poll.h      questions, the program's own synchronises and queries, and what those have shown
//   resolve.h   the beginning of a stream, and its end, by itself, with its thread or its context
//
// Each function that makes a driver call closes its numbers before the call, and publishes exactly
// those after it, and nothing when it failed. All of it is thread safe. No lock is held across a
// driver call.
#ifndef STREAMPOOL_ORDER_PROGRESS_H
#define STREAMPOOL_ORDER_PROGRESS_H

#include "base/cold.h"
#include "base/number.h"
#include "order/stream.h"

// ------------------------------------------------------------------------------ a stream's numbers

static inline uint64_t sp_progress_completed(const struct sp_stream *stream) {
    return sp_load_acquire(&stream->completed);
}

static inline uint64_t sp_progress_synchronized(const struct sp_stream *stream) {
    return sp_load_acquire(&stream->synchronized);
}

// True when something was recorded that isn't known to be complete.
static inline bool sp_progress_has_pending_events(const struct sp_stream *stream) {
    return sp_load_acquire(&stream->recorded) > sp_progress_completed(stream);
}

// Returns the number that a free of an identified stream gets. It is to be noted before the memory
// can be found, or by the free's own record: see sp_mark_anew().
static inline uint64_t sp_progress_number(const struct sp_stream *stream) {
    return sp_load_acquire(&stream->sequence);
}

// Takes the stream's number, and opens the next one. A free reads the number with no lock, and a
// store is enough for it: a thread that puts work behind the driver call that follows has seen, by
// the driver's own order, what was written before that call.
static inline uint64_t sp_progress_close_locked(struct sp_stream *stream) {
    uint64_t sequence = sp_load_relaxed(&stream->sequence);
    sp_store_release(&stream->sequence, sequence + 1);
    return sequence;
}
uint64_t sp_progress_close(struct sp_stream *stream);

// Says that a record stands behind the frees up to the number, and can be found. Once the lock is
// given back, sp_progress_join_queue() is to follow.
static inline void sp_progress_set_recorded_locked(struct sp_stream *stream, uint64_t sequence) {
    if (sp_load_relaxed(&stream->recorded) < sequence)
        sp_store_release(&stream->recorded, sequence);
}

// ------------------------------------------------------------------------------------------ fences

// True when the work before the fence is known to be complete, or a synchronise has shown that.
bool sp_progress_is_complete(struct sp_fence fence);
bool sp_progress_is_synchronized(struct sp_fence fence);

// True when nothing is left to be learned of the fence: a synchronise has passed it, or it is
// complete and no pool goes by synchronises alone. Such a pool could still learn the order of it.
// The second returns the number up to which all of the stream's fences are past.
bool sp_progress_is_past(struct sp_fence fence);
uint64_t sp_progress_past(const struct sp_stream *stream);

// Says that a pool that goes by synchronises alone has a lane for the stream; and whether one was
// ever said to be so.
void sp_progress_set_strict(struct sp_stream *stream);
extern __attribute__((visibility("hidden"))) _Atomic bool sp_progress_any_strict;

// --------------------------------------------------------------------------------------- the clock

// Says that the stream runs after a fence, as the caller has made it do.
void sp_progress_run_after(struct sp_stream *stream, struct sp_fence fence);
void sp_progress_run_after_locked(struct sp_stream *stream, struct sp_fence fence);

// Copies what the stream runs after into an empty clock. Without host memory the copy says less.
void sp_progress_copy_clock(struct sp_stream *stream, struct sp_fence_set *clock);

// -------------------------------------------------------------------------------------- publishing

// There are two ways to learn of completion: a synchronise, and a question that might have been
// answered otherwise. What a synchronise has shown counts as found, too.
enum sp_knowledge { SP_SYNCHRONIZED, SP_FOUND };

// Say that all work of the stream up to a number is complete, or all that a clock holds.
void sp_progress_publish(struct sp_stream *stream, uint64_t sequence, enum sp_knowledge how);
void sp_progress_publish_clock(const struct sp_fence_set *clock, enum sp_knowledge how);

// The numbers of many streams of a context are closed together before one act of the driver that is
// about all of them. When a synchronise or a query has succeeded what was freed under these numbers
// is complete; when a stream waits for an event behind the work of all, it runs after that.
struct sp_snapshot {
    uint32_t count;
    uint64_t *numbers; // by slot; 0 for streams that the act isn't about, or tells nothing of
};

// A filter is true of the streams of the context that the act is about.
typedef bool sp_snapshot_filter(const struct sp_stream *stream);

// Closes the numbers and notes them, without a filter those of all streams of the context. False
// without host memory: then nothing was closed, and there is nothing to end.
bool sp_progress_close_many(struct sp_snapshot *snapshot, CUcontext context, uint64_t id,
                            sp_snapshot_filter *is_about);
void sp_progress_end_snapshot(struct sp_snapshot *snapshot);

// Says that the act has shown all of it to be complete.
void sp_progress_publish_many(const struct sp_snapshot *snapshot, enum sp_knowledge how);

// Returns a number that changes whenever something becomes known to be complete, of any stream.
uint64_t sp_progress_news(enum sp_knowledge how);

// Tells the slot of the stream that brought a piece of news, `number` in that order, from 0 on.
// False when that is no longer known, or not yet.
bool sp_progress_news_of(enum sp_knowledge how, uint64_t number, uint32_t *slot);

// Has `listener` called once, by the thread that brings the next news, which may hold locks of this
// folder. False when there are news since `seen` already; then it may be called all the same. There
// is one listener at a time.
bool sp_progress_await_news(uint64_t seen, void (*listener)(void));

// ------------------------------------------------------------------------------------------ queues
//
// Queues of the streams that have events which nobody has found complete yet, so that some can be
// asked without a look at all.
//
// A stream joins the queue of its context when an event is recorded on it. A question takes the one
// that has waited longest, and puts it back behind all others, or leaves it out when it has nothing
// pending any more: so each is asked in as many questions as there are streams. Contexts share the
// queues; a stream of another context that comes up is put back.

// Says that an event was recorded on the stream, and noted under its lock. A stream that is in the
// queue stays there: a thread that asks it just now sees what was noted before it takes it out.
void sp_progress_enter_queue(struct sp_stream *stream);
static inline void sp_progress_join_queue(struct sp_stream *stream) {
    if (SP_UNLIKELY(!sp_load_relaxed(&stream->queued.is_in)))
        sp_progress_enter_queue(stream);
}

// Takes the stream whose turn it is in the queue of a context, or none, to be put back.
struct sp_stream *sp_progress_next_queued(uint64_t context_id);
void sp_progress_put_back(struct sp_stream *stream);

#endif
