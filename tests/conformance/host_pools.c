// Rows of pools of the host and of its NUMA nodes: making them, which one is current, and who has
// access to their memory.
#include <limits.h>
#include <stdint.h>

#include "conformance/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/places.h"
#include "support/pools.h"

#define UNTOUCHED_POOL ((poolMemPool_t)(uintptr_t)0x5a5a)
#define PINNED         poolMemAllocationTypePinned
#define MANAGED        poolMemAllocationTypeManaged

#define AT(type, id)                                                                               \
    (struct poolMemLocation) {                                                                     \
        (type), (id)                                                                               \
    }
#define HOST(id)   AT(poolMemLocationTypeHost, id)
#define NODE(id)   AT(poolMemLocationTypeHostNuma, id)
#define DEVICE(id) AT(poolMemLocationTypeDevice, id)

// ------------------------------------------------------------------------------------------ create

static struct poolMemPoolProps props_of(struct poolMemLocation location) {
    return (struct poolMemPoolProps){.allocType = PINNED, .location = location};
}

static void require_refused(const struct poolMemPoolProps *props, poolError_t error) {
    poolMemPool_t pool = UNTOUCHED_POOL;
    EXPECT(poolMemPoolCreate(&pool, props), error);
    REQUIRE(pool == UNTOUCHED_POOL);
}

// Makes a pool, and uses and destroys it.
static void require_useful(const struct poolMemPoolProps *props) {
    poolMemPool_t pool = NULL;
    CUstream stream = test_stream();
    EXPECT(poolMemPoolCreate(&pool, props), poolSuccess);
    void *block = test_malloc(pool, MIB(3), stream);
    test_host_fill(block, 5, MIB(3));
    test_free(block, stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
}

static enum poolMemAllocationType type_of(const struct test_place *place) {
    return place->kind == TEST_MANAGED ? MANAGED : PINNED;
}

static poolMemPool_t current_of(struct poolMemLocation location, enum poolMemAllocationType type) {
    poolMemPool_t pool = NULL;
    EXPECT(poolMemGetMemPool(&pool, &location, type), poolSuccess);
    return pool;
}

static poolMemPool_t default_of(struct poolMemLocation location, enum poolMemAllocationType type) {
    poolMemPool_t pool = NULL;
    EXPECT(poolMemGetDefaultMemPool(&pool, &location, type), poolSuccess);
    REQUIRE(pool);
    return pool;
}

static poolMemPool_t current_at(struct poolMemLocation location) {
    return current_of(location, PINNED);
}

static poolMemPool_t default_at(struct poolMemLocation location) {
    return default_of(location, PINNED);
}

static poolError_t set_current(struct poolMemLocation location, poolMemPool_t pool) {
    return poolMemSetMemPool(&location, PINNED, pool);
}

static poolError_t set_managed(struct poolMemLocation location, poolMemPool_t pool) {
    return poolMemSetMemPool(&location, MANAGED, pool);
}

static void create_at(const struct test_place *place) {
    poolMemPool_t before = current_of(place->location, type_of(place));
    poolMemPool_t pool = test_pool_at(place), other = test_pool_at(place);
    REQUIRE(pool != other && pool != before);
    REQUIRE(current_of(place->location, type_of(place)) == before);
    REQUIRE_FIGURES(pool, (struct test_figures){0});
    test_malloc(pool, 512, test_stream());
    REQUIRE_EQUAL(test_used(pool), 512);
    REQUIRE_EQUAL(test_used(other) + test_used(before) + test_used(test_default_pool(0)), 0);
}

void row_create_on_the_host_makes_an_empty_pool_that_is_not_current(void) {
    test_for_each_place(TEST_ALL, create_at);
}

void row_create_on_the_host_ignores_the_number(void) {
    static const int numbers[] = {5, -1, INT_MAX, INT_MIN};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct poolMemPoolProps props = props_of(HOST(numbers[i]));
        require_useful(&props);
    }
}

