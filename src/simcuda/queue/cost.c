#include "simcuda/queue/cost.h"

#define DEFAULT_CALL 100
#define MIB          ((uint64_t)1 << 20)
#define GIB          ((uint64_t)1 << 30)

// To give a copy to a stream, and to have a stream look at a word.
#define COPIES(cost)                                                                               \
    [SIM_ENTRY_cuMemcpy] = (cost), [SIM_ENTRY_cuMemcpyAsync] = (cost),                             \
    [SIM_ENTRY_cuMemcpyHtoD_v2] = (cost), [SIM_ENTRY_cuMemcpyDtoH_v2] = (cost),                    \
    [SIM_ENTRY_cuMemcpyHtoDAsync_v2] = (cost), [SIM_ENTRY_cuMemcpyDtoHAsync_v2] = (cost),          \
    [SIM_ENTRY_cuMemcpyDtoD_v2] = (cost), [SIM_ENTRY_cuMemcpyDtoDAsync_v2] = (cost),               \
    [SIM_ENTRY_cuMemcpyPeer] = (cost), [SIM_ENTRY_cuMemcpyPeerAsync] = (cost),                     \
    [SIM_ENTRY_cuMemcpy2D_v2] = (cost), [SIM_ENTRY_cuMemcpy2DAsync_v2] = (cost),                   \
    [SIM_ENTRY_cuMemcpy2DUnaligned_v2] = (cost), [SIM_ENTRY_cuMemcpy3D_v2] = (cost),               \
    [SIM_ENTRY_cuMemcpy3DAsync_v2] = (cost), [SIM_ENTRY_cuMemcpy3DPeer] = (cost),                  \
    [SIM_ENTRY_cuMemcpy3DPeerAsync] = (cost), [SIM_ENTRY_cuMemcpyBatchAsync] = (cost),             \
    [SIM_ENTRY_cuMemcpyBatchAsync_v2] = (cost),

#define WORDS(cost)                                                                                \
    [SIM_ENTRY_cuStreamWriteValue32] = (cost), [SIM_ENTRY_cuStreamWriteValue64] = (cost),          \
    [SIM_ENTRY_cuStreamWriteValue32_v2] = (cost), [SIM_ENTRY_cuStreamWriteValue64_v2] = (cost),    \
    [SIM_ENTRY_cuStreamWaitValue32] = (cost), [SIM_ENTRY_cuStreamWaitValue64] = (cost),            \
    [SIM_ENTRY_cuStreamWaitValue32_v2] = (cost), [SIM_ENTRY_cuStreamWaitValue64_v2] = (cost),      \
    [SIM_ENTRY_cuStreamBatchMemOp] = (cost), [SIM_ENTRY_cuStreamBatchMemOp_v2] = (cost),

// A call that is not here costs DEFAULT_CALL.
static const uint64_t calls[SIM_ENTRY_COUNT] = {[SIM_ENTRY_cuCtxGetCurrent] = 12,
                                                [SIM_ENTRY_cuCtxGetDevice] = 15,
                                                [SIM_ENTRY_cuStreamGetId] = 25,
                                                [SIM_ENTRY_cuStreamGetCtx] = 25,
                                                [SIM_ENTRY_cuStreamIsCapturing] = 25,
                                                [SIM_ENTRY_cuThreadExchangeStreamCaptureMode] = 10,
                                                [SIM_ENTRY_cuEventRecord] = 200,
                                                [SIM_ENTRY_cuStreamWaitEvent] = 200,
                                                [SIM_ENTRY_cuEventQuery] = 275,
                                                [SIM_ENTRY_cuStreamQuery] = 275,
                                                [SIM_ENTRY_cuStreamSynchronize] = 370,
                                                [SIM_ENTRY_cuCtxSynchronize] = 595,
                                                [SIM_ENTRY_cuLaunchHostFunc] = 2000,
                                                [SIM_ENTRY_cuLaunchKernel] = 4000,
                                                [SIM_ENTRY_cuMemsetD8Async] = 4000,
                                                [SIM_ENTRY_cuMemGetInfo_v2] = 3700,
                                                [SIM_ENTRY_cuMemHostAlloc] = 40000,
                                                [SIM_ENTRY_cuMemFreeHost] = 40000,
                                                [SIM_ENTRY_cuMemAllocManaged] = 110000,
                                                [SIM_ENTRY_cuPointerGetAttribute] = 26,
                                                COPIES(2400) WORDS(1800)};

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
    [SIM_ENTRY_cuMemAlloc_v2] = {40000, 62000, 77000, 126000, 241000, 622000},
    [SIM_ENTRY_cuMemFree_v2] = {35000, 70000, 112000, 315000, 1166000, 5088000},
};

