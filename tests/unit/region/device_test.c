// Places: which of them a pool is at, what places share, and in whose context their memory is got.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "unit/fixture/host_root.h"
#include "unit/fixture/pool.h"

#define HOST      poolMemLocationTypeHost
#define NODE      poolMemLocationTypeHostNuma
#define NOWHERE   poolMemLocationTypeNone
#define ON_DEVICE poolMemLocationTypeDevice

static CUstream stream;

static int begin_with(const char *settings, void **state) {
    if (host_root_setup(state) != 0 || fixture_begin(settings) != 0)
        return -1;
    stream = simulated_stream();
    return 0;
}

static int begin(void **state) {
    return begin_with("nodes=2,devices=2", state);
}

static int begin_unmapped(void **state) {
    return begin_with("nodes=2,devices=2,host_vmm=missing", state);
}

// Less of the host's memory than the driver's limits leave it.
static int begin_small(void **state) {
    return begin_with("nodes=2,devices=2,host_memory=128M", state);
}

static int end(void **state) {
    int failed = fixture_teardown(state);
    return host_root_teardown(state) == 0 ? failed : -1;
}

static struct poolMemPoolProps pinned(enum poolMemLocationType type, int id) {
    return (struct poolMemPoolProps){.allocType = poolMemAllocationTypePinned,
                                     .location = {type, id}};
}

static struct poolMemPoolProps staging(enum poolMemLocationType type, int id) {
    struct poolMemPoolProps props = pinned(type, id);
    props.usage = poolMemPoolUsageStaging;
    return props;
}

static struct poolMemPoolProps managed(enum poolMemLocationType type, int id) {
    struct poolMemPoolProps props = pinned(type, id);
    props.allocType = poolMemAllocationTypeManaged;
    return props;
}

// Makes a pool that keeps its memory at a synchronise.
static poolMemPool_t make(struct poolMemPoolProps props) {
    poolMemPool_t pool = NULL;
    assert_int_equal(poolMemPoolCreate(&pool, &props), poolSuccess);
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    return pool;
}

// So many bytes that the pool has free, and that are known to be complete.
static void keep(poolMemPool_t pool, size_t size) {
    fixture_free(fixture_malloc(pool, size, stream), stream);
    fixture_synchronize(stream);
    assert_true(fixture_reserved(pool) >= size);
}

static void refuse(poolMemPool_t pool, size_t size) {
    void *pointer = NULL;
    assert_int_equal(poolMallocFromPoolAsync(&pointer, size, pool, stream),
                     poolErrorMemoryAllocation);
    assert_null(pointer);
}

static void limit_container(const char *bytes) {
    host_root_write("/proc/self/cgroup", "0::/mine\n");
    host_root_write("/sys/fs/cgroup/mine/memory.max", bytes);
    host_root_write("/sys/fs/cgroup/mine/memory.current", "0\n");
}

// -------------------------------------------------------------------------------------- which one

static poolMemPool_t default_at(enum poolMemLocationType type, int id,
                                enum poolMemAllocationType allocation) {
    const struct poolMemLocation location = {type, id};
    poolMemPool_t pool = NULL;
    assert_int_equal(poolMemGetDefaultMemPool(&pool, &location, allocation), poolSuccess);
    return pool;
}

static void each_node_and_device_is_a_place_of_its_own(void **state) {
    (void)state;
    poolMemPool_t pools[] = {default_at(NODE, 0, poolMemAllocationTypePinned),
                             default_at(NODE, 1, poolMemAllocationTypePinned),
                             default_at(ON_DEVICE, 0, poolMemAllocationTypeManaged),
                             default_at(ON_DEVICE, 1, poolMemAllocationTypeManaged)};
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < i; k++)
            assert_ptr_not_equal(pools[i], pools[k]);
    }
    const struct poolMemLocation second = {NODE, 1};
    assert_int_equal(poolMemSetMemPool(&second, poolMemAllocationTypePinned, make(pinned(NODE, 0))),
                     poolErrorInvalidValue);
}

// Though both are at the host.
static void memory_for_staging_is_no_mapped_memory(void **state) {
    (void)state;
    poolMemPool_t mapped = make(pinned(HOST, 0)), other = make(staging(HOST, 0));
    assert_int_equal(fixture_attribute(mapped, poolMemPoolAttrVirtualMemory) & 1, 1);
    assert_int_equal(fixture_attribute(other, poolMemPoolAttrVirtualMemory) & 1, 0);
}

