// Contexts.
#include "simcuda/queue/context.h"
#include "simcuda/bridge/bridge.h"
#include "simcuda/context_end.h"
#include "simcuda/memory/device.h"
#include "simcuda/queue/capture.h"
#include "simcuda/work/event.h"
#include "simcuda/work/question.h"

CUresult cuCtxGetCurrent(CUcontext *context) {
    SIM_QUERY(cuCtxGetCurrent);
    if (!context)
        return CUDA_ERROR_INVALID_VALUE;
    *context = sim_context_current_handle(sim_thread_self());
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device) {
    struct sim_context *context;
    SIM_QUERY(cuCtxGetDevice);
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_context_current(sim_thread_self(), &context);
    if (result == CUDA_SUCCESS)
        *device = atomic_load_explicit(&context->device, memory_order_relaxed);
    return result;
}

CUresult cuCtxPushCurrent_v2(CUcontext handle) {
    struct sim_context *context;
    SIM_BEGIN(cuCtxPushCurrent_v2);
    CUresult result = sim_context_named(handle, &context);
    if (result == CUDA_SUCCESS)
        result = sim_context_push(sim_thread_self(), context);
    SIM_END(cuCtxPushCurrent_v2, result);
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
    SIM_QUERY(cuCtxPopCurrent_v2);
    return sim_context_pop(sim_thread_self(), context);
}

CUresult cuCtxSetCurrent(CUcontext handle) {
    struct sim_context *context = NULL;
    SIM_BEGIN(cuCtxSetCurrent);
    CUresult result = handle ? sim_context_named(handle, &context) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        result = sim_context_set_current(sim_thread_self(), context);
    SIM_END(cuCtxSetCurrent, result);
}

// Null stands for the current context.
static CUresult find_or_current(CUcontext handle, struct sim_context **context) {
    return handle ? sim_context_named(handle, context)
                  : sim_context_current(sim_thread_self(), context);
}

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext handle) {
    struct sim_context *context;
    SIM_BEGIN(cuCtxGetDevice_v2);
    CUresult result = device ? find_or_current(handle, &context) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *device = context->device;
    SIM_END(cuCtxGetDevice_v2, result);
}

static CUresult synchronize(CUcontext handle) {
    struct sim_context *context;
    CUresult result = find_or_current(handle, &context);
    if (result == CUDA_SUCCESS)
        result = sim_capture_check_context(context, "cuCtxSynchronize");
    if (result != CUDA_SUCCESS)
        return result;
    if (sim_context_error(context) == CUDA_SUCCESS)
        sim_question_wait_context(context);
    return sim_context_error(context);
}

CUresult cuCtxSynchronize(void) {
    SIM_CALL(cuCtxSynchronize, synchronize(NULL));
}

CUresult cuCtxSynchronize_v2(CUcontext handle) {
    SIM_CALL(cuCtxSynchronize_v2, synchronize(handle));
}

// The driver can be asked for the id of a context that is gone: seen on an H200.
static CUresult identify(CUcontext handle, unsigned long long *id) {
    struct sim_context *context;
    if (handle && !sim_context_find(handle) && sim_context_is_known(handle))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    CUresult result = find_or_current(handle, &context);
    if (result == CUDA_SUCCESS)
        *id = sim_context_identity(context);
    return result;
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long *id) {
    SIM_CALL(cuCtxGetId, id ? identify(handle, id) : CUDA_ERROR_INVALID_VALUE);
}

static CUresult record_event(CUcontext handle, CUevent event_handle) {
    struct sim_context *context;
    struct sim_event *event;
    CUresult result = find_or_current(handle, &context);
    if (result == CUDA_SUCCESS)
        result = sim_event_find(event_handle, &event);
    return result == CUDA_SUCCESS ? sim_event_record_context(event, context) : result;
}

