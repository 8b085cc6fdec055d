// Gauges: what statistics tell of a pool as it stands (tell/statistic.h).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/fixture/pool.h"

static void gauges_tell_how_the_pool_stands(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    void *blocks[4];
    for (int i = 0; i < 4; i++)
        blocks[i] = fixture_malloc(pool, MIB(16), a);
    fixture_free(blocks[0], a);
    fixture_free(blocks[2], a);
    fixture_synchronize(a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatLargestFree), MIB(16));
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatLargestRemapped), MIB(32));
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatPinnedBytes), 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatKeptViews), 0);
    uint64_t space = fixture_attribute(pool, poolMemPoolStatAddressSpace);
    assert_true(space >= MIB(64));
    fixture_malloc(pool, MIB(32), a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatKeptViews), 1);
    assert_true(fixture_attribute(pool, poolMemPoolStatKeptMappings) >= 2);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatAddressSpace), space + MIB(32));
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatLargestRemapped), 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatZombies), 0);
    assert_string_equal(poolMemPoolGetStatisticName(poolMemPoolStatKeptViews), "KeptViews");
    assert_null(poolMemPoolGetStatisticName((enum poolMemPoolAttr)1214));
}

// Of 64 MiB of small blocks those of the first 4 MiB and of 2 MiB further on are free: large blocks
// can lie in their pages.
static poolMemPool_t pool_with_pages(size_t max_size, CUstream stream) {
    enum { COUNT = MIB(64) / KIB(32), EACH = MIB(2) / KIB(32) };
    static void *blocks[COUNT];
    poolMemPool_t pool = fixture_pool_of_at_most(max_size);
    for (int i = 0; i < COUNT; i++)
        blocks[i] = fixture_malloc(pool, KIB(32), stream);
    for (int i = 0; i < COUNT; i++) {
        if (i / EACH < 2 || i / EACH == 4)
            fixture_free(blocks[i], stream);
    }
    fixture_synchronize(stream);
    return pool;
}

static void the_largest_block_without_new_memory_may_be_one_of_pages(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    poolMemPool_t pool = pool_with_pages(MIB(64), a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatLargestRemapped), MIB(6));
    void *large = NULL;
    assert_int_equal(poolMallocFromPoolAsync(&large, MIB(6) + 1, pool, a),
                     poolErrorMemoryAllocation);
    assert_int_equal(poolMallocFromPoolAsync(&large, MIB(6), pool, a), poolSuccess);
}

// The pool grows before it takes them.
static void no_block_of_pages_is_given_as_it_lies(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    poolMemPool_t pool = pool_with_pages(0, a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatLargestFree), 0);
    fixture_malloc(pool, MIB(4), a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatOtherRegion), 0);
    assert_true(fixture_reserved(pool) > MIB(64));
}

static void no_remap_is_told_of_where_it_is_forbidden(void **state) {
    (void)state;
    void *large = NULL;
    CUstream a = simulated_stream();
    poolMemPool_t pool = pool_with_pages(0, a);
    fixture_set_flag(pool, poolMemPoolAttrDefragmentation, poolDefragmentNever);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatLargestRemapped), MIB(4));
    assert_int_equal(poolMallocAsyncWithFlags(&large, MIB(4) + 1, pool, a, poolMallocNoGrowth),
                     poolErrorMemoryAllocation);
    assert_int_equal(poolMallocAsyncWithFlags(&large, MIB(4), pool, a, poolMallocNoGrowth),
                     poolSuccess);
}

static void less_than_a_page_is_no_block(void **state) {
    (void)state;
    enum { LEFT = 59392 };
    void *refused = NULL;
    poolMemPool_t pool = fixture_pool_of_at_most(MIB(32));
    CUstream a = simulated_stream();
    fixture_free(fixture_malloc(pool, MIB(32), a), a);
    fixture_synchronize(a);
    fixture_malloc(pool, MIB(32) - LEFT, a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatLargestFree), 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatLargestRemapped), 0);
    assert_int_equal(poolMallocFromPoolAsync(&refused, LEFT, pool, a), poolErrorMemoryAllocation);
}

// Its blocks lie in the stream's tier until somebody looks.
static void memory_known_to_be_complete_is_told_as_free_whoever_freed_it(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    simulated_work(a);
    fixture_free(fixture_malloc(pool, MIB(16), a), a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatLargestFree), 0);
    fixture_synchronize(a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatLargestFree), MIB(16));
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatLargestRemapped), MIB(16));
}

// In a quick list, in a tier, and in what several streams have used.
static void memory_is_pending_until_the_pool_knows_of_its_completion(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream(), b = simulated_stream();
    void *blocks[] = {fixture_malloc(pool, MIB(16), a), fixture_malloc(pool, MIB(32), b)};
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatPendingBytes), 0);
    simulated_work(a);
    simulated_work(b);
    fixture_free(blocks[0], a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatPendingBytes), MIB(16));
    fixture_free(blocks[1], b);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatPendingBytes), MIB(48));
    fixture_attribute(pool, poolMemPoolStatLargestFree); // which takes them to the tiers
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatPendingBytes), MIB(48));
    fixture_synchronize(a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatPendingBytes), MIB(32));
    fixture_malloc(pool, MIB(32), b);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatPendingBytes), 0);
}

