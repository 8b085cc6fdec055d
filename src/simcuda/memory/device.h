// Devices and their physical memory, and that of the host. An extent is one piece of it, as
// cuMemCreate, cuMemAlloc and cuMemAllocManaged take it.
//
// The bytes of a device's extents lie in one sparse file in memory, each at offsets of its own that
// are never used again; those of a shareable extent in a file of its own, so that its descriptor
// can cross processes; and so do those of the host's extents, which are mapped where the program is
// to touch them. A host page is spent only where a byte was written. The driver looks at the bytes
// of an extent through a window, so that a small access needs no system call; where there are very
// many extents, or little address space, by reads and writes of the file.
//
//   used(device) is the sum of the sizes of its live extents, and never exceeds its memory
//   used(SIM_HOST) has all pinned memory, too (pinned.h)
//   created(device) is the part of it that cuMemCreate made, peak(device) its highest value
//   an extent lives while it has its handle or a mapping
#ifndef STREAMPOOL_SIMCUDA_MEMORY_DEVICE_H
#define STREAMPOOL_SIMCUDA_MEMORY_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <streampool/simcuda.h>

#include "base/list.h"
#include "driver/abi.h"
#include "simcuda/memory/advice.h"
#include "simcuda/queue/history.h"

struct sim_context;

// The host's memory has the place behind those of all devices, wherever something is kept of each.
#define SIM_HOST   SIMCUDA_MAX_DEVICES
#define SIM_PLACES (SIMCUDA_MAX_DEVICES + 1)

enum sim_extent_kind { SIM_EXTENT_OF_HANDLE, SIM_EXTENT_OF_ALLOCATION };

struct sim_extent {
    enum sim_extent_kind kind;
    int device;                          // or SIM_HOST
    int node;                            // of the host's memory
    uint64_t size;                       // whole pages, if it is of the host
    uint64_t identity;                   // never comes back, and is none of host memory
    CUmemGenericAllocationHandle handle; // 0 once released, and for an allocation
    uint64_t mappings;
    bool shareable;
    bool written;
    int file;      // its own; -1: its bytes lie in the device's
    uint64_t base; // offset in the file
    char *window;  // the host's view of the bytes; null while there is none
    struct sim_history history;
    struct sp_list link;
    bool is_of_library;
    const struct sim_context *context; // an allocation's owner
    struct sim_advice advice;          // of managed memory
    bool is_being_freed; // of an allocation: in the order of a stream that has not come there
};

// This lists the extents that live.
extern struct sp_list sim_extents;

static inline bool sim_extent_is_of_host(const struct sim_extent *extent) {
    return extent->device == SIM_HOST;
}

// Returns whether it is memory of cuMemAllocManaged.
static inline bool sim_extent_is_managed(const struct sim_extent *extent) {
    return sim_extent_is_of_host(extent) && extent->kind == SIM_EXTENT_OF_ALLOCATION;
}

void sim_device_start(void);
void sim_device_reset(void);

bool sim_device_exists(int device);
// Returns whether a driver of this level knows the host as a location of memory.
bool sim_device_knows_host(void);
// Returns whether work of a device can be given access to memory of the peer.
bool sim_device_can_access(int device, int peer);
// These count bytes of a device, or of SIM_HOST.
uint64_t sim_device_used(int device);
uint64_t sim_device_created(int device);
uint64_t sim_device_peak(int device);
void sim_device_peak_reset(void);
// The number is that of a CUdevice_attribute (attributes.h).
CUresult sim_device_attribute(int *value, int attribute, int device);

// Counts host memory as used that is in no extent. False when the host has less than that left.
bool sim_host_memory_take(uint64_t size);
void sim_host_memory_give(uint64_t size);

// Makes an extent; one for a handle gets its handle, too. OUT_OF_MEMORY when the device, or the
// host, has less than `size` left, OPERATING_SYSTEM when it has no file for one that needs its own.
CUresult sim_extent_create(enum sim_extent_kind kind, int device, uint64_t size, bool shareable,
                           struct sim_extent **result);
// Returns the extent of a handle; null when there is no such handle, or it was released.
struct sim_extent *sim_extent_find(CUmemGenericAllocationHandle handle);
// Takes the handle away. An extent that has no mapping either is gone.
void sim_extent_release(struct sim_extent *extent);
void sim_extent_unmapped(struct sim_extent *extent);

// These read and write bytes of the extent. False when the host has no memory left for them.
bool sim_extent_read(const struct sim_extent *extent, uint64_t offset, void *to, size_t size);
bool sim_extent_write(struct sim_extent *extent, uint64_t offset, const void *from, size_t size);

#endif
