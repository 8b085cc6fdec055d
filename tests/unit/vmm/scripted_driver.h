// A driver of function pointers in the test itself, for the virtual memory calls: it keeps what it
// was told, has an opinion on misuse, and fails where a test says so. A call that fails does
// nothing.
#ifndef STREAMPOOL_TESTS_UNIT_SCRIPTED_DRIVER_H
#define STREAMPOOL_TESTS_UNIT_SCRIPTED_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "driver/driver.h"

// X(entry point): those that vmm/ calls.
// clang-format off
#define SCRIPTED_ENTRIES(X) \
    X(cuDeviceGet) \
    X(cuDeviceGetAttribute) \
    X(cuDeviceTotalMem) \
    X(cuMemGetAllocationGranularity) \
    X(cuMemAddressReserve) \
    X(cuMemAddressFree) \
    X(cuMemCreate) \
    X(cuMemMap) \
    X(cuMemSetAccess) \
    X(cuMemUnmap) \
    X(cuMemRelease)
// clang-format on

enum scripted_entry {
#define SCRIPTED_ENUMERATOR(name) SCRIPTED_##name,
    SCRIPTED_ENTRIES(SCRIPTED_ENUMERATOR)
#undef SCRIPTED_ENUMERATOR
        SCRIPTED_COUNT
};

enum { SCRIPTED_MOST = 600 };

struct scripted_range {
    CUdeviceptr address;
    size_t size;
};

struct scripted_extent {
    bool created;
    bool released;
    bool accessible;
    size_t size;
    CUdeviceptr mapped_at; // 0: not mapped
    CUmemAllocationProp prop;
};

extern struct scripted_state {
    // What the test chooses.
    int devices;
    int has_vmm;
    int exports_fd;
    int rdma; // -1: the driver doesn't know the question
    size_t granule;
    size_t total_memory;
    size_t most_reserved; // at a time; more is out of memory
    enum scripted_entry fail;
    uint64_t fail_nth; // from now; 0: none
    CUresult fail_error;

    // What the driver was told.
    uint64_t calls[SCRIPTED_COUNT];
    int misuse; // calls that a real driver refuses
    size_t last_alignment;
    struct scripted_range ranges[SCRIPTED_MOST];
    int range_count;
    struct scripted_extent extents[SCRIPTED_MOST]; // handle - 1 is the index
    int extent_count;
} scripted;

// Installs the driver for the process, with one device of 16 GiB and a granule of 2 MiB.
void scripted_install(void);

// The nth call of an entry point from now fails with this error.
void scripted_fail(enum scripted_entry entry, uint64_t nth, CUresult error);

// Physical bytes that exist, and how many mappings.
size_t scripted_physical_bytes(void);
int scripted_mappings(void);

// The mapping that begins at an address, or null.
const struct scripted_extent *scripted_mapping_at(CUdeviceptr address);

#endif
