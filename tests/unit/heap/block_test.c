#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/host_memory.h"
#include "heap/block.h"
#include "heap/search.h"
#include "inside/chain.h"
#include "unit/random.h"

#define BASE  ((uint64_t)1 << 40)
#define UNITS 256
#define SIZE  (UNITS * SP_ALIGNMENT)

static struct sp_chain chain;

static int open_chain(void **state) {
    (void)state;
    return sp_chain_open(&chain, BASE, SIZE) ? 0 : -1;
}

static int close_chain(void **state) {
    (void)state;
    if (chain.first)
        sp_chain_close(&chain);
    return 0;
}

static void add_fence(struct sp_block *block, uint32_t slot, uint64_t sequence) {
    assert_true(sp_fence_set_add(&block->fences, (struct sp_fence){slot, sequence}));
}

static uint64_t sequence_of(const struct sp_block *block, uint32_t slot) {
    for (uint32_t i = 0; i < block->fences.count; i++) {
        if (sp_fence_set_at(&block->fences, i)->slot == slot)
            return sp_fence_set_at(&block->fences, i)->sequence;
    }
    return 0;
}

static void a_new_chain_is_one_block_in_no_index(void **state) {
    (void)state;
    const struct sp_block *block = chain.first;
    assert_int_equal(block->address, BASE);
    assert_int_equal(block->size, SIZE);
    assert_null(block->prev);
    assert_null(block->next);
    assert_null(block->tier);
    assert_null(block->slab);
    assert_ptr_equal(block->chain, &chain);
    assert_int_equal(sp_block_state(block), SP_BLOCK_BUSY);
    assert_true(sp_fence_set_empty(&block->fences));
    assert_true(inside_chain_check(&chain));
}

static void a_split_gives_two_neighbours_of_the_same_state_and_fences(void **state) {
    (void)state;
    struct sp_block *block = chain.first;
    for (uint32_t slot = 0; slot < 4; slot++)
        add_fence(block, slot, slot + 10);
    sp_block_set_state(block, SP_BLOCK_LIVE);
    struct sp_block *rest = sp_block_split(block, 3 * SP_ALIGNMENT);
    assert_non_null(rest);
    assert_int_equal(block->size, 3 * SP_ALIGNMENT);
    assert_int_equal(rest->address, BASE + 3 * SP_ALIGNMENT);
    assert_int_equal(rest->size, SIZE - 3 * SP_ALIGNMENT);
    assert_ptr_equal(block->next, rest);
    assert_ptr_equal(rest->prev, block);
    assert_int_equal(sp_block_state(rest), SP_BLOCK_LIVE);
    for (uint32_t slot = 0; slot < 4; slot++) {
        assert_int_equal(sequence_of(block, slot), slot + 10);
        assert_int_equal(sequence_of(rest, slot), slot + 10);
    }
    assert_true(inside_chain_check(&chain));
}

static void the_two_sides_of_a_split_share_no_fence_set(void **state) {
    (void)state;
    for (uint32_t slot = 0; slot < 4; slot++)
        add_fence(chain.first, slot, 1);
    struct sp_block *rest = sp_block_split(chain.first, SP_ALIGNMENT);
    add_fence(rest, 3, 9);
    add_fence(rest, 7, 9);
    assert_int_equal(sequence_of(chain.first, 3), 1);
    assert_int_equal(sequence_of(chain.first, 7), 0);
    sp_fence_set_clear(&rest->fences);
    assert_int_equal(chain.first->fences.count, 4);
}

static void absorbing_joins_sizes_and_keeps_the_later_fence_of_each_stream(void **state) {
    (void)state;
    struct sp_block *block = chain.first;
    struct sp_block *rest = sp_block_split(block, SP_ALIGNMENT);
    struct sp_block *last = sp_block_split(rest, SP_ALIGNMENT);
    add_fence(block, 1, 5);
    add_fence(block, 2, 8);
    add_fence(rest, 2, 6);
    add_fence(rest, 3, 7);
    assert_true(sp_block_absorb_next(block));
    assert_int_equal(block->size, 2 * SP_ALIGNMENT);
    assert_ptr_equal(block->next, last);
    assert_ptr_equal(last->prev, block);
    assert_int_equal(sequence_of(block, 1), 5);
    assert_int_equal(sequence_of(block, 2), 8);
    assert_int_equal(sequence_of(block, 3), 7);
    assert_int_equal(block->fences.count, 3);
    assert_true(inside_chain_check(&chain));
}

