#include "order/poll.h"

#include "order/context.h"
#include "order/identity.h"
#include "order/private_event.h"
#include "order/turn.h"

#include <string.h>

static CUresult ask_mark(struct sp_mark *mark, enum sp_knowledge how) {
    bool complete = false;
    CUresult error = sp_private_event_query(mark->event, &complete);
    if (!complete)
        return error;
    sp_progress_publish_clock(&mark->clock, how);
    sp_progress_publish(mark->stream, mark->sequence, how);
    return CUDA_SUCCESS;
}

static CUresult ask_relaxed(struct sp_mark *mark, enum sp_knowledge how) {
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    CUresult error = ask_mark(mark, how);
    sp_capture_mode_restore(mode);
    return error;
}

CUresult sp_poll_confirm_mark(struct sp_mark *mark) {
    return ask_relaxed(mark, SP_SYNCHRONIZED);
}

CUresult sp_poll_mark(struct sp_mark *mark) {
    return ask_relaxed(mark, SP_FOUND);
}

static bool is_confirmed(const struct sp_mark *mark) {
    return sp_progress_is_synchronized((struct sp_fence){mark->stream->slot, mark->sequence});
}

// Nearly always the event is complete already.
CUresult sp_poll_await_mark(struct sp_mark *mark) {
    CUresult error = sp_poll_confirm_mark(mark);
    if (error != CUDA_SUCCESS || is_confirmed(mark))
        return error;
    error = sp_private_event_await(mark->event);
    return error == CUDA_SUCCESS ? sp_poll_confirm_mark(mark) : error;
}

// ---------------------------------------------------------------------------- streams and contexts

static CUresult poll_mark(struct sp_stream *stream, struct sp_mark *mark) {
    CUresult error = CUDA_SUCCESS;
    if (mark->sequence > sp_progress_completed(stream))
        error = ask_mark(mark, SP_FOUND);
    if (sp_progress_is_past((struct sp_fence){stream->slot, mark->sequence}))
        sp_mark_drop(stream, mark);
    return error;
}

static CUresult poll(struct sp_stream *stream) {
    struct sp_mark *marks[SP_STREAM_MARKS];
    sp_lock_acquire(&stream->lock);
    memcpy(marks, stream->marks.kept, sizeof marks);
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        if (marks[i])
            sp_mark_keep(marks[i]);
    }
    sp_lock_release(&stream->lock);
    CUresult first = sp_identity_of(stream)->poll_unmarked(stream);
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        if (!marks[i])
            continue;
        CUresult error = poll_mark(stream, marks[i]);
        first = first == CUDA_SUCCESS ? error : first;
        sp_mark_release(marks[i]);
    }
    return first;
}

CUresult sp_poll_stream(struct sp_stream *stream) {
    if (!sp_progress_has_pending_events(stream))
        return CUDA_SUCCESS;
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    CUresult error = poll(stream);
    sp_capture_mode_restore(mode);
    return error;
}

static CUresult poll_context(CUcontext context, uint64_t id) {
    CUresult first = CUDA_SUCCESS;
    uint32_t count = sp_stream_count();
    for (uint32_t slot = 0; slot < count; slot++) {
        struct sp_stream *stream = sp_stream_at(slot);
        if (!sp_stream_is_of(stream, context, id))
            continue;
        CUresult error = sp_poll_stream(stream);
        first = first == CUDA_SUCCESS ? error : first;
    }
    return first;
}

// A stream that another thread is asking just now doesn't come up here.
CUresult sp_poll_some_of(const struct sp_stream *of) {
    struct sp_stream *in_turn[SP_POLL_SOME];
    CUresult first = CUDA_SUCCESS;
    int count = 0;
    while (count < SP_POLL_SOME && (in_turn[count] = sp_turn_next(of->context_id)))
        count++;
    for (int i = 0; i < count; i++) {
        bool is_of_it = sp_stream_is_of(in_turn[i], of->context, of->context_id);
        CUresult error = is_of_it ? sp_poll_stream(in_turn[i]) : CUDA_SUCCESS;
        first = first == CUDA_SUCCESS ? error : first;
        sp_turn_end(in_turn[i]);
    }
    return first;
}

CUresult sp_poll_context_of(const struct sp_stream *stream) {
    return poll_context(stream->context, stream->context_id);
}

CUresult sp_poll_current_context(void) {
    CUcontext context = NULL;
    uint64_t id;
    CUresult error = sp_context_current(&context, &id);
    return error == CUDA_SUCCESS && context ? poll_context(context, id) : error;
}
