#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/host_memory.h"
#include "heap/slab.h"
#include "unit/heap/random.h"

#define BASE ((uint64_t)1 << 40)

enum { MOST_BLOCKS = SP_PAGE_SIZE / SP_ALIGNMENT };

static struct sp_block run;

static struct sp_slab *slab_of(unsigned class_index) {
    run = (struct sp_block){.address = BASE, .size = sp_size_classes[class_index].pages * SP_PAGE_SIZE};
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
        assert_true(sp_slab_check(slab));
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
        assert_true(sp_slab_check(slab));
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
            assert_int_equal(sp_slab_find(slab, BASE + offset), begins ? offset / size : SP_SLAB_END);
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

static void freeing_gives_back_the_bytes_that_were_asked_for(void **state) {
    (void)state;
    struct sp_slab *slab = slab_of(SP_CLASS_COUNT - 1);
    uint64_t first = sp_slab_take(slab, SP_SMALL_MAX);
    uint64_t second = sp_slab_take(slab, 49153);
    assert_int_equal(sp_slab_put(slab, sp_slab_find(slab, first)), SP_SMALL_MAX);
    assert_int_equal(sp_slab_return(slab, sp_slab_find(slab, second)), 49153);
    sp_slab_destroy(slab);
}

static void the_block_freed_last_is_taken_first(void **state) {
    (void)state;
    struct sp_slab *slab = slab_of(3);
    uint64_t first = sp_slab_take(slab, 1);
    uint64_t second = sp_slab_take(slab, 1);
    sp_slab_put(slab, sp_slab_find(slab, first));
    sp_slab_put(slab, sp_slab_find(slab, second));
    assert_int_equal(sp_slab_take(slab, 1), second);
    assert_int_equal(sp_slab_take(slab, 1), first);
    sp_slab_destroy(slab);
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
    assert_true(sp_slab_check(slab));
    sp_slab_accept_returned(slab);
    assert_true(sp_slab_has_free(slab));
    assert_int_equal(slab->returned, 0);
    assert_true(sp_slab_check(slab));
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
    assert_true(sp_slab_check(slab));
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
    uint32_t asked = as == FREE ? sp_slab_put(slab, found) : sp_slab_return(slab, found);
    assert_int_equal(asked, model->asked[index]);
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
        assert_true(sp_slab_check(slab));
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
    assert_true(sp_slab_check(slab));
    assert_int_equal(sp_slab_take(slab, 1), BASE);
    sp_slab_destroy(slab);
}

static void without_host_memory_there_is_no_slab(void **state) {
    (void)state;
    uint64_t failed = 0;
    run = (struct sp_block){.address = BASE, .size = SP_PAGE_SIZE};
    struct sp_slab *spares[2] = {slab_of(1), NULL}; // the only one of its class
    host_memory_enter(1, true);
    spares[1] = sp_slab_create(1);
    host_memory_leave(&failed);
    assert_int_equal(failed, 1);
    assert_null(spares[1]);
    sp_slab_destroy(spares[0]);
}

static void the_check_finds_counts_and_lists_that_do_not_agree(void **state) {
    (void)state;
    struct sp_slab *slab = slab_of(SP_CLASS_COUNT - 1);
    sp_slab_take(slab, 1);
    sp_slab_take(slab, 1);
    sp_slab_put(slab, 1);
    assert_true(sp_slab_check(slab));

    slab->live++;
    assert_false(sp_slab_check(slab));
    slab->live--;
    slab->returned++;
    assert_false(sp_slab_check(slab));
    slab->returned--;
    slab->next[1] = 1; // a circle
    assert_false(sp_slab_check(slab));
    slab->next[1] = 0; // a live block in the free list
    assert_false(sp_slab_check(slab));
    slab->next[1] = SP_SLAB_END;
    slab->requested[0] = sp_slab_class(slab)->block_size + 1;
    assert_false(sp_slab_check(slab));
    slab->requested[0] = 1;
    run.slab = NULL;
    assert_false(sp_slab_check(slab));
    run.slab = slab;
    assert_true(sp_slab_check(slab));
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
        cmocka_unit_test(the_block_freed_last_is_taken_first),
        cmocka_unit_test(a_returned_block_is_not_free_before_it_is_accepted),
        cmocka_unit_test(accepting_when_nothing_was_returned_changes_nothing),
        cmocka_unit_test(random_operations_agree_with_a_table_of_states),
        cmocka_unit_test(a_destroyed_slab_finds_no_block_at_its_old_addresses),
        cmocka_unit_test(a_slab_used_again_remembers_nothing),
        cmocka_unit_test(the_check_finds_counts_and_lists_that_do_not_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
