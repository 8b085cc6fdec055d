// Host functions.
#include "simcuda/bridge/bridge.h"
#include "simcuda/common/thread.h"
#include "simcuda/queue/capture.h"
#include "simcuda/queue/context.h"
#include "simcuda/queue/item.h"
#include "simcuda/queue/stream.h"
#include "simcuda/work/host_function.h"
#include "simcuda/work/launch.h"

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
    SIM_CALL(cuStreamAddCallback,
             callback && flags == 0 ? add_callback(stream, &job) : CUDA_ERROR_INVALID_VALUE);
}
