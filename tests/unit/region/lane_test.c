#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "fault/host_memory.h"
#include "inside/teardown.h"
#include "process/life.h"
#include "region/collect.h"
#include "region/held.h"
#include "region/lane.h"
#include "unit/fixture/pool.h"

static void a_stream_has_one_lane_in_a_pool_and_another_in_another(void **state) {
    (void)state;
    poolMemPool_t one = fixture_pool();
    poolMemPool_t two = fixture_pool();
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    assert_null(sp_lane_find(fixture_inside(one), fixture_stream(a)->slot));
    struct sp_lane *lane = fixture_lane(one, a);
    assert_ptr_equal(fixture_lane(one, a), lane);
    assert_ptr_equal(sp_lane_find(fixture_inside(one), fixture_stream(a)->slot), lane);
    assert_ptr_not_equal(fixture_lane(one, b), lane);
    assert_ptr_not_equal(fixture_lane(two, a), lane);
    assert_ptr_equal(lane->stream, fixture_stream(a));
    assert_ptr_equal(lane->pool, fixture_inside(one));
}

static void a_pool_with_two_lanes_is_shared(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    assert_false(sp_pool_is_shared(fixture_inside(pool)));
    fixture_lane(pool, NULL);
    fixture_lane(pool, NULL);
    assert_false(sp_pool_is_shared(fixture_inside(pool)));
    fixture_lane(pool, simulated_stream());
    assert_true(sp_pool_is_shared(fixture_inside(pool)));
}

static void lanes_keep_their_place_when_the_table_grows(void **state) {
    (void)state;
    enum { MANY = 300 };
    static CUstream streams[MANY];
    static struct sp_lane *lanes[MANY];
    poolMemPool_t pool = fixture_pool();
    for (int i = 0; i < MANY; i++) {
        streams[i] = simulated_stream();
        lanes[i] = fixture_lane(pool, streams[i]);
    }
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(fixture_lane(pool, streams[i]), lanes[i]);
    assert_null(sp_lane_find(fixture_inside(pool), UINT32_MAX));
}

static void a_lane_is_listed_from_its_first_free_until_it_is_collected_from(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    struct sp_pool *inside = fixture_inside(pool);
    CUstream streams[5];
    for (int i = 0; i < 5; i++)
        fixture_lane(pool, streams[i] = simulated_stream());
    void *small = fixture_malloc(pool, 100, streams[1]);
    void *large = fixture_malloc(pool, MIB(1), streams[3]);
    assert_int_equal(sp_load_relaxed(&inside->lanes.freed_count), 0);
    fixture_free(large, streams[3]);
    fixture_free(fixture_malloc(pool, MIB(1), streams[3]), streams[3]);
    assert_int_equal(sp_load_relaxed(&inside->lanes.freed_count), 1);
    sp_collect_all(inside);
    assert_int_equal(sp_load_relaxed(&inside->lanes.freed_count), 0);
    fixture_check(pool);
    fixture_free(small, streams[2]); // lists the lane that has the slab, and its own
    assert_int_equal(sp_load_relaxed(&inside->lanes.freed_count), 2);
    fixture_check(pool);
    sp_collect_all(inside);
    assert_int_equal(sp_load_relaxed(&inside->lanes.freed_count), 1); // that has nothing
    assert_int_equal(fixture_lane(pool, streams[1])->slab_count, 0);
    fixture_check(pool);
}

static void an_idle_lane_takes_less_than_two_kilobytes(void **state) {
    (void)state;
    struct {
        char before;
        struct sp_lane lane;
    } placed; // as aligned_alloc places it
    assert_true(sizeof placed <= KIB(2));
}

static void tiers_are_made_for_a_block_and_end_once_it_is_complete(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    struct sp_pool *inside = fixture_inside(pool);
    CUstream stream = simulated_stream();
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    simulated_work(stream);
    fixture_free(fixture_malloc(pool, MIB(1), stream), stream);
    const struct sp_lane *lane = fixture_lane(pool, stream);
    assert_false(sp_lane_has_tiers(lane, SP_REGION_LARGE));
    sp_collect_all(inside);
    assert_true(sp_lane_has_tiers(lane, SP_REGION_LARGE));
    assert_false(sp_lane_has_tiers(lane, SP_REGION_PAGES));
    assert_int_equal(inside->lanes.with_tiers, 1);
    simulated_finish(stream);
    fixture_synchronize(stream);
    sp_collect_all(inside);
    assert_false(sp_lane_has_tiers(lane, SP_REGION_LARGE));
    assert_int_equal(inside->lanes.with_tiers, 0);
    fixture_check(pool);
}

