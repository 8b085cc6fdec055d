// Overflow: a device of 64 MiB, of which the pool has all, and the host beside it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "process/reclaim.h"
#include "tell/tell.h"
#include "unit/fixture/host_root.h"
#include "unit/fixture/pool.h"

#define BLOCK MIB(16)
enum { BLOCKS = 4 };

static poolMemPool_t pool;
static CUstream a, b;
static void *blocks[BLOCKS]; // which fill the device

static int begin(const char *settings) {
    if (host_root_setup(NULL) != 0 || fixture_begin(settings) != 0)
        return -1;
    pool = fixture_pool();
    fixture_set(pool, poolMemPoolAttrHostOverflowMax, MIB(64));
    a = simulated_stream();
    b = simulated_stream();
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = fixture_malloc(pool, BLOCK, a);
    return fixture_reserved(pool) == BLOCKS * BLOCK ? 0 : -1;
}

static int setup(void **state) {
    (void)state;
    return begin("memory=64M");
}

static int setup_two_devices(void **state) {
    (void)state;
    return begin("memory=64M,devices=2,nodes=2");
}

static int setup_without_memory_of_nodes(void **state) {
    (void)state;
    return fixture_begin("host_vmm=missing");
}

static int teardown(void **state) {
    int failed = fixture_teardown(state);
    return host_root_teardown(state) || failed;
}

static uint64_t of_host(void) {
    return fixture_attribute(pool, poolMemPoolStatHostReserved);
}

static uint64_t overflows(void) {
    return fixture_attribute(pool, poolMemPoolStatReuseHost);
}

static bool is_of_host(const void *pointer) {
    struct poolPointerAttributes at;
    assert_int_equal(poolPointerGetAttributes(&at, pointer), poolSuccess);
    assert_int_equal(at.state, poolPointerLive);
    assert_ptr_equal(at.pool, pool);
    return at.device < 0;
}

static void *overflow(size_t size, CUstream stream) {
    uint64_t before = overflows();
    void *block = fixture_malloc(pool, size, stream);
    assert_true(is_of_host(block));
    assert_int_equal(overflows(), before + 1);
    return block;
}

static void refuses(size_t size, unsigned flags, const char *words) {
    void *block = NULL;
    uint64_t before = of_host(), used = fixture_used(pool);
    assert_int_equal(poolMallocAsyncWithFlags(&block, size, pool, a, flags),
                     poolErrorMemoryAllocation);
    if (!strstr(poolGetLastErrorDetail(), words))
        print_error("not said: %s\n in: %s\n", words, poolGetLastErrorDetail());
    assert_non_null(strstr(poolGetLastErrorDetail(), words));
    assert_int_equal(of_host(), before);
    assert_int_equal(fixture_used(pool), used);
    fixture_check(pool);
}

static void use(void *block, size_t size, CUstream stream, uint64_t duration) {
    const simcudaAccess write = {(uintptr_t)block, size, simcudaAccessWrite};
    const simcudaWork work = {.name = "use", .duration = duration, .accesses = &write, .count = 1};
    assert_int_equal(simcudaEnqueue(stream, &work), CUDA_SUCCESS);
}

static void finish(void) {
    simcudaCompleteAll();
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
}

static void leaves_to_the_container(const char *bytes) {
    host_root_write("/proc/self/cgroup", "0::/mine\n");
    host_root_write("/sys/fs/cgroup/mine/memory.max", bytes);
    host_root_write("/sys/fs/cgroup/mine/memory.current", "0\n");
}

// ------------------------------------------------------------------------------------------
// serving

static void a_full_device_overflows_to_memory_that_kernels_and_copies_use(void **state) {
    (void)state;
    char there[64], back[64] = {0};
    memset(there, 'o', sizeof there);
    void *block = overflow(BLOCK, a);
    assert_int_equal(of_host(), BLOCK);
    assert_int_equal(fixture_reserved(pool), BLOCKS * BLOCK);
    assert_int_equal(fixture_used(pool), (BLOCKS + 1) * BLOCK);
    assert_int_equal(simcudaMemoryInUse(0), BLOCKS * BLOCK);
    use(block, BLOCK, a, 1);
    CUdeviceptr at = (uintptr_t)block + BLOCK - sizeof there;
    assert_int_equal(sp_driver->cuMemcpyHtoDAsync(at, there, sizeof there, a), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuMemcpyDtoHAsync(back, at, sizeof back, a), CUDA_SUCCESS);
    fixture_synchronize(a);
    assert_memory_equal(there, back, sizeof there);
    fixture_free(block, a);
    assert_int_equal(fixture_used(pool), BLOCKS * BLOCK);
}

