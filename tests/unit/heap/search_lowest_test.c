#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "heap/search.h"
#include "heap/tier.h"
#include "inside/chain.h"
#include "unit/random.h"

#define BASE   ((uint64_t)1 << 40)
#define BLOCK  ((uint64_t)256 << 10) // eight to a unit
#define BLOCKS 12000                 // in two leaves and a part of a third
#define TIERS  2

static struct sp_chain chain;
static struct sp_tier tiers[TIERS];

static int setup(void **state) {
    (void)state;
    for (int i = 0; i < TIERS; i++)
        sp_tier_init(&tiers[i], SP_BLOCK_FREE);
    return sp_chain_open(&chain, BASE, BLOCKS * BLOCK) ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    sp_chain_close(&chain);
    return 0;
}

// Makes a block of these places, BUSY, out of what is BUSY there.
static struct sp_block *cut(uint64_t place, uint64_t count) {
    uint64_t address = BASE + place * BLOCK;
    struct sp_block *block = sp_chain_find(&chain, address);
    assert_null(block->tier);
    if (block->address < address)
        block = sp_block_split(block, address - block->address);
    if (block->size > count * BLOCK)
        sp_block_split(block, count * BLOCK);
    return block;
}

static void put(uint64_t place, uint64_t count, int tier) {
    sp_tier_insert(&tiers[tier], cut(place, count));
}

static bool is_in(void *tier, const struct sp_block *block) {
    return block->tier == tier;
}

static struct sp_block *find(uint64_t blocks, int tier, unsigned looks) {
    struct sp_lowest_search search = {
        .size = blocks * BLOCK, .takes = is_in, .context = &tiers[tier], .looks = looks};
    return sp_lowest_find(&chain, &search);
}

static uint64_t place_of(const struct sp_block *block) {
    assert_non_null(block);
    return (block->address - BASE) / BLOCK;
}

static void the_lowest_that_is_large_enough_is_found_in_whatever_leaf(void **state) {
    (void)state;
    put(4100, 3, 0); // in the second leaf
    put(9000, 8, 0); // in the third
    assert_int_equal(place_of(find(1, 0, 100)), 4100);
    assert_int_equal(place_of(find(3, 0, 100)), 4100);
    assert_int_equal(place_of(find(4, 0, 100)), 9000);
    assert_null(find(9, 0, 100));
    put(17, 9, 0);
    assert_int_equal(place_of(find(9, 0, 100)), 17);
    assert_int_equal(place_of(find(1, 0, 100)), 17);
    assert_true(inside_chain_check(&chain));
}

static void a_block_that_will_not_do_is_passed_over_and_found_by_others(void **state) {
    (void)state;
    put(10, 4, 1);
    put(20, 4, 0);
    assert_int_equal(place_of(find(4, 0, 100)), 20);
    assert_int_equal(place_of(find(4, 1, 100)), 10);
}

// What is taken off the front of a block leaves the rest in another unit.
static void the_rest_of_a_block_is_found_where_it_begins(void **state) {
    (void)state;
    put(0, 64, 0);
    assert_non_null(sp_tier_take(find(64, 0, 100), 40 * BLOCK));
    assert_int_equal(place_of(find(24, 0, 100)), 40);
    assert_true(inside_chain_check(&chain));
}

static void with_no_looks_left_nothing_is_found_and_nothing_forgotten(void **state) {
    (void)state;
    for (uint64_t place = 0; place < 200; place += 2)
        put(place, 1, 0);
    put(300, 2, 0);
    assert_null(find(2, 0, 0));
    struct sp_block *taken = find(1, 0, 1);
    assert_int_equal(place_of(taken), 0);
    assert_int_equal(place_of(find(2, 0, 300)), 300);
    assert_int_equal(place_of(find(1, 0, 300)), 0);
    assert_true(inside_chain_check(&chain));
}

// However much there is that will not do, a search ends where its looks do. One that comes by a
// group lowers its number to what is there.
static void behind_the_last_look_no_group_is_looked_at(void **state) {
    (void)state;
    for (uint64_t place = 0; place < 4000; place += 2)
        put(place, 1, 1);
    cut(5000, 1); // makes the second leaf
    uint8_t *number = &sp_units_leaf(&chain, SP_LEAF_UNITS)->free_most[3];
    *number = SP_ROWS_LARGE;
    assert_null(find(1, 0, 10));
    assert_int_equal(*number, SP_ROWS_LARGE);
    assert_null(find(1, 0, 100000));
    assert_int_equal(*number, 0);
}

