// The driver's own pools, which the simulated driver does not have: the device attribute says so,
// and every call returns CUDA_ERROR_NOT_SUPPORTED. But cuMemFreeAsync frees what cuMemAlloc gave,
// too, and does so here.
#include "simcuda/bridge/bridge.h"
#include "simcuda/memory/allocation.h"
#include "simcuda/memory/block.h"
#include "simcuda/queue/capture.h"
#include "simcuda/queue/item.h"
#include "simcuda/queue/queue.h"
#include "simcuda/queue/stream.h"
#include "simcuda/work/launch.h"
#include "simcuda/work/work.h"

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream) {
    (void)address, (void)size, (void)stream;
    SIM_CALL(cuMemAllocAsync, CUDA_ERROR_NOT_SUPPORTED);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t size, CUmemoryPool pool,
                                 CUstream stream) {
    (void)address, (void)size, (void)pool, (void)stream;
    SIM_CALL(cuMemAllocFromPoolAsync, CUDA_ERROR_NOT_SUPPORTED);
}

// A capture can hold the free of its own memory alone, and none is.
static CUresult free_in_order(CUdeviceptr address, CUstream stream) {
    struct sim_queue *queue;
    struct sim_job job = {0};
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = sim_stream_queue(stream, &queue);
    if (result == CUDA_SUCCESS)
        result = sim_capture_status(queue, &status);
    if (result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS || address == 0)
        return result;
    result = sim_allocation_free_job(&job, address);
    if (result != CUDA_SUCCESS)
        return result;
    const struct sim_block_order order = sim_work_free_order(queue, "cuMemFreeAsync");
    job.is_told = sim_block_end(address, &order);
    job.is_free = true;
    sim_allocation_set_being_freed(address, true); // adding the work may let other threads run
    result = sim_launch(stream, "cuMemFreeAsync", &job);
    if (result != CUDA_SUCCESS)
        sim_allocation_set_being_freed(address, false);
    return result;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    SIM_CALL(cuMemFreeAsync, free_in_order(address, stream));
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) {
    (void)pool, (void)device;
    SIM_CALL(cuDeviceGetDefaultMemPool, CUDA_ERROR_NOT_SUPPORTED);
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props) {
    (void)pool, (void)props;
    SIM_CALL(cuMemPoolCreate, CUDA_ERROR_NOT_SUPPORTED);
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    (void)pool;
    SIM_CALL(cuMemPoolDestroy, CUDA_ERROR_NOT_SUPPORTED);
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
    (void)pool, (void)attribute, (void)value;
    SIM_CALL(cuMemPoolSetAttribute, CUDA_ERROR_NOT_SUPPORTED);
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
    (void)pool, (void)attribute, (void)value;
    SIM_CALL(cuMemPoolGetAttribute, CUDA_ERROR_NOT_SUPPORTED);
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
    (void)pool, (void)keep;
    SIM_CALL(cuMemPoolTrimTo, CUDA_ERROR_NOT_SUPPORTED);
}
