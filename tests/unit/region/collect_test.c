#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/host_memory.h"
#include "region/collect.h"
#include "region/lane.h"
#include "region/settle.h"
#include "supply/growth.h"
#include "supply/trim.h"
#include "unit/fixture/pool.h"

static uint64_t cached_blocks(const struct sp_lane *lane) {
    uint64_t count = 0;
    for (int i = 0; i < SP_QUICK_BINS; i++) {
        for (const struct sp_block *b = lane->quick[i].head; b; b = b->quick_next)
            count++;
    }
    return count;
}

static void collecting_empties_the_quick_lists_of_all_lanes(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream streams[3];
    for (int i = 0; i < 3; i++) {
        void *pointers[8];
        streams[i] = simulated_stream();
        simulated_work(streams[i]);
        for (int j = 0; j < 8; j++)
            pointers[j] = fixture_malloc(pool, KIB(64 + 64 * (j / 2)), streams[i]);
        for (int j = 0; j < 8; j++)
            fixture_free(pointers[j], streams[i]);
    }
    fixture_check(pool);
    sp_collect_all(fixture_inside(pool));
    for (int i = 0; i < 3; i++) {
        const struct sp_lane *lane = fixture_lane(pool, streams[i]);
        assert_int_equal(cached_blocks(lane), 0);
        assert_int_equal(lane->quick_used, 0);
        assert_true(fixture_lane_bytes(lane) > 0);
    }
    fixture_check(pool);
}

static void collecting_gives_the_runs_of_empty_slabs_back_and_keeps_the_others(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    const struct sp_lane *lane = fixture_lane(pool, a);
    void *kept = fixture_malloc(pool, 100, a);
    fixture_free(fixture_malloc(pool, 5000, a), a);
    fixture_free(fixture_malloc(pool, 200, a), a);
    sp_collect_all(fixture_inside(pool));
    assert_ptr_equal(lane->owned_slabs.next, lane->owned_slabs.prev); // one is left
    assert_false(sp_list_empty(&lane->owned_slabs));
    fixture_check(pool);
    fixture_free(kept, a);
    sp_collect_all(fixture_inside(pool));
    assert_true(sp_list_empty(&lane->owned_slabs));
    fixture_check(pool);
}

static void the_run_of_a_slab_carries_the_fences_of_all_who_freed_in_it(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    void *one = fixture_malloc(pool, 100, a);
    void *two = fixture_malloc(pool, 100, a);
    simulated_work(a);
    simulated_work(b);
    fixture_free(one, a);
    fixture_free(two, b);
    sp_collect_all(fixture_inside(pool));
    const struct sp_block *run =
        sp_tier_first(&fixture_inside(pool)->regions[SP_REGION_PAGES].unfenced);
    assert_non_null(run);
    assert_int_equal(run->fences.count, 2);
    assert_int_equal(sp_trim_releasable(fixture_inside(pool)), 0);
    fixture_synchronize(a);
    fixture_synchronize(b);
    assert_int_equal(sp_trim_releasable(fixture_inside(pool)), MIB(2));
}

// An empty slab of which every block was returned, by more streams than a set of fences has room
// for, and no host memory to note them: the slab stays, and must not be taken for one with a free
// block.
static void a_slab_whose_fences_can_not_be_noted_stays_as_it_was(void **state) {
    (void)state;
    enum { BLOCKS = 8, STREAMS = 4 };
    void *blocks[BLOCKS];
    CUstream streams[STREAMS];
    uint64_t failed = 0;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = fixture_malloc(pool, SP_SMALL_MAX, a);
    for (int i = 0; i < STREAMS; i++) {
        streams[i] = simulated_stream();
        simulated_work(streams[i]);
    }
    for (int i = 0; i < BLOCKS; i++)
        fixture_free(blocks[i], streams[i % STREAMS]);
    fixture_check(pool);
    host_memory_enter(1, true);
    sp_collect_all(fixture_inside(pool));
    host_memory_leave(&failed);
    assert_true(failed > 0);
    fixture_check(pool);
    char *other = fixture_malloc(pool, SP_SMALL_MAX, a);
    for (int i = 0; i < BLOCKS; i++)
        assert_ptr_not_equal(other, blocks[i]);
    fixture_check(pool);
    for (int i = 0; i < STREAMS; i++)
        fixture_synchronize(streams[i]);
    fixture_free(other, a);
    fixture_synchronize(a);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), 0);
}

static void flushing_puts_what_the_lane_holds_among_the_free_blocks(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    simulated_work(a);
    void *one = fixture_malloc(pool, MIB(4), a);
    void *two = fixture_malloc(pool, MIB(4), a);
    fixture_malloc(pool, MIB(24), a);
    struct sp_lane *lane = fixture_lane(pool, a);
    fixture_free(one, a);
    fixture_free(two, a);
    sp_collect_quick(lane, sp_settle_insert);
    assert_int_equal(fixture_lane_bytes(lane), MIB(8));
    assert_ptr_equal(fixture_malloc(pool, MIB(8), a), one);
}

static void a_lanes_block_swallows_ready_neighbours_of_its_size_or_less(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    struct sp_pool *inside = fixture_inside(pool);
    CUstream a = simulated_stream();
    void *pieces[4];
    const size_t sizes[] = {MIB(1), MIB(2), MIB(3), MIB(26)};
    for (int i = 0; i < 4; i++)
        pieces[i] = fixture_malloc(pool, sizes[i], a);
    assert_int_equal(poolFree(pieces[0]), poolSuccess); // ready at once: nobody has used it
    assert_int_equal(poolFree(pieces[2]), poolSuccess);
    simulated_work(a);
    fixture_free(pieces[1], a);
    struct sp_lane *lane = fixture_lane(pool, a);
    sp_collect_quick(lane, sp_settle_insert_and_swallow);
    assert_int_equal(fixture_lane_bytes(lane),
                     MIB(3)); // the first and the second; the third is larger
    assert_int_equal(inside->regions[SP_REGION_LARGE].ready.bytes, MIB(3));
    fixture_check(pool);
}

// No event is behind what swallows it: it would keep an extent from others that wasn't counted.
static void it_swallows_none_of_another_extent(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool_of_at_most(MIB(64));
    CUstream a = simulated_stream();
    void *extents[2] = {fixture_malloc(pool, SP_EXTENT_MIN, a),
                        fixture_malloc(pool, SP_EXTENT_MIN, a)};
    assert_ptr_equal(extents[1], (char *)extents[0] + SP_EXTENT_MIN);
    assert_int_equal(poolFree(extents[1]), poolSuccess);
    simulated_work(a);
    fixture_free(extents[0], a);
    struct sp_lane *lane = fixture_lane(pool, a);
    sp_collect_quick(lane, sp_settle_insert_and_swallow);
    assert_int_equal(fixture_lane_bytes(lane), SP_EXTENT_MIN);
    fixture_check(pool);
}

#define collect_test(function)                                                                     \
    cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        collect_test(collecting_empties_the_quick_lists_of_all_lanes),
        collect_test(collecting_gives_the_runs_of_empty_slabs_back_and_keeps_the_others),
        collect_test(the_run_of_a_slab_carries_the_fences_of_all_who_freed_in_it),
        collect_test(a_slab_whose_fences_can_not_be_noted_stays_as_it_was),
        collect_test(flushing_puts_what_the_lane_holds_among_the_free_blocks),
        collect_test(a_lanes_block_swallows_ready_neighbours_of_its_size_or_less),
        collect_test(it_swallows_none_of_another_extent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
