// What a shared pool grows by because it will be needed soon.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "region/collect.h"
#include "supply/growth.h"
#include "unit/fixture/pool.h"

static poolMemPool_t pool;
static CUstream a, b;

static int setup(void **state) {
    (void)state;
    if (fixture_begin("memory=16G") != 0)
        return -1;
    pool = fixture_pool();
    a = simulated_stream();
    b = simulated_stream();
    return 0;
}

static void share(void) {
    fixture_lane(pool, a);
    fixture_lane(pool, b);
}

static void miss(uint32_t times) {
    struct sp_lane *lane = fixture_lane(pool, b);
    sp_store_relaxed(&lane->misses, sp_load_relaxed(&lane->misses) + times);
}

static bool is_foreseen(size_t size) {
    return sp_growth_is_foreseen(fixture_inside(pool), size);
}

// Uses memory that some misses later is `more` bytes more, and leaves the second part free.
static void rise(size_t from, size_t more, uint32_t misses) {
    fixture_malloc(pool, from, a);
    void *second = fixture_malloc(pool, more, a);
    assert_int_equal(fixture_reserved(pool), from + more);
    miss(misses);
    fixture_free(second, a);
}

static void a_pool_grows_by_three_quarters_of_what_its_need_rose_by(void **state) {
    (void)state;
    share();
    rise(MIB(160), MIB(40), SP_RISE_PERIOD_MIN);
    assert_true(is_foreseen(MIB(30)));
    assert_false(is_foreseen(MIB(32)));
}

static void it_holds_no_more_than_a_fifth_beyond_its_need(void **state) {
    (void)state;
    share();
    rise(MIB(80), MIB(320), SP_RISE_PERIOD_MIN);
    assert_true(is_foreseen(MIB(80)));
    assert_false(is_foreseen(MIB(82)));
}

static void a_request_is_no_rise_itself(void **state) {
    (void)state;
    share();
    rise(MIB(140), MIB(20), SP_RISE_PERIOD_MIN);
    assert_false(is_foreseen(MIB(100)));
}

static void a_need_that_rises_no_more_is_foreseen_no_more(void **state) {
    (void)state;
    share();
    rise(MIB(160), MIB(40), SP_RISE_PERIOD_MIN);
    assert_true(is_foreseen(MIB(30)));
    miss(SP_RISE_PERIOD_MIN - 1);
    assert_true(is_foreseen(MIB(30)));
    miss(1);
    assert_false(is_foreseen(MIB(2)));
}

static void a_need_that_rises_on_is_foreseen_on(void **state) {
    (void)state;
    share();
    rise(MIB(160), MIB(40), SP_RISE_PERIOD_MIN);
    assert_true(is_foreseen(MIB(30)));
    void *third = fixture_malloc(pool, MIB(80), a);
    assert_int_equal(fixture_reserved(pool), MIB(240));
    miss(SP_RISE_PERIOD_MIN);
    fixture_free(third, a);
    assert_true(is_foreseen(MIB(30)));
    assert_false(is_foreseen(MIB(32)));
}

static void a_rise_of_long_ago_is_none(void **state) {
    (void)state;
    share();
    rise(MIB(160), MIB(40), 2 * SP_RISE_PERIOD_MIN);
    assert_false(is_foreseen(MIB(2)));
}

static void a_period_is_longer_in_a_program_that_ran_for_longer(void **state) {
    (void)state;
    uint32_t before = 100 * SP_RISE_PERIOD_MIN;
    uint32_t period = before / (SP_RISE_PERIOD - 1) + 1;
    share();
    miss(before);
    rise(MIB(160), MIB(40), period);
    assert_true(is_foreseen(MIB(30)));
    miss(period - 1);
    assert_true(is_foreseen(MIB(30)));
}

static void memory_of_the_time_before_the_pool_was_shared_is_no_rise(void **state) {
    (void)state;
    fixture_malloc(pool, MIB(160), a);
    void *second = fixture_malloc(pool, MIB(40), a);
    share();
    fixture_free(second, a);
    miss(SP_RISE_PERIOD_MIN);
    assert_false(is_foreseen(MIB(2)));
    miss(SP_RISE_PERIOD_MIN);
    assert_false(is_foreseen(MIB(2)));
}

static void a_pool_of_one_stream_foresees_nothing(void **state) {
    (void)state;
    fixture_malloc(pool, MIB(160), a);
    fixture_free(fixture_malloc(pool, MIB(40), a), a);
    struct sp_lane *lane = fixture_lane(pool, a);
    sp_store_relaxed(&lane->misses, SP_RISE_PERIOD_MIN);
    assert_false(is_foreseen(MIB(2)));
}

