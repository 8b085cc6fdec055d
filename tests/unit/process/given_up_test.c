#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "process/given_up.h"
#include "unit/fixture/pool.h"

static struct sp_device *device;
static CUstream a, b, idle;

static int setup(void **state) {
    (void)state;
    if (fixture_begin(NULL) != 0 || sp_runtime_open(0, &device) != poolSuccess)
        return -1;
    a = simulated_stream();
    b = simulated_stream();
    idle = simulated_stream();
    return 0;
}

static uint64_t given_up(void) {
    return atomic_load(&device->given_up);
}

static void give_up(poolMemPool_t pool) {
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
}

// One whose memory is free once the work on the streams is complete: 32 MiB for each.
static void leave_pending(CUstream first, CUstream second) {
    poolMemPool_t pool = fixture_pool();
    void *blocks[2] = {fixture_malloc(pool, MIB(32), first),
                       second ? fixture_malloc(pool, MIB(32), second) : NULL};
    fixture_free(blocks[0], first);
    if (second)
        fixture_free(blocks[1], second);
    give_up(pool);
}

static void make_and_drop_a_pool(void) {
    give_up(fixture_pool());
}

static void a_pool_waits_for_several_streams_in_turn(void **state) {
    (void)state;
    CUstream streams[2][2] = {{a, b}, {b, a}};
    for (int i = 0; i < 2; i++) {
        simulated_work(a);
        simulated_work(b);
        leave_pending(a, b);
        assert_int_equal(simcudaMemoryInUse(0), MIB(64));
        fixture_synchronize(idle);
        assert_int_equal(simcudaMemoryInUse(0), MIB(64));
        fixture_synchronize(streams[i][0]);
        assert_int_equal(given_up(), 1);
        assert_int_equal(simcudaMemoryInUse(0), MIB(32)); // what is complete goes at once
        fixture_synchronize(streams[i][1]);
        assert_int_equal(given_up(), 0);
        assert_int_equal(simcudaMemoryInUse(0), 0);
    }
}

static void pools_that_wait_for_several_numbers_of_one_stream_go_in_turn(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        simulated_work(a);
        leave_pending(a, NULL);
    }
    for (unsigned left = 3; left > 0; left--) {
        assert_int_equal(given_up(), left);
        assert_int_equal(simcudaMemoryInUse(0), left * MIB(32));
        assert_int_equal(simcudaComplete(a, 2), CUDA_SUCCESS); // the work, and the record behind it
        make_and_drop_a_pool();                                // asks what has completed
        make_and_drop_a_pool();
    }
    assert_int_equal(given_up(), 0);
    assert_int_equal(simcudaMemoryInUse(0), 0);
}

// A free that empties a pool can't take it apart while a walk stands on it.
static void a_pool_that_becomes_empty_under_a_walk_is_looked_at_behind_it(void **state) {
    (void)state;
    poolMemPool_t handle = fixture_pool();
    const struct sp_pool *inside = fixture_inside(handle);
    void *live = fixture_malloc(handle, MIB(32), a);
    give_up(handle);
    struct sp_pool *at = sp_device_next_pool(device, NULL);
    while (at != inside)
        at = sp_device_next_pool(device, at);
    fixture_free(live, a);
    while (at)
        at = sp_device_next_pool(device, at);
    fixture_synchronize(a);
    assert_int_equal(given_up(), 0);
    assert_int_equal(simcudaMemoryInUse(0), 0);
}

// The program hears of it from CUDA alone, and makes no other call.
static void a_creation_asks_what_has_completed(void **state) {
    (void)state;
    simulated_work(a);
    leave_pending(a, NULL);
    assert_int_equal(simcudaComplete(a, 2), CUDA_SUCCESS);
    assert_int_equal(given_up(), 1);
    fixture_pool();
    assert_int_equal(given_up(), 0);
    assert_int_equal(simcudaMemoryInUse(0), 0);
}

static void a_creation_takes_a_pool_apart_that_is_found_complete(void **state) {
    (void)state;
    simulated_work(a);
    leave_pending(a, NULL);
    make_and_drop_a_pool();
    assert_int_equal(given_up(), 1);
    simulated_finish(a);
    assert_int_equal(poolStreamQuery(a), poolSuccess);
    make_and_drop_a_pool();
    assert_int_equal(given_up(), 0);
}

