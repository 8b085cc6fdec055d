#include "simcuda/memory/address.h"

#include <string.h>
#include <sys/mman.h>

#include "base/number.h"
#include "simcuda/common/host.h"
#include "simcuda/common/shared.h"
#include "simcuda/common/thread.h"

// Above what a sanitizer's shadow takes, and far below where programs and libraries lie.
#define FIRST_ADDRESS 0x110000000000u

static struct sim_range *ranges;
static size_t count;
static size_t capacity;
static uint64_t reserved;
static uint64_t next_address = FIRST_ADDRESS;

// Near `address` if that is free and not 0. 0 when the host has no room.
static uint64_t map(uint64_t address, uint64_t size) {
    void *memory = mmap((void *)(uintptr_t)address, size, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? 0 : (uintptr_t)memory;
}

// Exactly there, or not at all.
static uint64_t map_at(uint64_t address, uint64_t size) {
    uint64_t mapped = address ? map(address, size) : 0;
    if (mapped == address || mapped == 0)
        return mapped;
    munmap((void *)(uintptr_t)mapped, size);
    return 0;
}

// Takes a piece wherever the host likes: it takes more, and gives back what is outside the aligned
// piece.
static uint64_t map_anywhere(uint64_t size, uint64_t alignment) {
    size_t room;
    if (!sp_checked_add(size, alignment, &room))
        return 0;
    uint64_t begin = map(0, room);
    if (begin == 0)
        return 0;
    uint64_t address = sp_round_up(begin, alignment);
    if (address > begin)
        munmap((void *)(uintptr_t)begin, address - begin);
    if (begin + room > address + size)
        munmap((void *)(uintptr_t)(address + size), begin + room - (address + size));
    return address;
}

uint64_t sim_address_take(uint64_t size, uint64_t alignment, uint64_t hint) {
    uint64_t address = hint % alignment == 0 ? map_at(hint, size) : 0;
    if (address)
        return address;
    uint64_t next = sp_round_up(next_address, alignment);
    address = map_at(next, size);
    if (!address)
        return map_anywhere(size, alignment);
    next_address = next + size;
    return address;
}

void sim_address_give(uint64_t address, uint64_t size) {
    munmap((void *)(uintptr_t)address, size);
}

bool sim_address_show(uint64_t address, uint64_t size, int protection, int file) {
    void *shown =
        mmap((void *)(uintptr_t)address, size, protection, MAP_SHARED | MAP_FIXED, file, 0);
    return shown != MAP_FAILED;
}

void sim_address_hide(uint64_t address, uint64_t size) {
    void *at = (void *)(uintptr_t)address;
    void *hidden =
        mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (hidden == MAP_FAILED)
        (void)mprotect(at, size, PROT_NONE);
}

// Returns the index of the first range that ends after the address.
static size_t find(uint64_t address) {
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].begin + ranges[middle].size > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

CUresult sim_range_reserve(uint64_t size, uint64_t alignment, uint64_t hint, uint64_t *result) {
    if (sim_config.addressSpace != 0 &&
        (reserved > sim_config.addressSpace || size > sim_config.addressSpace - reserved))
        return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t address = sim_address_take(size, alignment, hint);
    if (address == 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    SIM_RESERVE_ONE(ranges, count, capacity);
    size_t index = find(address);
    memmove(&ranges[index + 1], &ranges[index], (count - index) * sizeof(*ranges));
    ranges[index] = (struct sim_range){address, size, sim_is_for_library()};
    count++;
    reserved += size;
    *result = address;
    return CUDA_SUCCESS;
}

bool sim_range_exists(uint64_t address, uint64_t size) {
    size_t index = find(address);
    return index < count && ranges[index].begin == address && ranges[index].size == size;
}

void sim_range_free(uint64_t address, uint64_t size) {
    size_t index = find(address);
    count--;
    memmove(&ranges[index], &ranges[index + 1], (count - index) * sizeof(*ranges));
    reserved -= size;
    sim_address_give(address, size);
}

bool sim_range_covers(uint64_t address, uint64_t size) {
    size_t index = find(address);
    if (index == count || ranges[index].begin > address)
        return false;
    return size <= ranges[index].begin + ranges[index].size - address;
}

size_t sim_range_count(void) {
    return count;
}

struct sim_range sim_range_at(size_t index) {
    return ranges[index];
}

void sim_address_reset(void) {
    while (count > 0)
        sim_range_free(ranges[count - 1].begin, ranges[count - 1].size);
    sim_free(ranges);
    ranges = NULL;
    capacity = 0;
    next_address = FIRST_ADDRESS;
}
