// Anonymous streams: what stands in for ids where the driver has none, which is before CUDA 12.0.
//
// A name, made of context id, handle and, for a per-thread stream, host thread, stands for a stream
// and for every later stream with its handle. All that they free is *chained* through one event:
// each free makes the stream wait for the event's last record and records it anew. So the event
// stands behind every free there ever was under the name, and a stream that takes memory under the
// name waits for it first. On one and the same stream such a wait costs nothing, on a recycled
// handle it is what is right.
//
// A context's id is that of its sentinel: see order/sentinel.h.
#include "order/anonymous.h"

#include "order/context.h"
#include "order/identity.h"
#include "order/learn.h"
#include "order/mark.h"
#include "order/meet.h"
#include "order/poll.h"
#include "order/private_event.h"
#include "order/remember.h"
#include "order/sentinel.h"
#include "order/synchronize.h"
#include "order/turn.h"

// ------------------------------------------------------------------------------------------- names

// A number for the calling host thread that is never used again.
static uint64_t thread_number(void) {
    static _Atomic uint64_t last;
    static _Thread_local uint64_t number;
    if (number == 0)
        number = atomic_fetch_add(&last, 1) + 1;
    return number;
}

static CUresult name_of(CUstream handle, struct sp_stream_name *name) {
    CUcontext context = NULL;
    CUresult error = sp_stream_find_context(handle, &context);
    if (error == CUDA_SUCCESS)
        error = sp_context_id(context, &name->word[0]);
    name->word[1] = (uint64_t)(uintptr_t)sp_stream_proper_handle(handle);
    name->word[2] = handle == CU_STREAM_PER_THREAD ? thread_number() : 0;
    return error;
}

static CUresult resolve(CUstream handle, struct sp_stream **stream) {
    struct sp_stream_name name;
    CUresult error = name_of(handle, &name);
    if (error != CUDA_SUCCESS)
        return error;
    *stream = *sp_remember_entry(&name);
    return *stream && sp_stream_has_name(*stream, &name) ? CUDA_SUCCESS
                                                         : sp_meet_stream(handle, &name, stream);
}

// A name under which there ever was a non-blocking stream counts as one: a fence doesn't say which
// stream it was.
static CUresult look_at_kind(struct sp_stream *stream) {
    unsigned int flags = 0;
    if (sp_stream_kind_of(stream) != SP_STREAM_BLOCKING)
        return CUDA_SUCCESS;
    CUresult error =
        sp_native_noted(sp_driver->cuStreamGetFlags(stream->handle, &flags), "cuStreamGetFlags");
    if (error == CUDA_SUCCESS && flags & CU_STREAM_NON_BLOCKING)
        atomic_store(&stream->kind, SP_STREAM_NON_BLOCKING);
    return error;
}

// --------------------------------------------------------------------------------------- the chain

static struct sp_stream_chain chain_of(struct sp_stream *stream) {
    sp_lock_acquire(&stream->lock);
    struct sp_stream_chain chain = stream->chain;
    sp_lock_release(&stream->lock);
    return chain;
}

// The first caller makes the event.
static CUresult chain_event(struct sp_stream *stream, CUevent *event) {
    *event = chain_of(stream).event;
    if (*event)
        return CUDA_SUCCESS;
    CUevent made = NULL;
    CUresult error = sp_private_event_create(stream, &made);
    if (error != CUDA_SUCCESS)
        return error;
    sp_lock_acquire(&stream->lock);
    if (!stream->chain.event)
        stream->chain.event = made;
    *event = stream->chain.event;
    sp_lock_release(&stream->lock);
    if (*event != made)
        sp_private_event_destroy(made);
    return CUDA_SUCCESS;
}

// Puts all work of the stream so far in front of its chain's end, and tells the number that this
// closed.
static CUresult extend_chain(struct sp_stream *stream, uint64_t *closed) {
    CUevent event = NULL;
    CUresult error = look_at_kind(stream);
    if (error == CUDA_SUCCESS)
        error = chain_event(stream, &event);
    if (error != CUDA_SUCCESS)
        return error;
    *closed = sp_progress_close(stream);
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    error = sp_private_event_wait(stream->handle, event);
    if (error == CUDA_SUCCESS)
        error = sp_private_event_record(event, stream->handle);
    sp_capture_mode_restore(mode);
    if (error != CUDA_SUCCESS)
        return error;
    sp_lock_acquire(&stream->lock);
    if (stream->chain.sequence < *closed)
        stream->chain.sequence = *closed;
    stream->chain.orphaned = false;
    sp_progress_set_recorded_locked(stream, *closed);
    sp_lock_release(&stream->lock);
    sp_turn_joined(stream);
    return CUDA_SUCCESS;
}

static CUresult note_freed(struct sp_stream *stream, uint64_t *sequence) {
    CUresult error = extend_chain(stream, sequence);
    if (error == CUDA_SUCCESS)
        sp_raise(&stream->freed, *sequence);
    return error;
}

// The wait is an action of the stream. What is complete needs none.
static CUresult before_reuse(struct sp_stream *stream) {
    CUresult error = look_at_kind(stream);
    if (error != CUDA_SUCCESS)
        return error;
    struct sp_stream_chain chain = chain_of(stream);
    bool is_pending = chain.event && chain.sequence > sp_progress_completed(stream);
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    error = is_pending ? sp_private_event_wait(stream->handle, chain.event) : CUDA_SUCCESS;
    sp_capture_mode_restore(mode);
    if (error == CUDA_SUCCESS)
        sp_raise(&stream->acted, chain.sequence);
    return error;
}

