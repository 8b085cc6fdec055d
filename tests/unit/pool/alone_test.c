// While a pool has one lane, what is complete stays with the lane.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "order/mark.h"
#include "order/synchronize.h"
#include "region/collect.h"
#include "region/settle.h"
#include "unit/outcomes.h"
#include "unit/pool/fixture.h"

static poolMemPool_t pool;
static struct sp_pool *inside;
static CUstream a;
static struct sp_lane *lane;

// Three blocks of 4 MiB each that a has, side by side. The pool has no other memory.
static char *blocks[3];

static int setup(void **state) {
    if (fixture_setup(state) != 0)
        return -1;
    pool = fixture_pool();
    inside = fixture_inside(pool);
    a = simulated_stream();
    lane = fixture_lane(pool, a);
    for (int i = 0; i < 3; i++)
        blocks[i] = fixture_malloc(pool, MIB(4), a);
    return fixture_reserved(pool) == MIB(12) ? 0 : -1;
}

static void file(sp_settle_how *how) {
    sp_collect_quick(lane, how);
}

static void settle(bool (*look)(struct sp_pool *pool)) {
    sp_lock_acquire(&inside->lock);
    while (!look(inside))
        ;
    sp_lock_release(&inside->lock);
}

static void free_complete(char *block) {
    fixture_free(block, a);
    file(sp_settle_insert);
    assert_done(sp_synchronize_stream(fixture_stream(a), a));
    settle(sp_settle_part);
}

// An event stands behind it, and the work before that is pending.
static void free_pending(char *block) {
    simulated_work(a);
    fixture_free(block, a);
    assert_done(sp_mark_record(fixture_stream(a)));
    file(sp_settle_insert);
    sp_lock_acquire(&inside->lock);
    sp_settle_fenced(lane);
    sp_lock_release(&inside->lock);
}

static uint64_t ready(void) {
    return inside->regions[SP_REGION_LARGE].ready.bytes;
}

static uint64_t with_event(void) {
    return lane->tiers[SP_REGION_LARGE].bytes;
}

static uint64_t without_event(void) {
    return lane->unfenced[SP_REGION_LARGE].bytes;
}

static uint64_t largest_with_event(void) {
    return sp_tier_last(&lane->tiers[SP_REGION_LARGE])->size;
}

static void what_is_complete_stays_and_joins_what_the_lane_frees(void **state) {
    (void)state;
    free_complete(blocks[0]);
    assert_int_equal(ready(), 0);
    free_pending(blocks[1]);
    assert_int_equal(largest_with_event(), MIB(8));
    assert_ptr_equal(fixture_malloc(pool, MIB(8), a), blocks[0]);
    fixture_check(pool);
}

static void where_several_have_lanes_it_becomes_ready(void **state) {
    (void)state;
    fixture_lane(pool, simulated_stream());
    free_complete(blocks[0]);
    assert_int_equal(ready(), MIB(4));
    assert_int_equal(with_event(), 0);
    fixture_check(pool);
}

// Nothing else completes in between that would make the pool look.
static void a_second_stream_has_what_the_first_one_kept(void **state) {
    (void)state;
    free_complete(blocks[0]);
    settle(sp_settle_part);
    CUstream b = simulated_stream();
    for (int policy = 1; policy <= 3; policy++)
        fixture_set_flag(pool, (enum poolMemPoolAttr)policy, 0);
    uint64_t reserved = fixture_reserved(pool);
    assert_ptr_equal(fixture_malloc(pool, MIB(4), b), blocks[0]);
    assert_int_equal(fixture_reserved(pool), reserved);
    fixture_check(pool);
}

// What is filed once its fence is known to be complete is filed with the fence.
static void so_it_has_what_was_filed_when_it_was_complete(void **state) {
    (void)state;
    fixture_free(blocks[0], a);
    assert_done(sp_synchronize_stream(fixture_stream(a), a));
    settle(sp_settle_part);
    file(sp_settle_insert);
    assert_int_equal(ready(), 0);
    assert_int_equal(with_event(), MIB(4));
    CUstream b = simulated_stream();
    fixture_lane(pool, b);
    settle(sp_settle_part);
    assert_int_equal(ready(), MIB(4));
    fixture_check(pool);
}

static void a_trim_gives_it_back(void **state) {
    (void)state;
    fixture_trim(pool, 0);
    uint64_t reserved = fixture_reserved(pool);
    char *apart = fixture_malloc(pool, MIB(32), a);
    free_complete(apart);
    assert_int_equal(ready(), 0);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), reserved);
    fixture_check(pool);
}

static void the_largest_free_block_may_be_one_of_it(void **state) {
    (void)state;
    free_complete(blocks[0]);
    free_complete(blocks[1]);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatLargestFree), MIB(8));
}

// No event stands behind the block that swallows.
static void swallow(uint64_t unfenced_max) {
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, unfenced_max);
    free_complete(blocks[0]);
    simulated_work(a);
    fixture_free(blocks[1], a);
    file(sp_settle_insert_and_swallow);
}

static void it_is_swallowed_by_what_no_event_stands_behind(void **state) {
    (void)state;
    swallow(MIB(4));
    assert_int_equal(without_event(), MIB(8));
    assert_int_equal(with_event(), 0);
    fixture_check(pool);
}

static void no_more_is_swallowed_than_the_lane_may_hold_back(void **state) {
    (void)state;
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, MIB(8));
    free_complete(blocks[0]);
    free_complete(blocks[2]);
    simulated_work(a);
    fixture_free(blocks[1], a);
    lane->unfenced_most = MIB(4) - 1;
    file(sp_settle_insert_and_swallow);
    assert_int_equal(without_event(), MIB(4));
    assert_int_equal(with_event(), MIB(8));
    fixture_check(pool);
}

static void nothing_is_swallowed_that_others_could_have(void **state) {
    (void)state;
    fixture_lane(pool, simulated_stream());
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, MIB(32));
    free_pending(blocks[0]);
    simulated_work(a);
    fixture_free(blocks[1], a);
    file(sp_settle_insert_and_swallow);
    assert_int_equal(without_event(), MIB(4));
    assert_int_equal(with_event(), MIB(4));
    fixture_check(pool);
}

// Else it would count as in use when the delay is reckoned.
static void with_a_release_delay_it_becomes_ready(void **state) {
    (void)state;
    free_complete(blocks[0]);
    assert_int_equal(ready(), 0);
    fixture_set(pool, poolMemPoolAttrReleaseDelay, 2);
    settle(sp_settle_part);
    assert_int_equal(ready(), MIB(4));
    free_complete(blocks[1]);
    assert_int_equal(ready(), MIB(8));
    fixture_check(pool);
}

#define alone_test(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        alone_test(what_is_complete_stays_and_joins_what_the_lane_frees),
        alone_test(where_several_have_lanes_it_becomes_ready),
        alone_test(a_second_stream_has_what_the_first_one_kept),
        alone_test(so_it_has_what_was_filed_when_it_was_complete),
        alone_test(a_trim_gives_it_back),
        alone_test(the_largest_free_block_may_be_one_of_it),
        alone_test(it_is_swallowed_by_what_no_event_stands_behind),
        alone_test(no_more_is_swallowed_than_the_lane_may_hold_back),
        alone_test(nothing_is_swallowed_that_others_could_have),
        alone_test(with_a_release_delay_it_becomes_ready),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
