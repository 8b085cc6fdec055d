// Streams and captures.
#include "simcuda/queue/stream.h"
#include "simcuda/bridge/bridge.h"
#include "simcuda/common/thread.h"
#include "simcuda/queue/capture.h"
#include "simcuda/queue/context.h"
#include "simcuda/queue/queue.h"
#include "simcuda/work/event.h"
#include "simcuda/work/question.h"

// ----------------------------------------------------------------------------------------- queries

// This is told of a queue, which may end once the lock is given back.
struct told {
    uint64_t id;
    CUstreamCaptureStatus status;
};

// The slow way, for per-thread default streams and for handles that are wrong.
static CUresult ask_queue(CUstream handle, struct told *told) {
    struct sim_queue *queue;
    sim_lock();
    CUresult result = sim_stream_queue(handle, &queue);
    if (result == CUDA_SUCCESS)
        *told = (struct told){queue->stream_id, queue->capture_status};
    sim_unlock();
    return result;
}

static int is_legacy(CUstream handle) {
    return (!handle && !sim_null_stream_is_own) || handle == CU_STREAM_LEGACY;
}

// As seen on an H200: asking a stream that captures who it is, or the legacy stream while a
// blocking one captures, is an error that invalidates the capture, in every mode.
static CUresult refuse_if_capturing(CUstream handle, const char *call) {
    struct sim_queue *queue;
    sim_lock();
    CUresult result = sim_stream_queue(handle, &queue);
    if (result == CUDA_SUCCESS)
        result = sim_capture_check_identity(queue, call);
    sim_unlock();
    return result;
}

static int captures(const struct sim_stream *stream) {
    return atomic_load_explicit(&stream->capture_status, memory_order_relaxed) !=
           CU_STREAM_CAPTURE_STATUS_NONE;
}

// As seen on an H200: a stream whose context has failed tells that alone.
static CUresult error_of(const struct sim_stream *stream) {
    return sim_context_error(atomic_load_explicit(&stream->context, memory_order_relaxed));
}

static CUresult context_of(CUstream handle, CUcontext *result) {
    struct told told;
    struct sim_context *context;
    struct sim_stream *stream = sim_stream_find(handle);
    if (!stream && !sim_stream_is_default(handle))
        return ask_queue(handle, &told);
    CUresult failure = stream ? error_of(stream) : sim_context_current_healthy(&context);
    if (stream)
        context = atomic_load_explicit(&stream->context, memory_order_relaxed);
    if (failure == CUDA_SUCCESS)
        *result = sim_context_handle(context);
    return failure;
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *context) {
    SIM_QUERY(cuStreamGetCtx);
    return context ? context_of(handle, context) : CUDA_ERROR_INVALID_VALUE;
}

// No stream is of a green context.
CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext *context, CUgreenCtx *green) {
    SIM_QUERY(cuStreamGetCtx_v2);
    if (!context || !green)
        return CUDA_ERROR_INVALID_VALUE;
    *green = NULL;
    return context_of(handle, context);
}

CUresult cuStreamGetFlags(CUstream handle, unsigned int *flags) {
    struct told told;
    SIM_QUERY(cuStreamGetFlags);
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_stream *stream = sim_stream_find(handle);
    CUresult failure = stream ? error_of(stream) : ask_queue(handle, &told);
    if (failure == CUDA_SUCCESS && stream && captures(stream))
        failure = refuse_if_capturing(handle, "cuStreamGetFlags");
    if (failure == CUDA_SUCCESS)
        *flags =
            stream ? atomic_load_explicit(&stream->flags, memory_order_relaxed) : CU_STREAM_DEFAULT;
    return failure;
}

CUresult cuStreamGetId(CUstream handle, unsigned long long *id) {
    struct told told;
    struct sim_context *context;
    SIM_QUERY(cuStreamGetId);
    if (!id)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_stream *stream = sim_stream_find(handle);
    if (stream) {
        CUresult failure =
            captures(stream) ? refuse_if_capturing(handle, "cuStreamGetId") : error_of(stream);
        if (failure == CUDA_SUCCESS)
            *id = atomic_load_explicit(&stream->element.identity, memory_order_relaxed);
        return failure;
    }
    if (!is_legacy(handle)) {
        CUresult failure = ask_queue(handle, &told);
        if (failure == CUDA_SUCCESS)
            *id = told.id;
        return failure;
    }
    CUresult failure = sim_context_current_healthy(&context);
    if (failure == CUDA_SUCCESS &&
        atomic_load_explicit(&context->blocking_captures, memory_order_relaxed) > 0)
        failure = refuse_if_capturing(handle, "cuStreamGetId");
    if (failure == CUDA_SUCCESS)
        *id = atomic_load_explicit(&context->legacy_stream_id, memory_order_relaxed);
    return failure;
}

static CUresult legacy_status(CUstreamCaptureStatus *status) {
    struct sim_context *context;
    CUresult failure = sim_context_current_healthy(&context);
    if (failure != CUDA_SUCCESS)
        return failure;
    if (atomic_load_explicit(&context->blocking_captures, memory_order_relaxed) > 0)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
    struct told told;
    SIM_QUERY(cuStreamIsCapturing);
    if (!status)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_stream *stream = sim_stream_find(handle);
    if (stream) {
        *status = (CUstreamCaptureStatus)atomic_load_explicit(&stream->capture_status,
                                                              memory_order_relaxed);
        return error_of(stream);
    }
    if (is_legacy(handle))
        return legacy_status(status);
    CUresult failure = ask_queue(handle, &told);
    if (failure == CUDA_SUCCESS)
        *status = told.status;
    return failure;
}