void row_create_on_a_node_that_there_is_not_is_invalid(void) {
    static const int nodes[] = {-1, 99, INT_MAX, INT_MIN};
    test_require_nodes();
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        struct poolMemPoolProps props = props_of(NODE(nodes[i]));
        require_refused(&props, poolErrorInvalidValue);
    }
}

void row_create_on_the_node_of_the_thread_is_invalid(void) {
    struct poolMemPoolProps props = props_of(AT(poolMemLocationTypeHostNumaCurrent, 0));
    require_refused(&props, poolErrorInvalidValue);
}

void row_memory_of_the_whole_host_has_no_handles(void) {
    static const unsigned types[] = {poolMemHandleTypePosixFileDescriptor, 2, 4, 8};
    struct poolMemPoolProps props = props_of(HOST(0));
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        props.handleTypes = (enum poolMemAllocationHandleType)types[i];
        require_refused(&props, poolErrorInvalidValue);
    }
}

void row_memory_of_a_node_may_have_file_descriptor_handles(void) {
    test_require_nodes();
    struct poolMemPoolProps props = props_of(NODE(0));
    props.handleTypes = poolMemHandleTypePosixFileDescriptor;
    require_useful(&props);
    props.usage = poolMemPoolUsageStaging; // of which the driver has no handle
    require_refused(&props, poolErrorNotSupported);
}

static void create_with_usages_at(const struct test_place *place) {
    static const unsigned short usages[] = {1, 2, 3, 4, 0x8000, 0xFFFF};
    struct poolMemPoolProps props = test_props_at(place);
    for (size_t i = 0; i < sizeof usages / sizeof usages[0]; i++) {
        props.usage = usages[i];
        require_useful(&props);
    }
}

void row_create_on_the_host_takes_any_usage(void) {
    test_for_each_place(TEST_PINNED, create_with_usages_at);
}

static void create_with_a_limit_at(const struct test_place *place) {
    struct poolMemPoolProps props = test_props_at(place);
    props.maxSize = (size_t)1 << 60;
    require_refused(&props, poolErrorMemoryAllocation);
    props.maxSize = MIB(64);
    require_useful(&props);
    props.reserved[53] = 1;
    require_refused(&props, poolErrorInvalidValue);
}

void row_create_on_the_host_takes_a_limit(void) {
    test_for_each_place(TEST_LIMITED, create_with_a_limit_at);
}

static void ask_attributes_at(const struct test_place *place) {
    poolMemPool_t pool = test_limited_pool_at(place, MIB(64));
    REQUIRE(test_flag(pool, poolMemPoolAttrAllocationType) == poolMemAllocationTypePinned);
    REQUIRE(test_flag(pool, poolMemPoolAttrExportHandleTypes) == poolMemHandleTypeNone);
    REQUIRE(test_flag(pool, poolMemPoolAttrLocationType) == (int)place->location.type);
    REQUIRE(test_flag(pool, poolMemPoolAttrLocationId) == place->location.id);
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolAttrMaxPoolSize), MIB(64));
    for (int i = 1; i <= 3; i++)
        REQUIRE(test_flag(pool, (enum poolMemPoolAttr)i) == 1);
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolAttrReleaseThreshold), 0);
}

void row_attributes_tell_where_on_the_host_a_pool_is(void) {
    test_for_each_place(TEST_LIMITED, ask_attributes_at);
}

// ------------------------------------------------------------------------ default and current pool

static void find_default_at(const struct test_place *place) {
    poolMemPool_t pool = default_of(place->location, type_of(place));
    REQUIRE(default_of(place->location, type_of(place)) == pool);
    REQUIRE(current_of(place->location, type_of(place)) == pool);
    REQUIRE(pool != test_default_pool(0));
    REQUIRE(test_flag(pool, poolMemPoolAttrLocationType) == (int)place->location.type);
    EXPECT(poolMemPoolDestroy(pool), poolErrorInvalidValue);
    REQUIRE_FIGURES(pool, (struct test_figures){0});
    test_malloc(pool, 512, test_stream());
    EXPECT(poolMemPoolDestroy(pool), poolErrorInvalidValue);
    REQUIRE_EQUAL(test_used(pool), 512);
}

