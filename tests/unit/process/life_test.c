#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/host_memory.h"
#include "process/given_up.h"
#include "process/life.h"
#include "region/device.h"
#include "region/held.h"
#include "region/owner.h"
#include "supply/growth.h"
#include "unit/fixture/pool.h"

static poolMemPool_t current_pool(void) {
    poolMemPool_t pool = NULL;
    assert_int_equal(poolDeviceGetMemPool(&pool, 0), poolSuccess);
    return pool;
}

static poolMemPool_t default_pool(void) {
    poolMemPool_t pool = NULL;
    assert_int_equal(poolDeviceGetDefaultMemPool(&pool, 0), poolSuccess);
    return pool;
}

static void destroy(poolMemPool_t pool) {
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
}

static uint64_t given_up(void) {
    return sp_device_next(NULL)->given_up;
}

static void a_handle_is_a_pool_until_it_is_destroyed_and_never_again(void **state) {
    (void)state;
    poolMemPool_t old = fixture_pool();
    assert_non_null(sp_handle_pool(old));
    destroy(old);
    assert_null(sp_handle_pool(old));
    poolMemPool_t young = fixture_pool();
    assert_ptr_not_equal(young, old);
    assert_null(sp_handle_pool(old));
    assert_int_equal(poolMemPoolDestroy(old), poolErrorInvalidValue);
    destroy(young);
}

static void what_was_never_a_handle_is_no_pool(void **state) {
    (void)state;
    int somewhere = 0;
    poolMemPool_t pool = fixture_pool();
    assert_null(sp_handle_pool(NULL));
    assert_null(sp_handle_pool((poolMemPool_t)(void *)&somewhere));
    assert_null(sp_handle_pool((poolMemPool_t)((uintptr_t)pool + 1)));
    assert_null(sp_handle_pool((poolMemPool_t)UINTPTR_MAX));
}

static void a_destroyed_pool_without_memory_is_gone_at_once(void **state) {
    (void)state;
    destroy(fixture_pool());
    assert_int_equal(given_up(), 0);
}

static void live_allocations_outlive_their_pool_and_its_memory_goes_with_the_last(void **state) {
    (void)state;
    unsigned char byte = 42;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    void *large = fixture_malloc(pool, MIB(3), a);
    void *small = fixture_malloc(pool, 100, a);
    destroy(pool);
    assert_int_equal(simcudaPoke((uintptr_t)small, &byte, 1), CUDA_SUCCESS);
    fixture_free(large, a);
    assert_true(simcudaMemoryInUse(0) > 0);
    assert_int_equal(simcudaPeek(&byte, (uintptr_t)small, 1), CUDA_SUCCESS);
    fixture_free(small, a);
    fixture_synchronize(a);
    assert_int_equal(simcudaMemoryInUse(0), 0);
    assert_int_equal(given_up(), 0);
}

static void a_pool_whose_last_memory_is_pending_goes_when_that_is_complete(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    void *pointer = fixture_malloc(pool, MIB(3), a);
    destroy(pool);
    simulated_work(a);
    fixture_free(pointer, a);
    assert_int_equal(given_up(), 1);
    assert_true(simcudaMemoryInUse(0) > 0);
    fixture_synchronize(a);
    assert_int_equal(given_up(), 0);
    assert_int_equal(simcudaMemoryInUse(0), 0);
}

static void
the_address_space_of_a_pool_whose_frees_are_pending_does_not_stop_the_next_pool(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    simulated_work(a);
    for (int i = 0; i < 40; i++) { // each wants a span as large as the device
        poolMemPool_t pool = fixture_pool();
        void *pointer = fixture_malloc(pool, MIB(3), a);
        destroy(pool);
        fixture_free(pointer, a);
    }
    assert_int_equal(given_up(), 40);
    fixture_synchronize(a);
    assert_int_equal(given_up(), 0);
}

