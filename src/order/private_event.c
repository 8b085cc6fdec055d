#include "order/private_event.h"

// A record on a blocking stream must be an action that a bare synchronise of the stream waits for, whoever calls it: see
// order/action.h. Measured on an H200, with work pending on the legacy stream alone: a record of a plain event isn't, one
// of an event for blocking waits is, and costs no more. An anonymous stream's name may come to stand for a blocking one.
static unsigned int flags_for(const struct sp_stream *stream) {
    enum sp_stream_kind kind = (enum sp_stream_kind)atomic_load_explicit(&stream->kind, memory_order_relaxed);
    bool may_be_blocking = kind == SP_STREAM_BLOCKING || (!stream->identified && kind != SP_STREAM_LEGACY);
    return may_be_blocking ? CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC : CU_EVENT_DISABLE_TIMING;
}

CUresult sp_private_event_create(const struct sp_stream *stream, CUevent *event) {
    CUcontext popped;
    CUresult error = sp_native_noted(sp_driver->cuCtxPushCurrent(stream->context), "cuCtxPushCurrent");
    if (error != CUDA_SUCCESS)
        return error;
    error = sp_native_noted(sp_driver->cuEventCreate(event, flags_for(stream)), "cuEventCreate");
    sp_driver->cuCtxPopCurrent(&popped);
    return error;
}

void sp_private_event_destroy(CUevent event) {
    sp_driver->cuEventDestroy(event);
}
