#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "order/progress.h"
#include "region/collect.h"
#include "region/device.h"
#include "unit/fixture/pool.h"
#include "unit/random.h"

static int setup(void **state) {
    (void)state;
    return fixture_begin("memory=16G");
}

// A pool that two streams have used.
static poolMemPool_t shared_pool(CUstream *a, CUstream *b) {
    poolMemPool_t pool = fixture_pool();
    *a = simulated_stream();
    *b = simulated_stream();
    fixture_lane(pool, *a);
    fixture_lane(pool, *b);
    return pool;
}

// Leaves 12 MiB free at the address that is returned, and 8 MiB behind them.
static char *malloc_two_gaps(poolMemPool_t pool, CUstream stream) {
    char *wide = fixture_malloc(pool, MIB(12), stream);
    fixture_malloc(pool, MIB(1), stream);
    void *narrow = fixture_malloc(pool, MIB(8), stream);
    fixture_malloc(pool, MIB(1), stream);
    fixture_free(wide, stream);
    fixture_free(narrow, stream);
    fixture_synchronize(stream);
    sp_collect_all(fixture_inside(pool));
    return wide;
}

static void in_a_pool_of_one_stream_a_block_lies_where_it_fits_best(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    char *wide = malloc_two_gaps(pool, a);
    assert_true((char *)fixture_malloc(pool, MIB(7), a) > wide + MIB(12));
}

static void in_a_shared_pool_it_lies_at_the_lowest_address_where_it_fits(void **state) {
    (void)state;
    CUstream a, b;
    poolMemPool_t pool = shared_pool(&a, &b);
    char *wide = malloc_two_gaps(pool, a);
    assert_ptr_equal(fixture_malloc(pool, MIB(7), b), wide);
    assert_true((char *)fixture_malloc(pool, MIB(7), a) > wide + MIB(12));
    assert_ptr_equal(fixture_malloc(pool, MIB(5), a), wide + MIB(7));
    fixture_check(pool);
}

static void all_lanes_know_that_the_pool_is_shared(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    struct sp_lane *lanes[4];
    for (int i = 0; i < 4; i++) {
        lanes[i] = fixture_lane(pool, simulated_stream());
        for (int j = 0; j <= i; j++)
            assert_int_equal(lanes[j]->by_address, i > 0);
    }
}

static void what_is_allocated_and_freed_in_turn_stays_where_it_is(void **state) {
    (void)state;
    CUstream a, b;
    poolMemPool_t pool = shared_pool(&a, &b);
    const struct sp_lane *lane = fixture_lane(pool, a);
    void *block = fixture_malloc(pool, MIB(4), a);
    fixture_free(block, a);
    uint64_t hits = lane->hits;
    for (uint64_t i = 1; i <= 10; i++) {
        assert_ptr_equal(fixture_malloc(pool, MIB(4), a), block);
        assert_int_equal(lane->hits, hits + i);
        fixture_free(block, a);
    }
    fixture_check(pool);
}

// Only the block that the lane gave out last waits in its quick list, and it alone.
static void what_was_allocated_before_is_placed_anew(void **state) {
    (void)state;
    CUstream a, b;
    poolMemPool_t pool = shared_pool(&a, &b);
    const struct sp_lane *lane = fixture_lane(pool, a);
    void *first = fixture_malloc(pool, MIB(4), a);
    void *second = fixture_malloc(pool, MIB(4), a);
    void *third = fixture_malloc(pool, MIB(4), a);
    fixture_free(first, a);
    assert_int_equal(lane->quick_used, 0);
    fixture_free(third, a);
    assert_int_not_equal(lane->quick_used, 0);
    fixture_free(second, a);
    assert_int_equal(fixture_lane_bytes(lane), MIB(8));
    assert_ptr_equal(fixture_malloc(pool, MIB(4), a), third);
    assert_ptr_equal(fixture_malloc(pool, MIB(4), a), first);
    fixture_check(pool);
}

static void free_on(poolMemPool_t pool, CUstream owner, CUstream other) {
    fixture_free(fixture_malloc(pool, MIB(4), owner), other);
}

// A block that another stream frees is filed, unless a thread holds the pool's lock at the moment:
// then it waits in the lane, and is given out from there.
static void while_threads_stand_in_each_others_way_lanes_keep_what_is_freed(void **state) {
    (void)state;
    CUstream a, b;
    poolMemPool_t pool = shared_pool(&a, &b);
    struct sp_pool *inside = fixture_inside(pool);
    const struct sp_lane *lane = fixture_lane(pool, b);
    free_on(pool, a, b);
    assert_int_equal(lane->quick_used, 0);
    void *block = fixture_malloc(pool, MIB(4), a);
    sp_lock_acquire(&inside->lock);
    fixture_free(block, b);
    sp_lock_release(&inside->lock);
    assert_int_not_equal(lane->quick_used, 0);
    assert_ptr_equal(fixture_malloc(pool, MIB(4), b), block);
    fixture_check(pool);
}

