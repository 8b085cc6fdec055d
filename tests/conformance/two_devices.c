// Rows that need a second device.
#include <stdint.h>

#include "conformance/rows.h"
#include "conformance/scene.h"
#include "support/check.h"
#include "support/places.h"

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

void row_a_call_with_another_devices_pool_and_no_context_gets_that_devices(void) {
    require_two_devices();
    CUdevice device = -1;
    poolMemPool_t pool = pool_of(1);
    test_use_no_context();
    void *pointer = test_malloc(pool, MIB(3), NULL);
    DRIVER(test_driver()->cuCtxGetDevice(&device));
    REQUIRE(device == 1);
    test_free(pointer, NULL);
    test_use_device(0);
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

// Memory of the first device's pool, freed on a stream of the second.
void row_memory_freed_on_another_devices_stream_waits_for_that_stream(void) {
    struct scene scene;
    require_two_devices();
    CUstream far = stream_of(1);
    scene_open(&scene, SCENE_SMALL);
    test_finish(scene.a);
    test_set_all_policies(scene.pool, 1);
    test_set_flag(scene.pool, poolMemPoolReuseAllowInternalDependencies, 0);
    test_hold(&scene.hold, far);
    test_free(scene.block, far);
    REQUIRE(!scene_gives(&scene, scene.b));
    EXPECT(poolDeviceSynchronize(), poolSuccess); // of the first device
    REQUIRE(!scene_gives(&scene, scene.b));
    test_let_go(&scene.hold);
    EXPECT(poolStreamSynchronize(far), poolSuccess);
    REQUIRE(scene_gives(&scene, scene.b));
}

void row_an_event_orders_streams_of_two_devices(void) {
    struct scene scene;
    require_two_devices();
    CUstream far = stream_of(1);
    scene_open(&scene, SCENE_SMALL);
    test_finish(scene.a);
    test_set_flag(scene.pool, poolMemPoolReuseFollowEventDependencies, 1);
    test_use_device(1);
    CUevent event = test_event();
    test_hold(&scene.hold, far);
    test_free(scene.block, far);
    EXPECT(poolEventRecord(event, far), poolSuccess);
    EXPECT(poolStreamWaitEvent(scene.b, event, 0), poolSuccess);
    test_use_device(0);
    REQUIRE(scene_gives(&scene, scene.b));
    EXPECT(poolStreamQuery(scene.b), poolErrorNotReady);
    test_fill(scene.block, 3, scene.size, scene.b);
    test_let_go(&scene.hold);
    EXPECT(poolStreamSynchronize(scene.b), poolSuccess);
    REQUIRE(test_is_filled(scene.block, 3, scene.size));
}

void row_the_legacy_streams_of_two_devices_have_no_order(void) {
    struct scene scene;
    require_two_devices();
    test_use_device(1);
    CUstream far = test_blocking_stream();
    test_use_device(0);
    scene_open_on(&scene, SCENE_SMALL, NULL, NULL);
    test_finish(NULL);
    test_set_flag(scene.pool, poolMemPoolReuseFollowEventDependencies, 1);
    test_hold(&scene.hold, far);
    test_free(scene.block, far);
    REQUIRE(!scene_gives(&scene, NULL));
    test_use_device(1);
    REQUIRE(scene_gives(&scene, NULL));
    scene_let_go(&scene);
    test_use_device(0);
}

// What each device frees goes to its own streams, whichever device is current.
void row_streams_of_two_devices_share_no_memory(void) {
    require_two_devices();
    CUstream streams[2] = {stream_of(0), stream_of(1)};
    void *blocks[2], *again[2];
    for (int device = 0; device < 2; device++) {
        test_set_attribute(test_default_pool(device), poolMemPoolAttrReleaseThreshold, UINT64_MAX);
        EXPECT(poolMallocAsync(&blocks[device], MIB(64), streams[device]), poolSuccess);
        test_free(blocks[device], streams[device]);
    }
    for (int device = 0; device < 2; device++) {
        EXPECT(poolMallocAsync(&again[device], MIB(64), streams[device]), poolSuccess);
        REQUIRE(again[device] == blocks[device]);
        REQUIRE_EQUAL(test_used(test_default_pool(device)), MIB(64));
    }
    test_free(again[0], streams[1]);
    test_free(again[1], streams[0]);
    for (int device = 0; device < 2; device++) {
        test_use_device(device);
        EXPECT(poolDeviceSynchronize(), poolSuccess);
    }
    test_use_device(0);
    EXPECT(poolMallocAsync(&again[0], MIB(64), streams[0]), poolSuccess);
    REQUIRE(again[0] == blocks[0]);
}

static bool has_context(int device) {
    unsigned int flags;
    int active = 0;
    DRIVER(test_driver()->cuDevicePrimaryCtxGetState(device, &flags, &active));
    return active != 0;
}

// The first memory of the host is got without a stream, and that of a node for one of a stream.
static void stage_on_the_second_device_at(const struct test_place *place) {
    poolMemPool_t pool = test_keeping_pool_at(place);
    CUstream far = test_stream();
    if (place->location.type == poolMemLocationTypeHost)
        EXPECT(poolMemPoolPrime(pool, MIB(4)), poolSuccess);
    void *block = test_malloc(pool, MIB(3), far);
    test_let_in(pool, 1);
    test_fill(block, 7, MIB(3), far);
    test_finish(far);
    REQUIRE(test_host_is_filled(block, 7, MIB(3)));
    test_free(block, far);
    EXPECT(poolStreamSynchronize(far), poolSuccess);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    REQUIRE(!has_context(0));
}

static void reset_under_the_second_device_at(const struct test_place *place) {
    static const size_t sizes[] = {KIB(4), MIB(3)};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        poolMemPool_t pool = test_keeping_pool_at(place);
        test_use_device(0);
        CUstream near = test_stream();
        test_free(test_malloc(pool, MIB(2), near), near); // the memory is of this context
        EXPECT(poolStreamSynchronize(near), poolSuccess);
        test_use_device(1);
        CUstream far = test_stream();
        test_let_in(pool, 1);
        void *live = test_malloc(pool, sizes[i], far), *again[3];
        test_free(test_malloc(pool, sizes[i], far), far);
        EXPECT(poolStreamSynchronize(far), poolSuccess);
        DRIVER(test_driver()->cuDevicePrimaryCtxReset(0));
        for (int k = 0; k < 3; k++) {
            again[k] = test_malloc(pool, sizes[i], far);
            test_fill(again[k], 7, sizes[i], far);
            test_finish(far);
            REQUIRE(test_host_is_filled(again[k], 7, sizes[i]));
        }
        test_free(live, far);
        for (int k = 0; k < 3; k++)
            test_free(again[k], far);
        EXPECT(poolStreamSynchronize(far), poolSuccess);
        EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    }
}

void row_memory_that_ended_with_another_device_is_not_given_again(void) {
    require_two_devices();
    test_for_each_place(TEST_STAGED | TEST_MANAGED, reset_under_the_second_device_at);
}

void row_memory_for_staging_is_got_on_the_device_that_is_current(void) {
    require_two_devices();
    DRIVER(test_driver()->cuDevicePrimaryCtxReset(0));
    test_use_device(1);
    REQUIRE(!has_context(0));
    test_for_each_place(TEST_STAGED, stage_on_the_second_device_at);
}
