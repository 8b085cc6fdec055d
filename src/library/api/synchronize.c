// The calls that synchronise, query, record and wait, and those that end a stream or an event.
#include "order/synchronize.h"
#include "api/api.h"
#include "order/end.h"
#include "order/event.h"
#include "process/reclaim.h"

static poolError_t enter_with_stream(CUstream handle, struct sp_stream **stream) {
    poolError_t error = sp_runtime_enter();
    return error == poolSuccess ? sp_api_stream(handle, NULL, stream) : error;
}

// Finds the stream of a call that a capturing stream may make. The stream is null then, as asking
// the driver for its identity would invalidate the capture. Any other fault of the handle is left
// to the driver's own call, which reports it.
static poolError_t enter_unless_capturing(CUstream handle, struct sp_stream **stream) {
    poolError_t entered = sp_runtime_enter();
    *stream = NULL;
    if (entered != poolSuccess)
        return entered;
    CUresult error = sp_resolve_capture(handle);
    if (error == CUDA_ERROR_INVALID_CONTEXT && sp_stream_is_default(handle)) {
        error = sp_api_supply_context(error, handle, NULL);
        if (error != CUDA_SUCCESS)
            return sp_fail_driver(error, "looking for a current context");
        error = sp_resolve_capture(handle);
    }
    return error == CUDA_SUCCESS ? sp_api_stream(handle, NULL, stream) : poolSuccess;
}

poolError_t poolStreamSynchronize(CUstream handle) {
    struct sp_stream *stream;
    poolError_t entered = enter_with_stream(handle, &stream);
    if (entered != poolSuccess)
        return entered;
    CUresult error = sp_synchronize_stream(stream, handle);
    if (error != CUDA_SUCCESS)
        return sp_fail_driver(error, "synchronising the stream");
    sp_reclaim_after_synchronize(stream);
    return poolSuccess;
}

poolError_t poolEventSynchronize(CUevent event) {
    poolError_t entered = sp_runtime_enter();
    if (entered != poolSuccess)
        return entered;
    struct sp_stream *stream = NULL;
    CUresult error = sp_event_synchronize(event, &stream);
    if (error != CUDA_SUCCESS)
        return sp_fail_driver(error, "synchronising the event");
    if (stream)
        sp_reclaim_after_synchronize(stream);
    return poolSuccess;
}

// Synchronises after a call without a current context, which is supplied as on a default stream.
static CUresult synchronize_again(CUresult error) {
    error = sp_api_supply_context(error, NULL, NULL);
    return error == CUDA_SUCCESS ? sp_synchronize_context() : error;
}

poolError_t poolDeviceSynchronize(void) {
    poolError_t entered = sp_runtime_enter();
    if (entered != poolSuccess)
        return entered;
    CUresult error = sp_synchronize_context();
    if (error == CUDA_ERROR_INVALID_CONTEXT)
        error = synchronize_again(error);
    if (error != CUDA_SUCCESS)
        return sp_fail_driver(error, "synchronising the context");
    sp_reclaim_after_synchronize(NULL);
    return poolSuccess;
}

static poolError_t answer(CUresult error, const char *what) {
    if (error == CUDA_SUCCESS)
        return poolSuccess;
    return error == CUDA_ERROR_NOT_READY ? sp_fail(poolErrorNotReady, "%s: not complete yet", what)
                                         : sp_fail_driver(error, what);
}

poolError_t poolStreamQuery(CUstream handle) {
    struct sp_stream *stream;
    poolError_t entered = enter_with_stream(handle, &stream);
    return entered == poolSuccess
               ? answer(sp_synchronize_query(stream, handle), "querying the stream")
               : entered;
}

poolError_t poolEventQuery(CUevent event) {
    struct sp_stream *stream;
    poolError_t entered = sp_runtime_enter();
    return entered == poolSuccess ? answer(sp_event_query(event, &stream), "querying the event")
                                  : entered;
}

poolError_t poolEventRecord(CUevent event, CUstream handle) {
    struct sp_stream *stream;
    poolError_t entered = enter_unless_capturing(handle, &stream);
    if (entered != poolSuccess)
        return entered;
    CUresult error = sp_event_record(event, stream, handle);
    return error == CUDA_SUCCESS ? poolSuccess : sp_fail_driver(error, "recording the event");
}

poolError_t poolStreamWaitEvent(CUstream handle, CUevent event, unsigned int flags) {
    struct sp_stream *stream;
    poolError_t entered = enter_unless_capturing(handle, &stream);
    if (entered != poolSuccess)
        return entered;
    CUresult error = sp_event_wait(event, stream, handle, flags);
    return error == CUDA_SUCCESS ? poolSuccess : sp_fail_driver(error, "waiting for the event");
}

poolError_t poolStreamDestroy(CUstream handle) {
    struct sp_stream *stream;
    poolError_t entered = enter_unless_capturing(handle, &stream);
    if (entered != poolSuccess)
        return entered;
    CUresult error = sp_end_stream(stream, handle);
    return error == CUDA_SUCCESS ? poolSuccess : sp_fail_driver(error, "destroying the stream");
}

poolError_t poolEventDestroy(CUevent event) {
    poolError_t entered = sp_runtime_enter();
    if (entered != poolSuccess)
        return entered;
    CUresult error = sp_event_destroy(event);
    return error == CUDA_SUCCESS ? poolSuccess : sp_fail_driver(error, "destroying the event");
}

poolError_t poolStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned int flags) {
    return poolStreamWaitEvent(sp_api_per_thread(stream), event, flags);
}

poolError_t poolStreamSynchronize_ptsz(CUstream stream) {
    return poolStreamSynchronize(sp_api_per_thread(stream));
}

poolError_t poolStreamQuery_ptsz(CUstream stream) {
    return poolStreamQuery(sp_api_per_thread(stream));
}

poolError_t poolEventRecord_ptsz(CUevent event, CUstream stream) {
    return poolEventRecord(event, sp_api_per_thread(stream));
}
