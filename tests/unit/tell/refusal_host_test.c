// What a refusal says of memory of the host: of a container's limit, and of what the driver, or the
// process, may have.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/resource.h>

#include "unit/fixture/host_root.h"
#include "unit/fixture/refusal.h"

static poolMemPool_t host_pool(enum poolMemLocationType type, size_t max_size) {
    const struct poolMemPoolProps props = {
        .allocType = poolMemAllocationTypePinned, .location = {type, 0}, .maxSize = max_size};
    poolMemPool_t made = NULL;
    assert_int_equal(poolMemPoolCreate(&made, &props), poolSuccess);
    fixture_set(made, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    return made;
}

static void refuses(poolMemPool_t host, size_t size, unsigned int flags) {
    uint64_t reserved = fixture_reserved(host);
    void *pointer = NULL;
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, size, host, a, flags),
                     poolErrorMemoryAllocation);
    assert_null(pointer);
    assert_int_equal(fixture_reserved(host), reserved);
    fixture_check(host);
}

// The group's limit is this, and nothing of it is in use.
static void limit_container(const char *bytes) {
    host_root_write("/proc/self/cgroup", "0::/mine\n");
    host_root_write("/sys/fs/cgroup/mine/memory.max", bytes);
    host_root_write("/sys/fs/cgroup/mine/memory.current", "0\n");
}

static void a_limit_of_the_container_is_named_before_it_is_exceeded(void **state) {
    (void)state;
    poolMemPool_t host = host_pool(poolMemLocationTypeHost, 0);
    limit_container("104857600\n"); // 100 MiB, of which 32 are kept for others
    refuses(host, MIB(80), 0);
    says(
        "the memory limit of the container (cgroup) leaves 68.0 MiB where the pool was to grow by "
        "80.0 MiB");
    says("free on the host 68.0 MiB");
    says("nothing but freeing helps: other pools of the host hold 0 bytes");
    does_not_say("what isn't of any pool"); // which is mostly what the container can't have
    assert_int_equal(fixture_reserved(host), 0);
    void *block = fixture_malloc(host, MIB(60), a);
    fixture_free(block, a);
}

// Memory that isn't mapped counts as well.
static void a_limit_of_the_container_is_named_for_staging_too(void **state) {
    (void)state;
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .location = {poolMemLocationTypeHost, 0},
                                           .usage = poolMemPoolUsageStaging};
    poolMemPool_t staging = NULL;
    assert_int_equal(poolMemPoolCreate(&staging, &props), poolSuccess);
    limit_container("62914560\n"); // 60 MiB
    refuses(staging, MIB(40), 0);
    says(
        "the memory limit of the container (cgroup) leaves 28.0 MiB where the pool was to grow by "
        "40.0 MiB");
    fixture_free(fixture_malloc(staging, MIB(20), a), a);
}

static void a_limit_of_the_container_leaves_memory_of_devices_alone(void **state) {
    (void)state;
    limit_container("1048576\n");
    fixture_free(fixture_malloc(pool, MIB(40), a), a);
}

static void a_full_node_is_named(void **state) {
    (void)state;
    poolMemPool_t node = host_pool(poolMemLocationTypeHostNuma, 0);
    poolMemPool_t host = host_pool(poolMemLocationTypeHost, 0);
    host_root_write("/proc/meminfo", "MemAvailable: 1048576 kB\n");
    host_root_write("/sys/devices/system/node/node0/meminfo", "Node 0 MemFree: 40960 kB\n");
    refuses(node, MIB(24), 0);
    says("the memory of the NUMA node leaves 8.0 MiB where the pool was to grow by 24.0 MiB");
    fixture_free(fixture_malloc(host, MIB(24), a), a);
}

static void a_full_host_is_named(void **state) {
    (void)state;
    poolMemPool_t host = host_pool(poolMemLocationTypeHost, 0);
    host_root_write("/proc/meminfo", "MemAvailable: 40960 kB\n");
    refuses(host, MIB(24), 0);
    says("the memory of the host leaves 8.0 MiB where the pool was to grow by 24.0 MiB");
}

// What other pools of the host keep goes first, whichever place they are at.
static void take_from_caches(enum poolMemLocationType place) {
    poolMemPool_t first = host_pool(poolMemLocationTypeHost, 0);
    poolMemPool_t second = host_pool(place, 0);
    fixture_free(fixture_malloc(first, MIB(64), a), a);
    fixture_synchronize(a);
    assert_true(fixture_reserved(first) >= MIB(64));
    limit_container("20971520\n"); // 20 MiB
    refuses(second, MIB(24), 0);   // for the file says the same
    assert_true(fixture_reserved(first) < MIB(64));
}

static void caches_of_other_pools_of_the_host_go_before_a_refusal(void **state) {
    (void)state;
    take_from_caches(poolMemLocationTypeHost);
}

static void caches_of_the_host_go_before_a_node_refuses(void **state) {
    (void)state;
    take_from_caches(poolMemLocationTypeHostNuma);
}

static void live_memory_of_other_pools_of_the_host_is_told(void **state) {
    (void)state;
    poolMemPool_t first = host_pool(poolMemLocationTypeHost, 0);
    poolMemPool_t second = host_pool(poolMemLocationTypeHost, 0);
    fixture_malloc(first, MIB(64), a);
    limit_container("20971520\n"); // 20 MiB
    refuses(second, MIB(24), 0);
    says("nothing but freeing helps: other pools of the host hold 64.0 MiB");
}

