// Contexts that are destroyed with frees pending, and whose handles don't come back: what was freed
// there is complete.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/fixture/pool.h"

#define BLOCK MIB(64)

static poolMemPool_t pool; // has room for one block
static CUcontext other;
static CUstream here, there; // in the first context, and in the other one

static int setup(void **state) {
    if (fixture_setup(state) != 0)
        return -1;
    pool = fixture_pool_of_at_most(BLOCK);
    here = simulated_stream();
    assert_int_equal(sp_driver->cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
    there = simulated_stream();
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    return 0;
}

static void end_the_other_context(void) {
    assert_int_equal(sp_driver->cuCtxDestroy(other), CUDA_SUCCESS);
}

// A block that was freed behind work in the other context, which is then destroyed.
static void *freed_in(poolMemPool_t from) {
    void *freed = fixture_malloc(from, BLOCK, there);
    simulated_work(there);
    fixture_free(freed, there);
    end_the_other_context();
    return freed;
}

static void no_policies(void) {
    fixture_set_flag(pool, poolMemPoolReuseFollowEventDependencies, 0);
    fixture_set_flag(pool, poolMemPoolReuseAllowOpportunistic, 0);
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
}

static void its_memory_is_given_again_under_every_policy(void **state) {
    (void)state;
    no_policies();
    void *freed = freed_in(pool);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, here), freed);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseComplete), 1);
}

static void a_deterministic_pool_gives_it_again_too(void **state) {
    (void)state;
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    void *freed = freed_in(pool);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, here), freed);
}

static void it_is_looked_for_before_the_pool_grows(void **state) {
    (void)state;
    poolMemPool_t wide = fixture_pool();
    void *freed = freed_in(wide);
    assert_ptr_equal(fixture_malloc(wide, BLOCK, here), freed);
    assert_int_equal(fixture_reserved(wide), BLOCK);
}

static void small_blocks_that_it_returned_are_used_again(void **state) {
    (void)state;
    enum { COUNT = 16 };
    void *blocks[COUNT];
    no_policies();
    const size_t size = SP_SMALL_MAX;
    uint64_t pages = 0;
    for (int i = 0; i < COUNT; i++)
        blocks[i] = fixture_malloc(pool, size, here);
    simulated_work(there);
    for (int i = 0; i < COUNT; i++)
        fixture_free(blocks[i], there);
    pages = fixture_reserved(pool);
    end_the_other_context();
    for (int i = 0; i < COUNT; i++)
        fixture_malloc(pool, size, here);
    assert_int_equal(fixture_reserved(pool), pages);
    assert_true(fixture_attribute(pool, poolMemPoolStatReuseComplete) > 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseFoundComplete), 0);
}

static void it_goes_back_to_the_device_by_a_trim(void **state) {
    (void)state;
    freed_in(pool);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), 0);
}

static void it_goes_back_at_a_synchronise_of_a_stream_that_shares_the_pool(void **state) {
    (void)state;
    fixture_free(fixture_malloc(pool, 100, here), here);
    fixture_synchronize(here);
    fixture_trim(pool, 0);
    freed_in(pool);
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, 0);
    fixture_synchronize(here);
    assert_int_equal(fixture_reserved(pool), 0);
}

static void a_destroyed_pool_with_such_memory_goes_at_the_next_synchronise(void **state) {
    (void)state;
    void *live = fixture_malloc(pool, BLOCK, there);
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    simulated_work(there);
    fixture_free(live, there);
    assert_int_equal(simcudaMemoryInUse(0), BLOCK);
    end_the_other_context();
    fixture_synchronize(here);
    assert_int_equal(simcudaMemoryInUse(0), 0);
}

static void another_pool_gets_it_when_the_device_is_full(void **state) {
    (void)state;
    freed_in(pool);
    poolMemPool_t wide = fixture_pool();
    fixture_malloc(wide, fixture_inside(wide)->device->vmm.total_memory, here);
    assert_int_equal(fixture_reserved(pool), 0);
}

// But for the one that a call needs to know its own context, on a driver without ids.
static void what_is_at_hand_needs_no_question(void **state) {
    (void)state;
    enum { CALLS = 40 };
    const char *question = sp_driver->cuCtxGetId ? "cuCtxGetId" : "cuPointerGetAttribute";
    const uint64_t of_calls = sp_driver->cuCtxGetId ? 0 : CALLS;
    poolMemPool_t wide = fixture_pool();
    fixture_free(fixture_malloc(wide, MIB(1), there), there); // pending as far as anybody knows
    fixture_free(fixture_malloc(wide, BLOCK, here), here);
    fixture_free(fixture_malloc(wide, KIB(1), here), here);
    uint64_t asked = simcudaCallCount(question);
    for (int i = 0; i < CALLS / 4; i++) {
        fixture_free(fixture_malloc(wide, BLOCK, here), here);
        fixture_free(fixture_malloc(wide, KIB(1), here), here);
    }
    assert_int_equal(simcudaCallCount(question), asked + of_calls);
    end_the_other_context();
    fixture_trim(wide, 0);
}

#define gone_test(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        gone_test(its_memory_is_given_again_under_every_policy),
        gone_test(a_deterministic_pool_gives_it_again_too),
        gone_test(it_is_looked_for_before_the_pool_grows),
        gone_test(small_blocks_that_it_returned_are_used_again),
        gone_test(it_goes_back_to_the_device_by_a_trim),
        gone_test(it_goes_back_at_a_synchronise_of_a_stream_that_shares_the_pool),
        gone_test(a_destroyed_pool_with_such_memory_goes_at_the_next_synchronise),
        gone_test(another_pool_gets_it_when_the_device_is_full),
        gone_test(what_is_at_hand_needs_no_question),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
