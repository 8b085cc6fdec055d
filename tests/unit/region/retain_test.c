#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inside/worker.h"
#include "region/retain.h"
#include "supply/defer.h"
#include "unit/fixture/pool.h"

// A pool with CUDA's threshold, which holds for so many synchronises what was in use.
static poolMemPool_t holding_pool(uint64_t delay) {
    poolMemPool_t pool = fixture_pool();
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, 0);
    fixture_set(pool, poolMemPoolAttrReleaseDelay, delay);
    return pool;
}

static uint64_t mapping_calls(void) {
    return simcudaCallCount("cuMemCreate") + simcudaCallCount("cuMemMap") +
           simcudaCallCount("cuMemSetAccess") + simcudaCallCount("cuMemUnmap") +
           simcudaCallCount("cuMemRelease");
}

static void use(poolMemPool_t pool, size_t size, CUstream stream) {
    void *block = fixture_malloc(pool, size, stream);
    simulated_work(stream);
    fixture_free(block, stream);
}

static void use_and_synchronize(poolMemPool_t pool, size_t size, CUstream stream) {
    use(pool, size, stream);
    fixture_synchronize(stream);
}

// Many sizes, small ones too, in an order that differs from round to round.
static void use_many_and_synchronize(poolMemPool_t pool, unsigned round, CUstream stream) {
    enum { BLOCKS = 61 };
    void *blocks[BLOCKS];
    for (unsigned i = 0; i < BLOCKS; i++)
        blocks[i] = fixture_malloc(pool, (size_t)513 << (i % 15), stream);
    for (unsigned i = 0; i < BLOCKS; i++)
        fixture_free(blocks[(i * 7 + round) % BLOCKS], stream);
    fixture_synchronize(stream);
}

static void by_default_each_round_of_a_loop_grows_and_trims(void **state) {
    (void)state;
    poolMemPool_t pool = holding_pool(0);
    CUstream a = simulated_stream();
    for (int i = 0; i < 3; i++) {
        uint64_t calls = mapping_calls();
        use_and_synchronize(pool, GIB(2), a);
        assert_true(mapping_calls() > calls);
        assert_int_equal(fixture_reserved(pool), 0);
    }
}

static void a_loop_maps_nothing_after_its_first_round(void **state) {
    (void)state;
    poolMemPool_t pool = holding_pool(1);
    CUstream a = simulated_stream();
    use_and_synchronize(pool, GIB(2), a);
    uint64_t calls = mapping_calls();
    for (int i = 0; i < 10; i++)
        use_and_synchronize(pool, GIB(2), a);
    assert_int_equal(mapping_calls(), calls);
    assert_int_equal(fixture_reserved(pool), GIB(2));
}

static void a_loop_over_many_sizes_maps_nothing_after_its_first_rounds(void **state) {
    (void)state;
    poolMemPool_t pool = holding_pool(2);
    CUstream a = simulated_stream();
    for (unsigned i = 0; i < 3; i++)
        use_many_and_synchronize(pool, i, a);
    uint64_t calls = mapping_calls();
    for (unsigned i = 3; i < 20; i++)
        use_many_and_synchronize(pool, i, a);
    assert_int_equal(mapping_calls(), calls);
}

static void a_loop_that_frees_after_the_synchronise_maps_nothing_either(void **state) {
    (void)state;
    poolMemPool_t pool = holding_pool(1);
    CUstream a = simulated_stream();
    uint64_t calls = 0;
    for (int i = 0; i < 5; i++) {
        void *block = fixture_malloc(pool, MIB(64), a);
        fixture_synchronize(a);
        assert_int_equal(poolFree(block), poolSuccess);
        fixture_synchronize(a);
        calls = i == 0 ? mapping_calls() : calls;
    }
    assert_int_equal(mapping_calls(), calls);
}