// The table of units: blocks that begin before a unit, in it, several in one, and none in many.
static void every_address_leads_to_its_block(void **state) {
    (void)state;
    enum { UNIT = 2 << 20, MANY = 40 };
    static const uint64_t cuts[] = {SP_ALIGNMENT,
                                    UNIT - SP_ALIGNMENT,
                                    UNIT,
                                    UNIT + SP_ALIGNMENT,
                                    7 * UNIT + 3 * SP_ALIGNMENT,
                                    7 * UNIT + 4 * SP_ALIGNMENT,
                                    30 * UNIT};
    struct sp_chain large;
    uint64_t begin = 0;
    assert_true(sp_chain_open(&large, BASE + SP_ALIGNMENT, MANY * (uint64_t)UNIT + SP_ALIGNMENT));
    struct sp_block *block = large.first;
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        block = sp_block_split(block, cuts[i] - begin);
        assert_non_null(block);
        begin = cuts[i];
    }
    for (int joined = 0; joined < 2; joined++) {
        assert_true(inside_chain_check(&large));
        for (block = large.first; block; block = block->next) {
            assert_ptr_equal(sp_chain_find(&large, block->address), block);
            assert_ptr_equal(sp_chain_find(&large, block->address + block->size / 2), block);
            assert_ptr_equal(sp_chain_find(&large, sp_block_end(block) - 1), block);
        }
        for (block = large.first; block && block->next; block = block->next) // every other pair
            assert_true(sp_block_absorb_next(block));
    }
    while (large.first->next)
        assert_true(sp_block_absorb_next(large.first));
    assert_ptr_equal(sp_chain_find(&large, BASE + 20 * (uint64_t)UNIT), large.first);
    assert_true(inside_chain_check(&large));
    sp_chain_close(&large);
}

// Where no block begins there is no table: blocks of several GiB, in a chain that has room for a
// device.
static void a_range_of_terabytes_costs_what_begins_in_it(void **state) {
    (void)state;
    const uint64_t gib = (uint64_t)1 << 30;
    struct sp_chain device;
    assert_true(sp_chain_open(&device, BASE + SP_ALIGNMENT, 4096 * gib));
    struct sp_block *hole = sp_block_split(device.first, 100 * gib + 7 * SP_ALIGNMENT);
    assert_non_null(hole);
    size_t leaves = 0;
    for (size_t i = 0; i < 4096; i++)
        leaves += device.leaves[i] != NULL;
    assert_int_equal(leaves, 2);
    for (uint64_t offset = 0; offset < 4096 * gib; offset += 33 * gib + 5 * SP_ALIGNMENT) {
        struct sp_block *block = sp_chain_find(&device, device.address + offset);
        assert_ptr_equal(block, device.address + offset < hole->address ? device.first : hole);
    }
    assert_ptr_equal(sp_chain_find(&device, hole->address), hole);
    assert_ptr_equal(sp_chain_find(&device, hole->address - 1), device.first);
    assert_true(inside_chain_check(&device));
    sp_chain_close(&device);
}

static void an_absorbed_descriptor_says_that_it_is_nobodys(void **state) {
    (void)state;
    struct sp_block *rest = sp_block_split(chain.first, SP_ALIGNMENT);
    assert_true(sp_block_absorb_next(chain.first));
    assert_int_equal(sp_block_state(rest), SP_BLOCK_NONE);
    assert_true(sp_fence_set_empty(&rest->fences));
}

static void descriptors_of_a_closed_chain_say_that_they_are_nobodys(void **state) {
    (void)state;
    struct sp_block *block = chain.first;
    struct sp_block *rest = sp_block_split(block, SP_ALIGNMENT);
    sp_block_set_state(block, SP_BLOCK_LIVE);
    sp_chain_close(&chain);
    assert_int_equal(sp_block_state(block), SP_BLOCK_NONE);
    assert_int_equal(sp_block_state(rest), SP_BLOCK_NONE);
}

static void a_descriptor_used_again_remembers_nothing(void **state) {
    (void)state;
    struct sp_slab *const somebody = (struct sp_slab *)(uintptr_t)8;
    struct sp_block *old = sp_block_split(chain.first, SP_ALIGNMENT);
    for (uint32_t slot = 0; slot < 4; slot++)
        add_fence(old, slot, 1);
    old->requested = 77;
    old->slab = somebody;
    old->quick_next = old;
    add_fence(chain.first, 0, 1);
    assert_true(sp_block_absorb_next(chain.first));
    sp_fence_set_clear(&chain.first->fences);
    struct sp_block *again = sp_block_split(chain.first, SP_ALIGNMENT);
    assert_ptr_equal(again, old);
    assert_int_equal(again->requested, 0);
    assert_null(again->slab);
    assert_null(again->quick_next);
    assert_true(sp_fence_set_empty(&again->fences));
}

