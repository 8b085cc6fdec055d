// The address space of one device: large reserved ranges, handed out as spans of whole granules.
//
// Reserving costs microseconds and no memory, so the first range is 16 times the device's memory (at most 16
// TiB), and less where the system gives no more: half, a quarter, … down to what is asked for. When the
// spans are used up, a further range is reserved. Ranges are kept until the process ends, so that an address
// in one of them can always be looked up in the page map.
//
// One lock guards the struct; it is held across cuMemAddressReserve, which waits for nothing.
//
//   sum of spans in `free` + spans handed out = sum of the ranges
#ifndef STREAMPOOL_VMM_SPACE_H
#define STREAMPOOL_VMM_SPACE_H

#include "base/list.h"
#include "base/lock.h"
#include "vmm/device.h"

struct sp_space {
    struct sp_lock lock;
    const struct sp_vmm_device *device;
    size_t range_size;     // what the next range is asked to be
    struct sp_list ranges; // struct span, one for each reserved range
    struct sp_list free;   // struct span, by address, no two adjacent ones of one range
};

// `range_size` is the size of the first range in bytes; 0 is the default above. Reserves nothing yet.
void sp_space_init(struct sp_space *space, const struct sp_vmm_device *device, size_t range_size);

// Takes a span of at least `least` bytes, at best `wanted` bytes: whatever the largest free span or a new
// range gives. Both are multiples of the granule. CUDA_ERROR_OUT_OF_MEMORY when there is no address space or
// host memory.
CUresult sp_space_take(struct sp_space *space, size_t least, size_t wanted, CUdeviceptr *address,
                       size_t *size);

// Gives a span back. Nothing may be mapped in it.
void sp_space_give(struct sp_space *space, CUdeviceptr address, size_t size);

// For tests: frees every range. All spans must have been given back.
void sp_space_close(struct sp_space *space);

#endif
