// Managed memory: prefetches and advice. (cuMemAllocManaged is beside cuMemAlloc.)
#include "simcuda/memory/managed.h"
#include "simcuda/bridge/bridge.h"
#include "simcuda/queue/capture.h"
#include "simcuda/queue/item.h"
#include "simcuda/queue/stream.h"
#include "simcuda/report/report.h"
#include "simcuda/work/launch.h"

// A prefetch takes its turn in the stream, and moves nothing. No capture can hold one.
static CUresult prefetch(CUdeviceptr address, size_t size, CUmemLocation location, unsigned flags,
                         CUstream stream) {
    struct sim_queue *queue;
    struct sim_job job = {0};
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_stream_queue(stream, &queue);
    if (result == CUDA_SUCCESS)
        result = sim_capture_check_identity(queue, sim_report_call());
    if (result == CUDA_SUCCESS)
        result = sim_managed_prefetch(address, size, location);
    if (result != CUDA_SUCCESS)
        return result;
    sim_job_name(&job, "prefetch");
    return sim_launch(stream, sim_report_call(), &job);
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t size, CUdevice device, CUstream stream) {
    SIM_CALL(cuMemPrefetchAsync, prefetch(address, size, sim_managed_location(device), 0, stream));
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t size, CUmemLocation location,
                               unsigned int flags, CUstream stream) {
    SIM_CALL(cuMemPrefetchAsync_v2, prefetch(address, size, location, flags, stream));
}

CUresult cuMemAdvise(CUdeviceptr address, size_t size, CUmem_advise advice, CUdevice device) {
    SIM_CALL(cuMemAdvise, sim_managed_advise(address, size, advice, sim_managed_location(device)));
}

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t size, CUmem_advise advice,
                        CUmemLocation location) {
    SIM_CALL(cuMemAdvise_v2, sim_managed_advise(address, size, advice, location));
}

CUresult cuMemRangeGetAttribute(void *value, size_t valueSize, CUmem_range_attribute attribute,
                                CUdeviceptr address, size_t size) {
    SIM_CALL(cuMemRangeGetAttribute,
             sim_managed_attribute(value, valueSize, attribute, address, size));
}

static CUresult attributes_of(void **values, const size_t *sizes,
                              const CUmem_range_attribute *attributes, size_t count,
                              CUdeviceptr address, size_t size) {
    CUresult result =
        values && sizes && attributes && count > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = sim_managed_attribute(values[i], sizes[i], attributes[i], address, size);
    return result;
}

CUresult cuMemRangeGetAttributes(void **values, size_t *sizes, CUmem_range_attribute *attributes,
                                 size_t count, CUdeviceptr address, size_t size) {
    SIM_CALL(cuMemRangeGetAttributes,
             attributes_of(values, sizes, attributes, count, address, size));
}
