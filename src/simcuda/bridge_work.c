// Modules, kernel launches and host functions.
#include "simcuda/bridge.h"
#include "simcuda/capture.h"
#include "simcuda/context.h"
#include "simcuda/host_function.h"
#include "simcuda/item.h"
#include "simcuda/kernel.h"
#include "simcuda/launch.h"
#include "simcuda/stream.h"
#include "simcuda/thread.h"

static CUresult load(CUmodule *module, const char *image) {
    struct sim_context *context;
    if (!module || !image)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_context_current(sim_thread_self(), &context);
    return result == CUDA_SUCCESS ? sim_kernel_load(context, image, module) : result;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    SIM_BEGIN(cuModuleLoadData);
    SIM_END(cuModuleLoadData, load(module, image));
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count,
                            CUjit_option *options, void **values) {
    (void)count, (void)options, (void)values;
    SIM_BEGIN(cuModuleLoadDataEx);
    SIM_END(cuModuleLoadDataEx, load(module, image));
}

CUresult cuModuleUnload(CUmodule module) {
    SIM_BEGIN(cuModuleUnload);
    SIM_END(cuModuleUnload, sim_kernel_unload(module));
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    SIM_BEGIN(cuModuleGetFunction);
    if (!function || !name)
        SIM_END(cuModuleGetFunction, CUDA_ERROR_INVALID_VALUE);
    SIM_END(cuModuleGetFunction, sim_kernel_find(function, module, name));
}

// The shape of the grid changes nothing here: the kernels stride over it.
CUresult cuLaunchKernel(CUfunction function, unsigned int gridX, unsigned int gridY,
                        unsigned int gridZ, unsigned int blockX, unsigned int blockY,
                        unsigned int blockZ, unsigned int sharedBytes, CUstream stream,
                        void **parameters, void **extra) {
    struct sim_job job = {0};
    (void)sharedBytes;
    SIM_BEGIN(cuLaunchKernel);
    if (!gridX || !gridY || !gridZ || !blockX || !blockY || !blockZ)
        SIM_END(cuLaunchKernel, CUDA_ERROR_INVALID_VALUE);
    if (extra)
        SIM_END(cuLaunchKernel, CUDA_ERROR_NOT_SUPPORTED);
    CUresult result = sim_kernel_job(function, parameters, &job);
    SIM_END(cuLaunchKernel,
            result == CUDA_SUCCESS ? sim_launch(stream, "cuLaunchKernel", &job) : result);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *userData) {
    struct sim_job job = {
        .name = "host function", .host_function = function, .user_data = userData};
    SIM_BEGIN(cuLaunchHostFunc);
    CUresult result = function ? sim_host_function_prepare() : CUDA_ERROR_INVALID_VALUE;
    SIM_END(cuLaunchHostFunc,
            result == CUDA_SUCCESS ? sim_launch(stream, "cuLaunchHostFunc", &job) : result);
}

// As cuLaunchHostFunc, but no capture can hold it.
static CUresult add_callback(CUstream stream, struct sim_job *job) {
    struct sim_queue *queue;
    CUresult result = sim_stream_queue(stream, &queue);
    if (result == CUDA_SUCCESS)
        result = sim_capture_check_identity(queue, "cuStreamAddCallback");
    if (result == CUDA_SUCCESS)
        result = sim_host_function_prepare();
    return result == CUDA_SUCCESS ? sim_launch(stream, "cuStreamAddCallback", job) : result;
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *userData,
                             unsigned int flags) {
    struct sim_job job = {.name = "stream callback",
                          .host_function = (CUhostFn)(void (*)(void))callback,
                          .user_data = userData,
                          .is_callback = true,
                          .stream = stream};
    SIM_BEGIN(cuStreamAddCallback);
    SIM_END(cuStreamAddCallback,
            callback && flags == 0 ? add_callback(stream, &job) : CUDA_ERROR_INVALID_VALUE);
}
