#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/host_memory.h"
#include "heap/block.h"
#include "heap/tier.h"
#include "inside/chain.h"
#include "inside/tier.h"
#include "unit/random.h"

#define BASE  ((uint64_t)1 << 40)
#define UNITS 96
#define UNIT  SP_ALIGNMENT
#define TIERS 3

static struct sp_chain chain;
static struct sp_tier tiers[TIERS];

static int open_chain(void **state) {
    (void)state;
    for (int i = 0; i < TIERS; i++)
        sp_tier_init(&tiers[i], SP_BLOCK_FREE);
    return sp_chain_open(&chain, BASE, UNITS * UNIT) ? 0 : -1;
}

static int close_chain(void **state) {
    (void)state;
    sp_chain_close(&chain);
    return 0;
}

// Cuts the chain into blocks of so many units; what is left is the last block.
static void cut(struct sp_block **blocks, const size_t *units, int count) {
    blocks[0] = chain.first;
    for (int i = 0; i < count; i++)
        blocks[i + 1] = sp_block_split(blocks[i], units[i] * UNIT);
}

static void add_fence(struct sp_block *block, uint32_t slot) {
    assert_true(sp_fence_set_add(&block->fences, (struct sp_fence){slot, 1}));
}

static void an_empty_tier_fits_nothing(void **state) {
    (void)state;
    assert_null(sp_tier_best_fit(&tiers[0], 0));
    assert_null(sp_tier_best_fit(&tiers[0], UINT64_MAX));
    assert_null(sp_tier_first(&tiers[0]));
    assert_true(inside_tier_check(&tiers[0]));
}

static void
best_fit_takes_the_smallest_that_is_large_enough_and_the_lowest_among_equals(void **state) {
    (void)state;
    struct sp_block *blocks[9];
    const size_t units[] = {4, 1, 2, 1, 8, 1, 2, 1};
    cut(blocks, units, 8);
    const int inserted[] = {6, 4, 0, 2}; // the second 2 before the first
    for (int i = 0; i < 4; i++)
        assert_ptr_equal(sp_tier_insert(&tiers[0], blocks[inserted[i]]), blocks[inserted[i]]);
    assert_ptr_equal(sp_tier_best_fit(&tiers[0], 0), blocks[2]);
    assert_ptr_equal(sp_tier_best_fit(&tiers[0], 2 * UNIT), blocks[2]);
    assert_ptr_equal(sp_tier_best_fit(&tiers[0], 2 * UNIT + 1), blocks[0]);
    assert_ptr_equal(sp_tier_best_fit(&tiers[0], 4 * UNIT), blocks[0]);
    assert_ptr_equal(sp_tier_best_fit(&tiers[0], 8 * UNIT), blocks[4]);
    assert_null(sp_tier_best_fit(&tiers[0], 8 * UNIT + 1));
    sp_tier_remove(blocks[2]);
    assert_ptr_equal(sp_tier_best_fit(&tiers[0], UNIT), blocks[6]);
}

static void the_walk_goes_by_size_and_then_by_address(void **state) {
    (void)state;
    struct sp_block *blocks[7];
    const size_t units[] = {3, 1, 2, 1, 2, 1};
    cut(blocks, units, 6);
    sp_tier_insert(&tiers[0], blocks[4]);
    sp_tier_insert(&tiers[0], blocks[0]);
    sp_tier_insert(&tiers[0], blocks[2]);
    struct sp_block *walk = sp_tier_first(&tiers[0]);
    assert_ptr_equal(walk, blocks[2]);
    walk = sp_tier_next(walk);
    assert_ptr_equal(walk, blocks[4]);
    walk = sp_tier_next(walk);
    assert_ptr_equal(walk, blocks[0]);
    assert_null(sp_tier_next(walk));
}

static void insertion_merges_with_neighbours_of_the_same_tier_on_both_sides(void **state) {
    (void)state;
    struct sp_block *blocks[4];
    const size_t units[] = {2, 3, 4};
    cut(blocks, units, 3);
    sp_tier_insert(&tiers[0], blocks[0]);
    sp_tier_insert(&tiers[0], blocks[2]);
    struct sp_block *merged = sp_tier_insert(&tiers[0], blocks[1]);
    assert_ptr_equal(merged, blocks[0]);
    assert_int_equal(merged->size, 9 * UNIT);
    assert_int_equal(sp_block_state(merged), SP_BLOCK_FREE);
    assert_int_equal(tiers[0].bytes, 9 * UNIT);
    assert_ptr_equal(sp_tier_first(&tiers[0]), merged);
    assert_null(sp_tier_next(merged));
    assert_true(inside_chain_check(&chain));
    assert_true(inside_tier_check(&tiers[0]));
}