// A search lowers the numbers of units that it has looked through in vain, so the next one passes
// them.
static void what_was_looked_through_in_vain_is_not_looked_through_again(void **state) {
    (void)state;
    put(0, 8, 0);
    sp_tier_remove(find(8, 0, 1)); // its unit keeps the number
    put(800, 8, 0);
    assert_int_equal(place_of(find(8, 0, 100)), 800);
    assert_int_equal(place_of(find(8, 0, 1)), 800);
}

// Sizes of one block to 512 MiB: their numbers are below 128 and above. Eight stand in a word.
static void of_whatever_sizes_the_first_that_is_large_enough_is_found(void **state) {
    (void)state;
    enum { SIZES = 12 };
    uint64_t places[SIZES], place = 1;
    for (int i = 0; i < SIZES; i++) {
        places[i] = place;
        put(place, (uint64_t)1 << i, 0);
        place += ((uint64_t)1 << i) + 1;
    }
    for (int i = 0; i < SIZES; i++) {
        assert_int_equal(place_of(find((uint64_t)1 << i, 0, 1000)), places[i]);
        if (i > 1)
            assert_int_equal(place_of(find(((uint64_t)1 << i) - 1, 0, 1000)), places[i]);
    }
    assert_null(find(((uint64_t)1 << (SIZES - 1)) + 1, 0, 1000));
    assert_true(inside_chain_check(&chain));
}

// Blocks of one unit each, of every order of two sizes in a word's eight units.
static void at_whatever_place_in_a_word_the_first_is_found(void **state) {
    (void)state;
    for (unsigned large = 0; large < 256; large++) {
        for (unsigned unit = 0; unit < 8; unit++)
            put(8 * (uint64_t)unit, large >> unit & 1 ? 6 : 2, 0);
        struct sp_block *found = find(5, 0, 1000);
        if (large)
            assert_int_equal(place_of(found), 8 * (uint64_t)__builtin_ctz(large));
        else
            assert_null(found);
        teardown(NULL);
        setup(NULL);
    }
}

static struct sp_block *lowest_of_all(uint64_t blocks, int tier) {
    for (struct sp_block *b = chain.first; b; b = b->next) {
        if (b->tier == &tiers[tier] && b->size >= blocks * BLOCK)
            return b;
    }
    return NULL;
}

static void whatever_happens_the_lowest_is_found(void **state) {
    (void)state;
    static struct sp_block *taken[400];
    uint64_t seed = 11;
    sp_tier_insert(&tiers[0], chain.first);
    for (int round = 0; round < 20000; round++) {
        size_t at = random_below(&seed, 400);
        int tier = (int)random_below(&seed, TIERS);
        uint64_t blocks = 1 + random_below(&seed, 40);
        struct sp_block *lowest = lowest_of_all(blocks, tier);
        assert_ptr_equal(find(blocks, tier, UINT32_MAX), lowest);
        if (taken[at])
            sp_tier_insert(&tiers[random_below(&seed, TIERS)], taken[at]);
        taken[at] = NULL;
        lowest = lowest_of_all(blocks, tier);
        if (lowest)
            taken[at] = sp_tier_take(lowest, blocks * BLOCK);
        if (round % 100 == 0)
            assert_true(inside_chain_check(&chain));
    }
}

#define lowest_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        lowest_test(the_lowest_that_is_large_enough_is_found_in_whatever_leaf),
        lowest_test(a_block_that_will_not_do_is_passed_over_and_found_by_others),
        lowest_test(the_rest_of_a_block_is_found_where_it_begins),
        lowest_test(with_no_looks_left_nothing_is_found_and_nothing_forgotten),
        lowest_test(behind_the_last_look_no_group_is_looked_at),
        lowest_test(what_was_looked_through_in_vain_is_not_looked_through_again),
        lowest_test(of_whatever_sizes_the_first_that_is_large_enough_is_found),
        lowest_test(at_whatever_place_in_a_word_the_first_is_found),
        lowest_test(whatever_happens_the_lowest_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
