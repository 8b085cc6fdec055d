// The program's synchronises and queries: the driver's calls, and what they have shown.
//
// What a synchronise shows depends on the program alone, so it counts as synchronised; what a query
// shows depends on the device as well, and counts as found.
#ifndef STREAMPOOL_ORDER_SYNCHRONIZE_H
#define STREAMPOOL_ORDER_SYNCHRONIZE_H

#include "order/progress.h"

// `handle` is what the caller named the stream by.
CUresult sp_synchronize_stream(struct sp_stream *stream, CUstream handle);
CUresult sp_synchronize_query(struct sp_stream *stream, CUstream handle);

// The same as a question of ours, inside a call that was made with the stream: no capture is
// touched by it.
CUresult sp_synchronize_ask(struct sp_stream *stream);

// Of the current context.
CUresult sp_synchronize_context(void);

#endif
