#include "order/context.h"

#include "order/sentinel.h"

static CUresult ask_driver(CUcontext context, uint64_t *id) {
    unsigned long long value = 0;
    CUresult error = sp_native_noted(sp_driver->cuCtxGetId(context, &value), "cuCtxGetId");
    *id = value;
    return error;
}

CUresult sp_context_id(CUcontext context, uint64_t *id) {
    return sp_driver->cuCtxGetId ? ask_driver(context, id) : sp_sentinel_id(context, id);
}

static CUresult known_id(CUcontext context, uint64_t *id) {
    return sp_driver->cuCtxGetId ? ask_driver(context, id) : sp_sentinel_known_id(context, id);
}

// Any other answer says nothing, and a context that nothing is known of is taken for alive.
bool sp_context_is_gone(CUcontext context, uint64_t id) {
    unsigned long long now = 0;
    if (!sp_driver->cuCtxGetId)
        return sp_sentinel_is_gone(context, id);
    CUresult error = sp_driver->cuCtxGetId(context, &now);
    return error == CUDA_ERROR_CONTEXT_IS_DESTROYED || (error == CUDA_SUCCESS && now != id);
}

CUresult sp_context_device(CUcontext context, int *device) {
    CUcontext popped;
    CUresult error = sp_native_noted(sp_driver->cuCtxPushCurrent(context), "cuCtxPushCurrent");
    if (error != CUDA_SUCCESS)
        return error;
    error = sp_native_noted(sp_driver->cuCtxGetDevice(device), "cuCtxGetDevice");
    sp_driver->cuCtxPopCurrent(&popped);
    return error;
}

size_t sp_context_free_memory(CUcontext context) {
    CUcontext popped;
    size_t free_bytes = 0;
    size_t total;
    if (sp_driver->cuCtxPushCurrent(context) != CUDA_SUCCESS)
        return 0;
    if (sp_driver->cuMemGetInfo(&free_bytes, &total) != CUDA_SUCCESS)
        free_bytes = 0;
    sp_driver->cuCtxPopCurrent(&popped);
    return free_bytes;
}

CUresult sp_context_current(CUcontext *context, uint64_t *id) {
    *id = 0;
    CUresult error = sp_native_noted(sp_driver->cuCtxGetCurrent(context), "cuCtxGetCurrent");
    return error == CUDA_SUCCESS && *context ? known_id(*context, id) : error;
}
