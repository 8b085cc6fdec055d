// Rows of pools that are evicted and become resident again.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"
#include "support/simulated.h"

// The contents of what was in use, aside.
enum { RANGES = 32 };
struct aside {
    struct poolMemRange ranges[RANGES];
    void *bytes[RANGES];
    size_t count;
};

static CUdeviceptr place_of(const void *address) {
    return (CUdeviceptr)(uintptr_t)address;
}

static poolError_t save(void *user, const struct poolMemRange *ranges, size_t count) {
    struct aside *aside = user;
    REQUIRE(count <= RANGES);
    aside->count = count;
    for (size_t i = 0; i < count; i++) {
        aside->ranges[i] = ranges[i];
        aside->bytes[i] = malloc(ranges[i].size);
        REQUIRE(aside->bytes[i]);
        DRIVER(
            test_driver()->cuMemcpyDtoH(aside->bytes[i], place_of(ranges[i].ptr), ranges[i].size));
    }
    return poolSuccess;
}

// Nothing was freed meanwhile.
static poolError_t load(void *user, const struct poolMemRange *ranges, size_t count) {
    struct aside *aside = user;
    REQUIRE_EQUAL(count, aside->count);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(aside->ranges[i].ptr == ranges[i].ptr);
        REQUIRE_EQUAL(aside->ranges[i].size, ranges[i].size);
        DRIVER(
            test_driver()->cuMemcpyHtoD(place_of(ranges[i].ptr), aside->bytes[i], ranges[i].size));
        free(aside->bytes[i]);
    }
    return poolSuccess;
}

static uint64_t evicted(poolMemPool_t pool) {
    return test_attribute(pool, poolMemPoolStatEvictedBytes);
}

// Another process may take or give some MiB of the device meanwhile.
static void require_about(size_t bytes, size_t expected) {
    REQUIRE(bytes + MIB(64) > expected);
    REQUIRE(bytes < expected + MIB(64));
}

void row_an_evicted_pools_memory_is_the_devices_again(void) {
    test_require_virtual_memory();
    size_t stayed = 1;
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    size_t before = test_device_free_bytes();
    void *block = test_malloc(pool, MIB(512), stream);
    require_about(test_device_free_bytes(), before - MIB(512));
    EXPECT(poolMemPoolEvict(pool, NULL, NULL, &stayed), poolSuccess);
    require_about(test_device_free_bytes(), before);
    REQUIRE_EQUAL(stayed, 0);
    REQUIRE_EQUAL(test_reserved(pool), 0);
    REQUIRE_EQUAL(test_used(pool), MIB(512));
    REQUIRE_EQUAL(evicted(pool), MIB(512));
    EXPECT(poolMemPoolMakeResident(pool, NULL, NULL), poolSuccess);
    require_about(test_device_free_bytes(), before - MIB(512));
    REQUIRE_EQUAL(evicted(pool), 0);
    test_fill(block, 3, MIB(512), stream);
    test_finish(stream);
    REQUIRE(test_is_filled(block, 3, MIB(512)));
    test_free(block, stream);
}