static void neighbours_of_different_tiers_stay_apart(void **state) {
    (void)state;
    struct sp_block *blocks[3];
    const size_t units[] = {2, 2};
    cut(blocks, units, 2);
    sp_tier_insert(&tiers[0], blocks[0]);
    sp_tier_insert(&tiers[1], blocks[1]);
    sp_tier_insert(&tiers[2], blocks[2]);
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(sp_tier_first(&tiers[i]), blocks[i]);
    assert_true(inside_chain_check(&chain));
}

static void a_removed_block_is_in_no_tier_and_busy(void **state) {
    (void)state;
    sp_tier_insert(&tiers[0], chain.first);
    sp_tier_remove(chain.first);
    assert_null(chain.first->tier);
    assert_int_equal(sp_block_state(chain.first), SP_BLOCK_BUSY);
    assert_int_equal(tiers[0].bytes, 0);
    assert_null(sp_tier_first(&tiers[0]));
    assert_true(inside_tier_check(&tiers[0]));
}

static void a_tier_of_holes_holds_holes(void **state) {
    (void)state;
    sp_tier_init(&tiers[0], SP_BLOCK_HOLE);
    sp_tier_insert(&tiers[0], chain.first);
    assert_int_equal(sp_block_state(chain.first), SP_BLOCK_HOLE);
    assert_true(inside_tier_check(&tiers[0]));
    sp_block_set_state(chain.first, SP_BLOCK_FREE);
    assert_false(inside_tier_check(&tiers[0]));
}

static void blocks_whose_fences_can_not_be_joined_stay_apart_and_merge_later(void **state) {
    (void)state;
    uint64_t failed = 0;
    struct sp_block *blocks[4];
    const size_t units[] = {2, 3, 4};
    cut(blocks, units, 3);
    for (int i = 0; i < 3; i++) {
        add_fence(blocks[i], (uint32_t)(2 * i));
        add_fence(blocks[i], (uint32_t)(2 * i + 1));
    }
    sp_tier_insert(&tiers[0], blocks[0]);
    sp_tier_insert(&tiers[0], blocks[2]);
    host_memory_enter(1, true);
    struct sp_block *inserted = sp_tier_insert(&tiers[0], blocks[1]);
    host_memory_leave(&failed);
    assert_int_equal(failed, 2);
    assert_ptr_equal(inserted, blocks[1]);
    assert_int_equal(tiers[0].bytes, 9 * UNIT);
    for (int i = 0; i < 3; i++)
        assert_int_equal(blocks[i]->fences.count, 2);
    assert_true(inside_chain_check(&chain));
    assert_true(inside_tier_check(&tiers[0]));

    sp_tier_remove(blocks[1]);
    inserted = sp_tier_insert(&tiers[0], blocks[1]);
    assert_ptr_equal(inserted, blocks[0]);
    assert_int_equal(inserted->size, 9 * UNIT);
    assert_int_equal(inserted->fences.count, 6);
    assert_true(inside_tier_check(&tiers[0]));
}

static void a_block_is_taken_from_the_front_and_the_rest_stays(void **state) {
    (void)state;
    struct sp_block *blocks[5];
    const size_t units[] = {40, 1, 40, 1};
    cut(blocks, units, 4);
    add_fence(blocks[0], 7);
    sp_tier_insert(&tiers[0], blocks[0]);
    const size_t taken[] = {1, 3, 20}; // which leaves one of the same bin, and of two other ones
    size_t left = 40;
    for (int i = 0; i < 3; i++) {
        struct sp_block *rest = sp_tier_first(&tiers[0]);
        struct sp_block *block = sp_tier_take(rest, taken[i] * UNIT);
        assert_non_null(block);
        left -= taken[i];
        assert_null(block->tier);
        assert_int_equal(sp_block_state(block), SP_BLOCK_BUSY);
        assert_int_equal(block->size, taken[i] * UNIT);
        assert_int_equal(block->fences.count, 1);
        assert_ptr_equal(block->next, rest);
        assert_ptr_equal(sp_tier_first(&tiers[0]), rest);
        assert_int_equal(rest->size, left * UNIT);
        assert_int_equal(rest->fences.count, 1);
        assert_int_equal(tiers[0].bytes, left * UNIT);
        assert_true(inside_chain_check(&chain));
        assert_true(inside_tier_check(&tiers[0]));
    }
    struct sp_block *last = sp_tier_first(&tiers[0]);
    assert_ptr_equal(sp_tier_take(last, left * UNIT), last);
    assert_null(sp_tier_first(&tiers[0]));
    sp_tier_insert(&tiers[0], blocks[2]); // beside another one
    sp_tier_insert(&tiers[0], blocks[4]);
    assert_non_null(sp_tier_take(blocks[2], UNIT));
    assert_true(inside_chain_check(&chain));
    assert_true(inside_tier_check(&tiers[0]));
}

