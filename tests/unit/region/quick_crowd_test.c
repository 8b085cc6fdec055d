#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "calls/miss.h"
#include "region/collect.h"
#include "region/quick.h"
#include "unit/fixture/pool.h"

static int setup(void **state) {
    (void)state;
    return fixture_begin("memory=16G");
}

static struct sp_lane *lane_of_shared_pool(poolMemPool_t *pool, CUstream *stream) {
    *pool = fixture_pool();
    *stream = simulated_stream();
    fixture_lane(*pool, simulated_stream());
    return fixture_lane(*pool, *stream);
}

static bool meet(struct sp_lane *lane, bool held) {
    if (held)
        sp_lock_acquire(&lane->pool->lock);
    bool met = sp_quick_note_contention(lane);
    if (held)
        sp_lock_release(&lane->pool->lock);
    return met;
}

static void crowd(struct sp_lane *lane) {
    for (int i = 0; i < SP_CONTENTION_FULL / SP_CONTENTION_STEP; i++)
        assert_true(meet(lane, true));
    assert_int_equal(lane->contended_frees, SP_CONTENTION_FREES);
}

static void a_lane_that_finds_the_lock_held_again_and_again_is_in_a_crowd(void **state) {
    (void)state;
    poolMemPool_t pool;
    CUstream stream;
    struct sp_lane *lane = lane_of_shared_pool(&pool, &stream);
    assert_false(sp_quick_keeps(lane));
    assert_false(meet(lane, false));
    crowd(lane);
    assert_true(sp_quick_keeps(lane));
    assert_int_equal(lane->contended_frees, SP_CONTENTION_FREES - 1);
}

static void one_that_finds_it_held_now_and_then_is_not(void **state) {
    (void)state;
    poolMemPool_t pool;
    CUstream stream;
    struct sp_lane *lane = lane_of_shared_pool(&pool, &stream);
    for (int i = 0; i < 1000; i++) {
        assert_true(meet(lane, true));
        for (int j = 0; j < SP_CONTENTION_STEP; j++)
            assert_false(meet(lane, false));
        assert_false(sp_quick_keeps(lane));
    }
    for (int i = 0; i < 1000; i++)
        assert_false(meet(lane, false));
    assert_int_equal(lane->contention, 0);
}

static void it_keeps_so_many_frees_and_files_again_then(void **state) {
    (void)state;
    poolMemPool_t pool;
    CUstream stream;
    struct sp_lane *lane = lane_of_shared_pool(&pool, &stream);
    crowd(lane);
    for (int i = 0; i < SP_CONTENTION_FREES; i++)
        assert_true(sp_quick_keeps(lane));
    assert_false(sp_quick_keeps(lane));
    assert_false(meet(lane, false));
    assert_false(sp_quick_keeps(lane));
    assert_true(meet(lane, true)); // it counts on from near the top
    assert_true(meet(lane, true));
    assert_true(sp_quick_keeps(lane));
}

static void misses_and_frees_count_what_they_meet(void **state) {
    (void)state;
    poolMemPool_t pool;
    CUstream stream;
    struct sp_lane *lane = lane_of_shared_pool(&pool, &stream);
    void *first = fixture_malloc(pool, MIB(1), stream);
    void *second = fixture_malloc(pool, MIB(1), stream);
    lane->contention = 10;
    fixture_free(first, stream);
    assert_int_equal(lane->contention, 9);
    lane->misses = 1; // not its turn to ask
    assert_ptr_equal(fixture_malloc(pool, MIB(1), stream), first);
    assert_int_equal(lane->contention, 8);
    fixture_free(first, stream); // the latest
    assert_ptr_equal(fixture_malloc(pool, MIB(1), stream), first);
    assert_int_equal(lane->contention, 8);
    fixture_free(second, stream);
    fixture_check(pool);
}

// Blocks of several sizes, none of which is the latest.
static void in_a_crowd_what_is_freed_is_given_out_again_with_no_look_at_the_pool(void **state) {
    (void)state;
    enum { BLOCKS = 12 };
    void *blocks[BLOCKS];
    poolMemPool_t pool;
    CUstream stream;
    struct sp_lane *lane = lane_of_shared_pool(&pool, &stream);
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = fixture_malloc(pool, MIB(1), stream);
    crowd(lane);
    uint64_t hits = lane->hits;
    for (int i = 0; i < BLOCKS - 1; i++)
        fixture_free(blocks[i], stream);
    assert_int_equal(fixture_lane_bytes(lane), 0);
    assert_int_equal(lane->contended_frees, SP_CONTENTION_FREES - (BLOCKS - 1));
    fixture_check(pool);
    for (int i = BLOCKS - 2; i >= 0; i--)
        assert_ptr_equal(fixture_malloc(pool, MIB(1), stream), blocks[i]);
    assert_int_equal(lane->hits, hits + BLOCKS - 1);
    lane->contended_frees = 0;
    for (int i = 0; i < BLOCKS - 1; i++)
        fixture_free(blocks[i], stream);
    assert_true(fixture_lane_bytes(lane) > 0);
    fixture_check(pool);
}

