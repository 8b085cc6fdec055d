#include "order/synchronize.h"

#include "order/chain.h"
#include "order/closing.h"
#include "order/context.h"
#include "order/learn.h"
#include "order/poll.h"
#include "order/private_event.h"

// Marks that a synchronise has passed have nothing more to tell. Those that a question found
// complete have: the order, to whoever goes by synchronises alone.
static void drop_passed_marks(struct sp_stream *stream) {
    sp_mark_drop_until(stream, atomic_load_explicit(&stream->synchronized, memory_order_acquire));
    sp_mark_trim_spares(stream);
}

// What there was of a stream when it was synchronised or queried. The mark stands behind all frees
// of a blocking stream; it is null where there is nothing to mark, or where none could be made.
struct view {
    uint64_t sequence;
    uint64_t chain_end;
    struct sp_clock clock;
    struct sp_mark *mark;
};

static void look_at(struct sp_stream *stream, struct view *view) {
    *view = (struct view){.chain_end = sp_anonymous_chain_end(stream)};
    sp_learn_copy_clock(stream, &view->clock);
    view->sequence = sp_progress_close(stream);
}

static void close_view(struct view *view) {
    sp_clock_clear(&view->clock);
    sp_mark_release(view->mark);
}

// What a blocking stream itself answers shows that its work is complete, and all that it has waited
// for. It shows nothing of the legacy stream's work, which a free on it comes behind all the same:
// see order/action.h. An event behind the free does: that of a mark, or the chain.
static bool answers_for_itself_alone(const struct sp_stream *stream) {
    return atomic_load_explicit(&stream->kind, memory_order_relaxed) == SP_STREAM_BLOCKING;
}

static void mark_frees(struct sp_stream *stream, struct view *view) {
    if (stream->identified && answers_for_itself_alone(stream))
        sp_mark_stream(stream, &view->mark);
}

// Of an identified stream: what the driver's answer alone has shown.
static void publish_answer(struct sp_stream *stream, const struct view *view,
                           enum sp_knowledge how) {
    if (!stream->identified)
        return;
    sp_progress_publish_clock(&view->clock, how);
    if (!answers_for_itself_alone(stream))
        sp_progress_publish(stream, view->sequence, how);
}

// Of an anonymous stream a synchronise says nothing about the work of an earlier one with the same
// handle; the chain does, and is asked. Where the same stream made the chain's last record the
// answer is certain, so what it shows is what the synchronise has shown.
static CUresult await_chain(struct sp_stream *stream, uint64_t end) {
    CUresult error = answers_for_itself_alone(stream) ? sp_chain_await(stream, end)
                                                      : sp_anonymous_confirm(stream, end);
    sp_poll_stream(stream);
    sp_mark_trim_spares(stream);
    return error;
}

static CUresult await_frees(struct sp_stream *stream, const struct view *view) {
    if (!stream->identified)
        return await_chain(stream, view->chain_end);
    CUresult error = view->mark ? sp_poll_await_mark(view->mark) : CUDA_SUCCESS;
    drop_passed_marks(stream);
    return error;
}

// The mark comes first, and is waited for: so a synchronise waits for what stands before the frees,
// as it does behind CUDA's own.
CUresult sp_synchronize_stream(struct sp_stream *stream, CUstream handle) {
    struct view view;
    look_at(stream, &view);
    mark_frees(stream, &view);
    CUresult error = sp_native_noted(sp_driver->cuStreamSynchronize(handle), "cuStreamSynchronize");
    if (error == CUDA_SUCCESS) {
        publish_answer(stream, &view, SP_SYNCHRONIZED);
        error = await_frees(stream, &view);
    }
    close_view(&view);
    return error;
}

static bool has_pending_frees(const struct sp_stream *stream, const struct view *view) {
    if (!answers_for_itself_alone(stream))
        return false;
    return stream->identified
               ? view->mark &&
                     !sp_progress_is_complete((struct sp_fence){stream->slot, view->mark->sequence})
               : sp_progress_has_pending_events(stream);
}

// An event of an idle stream is complete a microsecond after its record, so it is asked more than
// once.
static CUresult ask_for_frees(struct sp_stream *stream, const struct view *view) {
    enum { QUESTIONS = 16 };
    CUresult error = stream->identified ? CUDA_SUCCESS : sp_poll_stream(stream);
    for (int i = 0; i < QUESTIONS && error == CUDA_SUCCESS && has_pending_frees(stream, view); i++)
        error = view->mark ? sp_poll_mark(view->mark) : sp_poll_stream(stream);
    drop_passed_marks(stream);
    return error == CUDA_SUCCESS && has_pending_frees(stream, view) ? CUDA_ERROR_NOT_READY : error;
}

// A stream whose own work is pending gets no mark.
static CUresult query(struct sp_stream *stream, CUstream handle) {
    struct view view;
    look_at(stream, &view);
    CUresult error = sp_driver->cuStreamQuery(handle);
    if (error == CUDA_SUCCESS) {
        publish_answer(stream, &view, SP_FOUND);
        mark_frees(stream, &view);
        error = ask_for_frees(stream, &view);
    }
    close_view(&view);
    return error;
}

CUresult sp_synchronize_query(struct sp_stream *stream, CUstream handle) {
    return sp_native_noted(query(stream, handle), "cuStreamQuery");
}

CUresult sp_synchronize_ask(struct sp_stream *stream) {
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    CUresult error = query(stream, stream->handle);
    sp_capture_mode_restore(mode);
    return error;
}

static void publish_context(const struct sp_closing *closing) {
    sp_closing_publish(closing, SP_SYNCHRONIZED);
    for (uint32_t slot = 0; slot < closing->count; slot++) {
        if (closing->numbers[slot] > 0)
            drop_passed_marks(sp_stream_at(slot));
    }
}

// A context's synchronise covers all of its streams, those destroyed since included.
CUresult sp_synchronize_context(void) {
    CUcontext context = NULL;
    uint64_t id;
    struct sp_closing closing;
    CUresult error = sp_context_current(&context, &id);
    if (error != CUDA_SUCCESS)
        return error;
    bool closed = sp_closing_begin(&closing, context, id, NULL);
    error = sp_native_noted(sp_driver->cuCtxSynchronize(), "cuCtxSynchronize");
    if (error == CUDA_SUCCESS && closed)
        publish_context(&closing);
    sp_closing_end(&closing);
    return error;
}