static void nothing_overflows_by_default(void **state) {
    (void)state;
    fixture_set(pool, poolMemPoolAttrHostOverflowMax, 0);
    refuses(BLOCK, 0, "cuMemCreate returned CUDA_ERROR_OUT_OF_MEMORY");
    assert_null(strstr(poolGetLastErrorDetail(), "HostOverflowMax"));
}

static void nothing_is_made_of_the_host_before_a_pool_overflows(void **state) {
    (void)state;
    assert_null(fixture_inside(pool)->overflow);
    assert_int_equal(of_host(), 0);
    overflow(BLOCK, a);
    assert_non_null(fixture_inside(pool)->overflow);
}

static void less_than_a_granule_and_fixed_blocks_do_not_overflow(void **state) {
    (void)state;
    refuses(MIB(2) - 1, 0, "; memory of the host is for no small block;");
    refuses(KIB(1), 0, "; memory of the host is for no small block;");
    refuses(BLOCK, poolMallocFixed, "; memory of the host is for no fixed block;");
    overflow(MIB(2), a);
}

static void without_growth_only_what_is_free_of_the_host_is_taken(void **state) {
    (void)state;
    void *block = NULL;
    refuses(BLOCK, poolMallocNoGrowth, "poolMallocNoGrowth forbids to grow by 16.0 MiB");
    fixture_free(overflow(BLOCK, a), a);
    assert_int_equal(poolMallocAsyncWithFlags(&block, BLOCK, pool, a, poolMallocNoGrowth),
                     poolSuccess);
    assert_true(is_of_host(block));
}

static void a_block_that_the_device_could_never_hold_is_of_the_host(void **state) {
    (void)state;
    fixture_set(pool, poolMemPoolAttrHostOverflowMax, MIB(128));
    void *block = overflow(MIB(96), a);
    use(block, MIB(96), a, 1);
    refuses(MIB(96), 0, "the device has 64.0 MiB in all; HostOverflowMax leaves 32.0 MiB of 128.0");
}

static void a_pool_at_its_limit_overflows_too(void **state) {
    (void)state;
    fixture_trim(pool, 0);
    for (int i = 0; i < BLOCKS; i++)
        fixture_free(blocks[i], a);
    fixture_synchronize(a);
    fixture_trim(pool, 0);
    pool = fixture_pool_of_at_most(MIB(32));
    fixture_set(pool, poolMemPoolAttrHostOverflowMax, BLOCK);
    for (int i = 0; i < 2; i++)
        assert_false(is_of_host(fixture_malloc(pool, BLOCK, a)));
    overflow(BLOCK, a);
    refuses(BLOCK, 0, "beyond its limit of 32.0 MiB; HostOverflowMax leaves 0 bytes of 16.0 MiB");
}

static void memory_that_is_to_be_complete_is_so_of_the_host_too(void **state) {
    (void)state;
    void *block = overflow(BLOCK, a), *other = NULL;
    use(block, BLOCK, a, (uint64_t)1 << 40);
    fixture_free(block, a);
    assert_int_equal(poolMallocAsyncWithFlags(&other, BLOCK, pool, a, poolMallocCompleteOnly),
                     poolSuccess);
    assert_true(is_of_host(other));
    assert_ptr_not_equal(other, block);
    finish();
}

// -------------------------------------------------------------------------------------------
// limits

static void no_more_than_the_maximum_overflows(void **state) {
    (void)state;
    fixture_set(pool, poolMemPoolAttrHostOverflowMax, MIB(24));
    overflow(BLOCK, a);
    refuses(BLOCK, 0, "; HostOverflowMax leaves 8.0 MiB of 24.0 MiB;");
    fixture_set(pool, poolMemPoolAttrHostOverflowMax, MIB(32));
    overflow(BLOCK, a);
    assert_int_equal(of_host(), MIB(32));
    fixture_set(pool, poolMemPoolAttrHostOverflowMax, MIB(16)); // what lies there stays
    assert_int_equal(of_host(), MIB(32));
    refuses(BLOCK, 0, "; HostOverflowMax leaves 0 bytes of 16.0 MiB;");
    fixture_set(pool, poolMemPoolAttrHostOverflowMax, 0);
    refuses(BLOCK, 0, "cuMemCreate");
}

