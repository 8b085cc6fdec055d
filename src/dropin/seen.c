// The driver's calls that make and destroy streams, and that begin and end captures. The library is
// told of each, from the start of the process on, and needn't ask the driver then: see
// api/observe.h.
#include "dropin/real.h"
#include "dropin/served.h"

#include "api/observe.h"

static CUstream per_thread(CUstream stream) {
    return stream ? stream : CU_STREAM_PER_THREAD;
}

static CUcontext current_context(void) {
    CUcontext context = NULL;
    return sp_real_call(cuCtxGetCurrent, (&context)) == CUDA_SUCCESS ? context : NULL;
}

__attribute__((constructor)) static void begin(void) {
    sp_observe_all();
}

// ----------------------------------------------------------------------------------------- streams

// These calls make streams of the current context.
static CUresult tell_created(CUresult result, const CUstream *stream) {
    CUdevice device = -1;
    if (result != CUDA_SUCCESS)
        return result;
    CUcontext context = current_context();
    if (sp_real_call(cuCtxGetDevice, (&device)) != CUDA_SUCCESS)
        context = NULL;
    sp_observe_created(*stream, context, context ? device : -1);
    return result;
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags) {
    return tell_created(sp_real_call(cuStreamCreate, (stream, flags)), stream);
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority) {
    return tell_created(sp_real_call(cuStreamCreateWithPriority, (stream, flags, priority)),
                        stream);
}

// It isn't a stream of the current context.
CUresult cuGreenCtxStreamCreate(CUstream *stream, struct CUgreenCtx_st *green, unsigned int flags,
                                int priority) {
    CUresult result = sp_real_call(cuGreenCtxStreamCreate, (stream, green, flags, priority));
    if (result == CUDA_SUCCESS)
        sp_observe_created(*stream, NULL, -1);
    return result;
}

// Destroys a stream as long as the library doesn't.
#define DESTROY(result, symbol, stream)                                                            \
    do {                                                                                           \
        uint64_t before_ = sp_observe_now();                                                       \
        sp_observe_stream_ends(stream);                                                            \
        (result) = sp_real_call(symbol, (stream));                                                 \
        if ((result) == CUDA_SUCCESS)                                                              \
            sp_observe_stream_ended(stream, before_);                                              \
    } while (0)

CUresult cuStreamDestroy_v2(CUstream stream) {
    CUresult result;
    if (sp_served_is_on())
        SP_SERVE_ORDER(result, poolStreamDestroy(stream));
    else
        DESTROY(result, cuStreamDestroy_v2, stream);
    return result;
}

// The form of before CUDA 4.0 does the same.
CUresult cuStreamDestroy(CUstream stream) {
    CUresult result;
    if (sp_served_is_on())
        SP_SERVE_ORDER(result, poolStreamDestroy(stream));
    else
        DESTROY(result, cuStreamDestroy, stream);
    return result;
}

// ---------------------------------------------------------------------------------------- captures

// A stream of the driver's that doesn't tell for a capture's sake is taken for capturing.
static bool captures(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = sp_real_call(cuStreamIsCapturing, (stream, &status));
    return result == CUDA_SUCCESS ? status != CU_STREAM_CAPTURE_STATUS_NONE
                                  : sp_served_is_capture(result);
}

// The thread's own default stream is that of the current context.
static CUcontext context_of(CUstream stream) {
    return stream == CU_STREAM_PER_THREAD ? current_context() : NULL;
}

// Defines a function that begins a capture.
#define BEGIN(symbol, parameters, arguments)                                                       \
    CUresult symbol parameters {                                                                   \
        CUcontext context = context_of(stream);                                                    \
        sp_observe_capture_begins(stream, context);                                                \
        CUresult result = sp_real_call(symbol, arguments);                                         \
        if (result == CUDA_SUCCESS)                                                                \
            sp_observe_capture_begun(stream, context);                                             \
        else                                                                                       \
            sp_observe_capture_refused(stream, context, captures);                                 \
        return result;                                                                             \
    }

BEGIN(cuStreamBeginCapture, (CUstream stream), (stream))
BEGIN(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))
BEGIN(cuStreamBeginCaptureToGraph,
      (CUstream stream, CUgraph graph, const CUgraphNode *nodes,
       const struct CUgraphEdgeData_st *edges, size_t count, CUstreamCaptureMode mode),
      (stream, graph, nodes, edges, count, mode))
BEGIN(cuStreamBeginRecaptureToGraph,
      (CUstream stream, CUstreamCaptureMode mode, CUgraph graph, void *callback, void *data),
      (stream, mode, graph, callback, data))

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
    CUcontext context = context_of(stream);
    CUresult result = sp_real_call(cuStreamEndCapture, (stream, graph));
    sp_observe_capture_ended(stream, context, captures);
    return result;
}

// ------------------------------------------------------------------------------- per-thread stream

CUresult cuStreamBeginCapture_ptsz(CUstream stream) {
    return cuStreamBeginCapture(per_thread(stream));
}

CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
    return cuStreamBeginCapture_v2(per_thread(stream), mode);
}

CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph, const CUgraphNode *nodes,
                                          const struct CUgraphEdgeData_st *edges, size_t count,
                                          CUstreamCaptureMode mode) {
    return cuStreamBeginCaptureToGraph(per_thread(stream), graph, nodes, edges, count, mode);
}

CUresult cuStreamBeginRecaptureToGraph_ptsz(CUstream stream, CUstreamCaptureMode mode,
                                            CUgraph graph, void *callback, void *data) {
    return cuStreamBeginRecaptureToGraph(per_thread(stream), mode, graph, callback, data);
}

CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph *graph) {
    return cuStreamEndCapture(per_thread(stream), graph);
}
