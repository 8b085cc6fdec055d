// Context waits: a synchronise of a whole context that is waited for no longer than the caller
// likes.
//
// Before CUDA 12.5 nothing else tells what silent non-blocking streams have completed. It runs on a
// thread of the library's own, one for each context at a time. A caller leaves when its time is
// over, so a kernel that never ends can't hang the program. The thread then stays until the work
// ends, and what it finds is published all the same; a process that exits waits for it for two
// seconds at most.
//
// It breaks every capture in the context: so only a program that says that none captures there has
// it made. While the simulated driver schedules the threads the calling one makes it, for the
// driver knows of no other.
#ifndef STREAMPOOL_ORDER_CONTEXT_WAIT_H
#define STREAMPOOL_ORDER_CONTEXT_WAIT_H

#include "order/stream.h"

// True when nothing but such a wait tells of the whole context.
bool sp_context_wait_is_needed(void);

// Waits for all work of a stream's context, for so long at most, and publishes what is complete.
// Returns the driver's failure; that the time was too short, or that the host had no thread or no
// memory for it, is none. Nothing is done in no time.
struct sp_outcome sp_context_wait_for(const struct sp_stream *stream, uint64_t nanoseconds);

#endif