// An event that didn't wait for the chain would say nothing of the frees of earlier streams with
// the handle.
static CUresult before_record(struct sp_stream *stream) {
    CUevent event = chain_of(stream).event;
    return event ? sp_private_event_wait(stream->handle, event) : CUDA_SUCCESS;
}

static CUresult act(struct sp_stream *stream, enum sp_debt debt) {
    (void)debt;
    uint64_t closed;
    CUresult error = extend_chain(stream, &closed);
    return error == CUDA_SUCCESS ? before_reuse(stream) : error;
}

static void set_destroyed(struct sp_stream *stream, uint64_t word) {
    (void)word;
    sp_lock_acquire(&stream->lock);
    stream->chain.orphaned = true;
    sp_lock_release(&stream->lock);
}

// ----------------------------------------------------------------------------------------- waiting

// The order that a stream has learned is not true of a later stream with its handle, but for what
// stands before the last record of its chain, which that one will wait for.
static CUresult after_wait(struct sp_stream *stream) {
    uint64_t closed;
    return extend_chain(stream, &closed);
}

// The chain covers every free that there was when it was recorded last, of whichever stream with
// the handle.
static CUresult wait_unmarked(struct sp_stream *stream, struct sp_fence fence) {
    struct sp_stream_chain chain = chain_of(sp_stream_at(fence.slot));
    if (!chain.event || chain.sequence < fence.sequence)
        return CUDA_ERROR_NOT_FOUND;
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    CUresult error = sp_private_event_wait(stream->handle, chain.event);
    sp_capture_mode_restore(mode);
    if (error == CUDA_SUCCESS)
        error = after_wait(stream);
    if (error == CUDA_SUCCESS)
        sp_learn_join(stream, (struct sp_fence){fence.slot, chain.sequence}, NULL);
    return error;
}

// ------------------------------------------------------------------------------------------ asking

static CUresult poll_unmarked(struct sp_stream *stream) {
    bool complete = false;
    struct sp_stream_chain chain = chain_of(stream);
    if (!chain.event || chain.sequence <= sp_progress_completed(stream))
        return CUDA_SUCCESS;
    CUresult error = sp_private_event_query(chain.event, &complete);
    if (complete)
        sp_progress_publish(stream, chain.sequence, SP_FOUND);
    return error;
}

uint64_t sp_anonymous_chain_end(struct sp_stream *stream) {
    struct sp_stream_chain chain = chain_of(stream);
    return chain.orphaned ? 0 : chain.sequence;
}

CUresult sp_anonymous_confirm(struct sp_stream *stream, uint64_t sequence) {
    bool complete = false;
    CUevent chain = chain_of(stream).event;
    if (!chain || sp_progress_is_synchronized((struct sp_fence){stream->slot, sequence}))
        return CUDA_SUCCESS;
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    CUresult error = sp_private_event_query(chain, &complete);
    sp_capture_mode_restore(mode);
    if (complete)
        sp_progress_publish(stream, sequence, SP_SYNCHRONIZED);
    return error;
}

// Waits for the chain, as a synchronise waits. Another thread may have recorded the chain anew:
// then this waits for that, too.
static CUresult await_chain(struct sp_stream *stream, uint64_t sequence) {
    CUresult error = sp_anonymous_confirm(stream, sequence);
    CUevent chain = chain_of(stream).event;
    if (error != CUDA_SUCCESS || !chain ||
        sp_progress_is_synchronized((struct sp_fence){stream->slot, sequence}))
        return error;
    error = sp_private_event_await(chain);
    return error == CUDA_SUCCESS ? sp_anonymous_confirm(stream, sequence) : error;
}

// A synchronise says nothing about the work of an earlier stream with the same handle; the chain
// does, and is asked. Where the same stream made the chain's last record the answer is certain, so
// what it shows is what the synchronise has shown.
static CUresult synchronize(struct sp_stream *stream, CUstream handle) {
    uint64_t end = sp_anonymous_chain_end(stream);
    CUresult error = sp_native_noted(sp_driver->cuStreamSynchronize(handle), "cuStreamSynchronize");
    if (error != CUDA_SUCCESS)
        return error;
    error = sp_stream_kind_of(stream) == SP_STREAM_BLOCKING ? await_chain(stream, end)
                                                            : sp_anonymous_confirm(stream, end);
    sp_poll_stream(stream);
    sp_mark_trim_spares(stream);
    return error;
}

// A blocking stream's own answer says nothing of the legacy stream's work that its frees come
// behind: see order/synchronize.h.
static bool has_pending_frees(const struct sp_stream *stream) {
    return sp_stream_kind_of(stream) == SP_STREAM_BLOCKING &&
           sp_progress_has_pending_events(stream);
}

static CUresult query(struct sp_stream *stream, CUstream handle) {
    CUresult error = sp_driver->cuStreamQuery(handle);
    if (error == CUDA_SUCCESS)
        error = sp_poll_stream(stream);
    for (int i = 0; i < SP_SYNCHRONIZE_QUESTIONS && error == CUDA_SUCCESS; i++) {
        if (!has_pending_frees(stream))
            return CUDA_SUCCESS;
        error = sp_poll_stream(stream);
    }
    return error == CUDA_SUCCESS && has_pending_frees(stream) ? CUDA_ERROR_NOT_READY : error;
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
    .context_id = sp_sentinel_id,
    .known_context_id = sp_sentinel_known_id,
    .context_is_gone = sp_sentinel_is_gone,
};
