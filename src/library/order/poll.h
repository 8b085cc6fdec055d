// Questions: asking the events of marks and chains what has completed by now.
//
// A mark that is complete completes its number and all that its clock holds. The context of what is
// asked must be alive: that of a stream that the caller was just passed, or the current one. Each
// call returns a driver's failure that is neither complete nor pending.
#ifndef STREAMPOOL_ORDER_POLL_H
#define STREAMPOOL_ORDER_POLL_H

#include "order/mark.h"

// Asks the marks and the chain of one stream.
struct sp_outcome sp_poll_stream(struct sp_stream *stream);

// Asks all streams of the stream's context.
struct sp_outcome sp_poll_context_of(const struct sp_stream *stream);

// Asks all streams of the current context.
struct sp_outcome sp_poll_current_context(void);

// Asks a few streams of the stream's context, by turns: all of them where there are no more.
enum { SP_POLL_SOME = 8 };
struct sp_outcome sp_poll_some_of(const struct sp_stream *of);

// Does so up to the first that has something pending. Where the device is busy that is one
// question, and most would be in vain.
struct sp_outcome sp_poll_until_busy_of(const struct sp_stream *of);

// Asks one mark.
struct sp_outcome sp_poll_mark(struct sp_mark *mark);

// Asks one mark whose event a synchronise is known to have passed.
struct sp_outcome sp_poll_confirm_mark(struct sp_mark *mark);

// Waits for one mark, as a synchronise waits.
struct sp_outcome sp_poll_await_mark(struct sp_mark *mark);

#endif