static void a_node_is_asked_for_no_more_than_it_has(void **state) {
    (void)state;
    host_root_write("/sys/devices/system/node/node1/meminfo", "Node 1 MemTotal: 65536 kB\n");
    poolMemPool_t small = make(pinned(NODE, 1)), other = make(pinned(NODE, 0));
    refuse(small, MIB(80));
    assert_non_null(
        strstr(poolGetLastErrorDetail(), "more than the pool can ever hold (67108864)"));
    fixture_free(fixture_malloc(other, MIB(80), stream), stream);
}

static void a_node_is_asked_for_what_it_may_get(void **state) {
    (void)state;
    host_root_write("/proc/meminfo", "MemTotal: 163840 kB\n");
    host_root_write("/sys/devices/system/node/online", "0-1\n");
    host_root_write("/sys/devices/system/node/node1/meminfo",
                    "Node 1 MemTotal: 65536 kB\nNode 1 MemFree: 32768 kB\n");
    refuse(make(pinned(NODE, 1)), MIB(98)); // 32 MiB are for others
    assert_non_null(
        strstr(poolGetLastErrorDetail(), "the memory of the NUMA node leaves 96.0 MiB"));
    fixture_free(fixture_malloc(make(pinned(NODE, 1)), MIB(96), stream), stream);
}

// Memory of cuMemHostAlloc lies on any node, and has no handle.
static void a_node_that_the_driver_refuses_to_map_has_no_other_memory(void **state) {
    (void)state;
    struct poolMemPoolProps props = pinned(NODE, 1);
    props.handleTypes = poolMemHandleTypePosixFileDescriptor;
    poolMemPool_t pool = make(props);
    void *pointer = NULL;
    simcudaFailCall("cuMemMap", 1, simcudaFaultOnce, CUDA_ERROR_NOT_SUPPORTED);
    assert_int_equal(poolMallocFromPoolAsync(&pointer, MIB(4), pool, stream),
                     poolErrorNotSupported);
    assert_null(pointer);
    fixture_free(fixture_malloc(pool, MIB(4), stream), stream);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrVirtualMemory) & 1, 1);
}

// To look at a place takes memory that the host may not have left.
static void a_node_is_there_on_a_host_that_is_full(void **state) {
    (void)state;
    poolMemPool_t host = make(pinned(HOST, 0));
    void *all = fixture_malloc(host, MIB(128), stream);
    poolMemPool_t node = make(pinned(NODE, 1)), moving = make(managed(NODE, 0));
    struct poolMemPoolProps nowhere = pinned(NODE, 2);
    poolMemPool_t none = NULL;
    assert_int_equal(poolMemPoolCreate(&none, &nowhere), poolErrorInvalidValue);
    refuse(node, MIB(64));
    refuse(moving, MIB(64));
    fixture_free(all, stream); // and the host's pool keeps it
    fixture_free(fixture_malloc(node, MIB(64), stream), stream);
    fixture_free(fixture_malloc(moving, MIB(64), stream), stream);
}

// Such a driver says that it maps memory of the host, and then refuses to tell in which units. What
// it has in its place is of any node.
static void memory_of_the_host_that_has_no_granule_is_not_mapped(void **state) {
    (void)state;
    struct poolMemPoolProps node = pinned(NODE, 0);
    poolMemPool_t none = NULL;
    simcudaFailCall("cuDeviceGetAttribute", 1, simcudaFaultOnce, CUDA_ERROR_INVALID_VALUE);
    simcudaFailCall("cuMemGetAllocationGranularity", 1, simcudaFaultOnwards,
                    CUDA_ERROR_NOT_SUPPORTED);
    poolMemPool_t host = make(pinned(HOST, 0));
    assert_int_equal(fixture_inside(host)->device->vmm.location.type, CU_MEM_LOCATION_TYPE_HOST);
    assert_int_equal(fixture_attribute(host, poolMemPoolAttrVirtualMemory) & 1, 0);
    fixture_free(fixture_malloc(host, MIB(4), stream), stream);
    assert_int_equal(poolMemPoolCreate(&none, &node), poolErrorNotSupported);
    simcudaFailClear();
}

// A driver that doesn't know of the whole host's memory maps that of a node for it.
static void a_node_that_stands_for_the_host_has_its_own_limits(void **state) {
    (void)state;
    simcudaFailCall("cuDeviceGetAttribute", 1, simcudaFaultOnce, CUDA_ERROR_INVALID_VALUE);
    poolMemPool_t host = make(pinned(HOST, 0));
    const struct sp_vmm_device *device = &fixture_inside(host)->device->vmm;
    assert_int_equal(device->location.type, CU_MEM_LOCATION_TYPE_HOST_NUMA);
    host_root_write("/proc/meminfo", "MemAvailable: 1048576 kB\n");
    host_root_write("/sys/devices/system/node/node0/meminfo", "Node 0 MemFree: 40960 kB\n");
    refuse(host, MIB(24));
    assert_non_null(strstr(poolGetLastErrorDetail(), "the memory of the NUMA node leaves 8.0 MiB"));
}

