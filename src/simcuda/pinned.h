// cuMemHostAlloc and cuMemFreeHost: pinned host memory, which belongs to a context and dies with
// it.
//
// Each allocation has an id that never comes back, though its address may: as on an H200, an
// allocation is given the address of the one of its size that was freed last, in whichever context
// that was.
#ifndef STREAMPOOL_SIMCUDA_PINNED_H
#define STREAMPOOL_SIMCUDA_PINNED_H

#include <stddef.h>
#include <stdint.h>

#include "driver/abi.h"

struct sim_context;

CUresult sim_pinned_create(const struct sim_context *context, size_t size, void **memory);
// Reports an address that is none of an allocation.
CUresult sim_pinned_free(void *memory);
void sim_pinned_free_all(const struct sim_context *context);

// The id of the allocation that an address lies in. INVALID_VALUE when it lies in none; the sticky
// error of the allocation's context when that has one.
CUresult sim_pinned_identify(uint64_t address, unsigned long long *id);

uint64_t sim_pinned_count(void);
uint64_t sim_pinned_count_of_library(void);
void sim_pinned_reset(void);

#endif