// As many as a chain keeps at hand, and some that go to the others.
static void a_chain_splits_with_what_it_has_at_hand_and_gives_back_the_rest(void **state) {
    (void)state;
    enum { SPLITS = 1000 };
    struct sp_block *made[SPLITS];
    uint64_t failed = 0;
    for (int i = 0; i < SPLITS; i++)
        made[i] = sp_block_split(chain.first, (SPLITS - (uint64_t)i) * SP_ALIGNMENT);
    for (int i = 0; i < SPLITS; i++)
        assert_true(sp_block_absorb_next(chain.first));
    assert_true(chain.spare_count > 0 && chain.spare_count < SPLITS);
    uint32_t at_hand = chain.spare_count;
    host_memory_enter(1, true);
    for (int i = 0; i < SPLITS; i++)
        made[i] = sp_block_split(chain.first, (SPLITS - (uint64_t)i) * SP_ALIGNMENT);
    host_memory_leave(&failed);
    assert_int_equal(failed, 0);
    assert_non_null(made[SPLITS - 1]);
    assert_int_equal(chain.spare_count, 0);
    assert_true(at_hand < SPLITS);
    assert_true(inside_chain_check(&chain));
}

static void a_closed_chain_gives_back_what_it_had_at_hand(void **state) {
    (void)state;
    struct sp_chain other;
    struct sp_block *rest = sp_block_split(chain.first, SP_ALIGNMENT);
    assert_true(sp_block_absorb_next(chain.first));
    assert_ptr_equal(chain.spare, rest);
    sp_chain_close(&chain);
    assert_null(chain.spare);
    assert_int_equal(chain.spare_count, 0);
    assert_true(sp_chain_open(&other, BASE, SIZE));
    assert_ptr_equal(other.first, rest);
    sp_chain_close(&other);
}

static size_t count_blocks(void) {
    size_t count = 0;
    for (const struct sp_block *block = chain.first; block; block = block->next)
        count++;
    return count;
}

// The model: for each unit of the range, whether a block begins there, and the last fence that it
// was given.
struct model {
    bool begins[UNITS];
    uint64_t sequence[UNITS]; // of stream 1, of the block that begins there
};

static void assert_same(const struct model *model) {
    const struct sp_block *block = chain.first;
    for (size_t unit = 0; unit < UNITS; unit++) {
        if (!model->begins[unit])
            continue;
        assert_non_null(block);
        assert_int_equal(block->address, BASE + unit * SP_ALIGNMENT);
        assert_int_equal(sequence_of(block, 1), model->sequence[unit]);
        block = block->next;
    }
    assert_null(block);
    assert_true(inside_chain_check(&chain));
}

static size_t unit_of(const struct sp_block *block) {
    return (block->address - BASE) / SP_ALIGNMENT;
}

static struct sp_block *any_block(uint64_t *seed) {
    struct sp_block *block = chain.first;
    for (uint64_t steps = random_below(seed, count_blocks()); steps > 0; steps--)
        block = block->next;
    return block;
}

static void split_somewhere(struct model *model, struct sp_block *block, uint64_t *seed) {
    size_t units = block->size / SP_ALIGNMENT;
    if (units < 2)
        return;
    size_t at = 1 + random_below(seed, units - 1);
    assert_non_null(sp_block_split(block, at * SP_ALIGNMENT));
    model->begins[unit_of(block) + at] = true;
    model->sequence[unit_of(block) + at] = model->sequence[unit_of(block)];
}

static void absorb(struct model *model, struct sp_block *block) {
    if (!block->next)
        return;
    size_t here = unit_of(block);
    size_t next = unit_of(block->next);
    assert_true(sp_block_absorb_next(block));
    model->begins[next] = false;
    if (model->sequence[here] < model->sequence[next])
        model->sequence[here] = model->sequence[next];
}

static void random_splits_and_joins_keep_the_chain_whole(void **state) {
    (void)state;
    static struct model model;
    uint64_t seed = 11;
    model.begins[0] = true;
    for (uint64_t step = 1; step <= 4000; step++) {
        struct sp_block *block = any_block(&seed);
        switch (random_below(&seed, 3)) {
        case 0:
            split_somewhere(&model, block, &seed);
            break;
        case 1:
            absorb(&model, block);
            break;
        default:
            add_fence(block, 1, step);
            model.sequence[unit_of(block)] = step;
        }
        assert_same(&model);
    }
}

