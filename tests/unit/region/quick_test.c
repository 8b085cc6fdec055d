#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "region/quick.h"

static struct sp_lane lane;
static struct sp_block blocks[SP_QUICK_BINS * 3];

static int clear(void **state) {
    (void)state;
    lane = (struct sp_lane){0};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        blocks[i] = (struct sp_block){0};
    return 0;
}

static struct sp_block *block_of(int number, uint64_t size) {
    blocks[number].size = size;
    return &blocks[number];
}

// A size other than this one that goes into the same bin.
static uint64_t rival_of(uint64_t size) {
    uint64_t other = size + SP_ALIGNMENT;
    while (sp_quick_index(other) != sp_quick_index(size))
        other += SP_ALIGNMENT;
    return other;
}

static void every_size_has_a_bin(void **state) {
    (void)state;
    uint32_t seen = 0;
    for (uint64_t units = 1; units < 4096; units++) {
        assert_true(sp_quick_index(units * SP_ALIGNMENT) < SP_QUICK_BINS);
        seen |= 1u << sp_quick_index(units * SP_ALIGNMENT);
    }
    assert_int_equal(seen, UINT32_MAX);
    assert_true(sp_quick_index(UINT64_MAX & ~(uint64_t)(SP_ALIGNMENT - 1)) < SP_QUICK_BINS);
}

static void an_empty_list_has_nothing(void **state) {
    (void)state;
    assert_null(sp_quick_take(&lane, SP_PAGE_SIZE));
}

static void a_block_is_taken_back_by_its_exact_size_only(void **state) {
    (void)state;
    struct sp_block *block = block_of(0, SP_PAGE_SIZE);
    assert_true(sp_quick_put(&lane, block));
    assert_int_equal(sp_block_state(block), SP_BLOCK_CACHED);
    assert_null(sp_quick_take(&lane, SP_PAGE_SIZE + SP_ALIGNMENT));
    assert_null(sp_quick_take(&lane, rival_of(SP_PAGE_SIZE)));
    assert_ptr_equal(sp_quick_take(&lane, SP_PAGE_SIZE), block);
    assert_null(sp_quick_take(&lane, SP_PAGE_SIZE));
    assert_int_equal(lane.quick_used, 0);
}

static void the_block_put_last_is_taken_first(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_true(sp_quick_put(&lane, block_of(i, SP_PAGE_SIZE)));
    for (int i = 2; i >= 0; i--)
        assert_ptr_equal(sp_quick_take(&lane, SP_PAGE_SIZE), &blocks[i]);
}

static void a_block_of_another_size_finds_no_place_in_the_bin(void **state) {
    (void)state;
    uint64_t rival = rival_of(SP_PAGE_SIZE);
    assert_true(sp_quick_put(&lane, block_of(0, SP_PAGE_SIZE)));
    assert_false(sp_quick_put(&lane, block_of(2, rival)));
    assert_null(sp_quick_take(&lane, rival));
    assert_ptr_equal(sp_quick_take(&lane, SP_PAGE_SIZE), &blocks[0]);
    assert_true(sp_quick_put(&lane, block_of(2, rival))); // an empty bin takes any size
    assert_ptr_equal(sp_quick_take(&lane, rival), &blocks[2]);
}

static void the_bits_tell_which_bins_are_not_empty(void **state) {
    (void)state;
    for (int i = 0; i < SP_QUICK_BINS; i++)
        sp_quick_put(&lane, block_of(i, (uint64_t)(i + 128) * SP_ALIGNMENT));
    for (unsigned bin = 0; bin < SP_QUICK_BINS; bin++)
        assert_int_equal(lane.quick_used >> bin & 1, lane.quick[bin].head != NULL);
    for (int i = 0; i < SP_QUICK_BINS; i++)
        sp_quick_take(&lane, (uint64_t)(i + 128) * SP_ALIGNMENT);
    assert_int_equal(lane.quick_used, 0);
}

#define quick_test(function) cmocka_unit_test_setup(function, clear)

int main(void) {
    const struct CMUnitTest tests[] = {
        quick_test(every_size_has_a_bin),
        quick_test(an_empty_list_has_nothing),
        quick_test(a_block_is_taken_back_by_its_exact_size_only),
        quick_test(the_block_put_last_is_taken_first),
        quick_test(a_block_of_another_size_finds_no_place_in_the_bin),
        quick_test(the_bits_tell_which_bins_are_not_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
