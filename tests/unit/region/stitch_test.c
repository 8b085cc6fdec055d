#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/host_memory.h"
#include "unit/fixture/scattered.h"
#include "unit/outcomes.h"

// Views that are kept, the work through them, and trims of what they stand on.

static void a_kept_view_serves_the_same_request_without_a_driver_call(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    void *joined = fixture_malloc(pool, 8 * EXTENT, a);
    fixture_free(joined, a);
    collect();
    uint64_t calls = mapping_calls();
    assert_ptr_equal(fixture_malloc(pool, 8 * EXTENT, a), joined);
    fixture_free(joined, a);
    collect();
    void *smaller = fixture_malloc(pool, 5 * EXTENT, a);
    void *beside = fixture_malloc(pool, 3 * EXTENT, a);
    assert_ptr_equal(smaller, joined);
    assert_ptr_equal(beside, (char *)joined + 5 * EXTENT);
    assert_int_equal(mapping_calls(), calls);
    fixture_check(pool);
    fixture_free(smaller, a);
    fixture_free(beside, a);
}

static void a_pattern_that_repeats_makes_no_driver_call_after_its_first_round(void **state) {
    (void)state;
    static const size_t sizes[] = {3 * EXTENT, 2 * EXTENT + HALF, 2 * EXTENT};
    uint64_t calls = 0;
    fill_with(EXTENT);
    drop_every_other(a);
    for (int round = 0; round < 10; round++) {
        void *pointers[3];
        for (int i = 0; i < 3; i++)
            pointers[i] = fixture_malloc(pool, sizes[i], a);
        for (int i = 0; i < 3; i++)
            fixture_free(pointers[(i + round) % 3], a);
        collect();
        calls = round == 0 ? mapping_calls() : calls;
    }
    assert_int_equal(mapping_calls(), calls);
}

static void a_kept_view_with_a_busy_part_is_not_used_for_more_than_the_rest(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    void *joined = fixture_malloc(pool, 8 * EXTENT, a);
    fixture_free(joined, a);
    collect();
    void *home = fixture_malloc(pool, EXTENT, a); // at its home address
    assert_false(lies_in_a_stitched_view(home));
    refuse(8 * EXTENT, a, poolMallocDefault);
    void *rest = fixture_malloc(pool, 7 * EXTENT, a);
    fixture_check(pool);
    refuse(MIB(1), a, poolMallocDefault);
    fixture_free(home, a);
    fixture_free(rest, a);
    collect();
    assert_ptr_equal(fixture_malloc(pool, 8 * EXTENT, a), joined);
}

static void a_kept_view_is_for_those_who_may_have_all_of_its_memory(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    void *joined = fixture_malloc(pool, 8 * EXTENT, a);
    simulated_work(a);
    fixture_free(joined, a);
    collect();
    refuse(8 * EXTENT, b, poolMallocNoInsertedWaits);
    assert_ptr_equal(fixture_malloc(pool, 8 * EXTENT, a), joined);
    fixture_free(joined, b); // on another stream than it was allocated on
    refuse(8 * EXTENT, a, poolMallocNoInsertedWaits | poolMallocSameStreamOnly);
    fixture_check(pool);
}

// The view begins with the tail of an extent and ends with the front of the same.
static void a_view_that_has_an_extent_twice_is_never_used_for_both(void **state) {
    (void)state;
    void *thirds[3];
    fill_with(EXTENT);
    drop(0, a);
    collect();
    for (int i = 0; i < 3; i++)
        thirds[i] =
            fixture_malloc(pool, i < 2 ? MIB(1) + KIB(256) : EXTENT - 2 * (MIB(1) + KIB(256)), a);
    fixture_free(thirds[0], a);
    fixture_free(thirds[2], a);
    collect();
    void *joined = fixture_malloc(pool, MIB(2) + KIB(256), a);
    assert_true(lies_in_a_stitched_view(joined));
    assert_int_equal(fixture_inside(pool)->kept.mapping_count, 2);
    fixture_free(joined, a);
    fixture_free(thirds[1], a);
    collect();
    fixture_check(pool);
    drop(2, a);
    joined = fixture_malloc(pool, 2 * EXTENT, a); // all of the view, if it were two extents
    fixture_check(pool);
    assert_true(lies_in_a_stitched_view(joined));
    refuse(MIB(1) + KIB(1), a, poolMallocDefault);
    fixture_free(joined, a);
}

