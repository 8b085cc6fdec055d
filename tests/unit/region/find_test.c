#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "order/poll.h"
#include "region/collect.h"
#include "region/find.h"
#include "region/request.h"
#include "region/settle.h"
#include "unit/fixture/pool.h"
#include "unit/outcomes.h"

// Free memory of one stream that nothing else in the pool touches: a live block on each side.
static void *free_between_live_blocks(poolMemPool_t pool, size_t size, CUstream stream) {
    fixture_malloc(pool, MIB(1), stream);
    void *freed = fixture_malloc(pool, size, stream);
    fixture_malloc(pool, MIB(1), stream);
    fixture_free(freed, stream);
    return freed;
}

static void a_stream_takes_what_it_freed_at_once(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    simulated_work(a);
    void *freed = free_between_live_blocks(pool, MIB(4), a);
    assert_ptr_equal(fixture_malloc(pool, MIB(4), a), freed);
}

static void free_on_one_stream_is_not_taken_by_another_before_it_is_complete(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    simulated_work(a);
    void *freed = free_between_live_blocks(pool, MIB(4), a);
    assert_done(sp_mark_record(fixture_stream(a)));
    assert_ptr_not_equal(fixture_malloc(pool, MIB(4), b), freed);
}

static void memory_known_complete_is_taken_by_another_stream_under_every_policy(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    for (int policy = 1; policy <= 3; policy++)
        fixture_set_flag(pool, (enum poolMemPoolAttr)policy, 0);
    fixture_lane(pool, b);
    void *freed = free_between_live_blocks(pool, MIB(40), a);
    fixture_synchronize(a);
    assert_ptr_equal(fixture_malloc(pool, MIB(40), b), freed);
}

// The same a second time: nothing new completes between, so what tells the lane apart must not be
// how far the stream is.
static void memory_that_reaches_its_tier_after_it_was_known_complete_is_taken_too(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    fixture_lane(pool, b);
    void *freed = free_between_live_blocks(pool, MIB(40), a);
    fixture_synchronize(a);
    // Looks through the tiers while the memory is still in a quick list.
    fixture_malloc(pool, KIB(1), b);
    uint64_t reserved = fixture_reserved(pool);
    assert_ptr_equal(fixture_malloc(pool, MIB(40), b), freed);
    assert_int_equal(fixture_reserved(pool), reserved);
}

static void a_free_whose_point_was_passed_before_it_was_filed_is_taken_too(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    struct sp_pool *inside = fixture_inside(pool);
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    void *freed = free_between_live_blocks(pool, MIB(40), a);
    assert_done(sp_synchronize_stream(fixture_stream(a), a));
    sp_lock_acquire(&inside->lock);
    sp_settle_all(inside);
    sp_lock_release(&inside->lock);
    sp_collect_quick(fixture_lane(pool, a), sp_settle_insert);
    struct sp_request request;
    sp_request_open(&request, inside, fixture_lane(pool, b), SP_REGION_LARGE, MIB(40),
                    poolMallocDefault);
    struct sp_block *block = sp_find(&request);
    sp_request_close(&request);
    assert_non_null(block);
    assert_int_equal(block->address, (uintptr_t)freed);
    sp_lock_acquire(&inside->lock);
    sp_settle_insert(inside, block);
    sp_lock_release(&inside->lock);
}

static void two_halves_of_a_freed_block_serve_two_smaller_requests(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    char *freed = fixture_malloc(pool, MIB(64), a);
    fixture_free(freed, a);
    uint64_t reserved = fixture_reserved(pool);
    assert_ptr_equal(fixture_malloc(pool, MIB(16), a), freed);
    assert_ptr_equal(fixture_malloc(pool, MIB(16), a), freed + MIB(16));
    assert_int_equal(fixture_reserved(pool), reserved);
}