// By the synchronise all of it is ready: first new memory, then memory that was.
static void what_is_ready_again_before_the_synchronise_was_in_use_too(void **state) {
    (void)state;
    poolMemPool_t pool = holding_pool(1);
    CUstream a = simulated_stream();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(poolFree(fixture_malloc(pool, MIB(64), a)), poolSuccess);
        fixture_synchronize(a);
        assert_int_equal(fixture_reserved(pool), MIB(64));
    }
}

static void what_is_not_needed_again_goes_at_the_last_of_so_many_synchronises(void **state) {
    (void)state;
    poolMemPool_t pool = holding_pool(4);
    CUstream a = simulated_stream();
    use_and_synchronize(pool, GIB(2), a);
    for (int i = 0; i < 3; i++) {
        fixture_synchronize(a);
        assert_int_equal(fixture_reserved(pool), GIB(2));
    }
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(pool), 0);
    assert_int_equal(simcudaMemoryInUse(0), 0);
}

static void what_is_needed_again_in_time_is_held_anew(void **state) {
    (void)state;
    poolMemPool_t pool = holding_pool(3);
    CUstream a = simulated_stream();
    use_and_synchronize(pool, GIB(1), a);
    uint64_t calls = mapping_calls();
    for (int i = 0; i < 5; i++) {
        fixture_synchronize(a);
        fixture_synchronize(a);
        use_and_synchronize(pool, GIB(1), a);
    }
    assert_int_equal(mapping_calls(), calls);
}

static void no_more_is_held_than_was_in_use_at_once(void **state) {
    (void)state;
    poolMemPool_t pool = holding_pool(8);
    CUstream a = simulated_stream();
    for (int i = 0; i < 4; i++)
        use(pool, MIB(64), a); // the same memory each time
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(pool), MIB(64));
    assert_int_equal(poolMemPoolPrime(pool, MIB(256)), poolSuccess); // which uses nothing
    fixture_trim(pool, 0);
    use_and_synchronize(pool, MIB(32), a);
    assert_int_equal(fixture_inside(pool)->retain.held, MIB(64));
}

static void less_need_is_held_when_the_time_of_more_is_over(void **state) {
    (void)state;
    poolMemPool_t pool = holding_pool(3);
    CUstream a = simulated_stream();
    for (int i = 0; i < 4; i++) {
        void *block = fixture_malloc(pool, MIB(32), a);
        if (i == 0)
            use(pool, MIB(128), a);
        fixture_free(block, a);
        fixture_synchronize(a);
        assert_int_equal(fixture_reserved(pool), i < 3 ? MIB(160) : MIB(32));
    }
    for (int i = 0; i < 3; i++)
        fixture_synchronize(a);
    assert_int_equal(fixture_reserved(pool), 0);
}

static void a_synchronise_of_an_unrelated_stream_does_not_count(void **state) {
    (void)state;
    poolMemPool_t pool = holding_pool(1);
    CUstream a = simulated_stream();
    CUstream stranger = simulated_stream();
    use_and_synchronize(pool, MIB(64), a);
    for (int i = 0; i < 3; i++)
        fixture_synchronize(stranger);
    assert_int_equal(fixture_reserved(pool), MIB(64));
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    assert_int_equal(fixture_reserved(pool), 0);
}

static void a_trim_takes_what_is_held(void **state) {
    (void)state;
    poolMemPool_t pool = holding_pool(100);
    CUstream a = simulated_stream();
    use_and_synchronize(pool, MIB(64), a);
    fixture_trim(pool, MIB(16));
    assert_int_equal(fixture_reserved(pool), MIB(16));
}

static void another_pool_takes_what_is_held_when_the_device_is_full(void **state) {
    (void)state;
    poolMemPool_t pool = holding_pool(100);
    poolMemPool_t other = fixture_pool();
    CUstream a = simulated_stream();
    use_and_synchronize(pool, GIB(1), a);
    fixture_malloc(other, fixture_inside(other)->device->vmm.total_memory - MIB(512), a);
    assert_true(fixture_reserved(pool) <= MIB(512));
}

