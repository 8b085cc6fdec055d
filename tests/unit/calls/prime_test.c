#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "inside/worker.h"
#include "supply/defer.h"
#include "supply/growth.h"
#include "unit/fixture/pool.h"

enum { MAX_BLOCKS = 4096 };

static void *blocks[MAX_BLOCKS];

static void prime(poolMemPool_t pool, size_t bytes) {
    assert_int_equal(poolMemPoolPrime(pool, bytes), poolSuccess);
}

// A pool as CUDA makes it: a synchronise keeps nothing.
static poolMemPool_t plain_pool(void) {
    poolMemPool_t pool = fixture_pool();
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, 0);
    return pool;
}

static uint64_t mapping_calls(void) {
    return simcudaCallCount("cuMemCreate") + simcudaCallCount("cuMemMap") +
           simcudaCallCount("cuMemSetAccess") + simcudaCallCount("cuMemUnmap") +
           simcudaCallCount("cuMemRelease") + simcudaCallCount("cuMemAddressReserve");
}

static void allocate(poolMemPool_t pool, size_t size, unsigned first, unsigned count,
                     CUstream stream) {
    for (unsigned i = first; i < first + count; i++)
        blocks[i] = fixture_malloc(pool, size, stream);
}

static void release(unsigned count, CUstream stream) {
    for (unsigned i = 0; i < count; i++)
        fixture_free(blocks[i], stream);
}

static void a_primed_pool_serves_one_large_block_without_mapping(void **state) {
    (void)state;
    poolMemPool_t pool = plain_pool();
    CUstream a = simulated_stream();
    prime(pool, GIB(1));
    assert_int_equal(fixture_reserved(pool), GIB(1));
    assert_int_equal(fixture_used(pool), 0);
    uint64_t calls = mapping_calls();
    fixture_malloc(pool, GIB(1), a);
    assert_int_equal(mapping_calls(), calls);
    assert_int_equal(fixture_reserved(pool), GIB(1));
}

static void a_primed_pool_serves_blocks_of_all_sizes_up_to_the_sum_without_mapping(void **state) {
    (void)state;
    poolMemPool_t pool = plain_pool();
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    prime(pool, MIB(64));
    uint64_t calls = mapping_calls();
    allocate(pool, 512, 0, 2048, a);      // 1 MiB
    allocate(pool, MIB(15), 2048, 4, a);  // 60 MiB
    allocate(pool, KIB(32), 2052, 64, b); // 2 MiB
    allocate(pool, MIB(1), 2116, 1, b);
    assert_int_equal(mapping_calls(), calls);
    assert_int_equal(fixture_reserved(pool), MIB(64));
    fixture_malloc(pool, 512, a);
    assert_true(fixture_reserved(pool) > MIB(64)); // and no byte more
}

static void fixed_blocks_have_no_part_in_primed_memory(void **state) {
    (void)state;
    poolMemPool_t pool = plain_pool();
    CUstream a = simulated_stream();
    void *fixed = NULL;
    prime(pool, MIB(64));
    assert_int_equal(poolMallocAsyncWithFlags(&fixed, MIB(10), pool, a, poolMallocFixed),
                     poolSuccess);
    assert_int_equal(fixture_reserved(pool), MIB(74));
    uint64_t calls = mapping_calls();
    allocate(pool, 512, 0, 128, a);
    assert_int_equal(mapping_calls(), calls);
}

static void small_blocks_leave_primed_memory_in_one_piece(void **state) {
    (void)state;
    poolMemPool_t pool = plain_pool();
    CUstream a = simulated_stream();
    prime(pool, MIB(64));
    for (unsigned i = 0; i < 7; i++) {
        fixture_malloc(pool, (size_t)512 << i, a);
        allocate(pool, MIB(4), i, 1, a);
    }
    release(7, a);
    fixture_synchronize(a);
    uint64_t calls = mapping_calls();
    fixture_malloc(pool, MIB(63), a);
    assert_int_equal(mapping_calls(), calls);
}

static void priming_maps_few_extents(void **state) {
    (void)state;
    poolMemPool_t pool = plain_pool();
    prime(pool, GIB(2));
    assert_in_range(simcudaCallCount("cuMemCreate"), 2, GIB(2) / SP_EXTENT_AHEAD_MAX);
}