// What is complete already doesn't wait for what is freed beside it.
static void
a_neighbour_that_is_complete_becomes_ready_and_no_part_of_what_is_pending(void **state) {
    (void)state;
    CUstream a, b;
    poolMemPool_t pool = shared_pool(&a, &b);
    struct sp_pool *inside = fixture_inside(pool);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    void *first = fixture_malloc(pool, MIB(4), a);
    void *second = fixture_malloc(pool, MIB(4), a);
    fixture_malloc(pool, MIB(4), a);
    fixture_free(first, a);
    sp_poll_stream(fixture_stream(a)); // learned, and not looked through yet
    simulated_work(a);
    fixture_free(second, a);
    assert_int_equal(inside->regions[SP_REGION_LARGE].ready.bytes, MIB(4));
    assert_int_equal(fixture_lane_bytes(fixture_lane(pool, a)), MIB(4));
    fixture_check(pool);
}

// There may be very much that waits for several streams, and no number says when it is over.
static void a_miss_looks_at_nothing_that_waits_for_several_streams(void **state) {
    (void)state;
    CUstream a, b;
    poolMemPool_t pool = shared_pool(&a, &b);
    struct sp_pool *inside = fixture_inside(pool);
    CUstream both[] = {a, b};
    void *own = fixture_malloc(pool, MIB(24), a);
    void *of_two = fixture_malloc(pool, MIB(4), a);
    void *of_one = fixture_malloc(pool, MIB(16), b);
    simulated_work(a);
    assert_int_equal(poolFreeAsyncAfter(of_two, both, 2), poolSuccess);
    fixture_free(own, a);
    fixture_free(of_one, b);
    sp_collect_all(inside);
    simulated_finish(a);
    sp_poll_stream(fixture_stream(a));
    sp_poll_stream(fixture_stream(b));
    atomic_store(&fixture_lane(pool, a)->misses, 1);
    fixture_malloc(pool, MIB(1), a);
    assert_int_equal(fixture_lane_bytes(fixture_lane(pool, b)), 0);
    assert_true(inside->regions[SP_REGION_LARGE].waiting.bytes +
                    inside->regions[SP_REGION_LARGE].unfenced.bytes ==
                MIB(4));
    fixture_check(pool);
}

enum { STREAMS = 4, LIVE = 60, STEPS = 3000 };

static void free_and_wait(void *pointer, CUstream stream) {
    fixture_free(pointer, stream);
    fixture_synchronize(stream);
}

// A program that does the same each time, and ends with nothing live. All that it frees is known to
// be complete.
static void play(poolMemPool_t pool, CUstream *streams) {
    void *live[LIVE] = {0};
    CUstream owners[LIVE];
    uint64_t seed = 77;
    for (int i = 0; i < STEPS; i++) {
        size_t at = random_below(&seed, LIVE);
        size_t size = KIB(100) << random_below(&seed, 8);
        CUstream stream = streams[random_below(&seed, STREAMS)];
        if (live[at])
            free_and_wait(live[at], owners[at]);
        owners[at] = stream;
        live[at] = fixture_malloc(pool, size + random_below(&seed, size), stream);
    }
    for (int i = 0; i < LIVE; i++) {
        if (live[i])
            free_and_wait(live[i], owners[i]);
    }
}

static void a_program_that_repeats_itself_needs_no_more_memory_each_time(void **state) {
    (void)state;
    CUstream streams[STREAMS];
    poolMemPool_t pool = fixture_pool();
    fixture_set(pool, poolMemPoolAttrDefragmentation, poolDefragmentNever);
    for (int i = 0; i < STREAMS; i++)
        fixture_lane(pool, streams[i] = simulated_stream());
    play(pool, streams);
    uint64_t reserved = fixture_reserved(pool);
    for (int pass = 0; pass < 6; pass++) {
        play(pool, streams);
        assert_int_equal(fixture_reserved(pool), reserved);
    }
    fixture_check(pool);
}

#define by_address_test(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        by_address_test(in_a_pool_of_one_stream_a_block_lies_where_it_fits_best),
        by_address_test(in_a_shared_pool_it_lies_at_the_lowest_address_where_it_fits),
        by_address_test(all_lanes_know_that_the_pool_is_shared),
        by_address_test(what_is_allocated_and_freed_in_turn_stays_where_it_is),
        by_address_test(what_was_allocated_before_is_placed_anew),
        by_address_test(while_threads_stand_in_each_others_way_lanes_keep_what_is_freed),
        by_address_test(a_neighbour_that_is_complete_becomes_ready_and_no_part_of_what_is_pending),
        by_address_test(a_miss_looks_at_nothing_that_waits_for_several_streams),
        by_address_test(a_program_that_repeats_itself_needs_no_more_memory_each_time),
    };
    return cmocka_run_group_tests_name("region_find_by_address", tests, NULL, NULL);
}