static void no_delay_any_more_holds_nothing_any_more(void **state) {
    (void)state;
    poolMemPool_t pool = holding_pool(100);
    CUstream a = simulated_stream();
    use_and_synchronize(pool, MIB(64), a);
    fixture_set(pool, poolMemPoolAttrReleaseDelay, 0);
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(pool), 0);
}

// Half of what a pool has, in pieces between live blocks.
static void leave_pieces(poolMemPool_t pool, CUstream stream) {
    enum { BLOCKS = 8 };
    void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = fixture_malloc(pool, MIB(64), stream);
    for (int i = 0; i < BLOCKS; i += 2)
        fixture_free(blocks[i], stream);
    fixture_synchronize(stream);
    assert_int_equal(poolMemPoolPrime(pool, MIB(2)), poolSuccess); // looks what is free
}

// A view joins them, and they are free again, and known to be, before the synchronise.
static void use_pieces(poolMemPool_t pool, CUstream stream) {
    use(pool, MIB(256), stream);
    simulated_finish(stream);
    assert_int_equal(poolStreamQuery(stream), poolSuccess);
    assert_int_equal(poolMemPoolPrime(pool, MIB(2)), poolSuccess); // looks what is free
}

static void require_pieces_held(poolMemPool_t pool, CUstream stream) {
    fixture_set(pool, poolMemPoolAttrReleaseDelay, 1);
    use_pieces(pool, stream);
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, 0);
    fixture_synchronize(stream);
    assert_int_equal(fixture_reserved(pool), MIB(512));
}

static void what_was_in_use_through_a_stitched_view_is_held_too(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    leave_pieces(pool, a);
    require_pieces_held(pool, a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatRemappedBytes), MIB(256));
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatKeptViewsUsed), 0);
}

static void what_was_in_use_through_a_kept_view_is_held_too(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    leave_pieces(pool, a);
    use_pieces(pool, a);
    require_pieces_held(pool, a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatKeptViewsUsed), 1);
}

// A synchronise found a delay, and before it took the lock another thread set that to 0.
// Half of it is pending and half ready. At the synchronise all of it is ready again.
static void what_was_in_use_by_waits_is_held_too(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool_of_at_most(MIB(64));
    CUstream a = simulated_stream(), b = simulated_stream();
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, 0);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    void *halves[] = {fixture_malloc(pool, MIB(32), a), fixture_malloc(pool, MIB(32), a)};
    assert_int_equal(poolFree(halves[1]), poolSuccess);
    simulated_work(a);
    fixture_free(halves[0], a);
    fixture_set(pool, poolMemPoolAttrReleaseDelay, 1);
    void *whole = fixture_malloc(pool, MIB(64), b);
    assert_int_equal(poolFree(whole), poolSuccess);
    simulated_finish(a);
    assert_int_equal(poolStreamQuery(a), poolSuccess);
    fixture_free(fixture_malloc(pool, MIB(1), b), b);
    fixture_synchronize(b);
    assert_int_equal(fixture_reserved(pool), MIB(64));
}

static void an_interval_that_ends_after_its_delay_was_taken_back_holds_nothing(void **state) {
    (void)state;
    poolMemPool_t pool = holding_pool(1);
    struct sp_pool *inside = fixture_inside(pool);
    CUstream a = simulated_stream();
    void *block = fixture_malloc(pool, GIB(1), a);
    fixture_set(pool, poolMemPoolAttrReleaseDelay, 0);
    sp_lock_acquire(&inside->lock);
    sp_retain_end_interval(inside);
    sp_lock_release(&inside->lock);
    fixture_free(block, a);
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(pool), 0);
}

static void a_shorter_delay_counts_at_once(void **state) {
    (void)state;
    poolMemPool_t pool = holding_pool(UINT64_MAX);
    CUstream a = simulated_stream();
    use_and_synchronize(pool, MIB(64), a);
    fixture_set(pool, poolMemPoolAttrReleaseDelay, 1);
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(pool), 0);
}

