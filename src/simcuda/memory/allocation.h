// cuMemAlloc, cuMemAllocManaged and cuMemFree hand out memory that belongs to a context and dies
// with it. Managed memory is the host's; the host and all devices touch it at one address, and
// nothing moves.
//
// An allocation is an extent of its own with one mapping, at granules of its own in an arena of
// address space, so that bytes beyond its end are not mapped. It counts with its own size, on a
// device in steps of 512 bytes, and of managed memory in pages.
#ifndef STREAMPOOL_SIMCUDA_MEMORY_ALLOCATION_H
#define STREAMPOOL_SIMCUDA_MEMORY_ALLOCATION_H

#include <stdbool.h>
#include <stdint.h>

#include "driver/abi.h"

struct sim_context;
struct sim_job;

CUresult sim_allocation_create(const struct sim_context *context, uint64_t size,
                               CUdeviceptr *address);
CUresult sim_allocation_create_managed(const struct sim_context *context, uint64_t size,
                                       CUdeviceptr *address);
// Frees an allocation. The device has nothing left to do. Reports an address that is none of an
// allocation.
CUresult sim_allocation_free(CUdeviceptr address);

// Fills in a job that frees an allocation when it completes. The job writes all of its bytes, so a
// use that has no order to it is a race. Reports an address that is none of an allocation.
CUresult sim_allocation_free_job(struct sim_job *job, CUdeviceptr address);
// Marks an allocation as being freed by such a job, or takes the mark back. An allocation with the
// mark is none to the other calls.
void sim_allocation_set_being_freed(CUdeviceptr address, bool is_being_freed);

// Returns whether the address lies where device memory is or may come to be: in an arena of
// allocations or in a reserved range.
bool sim_allocation_is_device_address(CUdeviceptr address);

// Returns the device of the context that has the allocation which begins at an address; -1 when
// there is none.
int sim_allocation_device(CUdeviceptr address);
void sim_allocation_free_all(const struct sim_context *context);

// These count all allocations, and those of managed memory.
uint64_t sim_allocation_count(void);
uint64_t sim_allocation_count_of_managed(void);
void sim_allocation_reset(void);

#endif