void row_each_place_of_the_host_has_a_default_pool(void) {
    test_for_each_place(TEST_PINNED | TEST_MANAGED, find_default_at);
}

void row_the_host_has_one_default_pool_whatever_the_number(void) {
    REQUIRE(default_at(HOST(3)) == default_at(HOST(0)));
    REQUIRE(default_at(HOST(-1)) == default_at(HOST(0)));
    REQUIRE(current_at(HOST(3)) == current_at(HOST(-1)));
}

void row_a_node_has_another_default_pool_than_the_host(void) {
    test_require_nodes();
    REQUIRE(default_at(NODE(0)) != default_at(HOST(0)));
}

void row_the_default_pool_of_a_devices_location_is_the_devices(void) {
    poolMemPool_t pool = test_pool(), current = NULL;
    REQUIRE(default_at(DEVICE(0)) == test_default_pool(0));
    REQUIRE(current_at(DEVICE(0)) == test_default_pool(0));
    EXPECT(poolDeviceSetMemPool(0, pool), poolSuccess);
    REQUIRE(current_at(DEVICE(0)) == pool);
    REQUIRE(default_at(DEVICE(0)) == test_default_pool(0));
    EXPECT(set_current(DEVICE(0), test_default_pool(0)), poolSuccess);
    EXPECT(poolDeviceGetMemPool(&current, 0), poolSuccess);
    REQUIRE(current == test_default_pool(0));
}

// None of the calls finds a pool there.
static void require_no_place(struct poolMemLocation location, enum poolMemAllocationType type,
                             poolError_t error) {
    poolMemPool_t pool = UNTOUCHED_POOL;
    test_set_context("type %d at (%d, %d)", (int)type, (int)location.type, location.id);
    EXPECT(poolMemGetDefaultMemPool(&pool, &location, type), error);
    EXPECT(poolMemGetMemPool(&pool, &location, type), error);
    REQUIRE(pool == UNTOUCHED_POOL);
    EXPECT(poolMemSetMemPool(&location, type, test_pool_at(&test_the_host)), error);
}

void row_a_location_that_is_none_of_pinned_memory_is_refused(void) {
    require_no_place(DEVICE(test_device_count()), PINNED, poolErrorInvalidValue);
    require_no_place(DEVICE(-1), PINNED, poolErrorInvalidValue);
    require_no_place(AT(poolMemLocationTypeNone, 0), PINNED, poolErrorInvalidValue);
    require_no_place(AT(poolMemLocationTypeHostNumaCurrent, 0), PINNED, poolErrorNotSupported);
    require_no_place(AT(poolMemLocationTypeHostNumaCurrent, 7), PINNED, poolErrorNotSupported);
    require_no_place(AT((enum poolMemLocationType)5, 0), PINNED, poolErrorNotSupported);
    require_no_place(AT((enum poolMemLocationType)6, 0), PINNED, poolErrorNotSupported);
}

void row_a_node_that_there_is_not_has_no_default_pool(void) {
    test_require_nodes();
    require_no_place(NODE(99), PINNED, poolErrorInvalidValue);
    require_no_place(NODE(-1), PINNED, poolErrorInvalidValue);
}

void row_default_pools_of_no_allocation_type_are_refused(void) {
    static const int types[] = {0, 3, INT_MAX};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        enum poolMemAllocationType type = (enum poolMemAllocationType)types[i];
        require_no_place(DEVICE(0), type, poolErrorInvalidValue);
        require_no_place(HOST(0), type, poolErrorInvalidValue);
        require_no_place(NODE(0), type, poolErrorInvalidValue);
        require_no_place(AT(poolMemLocationTypeNone, 0), type, poolErrorInvalidValue);
        require_no_place(AT(poolMemLocationTypeHostNumaCurrent, 0), type, poolErrorNotSupported);
        require_no_place(AT((enum poolMemLocationType)5, 0), type, poolErrorNotSupported);
    }
}

