// These are the calls for device memory: the virtual memory calls and cuMemAlloc.
#include "base/number.h"
#include "simcuda/bridge/bridge.h"
#include "simcuda/memory/allocation.h"
#include "simcuda/memory/block.h"
#include "simcuda/memory/device.h"
#include "simcuda/memory/mapping.h"
#include "simcuda/memory/virtual.h"
#include "simcuda/queue/capture.h"
#include "simcuda/queue/context.h"
#include "simcuda/queue/queue.h"
#include "simcuda/report/report.h"
#include "simcuda/work/question.h"

#define ROW 512 // bytes

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                       CUmemAllocationGranularity_flags option) {
    SIM_BEGIN(cuMemGetAllocationGranularity);
    if (!granularity || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
        SIM_END(cuMemGetAllocationGranularity, CUDA_ERROR_INVALID_VALUE);
    SIM_END(cuMemGetAllocationGranularity, sim_virtual_granularity(granularity, prop));
}

CUresult cuMemAddressReserve(CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr hint,
                             unsigned long long flags) {
    SIM_CALL(cuMemAddressReserve, sim_virtual_reserve(address, size, alignment, hint, flags));
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t size) {
    SIM_CALL(cuMemAddressFree, sim_virtual_free(address, size));
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                     const CUmemAllocationProp *prop, unsigned long long flags) {
    SIM_CALL(cuMemCreate, sim_virtual_create(handle, size, prop, flags));
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                CUmemGenericAllocationHandle handle) {
    SIM_CALL(cuMemGetAllocationPropertiesFromHandle, sim_virtual_properties(prop, handle));
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    SIM_CALL(cuMemRelease, sim_virtual_release(handle));
}

CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
    SIM_BEGIN(cuMemMap);
    CUresult result =
        flags == 0 ? sim_mapping_map(address, size, offset, handle) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && !sim_mapping_at(address)->extent->is_of_library)
        sim_block_forget(address, size);
    SIM_END(cuMemMap, result);
}

static CUresult unmap(CUdeviceptr address, size_t size) {
    const struct sim_mapping *mapping = sim_mapping_at(address);
    bool is_of_library = mapping && mapping->extent->is_of_library;
    CUresult result = sim_mapping_unmap(address, size);
    if (result == CUDA_SUCCESS && !is_of_library)
        sim_block_forget_live(address, size);
    return result;
}

CUresult cuMemUnmap(CUdeviceptr address, size_t size) {
    SIM_CALL(cuMemUnmap, unmap(address, size));
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *descriptors,
                        size_t count) {
    SIM_CALL(cuMemSetAccess, sim_mapping_set_access(address, size, descriptors, count));
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                        CUdeviceptr address) {
    SIM_CALL(cuMemGetAccess, sim_virtual_access(flags, location, address));
}

// -------------------------------------------------------------------------------------- cuMemAlloc

static CUresult get_info(size_t *free, size_t *total) {
    struct sim_context *context;
    if (!free || !total)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_context_current_healthy(&context);
    if (result != CUDA_SUCCESS)
        return result;
    *total = sim_config.device[context->device].memory;
    *free = *total - sim_device_used(context->device);
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
    SIM_CALL(cuMemGetInfo_v2, get_info(free, total));
}

static CUresult allocate_by(CUresult (*create)(const struct sim_context *context, uint64_t size,
                                               CUdeviceptr *result),
                            CUdeviceptr *address, size_t size) {
    struct sim_context *context;
    if (!address)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_context_current_healthy(&context);
    if (result == CUDA_SUCCESS)
        result = sim_capture_check_unsafe(sim_report_call());
    if (result == CUDA_SUCCESS)
        result = create(context, size, address);
    if (result == CUDA_SUCCESS && sim_checks() && !sim_is_for_library())
        sim_block_begin(*address, size, context, sim_who_calls());
    return result;
}

static CUresult allocate(CUdeviceptr *address, size_t size) {
    return allocate_by(sim_allocation_create, address, size);
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size) {
    SIM_CALL(cuMemAlloc_v2, allocate(address, size));
}

static CUresult allocate_managed(CUdeviceptr *address, size_t size, unsigned flags) {
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
        return CUDA_ERROR_INVALID_VALUE;
    return allocate_by(sim_allocation_create_managed, address, size);
}

CUresult cuMemAllocManaged(CUdeviceptr *address, size_t size, unsigned int flags) {
    SIM_CALL(cuMemAllocManaged, allocate_managed(address, size, flags));
}

// Rows begin at multiples of the alignment that textures need.
static CUresult allocate_rows(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
                              unsigned element) {
    size_t row, size;
    if (!address || !pitch || width == 0 || height == 0 ||
        (element != 4 && element != 8 && element != 16))
        return CUDA_ERROR_INVALID_VALUE;
    if (!sp_checked_round_up(width, ROW, &row) || !sp_checked_mul(row, height, &size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = allocate(address, size);
    if (result == CUDA_SUCCESS)
        *pitch = row;
    return result;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
                            unsigned int elementSize) {
    SIM_CALL(cuMemAllocPitch_v2, allocate_rows(address, pitch, width, height, elementSize));
}

// A free needs no current context, but a current one must be of use: seen on an H200.
static CUresult check_if_current(void) {
    struct sim_context *context;
    CUresult result = sim_context_current_healthy(&context);
    return result == CUDA_ERROR_INVALID_CONTEXT ? CUDA_SUCCESS : result;
}

// Frees an allocation once all work on its device is complete; null is allowed.
static CUresult free_allocation(CUdeviceptr address) {
    CUresult result = check_if_current();
    if (result != CUDA_SUCCESS || address == 0)
        return result;
    result = sim_capture_check_unsafe("cuMemFree");
    if (result != CUDA_SUCCESS)
        return result;
    int device = sim_allocation_device(address);
    if (device >= 0)
        sim_question_wait_device(device);
    if (sim_allocation_device(address) >= 0 && !sim_mapping_at(address)->extent->is_of_library) {
        const struct sim_block_order order = {
            .clock = sim_host_clock, .who = sim_who_calls(), .call = "cuMemFree"};
        sim_block_end(address, &order);
    }
    return sim_allocation_free(address);
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    SIM_CALL(cuMemFree_v2, free_allocation(address));
}
