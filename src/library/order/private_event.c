#include "order/private_event.h"

struct sp_outcome sp_private_event_create(const struct sp_stream *stream, CUevent *event) {
    struct sp_outcome outcome = sp_context_enter(stream->context);
    if (!sp_is_done(outcome))
        return outcome;
    outcome = sp_outcome_of_driver(sp_driver->cuEventCreate(event, CU_EVENT_DISABLE_TIMING),
                                   "cuEventCreate");
    sp_context_leave();
    return outcome;
}

void sp_private_event_destroy(CUevent event) {
    (void)sp_outcome_of_driver(sp_driver->cuEventDestroy(event), "cuEventDestroy");
}

// Where two threads make one, that of the first to say so is kept.
struct sp_outcome sp_private_event_of(struct sp_stream *stream, CUevent *event) {
    CUevent made, none = NULL;
    *event = sp_load_acquire(&stream->event);
    if (*event)
        return sp_outcome_done();
    struct sp_outcome outcome = sp_private_event_create(stream, &made);
    if (!sp_is_done(outcome))
        return outcome;
    if (atomic_compare_exchange_strong(&stream->event, &none, made)) {
        *event = made;
    } else {
        sp_private_event_destroy(made);
        *event = none;
    }
    return sp_outcome_done();
}

struct sp_outcome sp_private_event_await(CUevent event) {
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuEventSynchronize(event), "cuEventSynchronize");
    sp_capture_mode_restore(mode);
    return outcome;
}

struct sp_outcome sp_private_event_wait_relaxed(const struct sp_stream *stream, CUevent event) {
    if (sp_private_event_needs_no_mode(stream))
        return sp_private_event_wait(stream->handle, event);
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    struct sp_outcome outcome = sp_private_event_wait(stream->handle, event);
    sp_capture_mode_restore(mode);
    return outcome;
}