// A piece that was used through the view carries that use home.
static void the_home_of_a_block_is_not_free_before_the_work_through_the_view(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_synchronize(a);
    void *joined = fixture_malloc(pool, 8 * EXTENT, a);
    simulated_work(a);
    fixture_free(joined, a);
    collect();
    refuse(EXTENT, b, poolMallocNoInsertedWaits | poolMallocNoGrowth);
    fixture_synchronize(a);
    fixture_free(fixture_malloc(pool, EXTENT, b), b);
}

static void the_view_that_was_used_longest_ago_goes_first(void **state) {
    (void)state;
    struct sp_pool *inside = fixture_inside(pool);
    void *joined[3];
    fill_with(EXTENT);
    drop_every_other(a);
    for (int i = 0; i < 3; i++)
        joined[i] = fixture_malloc(pool, (2 + (size_t)(i == 1)) * EXTENT, a);
    for (int i = 0; i < 3; i++)
        fixture_free(joined[i], a);
    collect();
    fixture_free(fixture_malloc(pool, 3 * EXTENT, a), a); // the second one is used again
    collect();
    limit_kept(2, SIZE_MAX);
    assert_int_equal(inside->kept.view_count, 2);
    assert_false(lies_in_a_stitched_view(joined[0]));
    assert_true(lies_in_a_stitched_view(joined[1]));
    limit_kept(2, 4);
    assert_int_equal(inside->kept.view_count, 1);
    assert_int_equal(inside->kept.mapping_count, 3);
    assert_true(lies_in_a_stitched_view(joined[1]));
    fixture_synchronize(a);
    assert_done(bury());
    assert_true(sp_list_empty(&inside->kept.zombies));
}

static void a_view_with_a_block_is_kept_whatever_the_limit(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    void *joined = fixture_malloc(pool, 2 * EXTENT, a);
    limit_kept(0, 0);
    assert_true(lies_in_a_stitched_view(joined));
    fixture_free(joined, a); // into the quick list
    limit_kept(0, 0);
    assert_true(lies_in_a_stitched_view(joined));
    collect();
    limit_kept(0, 0);
    assert_false(lies_in_a_stitched_view(joined));
}

static void an_evicted_view_is_not_unmapped_before_its_work_has_completed(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    void *joined = fixture_malloc(pool, 8 * EXTENT, a);
    simulated_work(a);
    fixture_free(joined, a);
    collect();
    limit_kept(0, 0);
    uint64_t unmapped = simcudaCallCount("cuMemUnmap");
    assert_done(bury());
    assert_int_equal(simcudaCallCount("cuMemUnmap"), unmapped);
    fixture_check(pool);
    fixture_synchronize(a);
    assert_done(bury());
    assert_int_equal(simcudaCallCount("cuMemUnmap"), unmapped + 8);
}

// The use of an earlier block counts, though a later one had no work.
static void all_uses_of_an_evicted_view_count(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_synchronize(a);
    void *first = fixture_malloc(pool, 4 * EXTENT, a);
    fixture_free(first, a);
    collect();
    void *part = fixture_malloc(pool, 2 * EXTENT, a);
    assert_ptr_equal(part, first);
    simulated_work(a);
    fixture_free(part, a);
    collect();
    void *other = fixture_malloc(pool, 2 * EXTENT, b);
    fixture_free(other, b);
    fixture_synchronize(b);
    settle();
    limit_kept(0, 0);
    uint64_t unmapped = simcudaCallCount("cuMemUnmap");
    assert_done(bury());
    assert_true(simcudaCallCount("cuMemUnmap") - unmapped <= 2);
    fixture_synchronize(a);
    assert_done(bury());
    assert_true(sp_list_empty(&fixture_inside(pool)->kept.zombies));
}

