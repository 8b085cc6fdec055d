// These functions tell what calls cost the host and work costs the device, in nanoseconds: the
// figures of one NVIDIA H200 (driver 580.159, CUDA 13.0), medians, rounded. They make virtual time
// plausible; nothing depends on one of them.
#ifndef STREAMPOOL_SIMCUDA_QUEUE_COST_H
#define STREAMPOOL_SIMCUDA_QUEUE_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "simcuda/entry/entry.h"

// Returns what a call costs, whatever its arguments.
uint64_t sim_cost_call(enum sim_entry entry);

// Returns what a call that handles memory or addresses costs beyond that for each extent of `size`
// bytes.
uint64_t sim_cost_extent(enum sim_entry entry, uint64_t size);
// Returns the same of memory of the host.
uint64_t sim_cost_host_extent(enum sim_entry entry, uint64_t size);

// Returns the time that a kernel or a copy takes to touch bytes.
uint64_t sim_cost_bytes(uint64_t size);

// Returns what pinning host memory, or the end of that, costs beyond the call.
uint64_t sim_cost_pinned(enum sim_entry entry, uint64_t size);

// The ways that bytes go in copies.
enum sim_cost_way {
    SIM_COST_BUS,            // between a device and pinned memory
    SIM_COST_STAGING,        // the host copies pageable memory to where the bus takes it from
    SIM_COST_PAGEABLE_OUT,   // from a device to pageable memory
    SIM_COST_ON_DEVICE,      // each byte is read and written
    SIM_COST_BETWEEN,        // between devices that reach each other's memory
    SIM_COST_BY_WAY_OF_HOST, // between others
    SIM_COST_ON_HOST
};

// Returns the time in which bytes go that way, once they go.
uint64_t sim_cost_copy(enum sim_cost_way way, uint64_t size);
// Returns the time that passes before the first byte of a copy does.
uint64_t sim_cost_copy_start(void);

#endif