static void priming_again_maps_nothing(void **state) {
    (void)state;
    poolMemPool_t pool = plain_pool();
    prime(pool, MIB(100));
    uint64_t calls = mapping_calls();
    prime(pool, MIB(100));
    prime(pool, MIB(10));
    prime(pool, 0);
    assert_int_equal(mapping_calls(), calls);
    assert_int_equal(fixture_reserved(pool), MIB(100));
}

static void priming_adds_to_what_is_in_use(void **state) {
    (void)state;
    poolMemPool_t pool = plain_pool();
    CUstream a = simulated_stream();
    prime(pool, MIB(100));
    fixture_malloc(pool, MIB(100), a);
    prime(pool, MIB(50));
    assert_int_equal(fixture_reserved(pool), MIB(150));
    uint64_t calls = mapping_calls();
    fixture_malloc(pool, MIB(50), a);
    assert_int_equal(mapping_calls(), calls);
}

static void priming_joins_what_is_free_beside_it(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    fixture_free(fixture_malloc(pool, MIB(60), a), a);
    fixture_synchronize(a);
    prime(pool, MIB(100));
    assert_int_equal(fixture_reserved(pool), MIB(100));
    fixture_malloc(pool, MIB(100), a);
    assert_int_equal(fixture_reserved(pool), MIB(100));
}

static void pending_memory_does_not_count_as_primed(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    void *block = fixture_malloc(pool, MIB(60), a);
    simulated_work(a);
    fixture_free(block, a);
    prime(pool, MIB(60));
    assert_int_equal(fixture_reserved(pool), MIB(120));
    assert_ptr_not_equal(fixture_malloc(pool, MIB(60), b), block);
}

static void complete_memory_counts_though_nobody_has_told(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    fixture_free(fixture_malloc(pool, MIB(60), a),
                 a); // more than may stay unfenced: an event stands behind it
    prime(pool, MIB(60));
    assert_int_equal(fixture_reserved(pool), MIB(60));
}

static void a_synchronise_leaves_what_was_primed_at_threshold_0(void **state) {
    (void)state;
    poolMemPool_t pool = plain_pool();
    CUstream a = simulated_stream();
    prime(pool, MIB(128));
    for (int i = 0; i < 3; i++) {
        allocate(pool, MIB(32), 0, 4, a);
        release(4, a);
        fixture_synchronize(a);
        assert_int_equal(fixture_reserved(pool), MIB(128));
    }
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    assert_int_equal(fixture_reserved(pool), MIB(128));
}

static void a_synchronise_takes_what_grew_beyond_what_was_primed(void **state) {
    (void)state;
    poolMemPool_t pool = plain_pool();
    CUstream a = simulated_stream();
    prime(pool, MIB(128));
    allocate(pool, MIB(64), 0, 4, a);
    assert_int_equal(fixture_reserved(pool), MIB(256));
    release(4, a);
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(pool), MIB(128));
}

// What is free between blocks in use can't go, and takes no place of what was primed.
static void a_synchronise_leaves_what_was_primed_beside_pieces(void **state) {
    (void)state;
    enum { COUNT = 16 };
    poolMemPool_t pool = plain_pool();
    CUstream a = simulated_stream();
    allocate(pool, MIB(3), 0, COUNT, a);
    for (int i = 0; i < COUNT; i += 2)
        fixture_free(blocks[i], a);
    prime(pool, MIB(16));
    uint64_t reserved = fixture_reserved(pool);
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(pool), reserved);
    uint64_t calls = mapping_calls();
    fixture_malloc(pool, MIB(16), a);
    assert_int_equal(mapping_calls(), calls);
}

static void what_was_in_use_at_priming_is_not_kept_free_later(void **state) {
    (void)state;
    poolMemPool_t pool = plain_pool();
    CUstream a = simulated_stream();
    void *start = fixture_malloc(pool, GIB(1), a);
    prime(pool, MIB(64));
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(pool), GIB(1) + MIB(64));
    fixture_free(start, a);
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(pool), MIB(64));
}

static void what_fills_primed_memory_has_no_more_kept_free_beside_it(void **state) {
    (void)state;
    poolMemPool_t pool = plain_pool();
    CUstream a = simulated_stream();
    prime(pool, MIB(128));
    fixture_malloc(pool, MIB(128), a);
    fixture_free(fixture_malloc(pool, MIB(64), a), a);
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(pool), MIB(128));
}