// Takes spare descriptors until there is none, so that the next split has to ask the system for
// more.
static void use_up_spare_descriptors(void) {
    uint64_t failed = 0;
    struct sp_block *last = chain.first;
    host_memory_enter(1, true);
    while (last->size > SP_ALIGNMENT) {
        struct sp_block *rest = sp_block_split(last, SP_ALIGNMENT);
        if (!rest)
            break;
        last = rest;
    }
    host_memory_leave(&failed);
    assert_true(failed > 0);
}

static void a_split_without_host_memory_changes_nothing(void **state) {
    (void)state;
    uint64_t failed = 0;
    use_up_spare_descriptors();
    size_t before = count_blocks();
    struct sp_block *last = chain.first;
    while (last->next)
        last = last->next;
    uint64_t size = last->size;
    host_memory_enter(1, true);
    struct sp_block *rest = sp_block_split(last, SP_ALIGNMENT);
    host_memory_leave(&failed);
    assert_null(rest);
    assert_int_equal(last->size, size);
    assert_null(last->next);
    assert_int_equal(count_blocks(), before);
    assert_true(inside_chain_check(&chain));
}

static void a_chain_without_host_memory_is_not_opened(void **state) {
    (void)state;
    uint64_t failed = 0;
    struct sp_chain other = {0};
    use_up_spare_descriptors();
    host_memory_enter(1, true);
    bool opened = sp_chain_open(&other, 0, SP_ALIGNMENT);
    host_memory_leave(&failed);
    assert_false(opened);
}

static void a_split_that_can_not_copy_the_fences_changes_nothing(void **state) {
    (void)state;
    uint64_t failed = 0;
    for (uint32_t slot = 0; slot < 5; slot++)
        add_fence(chain.first, slot, 1);
    assert_non_null(sp_block_split(chain.first, SIZE / 2)); // so that there are spare descriptors
    assert_true(sp_block_absorb_next(chain.first));
    host_memory_enter(1, true);
    struct sp_block *rest = sp_block_split(chain.first, SP_ALIGNMENT);
    host_memory_leave(&failed);
    assert_true(failed > 0);
    assert_null(rest);
    assert_int_equal(chain.first->size, SIZE);
    assert_int_equal(chain.first->fences.count, 5);
    assert_true(inside_chain_check(&chain));
}

static void an_absorption_that_can_not_join_the_fences_changes_nothing(void **state) {
    (void)state;
    uint64_t failed = 0;
    struct sp_block *rest = sp_block_split(chain.first, SP_ALIGNMENT);
    add_fence(chain.first, 1, 1);
    add_fence(chain.first, 2, 1);
    add_fence(rest, 2, 5);
    add_fence(rest, 3, 5);
    host_memory_enter(1, true);
    bool absorbed = sp_block_absorb_next(chain.first);
    host_memory_leave(&failed);
    assert_false(absorbed);
    assert_int_equal(chain.first->size, SP_ALIGNMENT);
    assert_int_equal(sequence_of(chain.first, 2), 1);
    assert_int_equal(sequence_of(rest, 2), 5);
    assert_ptr_equal(chain.first->next, rest);
    assert_true(inside_chain_check(&chain));
}

#define MIB ((uint64_t)1 << 20)

// Exactly the last block has what was added.
static void extend(struct sp_chain *longer, uint64_t more) {
    uint64_t end = longer->address + longer->size;
    struct sp_block *added = sp_chain_extend(longer, more);
    assert_non_null(added);
    assert_ptr_equal(sp_chain_last(longer), added);
    assert_int_equal(added->address, end);
    assert_int_equal(added->size, more);
    assert_int_equal(sp_block_state(added), SP_BLOCK_BUSY);
    assert_true(inside_chain_check(longer));
}

// From a part of a unit over one leaf of the table to several, with a block in each step and one in
// the middle of the last.
static void a_chain_becomes_longer_and_shorter_over_all_of_its_table(void **state) {
    (void)state;
    struct sp_chain longer;
    const uint64_t sizes[] = {MIB, 2 * MIB, 5 * MIB, 1000 * MIB, 3000 * MIB, 4096 * MIB};
    for (int round = 0; round < 2; round++) {
        assert_true(sp_chain_open(&longer, BASE, MIB / 2));
        for (int i = 0; i < 6; i++)
            extend(&longer, sizes[i]);
        struct sp_block *last = sp_chain_last(&longer);
        assert_non_null(sp_block_split(last, 2048 * MIB));
        for (struct sp_block *b = longer.first; b; b = b->next)
            assert_ptr_equal(sp_chain_find(&longer, b->address + b->size / 2), b);
        for (int i = 5; i >= 0; i--) {
            last = sp_chain_last(&longer);
            assert_null(sp_chain_shrink(&longer, last->size));
            assert_true(inside_chain_check(&longer));
            last = sp_chain_last(&longer);
            assert_ptr_equal(sp_chain_shrink(&longer, last->size / 2), last);
            assert_true(inside_chain_check(&longer));
            extend(&longer, 2500 * MIB); // and longer again
            assert_null(sp_chain_shrink(&longer, 2500 * MIB));
        }
        sp_chain_close(&longer);
    }
}

