// Questions: asking the events of marks and chains what has completed by now.
//
// A mark that is complete completes its number and all that its clock holds. The context of what is
// asked must be alive: that of a stream that the caller was just passed, or the current one. Each
// returns a driver's failure that is neither complete nor pending.
#ifndef STREAMPOOL_ORDER_POLL_H
#define STREAMPOOL_ORDER_POLL_H

#include "order/mark.h"

// The marks and the chain of one stream, and of all streams of a context.
CUresult sp_poll_stream(struct sp_stream *stream);
CUresult sp_poll_context_of(const struct sp_stream *stream);
CUresult sp_poll_current_context(void);

// A few streams of the stream's context, by turns: all of them where there are no more.
enum { SP_POLL_SOME = 8 };
CUresult sp_poll_some_of(const struct sp_stream *of);

// One mark; one whose event a synchronise is known to have passed; and one that is waited for, as a
// synchronise waits.
CUresult sp_poll_mark(struct sp_mark *mark);
CUresult sp_poll_confirm_mark(struct sp_mark *mark);
CUresult sp_poll_await_mark(struct sp_mark *mark);

// The chain of a stream, of which a synchronise is known to have passed the record that closed this
// number; and that is waited for, as a synchronise waits. Nothing for the number 0.
CUresult sp_anonymous_confirm(struct sp_stream *stream, uint64_t sequence);
CUresult sp_chain_await(struct sp_stream *stream, uint64_t sequence);

#endif
