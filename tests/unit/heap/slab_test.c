#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fault/host_memory.h"
#include "heap/slab.h"
#include "inside/slab.h"
#include "unit/random.h"

#define BASE ((uint64_t)1 << 40)

enum { MOST_BLOCKS = SP_PAGE_SIZE / SP_ALIGNMENT };

static struct sp_block run;

static struct sp_slab *slab_of(unsigned class_index) {
    run = (struct sp_block){.address = BASE,
                            .size = sp_size_classes[class_index].pages * SP_PAGE_SIZE};
    struct sp_slab *slab = sp_slab_create(class_index);
    assert_non_null(slab);
    sp_slab_set_run(slab, &run);
    return slab;
}

static void a_new_slab_is_all_free_and_belongs_to_nobody(void **state) {
    (void)state;
    for (unsigned i = 0; i < SP_CLASS_COUNT; i++) {
        struct sp_slab *slab = slab_of(i);
        assert_int_equal(slab->live, 0);
        assert_int_equal(slab->returned, 0);
        assert_true(sp_slab_has_free(slab));
        assert_true(inside_slab_check(slab));
        assert_null(slab->owner);
        assert_true(sp_list_empty(&slab->link));
        assert_true(sp_list_empty(&slab->returned_link));
        assert_true(sp_list_empty(&slab->owned_link));
        assert_true(sp_fence_set_empty(&slab->foreign));
        sp_slab_destroy(slab);
    }
}

static void a_slab_hands_out_each_of_its_blocks_once(void **state) {
    (void)state;
    for (unsigned i = 0; i < SP_CLASS_COUNT; i++) {
        struct sp_slab *slab = slab_of(i);
        const struct sp_size_class *class = sp_slab_class(slab);
        bool taken[MOST_BLOCKS] = {false};
        for (uint32_t n = 0; n < class->blocks; n++) {
            assert_true(sp_slab_has_free(slab));
            uint64_t offset = sp_slab_take(slab, 1) - BASE;
            assert_int_equal(offset % class->block_size, 0);
            assert_true(offset + class->block_size <= run.size);
            assert_false(taken[offset / class->block_size]);
            taken[offset / class->block_size] = true;
        }
        assert_false(sp_slab_has_free(slab));
        assert_int_equal(slab->live, class->blocks);
        assert_true(inside_slab_check(slab));
        sp_slab_destroy(slab);
    }
}

static void a_live_block_is_found_at_its_start_and_nowhere_else(void **state) {
    (void)state;
    for (unsigned i = 0; i < SP_CLASS_COUNT; i++) {
        struct sp_slab *slab = slab_of(i);
        uint32_t size = sp_slab_class(slab)->block_size;
        for (uint32_t n = 0; n < sp_slab_class(slab)->blocks; n++)
            sp_slab_take(slab, 1);
        for (uint64_t offset = 0; offset < run.size; offset += SP_ALIGNMENT) {
            bool begins = offset % size == 0 && offset / size < sp_slab_class(slab)->blocks;
            assert_int_equal(sp_slab_find(slab, BASE + offset),
                             begins ? offset / size : SP_SLAB_END);
            assert_int_equal(sp_slab_find(slab, BASE + offset + 1), SP_SLAB_END);
            assert_int_equal(sp_slab_find(slab, BASE + offset + SP_ALIGNMENT - 1), SP_SLAB_END);
        }
        assert_int_equal(sp_slab_find(slab, BASE - size), SP_SLAB_END);
        assert_int_equal(sp_slab_find(slab, BASE + run.size), SP_SLAB_END);
        assert_int_equal(sp_slab_find(slab, 0), SP_SLAB_END);
        assert_int_equal(sp_slab_find(slab, UINT64_MAX), SP_SLAB_END);
        sp_slab_destroy(slab);
    }
}

