// The driver's calls that tell what a pointer is, for memory of ours.
//
// To the driver it is virtual memory, of which it knows pieces and no allocations. So the driver is
// asked first: it checks the arguments, and its failures are passed on, but for those that only say
// that virtual memory has no such property. Then what it can't know is put in: the allocation, its
// pool and its number, and what memory of a pool is not. Everything else stays as the driver says,
// for it is true of this memory: access, mappings, and what other devices can do with it.
//
// Memory of the host and managed memory are to the driver what they are to the program, too. Only
// the access of devices to them is told otherwise: CUDA's pools say that there is one.
//
// Memory of the host to which a device's pool has overflowed (HostOverflowMax) is the device's to
// the program, which asked for that.
//
// An address of ours at which nothing is allocated is nothing to the program. The driver is asked
// about the lowest page in its place, where nobody has memory.
#include "dropin/notes.h"
#include "dropin/real.h"
#include "dropin/served.h"

#define NOWHERE   ((CUdeviceptr)4096)
#define HOST_PAGE ((CUdeviceptr)4096)

enum whose { FOREIGN, NOBODYS, OURS };

static CUdeviceptr base_of(const struct poolPointerAttributes *is) {
    return (CUdeviceptr)(uintptr_t)is->base;
}

// The ordinal of the device that a pool is of, and -1 for one of the host or of managed memory.
static int device_of(poolMemPool_t pool) {
    int type = 0, location = 0, device = -1;
    bool is_of_device =
        poolMemPoolGetAttribute(pool, poolMemPoolAttrAllocationType, &type) == poolSuccess &&
        poolMemPoolGetAttribute(pool, poolMemPoolAttrLocationType, &location) == poolSuccess &&
        type == poolMemAllocationTypePinned && location == poolMemLocationTypeDevice;
    if (is_of_device)
        (void)poolMemPoolGetAttribute(pool, poolMemPoolAttrLocationId, &device);
    return device;
}

// The bytes of a block beyond those that were asked for are nobody's.
static enum whose look(CUdeviceptr address, struct poolPointerAttributes *is) {
    void *pointer = (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
    if (!sp_interpose_has_address(address) ||
        poolPointerGetAttributes(is, pointer) != poolSuccess || is->state == poolPointerForeign)
        return FOREIGN;
    bool lies_in =
        is->state == poolPointerLive && address - base_of(is) < (CUdeviceptr)is->requestedSize;
    if (lies_in && is->device < 0 && is->pool)
        is->device = device_of(is->pool);
    return lies_in ? OURS : NOBODYS;
}

static bool is_of_device(const struct poolPointerAttributes *is) {
    return is->device >= 0;
}

// The driver's words for what virtual memory hasn't got. Any other failure is none of the memory's.
static bool may_be_of_virtual_memory(CUresult result) {
    return result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_VALUE ||
           result == CUDA_ERROR_NOT_SUPPORTED || result == CUDA_ERROR_NOT_FOUND;
}

// --------------------------------------------------------------------------- asking for attributes

#define PUT(type, content) (*(type *)value = (type)(content), CUDA_SUCCESS)

static CUresult put_noted(void *value, CUpointer_attribute attribute,
                          const struct poolPointerAttributes *is) {
    struct sp_note note;
    if (!sp_notes_find(is, &note))
        return CUDA_ERROR_OUT_OF_MEMORY;
    return attribute == CU_POINTER_ATTRIBUTE_BUFFER_ID ? PUT(unsigned long long, note.number)
                                                       : PUT(unsigned int, note.synchronizes);
}

static CUresult put_of_device(void *value, CUpointer_attribute attribute,
                              const struct poolPointerAttributes *is, CUresult answer) {
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return PUT(unsigned int, CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        return PUT(unsigned int, 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return PUT(int, is->device);
    default:
        return answer;
    }
}

// This is memory of the host, or managed memory.
static CUresult put_of_host(void *value, CUpointer_attribute attribute, CUresult answer) {
    if (attribute == CU_POINTER_ATTRIBUTE_ACCESS_FLAGS)
        return PUT(unsigned int, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    return answer;
}

// Puts in what the driver doesn't know. `answer` is what it says, and stays for all else. Memory of
// a pool is of no context, and what can be exported isn't ours.
static CUresult put(void *value, CUpointer_attribute attribute,
                    const struct poolPointerAttributes *is, CUresult answer) {
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        return PUT(CUcontext, NULL);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        return PUT(unsigned int, 0);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        return PUT(CUdeviceptr, base_of(is));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        return PUT(size_t, is->requestedSize);
    case CU_POINTER_ATTRIBUTE_MAPPED:
        return PUT(unsigned int, 1);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        return PUT(CUmemoryPool, is->pool);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        return put_noted(value, attribute, is);
    default:
        return is_of_device(is) ? put_of_device(value, attribute, is, answer)
                                : put_of_host(value, attribute, answer);
    }
}

CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr address) {
    struct poolPointerAttributes is;
    enum whose whose = look(address, &is);
    CUresult result = sp_real_call(cuPointerGetAttribute,
                                   (value, attribute, whose == NOBODYS ? NOWHERE : address));
    return whose == OURS && value && may_be_of_virtual_memory(result)
               ? put(value, attribute, &is, result)
               : result;
}

CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **values,
                                CUdeviceptr address) {
    struct poolPointerAttributes is;
    enum whose whose = look(address, &is);
    CUresult result = sp_real_call(
        cuPointerGetAttributes, (count, attributes, values, whose == NOBODYS ? NOWHERE : address));
    for (unsigned int i = 0; whose == OURS && result == CUDA_SUCCESS && i < count; i++) {
        if (values[i])
            result = put(values[i], attributes[i], &is, result);
    }
    return result;
}

