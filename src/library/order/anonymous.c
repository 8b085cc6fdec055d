// Anonymous streams: what stands in for ids where the driver has none, which is before CUDA 12.0.
//
// A name, made of context id, handle and, for a per-thread stream, host thread, stands for a stream
// and for every later stream with its handle. All that they free is *chained* through one event:
// each free makes the stream wait for the event's last record and records it anew. So the event
// stands behind every free there ever was under the name, and a stream that takes memory under the
// name waits for it first. On one and the same stream such a wait costs nothing.
//
// A context's id is that of its *sentinel*: a few bytes of pinned host memory that the library
// allocates in a context when it first meets one of its streams. They belong to the context and go
// with it. The driver numbers its allocations (the attribute CU_POINTER_ATTRIBUTE_BUFFER_ID) and no
// number comes back, though handles and addresses do: so the sentinel's number is the context's id.
// While the driver has that number for the address, the context is alive. When it has another one,
// or knows no such memory, the context is gone. Any other answer tells nothing. The question costs
// 26 ns on an H200, needs no current context, and does no harm whatever has become of the memory.
// Looking a sentinel up takes no lock, and no lock is held across a driver call.
#include "base/number.h"
#include "base/thread.h"
#include "order/context.h"
#include "order/identity.h"
#include "order/mark.h"
#include "order/poll.h"
#include "order/resolve.h"

#include <stdlib.h>

// --------------------------------------------------------------------------------------- sentinels

enum { SENTINEL_SIZE = 64 };

struct sp_sentinels sp_sentinels;

static struct sp_sentinel *_Atomic *bucket_of(CUcontext context) {
    return &sp_sentinels.buckets[sp_hash((uintptr_t)context) % SP_SENTINEL_BUCKETS];
}

static struct sp_sentinel *find_sentinel(CUcontext context) {
    struct sp_sentinel *sentinel = sp_load_acquire(bucket_of(context));
    while (sentinel && sentinel->context != context)
        sentinel = sentinel->next;
    return sentinel;
}

// Puts the memory into the place of the sentinel with the id `before` (0: there was none). When
// another thread was faster, its id is the context's, and the memory stays the caller's.
static struct sp_outcome keep(CUcontext context, uint64_t before, void **memory, uint64_t *id) {
    sp_lock_acquire(&sp_sentinels.lock);
    struct sp_sentinel *sentinel = find_sentinel(context);
    if (!sentinel && (sentinel = calloc(1, sizeof *sentinel))) {
        sentinel->context = context; // its id is 0 as yet
        sentinel->next = *bucket_of(context);
        sp_store_release(bucket_of(context), sentinel);
    }
    uint64_t now = sentinel ? sp_load_relaxed(&sentinel->id) : 0;
    if (sentinel && now == before) {
        sp_store_relaxed(&sentinel->memory, *memory);
        sp_store_release(&sentinel->id, *id);
        *memory = NULL;
    } else {
        *id = now;
    }
    sp_lock_release(&sp_sentinels.lock);
    return sentinel ? sp_outcome_done() : sp_outcome_of(SP_NO_HOST_MEMORY);
}

// Tells the number of the allocation at an address, 0 when there is none.
static struct sp_outcome number_of(void *memory, uint64_t *id) {
    unsigned long long value = 0;
    CUresult code = sp_driver->cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                                     (CUdeviceptr)(uintptr_t)memory);
    *id = code == CUDA_SUCCESS ? value : 0;
    return code == CUDA_ERROR_INVALID_VALUE ? sp_outcome_done()
                                            : sp_outcome_of_code(code, "cuPointerGetAttribute");
}

// Tells the id of the latest context that is known at a handle, 0 for none, and whether it is
// alive.
static struct sp_outcome look_at(CUcontext context, uint64_t *id, bool *alive) {
    uint64_t now = 0;
    const struct sp_sentinel *sentinel = find_sentinel(context);
    *id = sentinel ? sp_load_acquire(&sentinel->id) : 0;
    *alive = *id != 0;
    if (*id == 0)
        return sp_outcome_done();
    struct sp_outcome outcome = number_of(sp_load_relaxed(&sentinel->memory), &now);
    *alive = now == *id;
    return outcome;
}

// The first time, and when the handle stood for another context before, that gets a sentinel, and
// the driver may wait for work of the device.
static struct sp_outcome context_id(CUcontext context, uint64_t *id) {
    bool alive;
    void *memory = NULL;
    struct sp_outcome outcome = look_at(context, id, &alive);
    uint64_t before = *id;
    if (sp_is_done(outcome) && !alive)
        outcome = sp_context_enter(context);
    if (!sp_is_done(outcome) || alive)
        return outcome;
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    outcome = sp_outcome_of_driver(sp_driver->cuMemHostAlloc(&memory, SENTINEL_SIZE, 0),
                                   "cuMemHostAlloc");
    if (sp_is_done(outcome))
        outcome = number_of(memory, id);
    if (sp_is_done(outcome))
        outcome = *id ? keep(context, before, &memory, id) : sp_outcome_of(SP_NOT_SUPPORTED);
    if (memory)
        (void)sp_outcome_of_driver(sp_driver->cuMemFreeHost(memory), "cuMemFreeHost");
    sp_capture_mode_restore(mode);
    sp_context_leave();
    return outcome;
}

