// Streams as callers name them: handles, and the default streams' fixed values.
//
// A handle is the address of its struct, which is handed out again as soon as the stream is
// destroyed, to the next stream created; the identity is another one then. What a query asks is
// mirrored here in atomics.
#ifndef STREAMPOOL_SIMCUDA_QUEUE_STREAM_H
#define STREAMPOOL_SIMCUDA_QUEUE_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "driver/abi.h"
#include "simcuda/common/slab.h"

struct sim_context;
struct sim_queue;
struct sim_thread;

struct sim_stream {
    struct sim_slab_element element; // its identity is the stream's id
    struct sim_context *_Atomic context;
    _Atomic unsigned flags;
    _Atomic int capture_status;
    struct sim_queue *queue;
    uint64_t number; // stays while the element is free
};

void sim_stream_start(void);
void sim_stream_reset(void);

// Says whether a null stream is the thread's own default stream, and not the legacy one, in the
// call that the thread is in (thread_form.h).
extern _Thread_local bool sim_null_stream_is_own;

static inline int sim_stream_is_default(CUstream handle) {
    return !handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
}

// Null when there is no such stream; never for a default stream. Needs no lock.
struct sim_stream *sim_stream_find(CUstream handle);

CUresult sim_stream_create(struct sim_context *context, unsigned flags, CUstream *handle);
// The handle is free at once; the work goes on.
void sim_stream_destroy(struct sim_stream *stream);
// The stream of a queue is gone: it leaves its capture; its work goes on.
void sim_stream_retire(struct sim_queue *queue);
// Ends all streams of a context that are not default streams.
void sim_stream_destroy_all(struct sim_context *context);
// Ends the default streams of a thread. The work that it left there still completes.
void sim_stream_end_thread(const struct sim_thread *thread);

// The queue behind a handle, a default stream's of the current context. Reports a stream that does
// not exist, and returns the sticky error of the context if it has one.
CUresult sim_stream_queue(CUstream handle, struct sim_queue **queue);

// Finds the queue without a report: null where the stream does not exist, or has no healthy
// context.
struct sim_queue *sim_stream_look(CUstream handle);

uint64_t sim_stream_count(void);

// Returns the live stream that comes after another one: for null the first, after the last one
// null.
struct sim_stream *sim_stream_next(const struct sim_stream *stream);

#endif