// ------------------------------------------------------------------------------ synchronous copies

// Virtual memory has no such attribute: its contexts have. The driver may wait for work when the
// flag is set, so it is set once. A driver before CUDA 12.1 has no such flag.
static void have_context_synchronize(void) {
    unsigned int flags = 0;
    if (sp_real_call(cuCtxGetFlags, (&flags)) == CUDA_SUCCESS && !(flags & CU_CTX_SYNC_MEMOPS))
        sp_real_call(cuCtxSetFlags, (flags | CU_CTX_SYNC_MEMOPS));
}

static CUresult set_synchronizes(const struct poolPointerAttributes *is, unsigned int value) {
    if (sp_served_context() == CUDA_ERROR_CONTEXT_IS_DESTROYED)
        return CUDA_ERROR_INVALID_VALUE; // as of memory of the driver's pools
    if (!sp_notes_set_synchronizes(is, value != 0))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (value != 0)
        have_context_synchronize();
    return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                               CUdeviceptr address) {
    struct poolPointerAttributes is;
    enum whose whose = look(address, &is);
    CUresult result = sp_real_call(cuPointerSetAttribute,
                                   (value, attribute, whose == NOBODYS ? NOWHERE : address));
    if (whose != OURS || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !value ||
        !may_be_of_virtual_memory(result))
        return result;
    return set_synchronizes(&is, *(const unsigned int *)value);
}

// ------------------------------------------------------------------------------------------ ranges

// Memory of the host is no range before the device has access to it.
CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address) {
    struct poolPointerAttributes is;
    enum whose whose = look(address, &is);
    CUresult result =
        sp_real_call(cuMemGetAddressRange_v2, (base, size, whose == NOBODYS ? NOWHERE : address));
    if (whose != OURS || !may_be_of_virtual_memory(result) ||
        (result == CUDA_ERROR_NOT_FOUND && !is_of_device(&is)))
        return result;
    if (base)
        *base = base_of(&is);
    if (size)
        *size = is.requestedSize;
    return CUDA_SUCCESS;
}

static CUdeviceptr round_up(CUdeviceptr address) {
    return (address + HOST_PAGE - 1) & ~(HOST_PAGE - 1);
}

// A range of whole pages reaches over the ends of an allocation, but no further.
static bool reaches_over(const struct poolPointerAttributes *is, CUdeviceptr address, size_t size) {
    CUdeviceptr end = round_up(base_of(is) + is->requestedSize);
    return size > end - address;
}

// The driver exports the memory behind a range, whatever lies there.
CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr address, size_t size,
                                       CUmemRangeHandleType type, unsigned long long flags) {
    struct poolPointerAttributes is;
    enum whose whose = look(address, &is);
    bool refused = whose == NOBODYS || (whose == OURS && reaches_over(&is, address, size));
    return sp_real_call(cuMemGetHandleForAddressRange,
                        (handle, refused ? NOWHERE : address, size, type, flags));
}

// ---------------------------------------------------------------- what memory of a pool hasn't got

// The address, or one where nobody has memory in place of one of ours.
static void *not_ours(void *address) {
    bool is_ours = sp_interpose_has_address((CUdeviceptr)(uintptr_t)address);
    return is_ours ? (void *)NOWHERE : address; // NOLINT(performance-no-int-to-ptr)
}

// Its pieces are ours, and no allocation has one to itself.
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address) {
    return sp_real_call(cuMemRetainAllocationHandle, (handle, not_ours(address)));
}

CUresult cuIpcGetMemHandle(struct CUipcMemHandle_st *handle, CUdeviceptr address) {
    return sp_real_call(cuIpcGetMemHandle,
                        (handle, sp_interpose_has_address(address) ? NOWHERE : address));
}

// Nobody frees a piece of ours in which blocks of the program lie.
CUresult cuMemFreeHost(void *memory) {
    return sp_real_call(cuMemFreeHost, (not_ours(memory)));
}

// A pool's memory is none of cuMemHostAlloc.
CUresult cuMemHostGetFlags(unsigned int *flags, void *memory) {
    return sp_real_call(cuMemHostGetFlags, (flags, not_ours(memory)));
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *memory, unsigned int flags) {
    return sp_real_call(cuMemHostGetDevicePointer_v2, (address, not_ours(memory), flags));
}
