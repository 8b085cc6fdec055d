#include "simcuda/cost.h"

#define DEFAULT_CALL 100
#define MIB          ((uint64_t)1 << 20)
#define GIB          ((uint64_t)1 << 30)

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
    [SIM_ENTRY_cuMemHostAlloc] = 40000,     [SIM_ENTRY_cuMemFreeHost] = 40000,
    [SIM_ENTRY_cuPointerGetAttribute] = 26,
};

// A call that handles memory costs by its size: so much for an extent of each of these sizes, and
// in between what a straight line says. Below the first size it is the cost of that one.
enum { SIZES = 6 };
static const uint64_t sizes[SIZES] = {2 * MIB, 32 * MIB, 128 * MIB, 512 * MIB, 2 * GIB, 8 * GIB};

// Those of cuMemAlloc and cuMemFree are of blocks that are alone on the device: a small one takes
// 2 MiB. Beyond the last size a line goes on as steep as before, but for addresses: 64 TiB are
// reserved in 3 µs.
static const uint64_t curves[SIM_ENTRY_COUNT][SIZES] = {
    [SIM_ENTRY_cuMemAddressReserve] = {500, 2000, 1800, 2000, 2400, 2800},
    [SIM_ENTRY_cuMemAddressFree] = {400, 1600, 1500, 1900, 2600, 2900},
    [SIM_ENTRY_cuMemCreate] = {6600, 13000, 7500, 11000, 27000, 236000},
    [SIM_ENTRY_cuMemMap] = {600, 600, 600, 600, 800, 1000},
    [SIM_ENTRY_cuMemSetAccess] = {18000, 32000, 32000, 44000, 83000, 227000},
    [SIM_ENTRY_cuMemUnmap] = {13000, 20000, 20000, 24000, 37000, 86000},
    [SIM_ENTRY_cuMemRelease] = {8600, 16000, 41000, 146000, 504000, 2350000},
    [SIM_ENTRY_cuMemAlloc] = {40000, 62000, 77000, 126000, 241000, 622000},
    [SIM_ENTRY_cuMemFree] = {35000, 70000, 112000, 315000, 1166000, 5088000},
};

uint64_t sim_cost_call(enum sim_entry entry) {
    return calls[entry] ? calls[entry] : DEFAULT_CALL;
}

static bool is_of_addresses(enum sim_entry entry) {
    return entry == SIM_ENTRY_cuMemAddressReserve || entry == SIM_ENTRY_cuMemAddressFree;
}

static uint64_t cost_between(const uint64_t costs[SIZES], size_t right, uint64_t size) {
    double share = (double)(size - sizes[right - 1]) / (double)(sizes[right] - sizes[right - 1]);
    double step = (double)costs[right] - (double)costs[right - 1];
    return (uint64_t)((double)costs[right - 1] + share * step + 0.5);
}

static uint64_t cost_of_size(enum sim_entry entry, uint64_t size) {
    const uint64_t *costs = curves[entry];
    size_t right = 0;
    while (right < SIZES && sizes[right] < size)
        right++;
    if (right == 0)
        return costs[0];
    if (right < SIZES)
        return cost_between(costs, right, size);
    return is_of_addresses(entry) ? costs[SIZES - 1] : cost_between(costs, SIZES - 1, size);
}

uint64_t sim_cost_extent(enum sim_entry entry, uint64_t size) {
    return cost_of_size(entry, size) - sim_cost_call(entry);
}

uint64_t sim_cost_bytes(uint64_t size) {
    return 2000 + size / 4000; // 4 TB/s
}
