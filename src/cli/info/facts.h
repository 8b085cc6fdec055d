// Facts are all that `streampool info` tells of a driver and its devices, gathered before it
// prints, and what it means where an entry point of the driver is missing.
#ifndef STREAMPOOL_CLI_FACTS_H
#define STREAMPOOL_CLI_FACTS_H

#include "cli/program/device.h"

#include <stddef.h>
#include <streampool/streampool.h>

// A number of bytes that the driver was asked for.
struct sp_fact {
    CUresult result;
    size_t bytes;
    bool lacks_context; // it couldn't be asked: the result is of making a context
};

//   X(name and key in JSON, its name in the text, the driver's attribute)
#define SP_DEVICE_ABILITIES(X)                                                                     \
    X(virtual_memory, "virtual memory", CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)   \
    X(file_descriptors, "file descriptors",                                                        \
      CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED)                             \
    X(cuda_pools, "CUDA's own pools", CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)

//   X(name and key in JSON, its name in the text, location, allocation type, use)
#define SP_HOST_KINDS(X)                                                                           \
    X(pinned, "pinned", poolMemLocationTypeHost, poolMemAllocationTypePinned,                      \
      poolMemPoolUsageNone)                                                                        \
    X(staging, "for staging", poolMemLocationTypeHost, poolMemAllocationTypePinned,                \
      poolMemPoolUsageStaging)                                                                     \
    X(managed, "managed", poolMemLocationTypeNone, poolMemAllocationTypeManaged,                   \
      poolMemPoolUsageNone)

// The library's own word on pools of some memory, since a driver can claim what it then refuses.
struct sp_pool_facts {
    bool maps; // they map virtual memory; else they take memory in one piece
    poolError_t verdict;
    char detail[512];
};

// The numbers of NUMA nodes that are tried.
#define SP_NODES_TRIED 64

struct sp_host_facts {
#define KIND(name, text, location, type, use) struct sp_pool_facts name;
    SP_HOST_KINDS(KIND)
#undef KIND
    struct sp_pool_facts first_node;
    bool nodes[SP_NODES_TRIED]; // those with memory for pools, which is always mapped
};

struct sp_device_facts {
    int ordinal;
    CUresult found; // where it is not CUDA_SUCCESS, nothing below is known
    char name[256];
    struct sp_fact memory;
    struct sp_fact free_memory;
    struct sp_fact granule;
    char capability[32]; // such as "9.0"
#define ABILITY(name, text, attribute) bool name;
    SP_DEVICE_ABILITIES(ABILITY)
#undef ABILITY
    struct sp_pool_facts pools;
};

struct sp_facts {
    const struct sp_driver *driver;
    CUresult counted; // where it is not CUDA_SUCCESS, there are no devices
    int device_count;
    struct sp_device_facts *devices; // the caller frees them
    int working;                     // devices that the library works on
    struct sp_host_facts host;       // nothing, where there are no devices
};

// Asks the driver and the library. False without host memory.
bool sp_facts_gather(struct sp_facts *facts, const struct sp_driver *driver);

bool sp_entry_is_missing(const struct sp_driver *driver, const struct sp_driver_entry *entry);

// Returns "required", "optional" or "client".
const char *sp_need_name(enum sp_need need);

// Returns what the absence of the entry point means, in words for someone who knows CUDA and not
// this library. It is never null.
const char *sp_absence_meaning(const struct sp_driver_entry *entry);

#endif
