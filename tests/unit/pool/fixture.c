#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/outcomes.h"
#include "unit/pool/fixture.h"

#include "inside/check.h"
#include "order/resolve.h"
#include "region/handle.h"
#include "region/lane.h"

int fixture_begin(const char *settings) {
    return simulated_begin(settings) == 0 && sp_runtime_start() == poolSuccess ? 0 : -1;
}

int fixture_setup(void **state) {
    (void)state;
    return fixture_begin(NULL);
}

static bool all_pools_are_in_order(void) {
    char why[256];
    for (struct sp_device *d = sp_device_next(NULL); d; d = sp_device_next(d)) {
        SP_LIST_FOR_EACH(link, &d->pools) {
            const struct sp_pool *pool = SP_CONTAINER_OF(link, struct sp_pool, listing.link);
            if (pool->destroyed || inside_check(pool->handle, why, sizeof why))
                continue;
            print_error("a pool is not in order: %s\n", why);
            return false;
        }
    }
    return true;
}

int fixture_teardown(void **state) {
    sp_lock_set_hook(NULL);
    simcudaFailClear();
    bool in_order = all_pools_are_in_order();
    return simulated_teardown(state) == 0 && in_order ? 0 : -1;
}

poolMemPool_t fixture_pool_of_at_most(size_t max_size) {
    poolMemPool_t pool = NULL;
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .location = {poolMemLocationTypeDevice, 0},
                                           .maxSize = max_size};
    assert_int_equal(poolMemPoolCreate(&pool, &props), poolSuccess);
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, FIXTURE_HELD);
    return pool;
}

poolMemPool_t fixture_pool(void) {
    return fixture_pool_of_at_most(0);
}

struct sp_pool *fixture_inside(poolMemPool_t pool) {
    struct sp_pool *inside = sp_handle_pool(pool);
    assert_non_null(inside);
    return inside;
}

struct sp_stream *fixture_stream(CUstream handle) {
    struct sp_stream *stream = NULL;
    assert_done(sp_resolve_stream(handle, &stream));
    return stream;
}

struct sp_lane *fixture_lane(poolMemPool_t pool, CUstream stream) {
    struct sp_lane *lane = sp_lane_of(fixture_inside(pool), fixture_stream(stream));
    assert_non_null(lane);
    return lane;
}

uint64_t fixture_lane_bytes(const struct sp_lane *lane) {
    return lane->tiers[SP_REGION_LARGE].bytes + lane->unfenced[SP_REGION_LARGE].bytes;
}

void *fixture_malloc(poolMemPool_t pool, size_t size, CUstream stream) {
    void *pointer = NULL;
    poolError_t error = poolMallocFromPoolAsync(&pointer, size, pool, stream);
    if (error != poolSuccess)
        print_error("%s: %s\n", poolGetErrorName(error), poolGetLastErrorDetail());
    assert_int_equal(error, poolSuccess);
    assert_non_null(pointer);
    assert_int_equal((uintptr_t)pointer % SP_ALIGNMENT, 0);
    return pointer;
}

void fixture_free(void *pointer, CUstream stream) {
    assert_int_equal(poolFreeAsync(pointer, stream), poolSuccess);
}

void fixture_synchronize(CUstream stream) {
    assert_int_equal(poolStreamSynchronize(stream), poolSuccess);
}

void fixture_order(CUstream later, CUstream earlier) {
    CUevent event = NULL;
    assert_int_equal(sp_driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    assert_int_equal(poolEventRecord(event, earlier), poolSuccess);
    assert_int_equal(poolStreamWaitEvent(later, event, 0), poolSuccess);
    assert_int_equal(poolEventDestroy(event), poolSuccess);
}

void fixture_trim(poolMemPool_t pool, size_t keep) {
    assert_int_equal(poolMemPoolTrimTo(pool, keep), poolSuccess);
}

uint64_t fixture_attribute(poolMemPool_t pool, enum poolMemPoolAttr attribute) {
    uint64_t value = UINT64_MAX;
    assert_int_equal(poolMemPoolGetAttribute(pool, attribute, &value), poolSuccess);
    return value;
}

void fixture_set(poolMemPool_t pool, enum poolMemPoolAttr attribute, uint64_t value) {
    assert_int_equal(poolMemPoolSetAttribute(pool, attribute, &value), poolSuccess);
}

void fixture_set_flag(poolMemPool_t pool, enum poolMemPoolAttr attribute, int value) {
    assert_int_equal(poolMemPoolSetAttribute(pool, attribute, &value), poolSuccess);
}

uint64_t fixture_reserved(poolMemPool_t pool) {
    return fixture_attribute(pool, poolMemPoolAttrReservedMemCurrent);
}

uint64_t fixture_used(poolMemPool_t pool) {
    return fixture_attribute(pool, poolMemPoolAttrUsedMemCurrent);
}

void fixture_check(poolMemPool_t pool) {
    char why[256] = "";
    bool in_order = inside_check(pool, why, sizeof why);
    assert_string_equal(why, "");
    assert_true(in_order);
}

static void (*waiting_function)(void);

static void run_waiting_function(int contended) {
    void (*function)(void) = waiting_function;
    if (contended || !function)
        return;
    waiting_function = NULL;
    sp_lock_set_hook(NULL);
    function();
}

void fixture_at_next_lock(void (*function)(void)) {
    waiting_function = function;
    sp_lock_set_hook(run_waiting_function);
}
