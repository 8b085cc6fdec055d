#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "heap/slab.h"

static void every_small_size_has_the_smallest_class_that_holds_it(void **state) {
    (void)state;
    for (size_t size = 1; size <= SP_SMALL_MAX; size++) {
        unsigned class_index = sp_slab_class_of(size);
        assert_true(class_index < SP_CLASS_COUNT);
        assert_true(size <= sp_size_classes[class_index].block_size);
        if (class_index > 0)
            assert_true(size > sp_size_classes[class_index - 1].block_size);
    }
}

static void the_largest_class_holds_the_largest_small_size_exactly(void **state) {
    (void)state;
    assert_int_equal(sp_slab_class_of(SP_SMALL_MAX), SP_CLASS_COUNT - 1);
    assert_int_equal(sp_size_classes[SP_CLASS_COUNT - 1].block_size, SP_SMALL_MAX);
    assert_true(SP_SMALL_MAX < SP_PAGE_SIZE);
}

static void blocks_of_every_class_are_aligned(void **state) {
    (void)state;
    for (unsigned i = 0; i < SP_CLASS_COUNT; i++)
        assert_int_equal(sp_size_classes[i].block_size % SP_ALIGNMENT, 0);
    assert_int_equal(SP_PAGE_SIZE % SP_ALIGNMENT, 0);
}

static void rounding_to_a_class_wastes_less_than_an_alignment_unit_or_a_fifth(void **state) {
    (void)state;
    for (size_t size = 1; size <= SP_SMALL_MAX; size++) {
        size_t block = sp_size_classes[sp_slab_class_of(size)].block_size;
        assert_true(block - size < SP_ALIGNMENT || 5 * (block - size) < block);
    }
}

static void a_slab_has_as_many_blocks_as_fit_and_wastes_at_most_a_sixteenth(void **state) {
    (void)state;
    for (unsigned i = 0; i < SP_CLASS_COUNT; i++) {
        const struct sp_size_class *class = &sp_size_classes[i];
        size_t run = class->pages * SP_PAGE_SIZE;
        size_t used = (size_t) class->blocks * class->block_size;
        assert_true(used <= run);
        assert_true(run - used < class->block_size);
        assert_true(16 * (run - used) <= run);
    }
}

static void block_indices_fit_their_type_with_the_end_mark_to_spare(void **state) {
    (void)state;
    for (unsigned i = 0; i < SP_CLASS_COUNT; i++)
        assert_true(sp_size_classes[i].blocks < UINT16_MAX);
}

static void the_reciprocal_gives_the_index_for_every_offset_in_a_slab(void **state) {
    (void)state;
    for (unsigned i = 0; i < SP_CLASS_COUNT; i++) {
        const struct sp_size_class *class = &sp_size_classes[i];
        for (uint64_t offset = 0; offset < class->pages * SP_PAGE_SIZE; offset += SP_ALIGNMENT)
            assert_int_equal(sp_slab_index(class, offset), offset / class->block_size);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_small_size_has_the_smallest_class_that_holds_it),
        cmocka_unit_test(the_largest_class_holds_the_largest_small_size_exactly),
        cmocka_unit_test(blocks_of_every_class_are_aligned),
        cmocka_unit_test(rounding_to_a_class_wastes_less_than_an_alignment_unit_or_a_fifth),
        cmocka_unit_test(a_slab_has_as_many_blocks_as_fit_and_wastes_at_most_a_sixteenth),
        cmocka_unit_test(block_indices_fit_their_type_with_the_end_mark_to_spare),
        cmocka_unit_test(the_reciprocal_gives_the_index_for_every_offset_in_a_slab),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
