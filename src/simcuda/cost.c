#include "simcuda/cost.h"

#define DEFAULT_CALL 100

// A call that is not here costs DEFAULT_CALL.
static const uint64_t calls[SIM_ENTRY_COUNT] = {
    [SIM_ENTRY_cuCtxGetCurrent] = 12,       [SIM_ENTRY_cuCtxGetDevice] = 15,
    [SIM_ENTRY_cuStreamGetId] = 25,         [SIM_ENTRY_cuStreamGetCtx] = 25,
    [SIM_ENTRY_cuStreamIsCapturing] = 25,   [SIM_ENTRY_cuThreadExchangeStreamCaptureMode] = 10,
    [SIM_ENTRY_cuEventRecord] = 200,        [SIM_ENTRY_cuStreamWaitEvent] = 200,
    [SIM_ENTRY_cuEventQuery] = 275,         [SIM_ENTRY_cuStreamQuery] = 275,
    [SIM_ENTRY_cuStreamSynchronize] = 370,  [SIM_ENTRY_cuCtxSynchronize] = 595,
    [SIM_ENTRY_cuLaunchHostFunc] = 2000,    [SIM_ENTRY_cuLaunchKernel] = 4000,
    [SIM_ENTRY_cuMemsetD8Async] = 4000,     [SIM_ENTRY_cuMemGetInfo] = 3700,
    [SIM_ENTRY_cuMemAddressReserve] = 500,  [SIM_ENTRY_cuMemAddressFree] = 400,
    [SIM_ENTRY_cuMemHostAlloc] = 40000,     [SIM_ENTRY_cuMemFreeHost] = 40000,
    [SIM_ENTRY_cuPointerGetAttribute] = 26,
};

// A call costs a fixed part for each extent, and a part for each GiB of its size.
static const struct {
    uint64_t fixed;
    uint64_t each_gib;
} extents[SIM_ENTRY_COUNT] = {
    [SIM_ENTRY_cuMemCreate] = {7000, 28000},     [SIM_ENTRY_cuMemMap] = {600, 50},
    [SIM_ENTRY_cuMemSetAccess] = {18000, 26000}, [SIM_ENTRY_cuMemUnmap] = {13000, 9000},
    [SIM_ENTRY_cuMemRelease] = {8600, 250000},   [SIM_ENTRY_cuMemAlloc] = {40000, 80000},
    [SIM_ENTRY_cuMemFree] = {40000, 550000},
};

uint64_t sim_cost_call(enum sim_entry entry) {
    return calls[entry] ? calls[entry] : DEFAULT_CALL;
}

uint64_t sim_cost_extent(enum sim_entry entry, uint64_t size) {
    return extents[entry].fixed +
           (uint64_t)((double)extents[entry].each_gib * (double)size / (1 << 30));
}

uint64_t sim_cost_bytes(uint64_t size) {
    return 2000 + size / 4000; // 4 TB/s
}
