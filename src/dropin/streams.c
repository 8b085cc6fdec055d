// The driver's calls that make and destroy streams, and that begin and end captures. Each is noted,
// from the start of the process on, so that the driver needn't be asked for it later.
#include "dropin/captures.h"
#include "dropin/driver_file.h"
#include "dropin/real.h"
#include "dropin/seen.h"
#include "dropin/served.h"
#include "dropin/stream.h"

static CUcontext current_context(void) {
    CUcontext context = NULL;
    return sp_real_call(cuCtxGetCurrent, (&context)) == CUDA_SUCCESS ? context : NULL;
}

// ----------------------------------------------------------------------------------------- streams

// These calls make streams of the current context.
static CUresult note_created(CUresult result, const CUstream *stream) {
    CUdevice device = -1;
    if (result != CUDA_SUCCESS)
        return result;
    CUcontext context = current_context();
    if (sp_real_call(cuCtxGetDevice, (&device)) != CUDA_SUCCESS)
        context = NULL;
    sp_seen_created(*stream, context, context ? device : -1);
    return result;
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags) {
    return note_created(sp_real_call(cuStreamCreate, (stream, flags)), stream);
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority) {
    return note_created(sp_real_call(cuStreamCreateWithPriority, (stream, flags, priority)),
                        stream);
}

// It isn't a stream of the current context.
CUresult cuGreenCtxStreamCreate(CUstream *stream, struct CUgreenCtx_st *green, unsigned int flags,
                                int priority) {
    CUresult result = sp_real_call(cuGreenCtxStreamCreate, (stream, green, flags, priority));
    if (result == CUDA_SUCCESS)
        sp_seen_created(*stream, NULL, -1);
    return result;
}

static CUresult destroy_by(CUresult (*real)(CUstream stream), CUstream stream) {
    uint64_t before = sp_captures_now();
    sp_seen_ends(stream);
    CUresult result = real ? real(stream) : sp_real_lacks();
    if (result == CUDA_SUCCESS)
        sp_captures_end_of_stream(stream, before);
    else
        sp_interpose_forget_all(); // it lives on unseen, and its later frees record their events
    return result;
}

static CUresult destroy(CUstream stream) {
    return destroy_by(sp_real()->cuStreamDestroy_v2, stream);
}

// A program may call the library itself.
__attribute__((constructor)) static void destroy_for_library(void) {
    sp_interpose_set_destroy(destroy, sp_driver_file_is_behind_us());
}

CUresult cuStreamDestroy_v2(CUstream stream) {
    CUresult result;
    if (!sp_served_is_on())
        return destroy(stream);
    SP_SERVE_ORDER(result, sp_seen_promises(stream), poolStreamDestroy(stream));
    return result;
}

// The form of before CUDA 4.0 does the same.
CUresult cuStreamDestroy(CUstream stream) {
    return sp_served_is_on() ? cuStreamDestroy_v2(stream)
                             : destroy_by(sp_real()->cuStreamDestroy, stream);
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
    return stream == CU_STREAM_PER_THREAD ? current_context() : sp_seen_context(stream);
}

// Defines a function that begins a capture.
#define BEGIN(symbol, parameters, arguments)                                                       \
    CUresult symbol parameters {                                                                   \
        CUcontext context = context_of(stream);                                                    \
        sp_captures_begins(stream, context);                                                       \
        CUresult result = sp_real_call(symbol, arguments);                                         \
        if (result == CUDA_SUCCESS)                                                                \
            sp_captures_begun(stream, context);                                                    \
        else                                                                                       \
            sp_captures_refused(stream, context, captures);                                        \
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
    sp_captures_ended(stream, context, captures);
    return result;
}

// ------------------------------------------------------------------------------- per-thread stream

CUresult cuStreamBeginCapture_ptsz(CUstream stream) {
    return cuStreamBeginCapture(sp_stream_per_thread(stream));
}

CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
    return cuStreamBeginCapture_v2(sp_stream_per_thread(stream), mode);
}

CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph, const CUgraphNode *nodes,
                                          const struct CUgraphEdgeData_st *edges, size_t count,
                                          CUstreamCaptureMode mode) {
    return cuStreamBeginCaptureToGraph(sp_stream_per_thread(stream), graph, nodes, edges, count,
                                       mode);
}

CUresult cuStreamBeginRecaptureToGraph_ptsz(CUstream stream, CUstreamCaptureMode mode,
                                            CUgraph graph, void *callback, void *data) {
    return cuStreamBeginRecaptureToGraph(sp_stream_per_thread(stream), mode, graph, callback, data);
}

CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph *graph) {
    return cuStreamEndCapture(sp_stream_per_thread(stream), graph);
}