static void a_block_that_is_not_live_is_not_found(void **state) {
    (void)state;
    struct sp_slab *slab = slab_of(0);
    assert_int_equal(sp_slab_find(slab, BASE), SP_SLAB_END);
    uint64_t first = sp_slab_take(slab, 1);
    uint64_t second = sp_slab_take(slab, 1);
    sp_slab_put(slab, sp_slab_find(slab, first));
    sp_slab_return(slab, sp_slab_find(slab, second));
    assert_int_equal(sp_slab_find(slab, first), SP_SLAB_END);
    assert_int_equal(sp_slab_find(slab, second), SP_SLAB_END);
    sp_slab_destroy(slab);
}

// The least and the most that the pool asks a class for, and the least that a slab can be asked
// for.
static void sizes_of(unsigned class_index, uint32_t sizes[3]) {
    sizes[0] = class_index > 0 ? sp_size_classes[class_index - 1].block_size + 1 : 1;
    sizes[1] = sp_size_classes[class_index].block_size;
    sizes[2] = 1;
}

static void freeing_gives_back_the_bytes_that_were_asked_for(void **state) {
    (void)state;
    for (unsigned i = 0; i < SP_CLASS_COUNT; i++) {
        uint32_t sizes[3];
        sizes_of(i, sizes);
        for (int n = 0; n < 3; n++) {
            struct sp_slab *slab = slab_of(i);
            uint16_t first = sp_slab_find(slab, sp_slab_take(slab, sizes[n]));
            uint16_t second = sp_slab_find(slab, sp_slab_take(slab, sizes[n]));
            assert_int_equal(sp_slab_requested(slab, first), sizes[n]);
            assert_true(inside_slab_check(slab));
            assert_int_equal(sp_slab_put(slab, first), sizes[n]);
            assert_int_equal(sp_slab_return(slab, second), sizes[n]);
            assert_true(inside_slab_check(slab));
            sp_slab_destroy(slab);
        }
    }
}

static void every_size_of_a_class_is_told_from_every_other(void **state) {
    (void)state;
    for (uint32_t size = 1; size <= SP_SMALL_MAX; size++) {
        struct sp_slab *slab = slab_of(sp_slab_class_of(size));
        uint16_t index = sp_slab_find(slab, sp_slab_take(slab, size));
        assert_int_equal(index, 0);
        assert_int_equal(sp_slab_put(slab, index), size);
        sp_slab_destroy(slab);
    }
}

static uint64_t block_at(const struct sp_slab *slab, uint32_t index) {
    return BASE + (uint64_t)index * sp_slab_class(slab)->block_size;
}

// Through a full slab, blocks that are freed out of order, and a slab that is filled again with
// blocks of another size.
static void every_block_is_found_while_it_is_live_and_only_then(void **state) {
    (void)state;
    for (unsigned i = 0; i < SP_CLASS_COUNT; i++) {
        uint32_t sizes[3];
        sizes_of(i, sizes);
        struct sp_slab *slab = slab_of(i);
        uint16_t blocks = (uint16_t)sp_slab_class(slab)->blocks;
        for (uint32_t n = 0; n < blocks; n++) {
            assert_int_equal(sp_slab_find(slab, block_at(slab, n)), SP_SLAB_END); // never used
            sp_slab_take(slab, sizes[0]);
        }
        for (int round = 0; round < 3; round++) {
            assert_false(sp_slab_has_free(slab));
            for (uint16_t n = 0; n < blocks; n++) {
                uint16_t index = n % 2 == 0 ? n / 2 : (uint16_t)(blocks - 1 - n / 2);
                uint16_t found = sp_slab_find(slab, block_at(slab, index));
                assert_int_equal(found, index);
                assert_int_equal(n % 3 == 0 ? sp_slab_return(slab, found)
                                            : sp_slab_put(slab, found),
                                 sizes[round]);
                assert_int_equal(sp_slab_find(slab, block_at(slab, index)), SP_SLAB_END);
                assert_true(inside_slab_check(slab));
            }
            sp_slab_accept_returned(slab);
            assert_int_equal(slab->live, 0);
            for (uint16_t n = 0; n < blocks; n++)
                sp_slab_take(slab, sizes[(round + 1) % 3]);
            assert_true(inside_slab_check(slab));
        }
        sp_slab_destroy(slab);
    }
}