static void
neighbours_of_which_one_is_ready_and_one_the_streams_own_are_taken_together(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    void *left = fixture_malloc(pool, MIB(32), a);
    void *right = fixture_malloc(pool, MIB(32), b);
    void *end = fixture_malloc(pool, MIB(32), b);
    fixture_free(left, a);
    fixture_synchronize(a);
    simulated_work(b);
    fixture_free(right, b);
    uint64_t reserved = fixture_reserved(pool);
    assert_ptr_equal(fixture_malloc(pool, MIB(60), b), left);
    assert_int_equal(fixture_reserved(pool), reserved);
    fixture_check(pool);
    fixture_free(end, b);
}

static void memory_with_fences_of_two_streams_waits_for_both(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    CUstream c = simulated_stream();
    fixture_lane(pool, c);
    simulated_work(a);
    void *freed = free_between_live_blocks(pool, MIB(40), a);
    assert_ptr_equal(fixture_malloc(pool, MIB(40), a), freed); // keeps a's fence
    simulated_work(b);
    fixture_free(freed, b);
    simulated_finish(b);
    assert_int_equal(poolStreamQuery(b), poolSuccess);
    assert_ptr_not_equal(fixture_malloc(pool, MIB(40), c), freed);
    simulated_finish(a);
    assert_int_equal(poolStreamQuery(a), poolSuccess);
    assert_ptr_equal(fixture_malloc(pool, MIB(40), c), freed);
    fixture_check(pool);
}

static void a_free_with_no_stream_puts_back_the_fences_that_the_memory_came_with(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    simulated_work(a);
    void *freed = free_between_live_blocks(pool, MIB(40), a);
    assert_ptr_equal(fixture_malloc(pool, MIB(40), a), freed);
    assert_int_equal(poolFree(freed), poolSuccess);
    assert_ptr_not_equal(fixture_malloc(pool, MIB(40), b), freed);
    assert_ptr_equal(fixture_malloc(pool, MIB(40), a), freed);
}

static void the_last_resort_mixes_small_and_large(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool_of_at_most(MIB(32));
    CUstream a = simulated_stream();
    simulated_work(a);
    fixture_free(fixture_malloc(pool, MIB(32), a), a);
    void *small = fixture_malloc(pool, 100, a); // from the region of large blocks
    fixture_check(pool);
    void *large = fixture_malloc(pool, MIB(31), a);
    fixture_check(pool);
    fixture_free(small, a);
    fixture_free(large, a);
    fixture_synchronize(a);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), 0);
}

static void a_large_block_is_cut_from_the_pages_of_small_ones_as_a_last_resort(void **state) {
    (void)state;
    enum { MANY = 600 };
    static void *small[MANY];
    poolMemPool_t pool = fixture_pool_of_at_most(MIB(32));
    CUstream a = simulated_stream();
    int count = 0;
    while (count < MANY && fixture_reserved(pool) < MIB(32))
        small[count++] = fixture_malloc(pool, SP_SMALL_MAX, a);
    simulated_work(a);
    while (count > 0)
        fixture_free(small[--count], a);
    void *large = fixture_malloc(pool, MIB(1) + 1, a);
    fixture_check(pool);
    fixture_free(large, a);
    fixture_check(pool);
}

enum { CROWD = 200 };

static void use_what_is_ready(poolMemPool_t pool) {
    const struct sp_tier *ready = &fixture_inside(pool)->regions[SP_REGION_LARGE].ready;
    CUstream another = simulated_stream();
    while (sp_tier_last(ready))
        fixture_malloc(pool, sp_tier_last(ready)->size, another);
}

// These are blocking streams, so the legacy stream runs after each, and all but one block are in
// use.
static char *free_one_of_crowd(poolMemPool_t pool, int which) {
    char *freed = NULL;
    for (int i = 0; i < CROWD; i++) {
        CUstream stream = simulated_blocking_stream();
        void *block = fixture_malloc(pool, MIB(4), stream);
        if (i != which)
            continue;
        simulated_work(stream);
        fixture_free(block, stream);
        assert_done(sp_mark_record(fixture_stream(stream)));
        freed = block;
    }
    use_what_is_ready(pool);
    sp_collect_all(fixture_inside(pool));
    return freed;
}

