// Host functions.
#include "simcuda/bridge.h"
#include "simcuda/host_function.h"
#include "simcuda/item.h"
#include "simcuda/launch.h"

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *userData) {
    struct sim_job job = {
        .name = "host function", .host_function = function, .user_data = userData};
    SIM_BEGIN(cuLaunchHostFunc);
    CUresult result = function ? sim_host_function_prepare() : CUDA_ERROR_INVALID_VALUE;
    SIM_END(cuLaunchHostFunc,
            result == CUDA_SUCCESS ? sim_launch(stream, "cuLaunchHostFunc", &job) : result);
}
