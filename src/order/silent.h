// Silent streams: those that freed memory, left no event behind it, and are named by no call any more. They were destroyed by the
// driver's own call, or were the default stream of a thread that has ended, or the program just doesn't use them. Nobody may pass
// their handles to the driver. What they freed is asked about in other ways, before an allocation is refused:
//
//   the legacy stream   A query of it sees all work of its context's blocking streams, per-thread streams among them, also of
//                       those that are gone (measured on an H200). Beside a blocking stream that captures it would break the
//                       capture, so that is asked first, which is harmless.
//   the context         An event of the whole context stands behind the work of all its streams. Its record breaks every capture
//                       in the context, and nothing tells whether a non-blocking stream captures: so only a program that says
//                       that none does has it recorded.
//
// Both are for identified streams. Behind the frees of anonymous ones an event stands always.
#ifndef STREAMPOOL_ORDER_SILENT_H
#define STREAMPOOL_ORDER_SILENT_H

#include "order/progress.h"

// Asks the legacy stream of the context that `stream` is of, which the caller was just passed. What is complete is published. Pending,
// or a blocking stream that captures, is no failure.
CUresult sp_silent_ask_legacy(struct sp_stream *stream);

// Makes the stream wait for an event of the legacy stream, which stands behind all that those streams were given so far. Later work of
// blocking streams waits for that, too. CUDA_ERROR_NOT_READY, and nothing was done, beside such a capture.
CUresult sp_silent_wait_legacy(struct sp_stream *stream);

// Asks the context itself, of whose streams none captures. CUDA_ERROR_NOT_SUPPORTED before CUDA 12.5.
CUresult sp_silent_ask_context(struct sp_stream *stream);

#endif
