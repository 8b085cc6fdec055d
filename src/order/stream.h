// Streams as the allocator knows them: who they are, how far they have come, and the events that tell.
//
// Every stream that a call has named has a *slot* in one table for the process, never moved and never freed,
// so that a fence can name it by number and a thread can keep a pointer to it. A slot stands for one
// incarnation of a stream: the driver gives a new stream the handle of the one just destroyed, so a handle
// alone says nothing. Who a stream is:
//
//   identified   the driver has cuStreamGetId (12.0): the id tells incarnations, contexts and per-thread
//                default streams apart, and is all that is looked up.
//   anonymous    it has not: (context, handle, host thread for a per-thread stream) names a stream and every
//                later stream with its handle. All that they free is chained through one event: before each
//                record the stream waits for the event's last record, so the event covers every free there
//                ever was under this name, and whoever takes memory here waits on it first. On one and the
//                same stream such a wait costs nothing, on a recycled handle it is what is right.
//
// Sequence numbers. `sequence` is what a free gets now. Whatever could tell somebody how far the stream has
// come closes it: it takes the number n and opens n + 1, then makes the driver call, and when that has
// succeeded a point behind every free with a number up to n is known. So equal numbers mean frees that nobody
// can tell apart, and the common free writes nothing here. `completed` is the highest number up to which the
// host knows that all work is done; it only grows, and only a completed driver call raises it.
//
//   completed < sequence; first <= sequence; the numbers of recorded events are < sequence
//
// Locks. The registry's lock guards the table's growth and is never held across a driver call. Each stream's
// own lock guards its recorded events; it may be held across a query, which can't block, and is not across a
// record or a wait, which can. `sequence` and `completed` are atomics. Slow paths (records, queries) switch
// the thread to the relaxed capture mode and back: under the default mode a query would invalidate a capture
// elsewhere in the process.
#ifndef STREAMPOOL_ORDER_STREAM_H
#define STREAMPOOL_ORDER_STREAM_H

#include "base/lock.h"
#include "driver/driver.h"
#include "order/rule.h"

#include <stdatomic.h>

// (id, 0, 0) of an identified stream; (context, handle, thread number or 0) of an anonymous one.
struct sp_stream_key {
    uint64_t word[3];
};

enum { SP_STREAM_EVENTS = 4 };

struct sp_recorded_event {
    CUevent event;     // null: this entry is free
    uint64_t sequence; // the number that its record closed
};

struct sp_stream {
    struct sp_stream_key key;
    _Atomic uint64_t sequence;
    _Atomic uint64_t completed;
    _Atomic uint64_t
        recorded;   // the highest number that a record closed: nothing is to be asked up to `completed`
    uint64_t first; // the first number of this incarnation
    uint32_t slot;
    int device;
    bool identified;
    CUstream handle;
    CUcontext context;
    uint64_t context_id; // cuCtxGetId's, or 0 without it
    struct sp_stream *next_in_bucket;
    struct sp_lock lock;
    struct sp_recorded_event events[SP_STREAM_EVENTS];
    CUevent chain;           // of an anonymous stream, once it has freed something
    uint64_t chain_sequence; // the highest number that a record of `chain` closed
};

// Whether the stream takes part in a capture: CUDA_SUCCESS when not, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
// when so, and what the driver says when even asking is an error (the legacy stream beside a capturing one;
// no context).
CUresult sp_stream_check_capture(CUstream handle);

// The stream behind a handle that a caller has just passed to us; made known if it is new. The common case is
// one driver call and no lock.
CUresult sp_stream_resolve(CUstream handle, struct sp_stream **stream);

// The stream of a slot that a fence names.
struct sp_stream *sp_stream_at(uint32_t slot);

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

// True when the work before the fence is known to be complete.
bool sp_fence_is_complete(struct sp_fence fence);

// What the rule says about one fence for a stream that wants the memory.
enum sp_rule sp_stream_decide(const struct sp_stream *taker, struct sp_fence fence);

// The three things that a call does to the stream it was given; all must be called from inside that call.
// Before taking memory that this stream freed: nothing for an identified stream, a wait for an anonymous one.
CUresult sp_stream_before_reuse(struct sp_stream *stream);
// The sequence number for memory that is freed now; records it where the stream is anonymous. Call it
// before anything is changed: it may fail.
CUresult sp_stream_free_point(struct sp_stream *stream, uint64_t *sequence);
// Records a private event behind all frees so far, so that other streams and the host can learn of them.
CUresult sp_stream_record(struct sp_stream *stream);

// Asks the recorded events of one stream, or of all streams of the calling thread's current context, what has
// completed. Only there is it certain that the events are still alive. Returns a driver's failure that is
// neither complete nor pending.
CUresult sp_stream_poll(struct sp_stream *stream);
CUresult sp_streams_poll_context_of(const struct sp_stream *stream); // one that the caller was just passed
CUresult sp_streams_poll_current_context(void);
bool sp_stream_is_of_current_context(const struct sp_stream *stream);

// What the driver's calls do, and then publish what they have shown.
CUresult sp_stream_synchronize(struct sp_stream *stream, CUstream handle);
CUresult sp_stream_query(struct sp_stream *stream, CUstream handle);
CUresult sp_context_synchronize(void);

// For tests, with no other thread about: destroys all events and forgets all streams.
void sp_streams_close(void);

#endif