static void live_memory_of_pools_of_the_host_is_told_to_a_node(void **state) {
    (void)state;
    poolMemPool_t first = host_pool(poolMemLocationTypeHost, 0);
    poolMemPool_t second = host_pool(poolMemLocationTypeHostNuma, 0);
    fixture_malloc(first, MIB(64), a);
    limit_container("20971520\n"); // 20 MiB
    refuses(second, MIB(24), 0);
    says("nothing but freeing helps: other pools of the host hold 64.0 MiB");
}

// 32 MiB are kept for others.
static void a_try_that_would_be_refused_again_is_not_advised(void **state) {
    (void)state;
    poolMemPool_t host = host_pool(poolMemLocationTypeHost, 0);
    limit_container("41943040\n"); // 40 MiB
    refuses(host, MIB(24), 0);
    does_not_say("another try may do");
}

static void caches_make_room_for_what_is_kept_for_others(void **state) {
    (void)state;
    poolMemPool_t first = host_pool(poolMemLocationTypeHost, 0);
    poolMemPool_t second = host_pool(poolMemLocationTypeHost, 0);
    fixture_free(fixture_malloc(first, MIB(64), a), a);
    fixture_synchronize(a);
    limit_container("41943040\n"); // 40 MiB
    refuses(second, MIB(24), 0);   // for the file says the same
    assert_true(fixture_reserved(first) < MIB(64));
}

static void the_limit_of_a_pool_of_the_host_is_named(void **state) {
    (void)state;
    poolMemPool_t host = host_pool(poolMemLocationTypeHost, MIB(64));
    fixture_malloc(host, MIB(40), a);
    refuses(host, MIB(40), 0);
    says("to grow by 40.0 MiB would take the pool beyond its limit of 64.0 MiB");
    says("free on the host ");
    refuses(host, MIB(16), poolMallocNoGrowth);
    says("poolMallocNoGrowth forbids to grow by 16.0 MiB");
}

static void what_the_driver_refuses_is_named(void **state) {
    (void)state;
    poolMemPool_t host = host_pool(poolMemLocationTypeHost, 0);
    simcudaFailCall("cuMemCreate", 1, simcudaFaultOnwards, CUDA_ERROR_OUT_OF_MEMORY);
    refuses(host, MIB(24), 0);
    says("cuMemCreate returned CUDA_ERROR_OUT_OF_MEMORY when the pool was to grow by 24.0 MiB");
    names_driver(CUDA_ERROR_OUT_OF_MEMORY, "cuMemCreate");
}

static void what_the_process_may_lock_is_told(void **state) {
    (void)state;
    struct rlimit before, little;
    poolMemPool_t host = host_pool(poolMemLocationTypeHost, 0);
    assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &before), 0);
    little = before;
    little.rlim_cur = before.rlim_max < MIB(1) ? before.rlim_max : MIB(1);
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &little), 0);
    simcudaFailCall("cuMemCreate", 1, simcudaFaultOnwards, CUDA_ERROR_OUT_OF_MEMORY);
    refuses(host, MIB(24), 0);
    says(" (RLIMIT_MEMLOCK lets the process lock ");
    refuse(MIB(24), a, 0); // of the device
    does_not_say("RLIMIT_MEMLOCK");
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &before), 0);
}

// The simulated driver has 64 MiB of the host.
static void the_drivers_own_limit_of_host_memory_is_a_refusal(void **state) {
    (void)state;
    poolMemPool_t host = host_pool(poolMemLocationTypeHost, 0);
    void *first = fixture_malloc(host, MIB(40), a);
    refuses(host, MIB(40), 0);
    says("cuMemCreate returned CUDA_ERROR_OUT_OF_MEMORY when the pool was to grow by 40.0 MiB");
    fixture_free(first, a);
    fixture_synchronize(a);
    fixture_free(fixture_malloc(host, MIB(60), a), a);
    fixture_free(fixture_malloc(pool, MIB(60), a), a);
}

static int begin(void **state) {
    return setup(state) == 0 ? host_root_setup(state) : -1;
}

static int begin_with_little(void **state) {
    if (fixture_begin("host_memory=64M") != 0)
        return -1;
    pool = fixture_pool();
    a = simulated_stream();
    return host_root_setup(state);
}

static int end(void **state) {
    int removed = host_root_teardown(state);
    return fixture_teardown(state) == 0 ? removed : -1;
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_limit_of_the_container_is_named_before_it_is_exceeded),
        TEST(a_limit_of_the_container_is_named_for_staging_too),
        TEST(a_limit_of_the_container_leaves_memory_of_devices_alone),
        TEST(a_full_node_is_named),
        TEST(a_full_host_is_named),
        TEST(caches_of_other_pools_of_the_host_go_before_a_refusal),
        TEST(caches_of_the_host_go_before_a_node_refuses),
        TEST(live_memory_of_other_pools_of_the_host_is_told),
        TEST(live_memory_of_pools_of_the_host_is_told_to_a_node),
        TEST(a_try_that_would_be_refused_again_is_not_advised),
        TEST(caches_make_room_for_what_is_kept_for_others),
        TEST(the_limit_of_a_pool_of_the_host_is_named),
        TEST(what_the_driver_refuses_is_named),
        TEST(what_the_process_may_lock_is_told),
        cmocka_unit_test_setup_teardown(the_drivers_own_limit_of_host_memory_is_a_refusal,
                                        begin_with_little, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