void row_a_default_pool_of_a_null_argument_is_invalid(void) {
    const struct poolMemLocation host = HOST(0);
    poolMemPool_t pool = UNTOUCHED_POOL;
    EXPECT(poolMemGetDefaultMemPool(NULL, &host, PINNED), poolErrorInvalidValue);
    EXPECT(poolMemGetMemPool(NULL, &host, PINNED), poolErrorInvalidValue);
    EXPECT(poolMemGetDefaultMemPool(&pool, NULL, PINNED), poolErrorInvalidValue);
    EXPECT(poolMemGetMemPool(&pool, NULL, PINNED), poolErrorInvalidValue);
    EXPECT(poolMemSetMemPool(NULL, PINNED, test_pool_at(&test_the_host)), poolErrorInvalidValue);
    EXPECT(poolMemSetMemPool(&host, PINNED, NULL), poolErrorInvalidValue);
    REQUIRE(pool == UNTOUCHED_POOL);
}

static void set_current_at(const struct test_place *place) {
    poolMemPool_t first = default_of(place->location, type_of(place)), pool = test_pool_at(place);
    EXPECT(poolMemSetMemPool(&place->location, type_of(place), pool), poolSuccess);
    REQUIRE(current_of(place->location, type_of(place)) == pool);
    REQUIRE(default_of(place->location, type_of(place)) == first);
    REQUIRE(current_at(DEVICE(0)) == test_default_pool(0));
    EXPECT(poolMemSetMemPool(&place->location, type_of(place), first), poolSuccess);
    REQUIRE(current_of(place->location, type_of(place)) == first);
}

void row_the_current_pool_of_the_host_is_the_one_that_was_set(void) {
    test_for_each_place(TEST_ALL, set_current_at);
    poolMemPool_t pool = test_pool_at(&test_the_host);
    EXPECT(set_current(HOST(3), pool), poolSuccess);
    REQUIRE(current_at(HOST(-1)) == pool);
}

static void destroy_current_at(const struct test_place *place) {
    poolMemPool_t pool = test_pool_at(place);
    EXPECT(poolMemSetMemPool(&place->location, type_of(place), pool), poolSuccess);
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    REQUIRE(current_of(place->location, type_of(place)) ==
            default_of(place->location, type_of(place)));
    EXPECT(poolMemSetMemPool(&place->location, type_of(place), pool), poolErrorInvalidValue);
    REQUIRE(current_of(place->location, type_of(place)) ==
            default_of(place->location, type_of(place)));
}

void row_destroying_the_current_pool_of_the_host_makes_the_default_pool_current(void) {
    test_for_each_place(TEST_ALL, destroy_current_at);
}

void row_setting_the_current_pool_of_another_place_is_invalid(void) {
    poolMemPool_t host = test_pool_at(&test_the_host), device = test_pool();
    EXPECT(set_current(DEVICE(0), host), poolErrorInvalidValue);
    EXPECT(set_current(HOST(0), device), poolErrorInvalidValue);
    EXPECT(set_current(HOST(0), test_default_pool(0)), poolErrorInvalidValue);
    EXPECT(poolDeviceSetMemPool(0, host), poolErrorInvalidValue);
    EXPECT(poolDeviceSetMemPool(0, default_at(HOST(0))), poolErrorInvalidValue);
    REQUIRE(current_at(DEVICE(0)) == test_default_pool(0));
    REQUIRE(current_at(HOST(0)) == default_at(HOST(0)));
}