// --------------------------------------------------------------------------------- what they share

// What the host lacks a pool of managed memory can't give back: the driver moves it as it likes.
static void managed_memory_makes_no_room_for_pinned_memory(void **state) {
    (void)state;
    const struct poolMemPoolProps places[] = {managed(HOST, 0), managed(NOWHERE, 0)};
    poolMemPool_t host = make(pinned(HOST, 0)), kept[2];
    for (size_t i = 0; i < 2; i++) {
        kept[i] = make(places[i]);
        keep(kept[i], MIB(64));
    }
    limit_container("41943040\n"); // 40 MiB, of which 32 are kept for others
    refuse(host, MIB(24));
    for (size_t i = 0; i < 2; i++)
        assert_true(fixture_reserved(kept[i]) >= MIB(64));
}

static void the_limits_of_the_host_are_none_of_managed_memory(void **state) {
    (void)state;
    poolMemPool_t pool = make(managed(HOST, 0));
    limit_container("41943040\n");
    fixture_free(fixture_malloc(pool, MIB(64), stream), stream);
}

// Of managed memory the driver alone says that there is no more.
static void what_another_managed_place_keeps_makes_room_for_managed_memory(void **state) {
    (void)state;
    const struct poolMemPoolProps places[] = {managed(HOST, 0), managed(NODE, 1),
                                              managed(NOWHERE, 0), managed(ON_DEVICE, 0),
                                              managed(ON_DEVICE, 1)};
    for (size_t i = 0; i < 25; i++) {
        poolMemPool_t kept = make(places[i / 5]), wanting = make(places[i % 5]);
        keep(kept, MIB(96));
        fixture_free(fixture_malloc(wanting, MIB(64), stream), stream);
        assert_int_equal(fixture_reserved(kept), 0);
        fixture_synchronize(stream);
        assert_int_equal(poolMemPoolDestroy(kept), poolSuccess);
        assert_int_equal(poolMemPoolDestroy(wanting), poolSuccess);
    }
}

static void what_the_host_keeps_makes_room_for_managed_memory_at_last(void **state) {
    (void)state;
    const struct poolMemPoolProps places[] = {pinned(HOST, 0), pinned(NODE, 1), staging(HOST, 0)};
    for (size_t i = 0; i < 3; i++) {
        poolMemPool_t host = make(places[i]), other = make(managed(HOST, 0));
        poolMemPool_t wanting = make(managed(NOWHERE, 0));
        keep(host, MIB(48));
        keep(other, MIB(48));
        fixture_free(fixture_malloc(wanting, MIB(48), stream), stream);
        assert_int_equal(fixture_reserved(other), 0);
        assert_int_equal(fixture_reserved(host), MIB(48));
        fixture_free(fixture_malloc(wanting, MIB(96), stream), stream);
        assert_int_equal(fixture_reserved(host), 0);
        fixture_synchronize(stream);
        assert_int_equal(poolMemPoolDestroy(host), poolSuccess);
        assert_int_equal(poolMemPoolDestroy(other), poolSuccess);
        assert_int_equal(poolMemPoolDestroy(wanting), poolSuccess);
    }
}

static void a_refusal_of_managed_memory_counts_the_other_places(void **state) {
    (void)state;
    poolMemPool_t elsewhere = make(managed(ON_DEVICE, 1)), host = make(pinned(HOST, 0));
    void *used = fixture_malloc(elsewhere, MIB(64), stream);
    void *pages = fixture_malloc(host, MIB(32), stream);
    refuse(make(managed(NOWHERE, 0)), MIB(64));
    assert_non_null(strstr(poolGetLastErrorDetail(), "other pools of the host hold 96.0 MiB"));
    fixture_free(used, stream);
    fixture_free(pages, stream);
}

// No event stands behind the frees, and nobody has asked the streams.
static void what_is_complete_at_another_place_of_the_host_makes_room(void **state) {
    (void)state;
    const struct poolMemPoolProps places[] = {pinned(NODE, 0), staging(HOST, 0)};
    poolMemPool_t host = make(pinned(HOST, 0)), kept[2];
    for (size_t i = 0; i < 2; i++) {
        CUstream user = simulated_stream();
        kept[i] = make(places[i]);
        fixture_set_flag(kept[i], poolMemPoolAttrStreamPromises,
                         poolPromiseStreamDestroy | poolPromiseNeverCapture);
        void *block = fixture_malloc(kept[i], MIB(64), user);
        simulated_work(user);
        fixture_free(block, user);
        simulated_finish(user);
    }
    limit_container("41943040\n");
    refuse(host, MIB(120)); // for the file says the same
    for (size_t i = 0; i < 2; i++)
        assert_true(fixture_reserved(kept[i]) < MIB(64));
}

