#include "order/learn.h"

#include "order/identity.h"
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

struct sp_outcome sp_learn_wait_mark(struct sp_stream *stream, struct sp_mark *mark) {
    struct sp_fence fence = {mark->stream->slot, mark->sequence};
    if (mark->stream == stream)
        return sp_outcome_done();
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    struct sp_outcome outcome = sp_private_event_wait(stream->handle, mark->event);
    sp_capture_mode_restore(mode);
    if (sp_is_done(outcome))
        outcome = sp_identity_of(stream)->after_wait(stream);
    if (sp_is_done(outcome))
        sp_learn_join(stream, fence, &mark->clock);
    return outcome;
}

static struct sp_outcome wait_unmarked(struct sp_stream *stream, struct sp_fence fence) {
    return sp_progress_is_past(fence) ? sp_outcome_done()
                                      : sp_identity_of(stream)->wait_unmarked(stream, fence);
}

struct sp_outcome sp_learn_wait_fence(struct sp_stream *stream, struct sp_fence fence) {
    struct sp_stream *owner = sp_stream_at(fence.slot);
    struct sp_mark *mark = sp_mark_covering(owner, fence.sequence);
    if (!mark)
        return wait_unmarked(stream, fence);
    struct sp_outcome outcome = sp_learn_wait_mark(stream, mark);
    sp_mark_release(mark);
    return outcome;
}