void row_setting_the_current_pool_of_a_node_and_the_host_are_two_things(void) {
    test_require_nodes();
    struct poolMemPoolProps props = props_of(NODE(0));
    poolMemPool_t host = test_pool_at(&test_the_host), node = NULL;
    EXPECT(poolMemPoolCreate(&node, &props), poolSuccess);
    EXPECT(set_current(HOST(0), node), poolErrorInvalidValue);
    EXPECT(set_current(NODE(0), host), poolErrorInvalidValue);
    EXPECT(set_current(DEVICE(0), node), poolErrorInvalidValue);
    EXPECT(poolDeviceSetMemPool(0, node), poolErrorInvalidValue);
    EXPECT(set_current(NODE(0), node), poolSuccess);
    REQUIRE(current_at(NODE(0)) == node);
    REQUIRE(current_at(HOST(0)) == default_at(HOST(0)));
}

// ------------------------------------------------------------------------------------------ access

#define NONE poolMemAccessFlagsProtNone
#define READ poolMemAccessFlagsProtRead
#define BOTH poolMemAccessFlagsProtReadWrite

static enum poolMemAccessFlags access_of(poolMemPool_t pool, struct poolMemLocation location) {
    enum poolMemAccessFlags flags = (enum poolMemAccessFlags)99;
    EXPECT(poolMemPoolGetAccess(&flags, pool, &location), poolSuccess);
    return flags;
}

static poolError_t set(poolMemPool_t pool, struct poolMemLocation location,
                       enum poolMemAccessFlags flags) {
    const struct poolMemAccessDesc desc = {location, flags};
    return poolMemPoolSetAccess(pool, &desc, 1);
}

static void require_access(poolMemPool_t pool, enum poolMemAccessFlags of_device) {
    REQUIRE(access_of(pool, DEVICE(0)) == of_device);
    REQUIRE(access_of(pool, HOST(0)) == BOTH);
    REQUIRE(access_of(pool, HOST(7)) == BOTH);
    REQUIRE(access_of(pool, NODE(0)) == BOTH);
    REQUIRE(access_of(pool, NODE(1)) == BOTH);
}

static void ask_access_at(const struct test_place *place) {
    require_access(test_pool_at(place), NONE);
    require_access(default_of(place->location, type_of(place)), NONE);
}

void row_the_host_alone_has_access_to_its_memory_at_first(void) {
    test_for_each_place(TEST_LIMITED, ask_access_at);
}

static void set_access_at(const struct test_place *place) {
    poolMemPool_t pool = test_pool_at(place);
    EXPECT(set(pool, DEVICE(0), NONE), poolSuccess);
    EXPECT(set(pool, DEVICE(0), BOTH), poolSuccess);
    require_access(pool, BOTH);
    EXPECT(set(pool, DEVICE(0), READ), poolErrorNotSupported);
    require_access(pool, BOTH);
    EXPECT(set(pool, DEVICE(0), NONE), poolSuccess);
    require_access(pool, NONE);
    require_access(default_of(place->location, type_of(place)), NONE);
    EXPECT(set(pool, DEVICE(test_device_count()), BOTH), poolErrorInvalidDevice);
    EXPECT(set(pool, DEVICE(-1), NONE), poolErrorInvalidDevice);
}

void row_access_of_a_device_to_memory_of_the_host_is_given_and_taken(void) {
    test_for_each_place(TEST_LIMITED, set_access_at);
}

// A pool that comes after another has nothing of its access.
static void make_anew_at(const struct test_place *place) {
    for (int i = 0; i < 3; i++) {
        poolMemPool_t pool = test_pool_at(place);
        require_access(pool, NONE);
        EXPECT(set(pool, DEVICE(0), BOTH), poolSuccess);
        EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    }
}

void row_a_new_pool_of_the_host_lets_no_device_in(void) {
    test_for_each_place(TEST_LIMITED, make_anew_at);
}

