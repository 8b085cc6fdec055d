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
    bool is_device = mapping && address - mapping->address < mapping->valid;
    *memory =
        (struct memory){is_device ? mapping : NULL, is_device ? NULL : sim_pinned_at(address)};
    return memory->mapping || memory->pinned;
}

// The context that it belongs to; null where it belongs to none, as memory of the virtual memory
// calls.
static const struct sim_context *context_of(const struct memory *memory) {
    return memory->pinned ? memory->pinned->context : memory->mapping->extent->context;
}

static bool is_allocation(const struct memory *memory) {
    return memory->mapping && memory->mapping->extent->kind == SIM_EXTENT_OF_ALLOCATION;
}

static uint64_t base_of(const struct memory *memory) {
    return memory->pinned ? memory->pinned->address : memory->mapping->address;
}

static uint64_t size_of(const struct memory *memory) {
    return memory->pinned ? memory->pinned->size : memory->mapping->valid;
}

static int device_of(const struct memory *memory) {
    return memory->pinned ? memory->pinned->context->device : memory->mapping->extent->device;
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

static struct answer tell_of_place(CUpointer_attribute attribute, uint64_t address,
                                   const struct memory *memory) {
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        return tell(address, sizeof(CUdeviceptr));
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        return memory->pinned ? tell(address, sizeof(void *))
                              : (struct answer){.result = CUDA_ERROR_INVALID_VALUE};
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        return tell(range_of(memory).begin, sizeof(CUdeviceptr));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        return tell(range_of(memory).size, sizeof(size_t));
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        return tell(base_of(memory), sizeof(CUdeviceptr));
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        return tell(size_of(memory), sizeof(size_t));
    default:
        return (struct answer){.result = CUDA_ERROR_INVALID_VALUE};
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
        return tell(memory->pinned ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE, sizeof(unsigned));
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        return tell(memory->pinned ? memory->pinned->identity : memory->mapping->extent->identity,
                    sizeof(unsigned long long));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return tell((unsigned)device_of(memory), sizeof(int));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        return tell(0, sizeof(bool));
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        return tell(is_allocation(memory), sizeof(bool));
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

CUresult sim_pointer_range(uint64_t address, CUdeviceptr *base, size_t *size) {
    struct memory memory;
    if (!find(address, &memory))
        return CUDA_ERROR_NOT_FOUND;
    if (base)
        *base = base_of(&memory);
    if (size)
        *size = size_of(&memory);
    return CUDA_SUCCESS;
}