static void a_slab_has_bits_for_all_blocks_and_a_number_for_all_sizes(void **state) {
    (void)state;
    for (unsigned i = 0; i < SP_CLASS_COUNT; i++) {
        assert_true(sp_size_classes[i].blocks <= SP_SLAB_WORDS * 64);
        assert_true(sp_size_classes[i].block_size < SP_SLAB_MIXED);
    }
}

static void a_slab_has_one_cache_line_for_a_pair_and_two_bytes_a_block(void **state) {
    (void)state;
    assert_int_equal(_Alignof(struct sp_slab), 64);
    assert_int_equal(offsetof(struct sp_slab, returned) / 64, 0);
    assert_int_equal(sizeof(((struct sp_slab *)NULL)->asked_each[0]), 2);
    assert_int_equal(offsetof(struct sp_slab, asked_each) % 64, 0);
}

static void the_lowest_free_block_is_taken(void **state) {
    (void)state;
    struct sp_slab *slab = slab_of(0);
    uint32_t size = sp_slab_class(slab)->block_size, blocks = sp_slab_class(slab)->blocks;
    for (uint32_t n = 0; n < blocks; n++)
        assert_int_equal(sp_slab_take(slab, 1), BASE + (uint64_t)n * size);
    static const uint16_t freed[] = {127, 64, 63, 5}, taken[] = {5, 63, 64, 127};
    for (int i = 0; i < 4; i++)
        sp_slab_put(slab, freed[i]);
    for (int i = 0; i < 4; i++)
        assert_int_equal(sp_slab_take(slab, 1), BASE + (uint64_t)taken[i] * size);
    assert_false(sp_slab_has_free(slab));
    sp_slab_destroy(slab);
}

static void blocks_that_were_asked_for_alike_need_no_numbers(void **state) {
    (void)state;
    struct sp_slab *slab = slab_of(1);
    uint32_t blocks = sp_slab_class(slab)->blocks;
    memset(slab->asked_each, 0xAA, blocks * sizeof slab->asked_each[0]);
    for (uint32_t n = 0; n < blocks; n++)
        sp_slab_take(slab, 700);
    for (uint16_t n = 0; n < blocks; n++)
        assert_int_equal(sp_slab_put(slab, n), 700);
    for (uint32_t n = 0; n < blocks; n++) // empty, so another size is common from now on
        sp_slab_take(slab, 900);
    for (uint16_t n = 0; n < blocks; n++) {
        assert_int_equal(sp_slab_requested(slab, n), 900);
        assert_int_equal(slab->asked_each[n], 0xAAAA);
    }
    sp_slab_destroy(slab);
}

static void a_slab_of_two_sizes_tells_both_until_it_is_made_anew(void **state) {
    (void)state;
    enum { CLASS = 4 };
    struct sp_slab *slab = slab_of(CLASS);
    sp_slab_take(slab, 2100);
    sp_slab_take(slab, 2100);
    sp_slab_take(slab, 2200);
    assert_int_equal(slab->asked, SP_SLAB_MIXED);
    assert_true((sp_slab_mixed_classes >> CLASS & 1) != 0);
    assert_true(inside_slab_check(slab));
    assert_int_equal(sp_slab_put(slab, 2), 2200);
    assert_int_equal(sp_slab_put(slab, 0), 2100);
    assert_int_equal(sp_slab_return(slab, 1), 2100);
    sp_slab_take(slab, 2300);
    assert_int_equal(sp_slab_requested(slab, 0), 2300);
    assert_true(inside_slab_check(slab));
    sp_slab_destroy(slab);
    slab = slab_of(CLASS);
    assert_int_not_equal(slab->asked, SP_SLAB_MIXED);
    sp_slab_destroy(slab);
}