// -------------------------------------------------------------------------------- whose context

static CUcontext context_of(const void *block) {
    CUcontext context = NULL;
    assert_int_equal(
        sp_driver->cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, (uintptr_t)block),
        CUDA_SUCCESS);
    return context;
}

static CUcontext use_device(int ordinal) {
    CUdevice device;
    CUcontext context = NULL;
    assert_int_equal(sp_driver->cuDeviceGet(&device, ordinal), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxSetCurrent(context), CUDA_SUCCESS);
    return context;
}

static void memory_is_got_in_the_context_of_the_device_that_first_uses_it(void **state) {
    (void)state;
    CUcontext second = use_device(1);
    CUstream near = simulated_stream();
    use_device(0);
    poolMemPool_t pool = make(managed(NOWHERE, 0));
    void *block = fixture_malloc(pool, MIB(8), near), *next = fixture_malloc(pool, MIB(8), stream);
    assert_ptr_equal(context_of(block), second);
    assert_ptr_equal(context_of(next), second); // from then on
}

static void memory_ahead_of_need_is_got_in_the_current_context(void **state) {
    (void)state;
    CUcontext second = use_device(1);
    CUstream near = simulated_stream();
    poolMemPool_t pool = make(managed(NOWHERE, 0));
    assert_int_equal(poolMemPoolPrime(pool, MIB(8)), poolSuccess);
    assert_ptr_equal(context_of(fixture_malloc(pool, MIB(8), near)), second);
}

// What was free is gone, and what is live is counted until it is freed.
static void lose(struct poolMemPoolProps props) {
    poolMemPool_t pool = make(props);
    stream = simulated_stream();
    void *live = fixture_malloc(pool, MIB(4), stream);
    keep(pool, MIB(8));
    CUdevice device;
    assert_int_equal(sp_driver->cuDeviceGet(&device, 0), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuDevicePrimaryCtxReset(device), CUDA_SUCCESS);
    use_device(0);
    stream = simulated_stream();
    void *block = fixture_malloc(pool, MIB(8), stream);
    assert_int_equal(sp_driver->cuMemsetD8Async((uintptr_t)block, 1, MIB(8), stream), CUDA_SUCCESS);
    assert_int_equal(fixture_reserved(pool), MIB(12));
    fixture_free(live, stream);
    assert_int_equal(fixture_reserved(pool), MIB(8));
    fixture_free(block, stream);
    fixture_synchronize(stream);
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
}

static void managed_memory_ends_with_its_context(void **state) {
    (void)state;
    lose(managed(HOST, 0));
    lose(managed(ON_DEVICE, 0));
}

static void memory_of_the_host_that_is_not_mapped_ends_with_its_context(void **state) {
    (void)state;
    lose(pinned(HOST, 0));
    lose(staging(HOST, 0));
}

#define TEST(name)  cmocka_unit_test_setup_teardown(name, begin, end)
#define SMALL(name) cmocka_unit_test_setup_teardown(name, begin_small, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(each_node_and_device_is_a_place_of_its_own),
        TEST(memory_for_staging_is_no_mapped_memory),
        TEST(a_node_is_asked_for_no_more_than_it_has),
        TEST(a_node_is_asked_for_what_it_may_get),
        TEST(a_node_that_the_driver_refuses_to_map_has_no_other_memory),
        SMALL(a_node_is_there_on_a_host_that_is_full),
        TEST(memory_of_the_host_that_has_no_granule_is_not_mapped),
        TEST(a_node_that_stands_for_the_host_has_its_own_limits),
        TEST(managed_memory_makes_no_room_for_pinned_memory),
        TEST(the_limits_of_the_host_are_none_of_managed_memory),
        SMALL(what_another_managed_place_keeps_makes_room_for_managed_memory),
        SMALL(what_the_host_keeps_makes_room_for_managed_memory_at_last),
        SMALL(a_refusal_of_managed_memory_counts_the_other_places),
        TEST(what_is_complete_at_another_place_of_the_host_makes_room),
        TEST(memory_is_got_in_the_context_of_the_device_that_first_uses_it),
        TEST(memory_ahead_of_need_is_got_in_the_current_context),
        TEST(managed_memory_ends_with_its_context),
        cmocka_unit_test_setup_teardown(memory_of_the_host_that_is_not_mapped_ends_with_its_context,
                                        begin_unmapped, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
