// Identified streams: drivers from CUDA 12.0 have an id for each stream and each context, which is
// never used again. A name stands for one stream, so what a call learns is true of it alone.
#include "order/context.h"
#include "order/identity.h"
#include "order/mark.h"
#include "order/poll.h"
#include "order/registry.h"

static struct sp_outcome context_id(CUcontext context, uint64_t *id) {
    unsigned long long value = 0;
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuCtxGetId(context, &value), "cuCtxGetId");
    *id = value;
    return outcome;
}

static bool context_is_gone(CUcontext context, uint64_t id) {
    unsigned long long now = 0;
    CUresult answer = sp_driver->cuCtxGetId(context, &now);
    return answer == CUDA_ERROR_CONTEXT_IS_DESTROYED || (answer == CUDA_SUCCESS && now != id);
}

// ------------------------------------------------------------------------------------------ acting

static struct sp_outcome act_by_record(struct sp_stream *stream) {
    CUevent event;
    struct sp_outcome outcome = sp_private_event_of(stream, &event);
    if (!sp_is_done(outcome))
        return outcome;
    uint64_t sequence = sp_progress_close(stream);
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    outcome = sp_private_event_record(event, stream->handle);
    sp_capture_mode_restore(mode);
    if (sp_is_done(outcome))
        sp_atomic_raise(&stream->acted, sequence);
    return outcome;
}

// There is no mark where all that could be marked is complete by now.
static struct sp_outcome act(struct sp_stream *stream, enum sp_owed owed) {
    struct sp_mark *mark = NULL;
    if (sp_stream_kind_of(stream) == SP_STREAM_LEGACY)
        return act_by_record(stream);
    struct sp_outcome outcome =
        owed == SP_OWED_OWN ? sp_mark_stream(stream, &mark) : sp_mark_anew(stream, false, &mark);
    if (!sp_is_done(outcome) || !mark)
        return outcome;
    outcome = sp_private_event_wait_relaxed(stream, mark->event);
    if (sp_is_done(outcome))
        sp_atomic_raise(&stream->acted, mark->sequence);
    sp_mark_release(mark);
    return outcome;
}

// --------------------------------------------------------------------------- synchronises, queries

// A view holds what there was of a stream when it was synchronised or queried. The mark stands
// behind all frees of a blocking stream; it is null where there is nothing to mark, or where none
// could be made.
struct view {
    uint64_t sequence;
    struct sp_fence_set clock;
    struct sp_mark *mark;
};

static void look_at(struct sp_stream *stream, struct view *view) {
    *view = (struct view){0};
    sp_progress_copy_clock(stream, &view->clock);
    view->sequence = sp_progress_close(stream);
}

static void close_view(struct view *view) {
    sp_fence_set_clear(&view->clock);
    sp_mark_release(view->mark);
}

static bool answers_for_itself_alone(const struct sp_stream *stream) {
    return sp_stream_kind_of(stream) == SP_STREAM_BLOCKING;
}

static void mark_frees(struct sp_stream *stream, struct view *view) {
    if (answers_for_itself_alone(stream))
        sp_mark_stream(stream, &view->mark);
}

// Publishes what the driver's answer alone has shown.
static void publish_answer(struct sp_stream *stream, const struct view *view,
                           enum sp_knowledge how) {
    sp_progress_publish_clock(&view->clock, how);
    if (!answers_for_itself_alone(stream))
        sp_progress_publish(stream, view->sequence, how);
}

// The mark comes first, and is waited for: so a synchronise waits for what stands before the frees,
// as it does behind CUDA's own.
static struct sp_outcome synchronize(struct sp_stream *stream, CUstream handle) {
    struct view view;
    look_at(stream, &view);
    mark_frees(stream, &view);
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuStreamSynchronize(handle), "cuStreamSynchronize");
    if (sp_is_done(outcome)) {
        publish_answer(stream, &view, SP_SYNCHRONIZED);
        if (view.mark)
            outcome = sp_poll_await_mark(view.mark);
        sp_mark_drop_passed(stream);
    }
    close_view(&view);
    return outcome;
}

// A stream whose own work is pending gets no mark; but where a pool goes by synchronises alone,
// what is recorded depends on no answer.
static struct sp_outcome query(struct sp_stream *stream, CUstream handle, bool *complete) {
    struct view view;
    look_at(stream, &view);
    struct sp_outcome outcome =
        sp_outcome_of_query(sp_driver->cuStreamQuery(handle), "cuStreamQuery", complete);
    if (*complete) {
        publish_answer(stream, &view, SP_FOUND);
        mark_frees(stream, &view);
        *complete = !view.mark || sp_mark_is_complete(view.mark);
        for (int i = 0; i < SP_SYNCHRONIZE_QUESTIONS && sp_is_done(outcome) && !*complete; i++) {
            outcome = sp_poll_mark(view.mark, SP_FOUND);
            *complete = sp_mark_is_complete(view.mark);
        }
        sp_mark_drop_passed(stream);
    } else if (sp_is_done(outcome) && sp_load_relaxed(&stream->strict)) {
        mark_frees(stream, &view);
    }
    close_view(&view);
    return outcome;
}

static struct sp_outcome note_freed(struct sp_stream *stream, uint64_t *sequence) {
    sp_atomic_raise(&stream->freed, *sequence);
    return sp_outcome_done();
}

// There is nothing to do for other streams of the name, and nothing to find.
static struct sp_outcome need_nothing(struct sp_stream *stream) {
    (void)stream;
    return sp_outcome_done();
}

static struct sp_outcome find_nothing(struct sp_stream *stream, struct sp_fence fence) {
    (void)stream, (void)fence;
    return sp_outcome_of(SP_NO_EVENT);
}

const struct sp_identity sp_identified = {
    .before_record = need_nothing,
    .note_freed = note_freed,
    .after_wait = need_nothing,
    .wait_unmarked = find_nothing,
    .poll_unmarked = need_nothing,
    .act = act,
    .synchronize = synchronize,
    .query = query,
    .set_destroyed = sp_registry_set_gone,
    .context_id = context_id,
    .known_context_id = context_id,
    .context_is_gone = context_is_gone,
};
