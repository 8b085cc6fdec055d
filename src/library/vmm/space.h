// The address space of one device: large reserved ranges, handed out as spans of whole granules.
//
// Reserving costs microseconds and no memory, so the first range is 16 times the device's memory,
// at most 16 TiB. Where the system gives no more it is less: half, a quarter, and so on, down to
// what is asked for. When the spans are used up, a further range is reserved. Ranges are kept until
// the process ends, so that an address in one of them can always be looked up in the page map.
//
// Small spans lie together at low addresses, so that few pages of the page map are touched. Those
// of aliases, which are never extended, lie at high addresses. A span that is to grow lies in the
// middle of the largest free span, as long as both halves have room for the device's memory twice.
//
// All free spans stand in a tree by address. Those with fewer bytes than `wide_least` are *narrow*
// and stand in a tree by size as well, for the best fit: there may be a hundred thousand. The few
// others are *wide*, and stand in a second tree by address, for the first fit.
//
// Each span that is handed out has the node with which it can be given back, so giving never fails.
// Such a node is *spare*: it waits in a list until there is a span to free.
//
// The space also tells which extent is mapped at an address.
// `lock` guards the spans, and is held across cuMemAddressReserve, which waits for nothing.
// `finding` guards the extents, and is taken behind any other lock.
//
//   sum of free spans + spans handed out = sum of the ranges
//   free spans <= spans handed out + ranges = nodes, in the trees or spare
#ifndef STREAMPOOL_VMM_SPACE_H
#define STREAMPOOL_VMM_SPACE_H

#include "base/list.h"
#include "base/lock.h"
#include "base/tree.h"
#include "vmm/device.h"

// A piece of address space: a free one, or a whole reserved range; or a spare node.
struct sp_span {
    struct sp_tree_node by_address;
    struct sp_tree_node in_kind; // narrow or wide
    struct sp_list link;         // a range, or spare
    CUdeviceptr address;
    size_t size;
    // The start of the range that it lies in: spans are merged inside a range only.
    CUdeviceptr range;
};

struct sp_spans {
    size_t wide_least;         // bytes of the smallest wide span
    struct sp_tree by_address; // all, no two adjacent ones of one range
    struct sp_tree narrow;     // by (size, address)
    struct sp_tree wide;       // by address
    struct sp_list spare;      // struct sp_span
};

// A place at which an extent (vmm/view.h) is mapped, its home or another one (vmm/alias.h), for who
// looks for it by an address.
struct sp_space_extent {
    struct sp_tree_node by_address;
    CUdeviceptr address;
    size_t size;
    struct sp_space_extent *home; // itself, where it is the home
    unsigned held;                // of the home; see region/held.h
};

struct sp_space {
    struct sp_lock lock;
    const struct sp_vmm_device *device;
    size_t range_size;     // the bytes that the next range is asked to have
    struct sp_list ranges; // struct sp_span, one for each reserved range
    struct sp_spans free;
    struct sp_lock finding; // guards what follows
    struct sp_tree extents;
};

enum sp_span_place {
    SP_SPAN_LOW,   // a gap, or the lowest address
    SP_SPAN_HIGH,  // a gap, or the highest address
    SP_SPAN_ROOMY, // with room behind it
};

// Makes zeroed memory a space. `range_size` is the size of the first range in bytes; 0 is the
// default above. Reserves nothing yet.
void sp_space_init(struct sp_space *space, const struct sp_vmm_device *device, size_t range_size);

// Takes a span of at least `least` bytes and at most `wanted`, as the largest free span or a new
// range gives them. Both are multiples of the granule. Memory is lacking (sp_outcome_lacks_memory)
// when there is no address space or host memory.
struct sp_outcome sp_space_take(struct sp_space *space, enum sp_span_place place, size_t least,
                                size_t wanted, CUdeviceptr *address, size_t *size);

// Adds free bytes behind a span to it: at least `least` and at most `wanted`. Returns how many.
// When fewer are free, returns 0 and changes nothing.
size_t sp_space_extend(struct sp_space *space, CUdeviceptr end, size_t least, size_t wanted);

// Gives all of a span back, with the bytes that it has been extended by, or the end of one that
// stays. Nothing may be mapped there.
void sp_space_give(struct sp_space *space, CUdeviceptr address, size_t size, bool is_all);

// An extent was mapped somewhere, or was unmapped there. Its home is mapped for longer than all
// else.
void sp_space_note_extent(struct sp_space *space, struct sp_space_extent *extent,
                          CUdeviceptr address, size_t size, struct sp_space_extent *home);
void sp_space_forget_extent(struct sp_space *space, struct sp_space_extent *extent);

// With `finding` held, which may be taken behind any other lock: returns what is mapped at an
// address, or null.
struct sp_space_extent *sp_space_extent_at_locked(struct sp_space *space, CUdeviceptr address);

// Returns whether the bytes lie in one extent, where that is mapped.
bool sp_space_is_one_extent(struct sp_space *space, CUdeviceptr address, size_t size);

#endif