// A context that has no sentinel has no stream that is known.
static struct sp_outcome known_context_id(CUcontext context, uint64_t *id) {
    bool alive;
    struct sp_outcome outcome = look_at(context, id, &alive);
    if (!alive)
        *id = 0;
    return outcome;
}

// A sentinel that has taken its place shows as well that a context is gone.
static bool context_is_gone(CUcontext context, uint64_t id) {
    uint64_t latest;
    bool alive;
    return sp_is_done(look_at(context, &latest, &alive)) && (latest != id || !alive);
}

// ------------------------------------------------------------------------------------------- names

static struct sp_outcome resolve(CUstream handle, struct sp_stream **stream) {
    struct sp_stream_name name;
    CUcontext context = NULL;
    struct sp_outcome outcome = sp_context_of_stream(handle, &context);
    if (sp_is_done(outcome))
        outcome = sp_context_id(context, &name.word[0]);
    if (!sp_is_done(outcome))
        return outcome;
    name.word[1] = (uint64_t)(uintptr_t)sp_stream_proper_handle(handle);
    name.word[2] = handle == CU_STREAM_PER_THREAD ? sp_thread_number() : 0;
    *stream = sp_stream_cache->by_name[sp_stream_cache_place(&name)];
    return *stream && sp_stream_has_name(*stream, &name) ? sp_outcome_done()
                                                         : sp_resolve_name(handle, &name, stream);
}

// A name of which any stream was non-blocking counts as one: a fence doesn't say which it was.
static struct sp_outcome look_at_kind(struct sp_stream *stream) {
    unsigned int flags = 0;
    if (sp_stream_kind_of(stream) != SP_STREAM_BLOCKING)
        return sp_outcome_done();
    struct sp_outcome outcome = sp_outcome_of_driver(
        sp_driver->cuStreamGetFlags(stream->handle, &flags), "cuStreamGetFlags");
    if (sp_is_done(outcome) && flags & CU_STREAM_NON_BLOCKING)
        atomic_store(&stream->kind, SP_STREAM_NON_BLOCKING);
    return outcome;
}

// --------------------------------------------------------------------------------------- the chain

// The end of the stream's chain, as a mark with no clock, and no event until something was freed.
static struct sp_mark end_of_chain(struct sp_stream *stream) {
    sp_lock_acquire(&stream->lock);
    struct sp_mark end = {.event = sp_load_acquire(&stream->event),
                          .stream = stream,
                          .sequence = stream->chain.sequence};
    sp_lock_release(&stream->lock);
    return end;
}

// Puts all work of the stream so far in front of its chain's end. Tells the number that it closed.
static struct sp_outcome extend_chain(struct sp_stream *stream, uint64_t *closed) {
    CUevent event = NULL;
    struct sp_outcome outcome = look_at_kind(stream);
    if (sp_is_done(outcome))
        outcome = sp_private_event_of(stream, &event);
    if (!sp_is_done(outcome))
        return outcome;
    *closed = sp_progress_close(stream);
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    outcome = sp_private_event_wait(stream->handle, event);
    if (sp_is_done(outcome))
        outcome = sp_private_event_record(event, stream->handle);
    sp_capture_mode_restore(mode);
    if (!sp_is_done(outcome))
        return outcome;
    sp_lock_acquire(&stream->lock);
    if (stream->chain.sequence < *closed)
        stream->chain.sequence = *closed;
    stream->chain.orphaned = false;
    sp_progress_set_recorded_locked(stream, *closed);
    sp_lock_release(&stream->lock);
    sp_progress_join_queue(stream);
    return sp_outcome_done();
}

static struct sp_outcome note_freed(struct sp_stream *stream, uint64_t *sequence) {
    struct sp_outcome outcome = extend_chain(stream, sequence);
    if (sp_is_done(outcome))
        sp_atomic_raise(&stream->freed, *sequence);
    return outcome;
}

// The wait is an action of the stream. What is complete needs none.
static struct sp_outcome before_reuse(struct sp_stream *stream) {
    struct sp_outcome outcome = look_at_kind(stream);
    if (!sp_is_done(outcome))
        return outcome;
    struct sp_mark end = end_of_chain(stream);
    if (end.event && !sp_mark_is_complete(&end))
        outcome = sp_private_event_wait_relaxed(stream, end.event);
    if (sp_is_done(outcome))
        sp_atomic_raise(&stream->acted, end.sequence);
    return outcome;
}

