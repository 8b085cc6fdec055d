// What the newer driver says of pointers, and its ways to allocate that the simulated driver lacks.
//
// It knows three kinds of memory of a device, and answers of each as a real driver does: that of
// cuMemAlloc, that of its pools, and virtual memory, of which it knows the mappings alone. Of
// memory of the host the simulated driver answers.
#include "dropin/newer.h"
#include "dropin/ways.h"

#include "simcuda/bridge/bridge.h"
#include "simcuda/common/thread.h"
#include "simcuda/memory/device.h"
#include "simcuda/memory/mapping.h"
#include "simcuda/memory/pointer.h"
#include "simcuda/queue/context.h"

#include <streampool/simcuda.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

#define DECLARE(name, symbol, version, flags, kind, parameters) EXPORT CUresult symbol parameters;
OTHER_CALLS(DECLARE)

// The simulated driver's own, renamed as this file is linked with it.
EXPORT CUresult simcudaOldMemAllocManaged(CUdeviceptr *address, size_t size, unsigned int flags);
EXPORT CUresult simcudaOldDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                                             CUdevice device);

// ---------------------------------------------------------------------------------------- pointers

enum kind { NOTHING, ALLOCATED, POOLED, VIRTUAL };

enum { ALLOCATIONS = 1024 };

struct memory {
    enum kind kind;
    CUdeviceptr base;
    size_t size;
    unsigned long long number;
    CUmemoryPool pool;
    struct sim_mapping *mapping;
};

// Memory of a pool is an allocation of cuMemAlloc here, too.
static struct memory find(CUdeviceptr address) {
    struct newer_block block;
    struct sim_mapping *mapping = sim_mapping_at(address);
    struct memory memory = {.mapping = mapping};
    if (!mapping || address - mapping->address >= mapping->valid ||
        sim_extent_is_of_host(mapping->extent))
        return memory;
    memory.base = mapping->address;
    memory.size = (size_t)mapping->valid;
    memory.number = (unsigned long long)(uintptr_t)mapping->extent;
    memory.kind = mapping->extent->kind == SIM_EXTENT_OF_ALLOCATION ? ALLOCATED : VIRTUAL;
    if (newer_find_block(mapping->address, &block)) {
        memory.kind = address - block.base < block.size ? POOLED : NOTHING;
        memory.size = block.size;
        memory.number = block.number;
        memory.pool = block.pool;
    }
    return memory;
}

static struct {
    CUdeviceptr base;
    unsigned int value;
} synchronizing[ALLOCATIONS];

static unsigned int *synchronizes(CUdeviceptr base) {
    size_t i = 0;
    while (synchronizing[i].base && synchronizing[i].base != base)
        i++;
    synchronizing[i].base = base;
    return &synchronizing[i].value;
}

#define PUT(type, content) (*(type *)value = (type)(content), CUDA_SUCCESS)