static void without_host_memory_for_the_rest_nothing_is_taken(void **state) {
    (void)state;
    const size_t left[] = {UNITS - 1, 1}; // in the same bin, and in another one
    add_fence(chain.first, 1);
    add_fence(chain.first, 2);
    add_fence(chain.first, 3); // which stand apart
    sp_tier_insert(&tiers[0], chain.first);
    for (int i = 0; i < 2; i++) {
        uint64_t failed = 0;
        host_memory_enter(1, true);
        assert_null(sp_tier_take(chain.first, (UNITS - left[i]) * UNIT));
        host_memory_leave(&failed);
        assert_true(failed > 0);
        assert_ptr_equal(sp_tier_first(&tiers[0]), chain.first);
        assert_int_equal(chain.first->size, UNITS * UNIT);
        assert_int_equal(tiers[0].bytes, UNITS * UNIT);
        assert_true(inside_chain_check(&chain));
        assert_true(inside_tier_check(&tiers[0]));
    }
}

// The model: the tier of each unit of the range, or TIERS when it is taken. Neighbouring units of
// one tier are one block, and so are units that were taken together.
struct model {
    int tier[UNITS];
    bool begins[UNITS];
};

static size_t unit_of(const struct sp_block *block) {
    return (block->address - BASE) / UNIT;
}

static uint64_t bytes_in(const struct model *model, int tier) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < UNITS; i++)
        bytes += model->tier[i] == tier ? UNIT : 0;
    return bytes;
}

static size_t row_length(const struct model *model, size_t first) {
    size_t end = first + 1;
    while (end < UNITS && !model->begins[end])
        end++;
    return end - first;
}

// The address of the best fit by looking at all of them, or 0.
static uint64_t model_best_fit(const struct model *model, int tier, uint64_t size) {
    uint64_t best = UINT64_MAX;
    uint64_t address = 0;
    for (size_t i = 0; i < UNITS; i++) {
        if (!model->begins[i] || model->tier[i] != tier)
            continue;
        uint64_t length = row_length(model, i) * UNIT;
        if (length >= size && length < best) {
            best = length;
            address = BASE + i * UNIT;
        }
    }
    return address;
}

static void assert_same(const struct model *model) {
    const struct sp_block *block = chain.first;
    assert_true(inside_chain_check(&chain));
    for (int i = 0; i < TIERS; i++) {
        assert_true(inside_tier_check(&tiers[i]));
        assert_int_equal(tiers[i].bytes, bytes_in(model, i));
    }
    for (size_t i = 0; i < UNITS; i++) {
        if (!model->begins[i])
            continue;
        assert_int_equal(unit_of(block), i);
        assert_int_equal(block->size, row_length(model, i) * UNIT);
        assert_ptr_equal(block->tier, model->tier[i] == TIERS ? NULL : &tiers[model->tier[i]]);
        block = block->next;
    }
    assert_null(block);
}

static void take(struct model *model, int tier, uint64_t size) {
    struct sp_block *block = sp_tier_best_fit(&tiers[tier], size);
    assert_int_equal(block ? block->address : 0, model_best_fit(model, tier, size));
    if (!block)
        return;
    block = sp_tier_take(block, size);
    assert_non_null(block);
    if (block->next && unit_of(block->next) == unit_of(block) + size / UNIT)
        model->begins[unit_of(block->next)] = true;
    for (size_t i = unit_of(block); i < unit_of(block) + size / UNIT; i++)
        model->tier[i] = TIERS;
}

static void give(struct model *model, struct sp_block *block, int tier) {
    size_t first = unit_of(block);
    size_t end = first + block->size / UNIT;
    for (size_t i = first; i < end; i++)
        model->tier[i] = tier;
    if (first > 0 && model->tier[first - 1] == tier)
        model->begins[first] = false;
    if (end < UNITS && model->tier[end] == tier)
        model->begins[end] = false;
    sp_tier_insert(&tiers[tier], block);
}

static struct sp_block *any_taken(uint64_t *seed) {
    struct sp_block *found = NULL;
    uint64_t seen = 0;
    for (struct sp_block *block = chain.first; block; block = block->next) {
        if (!block->tier && random_below(seed, ++seen) == 0)
            found = block;
    }
    return found;
}