// The questions of many threads wait for each other.
static void in_a_crowd_a_lane_asks_by_turns_where_others_ask_at_each_miss(void **state) {
    (void)state;
    poolMemPool_t pool;
    CUstream stream;
    struct sp_lane *lane = lane_of_shared_pool(&pool, &stream);
    atomic_store(&fixture_inside(pool)->lanes.ask_each_miss, true);
    lane->misses = 1;
    assert_true(sp_miss_is_due_to_ask(lane));
    crowd(lane);
    assert_false(sp_miss_is_due_to_ask(lane));
    lane->misses = 8;
    assert_true(sp_miss_is_due_to_ask(lane));
    lane->misses = 1;
    lane->contended_frees = 0;
    assert_true(sp_miss_is_due_to_ask(lane));
}

static void what_another_stream_frees_in_a_crowd_is_kept_by_that_streams_lane(void **state) {
    (void)state;
    poolMemPool_t pool;
    CUstream stream;
    struct sp_lane *lane = lane_of_shared_pool(&pool, &stream);
    CUstream owner = simulated_stream();
    void *block = fixture_malloc(pool, MIB(1), owner);
    crowd(lane);
    fixture_free(block, stream);
    assert_int_equal(lane->contended_frees, SP_CONTENTION_FREES - 1);
    assert_int_not_equal(lane->quick_used, 0);
    assert_ptr_equal(fixture_malloc(pool, MIB(1), stream), block);
    fixture_check(pool);
}

// Other lanes' requests find what a lane keeps before the pool grows.
static void no_pool_grows_beside_what_a_crowd_keeps(void **state) {
    (void)state;
    poolMemPool_t pool;
    CUstream stream, other = simulated_stream();
    struct sp_lane *lane = lane_of_shared_pool(&pool, &stream);
    fixture_set(pool, poolMemPoolAttrDefragmentation, poolDefragmentNever);
    void *block = fixture_malloc(pool, MIB(12), stream);
    fixture_malloc(pool, MIB(1), stream);
    crowd(lane);
    fixture_free(block, stream);
    fixture_synchronize(stream);
    uint64_t reserved = fixture_reserved(pool);
    assert_ptr_equal(fixture_malloc(pool, MIB(12), other), block);
    assert_int_equal(fixture_reserved(pool), reserved);
    fixture_check(pool);
}

// What it does may not depend on what other threads do at the moment.
static void a_deterministic_pool_knows_no_crowds(void **state) {
    (void)state;
    poolMemPool_t pool;
    CUstream stream;
    struct sp_lane *lane = lane_of_shared_pool(&pool, &stream);
    crowd(lane);
    fixture_set(pool, poolMemPoolAttrDeterministic, 1);
    assert_false(sp_quick_keeps(lane));
    assert_false(meet(lane, true));
    lane->contended_frees = 0;
    for (int i = 0; i < 100; i++)
        assert_false(meet(lane, true));
    assert_int_equal(lane->contended_frees, 0);
}

#define crowd_test(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        crowd_test(a_lane_that_finds_the_lock_held_again_and_again_is_in_a_crowd),
        crowd_test(one_that_finds_it_held_now_and_then_is_not),
        crowd_test(it_keeps_so_many_frees_and_files_again_then),
        crowd_test(misses_and_frees_count_what_they_meet),
        crowd_test(in_a_crowd_what_is_freed_is_given_out_again_with_no_look_at_the_pool),
        crowd_test(in_a_crowd_a_lane_asks_by_turns_where_others_ask_at_each_miss),
        crowd_test(what_another_stream_frees_in_a_crowd_is_kept_by_that_streams_lane),
        crowd_test(no_pool_grows_beside_what_a_crowd_keeps),
        crowd_test(a_deterministic_pool_knows_no_crowds),
    };
    return cmocka_run_group_tests_name("region_quick_crowd", tests, NULL, NULL);
}
