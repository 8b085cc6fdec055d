// What a refusal says of limits, of the device, of other pools and of the host's memory.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/host_memory.h"
#include "order/context.h"
#include "supply/growth.h"
#include "unit/fixture/refusal.h"

static void at_the_limit_the_detail_names_it_and_what_is_missing(void **state) {
    (void)state;
    fixture_malloc(pool, MIB(40), a);
    refuse(MIB(40), a, 0);
    says(
        "no room for 41943040 bytes (40.0 MiB): to grow by 40.0 MiB would take the pool beyond "
        "its "
        "limit of 64.0 MiB; in use 40.0 MiB of 40.0 MiB reserved, free here 0 bytes (largest "
        "piece 0 "
        "bytes), pending 0 bytes, unfenced 0 bytes, pinned in pieces 0 bytes, free on the "
        "device 16");
    advises("a pool with a maxSize that is larger by 16.0 MiB has room for it");
    names_driver(CUDA_SUCCESS, "");
}

// What is free beside a hole saves some growth.
static void free_memory_in_front_of_the_growth_is_counted(void **state) {
    (void)state;
    fixture_malloc(pool, MIB(40), a);
    void *freed = fixture_malloc(pool, MIB(16), a);
    fixture_free(freed, a);
    fixture_synchronize(a);
    refuse(MIB(20), a, poolMallocNoGrowth);
    says("poolMallocNoGrowth forbids to grow by 4.0 MiB;");
    says("in use 40.0 MiB of 56.0 MiB reserved, free here 16.0 MiB (largest piece 16.0 MiB)");
}

static void of_a_full_device_the_detail_says_who_has_it(void **state) {
    (void)state;
    poolMemPool_t first = fixture_pool();
    poolMemPool_t second = fixture_pool();
    CUdeviceptr others = 0;
    void *pointer = NULL;
    fixture_malloc(first, GIB(8), a);
    assert_int_equal(sp_driver->cuMemAlloc(&others, GIB(4)), CUDA_SUCCESS);
    fixture_malloc(second, GIB(3), a);
    size_t free_bytes = sp_context_free_memory(simulated_context());
    poolError_t error = poolMallocFromPoolAsync(&pointer, GIB(2), second, a);
    assert_int_equal(error, poolErrorMemoryAllocation);
    says(
        "cuMemCreate returned CUDA_ERROR_OUT_OF_MEMORY when the pool was to grow by 2048.0 MiB; "
        "in use "
        "3072.0 MiB of 3072.0 MiB reserved");
    says(
        "free on the device %.1f MiB; nothing but freeing helps: other pools of the device hold "
        "8192.0 "
        "MiB, and what isn't of any pool %.1f MiB",
        (double)free_bytes / MIB(1), (double)(GIB(16) - free_bytes - GIB(11)) / MIB(1));
    names_driver(CUDA_ERROR_OUT_OF_MEMORY, "cuMemCreate");
    sp_driver->cuMemFree(others);
}

static void where_the_device_has_enough_again_the_detail_says_so(void **state) {
    (void)state;
    simcudaFailCall("cuMemCreate", 1, simcudaFaultOnwards, CUDA_ERROR_OUT_OF_MEMORY);
    refuse(MIB(8), a, 0);
    advises("the device has enough free for that by now: another try may do");
    names_driver(CUDA_ERROR_OUT_OF_MEMORY, "cuMemCreate");
}

// The ladder asks on, and the answers are errors too: they don't hide why the growth failed.
static void a_later_answer_of_the_driver_does_not_hide_the_full_device(void **state) {
    (void)state;
    fixture_free(fixture_malloc(pool, MIB(16), a), a);
    simulated_work(b);
    fixture_free(fixture_malloc(pool, MIB(16), b), b);
    simcudaFailCall("cuMemCreate", 1, simcudaFaultOnwards, CUDA_ERROR_OUT_OF_MEMORY);
    simulated_work(a);
    refuse(MIB(40), a, 0);
    says("cuMemCreate returned");
    names_driver(CUDA_ERROR_OUT_OF_MEMORY, "cuMemCreate");
}

