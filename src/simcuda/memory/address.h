// Device address space: the ranges that cuMemAddressReserve gave out.
//
// A device address is a reserved host address that the host can't read or write, so a range that
// the host refuses is out of memory here as well, and touching a device address from the host
// faults; unless memory of the host is mapped there, which the host was given access to. Ranges are
// placed upwards from a fixed address while that works, so that a program run twice sees the same
// addresses.
//
//   ranges are sorted and disjoint
#ifndef STREAMPOOL_SIMCUDA_MEMORY_ADDRESS_H
#define STREAMPOOL_SIMCUDA_MEMORY_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/abi.h"

struct sim_range {
    uint64_t begin;
    uint64_t size;
    bool is_of_library;
};

// Takes `size` bytes of host address space, aligned, near `hint` if that is not 0. Returns their
// address, 0 when the host has none.
uint64_t sim_address_take(uint64_t size, uint64_t alignment, uint64_t hint);
void sim_address_give(uint64_t address, uint64_t size);

// Lets the host touch bytes of a file at addresses that were taken; `protection` is mmap's. False
// when the system refuses.
bool sim_address_show(uint64_t address, uint64_t size, int protection, int file);
// Ends that: a touch of the host faults again.
void sim_address_hide(uint64_t address, uint64_t size);

// Reserves a range as cuMemAddressReserve does. OUT_OF_MEMORY when the host or the configured limit
// has no more.
CUresult sim_range_reserve(uint64_t size, uint64_t alignment, uint64_t hint, uint64_t *result);
// Returns whether there is a range that was reserved with exactly this address and size.
bool sim_range_exists(uint64_t address, uint64_t size);
void sim_range_free(uint64_t address, uint64_t size);
// Returns whether all of [address, address + size) lies in one range.
bool sim_range_covers(uint64_t address, uint64_t size);

size_t sim_range_count(void);
struct sim_range sim_range_at(size_t index);
void sim_address_reset(void);

#endif