static void random_operations_agree_with_a_map_of_units(void **state) {
    (void)state;
    static struct model model;
    uint64_t seed = 23;
    model = (struct model){.begins = {true}};
    sp_tier_insert(&tiers[0], chain.first);
    for (int step = 0; step < 6000; step++) {
        int tier = (int)random_below(&seed, TIERS);
        struct sp_block *taken = any_taken(&seed);
        if (taken && random_below(&seed, 2) == 0)
            give(&model, taken, tier);
        else
            take(&model, tier, (1 + random_below(&seed, 12)) * UNIT);
        assert_same(&model);
    }
}

static void the_check_finds_wrong_sums_and_strangers(void **state) {
    (void)state;
    sp_tier_insert(&tiers[0], chain.first);
    tiers[0].bytes += UNIT;
    assert_false(inside_tier_check(&tiers[0]));
    tiers[0].bytes -= UNIT;
    chain.first->tier = &tiers[1];
    assert_false(inside_tier_check(&tiers[0]));
    chain.first->tier = &tiers[0];
    assert_true(inside_tier_check(&tiers[0]));
}

static void open_roomy(struct sp_chain *roomy, uint64_t bias, uint64_t size) {
    assert_true(sp_chain_open(roomy, 0, size));
    roomy->bias = bias;
}

// Blocks of any size, as a pool of terabytes could have them: the walk and the best fit go by size
// alone.
static void the_order_holds_over_all_sizes(void **state) {
    (void)state;
    enum { BLOCKS = 600 };
    static struct sp_block blocks[BLOCKS];
    struct sp_chain chains[2];
    uint64_t seed = 31;
    open_roomy(&chains[0], 0, (uint64_t)(BLOCKS + 1) << 32);
    open_roomy(&chains[1], UINT64_C(1) << 50, (uint64_t)(BLOCKS + 1) << 32);
    for (int i = 0; i < BLOCKS; i++) {
        uint64_t units = (UINT64_C(1) << random_below(&seed, 40)) + random_below(&seed, 5) - 1;
        blocks[i] = (struct sp_block){.address = (uint64_t)(i + 1) << 32,
                                      .size = (units ? units : 1) * UNIT,
                                      .chain = &chains[i % 3 == 0]};
        assert_true(sp_chain_make_room(blocks[i].chain, blocks[i].address));
        sp_tier_insert(&tiers[0], &blocks[i]);
    }
    assert_true(inside_tier_check(&tiers[0]));
    const struct sp_block *before = NULL;
    int walked = 0;
    for (struct sp_block *b = sp_tier_first(&tiers[0]); b; b = sp_tier_next(b), walked++) {
        assert_true(!before || before->size < b->size ||
                    (before->size == b->size && sp_chain_rank(before) < sp_chain_rank(b)));
        before = b;
    }
    assert_int_equal(walked, BLOCKS);
    assert_ptr_equal(sp_tier_last(&tiers[0]), before);
    for (int i = 0; i < BLOCKS; i++) {
        uint64_t size = blocks[random_below(&seed, BLOCKS)].size + random_below(&seed, 3) - 1;
        const struct sp_block *best = NULL;
        for (int j = 0; j < BLOCKS; j++) {
            const struct sp_block *b = &blocks[j];
            if (b->tier && b->size >= size &&
                (!best || b->size < best->size ||
                 (b->size == best->size && sp_chain_rank(b) < sp_chain_rank(best))))
                best = b;
        }
        struct sp_block *fit = sp_tier_best_fit(&tiers[0], size);
        assert_ptr_equal(fit, best);
        if (fit)
            sp_tier_remove(fit);
    }
    while (sp_tier_first(&tiers[0]))
        sp_tier_remove(sp_tier_last(&tiers[0]));
    assert_null(sp_tier_last(&tiers[0]));
    assert_true(inside_tier_check(&tiers[0]));
    sp_chain_close(&chains[0]);
    sp_chain_close(&chains[1]);
}

static void the_check_finds_blocks_in_a_wrong_bin(void **state) {
    (void)state;
    sp_tier_insert(&tiers[0], chain.first);
    chain.first->bin++;
    assert_false(inside_tier_check(&tiers[0]));
    chain.first->bin--;
    uint64_t used = tiers[0].used[0];
    tiers[0].used[0] = used << 1;
    assert_false(inside_tier_check(&tiers[0]));
    tiers[0].used[0] = 0;
    assert_false(inside_tier_check(&tiers[0]));
    tiers[0].used[0] = used;
    assert_true(inside_tier_check(&tiers[0]));
}

// ------------------------------------------------------------------------------- foreign memory

enum { PARTS = 8, PART = SP_FOREIGN_MOST / 4 };

