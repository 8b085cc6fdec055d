// Rows of pools: making them, giving them up, and which one is current.
#include <limits.h>
#include <stdint.h>

#include "conformance/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

#define UNTOUCHED_POOL ((poolMemPool_t)(uintptr_t)0x5a5a)

// ------------------------------------------------------------------------------------------ create

static void require_refused(const struct poolMemPoolProps *props, poolError_t error) {
    poolMemPool_t pool = UNTOUCHED_POOL;
    EXPECT(poolMemPoolCreate(&pool, props), error);
    REQUIRE(pool == UNTOUCHED_POOL);
}

static poolMemPool_t current_pool(void) {
    poolMemPool_t pool = NULL;
    EXPECT(poolDeviceGetMemPool(&pool, 0), poolSuccess);
    return pool;
}

void row_create_makes_an_empty_pool_that_is_not_current(void) {
    poolMemPool_t before = current_pool();
    poolMemPool_t pool = test_pool(), other = test_pool();
    REQUIRE(pool != other);
    REQUIRE(current_pool() == before);
    REQUIRE(pool != before);
    REQUIRE_EQUAL(test_reserved(pool), 0);
    REQUIRE_EQUAL(test_used(pool), 0);
    test_malloc(pool, 512, test_stream());
    REQUIRE_EQUAL(test_used(other), 0);
}

void row_create_accepts_file_descriptor_handles(void) {
    test_require_virtual_memory();
    struct poolMemPoolProps props = test_pool_props(0);
    props.handleTypes = poolMemHandleTypePosixFileDescriptor;
    poolMemPool_t pool = NULL;
    EXPECT(poolMemPoolCreate(&pool, &props), poolSuccess);
    CUstream stream = test_stream();
    test_free(test_malloc(pool, MIB(3), stream), stream);
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
}

void row_create_with_a_null_argument_is_invalid(void) {
    struct poolMemPoolProps props = test_pool_props(0);
    EXPECT(poolMemPoolCreate(NULL, &props), poolErrorInvalidValue);
    require_refused(NULL, poolErrorInvalidValue);
}

void row_create_with_a_bad_allocation_type_is_invalid(void) {
    static const unsigned types[] = {poolMemAllocationTypeInvalid, 3, poolMemAllocationTypeMax};
    struct poolMemPoolProps props = test_pool_props(0);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        props.allocType = (enum poolMemAllocationType)types[i];
        require_refused(&props, poolErrorInvalidValue);
    }
}

void row_create_with_a_bad_location_type_is_invalid(void) {
    static const unsigned types[] = {poolMemLocationTypeInvalid, 5, 99, INT_MAX};
    struct poolMemPoolProps props = test_pool_props(0);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        props.location.type = (enum poolMemLocationType)types[i];
        require_refused(&props, poolErrorInvalidValue);
    }
}

void row_create_with_a_bad_device_is_invalid(void) {
    int bad[] = {-1, test_device_count(), INT_MAX, INT_MIN};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct poolMemPoolProps props = test_pool_props(bad[i]);
        require_refused(&props, poolErrorInvalidValue);
    }
}

void row_create_with_a_bad_handle_type_is_invalid(void) {
    static const unsigned types[] = {2, 3, 4, 0x10, poolMemHandleTypeMax};
    struct poolMemPoolProps props = test_pool_props(0);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        props.handleTypes = (enum poolMemAllocationHandleType)types[i];
        require_refused(&props, poolErrorInvalidValue);
    }
}

// Libraries set usages of drivers to come, and whatever they have for Windows.
void row_create_takes_any_usage(void) {
    static const unsigned short usages[] = {1, 2, 3, 4, 0x8000, 0xFFFF};
    struct poolMemPoolProps props = test_pool_props(0);
    props.win32SecurityAttributes = &props;
    for (size_t i = 0; i < sizeof usages / sizeof usages[0]; i++) {
        poolMemPool_t pool = NULL;
        CUstream stream = test_stream();
        props.usage = usages[i];
        EXPECT(poolMemPoolCreate(&pool, &props), poolSuccess);
        test_free(test_malloc(pool, MIB(1), stream), stream);
        EXPECT(poolStreamSynchronize(stream), poolSuccess);
        EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    }
}