static void what_else_the_driver_lacks_is_not_called_a_full_device(void **state) {
    (void)state;
    simcudaFailCall("cuMemSetAccess", 1, simcudaFaultOnwards, CUDA_ERROR_OUT_OF_MEMORY);
    refuse(MIB(8), a, 0);
    says("cuMemSetAccess returned CUDA_ERROR_OUT_OF_MEMORY");
    advises("the driver lacks memory for its own ends: poolMemPoolTrimTo gives some back");
    names_driver(CUDA_ERROR_OUT_OF_MEMORY, "cuMemSetAccess");
}

static void a_request_that_may_not_grow_says_by_how_much_it_would(void **state) {
    (void)state;
    fixture_malloc(pool, MIB(8), a);
    refuse(MIB(9) + 100, a, poolMallocNoGrowth);
    says(
        "no room for 9437284 bytes (9.0 MiB): poolMallocNoGrowth forbids to grow by 10.0 MiB; "
        "in use 8.0 "
        "MiB of 8.0 MiB reserved");
    advises("poolMemPoolPrime takes memory from the device ahead of need");
    does_not_say("host memory");
    names_driver(CUDA_SUCCESS, "");
}

static void a_small_request_names_its_bytes(void **state) {
    (void)state;
    refuse(100, a, poolMallocNoGrowth);
    says(
        "no room for 100 bytes: poolMallocNoGrowth forbids to grow by 2.0 MiB; in use 0 bytes "
        "of 0 bytes");
}

// Blocks of one class in a slab, of which one stays.
static void what_lies_idle_in_slabs_is_told(void **state) {
    (void)state;
    enum { SMALL = 128 };
    void *small[SMALL];
    for (int i = 0; i < SMALL; i++)
        small[i] = fixture_malloc(pool, KIB(16), a);
    refuse(MIB(1), a, poolMallocNoGrowth);
    does_not_say("idle in slabs");
    for (int i = 1; i < SMALL; i++)
        if (i % 4 != 0)
            fixture_free(small[i], a);
    refuse(MIB(1), a, poolMallocNoGrowth);
    says("idle in slabs 1.5 MiB");
    for (int i = 0; i < SMALL; i += 4)
        fixture_free(small[i], a);
}

// ---------------------------------------------------------------------------------- other pools

static void refuse_8_gib(poolMemPool_t from) {
    void *pointer = NULL;
    poolError_t error = poolMallocFromPoolAsync(&pointer, GIB(8), from, b);
    assert_int_equal(error, poolErrorMemoryAllocation);
}

// All but 4 GiB of the device, free in another pool, behind work of a stream.
static poolMemPool_t leave_most_to_another_pool(size_t unfenced_max) {
    poolMemPool_t first = fixture_pool();
    void *freed = fixture_malloc(first, GIB(12), a);
    fixture_set(first, poolMemPoolAttrUnfencedBytesMax, unfenced_max);
    simulated_work(a);
    fixture_free(freed, a);
    return fixture_pool();
}

static void another_pools_unfenced_memory_is_told(void **state) {
    (void)state;
    poolMemPool_t second = leave_most_to_another_pool(GIB(32));
    refuse_8_gib(second);
    advises(
        "other pools of the device hold 12288.0 MiB that are free and may still be in use: "
        "poolDeviceSynchronize makes it available");
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    fixture_malloc(second, GIB(8), b); // as it was said
}

static void another_pools_pending_memory_is_told_and_that_the_host_could_wait(void **state) {
    (void)state;
    poolMemPool_t second = leave_most_to_another_pool(0);
    refuse_8_gib(second);
    advises(
        "other pools of the device hold 12288.0 MiB that are free and may still be in use: "
        "poolDeviceSynchronize makes it available, or HostWaitMax lets an allocation wait for it");
    fixture_set_flag(second, poolMemPoolAttrDeterministic, 1); // which never waits
    refuse_8_gib(second);
    does_not_say("HostWaitMax");
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    fixture_malloc(second, GIB(8), b); // as it was said
}

