// The abilities of one device in the virtual memory calls. They are asked for once, then read only.
//
// A device whose attribute says that it has none of these calls is *plain*: its memory comes from
// cuMemAlloc (vmm/plain.h). So is each device where the environment says so. A driver may also say
// that it has them, and then refuse: such a device becomes plain, unless memory was mapped there.
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

#define sp_vmm_is_plain(device) (sp_load_relaxed(&(device)->means) == SP_VMM_PLAIN)

// Asks the driver about a device. SP_NOT_SUPPORTED when its granule is of no use,
// CUDA_ERROR_INVALID_DEVICE of the driver when there is no such device.
struct sp_outcome sp_vmm_device_open(int ordinal, struct sp_vmm_device *device);

// Memory was mapped: the device won't become plain.
#define sp_vmm_device_note_mapped(device)                                                          \
    do {                                                                                           \
        if (sp_load_relaxed(&(device)->means) == SP_VMM_UNTRIED)                                   \
            sp_store_relaxed(&(device)->means, SP_VMM_WORKS);                                      \
    } while (0)

// The driver refuses to map. Tells whether the device is plain from now on.
bool sp_vmm_device_become_plain(struct sp_vmm_device *device);

// The properties with which every extent of the device is created.
CUmemAllocationProp sp_vmm_device_prop(const struct sp_vmm_device *device,
                                       CUmemAllocationHandleType handles);

#endif