static void a_pool_of_very_many_streams_foresees_nothing(void **state) {
    (void)state;
    share();
    for (int i = 0; i < SP_LANES_AT_ONCE; i++)
        fixture_lane(pool, simulated_stream());
    rise(MIB(160), MIB(40), SP_RISE_PERIOD_MIN);
    assert_false(is_foreseen(MIB(2)));
}

static void growth_beyond_use_bounds_what_is_foreseen(void **state) {
    (void)state;
    share();
    rise(MIB(160), MIB(40), SP_RISE_PERIOD_MIN);
    fixture_set(pool, poolMemPoolAttrGrowthBeyondUse, 10); // percent, of 200 MiB
    assert_true(is_foreseen(MIB(20)));
    assert_false(is_foreseen(MIB(22)));
}

static void a_new_high_of_use_rises_from_where_it_was_set(void **state) {
    (void)state;
    share();
    rise(MIB(160), MIB(40), SP_RISE_PERIOD_MIN);
    sp_collect_all(fixture_inside(pool));
    fixture_set(pool, poolMemPoolAttrUsedMemHigh, 0); // 160 MiB, which is no rise
    assert_false(is_foreseen(MIB(2)));
}

// Leaves 64 of 128 MiB free, in pieces of 8 MiB.
static void scatter(void) {
    void *blocks[16];
    for (int i = 0; i < 16; i++)
        blocks[i] = fixture_malloc(pool, MIB(8), a);
    for (int i = 0; i < 16; i += 2)
        fixture_free(blocks[i], a);
    fixture_synchronize(a);
    sp_collect_all(fixture_inside(pool));
    assert_int_equal(fixture_reserved(pool), MIB(128));
}

static void a_pool_grows_while_its_need_rises_and_remaps_once_that_rests(void **state) {
    (void)state;
    share();
    scatter();
    fixture_malloc(pool, MIB(24), a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatRemaps), 0);
    assert_int_equal(fixture_reserved(pool), MIB(152));
    miss(2 * SP_RISE_PERIOD_MIN);
    fixture_malloc(pool, MIB(24), a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatRemaps), 1);
    assert_int_equal(fixture_reserved(pool), MIB(152));
    fixture_check(pool);
}

static void a_request_that_may_not_grow_is_remapped_all_the_same(void **state) {
    (void)state;
    void *block = NULL;
    share();
    scatter();
    assert_int_equal(poolMallocAsyncWithFlags(&block, MIB(32), pool, a, poolMallocNoGrowth),
                     poolSuccess);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatRemaps), 1);
    assert_int_equal(fixture_reserved(pool), MIB(128));
}

// ------------------------------------------------------------------ growth for want of one piece

static bool asks_at_each_miss(void) {
    return fixture_inside(pool)->lanes.ask_each_miss;
}

// A pool looks at its need when it might remap.
static void note_need(void) {
    is_foreseen(MIB(2));
}

static void forbid_remaps(void) {
    fixture_set_flag(pool, poolMemPoolAttrDefragmentation, poolDefragmentNever);
}

static void a_pool_that_grows_for_want_of_one_piece_asks_at_each_miss(void **state) {
    (void)state;
    share();
    forbid_remaps();
    scatter();
    note_need();
    miss(SP_RISE_PERIOD_MIN - 2); // and one more for each block
    fixture_free(fixture_malloc(pool, MIB(24), a), a);
    assert_int_equal(fixture_reserved(pool), MIB(152));
    assert_false(asks_at_each_miss());
    fixture_malloc(pool, MIB(40), a);
    assert_true(fixture_reserved(pool) > MIB(152));
    assert_true(asks_at_each_miss());
}

static void so_does_one_that_maps_what_its_pieces_lack(void **state) {
    (void)state;
    share();
    scatter();
    note_need();
    miss(SP_RISE_PERIOD_MIN);
    fixture_malloc(pool, MIB(72), a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatRemaps), 1);
    assert_true(fixture_reserved(pool) < MIB(128 + 72));
    assert_true(asks_at_each_miss());
    fixture_check(pool);
}

static void one_that_has_enough_pieces_need_not(void **state) {
    (void)state;
    share();
    scatter();
    note_need();
    miss(2 * SP_RISE_PERIOD_MIN);
    fixture_malloc(pool, MIB(24), a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatRemaps), 1);
    assert_false(asks_at_each_miss());
}

static void memory_that_is_needed_is_no_sign_of_pieces(void **state) {
    (void)state;
    share();
    fixture_malloc(pool, MIB(128), a);
    note_need();
    miss(2 * SP_RISE_PERIOD_MIN);
    fixture_malloc(pool, MIB(64), a);
    assert_int_equal(fixture_reserved(pool), MIB(192));
    assert_false(asks_at_each_miss());
}

