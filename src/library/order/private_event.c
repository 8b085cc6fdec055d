#include "order/private_event.h"

struct sp_outcome sp_private_event_create(const struct sp_stream *stream, CUevent *event) {
    CUcontext popped;
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuCtxPushCurrent(stream->context), "cuCtxPushCurrent");
    if (!sp_is_done(outcome))
        return outcome;
    outcome = sp_outcome_of_driver(sp_driver->cuEventCreate(event, CU_EVENT_DISABLE_TIMING),
                                   "cuEventCreate");
    sp_driver->cuCtxPopCurrent(&popped);
    return outcome;
}

void sp_private_event_destroy(CUevent event) {
    (void)sp_outcome_of_driver(sp_driver->cuEventDestroy(event), "cuEventDestroy");
}

struct sp_outcome sp_private_event_await(CUevent event) {
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuEventSynchronize(event), "cuEventSynchronize");
    sp_capture_mode_restore(mode);
    return outcome;
}