// A block comes back from its quick list with no look at the tiers, which LargestFree would have
// taken it to.
static void reading_what_is_pinned_or_pending_or_the_extents_moves_nothing(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    void *low = fixture_malloc(pool, MIB(1), a), *high = fixture_malloc(pool, MIB(1), a);
    fixture_malloc(pool, MIB(1), a); // keeps the extent in use
    uint64_t pinned = fixture_attribute(pool, poolMemPoolStatPinnedBytes);
    fixture_free(low, a);
    fixture_free(high, a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatPinnedBytes), pinned + MIB(2));
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatPendingBytes), MIB(2));
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatExtents), 1);
    assert_ptr_equal(fixture_malloc(pool, MIB(1), a), high);
    assert_ptr_equal(fixture_malloc(pool, MIB(1), a), low);
}

// The block stays in its stream's quick list, and its parts at home are lent to it.
static void what_a_freed_block_in_pieces_leaves_is_pinned_as_before(void **state) {
    (void)state;
    enum { COUNT = 20 };
    void *blocks[COUNT];
    poolMemPool_t pool = fixture_pool_of_at_most(MIB(64));
    CUstream a = simulated_stream();
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    for (int i = 0; i < COUNT; i++)
        blocks[i] = fixture_malloc(pool, MIB(3), a);
    for (int i = 0; i < COUNT; i++) {
        if (i % 5 != 0)
            fixture_free(blocks[i], a);
    }
    fixture_synchronize(a);
    uint64_t pinned = fixture_attribute(pool, poolMemPoolStatPinnedBytes);
    uint64_t most = fixture_attribute(pool, poolMemPoolStatLargestRemapped);
    assert_int_not_equal(pinned, 0);
    void *stitched = fixture_malloc(pool, most, a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatRemaps), 1);
    assert_true(fixture_attribute(pool, poolMemPoolStatPinnedBytes) < pinned);
    fixture_free(stitched, a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatPinnedBytes), pinned);
}

static uint64_t extents_of_driver(void) {
    simcudaLive live;
    simcudaGetLive(&live);
    return live.extents;
}

// In each region, in a view of several extents, and where some were given back.
static void extents_are_those_that_the_driver_has_given(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    uint64_t before = extents_of_driver();
    void *fixed, *blocks[4];
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatExtents), 0);
    fixture_malloc(pool, 100, a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatExtents), extents_of_driver() - before);
    assert_int_equal(poolMallocAsyncWithFlags(&fixed, MIB(2), pool, a, poolMallocFixed),
                     poolSuccess);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatExtents), 2);
    for (int i = 0; i < 4; i++)
        blocks[i] = fixture_malloc(pool, MIB(16), a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatExtents), 6);
    fixture_free(blocks[0], a);
    fixture_free(blocks[2], a);
    fixture_free(fixture_malloc(pool, MIB(32), a), a); // in these two, mapped once more
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatExtents), 6);
    fixture_synchronize(a);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatExtents), 4);
    assert_int_equal(extents_of_driver() - before, 4);
}

// With several threads the highest figure of what is used is a bound.
static void no_more_is_told_as_used_than_was_reserved(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fixture_malloc(pool, MIB(10), simulated_stream());
    fixture_inside(pool)->figures.used_high += GIB(1);
    assert_int_equal(poolMemPoolPrintStatistics(pool, out), poolSuccess);
    fixture_inside(pool)->figures.used_high -= GIB(1);
    fclose(out);
    assert_non_null(strstr(text,
                           "  reserved: 10.00 MiB now, 10.00 MiB at most\n"
                           "  used: 10.00 MiB now, 10.00 MiB at most\n"));
    free(text);
}

// Four gauges come of one look there.
static void what_pins_is_printed_as_it_is_read(void **state) {
    (void)state;
    static const enum poolMemPoolAttr gauges[] = {
        poolMemPoolStatPinnedBytes, poolMemPoolStatPinningBlocks, poolMemPoolStatPinningBytes,
        poolMemPoolStatLargestPinning};
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    char *text = NULL, line[64];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; i < 100; i++) // slabs of two classes, and no large block
        fixture_malloc(pool, i % 2 == 0 ? 1000 : KIB(8), a);
    assert_int_equal(poolMemPoolPrintStatistics(pool, out), poolSuccess);
    fclose(out);
    for (int i = 0; i < 4; i++) {
        uint64_t value = fixture_attribute(pool, gauges[i]);
        snprintf(line, sizeof line, "  %20llu  %s: ", (unsigned long long)value,
                 poolMemPoolGetStatisticName(gauges[i]));
        assert_true(value > 0);
        assert_non_null(strstr(text, line));
    }
    free(text);
}

#define gauge_test(function)                                                                       \
    cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        gauge_test(gauges_tell_how_the_pool_stands),
        gauge_test(the_largest_block_without_new_memory_may_be_one_of_pages),
        gauge_test(no_block_of_pages_is_given_as_it_lies),
        gauge_test(no_remap_is_told_of_where_it_is_forbidden),
        gauge_test(less_than_a_page_is_no_block),
        gauge_test(memory_known_to_be_complete_is_told_as_free_whoever_freed_it),
        gauge_test(memory_is_pending_until_the_pool_knows_of_its_completion),
        gauge_test(reading_what_is_pinned_or_pending_or_the_extents_moves_nothing),
        gauge_test(what_a_freed_block_in_pieces_leaves_is_pinned_as_before),
        gauge_test(extents_are_those_that_the_driver_has_given),
        gauge_test(no_more_is_told_as_used_than_was_reserved),
        gauge_test(what_pins_is_printed_as_it_is_read),
    };
    return cmocka_run_group_tests_name("tell_statistic", tests, NULL, NULL);
}