static void destroying_the_current_pool_makes_the_default_one_current(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    assert_ptr_equal(current_pool(), default_pool());
    assert_int_equal(poolDeviceSetMemPool(0, pool), poolSuccess);
    assert_ptr_equal(current_pool(), pool);
    destroy(pool);
    assert_ptr_equal(current_pool(), default_pool());
}

static void destroying_another_pool_leaves_the_current_one(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    assert_int_equal(poolDeviceSetMemPool(0, pool), poolSuccess);
    destroy(fixture_pool());
    assert_ptr_equal(current_pool(), pool);
}

static void the_default_pool_can_not_be_destroyed(void **state) {
    (void)state;
    assert_int_equal(poolMemPoolDestroy(default_pool()), poolErrorInvalidValue);
    assert_non_null(sp_handle_pool(default_pool()));
}

static void destroy_current(void) {
    destroy(current_pool());
}

// At each lock that the call takes, in turn, another thread destroys the current pool.
static void a_malloc_from_the_current_pool_survives_its_destruction(void **state) {
    (void)state;
    const size_t sizes[] = {100, MIB(1)};
    CUstream a = simulated_stream();
    fixture_stream(a);
    for (int warm = 0; warm < 2; warm++) {
        for (int i = 0; i < 2; i++) {
            void *pointer = NULL;
            poolMemPool_t pool = fixture_pool();
            if (warm)
                fixture_free(fixture_malloc(pool, sizes[i], a), a);
            assert_int_equal(poolDeviceSetMemPool(0, pool), poolSuccess);
            fixture_at_next_lock(destroy_current);
            assert_int_equal(poolMallocAsync(&pointer, sizes[i], a), poolSuccess);
            sp_lock_set_hook(NULL);
            assert_ptr_equal(current_pool(), default_pool());
            fixture_free(pointer, a);
            fixture_synchronize(a);
            assert_int_equal(given_up(), 0);
        }
    }
}

static void *pointer_of_given_up;
static CUstream stream_of_given_up;

static void free_of_given_up(void) {
    fixture_free(pointer_of_given_up, stream_of_given_up);
}

static void a_pool_destroyed_during_its_last_free_is_taken_apart_all_the_same(void **state) {
    (void)state;
    stream_of_given_up = simulated_stream();
    poolMemPool_t pool = fixture_pool();
    pointer_of_given_up = fixture_malloc(pool, 100, stream_of_given_up);
    fixture_at_next_lock(free_of_given_up);
    destroy(pool);
    fixture_synchronize(stream_of_given_up);
    assert_int_equal(given_up(), 0);
}

// Memory that its stream has freed before, so that nothing but the pool's end makes the free a rare
// one.
static void *used_memory(poolMemPool_t pool, size_t size, CUstream stream) {
    void *pointer = fixture_malloc(pool, size, stream);
    fixture_free(pointer, stream);
    assert_ptr_equal(fixture_malloc(pool, size, stream), pointer);
    return pointer;
}

static void synchronize_that(void) {
    fixture_synchronize(stream_of_given_up);
}

// As the last free comes to its lane, another thread learns that the stream has done all that it
// was given. Whichever of the two comes last takes the pool apart if all of it is complete: nothing
// is left that could have gone.
static void the_last_free_of_a_pool_leaves_nothing_that_could_have_gone(void **state) {
    (void)state;
    const size_t sizes[] = {100, MIB(3)};
    stream_of_given_up = simulated_stream();
    for (int i = 0; i < 2; i++) {
        poolMemPool_t pool = fixture_pool();
        void *pointer = used_memory(pool, sizes[i], stream_of_given_up);
        assert_int_equal(poolStreamQuery(stream_of_given_up), poolSuccess);
        destroy(pool);
        assert_int_equal(given_up(), 1);
        fixture_at_next_lock(synchronize_that);
        fixture_free(pointer, stream_of_given_up);
        uint64_t left = given_up();
        sp_given_up_reap(sp_device_next(NULL));
        assert_int_equal(given_up(), left);
        fixture_synchronize(stream_of_given_up);
        assert_int_equal(given_up(), 0);
        assert_int_equal(simcudaMemoryInUse(0), 0);
    }
}