static void growth_for_small_blocks_is_no_sign_of_pieces(void **state) {
    (void)state;
    share();
    scatter();
    note_need();
    miss(2 * SP_RISE_PERIOD_MIN);
    fixture_malloc(pool, KIB(1), a);
    assert_true(fixture_reserved(pool) > MIB(128));
    assert_false(asks_at_each_miss());
}

static void a_pool_that_may_not_ask_never_does(void **state) {
    (void)state;
    share();
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    scatter();
    note_need();
    miss(2 * SP_RISE_PERIOD_MIN);
    fixture_malloc(pool, MIB(72), a);
    assert_true(fixture_reserved(pool) > MIB(128));
    assert_false(asks_at_each_miss());
}

static void a_pool_of_one_stream_never_asks_at_each_miss(void **state) {
    (void)state;
    forbid_remaps();
    scatter();
    note_need();
    sp_store_relaxed(&fixture_lane(pool, a)->misses, 2 * SP_RISE_PERIOD_MIN);
    fixture_malloc(pool, MIB(40), a);
    assert_false(asks_at_each_miss());
}

// It can't grow for ever.
static void a_pool_with_a_limit_never_asks_at_each_miss(void **state) {
    (void)state;
    pool = fixture_pool_of_at_most(GIB(1));
    share();
    forbid_remaps();
    scatter();
    note_need();
    miss(2 * SP_RISE_PERIOD_MIN);
    fixture_malloc(pool, MIB(40), a);
    assert_true(fixture_reserved(pool) > MIB(128));
    assert_false(asks_at_each_miss());
}

static void a_pool_that_found_no_more_memory_asks_now_and_then_again(void **state) {
    (void)state;
    void *block;
    a_pool_that_grows_for_want_of_one_piece_asks_at_each_miss(state);
    assert_int_equal(poolMallocFromPoolAsync(&block, GIB(16), pool, a), poolErrorMemoryAllocation);
    assert_false(asks_at_each_miss());
}

static void a_pool_of_very_many_streams_never_asks_at_each_miss(void **state) {
    (void)state;
    share();
    for (int i = 0; i < SP_LANES_AT_ONCE; i++)
        fixture_lane(pool, simulated_stream());
    forbid_remaps();
    scatter();
    note_need();
    miss(2 * SP_RISE_PERIOD_MIN);
    fixture_malloc(pool, MIB(40), a);
    assert_false(asks_at_each_miss());
}

static void a_new_pool_asks_now_and_then(void **state) {
    (void)state;
    atomic_store(&fixture_inside(pool)->lanes.ask_each_miss, true);
    const struct sp_pool *before = fixture_inside(pool);
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    pool = fixture_pool();
    assert_ptr_equal(fixture_inside(pool), before);
    assert_false(asks_at_each_miss());
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_pool_grows_by_three_quarters_of_what_its_need_rose_by),
        TEST(it_holds_no_more_than_a_fifth_beyond_its_need),
        TEST(a_request_is_no_rise_itself),
        TEST(a_need_that_rises_no_more_is_foreseen_no_more),
        TEST(a_need_that_rises_on_is_foreseen_on),
        TEST(a_rise_of_long_ago_is_none),
        TEST(a_period_is_longer_in_a_program_that_ran_for_longer),
        TEST(memory_of_the_time_before_the_pool_was_shared_is_no_rise),
        TEST(a_pool_of_one_stream_foresees_nothing),
        TEST(a_pool_of_very_many_streams_foresees_nothing),
        TEST(growth_beyond_use_bounds_what_is_foreseen),
        TEST(a_new_high_of_use_rises_from_where_it_was_set),
        TEST(a_pool_grows_while_its_need_rises_and_remaps_once_that_rests),
        TEST(a_request_that_may_not_grow_is_remapped_all_the_same),
        TEST(a_pool_that_grows_for_want_of_one_piece_asks_at_each_miss),
        TEST(so_does_one_that_maps_what_its_pieces_lack),
        TEST(one_that_has_enough_pieces_need_not),
        TEST(memory_that_is_needed_is_no_sign_of_pieces),
        TEST(growth_for_small_blocks_is_no_sign_of_pieces),
        TEST(a_pool_that_may_not_ask_never_does),
        TEST(a_pool_of_one_stream_never_asks_at_each_miss),
        TEST(a_pool_with_a_limit_never_asks_at_each_miss),
        TEST(a_pool_that_found_no_more_memory_asks_now_and_then_again),
        TEST(a_pool_of_very_many_streams_never_asks_at_each_miss),
        TEST(a_new_pool_asks_now_and_then),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
