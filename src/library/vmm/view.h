// Extents, and the views that map them.
//
// An *extent* is one physical handle: a whole number of granules that the driver maps only whole,
// at offset 0, and unmaps only whole. A *view* is a span of address space with extents mapped into
// it, in any places; what lies between them is a hole. Mapping creates the extent and unmapping
// releases it, each with all-or-nothing outcome:
//
//   map:    create, map, set access; a step that fails undoes those before it. What a driver
//           doesn't let undo is *stuck*: it stands in a hole, without access, or is a handle alone,
//           and goes before anything else is mapped.
//   unmap:  release the handle first, which by the driver's contract frees nothing while a mapping
//           stands, then unmap, which frees the memory. So a step that fails leaves memory that is
//           mapped and usable as before, and the next attempt goes on from there. (Measured on an
//           H200: in this order it costs the same as in the other.)
//
// Neither waits for the device. The caller sees to it that nothing runs on what it unmaps, and that
// one thread at a time changes a view: the functions take no lock.
//
//   view.mapped = sum of the sizes of view.extents
#ifndef STREAMPOOL_VMM_VIEW_H
#define STREAMPOOL_VMM_VIEW_H

#include "base/list.h"
#include "base/tree.h"
#include "vmm/access.h"
#include "vmm/space.h"

struct sp_extent {
    struct sp_tree_node by_address; // in the view
    struct sp_tree_node by_size;    // for whoever collects extents to release; see pool/trim.c
    bool chosen;                    // likewise
    struct sp_list aliases;         // its other mappings: struct sp_alias_entry
    struct sp_list stuck;           // in view->stuck
    CUdeviceptr address;
    size_t size;
    CUmemGenericAllocationHandle handle; // meaningless once handle_released
    bool mapped;                         // false only while it is made, or stuck
    bool handle_released;                // an unmap was begun and its second step failed
};

// What a view's extents are created for: RDMA where the device can.
enum sp_view_use { SP_VIEW_PLAIN, SP_VIEW_RDMA };

struct sp_view {
    struct sp_space *space;
    const struct sp_access *access; // the peers', for what is mapped from now on; null: none
    CUdeviceptr address;
    size_t size;   // of the span
    size_t mapped; // bytes
    CUmemAllocationHandleType handle_types;
    enum sp_view_use use;
    struct sp_tree extents;
    struct sp_list stuck; // extents
};

// Takes a span of at least `least` and at best `wanted` bytes (multiples of the granule) and makes
// an empty view of it, to which no peer has access.
CUresult sp_view_open(struct sp_view *view, struct sp_space *space, enum sp_span_place place,
                      size_t least, size_t wanted, CUmemAllocationHandleType handle_types,
                      enum sp_view_use use);

// Adds at least `least` and at best `wanted` bytes of address space behind the view to it. Returns
// how many; 0, and nothing has changed, when they aren't free.
size_t sp_view_extend(struct sp_view *view, size_t least, size_t wanted);

// Gives the span's end from `size` bytes on back. Nothing may be mapped or stuck there.
void sp_view_shrink(struct sp_view *view, size_t size);

// Unmaps what is stuck. False when the driver still refuses that.
bool sp_view_unmap_stuck(struct sp_view *view);

// Gives the span back, unless something is stuck in it. No extent may be left.
void sp_view_close(struct sp_view *view);

// Maps `size` new bytes (a multiple of the granule) into the hole at `address`, as one extent that
// is readable and writable by the view's device, and accessible to its peers.
CUresult sp_view_map(struct sp_view *view, CUdeviceptr address, size_t size);

// The same as several extents of `piece` bytes (a multiple of the granule), the last of which may
// be smaller. All or nothing, but that a driver which also fails to unmap leaves the first
// `*mapped` bytes mapped.
CUresult sp_view_map_pieces(struct sp_view *view, CUdeviceptr address, size_t size, size_t piece,
                            size_t *mapped);

// Unmaps an extent, which has no aliases any more, and releases its memory; the extent is freed
// when that succeeds.
CUresult sp_view_unmap(struct sp_view *view, struct sp_extent *extent);

// Unmaps the extents of the `*mapped` bytes from `address` on, the last one first, until one can't
// be, or has an alias; tells what is left.
void sp_view_unmap_back(struct sp_view *view, CUdeviceptr address, size_t *mapped);

// The extent with the lowest address that is not below `address`, or null.
struct sp_extent *sp_view_extent_from(const struct sp_view *view, CUdeviceptr address);
struct sp_extent *sp_view_extent_next(const struct sp_extent *extent);

// The extent that an address lies in, or null in a hole.
struct sp_extent *sp_view_extent_at(const struct sp_view *view, CUdeviceptr address);

#endif