static void a_pinned_pool_is_not_taken_apart_before_it_is_unpinned(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    struct sp_pool *inside = fixture_inside(pool);
    assert_true(sp_pin_take(inside, pool));
    destroy(pool);
    assert_int_equal(given_up(), 1);
    assert_false(sp_pin_take(inside, pool));
    sp_pin_drop(inside);
    assert_int_equal(given_up(), 0);
    assert_false(sp_pin_take(inside, pool));
    poolMemPool_t young = fixture_pool();
    assert_ptr_equal(fixture_inside(young), inside);
    assert_false(sp_pin_take(inside, pool));
    assert_true(sp_pin_take(inside, young));
    sp_pin_drop(inside);
}

static int setup_two_devices(void **state) {
    (void)state;
    return fixture_begin("devices=2");
}

static void a_struct_is_used_again_for_pools_of_its_device_alone(void **state) {
    (void)state;
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .location = {poolMemLocationTypeDevice, 1}};
    poolMemPool_t first = fixture_pool();
    struct sp_pool *inside = fixture_inside(first);
    destroy(first);
    poolMemPool_t elsewhere = NULL;
    assert_int_equal(poolMemPoolCreate(&elsewhere, &props), poolSuccess);
    assert_ptr_not_equal(fixture_inside(elsewhere), inside);
    assert_ptr_equal(fixture_inside(fixture_pool()), inside);
}

static CUstream stream_of_next;
static poolMemPool_t next_pool; // in the struct of the current one

static void use_struct_of_current_again(void) {
    poolMemPool_t current = current_pool();
    struct sp_pool *inside = fixture_inside(current);
    destroy(current);
    fixture_synchronize(stream_of_next);
    next_pool = fixture_pool_of_at_most(MIB(32));
    assert_ptr_equal(fixture_inside(next_pool), inside);
    fixture_free(fixture_malloc(next_pool, MIB(1), stream_of_next), stream_of_next);
    fixture_free(fixture_malloc(next_pool, 100, stream_of_next), stream_of_next);
}

// The same struct, the same stream, even the same lane, and yet not the pool that was current.
static void
a_malloc_from_the_current_pool_takes_nothing_of_the_next_one_in_its_struct(void **state) {
    (void)state;
    const size_t sizes[] = {100, MIB(1), MIB(33)}; // the last is more than the next pool may have
    stream_of_next = simulated_stream();
    fixture_stream(stream_of_next);
    for (int i = 0; i < 3; i++) {
        void *pointer = NULL;
        poolMemPool_t pool = fixture_pool();
        fixture_free(fixture_malloc(pool, sizes[i], stream_of_next), stream_of_next);
        assert_int_equal(poolDeviceSetMemPool(0, pool), poolSuccess);
        fixture_at_next_lock(use_struct_of_current_again);
        assert_int_equal(poolMallocAsync(&pointer, sizes[i], stream_of_next), poolSuccess);
        sp_lock_set_hook(NULL);
        assert_int_equal(fixture_used(next_pool), 0);
        assert_ptr_equal(sp_owner_lane(sp_owner_of((uintptr_t)pointer))->pool,
                         fixture_inside(default_pool()));
        fixture_free(pointer, stream_of_next);
        destroy(next_pool);
        fixture_synchronize(stream_of_next);
        assert_int_equal(given_up(), 0);
    }
}

