// Questions: asking the events of marks and chains what has completed by now; and the program's own
// synchronises and queries, and what they have shown.
//
// The context of what is asked must be alive: that of a stream that the caller was just passed, or
// the current one. Each call returns a driver's failure that is neither complete nor pending.
#ifndef STREAMPOOL_ORDER_POLL_H
#define STREAMPOOL_ORDER_POLL_H

#include "order/identity.h"
#include "order/mark.h"

// Asks the marks and the chain of one stream.
struct sp_outcome sp_poll_stream(struct sp_stream *stream);

// Ask all streams of the stream's context, or of the current one.
struct sp_outcome sp_poll_context_of(const struct sp_stream *stream);
struct sp_outcome sp_poll_current_context(void);

// Asks a few streams of the stream's context, by turns: all of them where there are no more; and up
// to so many that have something pending. Where the device is busy most questions would be in vain.
enum { SP_POLL_SOME = 8 };
struct sp_outcome sp_poll_some_of(const struct sp_stream *of, int busy_most);

// Asks one mark. `how` is SP_SYNCHRONIZED where a synchronise is known to have passed its event.
// The caller of the second has relaxed the capture mode.
struct sp_outcome sp_poll_mark(struct sp_mark *mark, enum sp_knowledge how);
struct sp_outcome sp_poll_mark_relaxed(struct sp_mark *mark, enum sp_knowledge how);

// Waits for one mark, as a synchronise waits.
struct sp_outcome sp_poll_await_mark(struct sp_mark *mark);

// ------------------------------------------------------ the program's own synchronises and queries
//
// An answer of a blocking stream shows that its work is complete, and all that it has waited for.
// It shows nothing of the legacy stream's work, which a free on it comes behind all the same (see
// order/action.h). An event behind the free does: that of a mark, or an anonymous stream's chain.

// These make the driver's call with `handle`, by which the caller named the stream.
static inline struct sp_outcome sp_synchronize_stream(struct sp_stream *stream, CUstream handle) {
    return sp_identity_of(stream)->synchronize(stream, handle);
}
static inline struct sp_outcome sp_synchronize_query(struct sp_stream *stream, CUstream handle,
                                                     bool *complete) {
    return sp_identity_of(stream)->query(stream, handle, complete);
}

// Asks likewise, for the library itself, inside a call that was made with the stream: no capture is
// touched by it.
struct sp_outcome sp_synchronize_ask(struct sp_stream *stream, bool *complete);

// Waits likewise for all that was freed on the stream, and on others that it runs after. That
// counts as synchronised.
struct sp_outcome sp_synchronize_await(struct sp_stream *stream);

// Synchronises the current context.
struct sp_outcome sp_synchronize_context(void);

// Wait by the driver's call alone, ahead of a synchronise that will find no more to wait for:
// nothing is learned, and an error is left for it.
static inline void sp_synchronize_ahead_of_stream(CUstream handle) {
    (void)sp_outcome_of_driver(sp_driver->cuStreamSynchronize(handle), "cuStreamSynchronize");
}
static inline void sp_synchronize_ahead_of_event(CUevent event) {
    (void)sp_outcome_of_driver(sp_driver->cuEventSynchronize(event), "cuEventSynchronize");
}
static inline void sp_synchronize_ahead_of_context(void) {
    (void)sp_outcome_of_driver(sp_driver->cuCtxSynchronize(), "cuCtxSynchronize");
}

// An event of an idle stream is complete a microsecond after its record, so a query asks it so
// often.
enum { SP_SYNCHRONIZE_QUESTIONS = 16 };

#endif