static void set_own_access_at(const struct test_place *place) {
    static const struct poolMemLocation hosts[] = {{poolMemLocationTypeHost, 0},
                                                   {poolMemLocationTypeHost, 7},
                                                   {poolMemLocationTypeHostNuma, 0}};
    poolMemPool_t pool = test_pool_at(place);
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        EXPECT(set(pool, hosts[i], BOTH), poolSuccess);
        EXPECT(set(pool, hosts[i], READ), poolErrorNotSupported);
        EXPECT(set(pool, hosts[i], NONE), poolErrorNotSupported);
    }
    EXPECT(set(pool, NODE(99), BOTH), poolSuccess);
    require_access(pool, NONE);
}

void row_the_host_can_not_be_denied_its_memory(void) {
    test_for_each_place(TEST_LIMITED, set_own_access_at);
}

void row_the_host_has_no_access_to_memory_of_a_device(void) {
    poolMemPool_t pool = test_pool();
    EXPECT(set(pool, HOST(0), BOTH), poolErrorNotSupported);
    EXPECT(set(pool, NODE(0), BOTH), poolErrorNotSupported);
    REQUIRE(access_of(pool, DEVICE(0)) == BOTH);
}

static void set_bad_access_at(const struct test_place *place) {
    const struct poolMemLocation bad[] = {AT(poolMemLocationTypeHostNumaCurrent, 0),
                                          AT(poolMemLocationTypeNone, 0),
                                          AT((enum poolMemLocationType)5, 0)};
    const struct poolMemLocation gone[] = {DEVICE(test_device_count()), DEVICE(-1)};
    enum poolMemAccessFlags flags = READ;
    poolMemPool_t pool = test_pool_at(place);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        EXPECT(set(pool, bad[i], BOTH), poolErrorInvalidValue);
        EXPECT(poolMemPoolGetAccess(&flags, pool, &bad[i]), poolErrorInvalidValue);
    }
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++)
        EXPECT(poolMemPoolGetAccess(&flags, pool, &gone[i]), poolErrorInvalidValue);
    EXPECT(set(pool, HOST(0), (enum poolMemAccessFlags)2), poolErrorInvalidValue);
    EXPECT(set(pool, DEVICE(0), (enum poolMemAccessFlags)2), poolErrorInvalidValue);
    EXPECT(poolMemPoolSetAccess(pool, NULL, 1), poolErrorInvalidValue);
    EXPECT(poolMemPoolSetAccess(pool, NULL, 0), poolSuccess);
    REQUIRE(flags == READ);
    require_access(pool, NONE);
}

void row_access_to_memory_of_the_host_with_a_bad_argument_is_invalid(void) {
    test_for_each_place(TEST_LIMITED, set_bad_access_at);
}

static void set_list_at(const struct test_place *place) {
    poolMemPool_t pool = test_pool_at(place);
    const struct poolMemAccessDesc bad[] = {{DEVICE(0), BOTH}, {HOST(0), NONE}},
                                   good[] = {{HOST(0), BOTH}, {DEVICE(0), NONE}, {DEVICE(0), BOTH}};
    EXPECT(poolMemPoolSetAccess(pool, bad, 2), poolErrorNotSupported);
    require_access(pool, NONE);
    EXPECT(poolMemPoolSetAccess(pool, good, 3), poolSuccess);
    require_access(pool, BOTH);
}

void row_a_list_for_memory_of_the_host_is_taken_wholly_or_not_at_all(void) {
    test_for_each_place(TEST_LIMITED, set_list_at);
}

// ------------------------------------------------------------------------------------------
// managed

static struct poolMemPoolProps managed_props(struct poolMemLocation location) {
    return (struct poolMemPoolProps){.allocType = MANAGED, .location = location};
}

static poolMemPool_t managed_pool(struct poolMemLocation location) {
    struct poolMemPoolProps props = managed_props(location);
    poolMemPool_t pool = NULL;
    EXPECT(poolMemPoolCreate(&pool, &props), poolSuccess);
    return pool;
}

#define ANYWHERE AT(poolMemLocationTypeNone, 0)
#define CURRENT  AT(poolMemLocationTypeHostNumaCurrent, 0)

