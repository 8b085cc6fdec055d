// cuMemAlloc and cuMemFree: memory that belongs to a context and dies with it.
//
// An allocation is an extent of its own with one mapping, at granules of its own in an arena of
// address space, so that bytes beyond its end are not mapped. It counts with its own size, in steps
// of 512 bytes.
#ifndef STREAMPOOL_SIMCUDA_ALLOCATION_H
#define STREAMPOOL_SIMCUDA_ALLOCATION_H

#include <stdbool.h>
#include <stdint.h>

#include "driver/abi.h"

struct sim_context;
struct sim_job;

CUresult sim_allocation_create(const struct sim_context *context, uint64_t size,
                               CUdeviceptr *result);
// The device has nothing left to do. Reports an address that is none of an allocation.
CUresult sim_allocation_free(CUdeviceptr address);

// The same in the order of a stream: the work that frees it when it completes, with no order to
// another use of it being a race. From when it is enqueued on, the allocation is none to other
// calls.
CUresult sim_allocation_free_job(struct sim_job *job, CUdeviceptr address);
void sim_allocation_set_being_freed(CUdeviceptr address, bool is_being_freed);

// The device of an allocation; -1 when there is none at that address.
int sim_allocation_device(CUdeviceptr address);
void sim_allocation_free_all(const struct sim_context *context);

uint64_t sim_allocation_count(void);
void sim_allocation_reset(void);

#endif
