#include "simcuda/memory/pointer.h"

#include <string.h>

#include "simcuda/entry/abi.h"
#include "simcuda/memory/address.h"
#include "simcuda/memory/mapping.h"
#include "simcuda/memory/pinned.h"
#include "simcuda/queue/context.h"

// Memory at an address: one of both is null.
struct memory {
    const struct sim_mapping *mapping;
    const struct sim_pinned *pinned;
};

static bool find(uint64_t address, struct memory *memory) {
    struct sim_mapping *mapping = sim_mapping_at(address);
    bool is_device = mapping && address - mapping->address < mapping->told;
    *memory =
        (struct memory){is_device ? mapping : NULL, is_device ? NULL : sim_pinned_at(address)};
    return memory->mapping || memory->pinned;
}

// The context that it belongs to; null where it belongs to none, as memory of the virtual memory
// calls.
static const struct sim_context *context_of(const struct memory *memory) {
    return memory->pinned ? memory->pinned->context : memory->mapping->extent->context;
}

static bool is_device_allocation(const struct memory *memory) {
    return memory->mapping && memory->mapping->extent->kind == SIM_EXTENT_OF_ALLOCATION &&
           !sim_extent_is_managed(memory->mapping->extent);
}

static uint64_t base_of(const struct memory *memory) {
    return memory->pinned ? memory->pinned->address : memory->mapping->address;
}

static uint64_t size_of(const struct memory *memory) {
    return memory->pinned ? memory->pinned->size : memory->mapping->told;
}

static bool is_managed(const struct memory *memory) {
    return memory->mapping && sim_extent_is_managed(memory->mapping->extent);
}

// Returns whether it is memory of the host that a handle stands for.
static bool is_mapped_host(const struct memory *memory) {
    return memory->mapping && sim_extent_is_of_host(memory->mapping->extent) && !is_managed(memory);
}

// Memory of the host that is no context's counts as the first device's, as seen on an H200.
static int device_of(const struct memory *memory) {
    const struct sim_context *context = context_of(memory);
    if (context)
        return context->device;
    return is_mapped_host(memory) ? 0 : memory->mapping->extent->device;
}

static bool is_for_host(const struct memory *memory) {
    return memory->pinned || memory->mapping->access[SIM_HOST] != CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

// The access that the current context's device has.
static uint64_t access_of(const struct memory *memory) {
    struct sim_context *context;
    if (memory->pinned)
        return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (sim_context_current(sim_thread_self(), &context) != CUDA_SUCCESS)
        return CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return memory->mapping->access[context->device];
}

// Memory of the host to which the current device has no access is not the device's at all.
static bool is_out_of_reach(const struct memory *memory) {
    return is_mapped_host(memory) && access_of(memory) == CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

// The range of addresses that was reserved for it.
static struct sim_range range_of(const struct memory *memory) {
    uint64_t base = base_of(memory);
    for (size_t i = 0; i < sim_range_count(); i++) {
        struct sim_range range = sim_range_at(i);
        if (base - range.begin < range.size)
            return range;
    }
    return (struct sim_range){.begin = base, .size = size_of(memory)};
}

struct answer {
    CUresult result;
    uint64_t value;
    size_t size; // of the value
};

static struct answer tell(uint64_t value, size_t size) {
    return (struct answer){CUDA_SUCCESS, value, size};
}

static struct answer refuse(void) {
    return (struct answer){.result = CUDA_ERROR_INVALID_VALUE};
}

static struct answer tell_of_place(CUpointer_attribute attribute, uint64_t address,
                                   const struct memory *memory) {
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        return is_out_of_reach(memory) ? refuse() : tell(address, sizeof(CUdeviceptr));
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        return is_for_host(memory) ? tell(address, sizeof(void *)) : refuse();
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        return tell(range_of(memory).begin, sizeof(CUdeviceptr));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        return tell(range_of(memory).size, sizeof(size_t));
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        return tell(base_of(memory), sizeof(CUdeviceptr));
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        return tell(size_of(memory), sizeof(size_t));
    default:
        return refuse();
    }
}

static uint64_t handle_types_of(const struct memory *memory) {
    bool is_shareable = memory->mapping && memory->mapping->extent->shareable;
    return is_shareable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
}

static struct answer tell_of(CUpointer_attribute attribute, uint64_t address,
                             const struct memory *memory) {
    const struct sim_context *context = context_of(memory);
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        return tell(context ? (uintptr_t)sim_context_handle(context) : 0, sizeof(CUcontext));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return tell(memory->pinned || is_mapped_host(memory) ? CU_MEMORYTYPE_HOST
                                                             : CU_MEMORYTYPE_DEVICE,
                    sizeof(unsigned));
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        return tell(memory->pinned ? memory->pinned->identity : memory->mapping->extent->identity,
                    sizeof(unsigned long long));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return tell((unsigned)device_of(memory), sizeof(int));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        return tell(is_managed(memory), sizeof(bool));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        return tell(0, sizeof(bool));
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        return tell(is_device_allocation(memory), sizeof(bool));
    case CU_POINTER_ATTRIBUTE_MAPPED:
        return tell(1, sizeof(bool));
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        return tell(handle_types_of(memory), sizeof(uint64_t));
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        return tell(access_of(memory), sizeof(unsigned));
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        return tell(0, sizeof(CUmemoryPool));
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
        return (struct answer){.result = CUDA_ERROR_NOT_SUPPORTED};
    default:
        return tell_of_place(attribute, address, memory);
    }
}

