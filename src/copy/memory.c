#include "copy/memory.h"

#include "driver/driver.h"

#include <streampool/streampool.h>

static bool ask(const char *memory, unsigned long long *piece) {
    return sp_driver->cuPointerGetAttribute(piece, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                            (CUdeviceptr)(uintptr_t)memory) == CUDA_SUCCESS;
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
    unsigned long long piece;
    const char *first = memory;
    return is_of_block(first, bytes) || (ask(first, &piece) && ask(first + bytes - 1, &piece));
}

enum sp_memory_kind sp_memory_kind_of(const void *memory, size_t bytes) {
    unsigned long long of_first = 0, of_last = 0;
    const char *first = memory;
    if (is_of_block(first, bytes))
        return SP_MEMORY_DIRECT;
    bool knows_first = ask(first, &of_first), knows_last = ask(first + bytes - 1, &of_last);
    if (knows_first && knows_last && of_first == of_last)
        return SP_MEMORY_DIRECT;
    return knows_first || knows_last ? SP_MEMORY_PARTLY_KNOWN : SP_MEMORY_PAGEABLE;
}

static bool find_piece(const char *first, struct sp_range *range) {
    CUdeviceptr begin = 0;
    size_t size = 0;
    CUdeviceptr address = (uintptr_t)first;
    if (sp_driver->cuPointerGetAttribute(&begin, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address) !=
            CUDA_SUCCESS ||
        sp_driver->cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address) !=
            CUDA_SUCCESS)
        return false;
    const char *base = (const char *)(uintptr_t)begin;
    *range = (struct sp_range){base, base + size, false};
    return true;
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
    if (!find_block(first, &found))
        find_piece(first, &found);
    if (!is_within(&found, first, bytes)) {
        if (sp_memory_kind_of(memory, bytes) != SP_MEMORY_DIRECT)
            return false;
        found = (struct sp_range){first, first + bytes, false};
    }
    found.is_for_kernels = may_kernels_use(first);
    *range = found;
    return true;
}
