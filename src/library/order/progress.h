// How far streams have come: sequence numbers, what the host knows to be complete, and who is told.
//
// What the folder does with a stream is told in one file each, and all of it comes down to the
// numbers here:
//
//   mark.h         records of private events behind a stream's frees
//   chain.h        the same for anonymous streams, whose handles may be other streams by now
//   learn.h        waits, and the order between streams that they teach
//   poll.h         questions, and what they find complete
//   synchronize.h  the program's own synchronises and queries, and what those have shown
//   end.h          the end of a stream, and of its context
//
// Each function that makes a driver call closes its numbers and takes its snapshots before the
// call, and publishes exactly those after it, and nothing when it failed. Thread safe. No lock is
// held across a driver call.
#ifndef STREAMPOOL_ORDER_PROGRESS_H
#define STREAMPOOL_ORDER_PROGRESS_H

#include "order/stream.h"

static inline uint64_t sp_progress_completed(const struct sp_stream *stream) {
    return atomic_load_explicit(&stream->completed, memory_order_acquire);
}

static inline uint64_t sp_progress_synchronized(const struct sp_stream *stream) {
    return atomic_load_explicit(&stream->synchronized, memory_order_acquire);
}

// The highest number up to which others can learn of the frees: recorded, or complete already.
static inline uint64_t sp_progress_covered(const struct sp_stream *stream) {
    uint64_t recorded = atomic_load_explicit(&stream->recorded, memory_order_relaxed);
    uint64_t completed = atomic_load_explicit(&stream->completed, memory_order_relaxed);
    return recorded > completed ? recorded : completed;
}

// Something was recorded that isn't known to be complete.
static inline bool sp_progress_has_pending_events(const struct sp_stream *stream) {
    return atomic_load_explicit(&stream->recorded, memory_order_acquire) >
           sp_progress_completed(stream);
}

// Changes whenever something becomes known to be complete, of any stream.
uint64_t sp_progress_news(void);

// The slot of the stream that brought a piece of news, `number` in the order of sp_progress_news(),
// from 0 on. False when that is no longer known, or not yet.
bool sp_progress_news_of(uint64_t number, uint32_t *slot);

// Has `listener` called once, by the thread that brings the next news, which may hold locks of this
// folder. False when there are news since `seen` already; then it may be called all the same, or
// not. One listener at a time.
bool sp_progress_await_news(uint64_t seen, void (*listener)(void));

// True when the work before the fence is known to be complete; and when a synchronise alone has
// shown so.
bool sp_progress_is_complete(struct sp_fence fence);
bool sp_progress_is_synchronized(struct sp_fence fence);

// Nothing is left to be learned of the fence: a synchronise has passed it, or it is complete and no
// pool goes by synchronises alone. Such a pool could still learn the order of it.
bool sp_progress_is_past(struct sp_fence fence);

// A pool that goes by synchronises alone has a lane for the stream.
void sp_progress_set_strict(struct sp_stream *stream);

// Takes the stream's number, and opens the next one. A free reads the number with no lock, and a
// store is enough for it: a thread that puts work behind the driver call that follows has seen, by
// the driver's own order, what was written before that call.
static inline uint64_t sp_progress_close_locked(struct sp_stream *stream) {
    uint64_t sequence = atomic_load_explicit(&stream->sequence, memory_order_relaxed);
    atomic_store_explicit(&stream->sequence, sequence + 1, memory_order_release);
    return sequence;
}
uint64_t sp_progress_close(struct sp_stream *stream);

// Up to the number a record stands behind the frees, and can be found. Once the lock is given back,
// sp_turn_joined() is to follow.
static inline void sp_progress_set_recorded_locked(struct sp_stream *stream, uint64_t sequence) {
    if (atomic_load_explicit(&stream->recorded, memory_order_relaxed) < sequence)
        atomic_store_explicit(&stream->recorded, sequence, memory_order_release);
}

// Numbers only grow.
void sp_number_raise(_Atomic uint64_t *number, uint64_t sequence);

// For tests, when all streams are forgotten.
void sp_progress_forget_strict(void);

// Two ways to learn of completion: a synchronise, and a question that might have been answered
// otherwise.
enum sp_knowledge { SP_SYNCHRONIZED, SP_FOUND };

// All work of the stream up to a number is complete; and all that a clock holds.
void sp_progress_publish(struct sp_stream *stream, uint64_t sequence, enum sp_knowledge how);
void sp_progress_publish_clock(const struct sp_clock *clock, enum sp_knowledge how);

#endif
