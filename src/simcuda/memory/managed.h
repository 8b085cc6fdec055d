// The calls about a range of managed memory, which has to lie in one allocation of
// cuMemAllocManaged: prefetches, advice, and what was said of the range. A range means whole pages.
#ifndef STREAMPOOL_SIMCUDA_MEMORY_MANAGED_H
#define STREAMPOOL_SIMCUDA_MEMORY_MANAGED_H

#include <stddef.h>
#include <stdint.h>

#include "driver/abi.h"
#include "simcuda/entry/abi.h"

// Returns the location that older forms of the calls mean by a number: a device, or CU_DEVICE_CPU.
CUmemLocation sim_managed_location(CUdevice device);

// Each returns INVALID_VALUE for a range of other memory, or of no bytes, and for a location that
// is none; INVALID_DEVICE for a device that there isn't.
CUresult sim_managed_prefetch(uint64_t address, uint64_t size, CUmemLocation location);
CUresult sim_managed_advise(uint64_t address, uint64_t size, CUmem_advise advice,
                            CUmemLocation location);
// Gives an attribute of the range: what is the same of all its pages, or else that there is none.
// `value_size` is that of the value.
CUresult sim_managed_attribute(void *value, size_t value_size, CUmem_range_attribute attribute,
                               uint64_t address, uint64_t size);

#endif