// The graph and its nodes can't be told: a captured piece of work is counted and not kept.
static CUresult describe_capture(CUstream handle, CUstreamCaptureStatus *status, uint64_t *id,
                                 bool asks_for_graph) {
    struct sim_queue *queue;
    if (!status)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_stream_queue(handle, &queue);
    if (result == CUDA_SUCCESS)
        result = sim_capture_status(queue, status);
    if (result != CUDA_SUCCESS || *status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return result;
    if (asks_for_graph)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (id)
        *id = sim_capture_identity(queue);
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus *status, uint64_t *id) {
    SIM_CALL(cuStreamGetCaptureInfo, describe_capture(handle, status, id, false));
}

CUresult cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus *status, uint64_t *id,
                                   CUgraph *graph, const CUgraphNode **dependencies,
                                   size_t *count) {
    SIM_CALL(cuStreamGetCaptureInfo_v2,
             describe_capture(handle, status, id, graph || dependencies || count));
}

CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *status, uint64_t *id,
                                   CUgraph *graph, const CUgraphNode **dependencies,
                                   const CUgraphEdgeData **edges, size_t *count) {
    SIM_CALL(cuStreamGetCaptureInfo_v3,
             describe_capture(handle, status, id, graph || dependencies || edges || count));
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
    SIM_QUERY(cuThreadExchangeStreamCaptureMode);
    if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_thread *thread = sim_thread_self();
    CUstreamCaptureMode before = thread->capture_mode;
    thread->capture_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

// ----------------------------------------------------------------------------------------- waiting

static CUresult query(CUstream handle) {
    struct sim_queue *queue;
    CUresult result = sim_stream_queue(handle, &queue);
    if (result == CUDA_SUCCESS)
        result = sim_capture_check_queue(queue, "cuStreamQuery");
    if (result != CUDA_SUCCESS)
        return result;
    struct sim_context *context = queue->context;
    return sim_question_poll_queue(queue) ? sim_context_error(context) : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamQuery(CUstream handle) {
    SIM_CALL(cuStreamQuery, query(handle));
}

static CUresult synchronize(CUstream handle) {
    struct sim_queue *queue;
    CUresult result = sim_stream_queue(handle, &queue);
    if (result == CUDA_SUCCESS)
        result = sim_capture_check_queue(queue, "cuStreamSynchronize");
    if (result != CUDA_SUCCESS)
        return result;
    struct sim_context *context = queue->context;
    sim_question_wait_queue(queue);
    return sim_context_error(context);
}

CUresult cuStreamSynchronize(CUstream handle) {
    SIM_CALL(cuStreamSynchronize, synchronize(handle));
}

static CUresult wait_event(CUstream handle, CUevent event_handle, unsigned flags) {
    struct sim_queue *queue;
    struct sim_event *event;
    if (flags > 1)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_stream_queue(handle, &queue);
    if (result == CUDA_SUCCESS)
        result = sim_event_find(event_handle, &event);
    return result == CUDA_SUCCESS ? sim_event_stream_wait(event, queue) : result;
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int flags) {
    SIM_CALL(cuStreamWaitEvent, wait_event(handle, event, flags));
}

// ------------------------------------------------------------------------------- life and captures

static CUresult create(CUstream *handle, unsigned flags, int priority) {
    struct sim_context *context;
    if (!handle || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_context_current_healthy(&context);
    if (result == CUDA_SUCCESS)
        result = sim_stream_create(context, flags, handle);
    if (result == CUDA_SUCCESS)
        sim_stream_find(*handle)->queue->attributes.priority = sim_clamp_priority(priority);
    return result;
}

CUresult cuStreamCreate(CUstream *handle, unsigned int flags) {
    SIM_CALL(cuStreamCreate, create(handle, flags, SIM_LEAST_PRIORITY));
}

CUresult cuStreamCreateWithPriority(CUstream *handle, unsigned int flags, int priority) {
    SIM_CALL(cuStreamCreateWithPriority, create(handle, flags, priority));
}

// A sticky error is no reason to keep the stream, and is told.
static CUresult destroy(CUstream handle) {
    struct sim_queue *queue;
    struct sim_stream *stream = sim_stream_find(handle);
    if (sim_stream_is_default(handle))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!stream)
        return sim_stream_queue(handle, &queue);
    CUresult result = sim_context_error(stream->context);
    sim_stream_destroy(stream);
    return result;
}

CUresult cuStreamDestroy_v2(CUstream handle) {
    SIM_CALL(cuStreamDestroy_v2, destroy(handle));
}

static CUresult begin_capture(CUstream handle, CUstreamCaptureMode mode) {
    struct sim_queue *queue;
    CUresult result = sim_stream_queue(handle, &queue);
    return result == CUDA_SUCCESS ? sim_capture_begin(queue, mode) : result;
}

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
    SIM_CALL(cuStreamBeginCapture_v2, begin_capture(handle, mode));
}

static CUresult end_capture(CUstream handle, CUgraph *graph) {
    struct sim_queue *queue;
    if (!graph)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_stream_queue(handle, &queue);
    return result == CUDA_SUCCESS ? sim_capture_end(queue, graph) : result;
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph) {
    SIM_CALL(cuStreamEndCapture, end_capture(handle, graph));
}

CUresult cuGraphDestroy(CUgraph graph) {
    SIM_CALL(cuGraphDestroy, sim_graph_destroy(graph));
}