static void a_size_that_cannot_even_be_rounded_is_refused(void **state) {
    (void)state;
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 511, SIZE_MAX - MIB(1), SIZE_MAX / 2 + 1};
    fixture_set(pool, poolMemPoolAttrHostOverflowMax, UINT64_MAX);
    uint64_t used = fixture_used(pool);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *pointer = NULL;
        assert_int_equal(poolMallocFromPoolAsync(&pointer, sizes[i], pool, a),
                         poolErrorMemoryAllocation);
        assert_null(pointer);
    }
    assert_int_equal(fixture_used(pool), used);
    assert_int_equal(of_host(), 0);
}

static void a_limit_of_the_container_is_an_error_before_it_is_exceeded(void **state) {
    (void)state;
    leaves_to_the_container("54525952\n"); // 52 MiB, of which 32 are kept for others
    void *block = overflow(BLOCK, a);
    leaves_to_the_container("37748736\n"); // 36 MiB
    refuses(BLOCK, 0,
            "; the memory limit of the container (cgroup) leaves 4.0 MiB of the host to overflow "
            "to;");
    fixture_free(block, a);
}

static void a_driver_that_has_no_more_of_the_host_is_named(void **state) {
    (void)state;
    overflow(BLOCK, a);
    assert_int_equal(
        simcudaFailCall("cuMemCreate", 1, simcudaFaultOnwards, CUDA_ERROR_OUT_OF_MEMORY),
        CUDA_SUCCESS);
    refuses(BLOCK, 0,
            "; the driver has no memory of the host to overflow to either (cuMemCreate);");
    simcudaFailClear();
    overflow(BLOCK, a);
}

static void fail_from_now_on(const char *call, int error) {
    assert_int_equal(simcudaFailCall(call, 1, simcudaFaultOnwards, error), CUDA_SUCCESS);
}

// Such an allocation was refused for want of memory before there was any overflow.
static void a_driver_that_refuses_the_hosts_memory_leaves_a_lack_of_memory(void **state) {
    (void)state;
    fail_from_now_on("cuMemCreate", CUDA_ERROR_OUT_OF_MEMORY);
    fail_from_now_on("cuDeviceGetAttribute", CUDA_ERROR_OPERATING_SYSTEM);
    refuses(BLOCK, 0, "; nothing overflows to the host: looking for the host's memory beside");
    simcudaFailClear();
    overflow(BLOCK, a);
    fail_from_now_on("cuMemSetAccess", CUDA_ERROR_NOT_SUPPORTED);
    refuses(BLOCK, 0,
            "; the driver has no memory of the host to overflow to either (cuMemSetAccess);");
    simcudaFailClear();
    fail_from_now_on("cuMemMap", CUDA_ERROR_INVALID_VALUE);
    void *block = NULL;
    assert_int_equal(poolMallocFromPoolAsync(&block, BLOCK, pool, a), poolErrorInvalidValue);
}

// -------------------------------------------------------------------------------------- used last

static void what_was_freed_is_had_of_the_device_where_that_has_room(void **state) {
    (void)state;
    void *block = overflow(BLOCK, a);
    fixture_free(block, a);
    fixture_free(blocks[1], a);
    void *moved = fixture_malloc(pool, BLOCK, a);
    assert_ptr_equal(moved, blocks[1]);
    assert_int_equal(overflows(), 1);
    assert_ptr_equal(overflow(BLOCK, a), block);
    assert_int_equal(of_host(), BLOCK);
}

// A stream has its own memory at hand, and that of the device alone.
static void memory_of_the_host_is_not_at_hand(void **state) {
    (void)state;
    void *block = overflow(BLOCK, a);
    for (int round = 0; round < 3; round++) {
        fixture_free(block, a);
        fixture_free(blocks[0], a);
        blocks[0] = fixture_malloc(pool, BLOCK, a);
        assert_false(is_of_host(blocks[0]));
        assert_ptr_equal(overflow(BLOCK, a), block);
    }
}

