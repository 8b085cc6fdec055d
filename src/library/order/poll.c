#include "order/poll.h"

struct sp_outcome sp_poll_mark_relaxed(struct sp_mark *mark, enum sp_knowledge how) {
    bool complete = false;
    struct sp_outcome outcome = sp_private_event_query(mark->event, &complete);
    if (!complete)
        return outcome;
    sp_progress_publish_clock(&mark->clock, how);
    sp_progress_publish(mark->stream, mark->sequence, how);
    return sp_outcome_done();
}

struct sp_outcome sp_poll_mark(struct sp_mark *mark, enum sp_knowledge how) {
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    struct sp_outcome outcome = sp_poll_mark_relaxed(mark, how);
    sp_capture_mode_restore(mode);
    return outcome;
}

// Nearly always the event is complete already.
struct sp_outcome sp_poll_await_mark(struct sp_mark *mark) {
    struct sp_outcome outcome = sp_poll_mark(mark, SP_SYNCHRONIZED);
    if (!sp_is_done(outcome) ||
        sp_progress_is_synchronized((struct sp_fence){mark->stream->slot, mark->sequence}))
        return outcome;
    outcome = sp_private_event_await(mark->event);
    return sp_is_done(outcome) ? sp_poll_mark(mark, SP_SYNCHRONIZED) : outcome;
}

// ---------------------------------------------------------------------------- streams and contexts

// A stream's events complete in their order. The oldest is pending where the device is busy, and
// the newest is complete where the stream is idle: one question is enough then. Which of the two is
// asked first goes by what the stream was found to be the last time. Else the last complete one is
// found by halves.
static struct sp_outcome poll_marks(struct sp_stream *stream, struct sp_mark *const *marks,
                                    size_t count) {
    struct sp_outcome outcome = sp_outcome_done();
    size_t complete = 0, pending = count; // those before and those from there on
    bool was_idle = sp_load_relaxed(&stream->was_idle);
    size_t ends[] = {was_idle ? count - 1 : 0, was_idle ? 0 : count - 1};
    for (size_t asked = 0; complete < pending && sp_is_done(outcome); asked++) {
        size_t next = asked < 2 ? ends[asked] : (complete + pending) / 2;
        if (!sp_mark_is_complete(marks[next]))
            outcome = sp_poll_mark_relaxed(marks[next], SP_FOUND);
        if (sp_mark_is_complete(marks[next]))
            complete = next + 1;
        else
            pending = next;
    }
    bool is_idle = count > 0 ? complete == count : was_idle;
    if (is_idle != was_idle)
        sp_store_relaxed(&stream->was_idle, is_idle);
    return outcome;
}

struct sp_outcome sp_poll_stream(struct sp_stream *stream) {
    struct sp_mark *marks[SP_STREAM_MARKS];
    if (!sp_progress_has_pending_events(stream))
        return sp_outcome_done();
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    sp_lock_acquire(&stream->lock);
    size_t count = stream->marks.recent_count;
    for (size_t i = 0; i < count; i++) {
        marks[i] = stream->marks.recent[i];
        sp_mark_acquire(marks[i]);
    }
    sp_lock_release(&stream->lock);
    struct sp_outcome unmarked = sp_identity_of(stream)->poll_unmarked(stream);
    struct sp_outcome outcome = poll_marks(stream, marks, count);
    for (size_t i = 0; i < count; i++)
        sp_mark_release(marks[i]);
    sp_mark_drop_until(stream, sp_progress_past(stream));
    sp_capture_mode_restore(mode);
    return sp_outcome_first(unmarked, outcome);
}

static struct sp_outcome poll_context(CUcontext context, uint64_t id) {
    struct sp_outcome first = sp_outcome_done();
    uint32_t count = sp_stream_count();
    for (uint32_t slot = 0; slot < count; slot++) {
        if (sp_stream_is_of(sp_stream_at(slot), context, id))
            first = sp_outcome_first(first, sp_poll_stream(sp_stream_at(slot)));
    }
    return first;
}

// A stream that another thread is asking just now doesn't come up here, nor one that was asked,
// before all are put back.
struct sp_outcome sp_poll_some_of(const struct sp_stream *of, int busy_most) {
    struct sp_stream *asked[SP_POLL_SOME];
    struct sp_outcome first = sp_outcome_done();
    int count = 0, busy = 0;
    while (count < SP_POLL_SOME && busy < busy_most &&
           (asked[count] = sp_progress_next_queued(of->context_id))) {
        struct sp_stream *stream = asked[count++];
        if (!sp_stream_is_of(stream, of->context, of->context_id))
            continue;
        first = sp_outcome_first(first, sp_poll_stream(stream));
        busy += sp_progress_has_pending_events(stream);
    }
    for (int i = 0; i < count; i++)
        sp_progress_put_back(asked[i]);
    return first;
}

struct sp_outcome sp_poll_context_of(const struct sp_stream *stream) {
    return poll_context(stream->context, stream->context_id);
}

struct sp_outcome sp_poll_current_context(void) {
    CUcontext context = NULL;
    uint64_t id;
    struct sp_outcome outcome = sp_context_current_alive(&context, &id);
    return sp_is_done(outcome) && context ? poll_context(context, id) : outcome;
}

// ------------------------------------------------------ the program's own synchronises and queries

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
    if (sp_is_done(outcome) && closed) {
        sp_progress_publish_many(&snapshot, SP_SYNCHRONIZED);
        for (uint32_t slot = 0; slot < snapshot.count; slot++) {
            if (snapshot.numbers[slot] > 0)
                sp_mark_drop_passed(sp_stream_at(slot));
        }
    }
    sp_progress_end_snapshot(&snapshot);
    return outcome;
}