// Without the wait the record says nothing of the frees of earlier streams with the handle.
static struct sp_outcome before_record(struct sp_stream *stream) {
    CUevent event = sp_load_acquire(&stream->event);
    return event ? sp_private_event_wait(stream->handle, event) : sp_outcome_done();
}

static struct sp_outcome act(struct sp_stream *stream, enum sp_owed owed) {
    (void)owed;
    uint64_t closed;
    struct sp_outcome outcome = extend_chain(stream, &closed);
    return sp_is_done(outcome) ? before_reuse(stream) : outcome;
}

static void set_destroyed(struct sp_stream *stream, const struct sp_stream_name *name) {
    (void)name;
    sp_lock_acquire(&stream->lock);
    stream->chain.orphaned = true;
    sp_lock_release(&stream->lock);
}

// --------------------------------------------------------------------------------- waiting, asking

// The order that a stream has learned is not true of a later stream with its handle, but for what
// stands before the last record of its chain, which that one will wait for.
static struct sp_outcome after_wait(struct sp_stream *stream) {
    uint64_t closed;
    return extend_chain(stream, &closed);
}

// The chain covers every free before its last record, of whichever stream with the handle.
static struct sp_outcome wait_unmarked(struct sp_stream *stream, struct sp_fence fence) {
    struct sp_mark end = end_of_chain(sp_stream_at(fence.slot));
    if (!end.event || end.sequence < fence.sequence)
        return sp_outcome_of(SP_NO_EVENT);
    struct sp_outcome outcome = sp_private_event_wait_relaxed(stream, end.event);
    if (sp_is_done(outcome))
        outcome = after_wait(stream);
    if (sp_is_done(outcome))
        sp_progress_run_after(stream, (struct sp_fence){fence.slot, end.sequence});
    return outcome;
}

static struct sp_outcome poll_unmarked(struct sp_stream *stream) {
    struct sp_mark end = end_of_chain(stream);
    return end.event && !sp_mark_is_complete(&end) ? sp_poll_mark_relaxed(&end, SP_FOUND)
                                                   : sp_outcome_done();
}

uint64_t sp_anonymous_chain_end(struct sp_stream *stream) {
    sp_lock_acquire(&stream->lock);
    uint64_t end = stream->chain.orphaned ? 0 : stream->chain.sequence;
    sp_lock_release(&stream->lock);
    return end;
}

// Another thread may have recorded the chain anew: then that is asked, or waited for, too.
struct sp_outcome sp_anonymous_confirm(struct sp_stream *stream, uint64_t sequence, bool waits) {
    struct sp_mark end = end_of_chain(stream);
    end.sequence = sequence;
    if (!end.event || sp_progress_is_synchronized((struct sp_fence){stream->slot, sequence}))
        return sp_outcome_done();
    return waits ? sp_poll_await_mark(&end) : sp_poll_mark(&end, SP_SYNCHRONIZED);
}

// A synchronise says nothing about the work of an earlier stream with the handle; the chain does.
// Where the same stream made its last record, what it answers is what the synchronise has shown.
static struct sp_outcome synchronize(struct sp_stream *stream, CUstream handle) {
    uint64_t end = sp_anonymous_chain_end(stream);
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuStreamSynchronize(handle), "cuStreamSynchronize");
    if (!sp_is_done(outcome))
        return outcome;
    bool is_blocking = sp_stream_kind_of(stream) == SP_STREAM_BLOCKING;
    outcome = sp_anonymous_confirm(stream, end, is_blocking);
    sp_poll_stream(stream);
    sp_mark_trim_spares(stream);
    return outcome;
}

// A blocking stream's own answer says nothing of the legacy stream's work that its frees come
// behind: see order/poll.h.
static struct sp_outcome query(struct sp_stream *stream, CUstream handle, bool *complete) {
    struct sp_outcome outcome =
        sp_outcome_of_query(sp_driver->cuStreamQuery(handle), "cuStreamQuery", complete);
    if (!*complete)
        return outcome;
    *complete = false;
    for (int i = 0; i <= SP_SYNCHRONIZE_QUESTIONS && sp_is_done(outcome) && !*complete; i++) {
        outcome = sp_poll_stream(stream);
        *complete = sp_stream_kind_of(stream) != SP_STREAM_BLOCKING ||
                    !sp_progress_has_pending_events(stream);
    }
    return outcome;
}

const struct sp_identity sp_anonymous = {
    .resolve = resolve,
    .before_reuse = before_reuse,
    .note_freed = note_freed,
    .before_record = before_record,
    .after_wait = after_wait,
    .wait_unmarked = wait_unmarked,
    .poll_unmarked = poll_unmarked,
    .act = act,
    .synchronize = synchronize,
    .query = query,
    .set_destroyed = set_destroyed,
    .context_id = context_id,
    .known_context_id = known_context_id,
    .context_is_gone = context_is_gone,
};
