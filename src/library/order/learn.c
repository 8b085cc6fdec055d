#include "order/learn.h"

#include "order/identity.h"
#include "order/private_event.h"
#include "order/said.h"

void sp_learn_copy_clock(struct sp_stream *stream, struct sp_clock *clock) {
    sp_lock_acquire(&stream->lock);
    sp_clock_copy(clock, &stream->clock);
    sp_lock_release(&stream->lock);
}

static void join_locked(struct sp_stream *stream, struct sp_fence fence) {
    sp_clock_prune(&stream->clock, sp_progress_is_past);
    sp_clock_raise(&stream->clock, fence);
    stream->clock_version++;
}

void sp_learn_join(struct sp_stream *stream, struct sp_fence fence) {
    sp_lock_acquire(&stream->lock);
    join_locked(stream, fence);
    sp_lock_release(&stream->lock);
}

// Joins what the mark says, and hears of it.
static void learn_mark(struct sp_stream *stream, struct sp_mark *mark, struct sp_fence fence) {
    sp_lock_acquire(&stream->lock);
    join_locked(stream, fence);
    sp_clock_join(&stream->clock, &mark->clock);
    struct sp_mark *before = sp_said_hear_locked(stream, mark);
    sp_lock_release(&stream->lock);
    sp_mark_release(before);
}

static struct sp_outcome wait_for_event(const struct sp_stream *stream, CUevent event) {
    if (sp_private_event_needs_no_mode(stream))
        return sp_private_event_wait(stream->handle, event);
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    struct sp_outcome outcome = sp_private_event_wait(stream->handle, event);
    sp_capture_mode_restore(mode);
    return outcome;
}

struct sp_outcome sp_learn_wait_mark(struct sp_stream *stream, struct sp_mark *mark) {
    struct sp_fence fence = {mark->stream->slot, mark->sequence};
    if (sp_mark_is_own(stream, mark))
        return sp_outcome_done();
    struct sp_outcome outcome = wait_for_event(stream, mark->event);
    if (sp_is_done(outcome))
        outcome = sp_identity_of(stream)->after_wait(stream);
    if (sp_is_done(outcome))
        learn_mark(stream, mark, fence);
    return outcome;
}

// `ordered_until` is what the stream's clock tells of the fence's stream.
static bool knows(const struct sp_stream *stream, struct sp_fence fence, uint64_t ordered_until) {
    return fence.sequence <= ordered_until ||
           (fence.slot == stream->slot && fence.sequence >= stream->first) ||
           sp_progress_is_past(fence);
}

static bool knows_all_locked(const struct sp_stream *stream, const struct sp_clock *clock) {
    struct sp_clock_walk walk = {.clock = &stream->clock};
    for (uint32_t i = 0; i < clock->count; i++) {
        struct sp_fence fence = clock->entries[i];
        if (!knows(stream, fence, sp_clock_walk_to(&walk, fence.slot)))
            return false;
    }
    return true;
}

// A number of the mark's own stream says nothing that its latest free before it doesn't.
bool sp_learn_knows(struct sp_stream *stream, const struct sp_mark *mark) {
    struct sp_fence freed = {mark->stream->slot, mark->freed};
    if (sp_mark_is_own(stream, mark))
        return true;
    sp_lock_acquire(&stream->lock);
    bool knows_it = knows(stream, freed, sp_clock_at(&stream->clock, freed.slot)) &&
                    knows_all_locked(stream, &mark->clock);
    sp_lock_release(&stream->lock);
    return knows_it;
}

// Where nothing can be waited for any more, the work may have been found complete while no pool
// went by synchronises alone, as the taker's pool does by now.
static struct sp_outcome wait_unmarked(struct sp_stream *stream, struct sp_fence fence) {
    if (sp_progress_is_past(fence))
        return sp_outcome_done();
    struct sp_outcome outcome = sp_identity_of(stream)->wait_unmarked(stream, fence);
    bool was_complete = outcome.cause == SP_NO_EVENT && sp_progress_is_complete(fence);
    return was_complete ? sp_outcome_done() : outcome;
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
