#include "support/pools.h"

#include "support/check.h"

struct poolMemPoolProps test_pool_props(int device) {
    return (struct poolMemPoolProps){
        .allocType = poolMemAllocationTypePinned,
        .handleTypes = poolMemHandleTypeNone,
        .location = {.type = poolMemLocationTypeDevice, .id = device},
    };
}

poolMemPool_t test_pool_of_at_most(size_t max_size) {
    struct poolMemPoolProps props = test_pool_props(0);
    props.maxSize = max_size;
    poolMemPool_t pool = NULL;
    EXPECT(poolMemPoolCreate(&pool, &props), poolSuccess);
    REQUIRE(pool);
    return pool;
}

poolMemPool_t test_pool(void) {
    return test_pool_of_at_most(0);
}

poolMemPool_t test_keeping_pool(void) {
    poolMemPool_t pool = test_pool();
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    return pool;
}

poolMemPool_t test_default_pool(int device) {
    poolMemPool_t pool = NULL;
    EXPECT(poolDeviceGetDefaultMemPool(&pool, device), poolSuccess);
    REQUIRE(pool);
    return pool;
}

void test_require_virtual_memory(void) {
    if (!test_flag(test_default_pool(0), poolMemPoolAttrVirtualMemory))
        test_skip("the device has no virtual memory management");
}

uint64_t test_attribute(poolMemPool_t pool, enum poolMemPoolAttr attr) {
    uint64_t value = 0;
    EXPECT(poolMemPoolGetAttribute(pool, attr, &value), poolSuccess);
    return value;
}

int test_flag(poolMemPool_t pool, enum poolMemPoolAttr attr) {
    int value = -1;
    EXPECT(poolMemPoolGetAttribute(pool, attr, &value), poolSuccess);
    return value;
}

void test_set_attribute(poolMemPool_t pool, enum poolMemPoolAttr attr, uint64_t value) {
    EXPECT(poolMemPoolSetAttribute(pool, attr, &value), poolSuccess);
}

void test_set_flag(poolMemPool_t pool, enum poolMemPoolAttr attr, int value) {
    EXPECT(poolMemPoolSetAttribute(pool, attr, &value), poolSuccess);
}

void test_set_all_policies(poolMemPool_t pool, int value) {
    test_set_flag(pool, poolMemPoolReuseFollowEventDependencies, value);
    test_set_flag(pool, poolMemPoolReuseAllowOpportunistic, value);
    test_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, value);
}

uint64_t test_reserved(poolMemPool_t pool) {
    return test_attribute(pool, poolMemPoolAttrReservedMemCurrent);
}

uint64_t test_used(poolMemPool_t pool) {
    return test_attribute(pool, poolMemPoolAttrUsedMemCurrent);
}

struct test_figures test_figures(poolMemPool_t pool) {
    return (struct test_figures){
        .reserved = test_reserved(pool),
        .reserved_high = test_attribute(pool, poolMemPoolAttrReservedMemHigh),
        .used = test_used(pool),
        .used_high = test_attribute(pool, poolMemPoolAttrUsedMemHigh),
    };
}

void test_same_figures(const char *file, int line, poolMemPool_t pool,
                       struct test_figures expected) {
    struct test_figures now = test_figures(pool);
    test_equal(file, line, "reserved", now.reserved, expected.reserved);
    test_equal(file, line, "reserved, high", now.reserved_high, expected.reserved_high);
    test_equal(file, line, "used", now.used, expected.used);
    test_equal(file, line, "used, high", now.used_high, expected.used_high);
}

void *test_malloc(poolMemPool_t pool, size_t size, CUstream stream) {
    void *pointer = NULL;
    EXPECT(poolMallocFromPoolAsync(&pointer, size, pool, stream), poolSuccess);
    REQUIRE(pointer);
    return pointer;
}

void test_free(void *pointer, CUstream stream) {
    EXPECT(poolFreeAsync(pointer, stream), poolSuccess);
}
