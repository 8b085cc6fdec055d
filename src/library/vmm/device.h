// A place where memory of pools is: its provider, its abilities in the virtual memory calls, and
// who has access.
//
// A *provider* is a way to get memory from the driver. The virtual one creates extents and maps
// them at addresses that the library has reserved. The others take what a call gives, in one piece
// (both: vmm/view.h). Who does otherwise for one than for the other asks for one of the facts below
// by its name; only the files that get memory and give it back ask which it is.
//
// A device whose attribute says that it has no virtual memory calls is *plain*. So is each place
// where the environment says so, or the driver can't map memory of the host. A driver may also say
// that it can, and then refuse: such a place becomes plain, unless memory was mapped there, or it
// is a node, for which there is no other memory. Managed and staged memory is always plain. All
// else about a place is asked for once.
//
// A new mapping is accessible to no device before cuMemSetAccess has named one for it, and not to
// the host. So each mapping gets all that its pool allows when it is made: its own device, or the
// host; and its *peers*. A peer that is allowed later has to be set on each mapping that there is,
// home or alias. One thread at a time maps and sets, under the pool's map lock. Any thread reads.
#ifndef STREAMPOOL_VMM_DEVICE_H
#define STREAMPOOL_VMM_DEVICE_H

#include "base/atomic.h"
#include "driver/driver.h"
#include "vmm/place.h"

#include <stdbool.h>

enum sp_vmm_means { SP_VMM_UNTRIED, SP_VMM_WORKS, SP_VMM_PLAIN };

struct sp_vmm_device {
    struct sp_place place;
    _Atomic int means;                   // enum sp_vmm_means
    const struct sp_vmm_provider *plain; // the provider where nothing is mapped
    CUmemLocation location;              // that memory is created at, and who has access to it
    int ordinal;                         // of the device whose memory it is, or -1
    _Atomic int home;    // of the device whose primary context plain memory is got in; -1: not yet
    size_t granule;      // the unit of every mapping: bytes, a power of two
    size_t total_memory; // bytes
    bool exports_fd;     // handles can be exported as file descriptors
    bool rdma;           // other devices can access memory directly
};

struct sp_vmm_provider {
    // Get memory in one piece, with a context current, and give it back. Null where it is mapped.
    struct sp_outcome (*get)(const struct sp_vmm_device *device, CUdeviceptr *base, size_t size);
    struct sp_outcome (*give)(CUdeviceptr base, size_t size);
    // Gives back what stays when the context that it was got in has ended. Null where nothing does.
    void (*forget)(CUdeviceptr base, size_t size);
    // Memory lies at addresses of the library's choice and can be mapped a second time. So pieces
    // can be put together, and a segment can grow.
    bool joins;
    // A growth is divided into extents. Each goes back alone, and a part of it can be mapped anew.
    bool divides;
    // A pool can let other devices in to its own memory.
    bool lets_peers_in;
    // Memory ends with the context that it was got in.
    bool is_of_context;
    // No stream of another context of the device can use it.
    bool is_contexts_own;
    // To give memory back takes until the device has done all its work.
    bool waits_to_give;
};

// The providers: of mapped memory; of cuMemAlloc, cuMemHostAlloc and cuMemAllocManaged; and of the
// host's own memory, which is registered (vmm/staged.h).
extern const struct sp_vmm_provider sp_vmm_virtual, sp_vmm_plain, sp_vmm_pinned, sp_vmm_managed,
    sp_vmm_staged;

// The granule of plain memory.
#define SP_PLAIN_GRANULE ((size_t)2 << 20)

#define sp_vmm_provider(device)                                                                    \
    (sp_load_relaxed(&(device)->means) == SP_VMM_PLAIN ? (device)->plain : &sp_vmm_virtual)

// The memory is the host's, though devices may use it.
static inline bool sp_vmm_device_is_of_host(const struct sp_vmm_device *device) {
    return device->ordinal < 0 && !device->place.is_managed;
}

