// Device memory by device address: translation through the page table, and what work does to bytes.
#ifndef STREAMPOOL_SIMCUDA_BYTES_H
#define STREAMPOOL_SIMCUDA_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/abi.h"

struct sim_item;

// Read and write across mappings. False when a byte is not mapped (or the host has no memory); a
// write may then have written what came before it. Access rights and races are not looked at:
// sim_bytes_touch does.
bool sim_bytes_read(uint64_t address, void *to, size_t size);
bool sim_bytes_write(uint64_t address, const void *from, size_t size);

// Enters everything that a piece of work names into the histories, as it completes: reports races,
// and what is not mapped or not accessible from the device. Then it returns
// CUDA_ERROR_ILLEGAL_ADDRESS.
CUresult sim_bytes_touch(const struct sim_item *item, int device);

#endif
