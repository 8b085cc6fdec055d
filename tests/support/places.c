#include "support/places.h"

#include <string.h>

#include "simcuda/entry/attributes.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"
#include "support/simulated.h"

#define HOST 0
#define NODE 1

static const struct test_place places[] = {
    [HOST] = {TEST_PINNED, "the host", {poolMemLocationTypeHost, 0}},
    [NODE] = {TEST_PINNED, "node 0", {poolMemLocationTypeHostNuma, 0}},
    {TEST_STAGED, "the host, for staging", {poolMemLocationTypeHost, 0}},
    {TEST_STAGED, "node 0, for staging", {poolMemLocationTypeHostNuma, 0}},
    {TEST_MANAGED, "managed, anywhere", {poolMemLocationTypeNone, 0}},
    {TEST_MANAGED, "managed, device 0", {poolMemLocationTypeDevice, 0}},
    {TEST_MANAGED, "managed, the host", {poolMemLocationTypeHost, 0}},
    {TEST_MANAGED, "managed, node 0", {poolMemLocationTypeHostNuma, 0}},
};

const struct test_place test_the_host = {TEST_PINNED, "the host", {poolMemLocationTypeHost, 0}};

struct poolMemPoolProps test_props_at(const struct test_place *place) {
    return (struct poolMemPoolProps){
        .allocType = place->kind == TEST_MANAGED ? poolMemAllocationTypeManaged
                                                 : poolMemAllocationTypePinned,
        .location = place->location,
        .usage = place->kind == TEST_STAGED ? poolMemPoolUsageStaging : poolMemPoolUsageNone};
}

static bool has_memory(const struct test_place *place) {
    struct poolMemPoolProps props = test_props_at(place);
    poolMemPool_t pool = NULL;
    poolError_t error = poolMemPoolCreate(&pool, &props);
    bool may_lack = place->kind != TEST_PINNED || place->location.type != poolMemLocationTypeHost;
    if (error == poolErrorNotSupported && may_lack)
        return false;
    EXPECT(error, poolSuccess);
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    return true;
}

// Where the driver maps no memory of a node, rows leave out the node wholly.
static bool is_there(const struct test_place *place) {
    return has_memory(place) &&
           (place->location.type != poolMemLocationTypeHostNuma || has_memory(&places[NODE]));
}

// Else the host must leave managed memory alone while work is pending.
static bool is_managed_beside_work(void) {
    int value = 0;
    return test_driver()->cuDeviceGetAttribute(
               &value, (CUdevice_attribute)SIM_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 0) ==
               CUDA_SUCCESS &&
           value != 0;
}

void test_for_each_place(unsigned kinds, void (*row)(const struct test_place *place)) {
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        test_set_context("%s", places[i].name);
        bool is_meant = (places[i].kind & kinds) != 0 &&
                        (places[i].kind != TEST_MANAGED || is_managed_beside_work());
        if (is_meant && is_there(&places[i]))
            row(&places[i]);
    }
    test_set_context("%s", "");
}

void test_require_nodes(void) {
    if (!is_there(&places[NODE]))
        test_skip("the driver has no memory of NUMA nodes");
}

void test_require_managed(void) {
    if (!is_managed_beside_work())
        test_skip("the host can't touch managed memory beside work");
}

void test_require_mapped_host(void) {
    if (!test_flag(test_pool_at(&test_the_host), poolMemPoolAttrVirtualMemory))
        test_skip("memory of the host is not mapped");
}

poolMemPool_t test_limited_pool_at(const struct test_place *place, size_t max_size) {
    struct poolMemPoolProps props = test_props_at(place);
    poolMemPool_t pool = NULL;
    props.maxSize = max_size;
    EXPECT(poolMemPoolCreate(&pool, &props), poolSuccess);
    REQUIRE(pool);
    return pool;
}

poolMemPool_t test_pool_at(const struct test_place *place) {
    return test_limited_pool_at(place, 0);
}

poolMemPool_t test_keeping_pool_at(const struct test_place *place) {
    poolMemPool_t pool = test_pool_at(place);
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    return pool;
}

static void set_access(poolMemPool_t pool, int device, enum poolMemAccessFlags flags) {
    const struct poolMemAccessDesc desc = {{poolMemLocationTypeDevice, device}, flags};
    EXPECT(poolMemPoolSetAccess(pool, &desc, 1), poolSuccess);
}

void test_let_in(poolMemPool_t pool, int device) {
    set_access(pool, device, poolMemAccessFlagsProtReadWrite);
}

void test_keep_out(poolMemPool_t pool, int device) {
    set_access(pool, device, poolMemAccessFlagsProtNone);
}

void test_host_fill(void *address, unsigned char value, size_t size) {
    test_tell_host_access(address, size, simcudaAccessWrite);
    memset(address, value, size);
}

bool test_host_is_filled(const void *address, unsigned char value, size_t size) {
    const unsigned char *bytes = address;
    test_tell_host_access(address, size, simcudaAccessRead);
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != value)
            return false;
    }
    return true;
}
