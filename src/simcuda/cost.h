// These functions tell what calls cost the host and work costs the device, in nanoseconds: the
// figures of one NVIDIA H200 (driver 580.159, CUDA 13.0), medians, rounded. They make virtual time
// plausible; nothing depends on one of them.
#ifndef STREAMPOOL_SIMCUDA_COST_H
#define STREAMPOOL_SIMCUDA_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "simcuda/entry.h"

// Returns what a call costs, whatever its arguments.
uint64_t sim_cost_call(enum sim_entry entry);

// Returns what a call that handles memory or addresses costs beyond that for each extent of `size`
// bytes.
uint64_t sim_cost_extent(enum sim_entry entry, uint64_t size);

// Returns the time that a kernel or a copy takes to touch bytes.
uint64_t sim_cost_bytes(uint64_t size);

#endif
