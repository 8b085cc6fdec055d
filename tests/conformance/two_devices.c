// Rows that need a second device.
#include "conformance/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

static void require_two_devices(void) {
    if (test_device_count() < 2)
        test_skip("there is one device");
}

static poolMemPool_t current_pool(int device) {
    poolMemPool_t pool = NULL;
    EXPECT(poolDeviceGetMemPool(&pool, device), poolSuccess);
    return pool;
}

static poolMemPool_t pool_of(int device) {
    struct poolMemPoolProps props = test_pool_props(device);
    poolMemPool_t pool = NULL;
    EXPECT(poolMemPoolCreate(&pool, &props), poolSuccess);
    return pool;
}

static CUstream stream_of(int device) {
    test_use_device(device);
    CUstream stream = test_stream();
    test_use_device(0);
    return stream;
}

void row_each_device_has_a_default_pool_of_its_own(void) {
    require_two_devices();
    poolMemPool_t first = test_default_pool(0), second = test_default_pool(1), pool = pool_of(1);
    REQUIRE(first != second);
    REQUIRE(current_pool(1) == second);
    EXPECT(poolDeviceSetMemPool(1, pool), poolSuccess);
    REQUIRE(current_pool(1) == pool);
    REQUIRE(current_pool(0) == first);
    REQUIRE(test_flag(pool, poolMemPoolAttrLocationId) == 1);
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    REQUIRE(current_pool(1) == second);
}

void row_malloc_takes_from_the_pool_of_the_streams_device(void) {
    require_two_devices();
    CUstream stream = stream_of(1);
    void *pointer = NULL;
    EXPECT(poolMallocAsync(&pointer, 1234, stream), poolSuccess);
    REQUIRE_EQUAL(test_used(test_default_pool(0)), 0);
    REQUIRE_EQUAL(test_used(test_default_pool(1)), 1234);
    test_use_device(1);
    test_fill(pointer, 7, 1234, stream);
    test_finish(stream);
    REQUIRE(test_is_filled(pointer, 7, 1234));
    test_free(pointer, stream);
}

void row_a_pool_of_another_device_serves_a_stream(void) {
    require_two_devices();
    CUstream stream = stream_of(0);
    poolMemPool_t pool = pool_of(1);
    void *pointer = test_malloc(pool, MIB(3), stream);
    REQUIRE_EQUAL(test_used(pool), MIB(3));
    test_free(pointer, stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

void row_setting_another_devices_pool_as_current_is_an_invalid_device(void) {
    require_two_devices();
    poolMemPool_t pool = pool_of(1);
    EXPECT(poolDeviceSetMemPool(0, pool), poolErrorInvalidDevice);
    EXPECT(poolDeviceSetMemPool(0, test_default_pool(1)), poolErrorInvalidDevice);
    EXPECT(poolDeviceSetMemPool(1, test_default_pool(0)), poolErrorInvalidDevice);
    REQUIRE(current_pool(0) == test_default_pool(0));
    REQUIRE(current_pool(1) == test_default_pool(1));
}
