// These are the calls for pinned host memory, and those that tell what an address is.
#include "simcuda/memory/pinned.h"
#include "simcuda/bridge/bridge.h"
#include "simcuda/common/thread.h"
#include "simcuda/memory/allocation.h"
#include "simcuda/memory/pointer.h"
#include "simcuda/queue/capture.h"
#include "simcuda/queue/context.h"
#include "simcuda/report/report.h"
#include "simcuda/work/work.h"

#define ALLOCATION_FLAGS                                                                           \
    (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED)
#define REGISTRATION_FLAGS                                                                         \
    (CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_IOMEMORY |    \
     CU_MEMHOSTREGISTER_READ_ONLY)

// Finds the current context for a call that a capture may forbid.
static CUresult begin(struct sim_context **context) {
    CUresult result = sim_context_current_healthy(context);
    return result == CUDA_SUCCESS ? sim_capture_check_unsafe(sim_report_call()) : result;
}

static CUresult allocate(void **memory, size_t size, unsigned flags) {
    struct sim_context *context;
    if (!memory || flags & ~(unsigned)ALLOCATION_FLAGS)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = begin(&context);
    if (result != CUDA_SUCCESS || size > 0)
        return result == CUDA_SUCCESS ? sim_pinned_create(context, size, flags, memory) : result;
    *memory = NULL;
    return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **memory, size_t size, unsigned int flags) {
    SIM_CALL(cuMemHostAlloc, allocate(memory, size, flags));
}

CUresult cuMemAllocHost_v2(void **memory, size_t size) {
    SIM_CALL(cuMemAllocHost_v2, allocate(memory, size, 0));
}

// As the driver takes the memory away from the devices, it waits for what uses it. The program may
// not count on that, and is told.
static CUresult end(void *memory, CUresult (*act)(void *memory)) {
    const struct sim_pinned *piece = sim_pinned_at((uintptr_t)memory);
    if (piece && piece->address == (uintptr_t)memory) {
        sim_pinned_report_in_use(piece);
        sim_work_finish_touching(piece->address, piece->size);
    }
    return act(memory);
}

// Nothing is freed of null, and that is no error, as seen on an H200.
static CUresult free_memory(void *memory) {
    struct sim_context *context;
    CUresult result = sim_context_current(sim_thread_self(), &context);
    if (result == CUDA_SUCCESS)
        result = sim_capture_check_unsafe(sim_report_call());
    return result == CUDA_SUCCESS && memory ? end(memory, sim_pinned_free) : result;
}

CUresult cuMemFreeHost(void *memory) {
    SIM_CALL(cuMemFreeHost, free_memory(memory));
}

static CUresult register_memory(void *memory, size_t size, unsigned flags) {
    struct sim_context *context;
    if (flags & ~(unsigned)REGISTRATION_FLAGS ||
        sim_allocation_is_device_address((uintptr_t)memory))
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
        return CUDA_ERROR_NOT_SUPPORTED;
    CUresult result = begin(&context);
    return result == CUDA_SUCCESS ? sim_pinned_register(context, memory, size, flags) : result;
}

CUresult cuMemHostRegister(void *memory, size_t size, unsigned int flags) {
    SIM_CALL(cuMemHostRegister, register_memory(memory, size, flags));
}

CUresult cuMemHostRegister_v2(void *memory, size_t size, unsigned int flags) {
    SIM_CALL(cuMemHostRegister_v2, register_memory(memory, size, flags));
}

static CUresult unregister_memory(void *memory) {
    struct sim_context *context;
    CUresult result = begin(&context);
    return result == CUDA_SUCCESS ? end(memory, sim_pinned_unregister) : result;
}

CUresult cuMemHostUnregister(void *memory) {
    SIM_CALL(cuMemHostUnregister, unregister_memory(memory));
}

// ------------------------------------------------------------------------------ what an address is

static CUresult device_address(CUdeviceptr *address, void *memory, unsigned flags) {
    struct sim_context *context;
    if (!address || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_context_current_healthy(&context);
    return result == CUDA_SUCCESS ? sim_pointer_of_host((uintptr_t)memory, address) : result;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *memory, unsigned int flags) {
    SIM_CALL(cuMemHostGetDevicePointer_v2, device_address(address, memory, flags));
}

static CUresult flags_of(unsigned *flags, const void *memory) {
    struct sim_context *context;
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_context_current_healthy(&context);
    return result == CUDA_SUCCESS ? sim_pointer_host_flags((uintptr_t)memory, flags) : result;
}

CUresult cuMemHostGetFlags(unsigned int *flags, void *memory) {
    SIM_CALL(cuMemHostGetFlags, flags_of(flags, memory));
}

static CUresult range_of(CUdeviceptr *base, size_t *size, CUdeviceptr address) {
    struct sim_context *context;
    CUresult result = sim_context_current_healthy(&context);
    return result == CUDA_SUCCESS ? sim_pointer_range(address, base, size) : result;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address) {
    SIM_CALL(cuMemGetAddressRange_v2, range_of(base, size, address));
}

// It needs no current context, as seen on an H200.
CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr address) {
    SIM_BEGIN(cuPointerGetAttribute);
    if (!value)
        SIM_END(cuPointerGetAttribute, CUDA_ERROR_INVALID_VALUE);
    SIM_END(cuPointerGetAttribute, sim_pointer_attribute(attribute, address, value));
}

static CUresult attributes_of(unsigned count, const CUpointer_attribute *attributes, void **values,
                              CUdeviceptr address) {
    CUresult result = attributes && values && count > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = values[i] ? sim_pointer_attribute_or_none(attributes[i], address, values[i])
                           : CUDA_ERROR_INVALID_VALUE;
    return result;
}

CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **values,
                                CUdeviceptr address) {
    SIM_CALL(cuPointerGetAttributes, attributes_of(count, attributes, values, address));
}