// Those of memory of the host have sizes of their own: the driver gets each page from the system.
enum { HOST_SIZES = 4 };
static const uint64_t host_sizes[HOST_SIZES] = {2 * MIB, 32 * MIB, 256 * MIB, GIB};
static const uint64_t host_curves[SIM_ENTRY_COUNT][HOST_SIZES] = {
    [SIM_ENTRY_cuMemCreate] = {310000, 6610000, 82000000, 346000000},
    [SIM_ENTRY_cuMemSetAccess] = {230000, 1470000, 9800000, 38000000},
    [SIM_ENTRY_cuMemUnmap] = {170000, 1080000, 6850000, 29000000},
    [SIM_ENTRY_cuMemRelease] = {50000, 860000, 7000000, 29000000},
};

uint64_t sim_cost_call(enum sim_entry entry) {
    return calls[entry] ? calls[entry] : DEFAULT_CALL;
}

static bool is_of_addresses(enum sim_entry entry) {
    return entry == SIM_ENTRY_cuMemAddressReserve || entry == SIM_ENTRY_cuMemAddressFree;
}

struct curve {
    const uint64_t *sizes;
    const uint64_t *costs;
    size_t count;
};

static uint64_t cost_between(const struct curve *curve, size_t right, uint64_t size) {
    const uint64_t *at = &curve->sizes[right - 1], *costs = &curve->costs[right - 1];
    double share = (double)(size - at[0]) / (double)(at[1] - at[0]);
    double step = (double)costs[1] - (double)costs[0];
    return (uint64_t)((double)costs[0] + share * step + 0.5);
}

static uint64_t cost_of_size(const struct curve *curve, uint64_t size) {
    size_t right = 0;
    while (right < curve->count && curve->sizes[right] < size)
        right++;
    if (right == 0)
        return curve->costs[0];
    return cost_between(curve, right < curve->count ? right : curve->count - 1, size);
}

uint64_t sim_cost_extent(enum sim_entry entry, uint64_t size) {
    const struct curve curve = {sizes, curves[entry], SIZES};
    bool is_level = is_of_addresses(entry) && size > sizes[SIZES - 1];
    return cost_of_size(&curve, is_level ? sizes[SIZES - 1] : size) - sim_cost_call(entry);
}

uint64_t sim_cost_host_extent(enum sim_entry entry, uint64_t size) {
    const struct curve curve = {host_sizes, host_curves[entry], HOST_SIZES};
    return cost_of_size(&curve, size) - sim_cost_call(entry);
}

uint64_t sim_cost_bytes(uint64_t size) {
    return 2000 + size / 4000; // 4 TB/s
}

// For each MiB: 4 GiB take 2,149 ms and 624 ms; registering them 230 ms and 92 ms, once their pages
// are there.
uint64_t sim_cost_pinned(enum sim_entry entry, uint64_t size) {
    const struct {
        enum sim_entry entry;
        uint64_t of_a_mib;
    } rows[] = {
        {SIM_ENTRY_cuMemHostAlloc, 525000},
        {SIM_ENTRY_cuMemFreeHost, 152000},
        {SIM_ENTRY_cuMemHostRegister_v2, 56000},
        {SIM_ENTRY_cuMemHostUnregister, 22000},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].entry == entry)
            return size / MIB * rows[i].of_a_mib;
    }
    return 0;
}

// In bytes of a microsecond. What lies between devices was not measured: an H200's NVLink carries
// 450 GB/s each way by its specification.
uint64_t sim_cost_copy(enum sim_cost_way way, uint64_t size) {
    static const uint64_t rates[] = {
        [SIM_COST_BUS] = 55000,          [SIM_COST_STAGING] = 10400,
        [SIM_COST_PAGEABLE_OUT] = 19000, [SIM_COST_ON_DEVICE] = 2000000,
        [SIM_COST_BETWEEN] = 400000,     [SIM_COST_BY_WAY_OF_HOST] = 27000,
        [SIM_COST_ON_HOST] = 8400,
    };
    return (uint64_t)((double)size * 1000 / (double)rates[way]);
}

uint64_t sim_cost_copy_start(void) {
    return 2000;
}