static struct sp_block *take_for_legacy(poolMemPool_t pool, size_t size) {
    struct sp_request request;
    sp_request_open(&request, fixture_inside(pool), fixture_lane(pool, CU_STREAM_LEGACY),
                    SP_REGION_LARGE, size, poolMallocDefault);
    struct sp_block *block = sp_find(&request);
    sp_request_close(&request);
    return block;
}

static void of_very_many_lanes_that_have_nothing_large_enough_none_is_looked_at(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    const struct sp_region *large = &fixture_inside(pool)->regions[SP_REGION_LARGE];
    free_one_of_crowd(pool, CROWD - 2);
    assert_int_equal(large->lanes_most, MIB(4));
    assert_null(take_for_legacy(pool, MIB(5)));
    struct sp_block *block = take_for_legacy(pool, MIB(3));
    assert_non_null(block);
    assert_null(take_for_legacy(pool, MIB(3))); // which shows that there is none any more
    assert_true(large->lanes_most < MIB(3));
    sp_collect_flush(fixture_inside(pool), block, sp_settle_insert);
    assert_true(large->lanes_most >= MIB(3));
}

static void what_is_large_enough_is_found_in_any_of_them(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    char *freed = free_one_of_crowd(pool, CROWD - 2);
    struct sp_block *block = take_for_legacy(pool, MIB(4));
    assert_non_null(block);
    assert_int_equal(block->address, (uintptr_t)freed);
    sp_collect_flush(fixture_inside(pool), block, sp_settle_insert);
}

// The block waits for two streams, and for one of them once the other is complete. Meanwhile a
// request has looked at the lanes in vain.
static void a_lane_that_gets_what_has_waited_for_two_streams_is_looked_at(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream(), b = simulated_stream();
    const struct sp_region *large = &fixture_inside(pool)->regions[SP_REGION_LARGE];
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    simulated_work(a);
    void *freed = free_between_live_blocks(pool, MIB(40), a);
    assert_ptr_equal(fixture_malloc(pool, MIB(40), a), freed); // keeps a's fence
    simulated_work(b);
    fixture_free(freed, b);
    use_what_is_ready(pool);
    assert_null(take_for_legacy(pool, MIB(40)));
    assert_true(large->lanes_most < MIB(40));
    simulated_finish(b);
    assert_int_equal(poolStreamQuery(b), poolSuccess);
    sp_collect_all(fixture_inside(pool));
    assert_true(fixture_lane_bytes(fixture_lane(pool, a)) >= MIB(40));
    assert_true(large->lanes_most >= MIB(40));
}

#define find_test(function)                                                                        \
    cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        find_test(a_stream_takes_what_it_freed_at_once),
        find_test(free_on_one_stream_is_not_taken_by_another_before_it_is_complete),
        find_test(memory_known_complete_is_taken_by_another_stream_under_every_policy),
        find_test(memory_that_reaches_its_tier_after_it_was_known_complete_is_taken_too),
        find_test(a_free_whose_point_was_passed_before_it_was_filed_is_taken_too),
        find_test(two_halves_of_a_freed_block_serve_two_smaller_requests),
        find_test(neighbours_of_which_one_is_ready_and_one_the_streams_own_are_taken_together),
        find_test(memory_with_fences_of_two_streams_waits_for_both),
        find_test(a_free_with_no_stream_puts_back_the_fences_that_the_memory_came_with),
        find_test(the_last_resort_mixes_small_and_large),
        find_test(a_large_block_is_cut_from_the_pages_of_small_ones_as_a_last_resort),
        find_test(of_very_many_lanes_that_have_nothing_large_enough_none_is_looked_at),
        find_test(what_is_large_enough_is_found_in_any_of_them),
        find_test(a_lane_that_gets_what_has_waited_for_two_streams_is_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