// Each chunk that slabs are cut from is as large as all before it, up to a huge page.
static void slabs_lie_apart_in_their_chunks(void **state) {
    (void)state;
    enum { COUNT = 3000 };
    static struct sp_slab *slabs[COUNT];
    for (int i = 0; i < COUNT; i++) {
        slabs[i] = sp_slab_create(i % 2 == 0 ? 0 : SP_CLASS_COUNT - 1);
        assert_non_null(slabs[i]);
        assert_int_equal((uintptr_t)slabs[i] % _Alignof(struct sp_slab), 0);
        memset(slabs[i]->asked_each, i % 251, sp_slab_class(slabs[i])->blocks * sizeof(uint16_t));
        slabs[i]->last_sequence = (uint64_t)i;
    }
    for (int i = 0; i < COUNT; i++) {
        const uint8_t *numbers = (const uint8_t *)slabs[i]->asked_each;
        assert_int_equal(slabs[i]->last_sequence, i);
        for (uint32_t n = 0; n < sp_slab_class(slabs[i])->blocks * sizeof(uint16_t); n++)
            assert_int_equal(numbers[n], i % 251);
    }
    for (int i = 0; i < COUNT; i++)
        sp_slab_destroy(slabs[i]);
}

static void a_returned_block_is_not_free_before_it_is_accepted(void **state) {
    (void)state;
    struct sp_slab *slab = slab_of(SP_CLASS_COUNT - 1);
    uint32_t blocks = sp_slab_class(slab)->blocks;
    for (uint32_t n = 0; n < blocks; n++)
        sp_slab_take(slab, 1);
    for (uint16_t n = 0; n < blocks; n++)
        sp_slab_return(slab, n);
    assert_false(sp_slab_has_free(slab));
    assert_int_equal(slab->live, 0);
    assert_int_equal(slab->returned, blocks);
    assert_true(inside_slab_check(slab));
    sp_slab_accept_returned(slab);
    assert_true(sp_slab_has_free(slab));
    assert_int_equal(slab->returned, 0);
    assert_true(inside_slab_check(slab));
    for (uint32_t n = 0; n < blocks; n++)
        sp_slab_take(slab, 1);
    assert_false(sp_slab_has_free(slab));
    sp_slab_destroy(slab);
}

static void accepting_when_nothing_was_returned_changes_nothing(void **state) {
    (void)state;
    struct sp_slab *slab = slab_of(5);
    uint64_t only = sp_slab_take(slab, 1);
    sp_slab_put(slab, sp_slab_find(slab, only));
    sp_slab_accept_returned(slab);
    assert_true(inside_slab_check(slab));
    assert_int_equal(sp_slab_take(slab, 1), only);
    sp_slab_destroy(slab);
}

enum block_is { FREE, LIVE, RETURNED };

struct model {
    enum block_is is[MOST_BLOCKS];
    uint32_t asked[MOST_BLOCKS];
    uint32_t count[3];
};

static void become(struct model *model, uint16_t index, enum block_is is) {
    model->count[model->is[index]]--;
    model->is[index] = is;
    model->count[is]++;
}

static void take_one(struct model *model, struct sp_slab *slab, uint64_t *seed) {
    assert_int_equal(sp_slab_has_free(slab), model->count[FREE] > 0);
    if (model->count[FREE] == 0)
        return;
    uint32_t size = sp_slab_class(slab)->block_size;
    uint32_t asked = (uint32_t)random_below(seed, size) + 1;
    uint16_t index = (uint16_t)((sp_slab_take(slab, asked) - BASE) / size);
    assert_int_equal(model->is[index], FREE);
    model->asked[index] = asked;
    become(model, index, LIVE);
}