static void a_deterministic_pool_waits_for_a_synchronise(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    void *pointer = fixture_malloc(pool, MIB(32), a);
    simulated_work(a);
    fixture_free(pointer, a);
    give_up(pool);
    leave_pending(a, NULL); // and one that doesn't
    simulated_finish(a);
    assert_int_equal(poolStreamQuery(a), poolSuccess);
    make_and_drop_a_pool();
    assert_int_equal(given_up(), 1);
    fixture_synchronize(a);
    assert_int_equal(given_up(), 0);
}

// What is live waits for nothing but its free; each free has the pool looked at.
static void a_pool_with_live_memory_gives_back_what_is_freed(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    void *blocks[3];
    for (int i = 0; i < 3; i++)
        blocks[i] = fixture_malloc(pool, MIB(32), a);
    give_up(pool);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(simcudaMemoryInUse(0), MIB(96) - i * MIB(32));
        simulated_work(a);
        fixture_free(blocks[i], a);
        make_and_drop_a_pool();
        assert_int_equal(simcudaMemoryInUse(0), MIB(96) - i * MIB(32));
        assert_int_equal(given_up(), 1);
        fixture_synchronize(a);
    }
    assert_int_equal(given_up(), 0);
    assert_int_equal(simcudaMemoryInUse(0), 0);
}

static void *siblings[2];

static void free_the_siblings_and_have_the_pool_looked_at(void) {
    fixture_free(siblings[0], a);
    fixture_free(siblings[1], a);
    make_and_drop_a_pool();
}

// A thread has the number of its free when others free the rest of the slab, each with an event
// behind it.
static void a_late_last_free_of_a_small_block_is_noticed(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    void *last = fixture_malloc(pool, 1000, a);
    for (int i = 0; i < 2; i++)
        siblings[i] = fixture_malloc(pool, 1000, a);
    give_up(pool);
    fixture_at_next_lock(free_the_siblings_and_have_the_pool_looked_at);
    fixture_free(last, a);
    fixture_synchronize(a);
    assert_int_equal(given_up(), 0);
    assert_int_equal(simcudaMemoryInUse(0), 0);
}

