// The program's synchronises and queries: the driver's calls, and what they have shown.
//
// A synchronise shows what depends on the program alone, so it counts as synchronised; a query
// shows what depends on the device as well, and counts as found.
//
// An answer of a blocking stream itself shows that its work is complete, and all that it has waited
// for. It shows nothing of the legacy stream's work, which a free on it comes behind all the same:
// see order/action.h. An event behind the free does: that of a mark, or the chain of an anonymous
// stream.
#ifndef STREAMPOOL_ORDER_SYNCHRONIZE_H
#define STREAMPOOL_ORDER_SYNCHRONIZE_H

#include "order/progress.h"

// These make the driver's call with `handle`, which is what the caller named the stream by. The
// answer to a query is `complete`, unless it fails.
struct sp_outcome sp_synchronize_stream(struct sp_stream *stream, CUstream handle);
struct sp_outcome sp_synchronize_query(struct sp_stream *stream, CUstream handle, bool *complete);

// Asks as sp_synchronize_query() does, for the library itself, inside a call that was made with the
// stream: no capture is touched by it.
struct sp_outcome sp_synchronize_ask(struct sp_stream *stream, bool *complete);

// Waits likewise for all that was freed on the stream, and on others that it runs after. That
// counts as synchronised.
struct sp_outcome sp_synchronize_await(struct sp_stream *stream);

// Synchronises the current context.
struct sp_outcome sp_synchronize_context(void);

// Wait by the driver's call alone, ahead of a synchronise that will find no more to wait for:
// nothing is learned, and an error is left for it.
void sp_synchronize_ahead_of_stream(CUstream handle);
void sp_synchronize_ahead_of_event(CUevent event);
void sp_synchronize_ahead_of_context(void);

// An event of an idle stream is complete a microsecond after its record, so a query asks it so
// often.
enum { SP_SYNCHRONIZE_QUESTIONS = 16 };

#endif