// A wait for the device comes before the host.
static void pending_memory_of_the_device_is_waited_for_first(void **state) {
    (void)state;
    simulated_work(b);
    fixture_free(blocks[0], b);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, a), blocks[0]);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseMadeOrdered), 1);
    assert_int_equal(overflows(), 0);
}

static void it_is_had_again_by_the_order_of_streams(void **state) {
    (void)state;
    void *block = overflow(BLOCK, a);
    use(block, BLOCK, a, (uint64_t)1 << 40);
    fixture_free(block, a);
    fixture_order(b, a);
    void *again = overflow(BLOCK, b);
    assert_ptr_equal(again, block);
    use(again, BLOCK, b, 1); // the simulated driver would report a race
    fixture_free(again, b);
    finish();
}

static void it_is_not_had_while_another_stream_uses_it(void **state) {
    (void)state;
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    void *block = overflow(BLOCK, a);
    use(block, BLOCK, a, (uint64_t)1 << 40);
    fixture_free(block, a);
    void *other = overflow(BLOCK, b);
    assert_ptr_not_equal(other, block);
    use(other, BLOCK, b, 1);
    fixture_free(other, b);
    finish();
}

static void a_stream_waits_for_it_at_the_maximum(void **state) {
    (void)state;
    fixture_set(pool, poolMemPoolAttrHostOverflowMax, BLOCK);
    void *block = overflow(BLOCK, a);
    use(block, BLOCK, a, (uint64_t)1 << 40);
    fixture_free(block, a);
    void *again = overflow(BLOCK, b);
    assert_ptr_equal(again, block);
    use(again, BLOCK, b, 1);
    fixture_free(again, b);
    finish();
}

// ------------------------------------------------------------------------------- given back first

static void a_trim_gives_the_hosts_memory_back_first(void **state) {
    (void)state;
    void *block = overflow(BLOCK, a), *other = overflow(BLOCK, a);
    fixture_free(block, a);
    fixture_free(blocks[0], a);
    fixture_trim(pool, BLOCKS * BLOCK);
    assert_int_equal(of_host(), BLOCK); // what is live
    assert_int_equal(fixture_reserved(pool), BLOCKS * BLOCK);
    fixture_free(other, a);
    fixture_trim(pool, 0);
    assert_int_equal(of_host(), 0);
    assert_int_equal(fixture_reserved(pool), (BLOCKS - 1) * BLOCK);
}

// The pool's threshold, which keeps all, is for memory of the device.
static void a_synchronise_gives_it_back_whatever_the_threshold(void **state) {
    (void)state;
    fixture_free(overflow(BLOCK, a), a);
    fixture_free(blocks[0], a);
    fixture_synchronize(a);
    assert_int_equal(of_host(), 0);
    assert_int_equal(fixture_reserved(pool), BLOCKS * BLOCK);
}

static void another_pool_of_the_host_gets_what_is_free_of_it(void **state) {
    (void)state;
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .location = {poolMemLocationTypeHost, 0}};
    poolMemPool_t host = NULL;
    assert_int_equal(poolMemPoolCreate(&host, &props), poolSuccess);
    fixture_free(overflow(BLOCK, a), a);
    leaves_to_the_container("41943040\n"); // 40 MiB, of which 8 are for the process
    void *block = NULL;
    (void)poolMallocFromPoolAsync(&block, BLOCK, host, a); // the file says the same afterwards
    assert_int_equal(of_host(), 0);
}

// -------------------------------------------------------------------------- lives, access, figures

static void a_pool_is_destroyed_with_memory_of_the_host_in_use(void **state) {
    (void)state;
    void *block = overflow(BLOCK, a), *other = overflow(BLOCK, a);
    const struct sp_pool *host = fixture_inside(pool)->overflow;
    struct poolPointerAttributes at;
    fixture_free(other, a);
    for (int i = 0; i < BLOCKS; i++)
        fixture_free(blocks[i], a);
    fixture_synchronize(a);
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    assert_int_equal(poolPointerGetAttributes(&at, block), poolSuccess);
    assert_int_equal(at.state, poolPointerLive);
    assert_null(at.pool);
    assert_int_equal(host->stage, SP_POOL_GIVEN_UP);
    use(block, BLOCK, a, 1);
    fixture_free(block, a);
    fixture_synchronize(a);
    assert_int_equal(host->stage, SP_POOL_SPARE);
    simcudaLive live;
    simcudaGetLive(&live);
    assert_int_equal(live.handles, 0);
    assert_int_equal(live.mappings, 0);
}