// No event stands behind it, but the legacy stream tells of blocking streams.
static void that_the_host_could_wait_for_another_pools_blocking_stream_is_told(void **state) {
    (void)state;
    poolMemPool_t first = fixture_pool();
    poolMemPool_t second = fixture_pool();
    CUstream c = simulated_blocking_stream();
    void *freed = fixture_malloc(first, GIB(12), c);
    fixture_set(first, poolMemPoolAttrUnfencedBytesMax, GIB(32));
    simulated_work(c);
    fixture_free(freed, c);
    refuse_8_gib(second);
    advises(
        "other pools of the device hold 12288.0 MiB that are free and may still be in use: "
        "poolDeviceSynchronize makes it available, or HostWaitMax lets an allocation wait for it");
    simulated_finish(c);
    fixture_malloc(second, GIB(8), b); // which is what it would wait for
}

// The legacy stream of the current context tells of it, of whichever pool it is.
static void what_another_pool_has_in_the_current_context_is_given_back(void **state) {
    (void)state;
    poolMemPool_t first = fixture_pool();
    poolMemPool_t second = fixture_pool();
    CUcontext other;
    assert_int_equal(sp_driver->cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
    fixture_set(first, poolMemPoolAttrUnfencedBytesMax, GIB(32));
    fixture_set(first, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    CUstream c = simulated_blocking_stream();
    simulated_work(c);
    fixture_free(fixture_malloc(first, GIB(12), c), c);
    refuse_8_gib(second);
    simulated_finish(c);
    fixture_malloc(second, GIB(8), b);
    simulated_destroy(c);
    assert_int_equal(sp_driver->cuCtxDestroy(other), CUDA_SUCCESS);
}

// Half of each of its extents is in use.
static void hold_half_of_12_gib(poolMemPool_t holder) {
    enum { COUNT = GIB(12) / (SP_EXTENT_MAX / 2) };
    void *parts[COUNT];
    fixture_free(fixture_malloc(holder, GIB(12), a), a);
    fixture_synchronize(a);
    for (int i = 0; i < COUNT; i++)
        parts[i] = fixture_malloc(holder, SP_EXTENT_MAX / 2, a);
    for (int i = 0; i < COUNT; i += 2)
        fixture_free(parts[i], a);
    fixture_synchronize(a);
}

static void another_pools_pieces_are_no_help(void **state) {
    (void)state;
    poolMemPool_t first = fixture_pool();
    poolMemPool_t second = fixture_pool();
    hold_half_of_12_gib(first);
    refuse_8_gib(second);
    says(
        "nothing but freeing helps: other pools of the device hold 12288.0 MiB (6144.0 MiB of it "
        "free)");
}

// Of 12 GiB that a pool has, 1.75 are free at the end, where an extent ends in what is in use.
// Another pool has the other 4, of which it keeps 1 that is free.
static void another_pools_free_memory_is_told(bool is_idle, const char *advice) {
    poolMemPool_t first = fixture_pool(), second = fixture_pool();
    fixture_set(first, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    fixture_set(second, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    fixture_free(fixture_malloc(first, GIB(12), b), b);
    fixture_synchronize(b);
    fixture_malloc(first, GIB(10) + MIB(256), b);
    fixture_malloc(second, GIB(3), b);
    void *freed = fixture_malloc(second, GIB(1), a);
    if (!is_idle)
        simulated_work(a);
    fixture_free(freed, a);
    if (is_idle)
        fixture_synchronize(a);
    void *pointer = NULL;
    assert_int_equal(poolMallocFromPoolAsync(&pointer, GIB(3) - MIB(256), first, b),
                     poolErrorMemoryAllocation);
    advises(advice);
    if (!is_idle)
        assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    fixture_trim(second, 0);
    fixture_malloc(first, GIB(3) - MIB(256), b); // as it was said
}

static void another_pools_idle_memory_is_told_where_a_growth_lacks_little(void **state) {
    (void)state;
    another_pools_free_memory_is_told(
        true, "poolMemPoolTrimTo of other pools of the device gives back what is missing");
}

static void so_is_pending_memory(void **state) {
    (void)state;
    another_pools_free_memory_is_told(
        false,
        "poolMemPoolTrimTo of other pools of the device gives back what is missing after "
        "poolDeviceSynchronize");
}

// It may not grow, but could once the other pool has given back what it has.
static void growth_is_advised_after_a_synchronise(void **state) {
    (void)state;
    void *pointer = NULL;
    poolMemPool_t second = leave_most_to_another_pool(0);
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, GIB(8), second, b, poolMallocNoGrowth),
                     poolErrorMemoryAllocation);
    advises("without poolMallocNoGrowth the pool could grow after poolDeviceSynchronize");
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    fixture_malloc(second, GIB(8), b); // as it was said
}

// --------------------------------------------------------------------------- the host's memory

static void without_host_memory_the_device_is_not_called_full(void **state) {
    (void)state;
    const size_t sizes[] = {100, MIB(1)};
    fixture_lane(pool, a);
    for (int i = 0; i < 2; i++) {
        uint64_t failed = 0;
        void *pointer = NULL;
        host_memory_enter(1, true);
        poolError_t error = poolMallocFromPoolAsync(&pointer, sizes[i], pool, a);
        host_memory_leave(&failed);
        assert_true(failed > 0);
        assert_int_equal(error, poolErrorMemoryAllocation);
        says("out of host memory; in use 0 bytes of 0 bytes reserved");
        does_not_say("CUDA_ERROR");
        advises("it is the host that has no memory left, and not the device");
        names_driver(CUDA_SUCCESS, "");
    }
    fixture_check(pool);
}

// A driver's error of earlier in the call isn't taken for the reason.
static void a_growth_that_lacked_host_memory_at_last_is_told_so(void **state) {
    (void)state;
    uint64_t failed = 0;
    void *pointer = NULL;
    fixture_malloc(pool, MIB(4), a);
    fixture_free(fixture_malloc(pool, MIB(16), a), a);
    fixture_synchronize(a);
    simcudaFailCall("cuMemCreate", 1, simcudaFaultOnce, CUDA_ERROR_OUT_OF_MEMORY);
    host_memory_enter(1, true);
    poolError_t error = poolMallocFromPoolAsync(&pointer, MIB(44), pool, a);
    host_memory_leave(&failed);
    simcudaFailClear();
    assert_int_equal(error, poolErrorMemoryAllocation);
    says("out of host memory");
    names_driver(CUDA_SUCCESS, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(at_the_limit_the_detail_names_it_and_what_is_missing),
        TEST(free_memory_in_front_of_the_growth_is_counted),
        TEST(of_a_full_device_the_detail_says_who_has_it),
        TEST(where_the_device_has_enough_again_the_detail_says_so),
        TEST(a_later_answer_of_the_driver_does_not_hide_the_full_device),
        TEST(what_else_the_driver_lacks_is_not_called_a_full_device),
        TEST(a_request_that_may_not_grow_says_by_how_much_it_would),
        TEST(a_small_request_names_its_bytes),
        TEST(another_pools_unfenced_memory_is_told),
        TEST(another_pools_pending_memory_is_told_and_that_the_host_could_wait),
        TEST(that_the_host_could_wait_for_another_pools_blocking_stream_is_told),
        TEST(what_another_pool_has_in_the_current_context_is_given_back),
        TEST(what_lies_idle_in_slabs_is_told),
        TEST(another_pools_pieces_are_no_help),
        TEST(another_pools_idle_memory_is_told_where_a_growth_lacks_little),
        TEST(so_is_pending_memory),
        TEST(growth_is_advised_after_a_synchronise),
        TEST(without_host_memory_the_device_is_not_called_full),
        TEST(a_growth_that_lacked_host_memory_at_last_is_told_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