static void what_was_in_use_before_there_was_a_delay_is_not_held(void **state) {
    (void)state;
    poolMemPool_t pool = holding_pool(0);
    CUstream a = simulated_stream();
    use_and_synchronize(pool, MIB(256), a);
    fixture_set(pool, poolMemPoolAttrReleaseDelay, 100);
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    use_and_synchronize(pool, MIB(32), a);
    use_and_synchronize(pool, MIB(64), a);
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, 0);
    assert_int_equal(poolMemPoolPrime(pool, MIB(128)), poolSuccess);
    fixture_trim(pool, MIB(128));
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(pool), MIB(128)); // primed: the trim kept that much
    fixture_trim(pool, 0);
    use_and_synchronize(pool, MIB(32), a);
    assert_int_equal(fixture_reserved(pool), MIB(32));
}

static void a_deterministic_pool_holds_the_same(void **state) {
    (void)state;
    poolMemPool_t pool = holding_pool(2);
    CUstream a = simulated_stream();
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    use_and_synchronize(pool, GIB(1), a);
    uint64_t calls = mapping_calls();
    for (int i = 0; i < 5; i++)
        use_and_synchronize(pool, GIB(1), a);
    assert_int_equal(mapping_calls(), calls);
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(pool), GIB(1));
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(pool), 0);
}

static void the_reaper_holds_and_releases_the_same(void **state) {
    (void)state;
    poolMemPool_t pool = holding_pool(2);
    CUstream a = simulated_stream();
    fixture_set_flag(pool, poolMemPoolAttrTrimByReaper, 1);
    use_and_synchronize(pool, GIB(1), a);
    inside_worker_rest();
    uint64_t calls = mapping_calls();
    for (int i = 0; i < 5; i++) {
        use_and_synchronize(pool, GIB(1), a);
        inside_worker_rest();
    }
    assert_int_equal(mapping_calls(), calls);
    fixture_synchronize(a);
    inside_worker_rest();
    assert_int_equal(fixture_reserved(pool), GIB(1));
    fixture_synchronize(a);
    inside_worker_rest();
    assert_int_equal(fixture_reserved(pool), 0);
}

#define KEEP_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        KEEP_TEST(by_default_each_round_of_a_loop_grows_and_trims),
        KEEP_TEST(a_loop_maps_nothing_after_its_first_round),
        KEEP_TEST(a_loop_over_many_sizes_maps_nothing_after_its_first_rounds),
        KEEP_TEST(a_loop_that_frees_after_the_synchronise_maps_nothing_either),
        KEEP_TEST(what_is_ready_again_before_the_synchronise_was_in_use_too),
        KEEP_TEST(what_is_not_needed_again_goes_at_the_last_of_so_many_synchronises),
        KEEP_TEST(what_is_needed_again_in_time_is_held_anew),
        KEEP_TEST(no_more_is_held_than_was_in_use_at_once),
        KEEP_TEST(less_need_is_held_when_the_time_of_more_is_over),
        KEEP_TEST(a_synchronise_of_an_unrelated_stream_does_not_count),
        KEEP_TEST(a_trim_takes_what_is_held),
        KEEP_TEST(another_pool_takes_what_is_held_when_the_device_is_full),
        KEEP_TEST(no_delay_any_more_holds_nothing_any_more),
        KEEP_TEST(what_was_in_use_through_a_stitched_view_is_held_too),
        KEEP_TEST(what_was_in_use_through_a_kept_view_is_held_too),
        KEEP_TEST(what_was_in_use_by_waits_is_held_too),
        KEEP_TEST(an_interval_that_ends_after_its_delay_was_taken_back_holds_nothing),
        KEEP_TEST(a_shorter_delay_counts_at_once),
        KEEP_TEST(what_was_in_use_before_there_was_a_delay_is_not_held),
        KEEP_TEST(a_deterministic_pool_holds_the_same),
        KEEP_TEST(the_reaper_holds_and_releases_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
