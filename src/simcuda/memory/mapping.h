// Mappings: the calls of virtual memory management behind cuMemMap, cuMemUnmap and cuMemSetAccess,
// as strict as the driver is, and with a report for each misuse that says what the code does not.
//
// A mapping shows one whole extent at one address; an extent may have many (aliases).
//
//   the page table has the mapping in exactly the granules of [address, address + size)
//   valid is the number of bytes that exist: the extent's size, which may end inside a granule
//   an extent's count of mappings is the number of mappings that show it
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
    struct sim_extent *extent;
    unsigned char access[SIMCUDA_MAX_DEVICES]; // CUmemAccess_flags
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
