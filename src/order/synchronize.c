#include "order/synchronize.h"

#include "order/chain.h"
#include "order/context.h"
#include "order/learn.h"
#include "order/poll.h"
#include "order/private_event.h"

#include <stdlib.h>

// Marks that a synchronise has passed have nothing more to tell. Those that a question found complete have: the order, to
// whoever goes by synchronises alone.
static void drop_passed_marks(struct sp_stream *stream) {
    sp_stream_drop_marks(stream, atomic_load_explicit(&stream->synchronized, memory_order_acquire));
}

// What there was of a stream when it was synchronised or queried.
struct view {
    uint64_t sequence;
    uint64_t chain_end;
    struct sp_clock clock;
    struct sp_mark *
        mark; // behind all frees of a blocking stream; null where there is nothing to mark, or none could be made
};

static void look_at(struct sp_stream *stream, struct view *view) {
    *view = (struct view){.chain_end = sp_stream_chain_end(stream)};
    sp_stream_copy_clock(stream, &view->clock);
    view->sequence = sp_stream_close_sequence(stream);
}

static void close_view(struct view *view) {
    sp_clock_clear(&view->clock);
    sp_mark_release(view->mark);
}

// What a blocking stream itself answers shows that its work is complete, and all that it has waited for. It shows nothing of
// the legacy stream's work, which a free on it comes behind all the same: see order/action.h. A mark's event does.
static bool needs_mark(const struct sp_stream *stream) {
    return stream->identified &&
           atomic_load_explicit(&stream->kind, memory_order_relaxed) == SP_STREAM_BLOCKING;
}

// Of an anonymous stream a synchronise says nothing about the work of an earlier one with the same handle; the
// chain does, and is asked. Where the same stream made the chain's last record the answer is certain, so what it
// shows is what the synchronise has shown.
static void publish_chain(struct sp_stream *stream, const struct view *view, enum sp_knowledge how) {
    if (how == SP_SYNCHRONIZED)
        sp_chain_confirm(stream, view->chain_end);
    sp_stream_poll(stream);
}

// What the driver's answer alone has shown.
static void publish_seen(struct sp_stream *stream, const struct view *view, enum sp_knowledge how) {
    if (!stream->identified) {
        publish_chain(stream, view, how);
        return;
    }
    sp_clock_publish(&view->clock, how);
    if (!needs_mark(stream))
        sp_stream_publish(stream, view->sequence, how);
    drop_passed_marks(stream);
}

static CUresult await_mark(struct sp_stream *stream, const struct view *view) {
    if (!view->mark)
        return CUDA_SUCCESS;
    CUresult error = sp_mark_await(view->mark);
    drop_passed_marks(stream);
    return error;
}

// The mark comes first: so the synchronise waits for what stands before the frees, as it does behind CUDA's own.
CUresult sp_stream_synchronize(struct sp_stream *stream, CUstream handle) {
    struct view view;
    look_at(stream, &view);
    if (needs_mark(stream))
        sp_stream_mark(stream, &view.mark);
    CUresult error = sp_native_noted(sp_driver->cuStreamSynchronize(handle), "cuStreamSynchronize");
    if (error == CUDA_SUCCESS) {
        publish_seen(stream, &view, SP_SYNCHRONIZED);
        error = await_mark(stream, &view);
    }
    close_view(&view);
    return error;
}

// The event of an idle stream is complete a microsecond after its record, so it is asked more than once.
static CUresult ask_mark_briefly(struct sp_mark *mark) {
    enum { QUESTIONS = 16 };
    struct sp_fence fence = {mark->stream->slot, mark->sequence};
    CUresult error = CUDA_SUCCESS;
    for (int i = 0; i < QUESTIONS && error == CUDA_SUCCESS && !sp_fence_is_complete(fence); i++)
        error = sp_mark_ask(mark);
    return error == CUDA_SUCCESS && !sp_fence_is_complete(fence) ? CUDA_ERROR_NOT_READY : error;
}

// A stream whose own work is pending is not asked further.
static CUresult query(struct sp_stream *stream, CUstream handle) {
    struct view view;
    look_at(stream, &view);
    CUresult error = sp_driver->cuStreamQuery(handle);
    if (error == CUDA_SUCCESS) {
        publish_seen(stream, &view, SP_FOUND);
        if (needs_mark(stream))
            sp_stream_mark(stream, &view.mark);
        if (view.mark)
            error = ask_mark_briefly(view.mark);
    }
    close_view(&view);
    return error;
}

CUresult sp_stream_query(struct sp_stream *stream, CUstream handle) {
    return sp_native_noted(query(stream, handle), "cuStreamQuery");
}

CUresult sp_stream_ask(struct sp_stream *stream) {
    CUstreamCaptureMode mode = sp_relaxed_mode_enter();
    CUresult error = query(stream, stream->handle);
    sp_relaxed_mode_leave(mode);
    return error;
}

static void publish_context(const uint64_t *closed, uint32_t count) {
    for (uint32_t slot = 0; slot < count; slot++) {
        if (closed[slot] == 0)
            continue;
        sp_stream_publish(sp_stream_at(slot), closed[slot], SP_SYNCHRONIZED);
        drop_passed_marks(sp_stream_at(slot));
    }
}

// A context's synchronise covers all of its streams, those destroyed since included.
CUresult sp_context_synchronize(void) {
    CUcontext context = NULL;
    uint64_t id;
    CUresult error = sp_context_current(&context, &id);
    if (error != CUDA_SUCCESS)
        return error;
    uint32_t count = sp_stream_count();
    uint64_t *closed = calloc(count ? count : 1, sizeof *closed);
    if (closed)
        sp_streams_close_sequences(context, id, closed, count);
    error = sp_native_noted(sp_driver->cuCtxSynchronize(), "cuCtxSynchronize");
    if (error == CUDA_SUCCESS && closed)
        publish_context(closed, count);
    free(closed);
    return error;
}