static void a_pool_is_destroyed_with_memory_of_the_device_in_use(void **state) {
    (void)state;
    fixture_free(overflow(BLOCK, a), a);
    const struct sp_pool *host = fixture_inside(pool)->overflow;
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    assert_int_equal(host->stage, SP_POOL_SPARE);
    simcudaLive live;
    simcudaGetLive(&live);
    assert_int_equal(live.extents, BLOCKS);
    for (int i = 0; i < BLOCKS; i++)
        fixture_free(blocks[i], a);
    fixture_synchronize(a);
    simcudaGetLive(&live);
    assert_int_equal(live.extents, 0);
}

static void a_struct_that_is_used_again_has_no_overflow(void **state) {
    (void)state;
    fixture_free(overflow(BLOCK, a), a);
    for (int i = 0; i < BLOCKS; i++)
        fixture_free(blocks[i], a);
    fixture_synchronize(a);
    const struct sp_pool *before = fixture_inside(pool);
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    pool = fixture_pool();
    assert_ptr_equal(fixture_inside(pool), before);
    assert_null(before->overflow);
    assert_int_equal(of_host(), 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrHostOverflowMax), 0);
}

static unsigned long long access_of(const void *block, int device) {
    unsigned long long flags = 77;
    const CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    assert_int_equal(sp_driver->cuMemGetAccess(&flags, &location, (uintptr_t)block), CUDA_SUCCESS);
    return flags;
}

static void let_in(enum poolMemAccessFlags flags) {
    const struct poolMemAccessDesc peer = {{poolMemLocationTypeDevice, 1}, flags};
    assert_int_equal(poolMemPoolSetAccess(pool, &peer, 1), poolSuccess);
}

