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
#define TIERS  3

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

// The block at a place, alone, BUSY, whatever it was part of.
static struct sp_block *set_aside(uint64_t place, uint64_t count) {
    uint64_t address = BASE + place * BLOCK;
    struct sp_block *block = sp_chain_find(&chain, address);
    struct sp_tier *tier = block->tier;
    if (tier)
        sp_tier_remove(block);
    struct sp_block *exact =
        block->address < address ? sp_block_split(block, address - block->address) : block;
    struct sp_block *rest =
        exact->size > count * BLOCK ? sp_block_split(exact, count * BLOCK) : NULL;
    if (tier && block != exact)
        sp_tier_insert(tier, block);
    if (tier && rest)
        sp_tier_insert(tier, rest);
    return exact;
}

static void put(uint64_t place, uint64_t count, int tier) {
    sp_tier_insert(&tiers[tier], set_aside(place, count));
}

struct sum {
    size_t rows;
    uint64_t bytes;
    uint64_t smallest;
    uint64_t end;
};

static void add(void *context, struct sp_block *first, struct sp_block *last) {
    struct sum *sum = context;
    uint64_t size = sp_block_end(last) - first->address;
    assert_true(first->address >= sum->end); // each once, by address
    sum->end = sp_block_end(last);
    sum->rows++;
    sum->bytes += size;
    sum->smallest = size < sum->smallest ? size : sum->smallest;
}

static struct sum find(uint64_t least) {
    struct sum sum = {.smallest = UINT64_MAX};
    struct sp_rows_search search = {.least = least, .visit = add, .context = &sum};
    assert_true(sp_rows_find(&chain, &search));
    assert_true(sum.rows == 0 || sum.smallest >= least);
    return sum;
}

static struct sum look_at_all(uint64_t least) {
    struct sum sum = {.smallest = UINT64_MAX};
    struct sp_block *block = chain.first;
    while (block) {
        struct sp_block *last = block;
        while (sp_block_is_in_tier(block) && sp_block_is_in_tier(last->next))
            last = last->next;
        if (last != block && sp_block_end(last) - block->address >= least)
            add(&sum, block, last);
        block = last->next;
    }
    return sum;
}

static void assert_found(uint64_t least) {
    struct sum found = find(least);
    struct sum all = look_at_all(least);
    assert_int_equal(found.rows, all.rows);
    assert_int_equal(found.bytes, all.bytes);
}

static void blocks_alone_are_no_rows(void **state) {
    (void)state;
    put(0, 10, 0);
    put(20, 10, 1);
    assert_int_equal(find(BLOCK).rows, 0);
    put(10, 1, 0); // joins the first
    assert_int_equal(find(BLOCK).rows, 0);
}

static void neighbours_in_different_tiers_are_a_row_on_either_side(void **state) {
    (void)state;
    put(10, 2, 0);
    put(12, 2, 1);
    assert_int_equal(find(4 * BLOCK).rows, 1);
    assert_int_equal(find(4 * BLOCK + SP_ALIGNMENT).rows, 0);
    put(8, 2, 1);
    assert_int_equal(find(6 * BLOCK).bytes, 6 * BLOCK);
    put(6, 2, 1); // joins the one behind it, and so makes the row longer whose seams are all behind
    assert_int_equal(find(8 * BLOCK).bytes, 8 * BLOCK);
    assert_true(inside_chain_check(&chain));
}

static void rows_that_reach_over_units_and_leaves_are_found_once(void **state) {
    (void)state;
    for (uint64_t place = 4; place < 9000; place += 3)
        put(place, 3, (int)(place / 3 % TIERS));
    assert_int_equal(find(BLOCK).rows, 1);
    assert_int_equal(find(8997 * BLOCK).rows, 1);
    set_aside(5000, 1);
    assert_found(BLOCK);
    assert_int_equal(find(4996 * BLOCK).rows, 1);
    assert_int_equal(find(4997 * BLOCK).rows, 0);
    assert_true(inside_chain_check(&chain));
}

// What is learned in one leaf of a row that goes on in the next is known there, too.
static void a_row_that_grows_in_one_leaf_is_known_in_the_other(void **state) {
    (void)state;
    enum { LEAF = SP_LEAF_UNITS * 8 };
    unsigned looks = 1000;
    for (uint64_t place = LEAF + 4; place < LEAF + 44; place++)
        put(place, 1, (int)(place % 2));
    put(LEAF - 6, 10, 2);
    assert_int_equal(find(BLOCK).bytes, 50 * BLOCK);
    put(LEAF - 16, 10, 1);
    assert_true(sp_rows_learn(&chain, &looks));
    assert_true(inside_chain_check(&chain));
    assert_int_equal(find(60 * BLOCK).rows, 1);
}

static void whatever_happens_the_rows_that_are_large_enough_are_found(void **state) {
    (void)state;
    uint64_t seed = 5;
    for (int round = 0; round < 3000; round++) {
        uint64_t place = random_below(&seed, 400) + (uint64_t)(round % 2) * 4000;
        struct sp_block *block = set_aside(place, 1);
        if (random_below(&seed, 3) > 0)
            sp_tier_insert(&tiers[random_below(&seed, TIERS)], block);
        if (random_below(&seed, 8) == 0)
            assert_found(BLOCK << random_below(&seed, 6));
        unsigned looks = (unsigned)random_below(&seed, 40);
        if (random_below(&seed, 8) == 0)
            sp_rows_learn(&chain, &looks);
        assert_true(round % 16 != 0 || inside_chain_check(&chain));
    }
}

