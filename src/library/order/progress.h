// How far streams have come: sequence numbers, what the host knows to be complete, and who is told.
//
// All that the folder does with a stream comes down to the numbers here:
//
//   mark.h         records of private events behind a stream's frees
//   identity.h     who a stream is, and the event behind the frees of one that can't be told
//   said.h         the marks that a record of the program's stands behind
//   learn.h        waits, and the order between streams that they teach
//   poll.h         questions, and what they find complete
//   synchronize.h  the program's own synchronises and queries, and what those have shown
//   end.h          the end of a stream, and of its context
//
// Each function that makes a driver call closes its numbers and takes its snapshots before the
// call, and publishes exactly those after it, and nothing when it failed. All of it is thread safe.
// No lock is held across a driver call.
#ifndef STREAMPOOL_ORDER_PROGRESS_H
#define STREAMPOOL_ORDER_PROGRESS_H

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
// can be found, or by the free's own record: see sp_mark_record_freed().
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
// given back, sp_turn_joined() is to follow.
static inline void sp_progress_set_recorded_locked(struct sp_stream *stream, uint64_t sequence) {
    if (sp_load_relaxed(&stream->recorded) < sequence)
        sp_store_release(&stream->recorded, sequence);
}

// ------------------------------------------------------------------------------------------ fences

// True when the work before the fence is known to be complete.
bool sp_progress_is_complete(struct sp_fence fence);

// True when a synchronise has shown that the work before the fence is complete.
bool sp_progress_is_synchronized(struct sp_fence fence);

// True when nothing is left to be learned of the fence: a synchronise has passed it, or it is
// complete and no pool goes by synchronises alone. Such a pool could still learn the order of it.
bool sp_progress_is_past(struct sp_fence fence);

// Returns the number up to which all of the stream's fences are past.
uint64_t sp_progress_past(const struct sp_stream *stream);

// Says that a pool that goes by synchronises alone has a lane for the stream.
void sp_progress_set_strict(struct sp_stream *stream);

// Is true once a stream was said to be strict.
extern __attribute__((visibility("hidden"))) _Atomic bool sp_progress_any_strict;

// -------------------------------------------------------------------------------------- publishing

// There are two ways to learn of completion: a synchronise, and a question that might have been
// answered otherwise. What a synchronise has shown counts as found, too.
enum sp_knowledge { SP_SYNCHRONIZED, SP_FOUND };

// Says that all work of the stream up to a number is complete.
void sp_progress_publish(struct sp_stream *stream, uint64_t sequence, enum sp_knowledge how);

// Says that all work that a clock holds is complete.
void sp_progress_publish_clock(const struct sp_clock *clock, enum sp_knowledge how);

// Return a number that changes whenever something becomes known to be complete, of any stream. The
// second is SP_FOUND's.
uint64_t sp_progress_news_by(enum sp_knowledge how);
uint64_t sp_progress_news(void);

// Tells the slot of the stream that brought a piece of news, `number` in the order of
// sp_progress_news_by(), from 0 on. False when that is no longer known, or not yet.
bool sp_progress_news_of(enum sp_knowledge how, uint64_t number, uint32_t *slot);

// Has `listener` called once, by the thread that brings the next news, which may hold locks of this
// folder. False when there are news since `seen` already; then it may be called all the same, or
// not. There is one listener at a time.
bool sp_progress_await_news(uint64_t seen, void (*listener)(void));

#endif
