// The driver's calls that synchronise, query, record and wait, and those that end an event. The
// library makes the driver's call itself, and learns from it what our pools may reuse.
#include "dropin/real.h"
#include "dropin/seen.h"
#include "dropin/served.h"
#include "dropin/stream.h"

// Defines a function: the library's call once it serves, and the driver's before. The second is for
// those that are passed a stream.
#define FORWARD(symbol, parameters, arguments, call)                                               \
    FORWARD_PROMISING(symbol, parameters, arguments, call, poolPromiseNothing)
#define FORWARD_ON_STREAM(symbol, parameters, arguments, call)                                     \
    FORWARD_PROMISING(symbol, parameters, arguments, call, sp_seen_promises(stream))
#define FORWARD_PROMISING(symbol, parameters, arguments, call, promises)                           \
    CUresult symbol parameters {                                                                   \
        CUresult result;                                                                           \
        if (!sp_served_is_on())                                                                    \
            return sp_real_call(symbol, arguments);                                                \
        SP_SERVE_ORDER(result, promises, call arguments);                                          \
        return result;                                                                             \
    }

FORWARD(cuCtxSynchronize, (void), (), poolDeviceSynchronize)
FORWARD_ON_STREAM(cuStreamSynchronize, (CUstream stream), (stream), poolStreamSynchronize)
FORWARD_ON_STREAM(cuStreamQuery, (CUstream stream), (stream), poolStreamQuery)
FORWARD_ON_STREAM(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags),
                  (stream, event, flags), poolStreamWaitEvent)
FORWARD(cuEventSynchronize, (CUevent event), (event), poolEventSynchronize)
FORWARD(cuEventQuery, (CUevent event), (event), poolEventQuery)
FORWARD_ON_STREAM(cuEventRecord, (CUevent event, CUstream stream), (event, stream), poolEventRecord)
FORWARD(cuEventDestroy_v2, (CUevent event), (event), poolEventDestroy)

// The form of before CUDA 4.0 does the same.
CUresult cuEventDestroy(CUevent event) {
    return sp_served_is_on() ? cuEventDestroy_v2(event) : sp_real_call(cuEventDestroy, (event));
}

// A context is synchronised while it is current. Null stands for the current one.
CUresult cuCtxSynchronize_v2(CUcontext context) {
    CUcontext popped;
    if (!sp_served_is_on())
        return sp_real_call(cuCtxSynchronize_v2, (context));
    if (!context)
        return cuCtxSynchronize();
    CUresult result = sp_real_call(cuCtxPushCurrent_v2, (context));
    if (result != CUDA_SUCCESS)
        return result;
    result = cuCtxSynchronize();
    sp_real_call(cuCtxPopCurrent_v2, (&popped));
    return result;
}

// A flag is for captures, of which there is nothing to learn.
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags) {
    return flags == 0 && sp_served_is_on()
               ? cuEventRecord(event, stream)
               : sp_real_call(cuEventRecordWithFlags, (event, stream, flags));
}

// ------------------------------------------------------------------------------- per-thread stream

CUresult cuStreamSynchronize_ptsz(CUstream stream) {
    return cuStreamSynchronize(sp_stream_per_thread(stream));
}

CUresult cuStreamQuery_ptsz(CUstream stream) {
    return cuStreamQuery(sp_stream_per_thread(stream));
}

CUresult cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned int flags) {
    return cuStreamWaitEvent(sp_stream_per_thread(stream), event, flags);
}

CUresult cuEventRecord_ptsz(CUevent event, CUstream stream) {
    return cuEventRecord(event, sp_stream_per_thread(stream));
}

CUresult cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream, unsigned int flags) {
    return cuEventRecordWithFlags(event, sp_stream_per_thread(stream), flags);
}