// A search goes by the rows that are large enough; what is known of the others isn't looked at
// again.
static void what_is_known_costs_nothing(void **state) {
    (void)state;
    unsigned looks = 0;
    for (uint64_t place = 0; place < 3000; place += 3) {
        put(place, 1, 0);
        put(place + 1, 1, 1);
    }
    assert_false(sp_rows_learn(&chain, &looks));
    looks = 100000;
    assert_true(sp_rows_learn(&chain, &looks));
    assert_true(looks < 100000);
    looks = 1;
    assert_true(sp_rows_learn(&chain, &looks));
    assert_int_equal(looks, 1);
    set_aside(900, 1);
    assert_true(sp_rows_learn(&chain, &looks)); // what is taken makes no row larger
    assert_int_equal(looks, 1);
    put(900, 1, 2);
    looks = 100;
    assert_true(sp_rows_learn(&chain, &looks));
    assert_true(looks > 50);
    assert_int_equal(find(3 * BLOCK).rows, 0);
    assert_found(2 * BLOCK);
}

// --------------------------------------------------------------------------------------- long rows

// Each block of the first ones in another tier than its neighbours.
static void put_long_row(uint64_t count) {
    for (uint64_t place = 0; place < count; place++)
        put(place, 1, (int)(place % 2));
}

// Parts share the block at which they meet, and a search that goes on looks back from there.
static void add_part(void *context, struct sp_block *first, struct sp_block *last) {
    struct sum *sum = context;
    uint64_t begin = first->address > sum->end ? first->address : sum->end;
    assert_true(sp_block_end(last) >= begin);
    sum->bytes += sp_block_end(last) - begin;
    sum->end = sp_block_end(last);
    sum->rows++;
}

static void a_search_that_has_no_looks_left_goes_on_at_the_next_one(void **state) {
    (void)state;
    enum { LONG = 6000, LOOKS = 1000 };
    struct sum sum = {0};
    struct sp_rows_search search = {
        .least = BLOCK, .visit = add_part, .context = &sum, .in_parts = true};
    bool whole = false;
    size_t searches = 0;
    put_long_row(LONG);
    for (; !whole; searches++) {
        uint64_t before = sum.bytes;
        search.looks = LOOKS;
        whole = sp_rows_find(&chain, &search);
        assert_true(whole || sum.bytes > before);
        assert_true(sum.bytes - before <= (LOOKS + 2 * SP_ROWS_LONG) * BLOCK);
        assert_true(whole || (search.looks == 0 && search.from > BASE));
        assert_true(inside_chain_check(&chain));
    }
    assert_int_equal(sum.bytes, LONG * BLOCK);
    assert_true(searches >= LONG / (LOOKS + 2 * SP_ROWS_LONG));
    assert_int_equal(find(LONG * BLOCK).rows, 1); // in whole rows
}

static void what_is_learned_of_a_long_row_is_no_look_at_all_of_it(void **state) {
    (void)state;
    enum { LONG = 6000 };
    unsigned looks = 100000;
    put_long_row(LONG);
    assert_true(sp_rows_learn(&chain, &looks));
    put(LONG, 1, 0);
    looks = 100000;
    assert_true(sp_rows_learn(&chain, &looks));
    assert_true(looks > 100000 - 4 * SP_ROWS_LONG);
    assert_true(inside_chain_check(&chain));
    assert_int_equal(find((LONG + 1) * BLOCK).rows, 1);
}

static void whatever_happens_long_rows_are_found(void **state) {
    (void)state;
    enum { LONG = 3000 };
    uint64_t seed = 7;
    put_long_row(LONG);
    for (int round = 0; round < 3000; round++) {
        struct sp_block *block = set_aside(random_below(&seed, LONG), 1);
        if (random_below(&seed, 32) > 0)
            sp_tier_insert(&tiers[random_below(&seed, TIERS)], block);
        struct sum sum = {0};
        struct sp_rows_search search = {.least = BLOCK << random_below(&seed, 12),
                                        .visit = add_part,
                                        .context = &sum,
                                        .in_parts = true,
                                        .looks = (unsigned)random_below(&seed, 900)};
        unsigned looks = (unsigned)random_below(&seed, 900);
        if (random_below(&seed, 4) == 0)
            sp_rows_learn(&chain, &looks);
        if (random_below(&seed, 4) == 0)
            sp_rows_find(&chain, &search);
        if (random_below(&seed, 16) == 0)
            assert_found(BLOCK << random_below(&seed, 12));
        assert_true(round % 16 != 0 || inside_chain_check(&chain));
    }
}

static void a_row_of_which_nothing_is_noted_is_out_of_order(void **state) {
    (void)state;
    put(10, 2, 0);
    put(12, 2, 1);
    chain.leaves[0]->rows[1] = 0;
    assert_false(inside_chain_check(&chain));
    chain.leaves[0]->rows[1] = SP_ROWS_UNKNOWN;
    assert_true(inside_chain_check(&chain));
    chain.leaves[0]->rows_most = 0;
    assert_false(inside_chain_check(&chain));
}

#define rows_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        rows_test(blocks_alone_are_no_rows),
        rows_test(neighbours_in_different_tiers_are_a_row_on_either_side),
        rows_test(rows_that_reach_over_units_and_leaves_are_found_once),
        rows_test(a_row_that_grows_in_one_leaf_is_known_in_the_other),
        rows_test(whatever_happens_the_rows_that_are_large_enough_are_found),
        rows_test(what_is_known_costs_nothing),
        rows_test(a_search_that_has_no_looks_left_goes_on_at_the_next_one),
        rows_test(what_is_learned_of_a_long_row_is_no_look_at_all_of_it),
        rows_test(whatever_happens_long_rows_are_found),
        rows_test(a_row_of_which_nothing_is_noted_is_out_of_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
