// Facts are all that `streampool info` tells of a driver and its devices, gathered before it
// prints.
#ifndef STREAMPOOL_CLI_FACTS_H
#define STREAMPOOL_CLI_FACTS_H

#include "cli/program/device.h"

#include <stdint.h>
#include <streampool/streampool.h>

// A number of bytes that the driver was asked for.
struct sp_fact {
    CUresult result;
    uint64_t bytes;
    bool lacks_context; // it couldn't be asked: the result is of making a context
};

//   X(name and key in JSON, its name in the text, the driver's attribute)
#define SP_DEVICE_ABILITIES(X)                                                                     \
    X(virtual_memory, "virtual memory", CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)   \
    X(file_descriptors, "file descriptors",                                                        \
      CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED)                             \
    X(cuda_pools, "CUDA's own pools", CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)

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
    bool maps;           // pools map virtual memory; else they take memory of cuMemAlloc
    poolError_t verdict; // the library's own word, since a device can claim what it then refuses
    char verdict_detail[512];
};

static inline bool sp_device_works(const struct sp_device_facts *facts) {
    return facts->found == CUDA_SUCCESS && facts->verdict == poolSuccess;
}

struct sp_facts {
    const struct sp_driver *driver;
    bool simulated;
    CUresult counted; // where it is not CUDA_SUCCESS, there are no devices
    int device_count;
    struct sp_device_facts *devices;
    int working; // devices that the library works on
};

// Asks the driver and the library. False without host memory; then there is nothing to release.
bool sp_facts_gather(struct sp_facts *facts, const struct sp_driver *driver);
void sp_facts_release(struct sp_facts *facts);

// Writes the facts as an object in JSON. False when that fails; standard error says why.
bool sp_facts_write(const char *path, const struct sp_facts *facts);

#endif
