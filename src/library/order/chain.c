#include "order/chain.h"

#include "order/private_event.h"
#include "order/turn.h"

// The chain of an anonymous stream: see the top of stream.h. The first caller makes the event.
static CUresult chain_event(struct sp_stream *stream, CUevent *event) {
    sp_lock_acquire(&stream->lock);
    *event = stream->chain;
    sp_lock_release(&stream->lock);
    if (*event)
        return CUDA_SUCCESS;
    CUevent made = NULL;
    CUresult error = sp_private_event_create(stream, &made);
    if (error != CUDA_SUCCESS)
        return error;
    sp_lock_acquire(&stream->lock);
    if (!stream->chain)
        stream->chain = made;
    *event = stream->chain;
    sp_lock_release(&stream->lock);
    if (*event != made)
        sp_private_event_destroy(made);
    return CUDA_SUCCESS;
}

// A name under which there ever was a non-blocking stream counts as one: a fence doesn't say which
// stream it was.
static CUresult look_at_kind(struct sp_stream *stream) {
    unsigned int flags = 0;
    if (atomic_load_explicit(&stream->kind, memory_order_relaxed) != SP_STREAM_BLOCKING)
        return CUDA_SUCCESS;
    CUresult error =
        sp_native_noted(sp_driver->cuStreamGetFlags(stream->handle, &flags), "cuStreamGetFlags");
    if (error == CUDA_SUCCESS && flags & CU_STREAM_NON_BLOCKING)
        atomic_store(&stream->kind, SP_STREAM_NON_BLOCKING);
    return error;
}

CUresult sp_stream_extend_chain(struct sp_stream *stream, uint64_t *closed) {
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
    if (stream->chain_sequence < *closed)
        stream->chain_sequence = *closed;
    stream->chain_orphaned = false;
    sp_progress_set_recorded_locked(stream, *closed);
    sp_lock_release(&stream->lock);
    sp_turn_joined(stream);
    return CUDA_SUCCESS;
}

CUresult sp_stream_note_freed(struct sp_stream *stream, uint64_t *sequence) {
    CUresult error = stream->identified ? CUDA_SUCCESS : sp_stream_extend_chain(stream, sequence);
    if (error == CUDA_SUCCESS)
        sp_number_raise(&stream->freed, *sequence);
    return error;
}

CUresult sp_stream_order_behind_chain(struct sp_stream *stream) {
    CUresult error = look_at_kind(stream);
    if (error != CUDA_SUCCESS)
        return error;
    sp_lock_acquire(&stream->lock);
    uint64_t sequence = stream->chain_sequence;
    CUevent event = sequence > sp_progress_completed(stream) ? stream->chain : NULL;
    sp_lock_release(&stream->lock);
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    error = event ? sp_private_event_wait(stream->handle, event) : CUDA_SUCCESS;
    sp_capture_mode_restore(mode);
    if (error == CUDA_SUCCESS)
        sp_number_raise(&stream->acted, sequence); // what is complete needs no action
    return error;
}

uint64_t sp_anonymous_chain_end(struct sp_stream *stream) {
    sp_lock_acquire(&stream->lock);
    uint64_t end = stream->chain_orphaned ? 0 : stream->chain_sequence;
    sp_lock_release(&stream->lock);
    return end;
}

void sp_stream_orphan_chain(struct sp_stream *stream) {
    sp_lock_acquire(&stream->lock);
    stream->chain_orphaned = true;
    sp_lock_release(&stream->lock);
}