// Anybody has it once it is complete.
static void
without_host_memory_for_tiers_a_block_waits_beside_those_of_several_streams(void **state) {
    (void)state;
    enum { SPARE = 200 };
    poolMemPool_t pool = fixture_pool(), other = fixture_pool();
    struct sp_pool *inside = fixture_inside(pool);
    CUstream stream = simulated_stream();
    void *block = fixture_malloc(pool, MIB(2), stream);
    for (int i = 0; i < SPARE; i++) { // takes the spare ones
        CUstream busy = simulated_stream();
        void *freed = fixture_malloc(other, MIB(1), busy);
        simulated_work(busy);
        fixture_free(freed, busy);
    }
    sp_collect_all(fixture_inside(other));
    simulated_work(stream);
    fixture_free(block, stream);
    uint64_t failed = 0;
    host_memory_enter(1, true);
    sp_collect_all(inside);
    host_memory_leave(&failed);
    assert_true(failed > 0);
    assert_false(sp_lane_has_tiers(fixture_lane(pool, stream), SP_REGION_LARGE));
    const struct sp_region *region = &inside->regions[SP_REGION_LARGE];
    assert_int_equal(region->waiting.bytes + region->unfenced.bytes, MIB(2));
    fixture_check(pool);
    simulated_finish(stream);
    fixture_synchronize(stream);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), 0);
    fixture_check(pool);
}

// Lanes are kept for use again; uses up those that are spare, and then some.
static void use_up_spare_lanes(poolMemPool_t pool) {
    enum { MOST = 1000 };
    for (int i = 0; i < MOST; i++)
        fixture_lane(pool, simulated_stream());
}

static void without_host_memory_there_is_no_lane_and_the_pool_is_as_it_was(void **state) {
    (void)state;
    use_up_spare_lanes(fixture_pool());
    poolMemPool_t pool = fixture_pool();
    struct sp_stream *stream = fixture_stream(simulated_stream());
    // The lane; the table, while the lane becomes a spare one.
    for (uint64_t nth = 1; nth <= 2; nth++) {
        uint64_t failed = 0;
        host_memory_enter(nth, false);
        struct sp_lane *lane = sp_lane_of(fixture_inside(pool), stream);
        host_memory_leave(&failed);
        assert_int_equal(failed, 1);
        assert_null(lane);
        assert_true(sp_list_empty(&fixture_inside(pool)->lanes.list));
    }
    assert_non_null(sp_lane_of(fixture_inside(pool), stream));
}

static void a_malloc_without_host_memory_for_its_lane_changes_nothing(void **state) {
    (void)state;
    uint64_t failed = 0;
    void *pointer = &failed;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    fixture_stream(a);
    host_memory_enter(1, true);
    poolError_t error = poolMallocFromPoolAsync(&pointer, MIB(1), pool, a);
    host_memory_leave(&failed);
    assert_int_equal(error, poolErrorMemoryAllocation);
    assert_non_null(strstr(poolGetLastErrorDetail(), "out of host memory"));
    assert_ptr_equal(pointer, &failed);
    assert_int_equal(fixture_reserved(pool), 0);
    assert_int_equal(fixture_used(pool), 0);
}

static void a_lane_that_is_used_again_has_nothing_of_its_last_pool(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    fixture_free(fixture_malloc(pool, MIB(3), a), a);
    fixture_free(fixture_malloc(pool, 100, a), a);
    struct sp_lane *lane = fixture_lane(pool, a);
    inside_demolish(fixture_inside(pool));
    pool = fixture_pool();
    assert_ptr_equal(fixture_lane(pool, a), lane);
    assert_int_equal(lane->quick_used, 0);
    assert_true(sp_list_empty(&lane->owned_slabs));
    fixture_check(pool);
    assert_int_equal(fixture_reserved(pool), 0);
    fixture_malloc(pool, MIB(3), a);
}

static uint64_t private_records(void) {
    return simcudaCallCount("cuEventRecord");
}

static void a_free_beyond_what_may_be_held_records_and_the_count_begins_anew(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, MIB(16));
    for (int round = 0; round < 3; round++) {
        uint64_t before = private_records();
        void *blocks[2] = {fixture_malloc(pool, MIB(8), a), fixture_malloc(pool, MIB(8), a)};
        fixture_free(blocks[0], a);
        assert_int_equal(private_records(), before);
        fixture_free(blocks[1], a);
        assert_int_equal(private_records(), before + 1);
    }
}

static void memory_that_its_stream_takes_again_is_held_back_from_nobody(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, MIB(16));
    uint64_t before = private_records();
    for (int round = 0; round < 5; round++)
        fixture_free(fixture_malloc(pool, MIB(8), a), a);
    assert_int_equal(private_records(), before);
}