// More streams use the view than a set of fences has room for, and there is no host memory to note
// the last.
static void a_use_that_can_not_be_noted_keeps_an_evicted_view_mapped(void **state) {
    (void)state;
    enum { STREAMS = SP_FENCE_INLINE + 1 };
    CUstream streams[STREAMS];
    void *parts[STREAMS];
    uint64_t failed = 0;
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_free(fixture_malloc(pool, 2 * STREAMS * EXTENT, a), a);
    fixture_synchronize(a);
    settle();
    for (int i = 0; i < STREAMS; i++) {
        streams[i] = simulated_stream();
        parts[i] = fixture_malloc(pool, 2 * EXTENT, streams[i]);
        assert_true(lies_in_a_stitched_view(parts[i]));
        simulated_work(streams[i]);
    }
    assert_int_equal(fixture_inside(pool)->kept.view_count, 1);
    for (int i = 0; i < STREAMS; i++)
        fixture_free(parts[i], streams[i]);
    host_memory_enter(1, true);
    collect();
    host_memory_leave(&failed);
    assert_true(failed > 0); // for the lanes' tiers, too
    limit_kept(0, 0);
    uint64_t unmapped = simcudaCallCount("cuMemUnmap");
    for (int i = 0; i < STREAMS; i++) {
        assert_done(bury());
        assert_int_equal(simcudaCallCount("cuMemUnmap"), unmapped);
        fixture_synchronize(streams[i]);
    }
    fixture_check(pool);
}

static void a_view_that_cannot_be_unmapped_is_tried_again(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_free(fixture_malloc(pool, 8 * EXTENT, a), a);
    fixture_synchronize(a);
    collect();
    limit_kept(0, 0);
    assert_int_equal(simcudaFailCall("cuMemUnmap", 3, simcudaFaultOnce, CUDA_ERROR_UNKNOWN), 0);
    assert_of_driver(bury(), CUDA_ERROR_UNKNOWN);
    fixture_check(pool);
    assert_done(bury());
    assert_true(sp_list_empty(&fixture_inside(pool)->kept.zombies));
}

// ------------------------------------------------------------------------------------------- trims

static void a_trim_releases_memory_that_views_stand_on(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    void *joined = fixture_malloc(pool, 8 * EXTENT, a);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), POOL);
    fixture_free(joined, a);
    fixture_synchronize(a);
    fixture_trim(pool, POOL - 3 * EXTENT - HALF);
    assert_int_equal(fixture_reserved(pool), POOL - 3 * EXTENT - HALF);
    fixture_check(pool);
    void *rest = fixture_malloc(pool, 4 * EXTENT, a); // of what is left of the view, or anew
    fixture_check(pool);
    fixture_free(rest, a);
    fixture_synchronize(a);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), POOL / 2);
}

// Nothing of such a view could ever be used again.
static void a_view_that_has_lost_all_its_extents_is_not_kept(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_free(fixture_malloc(pool, 8 * EXTENT, a), a);
    fixture_synchronize(a);
    fixture_trim(pool, POOL - 5 * EXTENT);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatKeptViews), 1);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatKeptMappings), 3);
    fixture_check(pool);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatKeptViews), 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatKeptMappings), 0);
    assert_done(bury());
    assert_true(sp_list_empty(&fixture_inside(pool)->kept.zombies));
    fixture_check(pool);
}

// The front behind whole extents that stand in the middle of the view already.
static void whole_extents_and_the_front_behind_them_are_joined_with_others(void **state) {
    (void)state;
    fill_with(HALF);
    for (size_t i = 0; i < 5; i++)
        drop(i, a);
    drop(8, a);
    drop(9, a);
    void *joined = NULL;
    assert_int_equal(
        poolMallocAsyncWithFlags(&joined, 3 * EXTENT + HALF, pool, a, poolMallocNoGrowth),
        poolSuccess);
    assert_true(lies_in_a_stitched_view(joined));
    fixture_check(pool);
}

// The pending blocks at home, if another stream is known to have freed all of them; else 0.
static size_t count_foreign(void) {
    size_t count = 0;
    bool all = true;
    SP_LIST_FOR_EACH(link, &fixture_inside(pool)->regions[SP_REGION_LARGE].segments) {
        const struct sp_segment *segment = SP_CONTAINER_OF(link, struct sp_segment, link);
        for (const struct sp_block *block = segment->chain.first; block; block = block->next) {
            bool is_pending = sp_block_is_in_tier(block) && block->fences.count > 0;
            all = all && (!is_pending || block->is_foreign);
            count += is_pending;
        }
    }
    return all ? count : 0;
}