void row_create_of_managed_memory_takes_any_place_and_none(void) {
    test_require_managed();
    const struct poolMemLocation locations[] = {ANYWHERE, AT(poolMemLocationTypeNone, 3), DEVICE(0),
                                                HOST(0), HOST(5)};
    for (size_t i = 0; i < sizeof locations / sizeof locations[0]; i++) {
        struct poolMemPoolProps props = managed_props(locations[i]);
        require_useful(&props);
    }
}

void row_create_of_managed_memory_takes_a_node(void) {
    test_require_managed();
    test_require_nodes();
    struct poolMemPoolProps node = managed_props(NODE(0)), current = managed_props(CURRENT);
    require_useful(&node);
    require_useful(&current);
    struct poolMemPoolProps bad = managed_props(NODE(99));
    require_refused(&bad, poolErrorInvalidValue);
    bad.location.id = -1;
    require_refused(&bad, poolErrorInvalidValue);
    REQUIRE(default_of(NODE(0), MANAGED) != default_at(NODE(0)));
    require_no_place(NODE(99), MANAGED, poolErrorInvalidValue);
    require_no_place(NODE(-1), MANAGED, poolErrorInvalidValue);
}

void row_create_of_managed_memory_where_nothing_is_is_refused(void) {
    test_require_managed();
    struct poolMemPoolProps props = managed_props(DEVICE(test_device_count()));
    require_refused(&props, poolErrorInvalidValue);
    props.location.id = -1;
    require_refused(&props, poolErrorInvalidValue);
    props.location.type = (enum poolMemLocationType)5;
    require_refused(&props, poolErrorNotSupported);
}

void row_managed_memory_has_no_handles_no_limit_and_no_use(void) {
    static const unsigned short usages[] = {1, 2, 4, poolMemPoolUsageStaging, 0x8000};
    test_require_managed();
    struct poolMemPoolProps props = managed_props(ANYWHERE);
    props.handleTypes = poolMemHandleTypePosixFileDescriptor;
    require_refused(&props, poolErrorInvalidValue);
    props = managed_props(ANYWHERE);
    props.maxSize = MIB(64);
    require_refused(&props, poolErrorInvalidValue);
    props = managed_props(ANYWHERE);
    for (size_t i = 0; i < sizeof usages / sizeof usages[0]; i++) {
        props.usage = usages[i];
        require_refused(&props, poolErrorInvalidValue);
    }
}

void row_managed_memory_has_a_default_pool_for_each_place(void) {
    test_require_managed();
    poolMemPool_t pools[] = {default_of(ANYWHERE, MANAGED), default_of(DEVICE(0), MANAGED),
                             default_of(HOST(0), MANAGED)};
    REQUIRE(pools[0] != pools[1] && pools[1] != pools[2] && pools[0] != pools[2]);
    REQUIRE(default_of(HOST(3), MANAGED) == pools[2]);
    REQUIRE(default_of(HOST(-1), MANAGED) == pools[2]);
    REQUIRE(pools[1] != test_default_pool(0) && pools[2] != default_at(HOST(0)));
    for (size_t i = 0; i < 3; i++)
        EXPECT(poolMemPoolDestroy(pools[i]), poolErrorInvalidValue);
    require_no_place(DEVICE(test_device_count()), MANAGED, poolErrorInvalidValue);
    require_no_place(CURRENT, MANAGED, poolErrorNotSupported);
    require_no_place(AT((enum poolMemLocationType)5, 0), MANAGED, poolErrorNotSupported);
    require_no_place(AT((enum poolMemLocationType)6, 0), MANAGED, poolErrorNotSupported);
}

