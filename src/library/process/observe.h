// Observing a process: its allocations and frees are noted, for STREAMPOOL_STATS, STREAMPOOL_LEAKS
// and STREAMPOOL_TRACE, by the observer (src/observe/), which is loaded for a process that asks for
// one of these, or whose driver is a simulated one that checks it.
//
// A process that asked for none pays nothing: its calls find one flag set (process/runtime.h), and
// go another way in a process that did. There, a block enters the table of live blocks after the
// call that allocated it, and leaves it before the call that frees it, so that no address stands
// there twice.
//
// While a trace is recorded or the driver checks, allocations, frees and all acts that pools learn
// from take turns, so that the lines stand in the order in which the pools were told
// (observe/turn.h).
#ifndef STREAMPOOL_PROCESS_OBSERVE_H
#define STREAMPOOL_PROCESS_OBSERVE_H

#include "order/stream.h"
#include "process/observe_table.h"
#include "region/pool.h"

// Begins to observe if the options or the driver ask for it and the observer is there. Called once,
// by one thread. At the process's end nothing is noted any more, the trace is whole, and what the
// environment asks for is written: a summary of each pool (STREAMPOOL_STATS), and the blocks that
// were never freed (STREAMPOOL_LEAKS).
void sp_observe_begin(void);

// Calls that found it set may come behind the end.
extern _Atomic bool sp_observe_on;
static inline bool sp_observe_is_on(void) {
    return sp_load_acquire(&sp_observe_on);
}

// Returns true when the caller got its turn, which it then gives back; false also when its thread
// has the turn already.
bool sp_observe_take_turn(void);
void sp_observe_give_turn(bool taken);

// True while acts take turns. A call that waits for work then waits before it takes its turn
// (sp_synchronize_ahead_of_stream() and its like), so that it holds up nobody in its turn.
bool sp_observe_records(void);

// The calls from here to the next line are for a process that is observed. The stream is null where
// the driver told none; the pool where it is a device's current one; and the pointer where the
// allocation was refused.
void sp_observe_allocated(const void *pointer, uint64_t size, const struct sp_stream *stream,
                          const struct sp_pool *pool, const void *caller);

// Takes the block of a free that is about to be made out of the table. Null for a pointer that
// isn't known.
struct sp_live_block *sp_observe_freeing(const void *pointer);

// Notes that the free was made, in the order of a stream, or of none where that is null; or that it
// failed, by its error.
void sp_observe_freed(struct sp_live_block *block, poolError_t error,
                      const struct sp_stream *stream);

// ------------------------------------------------------------------------------------------------

// Notes an act that has succeeded. Nothing is noted of a null stream, for it captures.
void sp_observe_act_on_stream(enum sp_observe_action action, const void *event,
                              const struct sp_stream *stream);
void sp_observe_act(enum sp_observe_action action, const void *event);
void sp_observe_trimmed(const struct sp_pool *pool, uint64_t keep);

// Returns the number of a stream that is about to be destroyed, for sp_observe_destroyed(), or 0.
uint64_t sp_observe_destroying(const struct sp_stream *stream);
void sp_observe_destroyed(const struct sp_stream *stream, uint64_t number);

#endif
