// reset NAME: what a reset of the device leaves under the drop-in. With virtual memory management a
// pool's memory outlives it; without, it is lost, and the program's calls have the same results.
#include "dropin/require.h"

static void reset(void) {
    CUcontext context = NULL;
    REQUIRE_DONE(cu.cuDevicePrimaryCtxReset(0));
    REQUIRE_DONE(cu.cuDevicePrimaryCtxRetain(&context, 0));
    REQUIRE_DONE(cu.cuCtxSetCurrent(context));
}

// Pools aren't the context's, and what was pending is complete.
static void pools_outlive_a_reset(void) {
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemoryPool pool = NULL, standard = NULL;
    CUdeviceptr address = 0;
    start();
    standard = default_pool(0);
    for (int round = 0; round < 5; round++) {
        CUstream own = new_stream();
        REQUIRE_DONE(cu.cuMemPoolCreate(&pool, &props));
        CUdeviceptr live = allocate(MIB, own);
        REQUIRE_DONE(cu.cuMemAllocFromPoolAsync(&address, 3 * MIB, pool, own));
        REQUIRE_DONE(cu.cuMemsetD8Async(live, 1, MIB, own));
        REQUIRE_DONE(cu.cuMemFreeAsync(allocate(5 * MIB, own), own));
        reset();
        REQUIRE(default_pool(0) == standard);
        REQUIRE_DONE(cu.cuMemFreeAsync(allocate(MIB, NULL), NULL));
        REQUIRE_DONE(cu.cuMemFreeAsync(address, NULL));
        REQUIRE_DONE(cu.cuMemPoolDestroy(pool));
        REQUIRE_DONE(cu.cuMemFreeAsync(live, NULL));
        REQUIRE_CODE(cu.cuMemFreeAsync(live, NULL), CUDA_ERROR_INVALID_VALUE);
        REQUIRE_CODE(cu.cuMemFree_v2(live), CUDA_ERROR_INVALID_VALUE);
        REQUIRE_DONE(cu.cuCtxSynchronize());
        REQUIRE_DONE(cu.cuMemPoolTrimTo(standard, 0));
        REQUIRE(pool_figure(standard, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
        REQUIRE(pool_figure(standard, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
    }
}

// It was freed before the reset: afterwards it is nobody's, or another's.
static void a_stale_pointer_is_refused_after_a_reset(void) {
    start();
    keep_all(default_pool(0));
    CUdeviceptr stale = allocate(MIB, NULL);
    REQUIRE_DONE(cu.cuMemFreeAsync(stale, NULL));
    reset();
    REQUIRE_CODE(cu.cuMemFreeAsync(stale, NULL), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_CODE(cu.cuMemFree_v2(stale), CUDA_ERROR_INVALID_VALUE);
    CUdeviceptr address = allocate(MIB, NULL);
    REQUIRE_DONE(cu.cuMemFreeAsync(address, NULL));
}

// As the program tests/dropin/gpu/runtime_program.c does. The bytes of before are lost or not.
static void what_was_left_can_be_freed_behind_new_memory(void) {
    static unsigned char bytes[MIB];
    start();
    keep_all(default_pool(0));
    CUdeviceptr left[3] = {allocate(MIB, NULL), allocate(100, NULL), allocate(40 * MIB, NULL)};
    for (int round = 0; round < 4; round++) {
        reset();
        CUstream stream = new_stream();
        CUdeviceptr address = allocate(MIB, stream), small = allocate(100, stream);
        for (int i = 0; i < 3; i++)
            REQUIRE(address + MIB <= left[i] || address >= left[i] + MIB);
        REQUIRE_DONE(cu.cuMemsetD8Async(address, 9, MIB, stream));
        REQUIRE_DONE(cu.cuMemsetD8Async(small, 8, 100, stream));
        REQUIRE_DONE(cu.cuStreamSynchronize(stream));
        REQUIRE_DONE(cu.cuMemcpyDtoH_v2(bytes, address, MIB));
        REQUIRE(bytes[0] == 9 && memcmp(bytes, bytes + 1, MIB - 1) == 0);
        REQUIRE_DONE(cu.cuMemFreeAsync(left[round % 3], round % 2 ? NULL : stream));
        left[round % 3] = address;
        REQUIRE_DONE(cu.cuMemFreeAsync(small, stream));
        REQUIRE_DONE(cu.cuCtxSynchronize());
    }
    for (int i = 0; i < 3; i++)
        REQUIRE_DONE(cu.cuMemFreeAsync(left[i], NULL));
    REQUIRE_DONE(cu.cuCtxSynchronize());
    REQUIRE_DONE(cu.cuMemPoolTrimTo(default_pool(0), 0));
    REQUIRE(pool_figure(default_pool(0), CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
}

static void a_pointer_of_before_is_described_until_it_is_freed(void) {
    CUmemoryPool pool = NULL;
    CUdeviceptr base = 0;
    size_t size = 0;
    start();
    CUdeviceptr left = allocate(3 * MIB, NULL);
    reset();
    CUdeviceptr address = allocate(3 * MIB, NULL);
    REQUIRE_DONE(cu.cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, left));
    REQUIRE(pool == default_pool(0));
    REQUIRE_DONE(cu.cuMemGetAddressRange_v2(&base, &size, left + MIB));
    REQUIRE(base == left && size == 3 * MIB);
    REQUIRE_DONE(cu.cuMemFree_v2(left));
    REQUIRE_DONE(cu.cuMemFree_v2(address));
}

// clang-format off
#define ROWS(X) \
    X(pools_outlive_a_reset) \
    X(a_stale_pointer_is_refused_after_a_reset) \
    X(what_was_left_can_be_freed_behind_new_memory) \
    X(a_pointer_of_before_is_described_until_it_is_freed)
// clang-format on

MAIN(ROWS)
