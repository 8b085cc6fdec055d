// cuMemAlloc and cuMemFree: memory that belongs to a context and dies with it.
//
// An allocation is an extent of its own with one mapping, at granules of its own in an arena of address
// space, so that bytes beyond its end are not mapped. It counts with its own size, in steps of 512 bytes.
#ifndef STREAMPOOL_SIMCUDA_ALLOCATION_H
#define STREAMPOOL_SIMCUDA_ALLOCATION_H

#include <stdint.h>

#include "driver/abi.h"

struct sim_context;

CUresult sim_allocation_create(const struct sim_context *context, uint64_t size, CUdeviceptr *address);
// The device has nothing left to do. Reports an address that is none of an allocation.
CUresult sim_allocation_free(CUdeviceptr address);
// The device of an allocation; -1 when there is none at that address.
int sim_allocation_device(CUdeviceptr address);
void sim_allocation_free_all(const struct sim_context *context);

uint64_t sim_allocation_count(void);
void sim_allocation_reset(void);

#endif
