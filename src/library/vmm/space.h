// The address space of one device: large reserved ranges, handed out as spans of whole granules.
//
// Reserving costs microseconds and no memory, so the first range is 16 times the device's memory
// (at most 16 TiB), and less where the system gives no more: half, a quarter, … down to what is
// asked for. When the spans are used up, a further range is reserved. Ranges are kept until the
// process ends, so that an address in one of them can always be looked up in the page map.
//
// Where a span is put decides whether it can be extended later, in place. Small spans lie together
// at low addresses, so that few pages of the page map are touched; what is never extended (the
// spans of aliases) at high ones; and a span that is to grow where there is much room behind it: in
// the middle of the largest free span, as long as both halves have room for the device's memory
// twice.
//
// Free spans stand in trees, so that a hundred thousand cost no more than a few: all of them by
// address; the narrow ones by size as well, for the best fit; and the wide ones, of which a range
// has few, by address, for the first fit. Each span that is handed out has the node with which it
// can be given back, so giving never fails.
//
// One lock guards the struct; it is held across cuMemAddressReserve, which waits for nothing.
//
//   sum of free spans + spans handed out = sum of the ranges
//   free spans <= spans handed out + ranges = nodes, in the trees or spare
#ifndef STREAMPOOL_VMM_SPACE_H
#define STREAMPOOL_VMM_SPACE_H

#include "base/list.h"
#include "base/lock.h"
#include "base/tree.h"
#include "vmm/device.h"

struct sp_space {
    struct sp_lock lock;
    const struct sp_vmm_device *device;
    size_t range_size;         // what the next range is asked to be
    size_t wide_least;         // a free span of so many bytes is a wide one
    struct sp_list ranges;     // struct span, one for each reserved range
    struct sp_tree by_address; // all free spans, no two adjacent ones of one range
    struct sp_tree narrow;     // by (size, address)
    struct sp_tree wide;       // by address
    struct sp_list spare;      // struct span
};

enum sp_span_place {
    SP_SPAN_LOW,   // a gap, or the lowest address
    SP_SPAN_HIGH,  // a gap, or the highest address
    SP_SPAN_ROOMY, // with room behind it
};

// `range_size` is the size of the first range in bytes; 0 is the default above. Reserves nothing
// yet.
void sp_space_init(struct sp_space *space, const struct sp_vmm_device *device, size_t range_size);

// Takes a span of at least `least` bytes, at best `wanted` bytes: whatever the largest free span or
// a new range gives. Both are multiples of the granule. CUDA_ERROR_OUT_OF_MEMORY when there is no
// address space or host memory.
CUresult sp_space_take(struct sp_space *space, enum sp_span_place place, size_t least,
                       size_t wanted, CUdeviceptr *address, size_t *size);

// Adds what is free behind a span to it: at least `least` bytes, at best `wanted`. Returns how
// many; 0, and nothing has changed, when there are fewer.
size_t sp_space_extend(struct sp_space *space, CUdeviceptr end, size_t least, size_t wanted);

// Gives a span back, as it is by now; or so many bytes at the end of one that stays. Nothing may be
// mapped there.
void sp_space_give(struct sp_space *space, CUdeviceptr address, size_t size);
void sp_space_give_end(struct sp_space *space, CUdeviceptr address, size_t size);

// For checks: the trees are in order and agree.
bool sp_space_check(struct sp_space *space);

// For tests: frees every range. All spans must have been given back.
void sp_space_close(struct sp_space *space);

#endif
