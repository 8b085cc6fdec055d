#include "order/synchronize.h"

#include "order/context.h"
#include "order/identity.h"
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
