// These calls set and tell what belongs to the current context: flags, limits, caches, peers.
#include "simcuda/queue/setting.h"
#include "simcuda/bridge/bridge.h"
#include "simcuda/memory/device.h"
#include "simcuda/memory/peer.h"
#include "simcuda/queue/context.h"
#include "simcuda/queue/queue.h"

// Version 3.20 of the driver was the last that changed what a context is.
#define CONTEXT_VERSION 3020

// Finds the current context for a call that returns something in `answer`.
static CUresult current_for(const void *answer, struct sim_context **context) {
    return answer ? sim_context_current_healthy(context) : CUDA_ERROR_INVALID_VALUE;
}

// ------------------------------------------------------------------------------------------- flags

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags) {
    SIM_BEGIN(cuDevicePrimaryCtxSetFlags);
    if (!sim_device_exists(device))
        SIM_END(cuDevicePrimaryCtxSetFlags, CUDA_ERROR_INVALID_DEVICE);
    if (!sim_settings_flags_are_valid(flags))
        SIM_END(cuDevicePrimaryCtxSetFlags, CUDA_ERROR_INVALID_VALUE);
    sim_context_set_primary_flags(device, flags);
    SIM_END(cuDevicePrimaryCtxSetFlags, CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags) {
    return cuDevicePrimaryCtxSetFlags(device, flags);
}

// As seen on an H200, a primary context tells here, and here alone, that it maps host memory.
CUresult cuCtxGetFlags(unsigned int *flags) {
    struct sim_context *context;
    SIM_BEGIN(cuCtxGetFlags);
    CUresult result = current_for(flags, &context);
    if (result == CUDA_SUCCESS)
        *flags = context->settings.flags | (context->is_primary ? CU_CTX_MAP_HOST : 0);
    SIM_END(cuCtxGetFlags, result);
}

CUresult cuCtxSetFlags(unsigned int flags) {
    struct sim_context *context;
    SIM_BEGIN(cuCtxSetFlags);
    if (!sim_settings_flags_are_valid(flags))
        SIM_END(cuCtxSetFlags, CUDA_ERROR_INVALID_VALUE);
    CUresult result = sim_context_current_healthy(&context);
    if (result == CUDA_SUCCESS && context->is_primary)
        sim_context_set_primary_flags(context->device, flags);
    else if (result == CUDA_SUCCESS)
        context->settings.flags = flags;
    SIM_END(cuCtxSetFlags, result);
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned int *version) {
    struct sim_context *context;
    SIM_BEGIN(cuCtxGetApiVersion);
    CUresult result = handle ? sim_context_named(handle, &context) : current_for(version, &context);
    if (result == CUDA_SUCCESS && !version)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *version = CONTEXT_VERSION;
    SIM_END(cuCtxGetApiVersion, result);
}

// ------------------------------------------------------------------------------------------ limits

CUresult cuCtxGetLimit(size_t *value, CUlimit limit) {
    struct sim_context *context;
    SIM_BEGIN(cuCtxGetLimit);
    CUresult result = current_for(value, &context);
    SIM_END(cuCtxGetLimit, result == CUDA_SUCCESS
                               ? sim_settings_get_limit(&context->settings, limit, value)
                               : result);
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    struct sim_context *context;
    SIM_BEGIN(cuCtxSetLimit);
    CUresult result = sim_context_current_healthy(&context);
    SIM_END(cuCtxSetLimit, result == CUDA_SUCCESS
                               ? sim_settings_set_limit(&context->settings, limit, value)
                               : result);
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *config) {
    struct sim_context *context;
    SIM_BEGIN(cuCtxGetCacheConfig);
    CUresult result = current_for(config, &context);
    if (result == CUDA_SUCCESS)
        *config = context->settings.cache;
    SIM_END(cuCtxGetCacheConfig, result);
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
    struct sim_context *context;
    SIM_BEGIN(cuCtxSetCacheConfig);
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        SIM_END(cuCtxSetCacheConfig, CUDA_ERROR_INVALID_VALUE);
    CUresult result = sim_context_current_healthy(&context);
    if (result == CUDA_SUCCESS)
        context->settings.cache = config;
    SIM_END(cuCtxSetCacheConfig, result);
}

// As seen on an H200: a program may ask for other banks, but they are four bytes wide.
CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config) {
    struct sim_context *context;
    SIM_BEGIN(cuCtxGetSharedMemConfig);
    CUresult result = current_for(config, &context);
    if (result == CUDA_SUCCESS)
        *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    SIM_END(cuCtxGetSharedMemConfig, result);
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
    struct sim_context *context;
    SIM_BEGIN(cuCtxSetSharedMemConfig);
    if ((unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
        SIM_END(cuCtxSetSharedMemConfig, CUDA_ERROR_INVALID_VALUE);
    SIM_END(cuCtxSetSharedMemConfig, sim_context_current_healthy(&context));
}

// Either may be left out.
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    struct sim_context *context;
    SIM_BEGIN(cuCtxGetStreamPriorityRange);
    CUresult result = sim_context_current_healthy(&context);
    if (result == CUDA_SUCCESS && least)
        *least = SIM_LEAST_PRIORITY;
    if (result == CUDA_SUCCESS && greatest)
        *greatest = SIM_GREATEST_PRIORITY;
    SIM_END(cuCtxGetStreamPriorityRange, result);
}

// There is no cache.
CUresult cuCtxResetPersistingL2Cache(void) {
    struct sim_context *context;
    SIM_CALL(cuCtxResetPersistingL2Cache, sim_context_current_healthy(&context));
}

// No profiler listens.
CUresult cuProfilerStart(void) {
    struct sim_context *context;
    SIM_CALL(cuProfilerStart, sim_context_current_healthy(&context));
}

CUresult cuProfilerStop(void) {
    struct sim_context *context;
    SIM_CALL(cuProfilerStop, sim_context_current_healthy(&context));
}

// ------------------------------------------------------------------------------------------- peers

static CUresult current_and(CUcontext handle, struct sim_context **context,
                            struct sim_context **peer) {
    CUresult result = sim_context_named(handle, peer);
    return result == CUDA_SUCCESS ? sim_context_current_healthy(context) : result;
}

CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned int flags) {
    struct sim_context *context, *peer;
    SIM_BEGIN(cuCtxEnablePeerAccess);
    CUresult result = flags == 0 ? current_and(handle, &context, &peer) : CUDA_ERROR_INVALID_VALUE;
    SIM_END(cuCtxEnablePeerAccess,
            result == CUDA_SUCCESS ? sim_peer_enable(context, peer) : result);
}

CUresult cuCtxDisablePeerAccess(CUcontext handle) {
    struct sim_context *context, *peer;
    SIM_BEGIN(cuCtxDisablePeerAccess);
    CUresult result = current_and(handle, &context, &peer);
    SIM_END(cuCtxDisablePeerAccess,
            result == CUDA_SUCCESS ? sim_peer_disable(context, peer) : result);
}
