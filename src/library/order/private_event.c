#include "order/private_event.h"

CUresult sp_private_event_create(const struct sp_stream *stream, CUevent *event) {
    CUcontext popped;
    CUresult error =
        sp_native_noted(sp_driver->cuCtxPushCurrent(stream->context), "cuCtxPushCurrent");
    if (error != CUDA_SUCCESS)
        return error;
    error =
        sp_native_noted(sp_driver->cuEventCreate(event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    sp_driver->cuCtxPopCurrent(&popped);
    return error;
}

void sp_private_event_destroy(CUevent event) {
    sp_driver->cuEventDestroy(event);
}

CUresult sp_private_event_await(CUevent event) {
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    CUresult error = sp_native_noted(sp_driver->cuEventSynchronize(event), "cuEventSynchronize");
    sp_capture_mode_restore(mode);
    return error;
}
