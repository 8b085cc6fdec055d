// These are the calls for memory: the virtual memory calls, cuMemAlloc with its copies, and pinned
// host memory.
#include "simcuda/allocation.h"
#include "simcuda/block.h"
#include "simcuda/bridge.h"
#include "simcuda/capture.h"
#include "simcuda/context.h"
#include "simcuda/device.h"
#include "simcuda/item.h"
#include "simcuda/kernel.h"
#include "simcuda/launch.h"
#include "simcuda/mapping.h"
#include "simcuda/pinned.h"
#include "simcuda/question.h"
#include "simcuda/queue.h"
#include "simcuda/thread.h"
#include "simcuda/virtual.h"

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                       CUmemAllocationGranularity_flags option) {
    SIM_BEGIN(cuMemGetAllocationGranularity);
    if (!granularity || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
        SIM_END(cuMemGetAllocationGranularity, CUDA_ERROR_INVALID_VALUE);
    SIM_END(cuMemGetAllocationGranularity, sim_virtual_granularity(granularity, prop));
}

CUresult cuMemAddressReserve(CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr hint,
                             unsigned long long flags) {
    SIM_BEGIN(cuMemAddressReserve);
    SIM_END(cuMemAddressReserve, sim_virtual_reserve(address, size, alignment, hint, flags));
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t size) {
    SIM_BEGIN(cuMemAddressFree);
    SIM_END(cuMemAddressFree, sim_virtual_free(address, size));
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                     const CUmemAllocationProp *prop, unsigned long long flags) {
    SIM_BEGIN(cuMemCreate);
    SIM_END(cuMemCreate, sim_virtual_create(handle, size, prop, flags));
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    SIM_BEGIN(cuMemRelease);
    SIM_END(cuMemRelease, sim_virtual_release(handle));
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

CUresult cuMemUnmap(CUdeviceptr address, size_t size) {
    SIM_BEGIN(cuMemUnmap);
    SIM_END(cuMemUnmap, sim_mapping_unmap(address, size));
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *descriptors,
                        size_t count) {
    SIM_BEGIN(cuMemSetAccess);
    SIM_END(cuMemSetAccess, sim_mapping_set_access(address, size, descriptors, count));
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                        CUdeviceptr address) {
    SIM_BEGIN(cuMemGetAccess);
    SIM_END(cuMemGetAccess, sim_virtual_access(flags, location, address));
}

// -------------------------------------------------------------------------------------- cuMemAlloc

static CUresult current_healthy_context(struct sim_context **context) {
    CUresult result = sim_context_current(sim_thread_self(), context);
    return result == CUDA_SUCCESS ? sim_context_error(*context) : result;
}

static CUresult get_info(size_t *free, size_t *total) {
    struct sim_context *context;
    if (!free || !total)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = current_healthy_context(&context);
    if (result != CUDA_SUCCESS)
        return result;
    *total = sim_config.device[context->device].memory;
    *free = *total - sim_device_used(context->device);
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
    SIM_BEGIN(cuMemGetInfo);
    SIM_END(cuMemGetInfo, get_info(free, total));
}

static CUresult allocate(CUdeviceptr *address, size_t size) {
    struct sim_context *context;
    if (!address)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = current_healthy_context(&context);
    if (result == CUDA_SUCCESS)
        result = sim_capture_check_unsafe("cuMemAlloc");
    if (result == CUDA_SUCCESS)
        result = sim_allocation_create(context, size, address);
    if (result == CUDA_SUCCESS && sim_checks() && !sim_is_for_library())
        sim_block_begin(*address, size, context, sim_who_calls());
    return result;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size) {
    SIM_BEGIN(cuMemAlloc);
    SIM_END(cuMemAlloc, allocate(address, size));
}

// A free needs no current context, but a current one must be of use: seen on an H200.
static CUresult check_if_current(void) {
    struct sim_context *context;
    CUresult result = current_healthy_context(&context);
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
    if (sim_allocation_device(address) >= 0) {
        const struct sim_block_order order = {
            .clock = sim_host_clock, .who = sim_who_calls(), .call = "cuMemFree"};
        sim_block_end(address, &order);
    }
    return sim_allocation_free(address);
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    SIM_BEGIN(cuMemFree);
    SIM_END(cuMemFree, free_allocation(address));
}

// ----------------------------------------------------------------------------------- pinned memory

static CUresult allocate_pinned(void **memory, size_t size, unsigned int flags) {
    struct sim_context *context;
    if (!memory || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = current_healthy_context(&context);
    if (result == CUDA_SUCCESS)
        result = sim_capture_check_unsafe("cuMemHostAlloc");
    return result == CUDA_SUCCESS ? sim_pinned_create(context, size, memory) : result;
}

CUresult cuMemHostAlloc(void **memory, size_t size, unsigned int flags) {
    SIM_BEGIN(cuMemHostAlloc);
    SIM_END(cuMemHostAlloc, allocate_pinned(memory, size, flags));
}

static CUresult free_pinned(void *memory) {
    struct sim_context *context;
    CUresult result = sim_context_current(sim_thread_self(), &context);
    if (result == CUDA_SUCCESS)
        result = sim_capture_check_unsafe("cuMemFreeHost");
    return result == CUDA_SUCCESS ? sim_pinned_free(memory) : result;
}

CUresult cuMemFreeHost(void *memory) {
    SIM_BEGIN(cuMemFreeHost);
    SIM_END(cuMemFreeHost, free_pinned(memory));
}

// Answers for pinned memory, and for one attribute alone. It needs no current context, as seen on
// an H200.
static CUresult describe_pointer(void *value, CUpointer_attribute attribute, CUdeviceptr address) {
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    if (attribute != CU_POINTER_ATTRIBUTE_BUFFER_ID || sim_mapping_at(address))
        return CUDA_ERROR_NOT_SUPPORTED;
    return sim_pinned_identify(address, value);
}

CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr address) {
    SIM_BEGIN(cuPointerGetAttribute);
    SIM_END(cuPointerGetAttribute, describe_pointer(value, attribute, address));
}

// ------------------------------------------------------------------------------------------ copies

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size) {
    struct sim_job job = {0};
    SIM_BEGIN(cuMemcpyHtoD);
    if (!from && size > 0)
        SIM_END(cuMemcpyHtoD, CUDA_ERROR_INVALID_VALUE);
    sim_kernel_copy_in_job(&job, to, from, size);
    SIM_END(cuMemcpyHtoD, sim_launch_and_wait("cuMemcpyHtoD", &job));
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size) {
    struct sim_job job = {0};
    SIM_BEGIN(cuMemcpyDtoH);
    if (!to && size > 0)
        SIM_END(cuMemcpyDtoH, CUDA_ERROR_INVALID_VALUE);
    sim_kernel_copy_out_job(&job, to, from, size);
    SIM_END(cuMemcpyDtoH, sim_launch_and_wait("cuMemcpyDtoH", &job));
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream) {
    struct sim_job job = {0};
    SIM_BEGIN(cuMemcpyHtoDAsync_v2);
    if (!from && size > 0)
        SIM_END(cuMemcpyHtoDAsync_v2, CUDA_ERROR_INVALID_VALUE);
    sim_kernel_copy_in_job(&job, to, from, size);
    SIM_END(cuMemcpyHtoDAsync_v2, sim_launch(stream, "cuMemcpyHtoDAsync", &job));
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream) {
    struct sim_job job = {0};
    SIM_BEGIN(cuMemcpyDtoHAsync_v2);
    if (!to && size > 0)
        SIM_END(cuMemcpyDtoHAsync_v2, CUDA_ERROR_INVALID_VALUE);
    sim_kernel_copy_out_job(&job, to, from, size);
    SIM_END(cuMemcpyDtoHAsync_v2, sim_launch(stream, "cuMemcpyDtoHAsync", &job));
}

CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t count, CUstream stream) {
    struct sim_job job = {0};
    SIM_BEGIN(cuMemsetD8Async);
    sim_kernel_set_job(&job, address, value, count);
    SIM_END(cuMemsetD8Async, sim_launch(stream, "cuMemsetD8Async", &job));
}