static void a_struct_used_again_remembers_nothing_of_the_last_pool(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    poolMemPool_t old = fixture_pool_of_at_most(MIB(64));
    struct sp_pool *inside = fixture_inside(old);
    fixture_set_flag(old, poolMemPoolReuseAllowOpportunistic, 0);
    fixture_set(old, poolMemPoolAttrUnfencedBytesMax, 3);
    fixture_free(fixture_malloc(old, MIB(30), a), a);
    fixture_synchronize(a);
    destroy(old);
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .location = {poolMemLocationTypeDevice, 0}};
    poolMemPool_t young = NULL;
    int flag = 0;
    assert_int_equal(poolMemPoolCreate(&young, &props), poolSuccess);
    assert_ptr_equal(fixture_inside(young), inside);
    assert_int_equal(poolMemPoolGetAttribute(young, poolMemPoolReuseAllowOpportunistic, &flag),
                     poolSuccess);
    assert_int_equal(flag, 1);
    assert_int_equal(fixture_attribute(young, poolMemPoolAttrUnfencedBytesMax), SP_HELD_MAX);
    assert_int_equal(fixture_attribute(young, poolMemPoolAttrReleaseThreshold), 0);
    assert_int_equal(fixture_attribute(young, poolMemPoolAttrReservedMemHigh), 0);
    assert_int_equal(fixture_attribute(young, poolMemPoolAttrUsedMemHigh), 0);
    assert_int_equal(fixture_attribute(young, poolMemPoolAttrMaxPoolSize), 0);
    assert_false(sp_pool_is_shared(inside));
    assert_null(sp_lane_find(inside, fixture_stream(a)->slot));
    fixture_malloc(young, MIB(100), a);
}

static void a_pool_without_host_memory_is_not_created(void **state) {
    (void)state;
    enum { MOST = 64 };
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .location = {poolMemLocationTypeDevice, 0}};
    poolMemPool_t pool = NULL;
    poolError_t error = poolSuccess;
    uint64_t failed = 0;
    // First those that are kept for use again.
    for (int i = 0; i < MOST && error == poolSuccess; i++) {
        pool = (poolMemPool_t)(void *)&failed;
        host_memory_enter(1, true);
        error = poolMemPoolCreate(&pool, &props);
        host_memory_leave(&failed);
    }
    assert_int_equal(error, poolErrorMemoryAllocation);
    assert_ptr_equal(pool, (poolMemPool_t)(void *)&failed);
}

static void a_limit_is_rounded_up_to_the_growth_unit(void **state) {
    (void)state;
    assert_int_equal(fixture_inside(fixture_pool_of_at_most(1))->limit, SP_GROWTH_UNIT);
    assert_int_equal(fixture_inside(fixture_pool_of_at_most(MIB(33)))->limit, MIB(64));
    assert_int_equal(fixture_inside(fixture_pool_of_at_most(0))->limit, SIZE_MAX);
    assert_int_equal(fixture_inside(fixture_pool_of_at_most((size_t)1 << 57))->limit,
                     (size_t)1 << 57);
}

#define life_test(function)                                                                        \
    cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        life_test(a_handle_is_a_pool_until_it_is_destroyed_and_never_again),
        life_test(what_was_never_a_handle_is_no_pool),
        life_test(a_destroyed_pool_without_memory_is_gone_at_once),
        life_test(live_allocations_outlive_their_pool_and_its_memory_goes_with_the_last),
        life_test(a_pool_whose_last_memory_is_pending_goes_when_that_is_complete),
        life_test(the_address_space_of_a_pool_whose_frees_are_pending_does_not_stop_the_next_pool),
        life_test(destroying_the_current_pool_makes_the_default_one_current),
        life_test(destroying_another_pool_leaves_the_current_one),
        life_test(the_default_pool_can_not_be_destroyed),
        life_test(a_malloc_from_the_current_pool_survives_its_destruction),
        life_test(a_pool_destroyed_during_its_last_free_is_taken_apart_all_the_same),
        life_test(the_last_free_of_a_pool_leaves_nothing_that_could_have_gone),
        life_test(a_pinned_pool_is_not_taken_apart_before_it_is_unpinned),
        cmocka_unit_test_setup_teardown(a_struct_is_used_again_for_pools_of_its_device_alone,
                                        setup_two_devices, fixture_teardown),
        life_test(a_malloc_from_the_current_pool_takes_nothing_of_the_next_one_in_its_struct),
        life_test(a_struct_used_again_remembers_nothing_of_the_last_pool),
        life_test(a_pool_without_host_memory_is_not_created),
        life_test(a_limit_is_rounded_up_to_the_growth_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
