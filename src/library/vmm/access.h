// Access: the devices that may use memory of one device, and the driver calls that let them.
//
// A new mapping is accessible to no device before cuMemSetAccess has named one for it. So each
// mapping gets all that its pool allows when it is made: the own device, and its *peers*. A peer
// that is allowed later has to be set on each mapping that there is, home or alias.
//
// Thread safety: one thread at a time maps and sets, under the pool's map lock. Any thread reads.
#ifndef STREAMPOOL_VMM_ACCESS_H
#define STREAMPOOL_VMM_ACCESS_H

#include "base/atomic.h"
#include "vmm/device.h"

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

// Tells whether a peer has access.
bool sp_access_has_peers(const struct sp_access *access);

// Takes the access of all peers away. Nothing may be mapped.
void sp_access_clear(struct sp_access *access);

// Gives access to whole extents that were just mapped: to the device, and to the peers (null: there
// are none). It is one driver call.
struct sp_outcome sp_access_give(const struct sp_access *access, const struct sp_vmm_device *device,
                                 CUdeviceptr address, size_t size);

// Sets these accesses for one mapping, or several side by side, and leaves all others. It is one
// driver call.
struct sp_outcome sp_access_set(CUdeviceptr address, size_t size,
                                const CUmemAccessDesc *descriptors, size_t count);

// Asks the driver if `peer`, an ordinal, can use memory of the device.
struct sp_outcome sp_access_is_possible(const struct sp_vmm_device *device, int peer,
                                        bool *possible);

#endif
