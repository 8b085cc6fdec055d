#include "copy/memory.h"

#include "driver/driver.h"

#include <streampool/streampool.h>

// The driver tells the kind of memory, and the number of its piece, which not all memory has that a
// program maps itself. To tell one attribute alone takes it 0.5 us where it knows nothing.
struct told {
    unsigned int kind; // 0: it knows none
    unsigned long long piece;
};

static struct told ask(const char *memory) {
    struct told told = {0, 0};
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_BUFFER_ID};
    void *values[] = {&told.kind, &told.piece};
    if (sp_driver->cuPointerGetAttributes(2, asked, values, (CUdeviceptr)(uintptr_t)memory) !=
        CUDA_SUCCESS)
        return (struct told){0, 0};
    return told;
}

static bool is_known(const char *memory) {
    struct told told = ask(memory);
    return told.kind != 0 || told.piece != 0;
}

static bool is_within(const struct sp_range *range, const char *first, size_t bytes) {
    return first >= range->begin && first < range->end && bytes <= (size_t)(range->end - first);
}

static bool find_block(const char *first, struct sp_range *range) {
    struct poolPointerAttributes found;
    if (poolPointerGetAttributes(&found, first) != poolSuccess || found.state != poolPointerLive)
        return false;
    *range = (struct sp_range){found.base, (const char *)found.base + found.size, false};
    return true;
}

// Nothing of the driver is asked about a block, which may lie in several pieces of memory.
static bool is_of_block(const char *first, size_t bytes) {
    struct sp_range block;
    return find_block(first, &block) && is_within(&block, first, bytes);
}

bool sp_memory_is_known(const void *memory, size_t bytes) {
    const char *first = memory;
    return is_of_block(first, bytes) || (is_known(first) && is_known(first + bytes - 1));
}

// The driver knows all blocks.
bool sp_memory_is_direct(const void *memory, size_t bytes) {
    const char *first = memory;
    struct told told = ask(first);
    if (told.kind == 0 && told.piece == 0)
        return false;
    return (told.piece != 0 && ask(first + bytes - 1).piece == told.piece) ||
           is_of_block(first, bytes);
}

static CUresult find_piece(const char *first, struct sp_range *range) {
    CUdeviceptr begin = 0;
    size_t size = 0;
    CUdeviceptr address = (uintptr_t)first;
    CUresult result =
        sp_driver->cuPointerGetAttribute(&begin, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address);
    if (result == CUDA_SUCCESS)
        result = sp_driver->cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address);
    if (result != CUDA_SUCCESS)
        return result;
    const char *base = (const char *)(uintptr_t)begin;
    *range = (struct sp_range){base, base + size, false};
    return CUDA_SUCCESS;
}

// The memory of a pool is open to a device as a whole, and a piece that the driver knows too.
static bool may_kernels_use(const char *first) {
    enum { READ_AND_WRITE = 3 };
    CUdeviceptr there = 0, address = (uintptr_t)first;
    unsigned int access = 0;
    return sp_driver->cuPointerGetAttribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, address) ==
               CUDA_SUCCESS &&
           access == READ_AND_WRITE &&
           sp_driver->cuPointerGetAttribute(&there, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address) ==
               CUDA_SUCCESS &&
           there == address;
}

bool sp_memory_find_range(const void *memory, size_t bytes, struct sp_range *range) {
    const char *first = memory;
    struct sp_range found = {NULL, NULL, false};
    if (!find_block(first, &found)) {
        if (!is_known(first)) // most memory of the host: the next question takes longer
            return false;
        find_piece(first, &found);
    }
    bool is_one = is_within(&found, first, bytes);
    if (!is_one && sp_memory_is_direct(memory, bytes)) {
        found = (struct sp_range){first, first + bytes, false};
        is_one = true;
    }
    if (!found.begin)
        return false;
    found.is_for_kernels = may_kernels_use(first);
    *range = found;
    return is_one;
}

bool sp_memory_is_of_device(const void *memory) {
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_IS_MANAGED};
    unsigned type = 0, is_managed = 0;
    void *answers[] = {&type, &is_managed};
    return sp_driver->cuPointerGetAttributes(2, asked, answers, (CUdeviceptr)(uintptr_t)memory) ==
               CUDA_SUCCESS &&
           type == CU_MEMORYTYPE_DEVICE && is_managed == 0;
}
