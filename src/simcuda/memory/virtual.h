// The virtual memory calls that are about a device, a handle or a range: what they accept, before
// device.h and address.h do it. (cuMemMap, cuMemUnmap and cuMemSetAccess are in mapping.h.)
#ifndef STREAMPOOL_SIMCUDA_MEMORY_VIRTUAL_H
#define STREAMPOOL_SIMCUDA_MEMORY_VIRTUAL_H

#include <stddef.h>
#include <stdint.h>

#include "driver/abi.h"

CUresult sim_virtual_granularity(size_t *granularity, const CUmemAllocationProp *prop);
CUresult sim_virtual_reserve(CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr hint,
                             unsigned long long flags);
CUresult sim_virtual_free(CUdeviceptr address, size_t size);
CUresult sim_virtual_create(CUmemGenericAllocationHandle *handle, size_t size,
                            const CUmemAllocationProp *prop, unsigned long long flags);
CUresult sim_virtual_properties(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle);
CUresult sim_virtual_release(CUmemGenericAllocationHandle handle);
CUresult sim_virtual_access(unsigned long long *flags, const CUmemLocation *location,
                            CUdeviceptr address);

#endif
