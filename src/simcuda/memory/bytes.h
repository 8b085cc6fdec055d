// Memory by device address: translation through the page table, or to pinned host memory, and what
// work does to bytes. A copy's access to memory that is mapped, but which its device can't reach,
// is the driver's own on the host's behalf.
//
// Host memory that isn't pinned has a history, too, as long as the host doesn't know that what is
// in it is complete.
#ifndef STREAMPOOL_SIMCUDA_MEMORY_BYTES_H
#define STREAMPOOL_SIMCUDA_MEMORY_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <streampool/simcuda.h>

#include "driver/abi.h"

struct sim_item;
struct sim_job;

// Read and write across mappings. False when a byte is not mapped (or the host has no memory); a
// write may then have written what came before it. Access rights and races are not looked at:
// sim_bytes_touch does.
bool sim_bytes_read(uint64_t address, void *to, size_t size);
bool sim_bytes_write(uint64_t address, const void *from, size_t size);

// Enters everything that a piece of work names into the histories, as it completes: reports races,
// and what is not mapped or not accessible from the device. Then it returns
// CUDA_ERROR_ILLEGAL_ADDRESS.
CUresult sim_bytes_touch(const struct sim_item *item, int device);

// Returns whether each byte is that of a device, or of pinned memory.
bool sim_bytes_exist(uint64_t address, uint64_t size);
// Returns whether a byte is memory of a device, and sets the device.
bool sim_bytes_on_device(uint64_t address, int *device);

// Returns the sum of all that the job reads of the host.
uint64_t sim_bytes_sum_of_sources(const struct sim_job *job);
// Returns whether the job reads bytes of the host, and no pending piece of work writes them.
bool sim_bytes_can_watch(const struct sim_job *job);

// The host touches bytes of its own now: reports a race with work that it doesn't know to be
// complete.
void sim_bytes_touch_by_host(uint64_t address, uint64_t size, simcudaAccessKind kind);

void sim_bytes_reset(void);

#endif