static void other_devices_reach_it_as_the_rest_of_the_pool(void **state) {
    (void)state;
    let_in(poolMemAccessFlagsProtReadWrite);
    void *block = overflow(BLOCK, a);
    assert_int_equal(access_of(block, 0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    assert_int_equal(access_of(block, 1), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    let_in(poolMemAccessFlagsProtNone);
    assert_int_equal(access_of(blocks[0], 1), CU_MEM_ACCESS_FLAGS_PROT_NONE);
    assert_int_equal(access_of(block, 1), CU_MEM_ACCESS_FLAGS_PROT_NONE);
    assert_int_equal(access_of(block, 0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    let_in(poolMemAccessFlagsProtReadWrite);
    assert_int_equal(access_of(overflow(BLOCK, a), 1), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

// The call on the overflow's mapping is the last one.
static void an_access_that_the_driver_refuses_changes_neither(void **state) {
    (void)state;
    const struct poolMemAccessDesc peer = {{poolMemLocationTypeDevice, 1},
                                           poolMemAccessFlagsProtReadWrite};
    void *block = overflow(BLOCK, a);
    assert_int_equal(
        simcudaFailCall("cuMemSetAccess", BLOCKS + 1, simcudaFaultOnce, CUDA_ERROR_INVALID_VALUE),
        CUDA_SUCCESS);
    assert_int_not_equal(poolMemPoolSetAccess(pool, &peer, 1), poolSuccess);
    assert_int_equal(simcudaFailCount(), 1);
    assert_int_equal(access_of(blocks[0], 1), CU_MEM_ACCESS_FLAGS_PROT_NONE);
    assert_int_equal(access_of(block, 1), CU_MEM_ACCESS_FLAGS_PROT_NONE);
}

static void policies_hold_for_it_too(void **state) {
    (void)state;
    fixture_set_flag(pool, poolMemPoolReuseFollowEventDependencies, 0);
    overflow(BLOCK, a);
    const struct sp_pool *host = fixture_inside(pool)->overflow;
    assert_false(sp_pool_policy(host, poolMemPoolReuseFollowEventDependencies));
    assert_true(sp_pool_policy(host, poolMemPoolReuseAllowOpportunistic));
    fixture_set_flag(pool, poolMemPoolReuseAllowOpportunistic, 0);
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    fixture_set(pool, poolMemPoolAttrHostWaitMax, 1000);
    assert_false(sp_pool_policy(host, poolMemPoolReuseAllowOpportunistic));
    assert_true(sp_pool_is_deterministic(host));
    assert_int_equal(host->attributes.unfenced_max, 0);
    assert_int_equal(host->attributes.host_wait_max, 0);
    assert_int_equal(host->attributes.release_threshold, 0);
}

static void high_figures_have_it_and_are_reset_with_it(void **state) {
    (void)state;
    void *block = overflow(BLOCK, a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrUsedMemHigh), (BLOCKS + 1) * BLOCK);
    fixture_free(block, a);
    fixture_set(pool, poolMemPoolAttrUsedMemHigh, 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrUsedMemHigh), BLOCKS * BLOCK);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrReservedMemHigh), BLOCKS * BLOCK);
}

static unsigned told;
static uint64_t told_used, told_of_host;

static void note(const struct sp_tell_pool *pool_told, void *data) {
    (void)data;
    told++;
    told_used = pool_told->used;
    told_of_host = pool_told->figures[SP_TELL_HostReserved];
}

static void it_is_told_of_as_a_part_of_its_pool(void **state) {
    (void)state;
    overflow(BLOCK, a);
    told = 0;
    assert_true(sp_tell_visit(SP_TELL_GAUGES, note, NULL));
    assert_int_equal(told, 1);
    assert_int_equal(told_used, (BLOCKS + 1) * BLOCK);
    assert_int_equal(told_of_host, BLOCK);
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .location = {poolMemLocationTypeDevice, 0}};
    poolMemPool_t next = NULL; // which has the number behind that of the pool
    char before[STREAMPOOL_NAME_BYTES], name[STREAMPOOL_NAME_BYTES];
    assert_int_equal(poolMemPoolGetName(pool, before, sizeof before), poolSuccess);
    assert_int_equal(poolMemPoolCreate(&next, &props), poolSuccess);
    assert_int_equal(poolMemPoolGetName(next, name, sizeof name), poolSuccess);
    assert_int_equal(strtol(name + 5, NULL, 10), strtol(before + 5, NULL, 10) + 1);
}

static unsigned growths;

static void observe(const struct poolMemPoolGrowth *growth, void *user) {
    (void)growth, (void)user;
    growths++;
}

// It raises nothing that is reserved of the device.
static void no_growth_is_told_of(void **state) {
    (void)state;
    growths = 0;
    uint64_t before = fixture_attribute(pool, poolMemPoolStatGrowths);
    assert_int_equal(poolMemPoolSetGrowthObserver(pool, observe, NULL), poolSuccess);
    overflow(BLOCK, a);
    assert_int_equal(growths, 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatGrowths), before);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatFailures), 0);
}

// ------------------------------------------------------------------------------------------ faults

// Each driver call of an overflow fails in turn: it is refused then, with nothing left, or the call
// can be done without. Then it succeeds.
static void each_failure_of_the_driver_leaves_nothing(void **state) {
    (void)state;
    static const char *const calls[] = {
        "cuDeviceGet",         "cuDeviceGetAttribute", "cuMemGetAllocationGranularity",
        "cuMemAddressReserve", "cuMemCreate",          "cuMemMap",
        "cuMemSetAccess"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        for (unsigned n = 1; n < 12; n++) {
            void *block = NULL;
            assert_int_equal(
                simcudaFailCall(calls[i], n, simcudaFaultOnce, CUDA_ERROR_OPERATING_SYSTEM),
                CUDA_SUCCESS);
            poolError_t error = poolMallocFromPoolAsync(&block, BLOCK, pool, a);
            bool failed = simcudaFailCount() > 0;
            simcudaFailClear();
            fixture_check(pool);
            if (error != poolSuccess) {
                assert_true(failed);
                assert_true(*poolGetLastErrorDetail());
                assert_int_equal(of_host(), 0);
                assert_int_equal(fixture_used(pool), BLOCKS * BLOCK);
                continue;
            }
            fixture_free(block, a);
            fixture_synchronize(a);
        }
        overflow(BLOCK, a);
        fixture_synchronize(a);
        teardown(state);
        assert_int_equal(setup(state), 0);
    }
}

// -------------------------------------------------------------------------------- who has it at
// all