static void give_one(struct model *model, struct sp_slab *slab, uint16_t index, enum block_is as) {
    uint64_t address = BASE + (uint64_t)index * sp_slab_class(slab)->block_size;
    uint16_t found = sp_slab_find(slab, address);
    assert_int_equal(found, model->is[index] == LIVE ? index : SP_SLAB_END);
    if (found == SP_SLAB_END)
        return;
    assert_int_equal(sp_slab_requested(slab, found), model->asked[index]);
    if (as == FREE)
        sp_slab_put(slab, found);
    else
        sp_slab_return(slab, found);
    become(model, index, as);
}

static void accept_all(struct model *model, struct sp_slab *slab) {
    sp_slab_accept_returned(slab);
    for (uint16_t i = 0; i < sp_slab_class(slab)->blocks; i++) {
        if (model->is[i] == RETURNED)
            become(model, i, FREE);
    }
}

static void random_operations_on(unsigned class_index, uint64_t *seed) {
    static struct model model;
    struct sp_slab *slab = slab_of(class_index);
    uint32_t blocks = sp_slab_class(slab)->blocks;
    model = (struct model){.count = {blocks, 0, 0}};
    for (int step = 0; step < 2000; step++) {
        uint16_t index = (uint16_t)random_below(seed, blocks);
        uint64_t choice = random_below(seed, 100);
        if (choice < 50)
            take_one(&model, slab, seed);
        else if (choice < 98)
            give_one(&model, slab, index, choice < 80 ? FREE : RETURNED);
        else
            accept_all(&model, slab);
        assert_int_equal(slab->live, model.count[LIVE]);
        assert_int_equal(slab->returned, model.count[RETURNED]);
        assert_true(inside_slab_check(slab));
    }
    sp_slab_destroy(slab);
}

static void random_operations_agree_with_a_table_of_states(void **state) {
    (void)state;
    uint64_t seed = 5;
    for (unsigned i = 0; i < SP_CLASS_COUNT; i++)
        random_operations_on(i, &seed);
}

static void a_destroyed_slab_finds_no_block_at_its_old_addresses(void **state) {
    (void)state;
    struct sp_slab *slab = slab_of(2);
    uint64_t address = sp_slab_take(slab, 1);
    sp_slab_destroy(slab);
    assert_int_equal(sp_slab_find(slab, address), SP_SLAB_END);
}

static void a_slab_used_again_remembers_nothing(void **state) {
    (void)state;
    struct sp_slab *old = slab_of(2);
    for (uint32_t slot = 0; slot < 5; slot++)
        assert_true(sp_fence_set_add(&old->foreign, (struct sp_fence){slot, 1}));
    sp_slab_return(old, sp_slab_find(old, sp_slab_take(old, 1)));
    sp_slab_take(old, 1);
    old->last_sequence = 9;
    sp_slab_destroy(old);
    struct sp_slab *slab = slab_of(2);
    assert_ptr_equal(slab, old);
    assert_int_equal(slab->live, 0);
    assert_int_equal(slab->last_sequence, 0);
    assert_true(sp_fence_set_empty(&slab->foreign));
    assert_true(inside_slab_check(slab));
    assert_int_equal(sp_slab_take(slab, 1), BASE);
    sp_slab_destroy(slab);
}

// The first chunk has room for some slabs; then memory is needed.
static void without_host_memory_there_is_no_slab(void **state) {
    (void)state;
    enum { MORE = 64 };
    static struct sp_slab *slabs[MORE];
    uint64_t failed = 0;
    int count = 0;
    host_memory_enter(1, true);
    while (count < MORE && (slabs[count] = sp_slab_create(1)))
        count++;
    host_memory_leave(&failed);
    assert_in_range(count, 0, MORE - 1);
    assert_int_equal(failed, 1);
    slabs[count] = sp_slab_create(1);
    assert_non_null(slabs[count]);
    for (int i = 0; i <= count; i++)
        sp_slab_destroy(slabs[i]);
}

