#include "order/private_event.h"

CUstreamCaptureMode sp_relaxed_mode_enter(void) {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    sp_driver->cuThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

void sp_relaxed_mode_leave(CUstreamCaptureMode mode) {
    sp_driver->cuThreadExchangeStreamCaptureMode(&mode);
}

CUresult sp_private_event_create(const struct sp_stream *stream, CUevent *event) {
    CUcontext popped;
    CUresult error = sp_native_noted(sp_driver->cuCtxPushCurrent(stream->context), "cuCtxPushCurrent");
    if (error != CUDA_SUCCESS)
        return error;
    error = sp_native_noted(sp_driver->cuEventCreate(event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    sp_driver->cuCtxPopCurrent(&popped);
    return error;
}

void sp_private_event_destroy(CUevent event) {
    sp_driver->cuEventDestroy(event);
}

CUresult sp_private_event_record(CUevent event, CUstream handle) {
    return sp_native_noted(sp_driver->cuEventRecord(event, handle), "cuEventRecord");
}

CUresult sp_private_event_wait(CUstream handle, CUevent event) {
    return sp_native_noted(sp_driver->cuStreamWaitEvent(handle, event, 0), "cuStreamWaitEvent");
}

CUresult sp_private_event_query(CUevent event, bool *complete) {
    CUresult error = sp_driver->cuEventQuery(event);
    *complete = error == CUDA_SUCCESS;
    return error == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : sp_native_noted(error, "cuEventQuery");
}