// Numbers of virtual memory are those of its pieces.
static CUresult describe(const struct memory *memory, CUpointer_attribute attribute,
                         CUdeviceptr address, void *value) {
    const struct sim_extent *extent = memory->mapping->extent;
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        return PUT(CUcontext, memory->kind == ALLOCATED ? (CUcontext)extent->context : NULL);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return PUT(unsigned int, CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        return PUT(CUdeviceptr, address);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        return PUT(unsigned int, memory->kind == VIRTUAL ? 0 : *synchronizes(memory->base));
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        return PUT(unsigned long long, memory->number);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        return PUT(unsigned int, 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return PUT(int, extent->device);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        return PUT(unsigned int, memory->kind == ALLOCATED);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        return PUT(CUdeviceptr, memory->base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        return PUT(size_t, memory->size);
    case CU_POINTER_ATTRIBUTE_MAPPED:
        return PUT(unsigned int, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        return PUT(unsigned int, memory->kind == VIRTUAL && extent->shareable);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        return PUT(unsigned int, memory->mapping->access[extent->device]);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        return PUT(CUmemoryPool, memory->pool);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        return PUT(CUdeviceptr, memory->mapping->address);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        return PUT(size_t, memory->mapping->size);
    default: // of memory of the host
        return CUDA_ERROR_INVALID_VALUE;
    }
}

// A context that has failed answers nothing any more.
static CUresult check_context(void) {
    struct sim_context *context;
    CUresult result = sim_context_current(sim_thread_self(), &context);
    return result == CUDA_SUCCESS ? sim_context_error(context) : CUDA_SUCCESS;
}

static CUresult describe_pointer(void *value, CUpointer_attribute attribute, CUdeviceptr address) {
    struct memory memory = find(address);
    CUresult result = check_context();
    if (result != CUDA_SUCCESS)
        return result;
    return value && memory.kind ? describe(&memory, attribute, address, value)
                                : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr address) {
    SIM_BEGIN(cuPointerGetAttribute);
    CUresult result = describe_pointer(value, attribute, address);
    if (result == CUDA_ERROR_INVALID_VALUE && value && !find(address).kind) // pinned memory's
        result = sim_pointer_attribute(attribute, address, value);
    SIM_END(cuPointerGetAttribute, result);
}

static size_t size_of(CUpointer_attribute attribute) {
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        return 4;
    default:
        return 8;
    }
}

// Where there is no memory, all is null, and the device is -2.
CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **values,
                                CUdeviceptr address) {
    SIM_BEGIN(cuPointerGetAttribute);
    struct memory memory = find(address);
    CUresult result = check_context();
    if (result != CUDA_SUCCESS || !attributes || !values || count == 0)
        SIM_END(cuPointerGetAttribute, result ? result : CUDA_ERROR_INVALID_VALUE);
    for (unsigned int i = 0; i < count; i++) {
        if (!memory.kind &&
            sim_pointer_attribute_or_none(attributes[i], address, values[i]) == CUDA_SUCCESS)
            continue;
        memset(values[i], 0, size_of(attributes[i]));
        if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            *(int *)values[i] = -2;
        if (memory.kind)
            describe(&memory, attributes[i], address, values[i]);
    }
    SIM_END(cuPointerGetAttribute, CUDA_SUCCESS);
}

static CUresult set_attribute(const void *value, CUpointer_attribute attribute,
                              CUdeviceptr address) {
    struct memory memory = find(address);
    struct sim_context *context;
    CUresult result = check_context();
    if (result != CUDA_SUCCESS)
        return result;
    if (!value || !memory.kind || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        return CUDA_ERROR_INVALID_VALUE;
    if (memory.kind == VIRTUAL)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (sim_context_current(sim_thread_self(), &context) == CUDA_ERROR_CONTEXT_IS_DESTROYED)
        return CUDA_ERROR_INVALID_VALUE; // as seen on an H200
    *synchronizes(memory.base) = *(const unsigned int *)value != 0;
    return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                               CUdeviceptr address) {
    SIM_BEGIN(cuPointerGetAttribute);
    SIM_END(cuPointerGetAttribute, set_attribute(value, attribute, address));
}

// This one needs a current context: seen on an H200.
static CUresult find_range(CUdeviceptr *base, size_t *size, CUdeviceptr address) {
    struct memory memory = find(address);
    struct sim_context *context;
    CUresult result = sim_context_current(sim_thread_self(), &context);
    if (result == CUDA_SUCCESS)
        result = sim_context_error(context);
    if (result != CUDA_SUCCESS || !memory.kind)
        return result ? result : sim_pointer_range(address, base, size);
    if (base)
        *base = memory.base;
    if (size)
        *size = memory.size;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address) {
    SIM_BEGIN(cuPointerGetAttribute);
    SIM_END(cuPointerGetAttribute, find_range(base, size, address));
}

// The handle is a number that stands for the file.
CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr address, size_t size,
                                       CUmemRangeHandleType type, unsigned long long flags) {
    SIM_BEGIN(cuPointerGetAttribute);
    struct memory memory = find(address);
    bool good = type == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD && flags == 0 && address % 4096 == 0 &&
                size % 4096 == 0 && memory.kind;
    if (good)
        *(int *)handle = 1000 + (int)memory.kind;
    SIM_END(cuPointerGetAttribute, good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address) {
    SIM_BEGIN(cuPointerGetAttribute);
    struct memory memory = find((CUdeviceptr)(uintptr_t)address);
    if (memory.kind == VIRTUAL)
        *handle = memory.number;
    SIM_END(cuPointerGetAttribute,
            memory.kind == VIRTUAL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuIpcGetMemHandle(struct CUipcMemHandle_st *handle, CUdeviceptr address) {
    SIM_BEGIN(cuPointerGetAttribute);
    struct memory memory = find(address);
    CUresult failed = check_context();
    if (memory.kind == ALLOCATED && !failed)
        memset(handle, 1, 64);
    SIM_END(cuPointerGetAttribute, failed                     ? failed
                                   : memory.kind == ALLOCATED ? CUDA_SUCCESS
                                                              : CUDA_ERROR_INVALID_VALUE);
}

// ---------------------------------------------------------------------------- devices and contexts

static bool is_known(CUdevice_attribute attribute) {
    simcudaConfig config;
    simcudaGetConfig(&config);
    return (attribute == CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED && config.api >= 11020) ||
           (attribute == CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES && config.api >= 11030);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    CUresult result = simcudaOldDeviceGetAttribute(value, attribute, device);
    bool is_about_pools = is_known(attribute);
    if (!is_about_pools || !value || result == CUDA_ERROR_INVALID_DEVICE)
        return result;
    *value = 1;
    return CUDA_SUCCESS;
}

static unsigned int context_flags;

CUresult cuCtxGetFlags(unsigned int *flags) {
    *flags = context_flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned int flags) {
    context_flags = flags;
    return CUDA_SUCCESS;
}

// -------------------------------------------------------------------------------- ways to allocate

enum { ROW = 512 };

CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
                            unsigned int element) {
    (void)element;
    *pitch = (width + ROW - 1) / ROW * ROW;
    return cuMemAlloc_v2(address, *pitch * height);
}

// There must be room for it on the device, too, as with a device that takes no page faults.
CUresult cuMemAllocManaged(CUdeviceptr *address, size_t size, unsigned int flags) {
    CUdeviceptr room = 0;
    CUresult result = cuMemAlloc_v2(&room, size);
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        return result;
    if (result == CUDA_SUCCESS)
        cuMemFree_v2(room);
    return simcudaOldMemAllocManaged(address, size, flags);
}

// An array has one byte for each element. Its handle is the address of the memory.
CUresult cuArrayCreate_v2(CUarray *array, const struct CUDA_ARRAY_DESCRIPTOR_st *shape) {
    const size_t *sizes = (const size_t *)(const void *)shape;
    return cuMemAlloc_v2((CUdeviceptr *)(void *)array, sizes[0] * sizes[1]);
}

CUresult cuArray3DCreate_v2(CUarray *array, const struct CUDA_ARRAY3D_DESCRIPTOR_st *shape) {
    const size_t *sizes = (const size_t *)(const void *)shape;
    return cuMemAlloc_v2((CUdeviceptr *)(void *)array, sizes[0] * sizes[1] * sizes[2]);
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *array,
                                const struct CUDA_ARRAY3D_DESCRIPTOR_st *shape,
                                unsigned int levels) {
    (void)levels;
    return cuArray3DCreate_v2((CUarray *)(void *)array, shape);
}
