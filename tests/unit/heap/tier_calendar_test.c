#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "heap/block.h"
#include "heap/tier.h"
#include "inside/calendar.h"
#include "inside/tier.h"
#include "unit/random.h"

enum { BLOCKS = 200 };
#define UNIT SP_ALIGNMENT

static struct sp_chain chain;
static struct sp_tier tier;
static struct sp_calendar calendar;
static struct sp_block *blocks[2 * BLOCKS]; // every second one goes into the tier

static int setup(void **state) {
    (void)state;
    sp_calendar_init(&calendar);
    sp_tier_init(&tier, SP_BLOCK_FREE);
    tier.calendar = &calendar;
    if (!sp_chain_open(&chain, UINT64_C(1) << 40, 2 * BLOCKS * UNIT))
        return -1;
    blocks[0] = chain.first;
    for (int i = 1; i < 2 * BLOCKS; i++)
        blocks[i] = sp_block_split(blocks[i - 1], UNIT);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    sp_chain_close(&chain);
    return 0;
}

static void put(int i, uint64_t number) {
    blocks[2 * i]->fences.count = 1;
    blocks[2 * i]->fences.alone = (struct sp_fence){7, number};
    sp_tier_insert(&tier, blocks[2 * i]);
}

// Takes what is over out of the tier, and tells how many that were.
static size_t take_over(uint64_t now, unsigned *looks) {
    struct sp_block *block;
    size_t taken = 0;
    sp_calendar_advance(&calendar, now);
    while ((block = sp_calendar_next_over(&calendar, looks))) {
        assert_true(sp_calendar_number(block) <= now);
        sp_tier_remove(block);
        taken++;
    }
    return taken;
}

static size_t count_in_tier(uint64_t upto) {
    size_t count = 0;
    for (struct sp_block *b = sp_tier_first(&tier); b; b = sp_tier_next(b))
        count += sp_calendar_number(b) <= upto;
    return count;
}

static void assert_in_order(void) {
    assert_true(inside_tier_check(&tier));
    assert_int_equal(inside_calendar_check(&calendar), count_in_tier(UINT64_MAX));
}

static void exactly_what_is_over_is_found(void **state) {
    (void)state;
    uint64_t seed = 1;
    uint64_t now = 0;
    for (int round = 0; round < 2000; round++) {
        unsigned looks = UINT32_MAX;
        int i = (int)random_below(&seed, BLOCKS);
        if (blocks[2 * i]->tier)
            sp_tier_remove(blocks[2 * i]);
        else
            put(i, now + 1 + random_below(&seed, UINT64_C(1) << random_below(&seed, 40)));
        now += random_below(&seed, 4) == 0
                   ? random_below(&seed, UINT64_C(1) << random_below(&seed, 24))
                   : 0;
        size_t over = count_in_tier(now);
        assert_int_equal(take_over(now, &looks), over);
        assert_false(sp_calendar_is_behind(&calendar));
        assert_in_order();
    }
}

// However often the number rises: what a search costs goes by what has become over.
static void a_block_is_looked_at_as_often_as_its_number_has_bits_at_most(void **state) {
    (void)state;
    unsigned looks = BLOCKS * 9;
    for (int i = 0; i < BLOCKS; i++)
        put(i, (uint64_t)i + 1);
    for (uint64_t now = 1; now <= BLOCKS; now++)
        assert_int_equal(take_over(now, &looks), 1);
    assert_true(looks > 0);
    assert_int_equal(tier.bytes, 0);
}

static void a_number_that_rises_does_not_touch_the_others(void **state) {
    (void)state;
    unsigned looks = 1;
    for (int i = 0; i < BLOCKS; i++)
        put(i, 1 << 20);
    assert_int_equal(take_over(1000, &looks), 0);
    assert_int_equal(looks, 1);
}

static void looks_that_end_leave_the_rest_for_later(void **state) {
    (void)state;
    unsigned looks = 10;
    for (int i = 0; i < BLOCKS; i++)
        put(i, 3);
    assert_int_equal(take_over(3, &looks), 10);
    assert_true(sp_calendar_is_behind(&calendar));
    assert_in_order();
    looks = BLOCKS;
    assert_int_equal(take_over(3, &looks), BLOCKS - 10);
    assert_false(sp_calendar_is_behind(&calendar));
}

// A neighbour that joins may raise the number of a block where it stands.
static void a_number_that_was_raised_in_place_is_over_later(void **state) {
    (void)state;
    unsigned looks = UINT32_MAX;
    put(0, 5);
    blocks[0]->fences.alone.sequence = 9;
    assert_int_equal(take_over(8, &looks), 0);
    assert_in_order();
    assert_int_equal(take_over(9, &looks), 1);
}

// A pool may change what it takes for known.
static void a_number_that_falls_forgets_nothing(void **state) {
    (void)state;
    unsigned looks = UINT32_MAX;
    put(0, 100);
    assert_int_equal(take_over(50, &looks), 0);
    assert_int_equal(take_over(10, &looks), 0);
    put(1, 20);
    assert_in_order();
    assert_int_equal(take_over(20, &looks), 1);
    assert_int_equal(take_over(99, &looks), 0);
    assert_int_equal(take_over(100, &looks), 1);
}

static void no_block_has_a_number_before_the_earliest(void **state) {
    (void)state;
    uint64_t seed = 3;
    unsigned looks = UINT32_MAX;
    assert_true(sp_calendar_earliest(&calendar) == UINT64_MAX);
    for (int i = 0; i < BLOCKS; i++)
        put(i, 1 + random_below(&seed, 5000));
    for (uint64_t now = 0; now < 5000; now += 37) {
        take_over(now, &looks);
        uint64_t earliest = sp_calendar_earliest(&calendar);
        for (struct sp_block *b = sp_tier_first(&tier); b; b = sp_tier_next(b))
            assert_true(sp_calendar_number(b) >= earliest);
        assert_true(earliest > now);
    }
    looks = 0;
    put(0, 1);
    assert_int_equal(sp_calendar_earliest(&calendar), 0); // not looked at yet
}

static void what_is_left_of_a_block_takes_its_place(void **state) {
    (void)state;
    unsigned looks = UINT32_MAX;
    sp_block_absorb_next(blocks[0]);
    put(0, 4);
    assert_non_null(sp_tier_take(blocks[0], UNIT));
    assert_in_order();
    assert_int_equal(inside_calendar_check(&calendar), 1);
    assert_int_equal(take_over(4, &looks), 1);
}

#define calendar_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        calendar_test(exactly_what_is_over_is_found),
        calendar_test(a_block_is_looked_at_as_often_as_its_number_has_bits_at_most),
        calendar_test(a_number_that_rises_does_not_touch_the_others),
        calendar_test(looks_that_end_leave_the_rest_for_later),
        calendar_test(a_number_that_was_raised_in_place_is_over_later),
        calendar_test(a_number_that_falls_forgets_nothing),
        calendar_test(no_block_has_a_number_before_the_earliest),
        calendar_test(what_is_left_of_a_block_takes_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