// Memory is kept by what it takes, not by the bytes that were asked for.
static void blocks_that_are_rounded_up_cost_nothing_of_what_was_primed(void **state) {
    (void)state;
    poolMemPool_t pool = plain_pool();
    CUstream a = simulated_stream();
    allocate(pool, 1, 0, 4096, a); // 2 MiB, of which 4 KiB are used
    fixture_malloc(pool, 1, a);
    uint64_t before = fixture_reserved(pool);
    prime(pool, MIB(64));
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(pool), before + MIB(64));
}

static void a_trim_ends_what_priming_keeps(void **state) {
    (void)state;
    poolMemPool_t pool = plain_pool();
    CUstream a = simulated_stream();
    prime(pool, MIB(128));
    fixture_trim(pool, MIB(32));
    assert_int_equal(fixture_reserved(pool), MIB(32));
    fixture_free(fixture_malloc(pool, MIB(128), a), a);
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(pool), MIB(32));
    fixture_trim(pool, 0);
    fixture_free(fixture_malloc(pool, MIB(128), a), a);
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(pool), 0);
    assert_int_equal(simcudaMemoryInUse(0), 0);
}

static void the_reaper_leaves_what_was_primed(void **state) {
    (void)state;
    poolMemPool_t pool = plain_pool();
    CUstream a = simulated_stream();
    fixture_set_flag(pool, poolMemPoolAttrTrimByReaper, 1);
    prime(pool, MIB(64));
    allocate(pool, MIB(64), 0, 3, a);
    release(3, a);
    fixture_synchronize(a);
    inside_worker_rest();
    assert_int_equal(fixture_reserved(pool), MIB(64));
}

static void priming_has_no_more_than_the_largest_size(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool_of_at_most(MIB(64));
    CUstream a = simulated_stream();
    assert_int_equal(poolMemPoolPrime(pool, MIB(66)), poolErrorMemoryAllocation);
    assert_int_equal(poolMemPoolPrime(pool, SIZE_MAX), poolErrorMemoryAllocation);
    assert_int_equal(fixture_reserved(pool), 0);
    prime(pool, MIB(64));
    fixture_malloc(pool, MIB(30), a);
    assert_int_equal(poolMemPoolPrime(pool, MIB(64)), poolErrorMemoryAllocation);
    assert_non_null(strstr(poolGetLastErrorDetail(), "limit"));
    assert_int_equal(fixture_reserved(pool), MIB(64));
}

// Blocks 0, 2, ... of a full pool are free.
static poolMemPool_t pool_in_pieces(CUstream stream) {
    poolMemPool_t pool = fixture_pool_of_at_most(MIB(96));
    allocate(pool, MIB(8), 0, 8, stream);
    for (unsigned i = 0; i < 8; i += 2)
        fixture_free(blocks[i], stream);
    fixture_synchronize(stream);
    assert_int_equal(fixture_reserved(pool), MIB(64));
    return pool;
}

static void memory_in_pieces_counts_where_the_limit_has_no_room(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    poolMemPool_t pool = pool_in_pieces(a);
    prime(pool, MIB(48)); // in one piece it would be 112 MiB
    assert_int_equal(fixture_reserved(pool), MIB(80));
    uint64_t calls = mapping_calls();
    for (unsigned i = 0; i < 6; i++)
        fixture_malloc(pool, MIB(8), a);
    assert_int_equal(mapping_calls(), calls);
}

static void a_device_without_room_refuses_and_nothing_changes(void **state) {
    (void)state;
    poolMemPool_t pool = plain_pool();
    CUstream a = simulated_stream();
    prime(pool, MIB(64));
    size_t total = fixture_inside(pool)->device->vmm.total_memory;
    poolMemPool_t other = fixture_pool();
    fixture_malloc(other, total - MIB(256), a);
    uint64_t in_use = simcudaMemoryInUse(0);
    assert_int_equal(poolMemPoolPrime(pool, MIB(512)), poolErrorMemoryAllocation);
    assert_int_equal(simcudaMemoryInUse(0), in_use);
    assert_int_equal(fixture_reserved(pool), MIB(64));
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(pool), MIB(64));
}

