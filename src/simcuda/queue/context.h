// Contexts are the primary one of each device, and those that cuCtxCreate makes. A context owns its
// queues (and with them its streams), its events, its allocations (device and pinned host memory)
// and its modules; memory of the virtual memory calls belongs to none.
//
// A context's handle is the address of its struct, which stays readable when the context is gone.
// The primary context of a device has the same handle in every incarnation; the identity tells them
// apart.
#ifndef STREAMPOOL_SIMCUDA_QUEUE_CONTEXT_H
#define STREAMPOOL_SIMCUDA_QUEUE_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <streampool/simcuda.h>

#include "base/list.h"
#include "driver/abi.h"
#include "simcuda/common/slab.h"
#include "simcuda/common/thread.h"
#include "simcuda/queue/setting.h"

struct sim_context {
    struct sim_slab_element element; // its identity is the context's
    // Queries read this and the two below with no lock.
    _Atomic uint64_t legacy_stream_id;
    _Atomic int device;
    _Atomic bool is_primary;
    uint64_t retained; // of a primary context
    struct sp_list queues;
    struct sim_queue *legacy;
    // cuCtxRecordEvent adds its records to this queue, which no stream is ordered after; null until
    // needed.
    struct sim_queue *recorder;
    // These hold what was done in queues that are gone: in any, and in blocking ones, which the
    // legacy stream runs after.
    struct sim_clock *departed;
    struct sim_clock *departed_blocking;
    struct sp_list link;           // among the live contexts
    _Atomic int blocking_captures; // queues of this context that are blocking and capture
    struct sim_settings settings;
    unsigned peers[SIMCUDA_MAX_DEVICES]; // peer.h
};

void sim_context_start(void);
// No context is alive any more.
void sim_context_reset(void);

static inline uint64_t sim_context_identity(const struct sim_context *context) {
    return atomic_load_explicit(&context->element.identity, memory_order_acquire);
}

// Returns the live context of a handle, null when there is none. Needs no lock.
struct sim_context *sim_context_find(CUcontext handle);

// Returns whether the handle is or was that of a context.
bool sim_context_is_known(CUcontext handle);
// Finds the live context that a call names. INVALID_CONTEXT when there is none; a handle of one
// that was destroyed, or of none, is reported.
CUresult sim_context_named(CUcontext handle, struct sim_context **context);

CUcontext sim_context_handle(const struct sim_context *context);

// Returns the live context that comes after another one: for null the first, after the last one
// null.
struct sim_context *sim_context_next(const struct sim_context *context);

CUresult sim_context_create(int device, unsigned flags, struct sim_context **context);
CUresult sim_context_retain_primary(int device, struct sim_context **context);
// Ends a context with its queues; nothing else belongs to it any more, and none captures
// (context_end.h).
void sim_context_remove(struct sim_context *context);
// Returns the primary context of a device; null while it is not alive.
struct sim_context *sim_context_primary(int device);
// The flags of a device's primary context, which it has or will begin with.
unsigned sim_context_primary_flags(int device);
void sim_context_set_primary_flags(int device, unsigned flags);

// These set and tell which context is current in a thread. Only the thread itself uses its stack of
// current contexts, so they need no lock.
CUresult sim_context_push(struct sim_thread *thread, struct sim_context *context);
CUresult sim_context_pop(struct sim_thread *thread, CUcontext *context);
CUresult sim_context_set_current(struct sim_thread *thread, struct sim_context *context);
CUcontext sim_context_current_handle(const struct sim_thread *thread);
// Finds the current context. INVALID_CONTEXT when none is current, CONTEXT_IS_DESTROYED when it is
// gone.
CUresult sim_context_current(const struct sim_thread *thread, struct sim_context **context);
// Finds the calling thread's current context for a call that a fault's error forbids.
CUresult sim_context_current_healthy(struct sim_context **context);

// A fault's error, CUDA_SUCCESS while all is well. As seen on an H200: every context of the device
// has it, none can be made any more, and a reset mends nothing. Neither call needs a lock.
CUresult sim_context_error(const struct sim_context *context);
void sim_context_fail(const struct sim_context *context, CUresult error);

uint64_t sim_context_count(void);

#endif
