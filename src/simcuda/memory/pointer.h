// These functions tell what an address is: the attributes of cuPointerGetAttribute, for device
// memory, for pinned host memory, and for memory of the host that is mapped or managed.
#ifndef STREAMPOOL_SIMCUDA_MEMORY_POINTER_H
#define STREAMPOOL_SIMCUDA_MEMORY_POINTER_H

#include <stddef.h>
#include <stdint.h>

#include "driver/abi.h"

// Gives one attribute. INVALID_VALUE for an address of neither kind, and for an attribute that it
// doesn't have; NOT_SUPPORTED for P2P tokens; the sticky error of the memory's context when that
// has one.
CUresult sim_pointer_attribute(CUpointer_attribute attribute, uint64_t address, void *value);

// Gives an attribute as cuPointerGetAttributes does: what the address doesn't have is 0, and a
// device is CU_DEVICE_INVALID. INVALID_VALUE for an unknown attribute.
CUresult sim_pointer_attribute_or_none(CUpointer_attribute attribute, uint64_t address,
                                       void *value);

// Gives the memory that an address lies in. NOT_FOUND when it lies in none that the current device
// can reach.
CUresult sim_pointer_range(uint64_t address, CUdeviceptr *base, size_t *size);

// Give the flags of host memory, and its address on the device, as cuMemHostGetFlags and
// cuMemHostGetDevicePointer do. INVALID_VALUE for memory that has none.
CUresult sim_pointer_host_flags(uint64_t address, unsigned *flags);
CUresult sim_pointer_of_host(uint64_t address, CUdeviceptr *result);

#endif