void row_blocks_of_all_sizes_hold_what_a_loader_brings(void) {
    enum { COUNT = 40 };
    test_require_virtual_memory();
    poolMemPool_t pool = test_pool();
    CUstream a = test_stream(), b = test_stream();
    struct aside aside;
    void *blocks[COUNT];
    size_t sizes[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        sizes[i] = i % 4 == 3 ? MIB(1 + i % 7) : (size_t)100 << i % 4 * 4;
        blocks[i] = test_malloc(pool, sizes[i], i % 2 ? a : b);
        test_fill(blocks[i], (unsigned char)(i + 1), sizes[i], i % 2 ? a : b);
    }
    EXPECT(poolMemPoolEvict(pool, save, &aside, NULL), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
    EXPECT(poolMemPoolMakeResident(pool, load, &aside), poolSuccess);
    for (unsigned i = 0; i < COUNT; i++) {
        REQUIRE(test_is_filled(blocks[i], (unsigned char)(i + 1), sizes[i]));
        test_free(blocks[i], a);
    }
}

void row_eviction_waits_for_all_work_of_the_context(void) {
    test_require_virtual_memory();
    poolMemPool_t pool = test_pool();
    CUstream a = test_stream(), b = test_stream();
    struct aside aside;
    void *live = test_malloc(pool, MIB(64), a), *freed = test_malloc(pool, MIB(64), b);
    test_work(a);
    test_fill(live, 5, MIB(64), a);
    test_work(b);
    test_fill(freed, 6, MIB(64), b);
    test_free(freed, b);
    EXPECT(poolMemPoolEvict(pool, save, &aside, NULL), poolSuccess);
    REQUIRE_EQUAL(evicted(pool), MIB(64));
    EXPECT(poolMemPoolMakeResident(pool, load, &aside), poolSuccess);
    REQUIRE(test_is_filled(live, 5, MIB(64)));
    test_free(live, a);
}

void row_joined_memory_is_evicted_with_its_pieces(void) {
    enum { PIECES = 16 };
    test_require_virtual_memory();
    poolMemPool_t pool = test_pool_of_at_most(MIB(128));
    CUstream stream = test_stream();
    struct aside aside;
    void *blocks[PIECES];
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    for (unsigned i = 0; i < PIECES; i++) {
        blocks[i] = test_malloc(pool, MIB(8), stream);
        test_fill(blocks[i], (unsigned char)(i + 1), MIB(8), stream);
    }
    for (unsigned i = 0; i < PIECES; i += 2)
        test_free(blocks[i], stream);
    void *joined = test_malloc(pool, MIB(60), stream);
    REQUIRE(test_attribute(pool, poolMemPoolStatRemaps) > 0);
    test_fill(joined, 77, MIB(60), stream);
    EXPECT(poolMemPoolEvict(pool, save, &aside, NULL), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
    EXPECT(poolMemPoolMakeResident(pool, load, &aside), poolSuccess);
    REQUIRE(test_is_filled(joined, 77, MIB(60)));
    for (unsigned i = 1; i < PIECES; i += 2)
        REQUIRE(test_is_filled(blocks[i], (unsigned char)(i + 1), MIB(8)));
    test_fill(joined, 78, MIB(60), stream);
    test_finish(stream);
    REQUIRE(test_is_filled(joined, 78, MIB(60)));
    test_free(joined, stream);
}

void row_an_evicted_pool_allocates_nothing_and_takes_back_what_is_freed(void) {
    test_require_virtual_memory();
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    void *pointer = &pool;
    void *small = test_malloc(pool, 1000, stream), *large = test_malloc(pool, MIB(32), stream);
    void *other = test_malloc(pool, MIB(32), stream);
    EXPECT(poolMemPoolEvict(pool, NULL, NULL, NULL), poolSuccess);
    EXPECT(poolMallocFromPoolAsync(&pointer, 1000, pool, stream), poolErrorIllegalState);
    EXPECT(poolMallocFromPoolAsync(&pointer, MIB(32), pool, stream), poolErrorIllegalState);
    EXPECT(poolMemPoolPrime(pool, MIB(2)), poolErrorIllegalState);
    REQUIRE(pointer == (void *)&pool);
    test_free(small, stream);
    test_free(large, stream);
    EXPECT(poolFreeAsync(large, stream), poolErrorInvalidValue);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
    EXPECT(poolMemPoolMakeResident(pool, NULL, NULL), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), MIB(32));
    test_free(test_malloc(pool, 1000, stream), stream);
    test_free(other, stream);
}

void row_eviction_and_its_end_are_no_error_twice(void) {
    test_require_virtual_memory();
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    void *block = test_malloc(pool, MIB(32), stream);
    for (unsigned i = 0; i < 2; i++) {
        EXPECT(poolMemPoolMakeResident(pool, NULL, NULL), poolSuccess);
        EXPECT(poolMemPoolMakeResident(pool, NULL, NULL), poolSuccess);
        EXPECT(poolMemPoolEvict(pool, NULL, NULL, NULL), poolSuccess);
        EXPECT(poolMemPoolEvict(pool, NULL, NULL, NULL), poolSuccess);
    }
    test_free(block, stream);
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    EXPECT(poolMemPoolEvict(pool, NULL, NULL, NULL), poolErrorInvalidValue);
    EXPECT(poolMemPoolMakeResident(pool, NULL, NULL), poolErrorInvalidValue);
}

void row_fixed_blocks_keep_their_memory_in_an_evicted_pool(void) {
    test_require_virtual_memory();
    size_t stayed = 0;
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    void *fixed = NULL, *block = test_malloc(pool, MIB(32), stream);
    EXPECT(poolMallocAsyncWithFlags(&fixed, MIB(6), pool, stream, poolMallocFixed), poolSuccess);
    test_fill(fixed, 9, MIB(6), stream);
    EXPECT(poolMemPoolEvict(pool, NULL, NULL, &stayed), poolSuccess);
    REQUIRE_EQUAL(stayed, MIB(6));
    REQUIRE(test_is_filled(fixed, 9, MIB(6)));
    EXPECT(poolMemPoolMakeResident(pool, NULL, NULL), poolSuccess);
    test_free(fixed, stream);
    test_free(block, stream);
}
