// Events.
#include "simcuda/bridge.h"
#include "simcuda/context.h"
#include "simcuda/event.h"
#include "simcuda/stream.h"
#include "simcuda/thread.h"

static CUresult create(CUevent *event, unsigned flags) {
    struct sim_context *context;
    if (!event)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_context_current(sim_thread_self(), &context);
    if (result == CUDA_SUCCESS)
        result = sim_context_error(context);
    return result == CUDA_SUCCESS ? sim_event_create(context, flags, event) : result;
}

CUresult cuEventCreate(CUevent *event, unsigned int flags) {
    SIM_BEGIN(cuEventCreate);
    SIM_END(cuEventCreate, create(event, flags));
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
    SIM_BEGIN(cuEventRecord);
    SIM_END(cuEventRecord, record(event, stream));
}

static CUresult with_event(CUevent handle, CUresult (*act)(struct sim_event *event)) {
    struct sim_event *event;
    CUresult result = sim_event_find(handle, &event);
    return result == CUDA_SUCCESS ? act(event) : result;
}

CUresult cuEventQuery(CUevent event) {
    SIM_BEGIN(cuEventQuery);
    SIM_END(cuEventQuery, with_event(event, sim_event_query));
}

CUresult cuEventSynchronize(CUevent event) {
    SIM_BEGIN(cuEventSynchronize);
    SIM_END(cuEventSynchronize, with_event(event, sim_event_synchronize));
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
    SIM_BEGIN(cuEventDestroy);
    SIM_END(cuEventDestroy, destroy(event));
}
