// A program as a user links it, with the library and the simulated driver. Its argument is a seed:
// it uses pools, leaves things of the driver's behind, its own and those of the pools, and prints
// how many are its own.
#include "driver/abi.h"
#include "random/numbers.h"
#include "simcuda/entry/entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <streampool/streampool.h>

#define REQUIRE(call) ((call) == 0 ? (void)0 : fail(#call))

static struct numbers numbers;

static void fail(const char *what) {
    fprintf(stderr, "FAILED: %s: %s\n", what, poolGetLastErrorDetail());
    exit(1);
}

static void use_pool(poolMemPool_t pool) {
    CUstream streams[] = {CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    uint64_t unfenced = numbers_below(&numbers, 2) << 30;
    REQUIRE(poolMemPoolSetAttribute(pool, poolMemPoolAttrUnfencedBytesMax, &unfenced));
    for (uint64_t left = numbers_below(&numbers, 30); left > 0; left--) {
        void *block;
        size_t size = 1 + numbers_below(&numbers, (uint64_t)1 << numbers_below(&numbers, 25));
        REQUIRE(poolMallocFromPoolAsync(&block, size, pool, streams[left % 2]));
        if (!numbers_once_in(&numbers,
                             8)) // a block that is never freed is the pool's to the driver
            REQUIRE(poolFreeAsync(block, streams[numbers_below(&numbers, 2)]));
    }
}

static void use_pools(void) {
    struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                     .location = {poolMemLocationTypeDevice, 0}};
    poolMemPool_t pool;
    REQUIRE(poolDeviceGetDefaultMemPool(&pool, 0));
    use_pool(pool);
    REQUIRE(poolMemPoolCreate(&pool, &props));
    use_pool(pool);
    if (numbers_once_in(&numbers, 2))
        REQUIRE(poolMemPoolDestroy(pool));
}

static void leave_one(void) {
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    CUstream stream;
    CUevent event;
    void *memory;
    switch (numbers_below(&numbers, 6)) {
    case 0:
        REQUIRE(cuMemCreate(&handle, 2 << 20, &prop, 0));
        break;
    case 1:
        REQUIRE(cuMemAddressReserve(&address, 2 << 20, 0, 0, 0));
        break;
    case 2:
        REQUIRE(cuMemAlloc_v2(&address, 1000));
        break;
    case 3:
        REQUIRE(cuMemHostAlloc(&memory, 64, 0));
        break;
    case 4:
        REQUIRE(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
        break;
    default:
        REQUIRE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    }
}

int main(int argc, char **argv) {
    CUcontext context;
    numbers.state = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
    uint64_t own = numbers_below(&numbers, 5);
    REQUIRE(cuInit(0));
    REQUIRE(cuDevicePrimaryCtxRetain(&context, 0));
    REQUIRE(cuCtxSetCurrent(context));
    for (uint64_t left = own; left > 0; left--) {
        use_pools();
        leave_one();
    }
    use_pools();
    printf("%llu\n", (unsigned long long)own);
    return 0;
}