static void in_a_pool_that_is_short_of_memory_each_free_records(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool_of_at_most(MIB(64));
    CUstream a = simulated_stream();
    void *pointer = NULL, *all = fixture_malloc(pool, MIB(56), a);
    void *small[3] = {fixture_malloc(pool, 1000, a), fixture_malloc(pool, 1000, a),
                      fixture_malloc(pool, 1000, a)};
    fixture_free(small[0], a);
    assert_int_equal(poolMallocFromPoolAsync(&pointer, MIB(56), pool, a),
                     poolErrorMemoryAllocation);
    uint64_t before = private_records();
    fixture_free(small[1], a);
    assert_int_equal(private_records(), before + 1);
    fixture_free(all, a);
    fixture_synchronize(a);
    fixture_trim(pool, MIB(2));
    all = fixture_malloc(pool, MIB(56), a); // grows, so it is short no longer
    before = private_records();
    fixture_free(small[2], a);
    assert_int_equal(private_records(), before);
    fixture_free(all, a);
}

static void in_a_pool_that_was_given_up_each_free_records(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    void *small[3] = {fixture_malloc(pool, 1000, a), fixture_malloc(pool, 1000, a),
                      fixture_malloc(pool, 1000, a)};
    fixture_free(small[0], a);
    uint64_t before = private_records();
    fixture_free(small[1], a);
    assert_int_equal(private_records(), before);
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    fixture_free(small[2], a);
    assert_int_equal(private_records(), before + 1);
}

// A number that a query closes without an answer, or a record that fails, fences nothing.
static void a_query_of_a_pending_stream_fences_no_bytes(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, MIB(16));
    simulated_work(a);
    uint64_t before = private_records();
    void *blocks[4];
    for (int i = 0; i < 4; i++)
        blocks[i] = fixture_malloc(pool, MIB(8), a);
    for (int i = 0; i < 4; i++) {
        fixture_free(blocks[i], a);
        assert_int_equal(poolStreamQuery(a), poolErrorNotReady);
    }
    assert_int_equal(private_records(), before + 2);
}

static void a_record_that_failed_fences_no_bytes(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, MIB(8));
    void *first = fixture_malloc(pool, MIB(12), a); // more than may be held
    void *second = fixture_malloc(pool, 100, a);
    simcudaFailCall("cuEventRecord", 1, simcudaFaultOnce, CUDA_ERROR_OUT_OF_MEMORY);
    fixture_free(first, a);
    assert_int_equal(simcudaFailCount(), 1);
    uint64_t before = private_records();
    fixture_free(second, a);
    assert_int_equal(private_records(), before + 1);
}

// The same calls on a device that is slow and on one that is fast; what a query answers isn't
// looked at.
static poolError_t outcome_on_a_device(bool fast) {
    void *pointer = NULL;
    poolMemPool_t pool = fixture_pool_of_at_most(MIB(32));
    CUstream a = simulated_stream(), b = simulated_stream();
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, MIB(16));
    void *first = fixture_malloc(pool, MIB(3), a);
    void *second = fixture_malloc(pool, MIB(3), a);
    for (int i = 0; i < 3; i++)
        fixture_malloc(pool, MIB(8),
                       b); // all that the pool may have, but for what is left of the first extents
    if (!fast)
        simulated_work(a);
    fixture_free(first, a);
    poolStreamQuery(a);
    fixture_free(second, a);
    return poolMallocFromPoolAsync(&pointer, MIB(3), pool, b);
}

static void a_deterministic_pool_records_as_its_program_calls(void **state) {
    (void)state;
    assert_int_equal(outcome_on_a_device(true), outcome_on_a_device(false));
}

#define lane_test(function)                                                                        \
    cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        lane_test(without_host_memory_there_is_no_lane_and_the_pool_is_as_it_was),
        lane_test(a_stream_has_one_lane_in_a_pool_and_another_in_another),
        lane_test(a_pool_with_two_lanes_is_shared),
        lane_test(lanes_keep_their_place_when_the_table_grows),
        lane_test(a_lane_is_listed_from_its_first_free_until_it_is_collected_from),
        lane_test(an_idle_lane_takes_less_than_two_kilobytes),
        lane_test(tiers_are_made_for_a_block_and_end_once_it_is_complete),
        lane_test(without_host_memory_for_tiers_a_block_waits_beside_those_of_several_streams),
        lane_test(a_lane_that_is_used_again_has_nothing_of_its_last_pool),
        lane_test(a_malloc_without_host_memory_for_its_lane_changes_nothing),
        lane_test(a_free_beyond_what_may_be_held_records_and_the_count_begins_anew),
        lane_test(a_query_of_a_pending_stream_fences_no_bytes),
        lane_test(memory_that_its_stream_takes_again_is_held_back_from_nobody),
        lane_test(in_a_pool_that_is_short_of_memory_each_free_records),
        lane_test(in_a_pool_that_was_given_up_each_free_records),
        lane_test(a_record_that_failed_fences_no_bytes),
        lane_test(a_deterministic_pool_records_as_its_program_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