static void the_check_finds_counts_and_bits_that_do_not_agree(void **state) {
    (void)state;
    struct sp_slab *slab = slab_of(SP_CLASS_COUNT - 1);
    sp_slab_take(slab, 1);
    sp_slab_take(slab, 1);
    sp_slab_put(slab, 1);
    assert_true(inside_slab_check(slab));

    slab->live++;
    assert_false(inside_slab_check(slab));
    slab->live--;
    slab->returned++;
    assert_false(inside_slab_check(slab));
    slab->returned--;
    slab->free[0] |= 1; // a live block
    assert_false(inside_slab_check(slab));
    slab->free[0] &= ~(uint64_t)1;
    slab->returned_blocks[0] = 2; // a free block
    slab->returned = 1;
    assert_false(inside_slab_check(slab));
    slab->returned_blocks[0] = slab->returned = 0;
    slab->free[1] = (uint64_t)1 << 63; // a block that there isn't
    slab->live--;
    assert_false(inside_slab_check(slab));
    slab->free[1] = 0;
    slab->live++;
    assert_true(inside_slab_check(slab));
    run.slab = NULL;
    assert_false(inside_slab_check(slab));
    run.slab = slab;
    assert_true(inside_slab_check(slab));
    sp_slab_destroy(slab);
}

static void the_check_finds_blocks_that_nothing_was_asked_for_with(void **state) {
    (void)state;
    struct sp_slab *slab = slab_of(0);
    uint16_t much = (uint16_t)(sp_slab_class(slab)->block_size + 1);
    sp_slab_take(slab, 1);
    slab->asked = 0;
    assert_false(inside_slab_check(slab));
    slab->asked = much;
    assert_false(inside_slab_check(slab));
    slab->asked = 1;
    sp_slab_take(slab, 2);
    assert_true(inside_slab_check(slab));
    slab->asked_each[0] = much;
    assert_false(inside_slab_check(slab));
    slab->asked_each[0] = 0;
    assert_false(inside_slab_check(slab));
    sp_slab_destroy(slab);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_host_memory_there_is_no_slab),
        cmocka_unit_test(a_new_slab_is_all_free_and_belongs_to_nobody),
        cmocka_unit_test(a_slab_hands_out_each_of_its_blocks_once),
        cmocka_unit_test(a_live_block_is_found_at_its_start_and_nowhere_else),
        cmocka_unit_test(a_block_that_is_not_live_is_not_found),
        cmocka_unit_test(freeing_gives_back_the_bytes_that_were_asked_for),
        cmocka_unit_test(every_size_of_a_class_is_told_from_every_other),
        cmocka_unit_test(every_block_is_found_while_it_is_live_and_only_then),
        cmocka_unit_test(a_slab_has_bits_for_all_blocks_and_a_number_for_all_sizes),
        cmocka_unit_test(a_slab_has_one_cache_line_for_a_pair_and_two_bytes_a_block),
        cmocka_unit_test(the_lowest_free_block_is_taken),
        cmocka_unit_test(blocks_that_were_asked_for_alike_need_no_numbers),
        cmocka_unit_test(a_slab_of_two_sizes_tells_both_until_it_is_made_anew),
        cmocka_unit_test(slabs_lie_apart_in_their_chunks),
        cmocka_unit_test(a_returned_block_is_not_free_before_it_is_accepted),
        cmocka_unit_test(accepting_when_nothing_was_returned_changes_nothing),
        cmocka_unit_test(random_operations_agree_with_a_table_of_states),
        cmocka_unit_test(a_destroyed_slab_finds_no_block_at_its_old_addresses),
        cmocka_unit_test(a_slab_used_again_remembers_nothing),
        cmocka_unit_test(the_check_finds_counts_and_bits_that_do_not_agree),
        cmocka_unit_test(the_check_finds_blocks_that_nothing_was_asked_for_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