// The node that the memory is of, also where a node's stands for the whole host's, or -1.
static inline int sp_vmm_device_node(const struct sp_vmm_device *device) {
    return device->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ? device->location.id : -1;
}

// The bytes of the host's memory that a pool of the place may still take.
uint64_t sp_vmm_device_left(const struct sp_vmm_device *device);

// Whoever takes memory of the host begins with a look at what is left: SP_HOST_IS_FULL where that
// isn't so much. What others are taking counts as gone. So the pools together take no more than
// there is, and where that matters one waits for others. After SP_DONE it ends, once the kernel has
// counted the memory, or none was got. Nothing of this looks at memory of devices.
struct sp_outcome sp_vmm_device_begin_taking(const struct sp_vmm_device *device, uint64_t bytes);
void sp_vmm_device_end_taking(const struct sp_vmm_device *device, uint64_t bytes);

// Begins without a look, before as much is given back in order to be taken anew.
void sp_vmm_device_begin_exchange(const struct sp_vmm_device *device, uint64_t bytes);

// Asks the driver about a place. SP_NOT_SUPPORTED when its granule is of no use, or the driver has
// no such memory; CUDA_ERROR_INVALID_DEVICE or CUDA_ERROR_INVALID_VALUE of the driver when there is
// no such device or node.
struct sp_outcome sp_vmm_device_open(const struct sp_place *place, struct sp_vmm_device *device);

// Finds the NUMA node beside a device. SP_NOT_SUPPORTED where the driver maps no memory of nodes.
struct sp_outcome sp_vmm_device_node_beside(const struct sp_vmm_device *device, int *node);

// Memory was mapped: the device won't become plain.
#define sp_vmm_device_note_mapped(device)                                                          \
    do {                                                                                           \
        if (sp_load_relaxed(&(device)->means) == SP_VMM_UNTRIED)                                   \
            sp_store_relaxed(&(device)->means, SP_VMM_WORKS);                                      \
    } while (0)

// The driver refuses the memory that this provider asked for. Tells whether the device has another
// one by now.
bool sp_vmm_device_change_from(struct sp_vmm_device *device,
                               const struct sp_vmm_provider *provider);

// The properties with which every extent of the device is created.
CUmemAllocationProp sp_vmm_device_prop(const struct sp_vmm_device *device,
                                       CUmemAllocationHandleType handles);

// ------------------------------------------------------------------------------------------ access

enum { SP_ACCESS_DEVICES = 64 };

// The peers' CUmemAccess_flags by their ordinals; zeroed memory lets in none. The own device's
// place stays 0. `host` is what was set of managed memory, which the host has access to anyway.
struct sp_access {
    _Atomic unsigned char peers[SP_ACCESS_DEVICES];
    _Atomic unsigned char host;
};

static inline CUmemAccess_flags sp_access_of(const struct sp_access *access, int ordinal) {
    return (CUmemAccess_flags)sp_load_relaxed(&access->peers[ordinal]);
}

static inline void sp_access_note(struct sp_access *access, int ordinal, CUmemAccess_flags flags) {
    sp_store_relaxed(&access->peers[ordinal], (unsigned char)flags);
}

// Tells whether a peer has access; and takes that of all away, while nothing is mapped.
bool sp_access_has_peers(const struct sp_access *access);
void sp_access_clear(struct sp_access *access);

// Gives access to whole extents that were just mapped, by one driver call: to the place's own
// device or the host, and to the peers (null: there are none).
struct sp_outcome sp_access_give(const struct sp_access *access, const struct sp_vmm_device *device,
                                 CUdeviceptr address, size_t size);

// Sets these accesses, and no others, for mappings that lie side by side, by one driver call.
struct sp_outcome sp_access_set(CUdeviceptr address, size_t size,
                                const CUmemAccessDesc *descriptors, size_t count);

// Asks the driver if `peer`, an ordinal, can use memory of the device.
struct sp_outcome sp_access_is_possible(const struct sp_vmm_device *device, int peer,
                                        bool *possible);

#endif