void row_create_with_a_limit_beyond_all_address_space_is_out_of_memory(void) {
    struct poolMemPoolProps props = test_pool_props(0);
    props.maxSize = (size_t)1 << 60;
    require_refused(&props, poolErrorMemoryAllocation);
}

void row_create_with_unknown_properties_is_invalid(void) {
    struct poolMemPoolProps props;
    for (size_t i = 0; i < sizeof props.reserved; i++) {
        props = test_pool_props(0);
        props.reserved[i] = 1;
        require_refused(&props, poolErrorInvalidValue);
    }
}

// -------------------------------------------------------------------------------- the largest size

// Allocates blocks of one size until the pool has no more, and returns how many there were.
static unsigned exhaust(poolMemPool_t pool, size_t size, CUstream stream) {
    void *pointer;
    unsigned count = 0;
    poolError_t error;
    while ((error = poolMallocFromPoolAsync(&pointer, size, pool, stream)) == poolSuccess)
        count++;
    EXPECT(error, poolErrorMemoryAllocation);
    return count;
}

void row_reserved_bytes_never_exceed_the_largest_size(void) {
    static const size_t sizes[] = {KIB(300), MIB(5), MIB(16)};
    CUstream stream = test_stream();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        poolMemPool_t pool = test_pool_of_at_most(MIB(64));
        REQUIRE(exhaust(pool, sizes[i], stream) >= 1);
        REQUIRE(test_attribute(pool, poolMemPoolAttrReservedMemHigh) <= MIB(64));
        REQUIRE(test_reserved(pool) <= MIB(64));
    }
    REQUIRE_EQUAL(exhaust(test_pool_of_at_most(MIB(64)), MIB(32), stream), 2);
    REQUIRE_EQUAL(exhaust(test_pool_of_at_most(MIB(64)), MIB(64), stream), 1);
}

void row_malloc_beyond_the_largest_size_fails_and_changes_nothing(void) {
    poolMemPool_t pool = test_pool_of_at_most(MIB(64));
    CUstream stream = test_stream();
    void *live = test_malloc(pool, MIB(32), stream);
    struct test_figures before = test_figures(pool);
    void *pointer = live;
    EXPECT(poolMallocFromPoolAsync(&pointer, MIB(65), pool, stream), poolErrorMemoryAllocation);
    EXPECT(poolMallocFromPoolAsync(&pointer, MIB(33), pool, stream), poolErrorMemoryAllocation);
    REQUIRE(pointer == live);
    REQUIRE_FIGURES(pool, before);
    test_malloc(pool, MIB(32), stream);
}

// ----------------------------------------------------------------------------------------- destroy

void row_destroy_returns_while_work_is_pending(void) {
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    void *freed = test_malloc(pool, MIB(40), stream), *live = test_malloc(pool, KIB(5), stream);
    struct test_hold hold;
    test_hold(&hold, stream);
    test_free(freed, stream);
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    EXPECT(poolStreamQuery(stream), poolErrorNotReady);
    test_free(live, stream);
    EXPECT(poolStreamQuery(stream), poolErrorNotReady);
    test_let_go(&hold);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
}

