// Extents, and the views that map them.
//
// An *extent* is one physical handle: a whole number of granules that the driver maps only whole,
// at offset 0, and unmaps only whole. A *view* is a span of address space with extents mapped into
// it, in any places; a *hole* is a place between them. Mapping creates an extent and unmapping
// releases it, each all or nothing:
//
//   map:    create, map, set access; a step that fails undoes those before it. An extent that the
//           driver doesn't let be undone is *stuck*: it lies in a hole, without access, or is a
//           handle alone, and it is unmapped before anything else is mapped.
//   unmap:  release the handle first, which by the driver's contract frees nothing while a mapping
//           stands, then unmap, which frees the memory. So a step that fails leaves memory that is
//           mapped and usable as before, and the next attempt goes on from there. On an H200 this
//           order costs as much as the other.
//
// An extent can also be *evicted*: it gives its memory back, and stays in its view with its
// address. Then it is made resident again, with other memory. Each of both goes on where an earlier
// attempt has failed, and does nothing that is done already.
//
// None of these waits for the device. The caller sees to it that nothing runs on memory that it
// unmaps, and that one thread at a time changes a view: the functions take no lock.
//
// A *plain* view is one of a place that does without virtual memory management. Its memory is got
// by a call such as cuMemAlloc, in one piece, at an address that the driver chooses. So it is never
// moved, extended, mapped a second time or cut. It has one extent, which is mapped whole, with no
// driver call, and only once. The memory is given back, which waits for the device, before the
// extent is unmapped or then. It is that of a context, and ends with it. Then the driver may give
// the addresses again, while the page map still holds those that are in use.
//
//   view.mapped = sum of the sizes of view.extents, but for one whose memory has ended
//   plain.base <= view.address, and the view's end <= plain.base + what was got
#ifndef STREAMPOOL_VMM_VIEW_H
#define STREAMPOOL_VMM_VIEW_H

#include "base/list.h"
#include "base/tree.h"
#include "vmm/space.h"

struct sp_view;

struct sp_extent {
    struct sp_view *view;
    struct sp_tree_node by_address; // in the view
    struct sp_space_extent in_space;
    struct sp_tree_node by_size; // for code that collects extents to release; see supply/trim.c
    uint64_t rank;               // likewise
    struct sp_list aliases;      // its other mappings: struct sp_alias_entry
    struct sp_list stuck;        // in view->stuck
    CUdeviceptr address;
    size_t size;
    CUmemGenericAllocationHandle handle; // meaningless once handle_released
    bool mapped;                         // false only while it is made, stuck, or evicted
    bool handle_released; // an unmap was begun and its second step failed; or it is evicted
};

// The use for which a view's extents are created. RDMA is had only where the device can.
enum sp_view_use { SP_VIEW_PLAIN, SP_VIEW_RDMA };

struct sp_plain {
    CUdeviceptr base; // as the driver gave it; 0: nothing
    size_t size;      // likewise
    CUdeviceptr left; // what the provider must forget when the view is closed; 0: nothing
    CUcontext context;
    uint64_t context_id; // the caller's
    bool lost;           // set by the caller: it has ended with its context
};

struct sp_view {
    struct sp_space *space;
    const struct sp_vmm_provider *provider;
    struct sp_plain plain;          // of a plain view
    const struct sp_access *access; // of the peers, set for each new mapping; null: none
    CUdeviceptr address;
    size_t size;   // of the span
    size_t mapped; // bytes, evicted ones too
    CUmemAllocationHandleType handle_types;
    enum sp_view_use use;
    struct sp_tree extents;
    struct sp_list stuck; // extents
};

// Takes a span of at least `least` and at most `wanted` bytes (multiples of the granule) and makes
// an empty view of it, to which no peer has access.
struct sp_outcome sp_view_open(struct sp_view *view, struct sp_space *space,
                               enum sp_span_place place, size_t least, size_t wanted,
                               CUmemAllocationHandleType handle_types, enum sp_view_use use);

// Makes a plain view of `size` bytes (a multiple of the granule), got in a context whose id is the
// caller's.
struct sp_outcome sp_view_open_plain(struct sp_view *view, struct sp_space *space,
                                     CUcontext context, uint64_t context_id, size_t size);

// Adds address space behind the view to it, as sp_space_extend() does.
size_t sp_view_extend(struct sp_view *view, size_t least, size_t wanted);

// Gives all but the first `size` bytes of the span back, where nothing may be mapped or stuck.
void sp_view_shrink(struct sp_view *view, size_t size);

// Unmaps all stuck extents, unless the driver still refuses that.
struct sp_outcome sp_view_unmap_stuck(struct sp_view *view);

// Gives the span back, unless something is stuck in it, or the memory of a plain view that was
// never mapped. No extent may be left.
void sp_view_close(struct sp_view *view);

// Maps `size` new bytes (a multiple of the granule) into the hole at `address`, as one extent that
// is readable and writable by the view's device, and accessible to its peers.
struct sp_outcome sp_view_map(struct sp_view *view, CUdeviceptr address, size_t size);

// Maps `size` new bytes as several extents of `piece` bytes (a multiple of the granule), of which
// the last may be smaller; and the `last` of them, if any, as one more. It is all or nothing,
// unless the driver also fails to unmap: then the first `*mapped` bytes stay mapped.
struct sp_outcome sp_view_map_pieces(struct sp_view *view, CUdeviceptr address, size_t size,
                                     size_t piece, size_t last, size_t *mapped);

// Gives the memory of a plain view back, which waits for the device. This thread alone unmaps the
// view's extent, and does so next where this succeeds; others may walk its extents meanwhile.
struct sp_outcome sp_view_give_plain(struct sp_view *view);

// Notes that the memory of a plain view has ended with its context, and its extent with it.
// `mapped` and the page map are left to the caller, who knows what of it is in use.
void sp_view_lose(struct sp_view *view);

// Unmaps an extent, which has no aliases, releases its memory, and frees it.
struct sp_outcome sp_view_unmap(struct sp_view *view, struct sp_extent *extent);

// Evicts an extent of mapped memory whose aliases are evicted; and makes one resident, with the
// access that the view's device and peers have now. The first keeps the bytes where it fails.
struct sp_outcome sp_view_evict(struct sp_extent *extent);
struct sp_outcome sp_view_make_resident(struct sp_extent *extent);

// True when the extent has no memory.
static inline bool sp_view_is_evicted(const struct sp_extent *extent) {
    return !extent->mapped && extent->handle_released;
}

// Unmaps the extents of the `*mapped` bytes from `address` on, the last one first. It stops at one
// that has an alias or can't be unmapped, and sets `*mapped` to the bytes that are left.
void sp_view_unmap_back(struct sp_view *view, CUdeviceptr address, size_t *mapped);

// Return an extent, or null: the first one that does not begin below an address, the one behind
// another, and the one that an address lies in.
struct sp_extent *sp_view_extent_from(const struct sp_view *view, CUdeviceptr address);
struct sp_extent *sp_view_extent_next(const struct sp_extent *extent);
struct sp_extent *sp_view_extent_at(const struct sp_view *view, CUdeviceptr address);

#endif