void row_pinned_and_managed_memory_of_a_place_have_current_pools_of_their_own(void) {
    test_require_managed();
    poolMemPool_t anywhere = managed_pool(ANYWHERE), on_device = managed_pool(DEVICE(0)),
                  host = test_pool_at(&test_the_host), device = test_pool();
    const poolMemPool_t all[] = {anywhere, on_device, host, device};
    const struct {
        struct poolMemLocation location;
        enum poolMemAllocationType type;
        poolMemPool_t fits;
    } places[] = {{ANYWHERE, MANAGED, anywhere},
                  {DEVICE(0), MANAGED, on_device},
                  {DEVICE(0), PINNED, device},
                  {HOST(0), PINNED, host},
                  {HOST(0), MANAGED, NULL}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        poolMemPool_t before = current_of(places[i].location, places[i].type);
        test_set_context("place %zu", i);
        for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
            if (all[k] != places[i].fits)
                EXPECT(poolMemSetMemPool(&places[i].location, places[i].type, all[k]),
                       poolErrorInvalidValue);
        }
        REQUIRE(current_of(places[i].location, places[i].type) == before);
        if (places[i].fits)
            EXPECT(poolMemSetMemPool(&places[i].location, places[i].type, places[i].fits),
                   poolSuccess);
        REQUIRE(!places[i].fits ||
                current_of(places[i].location, places[i].type) == places[i].fits);
    }
}

void row_a_devices_pool_of_managed_memory_may_be_set_by_the_device(void) {
    test_require_managed();
    poolMemPool_t pool = managed_pool(DEVICE(0));
    EXPECT(poolDeviceSetMemPool(0, managed_pool(ANYWHERE)), poolErrorInvalidValue);
    EXPECT(poolDeviceSetMemPool(0, managed_pool(HOST(0))), poolErrorInvalidValue);
    EXPECT(poolDeviceSetMemPool(0, pool), poolSuccess);
    REQUIRE(current_of(DEVICE(0), MANAGED) == pool);
    REQUIRE(current_at(DEVICE(0)) == test_default_pool(0));
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    REQUIRE(current_of(DEVICE(0), MANAGED) == default_of(DEVICE(0), MANAGED));
    EXPECT(set_managed(DEVICE(0), pool), poolErrorInvalidValue);
}

static void require_noted(poolMemPool_t pool, enum poolMemAccessFlags of_device,
                          enum poolMemAccessFlags of_host) {
    REQUIRE(access_of(pool, DEVICE(0)) == of_device);
    REQUIRE(access_of(pool, HOST(0)) == of_host);
    REQUIRE(access_of(pool, NODE(0)) == of_host);
    REQUIRE(access_of(pool, NODE(1)) == of_host);
}

static void note_access_at(const struct test_place *place) {
    poolMemPool_t pool = test_pool_at(place);
    require_noted(pool, NONE, NONE);
    EXPECT(set(pool, DEVICE(0), BOTH), poolSuccess);
    require_noted(pool, BOTH, NONE);
    EXPECT(set(pool, DEVICE(0), READ), poolErrorNotSupported);
    EXPECT(set(pool, HOST(0), READ), poolErrorNotSupported);
    require_noted(pool, BOTH, NONE);
    EXPECT(set(pool, DEVICE(0), NONE), poolSuccess);
    EXPECT(set(pool, HOST(0), BOTH), poolSuccess);
    require_noted(pool, NONE, BOTH);
    EXPECT(set(pool, NODE(0), NONE), poolSuccess);
    require_noted(pool, NONE, NONE);
    EXPECT(set(pool, NODE(99), BOTH), poolSuccess);
    require_noted(pool, NONE, BOTH);
    EXPECT(set(pool, CURRENT, BOTH), poolErrorInvalidValue);
    EXPECT(set(pool, DEVICE(test_device_count()), BOTH), poolErrorInvalidDevice);
    require_noted(default_of(place->location, MANAGED), NONE, NONE);
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    require_noted(test_pool_at(place), NONE, NONE); // the next one has nothing of it
}

void row_access_to_managed_memory_is_noted(void) {
    test_require_managed();
    test_for_each_place(TEST_MANAGED, note_access_at);
}