static void what_the_driver_refused_is_tried_again(void **state) {
    (void)state;
    simulated_work(a);
    leave_pending(a, NULL);
    simcudaFailCall("cuMemRelease", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    assert_int_equal(poolStreamSynchronize(a), poolSuccess);
    assert_int_equal(simcudaFailCount(), 1);
    assert_int_equal(given_up(), 1);
    make_and_drop_a_pool();
    assert_int_equal(given_up(), 0);
    assert_int_equal(simcudaMemoryInUse(0), 0);
}

// Nothing would have the pool looked at before the next free.
static void what_the_driver_refused_beside_live_memory_is_tried_again(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    void *live = fixture_malloc(pool, MIB(32), a), *freed = fixture_malloc(pool, MIB(32), a);
    fixture_free(freed, a);
    fixture_synchronize(a);
    simcudaFailCall("cuMemRelease", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    give_up(pool);
    assert_int_equal(simcudaFailCount(), 1);
    assert_int_equal(simcudaMemoryInUse(0), MIB(64));
    make_and_drop_a_pool();
    assert_int_equal(simcudaMemoryInUse(0), MIB(32));
    fixture_free(live, a);
    fixture_synchronize(a);
    assert_int_equal(given_up(), 0);
}

// A walk or a call stands on the pool when what it waits for completes.
static void a_pinned_pool_goes_when_it_is_left(void **state) {
    (void)state;
    simulated_work(a);
    leave_pending(a, NULL);
    struct sp_pool *pool = sp_device_next_pool(device, NULL);
    assert_non_null(pool);
    fixture_synchronize(a);
    assert_int_equal(given_up(), 1);
    while (pool)
        pool = sp_device_next_pool(device, pool);
    make_and_drop_a_pool();
    assert_int_equal(given_up(), 0);
}

static void all_are_looked_at_on_demand(void **state) {
    (void)state;
    simulated_work(a);
    simulated_work(b);
    leave_pending(a, b);
    leave_pending(b, NULL);
    sp_given_up_reap_all(device);
    assert_int_equal(given_up(), 2);
    fixture_synchronize(b);
    assert_int_equal(given_up(), 1);
    assert_int_equal(simcudaMemoryInUse(0), MIB(32));
    sp_given_up_reap_all(device);
    fixture_synchronize(a);
    assert_int_equal(given_up(), 0);
}

static unsigned locks;

static void count_lock(int contended) {
    locks += !contended;
}

static unsigned locks_of_a_synchronise(void) {
    fixture_synchronize(idle); // what a walk leaves out it has seen once
    locks = 0;
    sp_lock_set_hook(count_lock);
    fixture_synchronize(idle);
    sp_lock_set_hook(NULL);
    return locks;
}

static unsigned locks_of_a_creation(void) {
    locks = 0;
    sp_lock_set_hook(count_lock);
    poolMemPool_t pool = fixture_pool();
    sp_lock_set_hook(NULL);
    give_up(pool);
    return locks;
}

static void many_waiting_pools_cost_a_call_no_more_than_a_few(void **state) {
    (void)state;
    simulated_work(a);
    simulated_work(b);
    fixture_stream(idle);
    leave_pending(a, b);
    leave_pending(b, NULL);
    unsigned creation = locks_of_a_creation(), synchronise = locks_of_a_synchronise();
    for (int i = 0; i < 200; i++)
        leave_pending(i % 2 ? a : b, i % 3 ? NULL : a);
    assert_int_equal(given_up(), 202);
    assert_int_equal(locks_of_a_creation(), creation);
    assert_int_equal(locks_of_a_synchronise(), synchronise);
    fixture_synchronize(a);
    fixture_synchronize(b);
    assert_int_equal(given_up(), 0);
    assert_int_equal(simcudaMemoryInUse(0), 0);
}

// Whether they never had memory, or have it no more.
static void many_pools_without_memory_cost_a_synchronise_nothing(void **state) {
    (void)state;
    fixture_free(fixture_malloc(fixture_pool(), MIB(1), idle), idle);
    unsigned synchronise = locks_of_a_synchronise();
    for (int i = 0; i < 100; i++) {
        poolMemPool_t pool = fixture_pool();
        if (i % 2)
            continue;
        fixture_free(fixture_malloc(pool, MIB(1), idle), idle);
        fixture_synchronize(idle);
        fixture_trim(pool, 0);
    }
    assert_int_equal(locks_of_a_synchronise(), synchronise);
}

// A pool that a walk has left out is found again when it has memory.
static void a_pool_that_has_memory_again_is_trimmed_at_a_synchronise(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, 0);
    for (int i = 0; i < 3; i++) {
        fixture_free(fixture_malloc(pool, MIB(1), a), a);
        assert_true(fixture_reserved(pool) > 0);
        fixture_synchronize(a);
        assert_int_equal(fixture_reserved(pool), 0);
        fixture_synchronize(a);
        assert_null(sp_device_next_pool(device, NULL));
    }
}

// Each has a stream of its own, which is destroyed by the driver's call: nobody can ask about what
// such a stream has freed with no event behind it.
static void pools_of_streams_that_come_and_go_do_not_fill_the_device(void **state) {
    (void)state;
    enum { POOLS = 100, MOST = 8 };
    for (int i = 0; i < POOLS; i++) {
        poolMemPool_t pool = fixture_pool();
        CUstream stream = simulated_stream();
        fixture_free(fixture_malloc(pool, 1000, stream), stream);
        assert_int_equal(sp_driver->cuStreamSynchronize(stream), CUDA_SUCCESS);
        give_up(pool);
        simulated_destroy(stream);
        assert_true(given_up() <= MOST);
    }
    assert_true(simcudaMemoryInUse(0) <= MOST * MIB(2));
}

#define given_up_test(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        given_up_test(a_pool_waits_for_several_streams_in_turn),
        given_up_test(pools_that_wait_for_several_numbers_of_one_stream_go_in_turn),
        given_up_test(a_pool_that_becomes_empty_under_a_walk_is_looked_at_behind_it),
        given_up_test(a_creation_asks_what_has_completed),
        given_up_test(a_creation_takes_a_pool_apart_that_is_found_complete),
        given_up_test(a_deterministic_pool_waits_for_a_synchronise),
        given_up_test(a_pool_with_live_memory_gives_back_what_is_freed),
        given_up_test(a_late_last_free_of_a_small_block_is_noticed),
        given_up_test(what_the_driver_refused_is_tried_again),
        given_up_test(what_the_driver_refused_beside_live_memory_is_tried_again),
        given_up_test(a_pinned_pool_goes_when_it_is_left),
        given_up_test(all_are_looked_at_on_demand),
        given_up_test(many_waiting_pools_cost_a_call_no_more_than_a_few),
        given_up_test(many_pools_without_memory_cost_a_synchronise_nothing),
        given_up_test(pools_of_streams_that_come_and_go_do_not_fill_the_device),
        given_up_test(a_pool_that_has_memory_again_is_trimmed_at_a_synchronise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