static void cannot(poolMemPool_t which, const char *why) {
    uint64_t most = 1;
    assert_int_equal(poolMemPoolSetAttribute(which, poolMemPoolAttrHostOverflowMax, &most),
                     poolErrorNotSupported);
    assert_non_null(strstr(poolGetLastErrorDetail(), why));
    fixture_set(which, poolMemPoolAttrHostOverflowMax, 0);
}

static void pools_of_other_places_and_exported_ones_do_not_overflow(void **state) {
    (void)state;
    struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                     .location = {poolMemLocationTypeHost, 0}};
    poolMemPool_t made = NULL;
    assert_int_equal(poolMemPoolCreate(&made, &props), poolSuccess);
    cannot(made, "only pools of devices");
    props.allocType = poolMemAllocationTypeManaged;
    props.location.type = poolMemLocationTypeDevice;
    assert_int_equal(poolMemPoolCreate(&made, &props), poolSuccess);
    cannot(made, "only pools of devices");
    props.allocType = poolMemAllocationTypePinned;
    props.handleTypes = poolMemHandleTypePosixFileDescriptor;
    assert_int_equal(poolMemPoolCreate(&made, &props), poolSuccess);
    cannot(made, "exported");
}

static void a_driver_that_maps_no_memory_of_nodes_has_none(void **state) {
    (void)state;
    pool = fixture_pool();
    cannot(pool, "the driver maps no memory of the host");
}

static int setup_plain(void **state) {
    (void)state;
    return fixture_begin("vmm=missing");
}

#define TEST(function)                  cmocka_unit_test_setup_teardown(function, setup, teardown)
#define TEST_IN(function, begins, ends) cmocka_unit_test_setup_teardown(function, begins, ends)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_full_device_overflows_to_memory_that_kernels_and_copies_use),
        TEST(nothing_overflows_by_default),
        TEST(nothing_is_made_of_the_host_before_a_pool_overflows),
        TEST(less_than_a_granule_and_fixed_blocks_do_not_overflow),
        TEST(without_growth_only_what_is_free_of_the_host_is_taken),
        TEST(a_block_that_the_device_could_never_hold_is_of_the_host),
        TEST(a_pool_at_its_limit_overflows_too),
        TEST(memory_that_is_to_be_complete_is_so_of_the_host_too),
        TEST(no_more_than_the_maximum_overflows),
        TEST(a_size_that_cannot_even_be_rounded_is_refused),
        TEST(a_limit_of_the_container_is_an_error_before_it_is_exceeded),
        TEST(a_driver_that_has_no_more_of_the_host_is_named),
        TEST(a_driver_that_refuses_the_hosts_memory_leaves_a_lack_of_memory),
        TEST(what_was_freed_is_had_of_the_device_where_that_has_room),
        TEST(memory_of_the_host_is_not_at_hand),
        TEST(pending_memory_of_the_device_is_waited_for_first),
        TEST(it_is_had_again_by_the_order_of_streams),
        TEST(it_is_not_had_while_another_stream_uses_it),
        TEST(a_stream_waits_for_it_at_the_maximum),
        TEST(a_trim_gives_the_hosts_memory_back_first),
        TEST(a_synchronise_gives_it_back_whatever_the_threshold),
        TEST(another_pool_of_the_host_gets_what_is_free_of_it),
        TEST(a_pool_is_destroyed_with_memory_of_the_host_in_use),
        TEST(a_pool_is_destroyed_with_memory_of_the_device_in_use),
        TEST(a_struct_that_is_used_again_has_no_overflow),
        TEST_IN(other_devices_reach_it_as_the_rest_of_the_pool, setup_two_devices, teardown),
        TEST_IN(an_access_that_the_driver_refuses_changes_neither, setup_two_devices, teardown),
        TEST(policies_hold_for_it_too),
        TEST(high_figures_have_it_and_are_reset_with_it),
        TEST(it_is_told_of_as_a_part_of_its_pool),
        TEST(no_growth_is_told_of),
        TEST(each_failure_of_the_driver_leaves_nothing),
        TEST(pools_of_other_places_and_exported_ones_do_not_overflow),
        TEST_IN(a_driver_that_maps_no_memory_of_nodes_has_none, setup_without_memory_of_nodes,
                fixture_teardown),
        TEST_IN(a_driver_that_maps_no_memory_of_nodes_has_none, setup_plain, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
