// Indirect questions, and waits, for streams that no call names any more, and that left no event
// behind what they freed: they or their thread may have ended, so nobody may pass their handles to
// the driver. Their memory is asked about in other ways, before an allocation is refused:
//
//   the legacy stream   A query of it sees all work of its context's blocking streams, per-thread
//                       streams among them, also of those that are gone (measured on an H200).
//                       Beside a blocking stream that captures it would break the capture, so that
//                       is asked first, which is harmless.
//   the context         An event of the whole context stands behind the work of all its streams.
//                       Its record breaks every capture in the context (and none in another one),
//                       and nothing tells whether a non-blocking stream captures: so only a
//                       program that says that none does has it recorded. Before CUDA 12.5 there is
//                       no such event, and a synchronise of the whole context is waited for, no
//                       longer than the caller likes.
//
// The legacy stream is asked for streams whose frees take a number alone: behind the frees of
// others an event stands always. `stream` is one that the caller was just passed, and its context
// is meant. Each call returns a driver's failure; that work is pending is none.
#ifndef STREAMPOOL_ORDER_INDIRECT_H
#define STREAMPOOL_ORDER_INDIRECT_H

#include "order/progress.h"

#include <pthread.h>

// True when the legacy stream would tell of what a stream has freed.
bool sp_indirect_is_seen_by_legacy(const struct sp_stream *stream);

// The streams that are asked about: those that the legacy stream sees, or all of the context, which
// is named only where nothing of it captures, and is SP_NOT_SUPPORTED before CUDA 12.5.
enum sp_indirect { SP_INDIRECT_LEGACY, SP_INDIRECT_CONTEXT };

// Asks, and publishes what is complete.
struct sp_outcome sp_indirect_ask(struct sp_stream *stream, enum sp_indirect whom);

// Makes the stream wait for an event behind all that the streams were given so far, and joins that
// to its clock. Later work of blocking streams waits for the legacy stream's event, too. That is
// SP_CAPTURES, and nothing was done, beside a blocking stream that captures, and SP_NOT_SUPPORTED
// where the legacy stream isn't asked.
struct sp_outcome sp_indirect_wait(struct sp_stream *stream, enum sp_indirect whom);

// ----------------------------------------------------------------------------------- context waits
//
// A synchronise of a whole context runs on a thread of the library's own, one for each context at a
// time. A caller leaves when its time is over, so a kernel that never ends can't hang the program.
// The thread then stays until the work ends, and what it finds is published all the same; a process
// that exits waits for it for two seconds at most.
//
// It breaks every capture in the context: so only a program that says that none captures there has
// it made. While the simulated driver schedules the threads the calling one makes it, for the
// driver knows of no other.

static inline bool sp_indirect_needs_context_wait(void) {
    return !sp_driver->cuCtxRecordEvent;
}

// Waits for all work of a stream's context, for so long at most, and publishes what is complete.
// That the time was too short, or the host had no thread or memory for it, is no failure.
struct sp_outcome sp_indirect_await_context(const struct sp_stream *stream, uint64_t nanoseconds);

// The waits that are under way, for indirect.c, and for tests that wait for their end.
struct sp_context_waits {
    pthread_mutex_t lock;
    pthread_cond_t ended; // one of them; by the monotonic clock
    bool is_ready;        // `ended` is made, and the handler at exit registered
    struct sp_list under_way;
};

extern __attribute__((visibility("hidden"))) struct sp_context_waits sp_context_waits;

#endif