static void a_chain_that_can_not_become_longer_is_what_it_was(void **state) {
    (void)state;
    const uint64_t sizes[] = {MIB, 4096 * MIB};
    for (int i = 0; i < 2; i++) {
        uint64_t failed = 1;
        for (uint64_t nth = 1; failed > 0; nth++) {
            struct sp_chain longer;
            assert_true(sp_chain_open(&longer, BASE, 3 * MIB));
            if (i == 0 && nth == 1)
                use_up_spare_descriptors(); // the others fail in the table
            host_memory_enter(nth, false);
            struct sp_block *added = sp_chain_extend(&longer, sizes[i]);
            host_memory_leave(&failed);
            assert_int_equal(added == NULL, failed > 0);
            assert_int_equal(longer.size, 3 * MIB + (added ? sizes[i] : 0));
            assert_true(inside_chain_check(&longer));
            extend(&longer, sizes[i]);
            sp_chain_close(&longer);
        }
    }
}

static void the_check_finds_gaps_wrong_neighbours_and_adjacent_holes(void **state) {
    (void)state;
    struct sp_block *block = chain.first;
    struct sp_block *rest = sp_block_split(block, SP_ALIGNMENT);

    rest->address += SP_ALIGNMENT;
    assert_false(inside_chain_check(&chain));
    rest->address -= SP_ALIGNMENT;

    rest->size -= SP_ALIGNMENT; // the end is not covered
    assert_false(inside_chain_check(&chain));
    rest->size += SP_ALIGNMENT;

    rest->prev = NULL;
    assert_false(inside_chain_check(&chain));
    rest->prev = block;

    block->prev = rest; // something before the first
    assert_false(inside_chain_check(&chain));
    block->prev = NULL;

    struct sp_tier *const somewhere = (struct sp_tier *)(uintptr_t)8;
    sp_block_set_state(block, SP_BLOCK_FREE); // free, but in no tier
    assert_false(inside_chain_check(&chain));
    block->tier = somewhere; // and where no search finds it
    assert_false(inside_chain_check(&chain));
    sp_lowest_note(block);
    assert_true(inside_chain_check(&chain));
    sp_block_set_state(block, SP_BLOCK_LIVE); // in a tier, but live
    assert_false(inside_chain_check(&chain));

    sp_block_set_state(block, SP_BLOCK_HOLE);
    assert_true(inside_chain_check(&chain));
    sp_block_set_state(rest, SP_BLOCK_HOLE);
    rest->tier = somewhere;
    assert_false(inside_chain_check(&chain));
}

#define chain_test(function) cmocka_unit_test_setup_teardown(function, open_chain, close_chain)

int main(void) {
    const struct CMUnitTest tests[] = {
        chain_test(a_new_chain_is_one_block_in_no_index),
        chain_test(a_split_gives_two_neighbours_of_the_same_state_and_fences),
        chain_test(the_two_sides_of_a_split_share_no_fence_set),
        chain_test(absorbing_joins_sizes_and_keeps_the_later_fence_of_each_stream),
        chain_test(an_absorbed_descriptor_says_that_it_is_nobodys),
        chain_test(descriptors_of_a_closed_chain_say_that_they_are_nobodys),
        chain_test(a_descriptor_used_again_remembers_nothing),
        chain_test(random_splits_and_joins_keep_the_chain_whole),
        chain_test(a_split_without_host_memory_changes_nothing),
        chain_test(a_chain_without_host_memory_is_not_opened),
        chain_test(a_split_that_can_not_copy_the_fences_changes_nothing),
        chain_test(an_absorption_that_can_not_join_the_fences_changes_nothing),
        chain_test(every_address_leads_to_its_block),
        chain_test(a_range_of_terabytes_costs_what_begins_in_it),
        chain_test(a_chain_becomes_longer_and_shorter_over_all_of_its_table),
        chain_test(a_chain_that_can_not_become_longer_is_what_it_was),
        chain_test(the_check_finds_gaps_wrong_neighbours_and_adjacent_holes),
        chain_test(a_chain_splits_with_what_it_has_at_hand_and_gives_back_the_rest),
        chain_test(a_closed_chain_gives_back_what_it_had_at_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