void row_destroy_leaves_live_allocations_valid(void) {
    static const size_t sizes[] = {1, KIB(5), KIB(900), MIB(40)};
    enum { COUNT = sizeof sizes / sizeof sizes[0] };
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    void *pointers[COUNT];
    for (unsigned i = 0; i < COUNT; i++)
        pointers[i] = test_malloc(pool, sizes[i], stream);
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    for (unsigned i = 0; i < COUNT; i++)
        test_fill(pointers[i], (unsigned char)(i + 1), sizes[i], stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    for (unsigned i = 0; i < COUNT; i++) {
        REQUIRE(test_is_filled(pointers[i], (unsigned char)(i + 1), sizes[i]));
        test_free(pointers[i], stream);
        EXPECT(poolFreeAsync(pointers[i], stream), poolErrorInvalidValue);
    }
}

void row_destroyed_pools_give_their_memory_back_with_the_last_free(void) {
    poolMemPool_t pool = test_keeping_pool();
    CUstream stream = test_stream();
    size_t before = test_device_used_bytes();
    void *first = test_malloc(pool, MIB(256), stream), *last = test_malloc(pool, MIB(256), stream);
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    test_free(first, stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    REQUIRE(test_device_used_bytes() >= before + MIB(256));
    test_free(last, stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    REQUIRE(test_device_used_bytes() < before + MIB(64));
}

void row_destroying_the_current_pool_makes_the_default_pool_current(void) {
    poolMemPool_t pool = test_pool();
    EXPECT(poolDeviceSetMemPool(0, pool), poolSuccess);
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    REQUIRE(current_pool() == test_default_pool(0));
    void *pointer = NULL;
    EXPECT(poolMallocAsync(&pointer, 77, test_stream()), poolSuccess);
    REQUIRE_EQUAL(test_used(test_default_pool(0)), 77);
}

void row_destroy_of_null_is_invalid(void) {
    EXPECT(poolMemPoolDestroy(NULL), poolErrorInvalidValue);
}

void row_destroy_twice_is_invalid(void) {
    poolMemPool_t pool = test_pool(), busy = test_pool();
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    EXPECT(poolMemPoolDestroy(pool), poolErrorInvalidValue);

    test_malloc(busy, MIB(3), test_stream());
    EXPECT(poolMemPoolDestroy(busy), poolSuccess);
    EXPECT(poolMemPoolDestroy(busy), poolErrorInvalidValue);
    EXPECT(poolDeviceSetMemPool(0, busy), poolErrorInvalidValue);
}

void row_destroy_of_a_default_pool_is_invalid(void) {
    poolMemPool_t pool = test_default_pool(0);
    EXPECT(poolMemPoolDestroy(pool), poolErrorInvalidValue);
    test_malloc(pool, 512, test_stream());
    EXPECT(poolMemPoolDestroy(pool), poolErrorInvalidValue);
    REQUIRE_EQUAL(test_used(pool), 512);
}

// ------------------------------------------------------------------------ default and current pool

void row_the_default_pool_is_current_at_first(void) {
    poolMemPool_t pool = test_default_pool(0);
    REQUIRE(current_pool() == pool);
    REQUIRE(test_default_pool(0) == pool);
}

void row_the_current_pool_is_the_one_that_was_set(void) {
    poolMemPool_t first = test_default_pool(0), pool = test_pool();
    EXPECT(poolDeviceSetMemPool(0, pool), poolSuccess);
    REQUIRE(current_pool() == pool);
    REQUIRE(test_default_pool(0) == first);
    EXPECT(poolDeviceSetMemPool(0, first), poolSuccess);
    REQUIRE(current_pool() == first);
}

void row_default_pool_of_a_bad_device_is_invalid(void) {
    poolMemPool_t pool = UNTOUCHED_POOL;
    EXPECT(poolDeviceGetDefaultMemPool(NULL, 0), poolErrorInvalidValue);
    EXPECT(poolDeviceGetDefaultMemPool(NULL, -1), poolErrorInvalidDevice);
    EXPECT(poolDeviceGetDefaultMemPool(&pool, -1), poolErrorInvalidDevice);
    EXPECT(poolDeviceGetDefaultMemPool(&pool, test_device_count()), poolErrorInvalidDevice);
    REQUIRE(pool == UNTOUCHED_POOL);
}

void row_current_pool_of_a_bad_device_is_invalid(void) {
    poolMemPool_t pool = UNTOUCHED_POOL;
    EXPECT(poolDeviceGetMemPool(NULL, 0), poolErrorInvalidValue);
    EXPECT(poolDeviceGetMemPool(&pool, -1), poolErrorInvalidValue);
    EXPECT(poolDeviceGetMemPool(&pool, test_device_count()), poolErrorInvalidValue);
    REQUIRE(pool == UNTOUCHED_POOL);
}

void row_setting_a_current_pool_that_is_none_is_invalid(void) {
    poolMemPool_t pool = test_pool(), destroyed = test_pool();
    EXPECT(poolMemPoolDestroy(destroyed), poolSuccess);
    EXPECT(poolDeviceSetMemPool(0, NULL), poolErrorInvalidValue);
    EXPECT(poolDeviceSetMemPool(0, destroyed), poolErrorInvalidValue);
    EXPECT(poolDeviceSetMemPool(-1, pool), poolErrorInvalidValue);
    EXPECT(poolDeviceSetMemPool(test_device_count(), pool), poolErrorInvalidValue);
    REQUIRE(current_pool() == test_default_pool(0));
}
