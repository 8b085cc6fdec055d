// The driver's own pools, which the simulated driver does not have: the device attribute says so, and every
// call returns CUDA_ERROR_NOT_SUPPORTED.
#include "simcuda/bridge.h"

#define SIM_NOT_SUPPORTED(name)                                                                              \
    SIM_BEGIN(name);                                                                                         \
    SIM_END(name, CUDA_ERROR_NOT_SUPPORTED)

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream) {
    (void)address, (void)size, (void)stream;
    SIM_NOT_SUPPORTED(cuMemAllocAsync);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream stream) {
    (void)address, (void)size, (void)pool, (void)stream;
    SIM_NOT_SUPPORTED(cuMemAllocFromPoolAsync);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    (void)address, (void)stream;
    SIM_NOT_SUPPORTED(cuMemFreeAsync);
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) {
    (void)pool, (void)device;
    SIM_NOT_SUPPORTED(cuDeviceGetDefaultMemPool);
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props) {
    (void)pool, (void)props;
    SIM_NOT_SUPPORTED(cuMemPoolCreate);
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    (void)pool;
    SIM_NOT_SUPPORTED(cuMemPoolDestroy);
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
    (void)pool, (void)attribute, (void)value;
    SIM_NOT_SUPPORTED(cuMemPoolSetAttribute);
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
    (void)pool, (void)attribute, (void)value;
    SIM_NOT_SUPPORTED(cuMemPoolGetAttribute);
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
    (void)pool, (void)keep;
    SIM_NOT_SUPPORTED(cuMemPoolTrimTo);
}