CUresult sim_pointer_attribute(CUpointer_attribute attribute, uint64_t address, void *value) {
    struct memory memory;
    if (!find(address, &memory))
        return CUDA_ERROR_INVALID_VALUE;
    struct answer answer = tell_of(attribute, address, &memory);
    if (answer.result != CUDA_SUCCESS)
        return answer.result;
    memcpy(value, &answer.value, answer.size);
    const struct sim_context *context = context_of(&memory);
    return context ? sim_context_error(context) : CUDA_SUCCESS;
}

// The size of each attribute's value, by asking for that of memory that has all of them.
static size_t value_size(CUpointer_attribute attribute) {
    static const struct sim_pinned pinned;
    const struct memory memory = {.pinned = &pinned};
    if (attribute == CU_POINTER_ATTRIBUTE_CONTEXT)
        return sizeof(CUcontext);
    if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
        return sizeof(int);
    return tell_of(attribute, 0, &memory).size;
}

CUresult sim_pointer_attribute_or_none(CUpointer_attribute attribute, uint64_t address,
                                       void *value) {
    const int no_device = CU_DEVICE_INVALID;
    const uint64_t nothing = 0;
    size_t size = value_size(attribute);
    if (size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
        memcpy(value, &no_device, size);
    else
        memcpy(value, &nothing, size);
    CUresult result = sim_pointer_attribute(attribute, address, value);
    return result == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : result;
}

static bool is_device_memory(const struct memory *memory) {
    return memory->mapping && !sim_extent_is_of_host(memory->mapping->extent);
}

// An H200's driver tells of mapped memory of the host another address than that of the mapping: one
// where it has the memory for itself.
static uint64_t told_base_of(const struct memory *memory) {
    return is_mapped_host(memory) ? (uintptr_t)memory->mapping->extent->window : base_of(memory);
}

CUresult sim_pointer_range(uint64_t address, CUdeviceptr *base, size_t *size) {
    struct memory memory;
    if (!find(address, &memory) || is_out_of_reach(&memory))
        return CUDA_ERROR_NOT_FOUND;
    if (base)
        *base = told_base_of(&memory);
    if (size)
        *size = size_of(&memory);
    return CUDA_SUCCESS;
}

CUresult sim_pointer_host_flags(uint64_t address, unsigned *flags) {
    struct memory memory;
    if (!find(address, &memory) || is_device_memory(&memory) || is_out_of_reach(&memory))
        return CUDA_ERROR_INVALID_VALUE;
    if (memory.pinned)
        *flags = memory.pinned->flags;
    else
        *flags = CU_MEMHOSTALLOC_DEVICEMAP | (is_managed(&memory) ? 0 : CU_MEMHOSTALLOC_PORTABLE);
    return CUDA_SUCCESS;
}

CUresult sim_pointer_of_host(uint64_t address, CUdeviceptr *result) {
    struct memory memory;
    if (!find(address, &memory) || is_device_memory(&memory) || is_managed(&memory) ||
        is_out_of_reach(&memory))
        return CUDA_ERROR_INVALID_VALUE;
    *result = address;
    return CUDA_SUCCESS;
}
