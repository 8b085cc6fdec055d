// The bridge: the driver's entry points, with the driver's binary interface. Each one checks its
// pointers, asks the engine, and does nothing else. What every call has in common is in SIM_CALL:
//
//     CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
//         SIM_CALL(cuMemRelease, sim_virtual_release(handle));
//     }
//
// The result is found with the engine's lock, as is all that stands between SIM_BEGIN and SIM_END,
// where it takes several steps. A query (SIM_QUERY) reads atomic state or the thread's own, with no
// lock.
#ifndef STREAMPOOL_SIMCUDA_BRIDGE_BRIDGE_H
#define STREAMPOOL_SIMCUDA_BRIDGE_BRIDGE_H

#include "simcuda/common/meter.h"
#include "simcuda/common/shared.h"
#include "simcuda/engine.h"
#include "simcuda/entry/entry.h"

#define SIM_BEGIN(name)                                                                            \
    SIM_METER;                                                                                     \
    do {                                                                                           \
        CUresult refused = sim_call_begin(SIM_ENTRY_##name);                                       \
        if (refused != CUDA_SUCCESS)                                                               \
            return refused;                                                                        \
    } while (0)

#define SIM_END(name, result) return sim_call_end(SIM_ENTRY_##name, (result))

#define SIM_CALL(name, result)                                                                     \
    SIM_BEGIN(name);                                                                               \
    SIM_END(name, result)

#define SIM_QUERY(name)                                                                            \
    SIM_METER;                                                                                     \
    do {                                                                                           \
        CUresult refused = sim_query_begin(SIM_ENTRY_##name);                                      \
        if (refused != CUDA_SUCCESS)                                                               \
            return refused;                                                                        \
    } while (0)

#endif