// No event stands behind it.
static void what_another_pool_has_of_a_blocking_stream_is_given_back_for_priming(void **state) {
    (void)state;
    poolMemPool_t pool = plain_pool();
    poolMemPool_t other = fixture_pool();
    CUstream blocking = simulated_blocking_stream();
    size_t most = fixture_inside(pool)->device->vmm.total_memory / 4 * 3;
    fixture_set(other, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    fixture_set(other, poolMemPoolAttrUnfencedBytesMax, most);
    simulated_work(blocking);
    fixture_free(fixture_malloc(other, most, blocking), blocking);
    assert_int_equal(poolMemPoolPrime(pool, most), poolErrorMemoryAllocation);
    simulated_finish(blocking);
    prime(pool, most);
}

// Each of the driver's calls for each of the extents.
static void a_driver_that_fails_in_the_middle_leaves_nothing_primed(void **state) {
    (void)state;
    static const char *const calls[] = {"cuMemCreate", "cuMemMap", "cuMemSetAccess"};
    for (size_t call = 0; call < sizeof calls / sizeof calls[0]; call++) {
        for (uint64_t nth = 1; nth <= SP_EXTENTS_OF_REQUEST; nth++) {
            poolMemPool_t pool = plain_pool();
            CUstream a = simulated_stream();
            assert_int_equal(
                simcudaFailCall(calls[call], nth, simcudaFaultOnce, CUDA_ERROR_UNKNOWN), 0);
            assert_int_equal(poolMemPoolPrime(pool, MIB(256)), poolErrorUnknown);
            simcudaFailClear();
            assert_int_equal(fixture_reserved(pool), 0);
            assert_int_equal(simcudaMemoryInUse(0), 0);
            assert_int_equal(fixture_inside(pool)->retain.primed_until, 0);
            fixture_check(pool);
            fixture_free(fixture_malloc(pool, MIB(32), a), a);
            fixture_synchronize(a);
            assert_int_equal(fixture_reserved(pool), 0);
            assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
        }
    }
}

static void priming_of_no_pool_is_invalid(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    assert_int_equal(poolMemPoolPrime(NULL, MIB(2)), poolErrorInvalidValue);
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    assert_int_equal(poolMemPoolPrime(pool, MIB(2)), poolErrorInvalidValue);
}

static void a_primed_pool_that_is_given_up_gives_all_back(void **state) {
    (void)state;
    poolMemPool_t pool = plain_pool();
    prime(pool, MIB(64));
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    assert_int_equal(simcudaMemoryInUse(0), 0);
    assert_int_equal(fixture_inside(plain_pool())->retain.primed, 0); // its struct's next pool
}

#define PRIME_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        PRIME_TEST(a_primed_pool_serves_one_large_block_without_mapping),
        PRIME_TEST(a_primed_pool_serves_blocks_of_all_sizes_up_to_the_sum_without_mapping),
        PRIME_TEST(fixed_blocks_have_no_part_in_primed_memory),
        PRIME_TEST(small_blocks_leave_primed_memory_in_one_piece),
        PRIME_TEST(priming_maps_few_extents),
        PRIME_TEST(priming_again_maps_nothing),
        PRIME_TEST(priming_adds_to_what_is_in_use),
        PRIME_TEST(priming_joins_what_is_free_beside_it),
        PRIME_TEST(pending_memory_does_not_count_as_primed),
        PRIME_TEST(complete_memory_counts_though_nobody_has_told),
        PRIME_TEST(a_synchronise_leaves_what_was_primed_at_threshold_0),
        PRIME_TEST(a_synchronise_takes_what_grew_beyond_what_was_primed),
        PRIME_TEST(a_synchronise_leaves_what_was_primed_beside_pieces),
        PRIME_TEST(what_was_in_use_at_priming_is_not_kept_free_later),
        PRIME_TEST(what_fills_primed_memory_has_no_more_kept_free_beside_it),
        PRIME_TEST(blocks_that_are_rounded_up_cost_nothing_of_what_was_primed),
        PRIME_TEST(a_trim_ends_what_priming_keeps),
        PRIME_TEST(the_reaper_leaves_what_was_primed),
        PRIME_TEST(priming_has_no_more_than_the_largest_size),
        PRIME_TEST(memory_in_pieces_counts_where_the_limit_has_no_room),
        PRIME_TEST(a_device_without_room_refuses_and_nothing_changes),
        PRIME_TEST(what_another_pool_has_of_a_blocking_stream_is_given_back_for_priming),
        PRIME_TEST(a_driver_that_fails_in_the_middle_leaves_nothing_primed),
        PRIME_TEST(priming_of_no_pool_is_invalid),
        PRIME_TEST(a_primed_pool_that_is_given_up_gives_all_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
