// Events.
#include "simcuda/work/event.h"
#include "simcuda/bridge/bridge.h"
#include "simcuda/queue/context.h"
#include "simcuda/queue/queue.h"
#include "simcuda/queue/stream.h"

// An event that other processes see has no times.
static bool are_flags(unsigned flags) {
    return !(flags & CU_EVENT_INTERPROCESS) || flags & CU_EVENT_DISABLE_TIMING;
}

static CUresult create(CUevent *event, unsigned flags) {
    struct sim_context *context;
    if (!event || !are_flags(flags))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_context_current_healthy(&context);
    return result == CUDA_SUCCESS ? sim_event_create(context, flags, event) : result;
}

CUresult cuEventCreate(CUevent *event, unsigned int flags) {
    SIM_CALL(cuEventCreate, create(event, flags));
}

static CUresult record(CUevent handle, CUstream stream) {
    struct sim_event *event;
    struct sim_queue *queue;
    CUresult result = sim_event_find(handle, &event);
    if (result == CUDA_SUCCESS)
        result = sim_stream_queue(stream, &queue);
    return result == CUDA_SUCCESS ? sim_event_record(event, queue) : result;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
    SIM_CALL(cuEventRecord, record(event, stream));
}

// An external record is a node of a graph, and no graph is launched here.
static CUresult record_external(CUstream stream) {
    struct sim_queue *queue;
    CUresult result = sim_stream_queue(stream, &queue);
    if (result != CUDA_SUCCESS)
        return result;
    return queue->capturing.capture ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_ILLEGAL_STATE;
}

static CUresult record_with(CUevent event, CUstream stream, unsigned flags) {
    if (flags == CU_EVENT_RECORD_DEFAULT)
        return record(event, stream);
    return flags == CU_EVENT_RECORD_EXTERNAL ? record_external(stream) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags) {
    SIM_CALL(cuEventRecordWithFlags, record_with(event, stream, flags));
}

static CUresult elapsed(float *milliseconds, CUevent start_handle, CUevent end_handle) {
    struct sim_event *start, *end;
    if (!milliseconds) // seen on an H200
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = sim_event_find(start_handle, &start);
    if (result == CUDA_SUCCESS)
        result = sim_event_find(end_handle, &end);
    return result == CUDA_SUCCESS ? sim_event_elapsed(start, end, milliseconds) : result;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
    SIM_CALL(cuEventElapsedTime, elapsed(milliseconds, start, end));
}

CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end) {
    SIM_CALL(cuEventElapsedTime_v2, elapsed(milliseconds, start, end));
}

static CUresult with_event(CUevent handle, CUresult (*act)(struct sim_event *event)) {
    struct sim_event *event;
    CUresult result = sim_event_find(handle, &event);
    return result == CUDA_SUCCESS ? act(event) : result;
}

CUresult cuEventQuery(CUevent event) {
    SIM_CALL(cuEventQuery, with_event(event, sim_event_query));
}

CUresult cuEventSynchronize(CUevent event) {
    SIM_CALL(cuEventSynchronize, with_event(event, sim_event_synchronize));
}

// A sticky error is no reason to keep the event, and is told.
static CUresult destroy(CUevent handle) {
    struct sim_event *event;
    CUresult result = sim_event_find(handle, &event);
    if (!event)
        return result;
    sim_event_destroy(event);
    return result;
}

CUresult cuEventDestroy_v2(CUevent event) {
    SIM_CALL(cuEventDestroy_v2, destroy(event));
}
