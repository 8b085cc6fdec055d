#include "order/synchronize.h"

#include "order/context.h"
#include "order/identity.h"
#include "order/learn.h"
#include "order/mark.h"
#include "order/poll.h"

struct sp_outcome sp_synchronize_stream(struct sp_stream *stream, CUstream handle) {
    return sp_identity_of(stream)->synchronize(stream, handle);
}

struct sp_outcome sp_synchronize_query(struct sp_stream *stream, CUstream handle, bool *complete) {
    return sp_identity_of(stream)->query(stream, handle, complete);
}

struct sp_outcome sp_synchronize_ask(struct sp_stream *stream, bool *complete) {
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    struct sp_outcome outcome = sp_identity_of(stream)->query(stream, stream->handle, complete);
    sp_capture_mode_restore(mode);
    return outcome;
}

struct sp_outcome sp_synchronize_await(struct sp_stream *stream) {
    struct sp_mark *mark = NULL;
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    struct sp_outcome outcome = sp_mark_stream(stream, &mark);
    if (sp_is_done(outcome) && mark)
        outcome = sp_poll_await_mark(mark);
    sp_capture_mode_restore(mode);
    sp_mark_release(mark);
    return outcome;
}

// ------------------------------------------------------------------------------ identified streams

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
    sp_learn_copy_clock(stream, &view->clock);
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

static struct sp_outcome await_frees(struct sp_stream *stream, const struct view *view) {
    struct sp_outcome outcome = view->mark ? sp_poll_await_mark(view->mark) : sp_outcome_done();
    sp_mark_drop_passed(stream);
    return outcome;
}

// The mark comes first, and is waited for: so a synchronise waits for what stands before the frees,
// as it does behind CUDA's own.
struct sp_outcome sp_synchronize_by_mark(struct sp_stream *stream, CUstream handle) {
    struct view view;
    look_at(stream, &view);
    mark_frees(stream, &view);
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuStreamSynchronize(handle), "cuStreamSynchronize");
    if (sp_is_done(outcome)) {
        publish_answer(stream, &view, SP_SYNCHRONIZED);
        outcome = await_frees(stream, &view);
    }
    close_view(&view);
    return outcome;
}

static bool has_pending_frees(const struct sp_stream *stream, const struct view *view) {
    return view->mark &&
           !sp_progress_is_complete((struct sp_fence){stream->slot, view->mark->sequence});
}

static struct sp_outcome ask_for_frees(struct sp_stream *stream, const struct view *view,
                                       bool *complete) {
    struct sp_outcome outcome = sp_outcome_done();
    for (int i = 0; i < SP_SYNCHRONIZE_QUESTIONS && sp_is_done(outcome); i++) {
        if (!has_pending_frees(stream, view))
            break;
        outcome = sp_poll_mark(view->mark);
    }
    sp_mark_drop_passed(stream);
    *complete = !has_pending_frees(stream, view);
    return outcome;
}

// A stream whose own work is pending gets no mark; but where a pool goes by synchronises alone,
// what is recorded depends on no answer.
struct sp_outcome sp_synchronize_query_by_mark(struct sp_stream *stream, CUstream handle,
                                               bool *complete) {
    struct view view;
    look_at(stream, &view);
    struct sp_outcome outcome =
        sp_outcome_of_query(sp_driver->cuStreamQuery(handle), "cuStreamQuery", complete);
    if (*complete) {
        publish_answer(stream, &view, SP_FOUND);
        mark_frees(stream, &view);
        outcome = ask_for_frees(stream, &view, complete);
    } else if (sp_is_done(outcome) && sp_load_relaxed(&stream->strict)) {
        mark_frees(stream, &view);
    }
    close_view(&view);
    return outcome;
}

// ------------------------------------------------------------------------------------- the context

// A context's synchronise covers all of its streams, those destroyed since included.
struct sp_outcome sp_synchronize_context(void) {
    CUcontext context = NULL;
    uint64_t id;
    struct sp_snapshot snapshot;
    struct sp_outcome outcome = sp_context_current(&context, &id);
    if (!sp_is_done(outcome))
        return outcome;
    bool closed = sp_progress_close_many(&snapshot, context, id, NULL);
    outcome = sp_outcome_of_driver(sp_driver->cuCtxSynchronize(), "cuCtxSynchronize");
    if (sp_is_done(outcome) && closed)
        sp_progress_publish_many(&snapshot, SP_SYNCHRONIZED);
    for (uint32_t slot = 0; sp_is_done(outcome) && closed && slot < snapshot.count; slot++) {
        if (snapshot.numbers[slot] > 0)
            sp_mark_drop_passed(sp_stream_at(slot));
    }
    sp_progress_end_snapshot(&snapshot);
    return outcome;
}

// ---------------------------------------------------------------------------------- ahead of a
// call

void sp_synchronize_ahead_of_stream(CUstream handle) {
    (void)sp_outcome_of_driver(sp_driver->cuStreamSynchronize(handle), "cuStreamSynchronize");
}

void sp_synchronize_ahead_of_event(CUevent event) {
    (void)sp_outcome_of_driver(sp_driver->cuEventSynchronize(event), "cuEventSynchronize");
}

void sp_synchronize_ahead_of_context(void) {
    (void)sp_outcome_of_driver(sp_driver->cuCtxSynchronize(), "cuCtxSynchronize");
}
