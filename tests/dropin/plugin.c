// A library of somebody else's that is linked with libcuda.so.1, for programs that load it.
#include "dropin/table.h"

#define EXPORT __attribute__((visibility("default")))

CUresult cuInit(unsigned int flags);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);

EXPORT void *plugin_function(void);
EXPORT CUresult plugin_use_pools(void);
EXPORT CUresult plugin_make_pool(CUmemoryPool *pool);
EXPORT CUresult plugin_trim_pool(CUmemoryPool pool);

// The function that its calls lead to.
void *plugin_function(void) {
    return (void *)(uintptr_t)cuMemAllocAsync;
}

CUresult plugin_use_pools(void) {
    CUcontext context;
    CUdeviceptr address;
    CUresult result = cuInit(0);
    if (result == CUDA_SUCCESS)
        result = cuDevicePrimaryCtxRetain(&context, 0);
    if (result == CUDA_SUCCESS)
        result = cuCtxSetCurrent(context);
    if (result == CUDA_SUCCESS)
        result = cuMemAllocAsync(&address, 1 << 20, 0);
    if (result == CUDA_SUCCESS)
        result = cuMemFreeAsync(address, 0);
    return result == CUDA_SUCCESS ? cuStreamSynchronize(0) : result;
}

// A pool that the driver serves itself.
CUresult plugin_make_pool(CUmemoryPool *pool) {
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    return cuMemPoolCreate(pool, &props);
}

CUresult plugin_trim_pool(CUmemoryPool pool) {
    return cuMemPoolTrimTo(pool, 0);
}
