// A libcuda.so.1 of three functions, two of which succeed only if all of their arguments arrive.
// With EAGER in the environment it calls, while it is loaded, the function of its own that the
// process finds first.
#include "driver/abi.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT CUresult cuInit(unsigned int flags);
EXPORT CUresult cuLaunchKernel(void *function, unsigned int grid_x, unsigned int grid_y,
                               unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                               unsigned int block_z, unsigned int shared, CUstream stream,
                               void **parameters, void **extra);
EXPORT CUresult cuTexRefSetMipmapLevelClamp(void *texture, float least, float most);

CUresult cuInit(unsigned int flags) {
    return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static bool is(const void *pointer, uintptr_t value) {
    return (uintptr_t)pointer == value;
}

CUresult cuLaunchKernel(void *function, unsigned int grid_x, unsigned int grid_y,
                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                        unsigned int block_z, unsigned int shared, CUstream stream,
                        void **parameters, void **extra) {
    bool arrived = is(function, 1) && grid_x == 2 && grid_y == 3 && grid_z == 4 && block_x == 5 &&
                   block_y == 6 && block_z == 7 && shared == 8 && is(stream, 9) &&
                   is(parameters, 10) && is(extra, 11);
    return arrived ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuTexRefSetMipmapLevelClamp(void *texture, float least, float most) {
    return is(texture, 1) && least == 0.5F && most == 12.25F ? CUDA_SUCCESS
                                                             : CUDA_ERROR_INVALID_VALUE;
}

__attribute__((constructor)) static void call_own(void) {
    CUresult (*call)(unsigned int) = NULL;
    if (!getenv("EAGER"))
        return;
    void *process = dlopen(NULL, RTLD_NOW);
    *(void **)&call = dlsym(process, "cuInit");
    if (!call || call(0) != CUDA_ERROR_NO_DEVICE)
        abort();
    *(void **)&call = dlsym(process, "cuCtxSynchronize");
    if (!call || call(0) != CUDA_ERROR_NOT_INITIALIZED)
        abort();
}