CUresult cuCtxRecordEvent(CUcontext handle, CUevent event) {
    SIM_CALL(cuCtxRecordEvent, record_event(handle, event));
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *handle, CUdevice device) {
    struct sim_context *context;
    SIM_BEGIN(cuDevicePrimaryCtxRetain);
    if (!handle)
        SIM_END(cuDevicePrimaryCtxRetain, CUDA_ERROR_INVALID_VALUE);
    if (!sim_device_exists(device))
        SIM_END(cuDevicePrimaryCtxRetain, CUDA_ERROR_INVALID_DEVICE);
    CUresult result = sim_context_retain_primary(device, &context);
    if (result == CUDA_SUCCESS)
        *handle = sim_context_handle(context);
    SIM_END(cuDevicePrimaryCtxRetain, result);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    SIM_CALL(cuDevicePrimaryCtxRelease, sim_device_exists(device)
                                            ? sim_context_release_primary(device)
                                            : CUDA_ERROR_INVALID_DEVICE);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    return cuDevicePrimaryCtxRelease(device);
}

// The flags that were set go, too, as seen on an H200.
CUresult cuDevicePrimaryCtxReset(CUdevice device) {
    SIM_BEGIN(cuDevicePrimaryCtxReset);
    if (!sim_device_exists(device))
        SIM_END(cuDevicePrimaryCtxReset, CUDA_ERROR_INVALID_DEVICE);
    struct sim_context *context = sim_context_primary(device);
    if (context)
        sim_context_destroy(context);
    sim_context_set_primary_flags(device, 0);
    SIM_END(cuDevicePrimaryCtxReset, CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    return cuDevicePrimaryCtxReset(device);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active) {
    SIM_BEGIN(cuDevicePrimaryCtxGetState);
    if (!flags || !active)
        SIM_END(cuDevicePrimaryCtxGetState, CUDA_ERROR_INVALID_VALUE);
    if (!sim_device_exists(device))
        SIM_END(cuDevicePrimaryCtxGetState, CUDA_ERROR_INVALID_DEVICE);
    *flags = sim_context_primary_flags(device);
    *active = sim_context_primary(device) != NULL;
    SIM_END(cuDevicePrimaryCtxGetState, CUDA_SUCCESS);
}

static CUresult create(CUcontext *handle, unsigned flags, int device) {
    struct sim_context *context;
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sim_device_exists(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!sim_settings_flags_are_valid(flags))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_context_create(device, flags, &context);
    if (result != CUDA_SUCCESS)
        return result;
    *handle = sim_context_handle(context);
    return sim_context_push(sim_thread_self(), context);
}

CUresult cuCtxCreate_v2(CUcontext *handle, unsigned int flags, CUdevice device) {
    SIM_CALL(cuCtxCreate_v2, create(handle, flags, device));
}

// No context can be limited to some multiprocessors, or share itself with a graphics API.
CUresult cuCtxCreate_v3(CUcontext *handle, CUexecAffinityParam *limits, int count,
                        unsigned int flags, CUdevice device) {
    SIM_BEGIN(cuCtxCreate_v3);
    if (count < 0 || (!limits && count > 0))
        SIM_END(cuCtxCreate_v3, CUDA_ERROR_INVALID_VALUE);
    SIM_END(cuCtxCreate_v3,
            count > 0 ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : create(handle, flags, device));
}

// A description that asks for neither is as good as none: seen on an H200.
CUresult cuCtxCreate_v4(CUcontext *handle, CUctxCreateParams *limits, unsigned int flags,
                        CUdevice device) {
    SIM_BEGIN(cuCtxCreate_v4);
    if (limits && limits->execAffinityParams && limits->cigParams)
        SIM_END(cuCtxCreate_v4, CUDA_ERROR_INVALID_VALUE);
    if (limits && limits->cigParams)
        SIM_END(cuCtxCreate_v4, CUDA_ERROR_NOT_SUPPORTED);
    if (limits && limits->execAffinityParams)
        SIM_END(cuCtxCreate_v4, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
    SIM_END(cuCtxCreate_v4, create(handle, flags, device));
}

static CUresult destroy(CUcontext handle) {
    struct sim_thread *thread = sim_thread_self();
    struct sim_context *context;
    CUresult result = sim_context_named(handle, &context);
    if (result == CUDA_SUCCESS && atomic_load(&context->is_primary))
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result != CUDA_SUCCESS)
        return result;
    if (sim_context_current_handle(thread) == handle)
        sim_context_pop(thread, NULL);
    sim_context_destroy(context);
    return CUDA_SUCCESS;
}

CUresult cuCtxDestroy_v2(CUcontext handle) {
    SIM_CALL(cuCtxDestroy_v2, destroy(handle));
}
