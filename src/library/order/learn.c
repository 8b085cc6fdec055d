#include "order/learn.h"

#include "order/chain.h"
#include "order/private_event.h"

void sp_learn_copy_clock(struct sp_stream *stream, struct sp_clock *clock) {
    sp_lock_acquire(&stream->lock);
    sp_clock_copy(clock, &stream->clock);
    sp_lock_release(&stream->lock);
}

void sp_learn_join(struct sp_stream *stream, struct sp_fence fence, const struct sp_clock *clock) {
    sp_lock_acquire(&stream->lock);
    sp_clock_prune(&stream->clock, sp_progress_is_past);
    sp_clock_raise(&stream->clock, fence);
    if (clock)
        sp_clock_join(&stream->clock, clock);
    stream->clock_version++;
    sp_lock_release(&stream->lock);
}

// What an anonymous stream is ordered behind is not true of a later stream with its handle, but for
// what stands before the last record of its chain, which that one will wait for.
static CUresult cover_join(struct sp_stream *stream) {
    uint64_t closed;
    return stream->identified ? CUDA_SUCCESS : sp_stream_extend_chain(stream, &closed);
}

CUresult sp_learn_wait_mark(struct sp_stream *stream, struct sp_mark *mark) {
    struct sp_fence fence = {mark->stream->slot, mark->sequence};
    if (mark->stream == stream)
        return CUDA_SUCCESS;
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    CUresult error = sp_private_event_wait(stream->handle, mark->event);
    sp_capture_mode_restore(mode);
    if (error == CUDA_SUCCESS)
        error = cover_join(stream);
    if (error == CUDA_SUCCESS)
        sp_learn_join(stream, fence, &mark->clock);
    return error;
}

// The chain covers every free that there was when it was recorded last, of whichever stream with
// the handle.
static CUresult wait_for_chain(struct sp_stream *stream, struct sp_stream *owner,
                               uint64_t sequence) {
    sp_lock_acquire(&owner->lock);
    CUevent chain = owner->chain_sequence >= sequence ? owner->chain : NULL;
    uint64_t covered = owner->chain_sequence;
    sp_lock_release(&owner->lock);
    if (!chain)
        return CUDA_ERROR_NOT_FOUND;
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    CUresult error = sp_private_event_wait(stream->handle, chain);
    sp_capture_mode_restore(mode);
    if (error == CUDA_SUCCESS)
        error = cover_join(stream);
    if (error == CUDA_SUCCESS)
        sp_learn_join(stream, (struct sp_fence){owner->slot, covered}, NULL);
    return error;
}

CUresult sp_learn_wait_fence(struct sp_stream *stream, struct sp_fence fence) {
    struct sp_stream *owner = sp_stream_at(fence.slot);
    struct sp_mark *mark = sp_mark_covering(owner, fence.sequence);
    if (!mark)
        return sp_progress_is_complete(fence) ? CUDA_SUCCESS
                                              : wait_for_chain(stream, owner, fence.sequence);
    CUresult error = sp_learn_wait_mark(stream, mark);
    sp_mark_release(mark);
    return error;
}
