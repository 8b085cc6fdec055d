// Rows of managers: one chunk of memory without streams (streampool/mam.h).
#include <stdlib.h>
#include <streampool/mam.h>

#include "conformance/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

#define CHUNK MIB(256)
enum { PARTS = 4 };

static poolMam_t make(unsigned int flags) {
    poolMam_t mam = NULL;
    EXPECT(poolMamCreate(&mam, CHUNK, 0, flags), poolSuccess);
    return mam;
}

static void *allocate(poolMam_t mam, size_t size) {
    void *pointer = NULL;
    EXPECT(poolMamMalloc(mam, &pointer, size), poolSuccess);
    REQUIRE(pointer && (uintptr_t)pointer % 256 == 0);
    return pointer;
}

static void release(poolMam_t mam, void *pointer) {
    EXPECT(poolMamFree(mam, pointer), poolSuccess);
}

static uint64_t reserved(poolMam_t mam) {
    poolMemPool_t pool = NULL;
    EXPECT(poolMamGetPool(mam, &pool), poolSuccess);
    return test_reserved(pool);
}

void row_a_manager_takes_its_chunk_at_the_first_malloc(void) {
    poolMam_t mam = make(poolMamDefault);
    size_t used = test_device_used_bytes();
    release(mam, allocate(mam, 1));
    REQUIRE_EQUAL(reserved(mam), CHUNK);
    REQUIRE(test_device_used_bytes() >= used + CHUNK);
    EXPECT(poolMamDestroy(mam), poolSuccess);
    REQUIRE(test_device_used_bytes() < used + CHUNK / 2);
}

void row_memory_of_a_manager_is_usable_by_any_stream(void) {
    poolMam_t mam = make(poolMamDefault);
    CUstream streams[] = {test_stream(), test_blocking_stream(), NULL};
    for (int i = 0; i < 3; i++) {
        unsigned char *block = allocate(mam, MIB(3)), *other = allocate(mam, 1000);
        test_fill(block, (unsigned char)(i + 1), MIB(3), streams[i]);
        test_fill(other, (unsigned char)(i + 101), 1000, streams[(i + 1) % 3]);
        test_finish(streams[i]);
        test_finish(streams[(i + 1) % 3]);
        REQUIRE(test_is_filled(block, (unsigned char)(i + 1), MIB(3)));
        REQUIRE(test_is_filled(other, (unsigned char)(i + 101), 1000));
        release(mam, block);
        release(mam, other);
    }
    EXPECT(poolMamDestroy(mam), poolSuccess);
}

void row_a_managers_free_is_immediate(void) {
    struct test_hold hold;
    poolMam_t mam = make(poolMamFixed);
    void *block = allocate(mam, CHUNK);
    test_hold(&hold, test_stream()); // uses none of it
    release(mam, block);
    REQUIRE(allocate(mam, CHUNK) == block);
    test_let_go(&hold);
}

void row_a_manager_joins_neighbours(void) {
    static const int orders[][PARTS] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}};
    poolMam_t mam = make(poolMamFixed);
    for (int i = 0; i < 3; i++) {
        void *parts[PARTS];
        for (int part = 0; part < PARTS; part++)
            parts[part] = allocate(mam, CHUNK / PARTS);
        for (int part = 0; part < PARTS; part++)
            release(mam, parts[orders[i][part]]);
        release(mam, allocate(mam, CHUNK));
    }
    REQUIRE_EQUAL(reserved(mam), CHUNK);
    EXPECT(poolMamDestroy(mam), poolSuccess);
}

void row_a_fixed_chunk_is_never_exceeded(void) {
    void *more = NULL;
    poolMam_t mam = make(poolMamFixed), growing = make(poolMamDefault);
    allocate(mam, CHUNK / 2);
    EXPECT(poolMamMalloc(mam, &more, CHUNK / 2 + MIB(1)), poolErrorMemoryAllocation);
    REQUIRE(!more);
    allocate(mam, CHUNK / 2);
    REQUIRE_EQUAL(reserved(mam), CHUNK);
    allocate(growing, CHUNK / 2);
    allocate(growing, CHUNK / 2 + MIB(1));
    REQUIRE(reserved(growing) > CHUNK);
}

void row_an_automatic_chunk_leaves_a_share_free(void) {
    size_t total = 0, available = 0;
    poolMam_t mam = NULL;
    EXPECT(poolMamCreateAuto(&mam, 0, poolMamDefault), poolSuccess);
    release(mam, allocate(mam, 1));
    REQUIRE(test_driver()->cuMemGetInfo(&available, &total) == CUDA_SUCCESS);
    REQUIRE(available <= total / 16 + MIB(64));
    REQUIRE(available >= total / 16 / 2 - MIB(64) || available >= reserved(mam) / 2);
    EXPECT(poolMamDestroy(mam), poolSuccess);
}

void row_a_manager_frees_nothing_but_its_own(void) {
    CUdeviceptr direct = 0;
    char *heap = malloc(512);
    poolMam_t mam = make(poolMamDefault), other = make(poolMamDefault);
    char *block = allocate(mam, MIB(1)), *of_other = allocate(other, 100);
    void *of_pool = test_malloc(test_pool(), 100, test_stream());
    REQUIRE(test_driver()->cuMemAlloc(&direct, 4096) == CUDA_SUCCESS);
    EXPECT(poolMamFree(mam, NULL), poolSuccess);
    EXPECT(poolMamFree(mam, block + 256), poolErrorInvalidValue);
    EXPECT(poolMamFree(mam, of_other), poolErrorInvalidValue);
    EXPECT(poolMamFree(mam, of_pool), poolErrorInvalidValue);
    EXPECT(poolMamFree(mam, heap), poolErrorInvalidValue);
    EXPECT(poolMamFree(mam, (void *)(uintptr_t)direct), poolErrorInvalidValue);
    release(mam, block);
    EXPECT(poolMamFree(mam, block), poolErrorInvalidValue);
    REQUIRE(test_driver()->cuMemFree(direct) == CUDA_SUCCESS);
    release(other, of_other);
    free(heap);
}

void row_live_blocks_outlive_their_manager(void) {
    poolMam_t mam = make(poolMamDefault);
    CUstream stream = test_stream();
    char *block = allocate(mam, MIB(3));
    test_fill(block, 7, MIB(3), stream);
    test_finish(stream);
    EXPECT(poolMamDestroy(mam), poolSuccess);
    EXPECT(poolMamDestroy(mam), poolErrorInvalidValue);
    REQUIRE(test_is_filled(block, 7, MIB(3)));
    EXPECT(poolFree(block), poolSuccess);
}
