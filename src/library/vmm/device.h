// The abilities of one device in the virtual memory calls. They are asked for once, then read only.
#ifndef STREAMPOOL_VMM_DEVICE_H
#define STREAMPOOL_VMM_DEVICE_H

#include "driver/driver.h"

#include <stdbool.h>

struct sp_vmm_device {
    int ordinal;
    size_t granule;      // the unit of every mapping: bytes, a power of two
    size_t total_memory; // bytes
    bool exports_fd;     // handles can be exported as file descriptors
    bool rdma;           // other devices can access memory directly
};

// Asks the driver about a device. SP_NOT_SUPPORTED when it has no virtual memory management,
// CUDA_ERROR_INVALID_DEVICE of the driver when there is no such device.
struct sp_outcome sp_vmm_device_open(int ordinal, struct sp_vmm_device *device);

// The properties with which every extent of the device is created.
CUmemAllocationProp sp_vmm_device_prop(const struct sp_vmm_device *device,
                                       CUmemAllocationHandleType handles);

#endif