// How far they merge goes by that: see heap/tier.h.
static void pieces_under_a_block_that_another_stream_frees_are_freed_by_it(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_synchronize(a);
    void *joined = fixture_malloc(pool, 3 * EXTENT, a);
    assert_true(lies_in_a_stitched_view(joined));
    simulated_work(b);
    fixture_free(joined, b);
    collect();
    assert_int_equal(count_foreign(), 3);
    fixture_check(pool);
}

static void the_gauge_of_what_can_be_joined_counts_the_ends_of_extents(void **state) {
    (void)state;
    fill_with(HALF);
    drop(1, a);
    drop(6, a);
    fixture_synchronize(a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatLargestFree), HALF);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatLargestRemapped), EXTENT);
    fixture_malloc(pool, EXTENT, a);
    assert_int_equal(fixture_reserved(pool), POOL);
    fixture_check(pool);
}

// An extent whose trim the driver didn't let end is still good memory, but can't be mapped again.
static void what_a_failed_trim_has_released_is_not_joined_and_hinders_no_joining(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_synchronize(a);
    collect();
    assert_int_equal(simcudaFailCall("cuMemUnmap", 1, simcudaFaultOnwards, CUDA_ERROR_UNKNOWN), 0);
    assert_int_not_equal(poolMemPoolTrimTo(pool, POOL - EXTENT), poolSuccess);
    simcudaFailClear();
    assert_int_equal(fixture_reserved(pool), POOL);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatLargestRemapped), 7 * EXTENT);
    void *joined = fixture_malloc(pool, 7 * EXTENT, a);
    assert_true(lies_in_a_stitched_view(joined));
    void *whole = fixture_malloc(pool, EXTENT, a);
    assert_false(lies_in_a_stitched_view(whole));
    refuse(MIB(1), a, poolMallocDefault);
    fixture_free(whole, a);
    fixture_free(joined, a);
}

static void a_trim_that_cannot_unmap_a_view_leaves_the_memory(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_free(fixture_malloc(pool, 8 * EXTENT, a), a);
    fixture_synchronize(a);
    for (uint64_t nth = 1; nth <= 2; nth++) {
        assert_int_equal(
            simcudaFailCall("cuMemUnmap", nth, simcudaFaultOnwards, CUDA_ERROR_UNKNOWN), 0);
        assert_int_not_equal(poolMemPoolTrimTo(pool, 0), poolSuccess);
        simcudaFailClear();
        fixture_check(pool);
        fixture_free(fixture_malloc(pool, 8 * EXTENT, a), a);
        fixture_check(pool);
        fixture_synchronize(a);
    }
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), POOL / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_kept_view_serves_the_same_request_without_a_driver_call),
        TEST(a_pattern_that_repeats_makes_no_driver_call_after_its_first_round),
        TEST(a_kept_view_with_a_busy_part_is_not_used_for_more_than_the_rest),
        TEST(a_view_that_has_an_extent_twice_is_never_used_for_both),
        TEST(a_kept_view_is_for_those_who_may_have_all_of_its_memory),
        TEST(the_home_of_a_block_is_not_free_before_the_work_through_the_view),
        TEST(the_view_that_was_used_longest_ago_goes_first),
        TEST(a_view_with_a_block_is_kept_whatever_the_limit),
        TEST(an_evicted_view_is_not_unmapped_before_its_work_has_completed),
        TEST(all_uses_of_an_evicted_view_count),
        TEST(a_use_that_can_not_be_noted_keeps_an_evicted_view_mapped),
        TEST(a_view_that_cannot_be_unmapped_is_tried_again),
        TEST(a_trim_releases_memory_that_views_stand_on),
        TEST(a_view_that_has_lost_all_its_extents_is_not_kept),
        TEST(whole_extents_and_the_front_behind_them_are_joined_with_others),
        TEST(pieces_under_a_block_that_another_stream_frees_are_freed_by_it),
        TEST(the_gauge_of_what_can_be_joined_counts_the_ends_of_extents),
        TEST(what_a_failed_trim_has_released_is_not_joined_and_hinders_no_joining),
        TEST(a_trim_that_cannot_unmap_a_view_leaves_the_memory),
    };
    return cmocka_run_group_tests_name("region_stitch", tests, NULL, NULL);
}
