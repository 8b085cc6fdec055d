// The entry points that the simulated driver exports: the rows of both tables (driver/table.h,
// simcuda/entry/table.h) and the two forms of cuGetProcAddress, numbered, so that counters, faults
// and costs are arrays. The numbers have the symbols of both.
#ifndef STREAMPOOL_SIMCUDA_ENTRY_ENTRY_H
#define STREAMPOOL_SIMCUDA_ENTRY_ENTRY_H

#include "driver/abi.h"
#include "driver/table.h"
#include "simcuda/entry/abi.h"
#include "simcuda/entry/table.h"

enum sim_entry {
#define SIM_ENUMERATE(name, symbol, version, need, parameters) SIM_ENTRY_##symbol,
    SP_DRIVER_TABLE(SIM_ENUMERATE)
#undef SIM_ENUMERATE
#define SIM_ENUMERATE(name, symbol, version, parameters) SIM_ENTRY_##symbol,
        SIM_TABLE(SIM_ENUMERATE)
#undef SIM_ENUMERATE
            SIM_ENTRY_cuGetProcAddress,
    SIM_ENTRY_cuGetProcAddress_v2,
    SIM_ENTRY_COUNT
};

struct sim_entry_info {
    const char *name;
    int version; // the CUDA version that introduced it
    void (*function)(void);
};

extern const struct sim_entry_info sim_entries[SIM_ENTRY_COUNT];

// Returns the place of the newest of the rows of a name that came with CUDA `version` or before; or
// else of the oldest one; the count when there is none of that name.
size_t sim_entry_find_row(const struct sim_entry_info *rows, size_t count, const char *name,
                          int version);
// The newest form of a name that came with CUDA `version` or before; or else the oldest one. With
// INT_MAX the newest. SIM_ENTRY_COUNT when there is none of that name.
enum sim_entry sim_entry_find(const char *name, int version);

#define SIM_EXPORT __attribute__((visibility("default")))

#define SIM_DECLARE(name, symbol, version, need, parameters) SIM_EXPORT CUresult symbol parameters;
SP_DRIVER_TABLE(SIM_DECLARE)
#undef SIM_DECLARE
#define SIM_DECLARE(name, symbol, version, parameters) SIM_EXPORT CUresult symbol parameters;
SIM_TABLE(SIM_DECLARE)
#undef SIM_DECLARE

SIM_EXPORT CUresult cuGetProcAddress(const char *name, void **function, int version,
                                     uint64_t flags);
SIM_EXPORT CUresult cuGetProcAddress_v2(const char *name, void **function, int version,
                                        uint64_t flags, CUdriverProcAddressQueryResult *status);

#endif
