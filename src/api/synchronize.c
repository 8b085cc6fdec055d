// The synchronise and query calls, and the event record.
#include "api/api.h"
#include "order/event.h"

static poolError_t enter_with_stream(CUstream handle, struct sp_stream **stream) {
    poolError_t error = sp_runtime_enter();
    return error == poolSuccess ? sp_api_stream(handle, stream) : error;
}

poolError_t poolStreamSynchronize(CUstream handle) {
    struct sp_stream *stream;
    poolError_t entered = enter_with_stream(handle, &stream);
    if (entered != poolSuccess)
        return entered;
    CUresult error = sp_stream_synchronize(stream, handle);
    if (error != CUDA_SUCCESS)
        return sp_fail_driver(error, "synchronising the stream");
    sp_runtime_after_synchronize(stream);
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
        sp_runtime_after_synchronize(stream);
    return poolSuccess;
}

poolError_t poolDeviceSynchronize(void) {
    poolError_t entered = sp_runtime_enter();
    if (entered != poolSuccess)
        return entered;
    CUresult error = sp_context_synchronize();
    if (error != CUDA_SUCCESS)
        return sp_fail_driver(error, "synchronising the context");
    sp_runtime_after_synchronize(NULL);
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
    return entered == poolSuccess ? answer(sp_stream_query(stream, handle), "querying the stream") : entered;
}

poolError_t poolEventQuery(CUevent event) {
    struct sp_stream *stream;
    poolError_t entered = sp_runtime_enter();
    return entered == poolSuccess ? answer(sp_event_query(event, &stream), "querying the event") : entered;
}

// A driver doesn't tell the identity of a capturing stream, and nothing is to be learned from a record in a
// capture.
poolError_t poolEventRecord(CUevent event, CUstream handle) {
    struct sp_stream *stream = NULL;
    poolError_t entered = sp_runtime_enter();
    if (entered == poolSuccess && sp_stream_check_capture(handle) == CUDA_SUCCESS)
        entered = sp_api_stream(handle, &stream);
    if (entered != poolSuccess)
        return entered;
    CUresult error = sp_event_record(event, stream, handle);
    return error == CUDA_SUCCESS ? poolSuccess : sp_fail_driver(error, "recording the event");
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