static int open_parts(void **state) {
    (void)state;
    sp_tier_init(&tiers[0], SP_BLOCK_FREE);
    return sp_chain_open(&chain, BASE, (uint64_t)PARTS * PART) ? 0 : -1;
}

// Inserts parts with a fence of one stream each, whose numbers grow by `step`, and returns how many
// blocks there are then.
static int count_parts(bool foreign, uint64_t step) {
    struct sp_block *parts[PARTS] = {chain.first};
    int count = 0;
    for (int i = 1; i < PARTS; i++)
        parts[i] = sp_block_split(parts[i - 1], PART);
    for (int i = 0; i < PARTS; i++) {
        parts[i]->is_foreign = foreign;
        if (step != UINT64_MAX)
            sp_fence_set_add(&parts[i]->fences, (struct sp_fence){1, 1 + (uint64_t)i * step});
        sp_tier_insert(&tiers[0], parts[i]);
    }
    for (struct sp_block *block = sp_tier_first(&tiers[0]); block; block = sp_tier_next(block)) {
        assert_true(block->is_foreign == foreign);
        count++;
    }
    assert_true(inside_tier_check(&tiers[0]));
    return count;
}

static void pending_foreign_blocks_merge_up_to_16_mib(void **state) {
    (void)state;
    assert_int_equal(count_parts(true, 1), PARTS * PART / SP_FOREIGN_MOST);
    assert_int_equal(sp_tier_first(&tiers[0])->size, SP_FOREIGN_MOST);
}

static void foreign_blocks_that_complete_together_merge(void **state) {
    (void)state;
    assert_int_equal(count_parts(true, 0), 1);
}

static void those_of_two_streams_do_not_though_their_numbers_are_the_same(void **state) {
    (void)state;
    struct sp_block *first = chain.first,
                    *second = sp_block_split(first, (uint64_t)PARTS / 2 * PART);
    first->is_foreign = second->is_foreign = true;
    add_fence(first, 1);
    add_fence(second, 2);
    sp_tier_insert(&tiers[0], first);
    assert_ptr_equal(sp_tier_insert(&tiers[0], second), second);
}

static void foreign_blocks_that_are_complete_merge(void **state) {
    (void)state;
    assert_int_equal(count_parts(true, UINT64_MAX), 1);
}

static void other_blocks_merge_without_a_limit(void **state) {
    (void)state;
    assert_int_equal(count_parts(false, 1), 1);
}

static void a_part_of_a_foreign_block_is_foreign_until_it_is_live(void **state) {
    (void)state;
    chain.first->is_foreign = true;
    struct sp_block *rest = sp_block_split(chain.first, PART);
    struct sp_block *front = sp_block_cut_front(rest, PART);
    assert_true(rest->is_foreign && front->is_foreign);
    sp_block_set_live(front);
    assert_false(front->is_foreign);
    assert_true(rest->is_foreign);
}

#define tier_test(function)  cmocka_unit_test_setup_teardown(function, open_chain, close_chain)
#define parts_test(function) cmocka_unit_test_setup_teardown(function, open_parts, close_chain)

int main(void) {
    const struct CMUnitTest tests[] = {
        tier_test(an_empty_tier_fits_nothing),
        tier_test(best_fit_takes_the_smallest_that_is_large_enough_and_the_lowest_among_equals),
        tier_test(the_walk_goes_by_size_and_then_by_address),
        tier_test(insertion_merges_with_neighbours_of_the_same_tier_on_both_sides),
        tier_test(neighbours_of_different_tiers_stay_apart),
        tier_test(a_removed_block_is_in_no_tier_and_busy),
        tier_test(a_tier_of_holes_holds_holes),
        tier_test(blocks_whose_fences_can_not_be_joined_stay_apart_and_merge_later),
        tier_test(a_block_is_taken_from_the_front_and_the_rest_stays),
        tier_test(without_host_memory_for_the_rest_nothing_is_taken),
        tier_test(random_operations_agree_with_a_map_of_units),
        tier_test(the_check_finds_wrong_sums_and_strangers),
        tier_test(the_order_holds_over_all_sizes),
        tier_test(the_check_finds_blocks_in_a_wrong_bin),
        parts_test(pending_foreign_blocks_merge_up_to_16_mib),
        parts_test(foreign_blocks_that_complete_together_merge),
        parts_test(those_of_two_streams_do_not_though_their_numbers_are_the_same),
        parts_test(foreign_blocks_that_are_complete_merge),
        parts_test(other_blocks_merge_without_a_limit),
        parts_test(a_part_of_a_foreign_block_is_foreign_until_it_is_live),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
