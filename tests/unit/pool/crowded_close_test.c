// When the fronts of a crowded lane open, and when they close.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "region/crowded.h"
#include "unit/pool/crowded.h"

static void a_thread_that_is_alone_closes_the_fronts(void **state) {
    (void)state;
    block_in_front(KIB(4));
    for (int i = 0; i < SP_FRONT_USES && sp_front_is_any(crowded); i++)
        put(take(KIB(4)));
    assert_false(sp_front_is_any(crowded));
    assert_false(sp_biased_lock_is_crowded(&crowded->lock));
    assert_int_equal(fixture_used(pool), 0);
    fixture_check(pool);
}

static struct sp_front_free free_of(void *block) {
    struct sp_slab *slab = slab_of(block);
    return (struct sp_front_free){.lane = crowded,
                                  .stream = crowded->stream,
                                  .sequence = sp_load_relaxed(&crowded->stream->sequence),
                                  .block = {.slab = slab, .address = (uint64_t)(uintptr_t)block},
                                  .class_index = slab->class_index};
}

// A thread that has to make room for what it frees holds a claimed block meanwhile.
static void fronts_stay_open_while_a_block_is_on_its_way(void **state) {
    (void)state;
    block_in_front(KIB(4));
    void *block = take(KIB(4));
    struct sp_slab *slab = slab_of(block);
    struct sp_front *front = sp_front_of_thread(crowded);
    struct sp_front_free claimed = free_of(block);
    struct poolPointerAttributes attributes;
    assert_true(sp_front_claim(front, &claimed));
    assert_false(sp_front_claim(front, &claimed));
    sp_crowded_look(crowded, front);
    sp_crowded_look(crowded, front);
    assert_true(sp_front_is_any(crowded));
    assert_int_equal(poolPointerGetAttributes(&attributes, block), poolSuccess);
    assert_int_equal(attributes.state, poolPointerFree);
    assert_int_equal(poolFreeAsync(block, stream), poolErrorInvalidValue);
    assert_true(sp_front_put_claimed(front, &claimed));
    assert_int_equal(in_fronts(), 1);
    fixture_check(pool);
    sp_crowded_look(crowded, front);
    assert_false(sp_front_is_any(crowded));
    assert_false(sp_slab_is_fronted(slab));
    assert_int_equal(fixture_used(pool), 0);
    fixture_check(pool);
}

static void a_deterministic_pool_opens_none(void **state) {
    (void)state;
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    put(take(KIB(4)));
    make_crowded(crowded);
    put(take(KIB(4)));
    assert_false(sp_front_is_any(crowded));
    assert_false(sp_biased_lock_is_crowded(&crowded->lock));
}

static void a_pool_that_becomes_deterministic_closes_them(void **state) {
    (void)state;
    block_in_front(KIB(4));
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    assert_false(sp_front_is_any(crowded));
    assert_false(sp_biased_lock_is_crowded(&crowded->lock));
    fixture_check(pool);
}

// A pool becomes Deterministic while another thread frees a block: the fronts close as soon as they
// can, and nothing goes through them until then.
static void fronts_that_could_not_close_are_closed_later(void **state) {
    (void)state;
    block_in_front(KIB(4));
    void *block = take(KIB(4));
    struct sp_front *front = sp_front_of_thread(crowded);
    struct sp_front_free claimed = free_of(block);
    assert_true(sp_front_claim(front, &claimed));
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    assert_true(sp_front_is_any(crowded));
    void *other = take(KIB(4));
    assert_int_equal(in_fronts(), 0);
    assert_false(sp_front_put_claimed(front, &claimed));
    put(other);
    put(take(KIB(4)));
    assert_false(sp_front_is_any(crowded));
    put(block);
    assert_int_equal(fixture_used(pool), 0);
    fixture_check(pool);
}

static void a_given_up_pool_goes_with_the_last_free_of_a_crowded_lane(void **state) {
    (void)state;
    block_in_front(KIB(4));
    void *last = take(KIB(4)), *other = take(KIB(4));
    put(other);
    struct sp_device *device = fixture_inside(pool)->device;
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    assert_int_equal(sp_load_relaxed(&device->given_up), 1);
    put(last);
    fixture_synchronize(stream);
    assert_int_equal(sp_load_relaxed(&device->given_up), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_thread_that_is_alone_closes_the_fronts),
        TEST(fronts_stay_open_while_a_block_is_on_its_way),
        TEST(a_deterministic_pool_opens_none),
        TEST(a_pool_that_becomes_deterministic_closes_them),
        TEST(fronts_that_could_not_close_are_closed_later),
        TEST(a_given_up_pool_goes_with_the_last_free_of_a_crowded_lane),
    };
    return cmocka_run_group_tests_name("pool_crowded_close", tests, NULL, NULL);
}
