// A device's provider, its abilities in the virtual memory calls, and its peers.
//
// A *provider* is a way to get memory from the driver. There are two. The virtual one creates
// extents and maps them at addresses that the library has reserved. The plain one takes what
// cuMemAlloc gives (both: vmm/view.h). Who does otherwise for one than for the other asks for one
// of the facts below by its name; only the files that get memory and give it back ask which it is.
//
// A device whose attribute says that it has no virtual memory calls is *plain*. So is each device
// where the environment says so. A driver may also say that it has them, and then refuse: such a
// device becomes plain, unless memory was mapped there. All else about a device is asked for once.
//
// A new mapping is accessible to no device before cuMemSetAccess has named one for it. So each
// mapping gets all that its pool allows when it is made: the own device, and its *peers*. A peer
// that is allowed later has to be set on each mapping that there is, home or alias. One thread at a
// time maps and sets, under the pool's map lock. Any thread reads.
#ifndef STREAMPOOL_VMM_DEVICE_H
#define STREAMPOOL_VMM_DEVICE_H

#include "base/atomic.h"
#include "driver/driver.h"

#include <stdbool.h>

enum sp_vmm_means { SP_VMM_UNTRIED, SP_VMM_WORKS, SP_VMM_PLAIN };

struct sp_vmm_device {
    _Atomic int means; // enum sp_vmm_means
    int ordinal;
    size_t granule;      // the unit of every mapping: bytes, a power of two
    size_t total_memory; // bytes
    bool exports_fd;     // handles can be exported as file descriptors
    bool rdma;           // other devices can access memory directly
};

struct sp_vmm_provider {
    // Memory lies at addresses of the library's choice and can be mapped a second time. So pieces
    // can be put together, and a segment can grow.
    bool joins;
    // A growth is divided into extents. Each goes back alone, and a part of it can be mapped anew.
    bool divides;
    // A pool can let other devices in to its own memory.
    bool lets_peers_in;
    // Memory is a context's own: no stream of another one can use it, and it ends with the context.
    bool is_of_context;
    // To give memory back takes until the device has done all its work.
    bool waits_to_give;
};

extern const struct sp_vmm_provider sp_vmm_virtual, sp_vmm_plain;

// The granule of plain memory.
#define SP_PLAIN_GRANULE ((size_t)2 << 20)

#define sp_vmm_provider(device)                                                                    \
    (sp_load_relaxed(&(device)->means) == SP_VMM_PLAIN ? &sp_vmm_plain : &sp_vmm_virtual)

// Asks the driver about a device. SP_NOT_SUPPORTED when its granule is of no use,
// CUDA_ERROR_INVALID_DEVICE of the driver when there is no such device.
struct sp_outcome sp_vmm_device_open(int ordinal, struct sp_vmm_device *device);

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
// place stays 0.
struct sp_access {
    _Atomic unsigned char peers[SP_ACCESS_DEVICES];
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

// Gives access to whole extents that were just mapped, by one driver call: to the device, and to
// the peers (null: there are none).
struct sp_outcome sp_access_give(const struct sp_access *access, const struct sp_vmm_device *device,
                                 CUdeviceptr address, size_t size);

// Sets these accesses, and no others, for mappings that lie side by side, by one driver call.
struct sp_outcome sp_access_set(CUdeviceptr address, size_t size,
                                const CUmemAccessDesc *descriptors, size_t count);

// Asks the driver if `peer`, an ordinal, can use memory of the device.
struct sp_outcome sp_access_is_possible(const struct sp_vmm_device *device, int peer,
                                        bool *possible);

#endif
