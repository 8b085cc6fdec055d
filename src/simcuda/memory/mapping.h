// Mappings: the calls of virtual memory management behind cuMemMap, cuMemUnmap and cuMemSetAccess,
// as strict as the driver is, and with a report for each misuse that says what the code does not.
//
// A mapping shows one whole extent at one address; an extent may have many (aliases).
//
//   the page table has the mapping in exactly the granules of [address, address + size)
//   valid is the number of bytes that exist: the extent's size, which may end inside a granule
//   told is the number of those that calls know of: of an allocation what the program asked for,
//   though a kernel reaches all that exist
//   an extent's count of mappings is the number of mappings that show it
//   the host reads and writes at a mapping's address as its access says; only memory of the host
//   may be given to it
#ifndef STREAMPOOL_SIMCUDA_MEMORY_MAPPING_H
#define STREAMPOOL_SIMCUDA_MEMORY_MAPPING_H

#include <stdbool.h>
#include <stdint.h>
#include <streampool/simcuda.h>

#include "base/list.h"
#include "simcuda/memory/device.h"

struct sim_use {
    size_t slot;
    uint64_t sequence;
    struct sim_who who;
    bool is_told; // a report tells of it
    const char *name;
};

struct sim_mapping {
    uint64_t address;
    uint64_t size;
    uint64_t valid;
    uint64_t told;
    struct sim_extent *extent;
    unsigned char access[SIM_PLACES]; // CUmemAccess_flags, the host's too
    // These are the latest works, one of each slot, that touched bytes through the mapping.
    struct sim_use *uses;
    size_t use_count;
    size_t use_capacity;
    struct sp_list link;
};

extern struct sp_list sim_mappings;

void sim_mapping_start(void);
void sim_mapping_reset(void);

// The calls. Address and size come from the caller as they are.
CUresult sim_mapping_map(uint64_t address, uint64_t size, uint64_t offset,
                         CUmemGenericAllocationHandle handle);
CUresult sim_mapping_unmap(uint64_t address, uint64_t size);
CUresult sim_mapping_set_access(uint64_t address, uint64_t size, const CUmemAccessDesc *descriptors,
                                size_t count);

// Finds whose access a location names: a device, or SIM_HOST for each of the host's locations but
// that of the calling thread. INVALID_VALUE for others, INVALID_DEVICE where there is no such
// device.
CUresult sim_mapping_find_accessor(const CUmemLocation *location, int *accessor);
// Gives the host this access to the mapping of memory of the host. OUT_OF_MEMORY when the system
// refuses.
CUresult sim_mapping_let_host(struct sim_mapping *mapping, CUmemAccess_flags access);

// These enter an extent at a place where nothing is, and take a mapping away, without any check.
struct sim_mapping *sim_mapping_add(uint64_t address, uint64_t size, struct sim_extent *extent);
void sim_mapping_remove(struct sim_mapping *mapping);
// Reports it when work that uses the mapping is pending, or not known by the host to be complete.
void sim_mapping_report_in_use(const struct sim_mapping *mapping, const char *call);

// Returns the mapping that an address lies in; null where nothing is mapped.
struct sim_mapping *sim_mapping_at(uint64_t address);
bool sim_mapping_none_in(uint64_t address, uint64_t size);
// Notes that a piece of work touched bytes through the mapping.
void sim_mapping_note_use(struct sim_mapping *mapping, const struct sim_touch *touch);

uint64_t sim_mapping_count(void);

#endif
