// Places of chunks in the book.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "devheap/chunks.h"

static uint64_t at(uint64_t unit) {
    return ((uint64_t)1 << 40) + unit * SP_HEAP_UNIT_BYTES;
}

static int set_up(void **state) {
    static struct sp_heap_chunks chunks;
    *state = &chunks;
    return sp_heap_chunks_begin(&chunks, 16) ? 0 : 1;
}

static int tear_down(void **state) {
    sp_heap_chunks_end(*state);
    return 0;
}

static void first_chunk_gets_the_first_place(void **state) {
    uint32_t fit, first = sp_heap_chunks_place(*state, at(100), 4, 1, &fit);
    assert_int_equal(first, 0);
    assert_int_equal(fit, 4);
}

static void memory_behind_a_chunk_gets_the_place_behind_it(void **state) {
    struct sp_heap_chunks *chunks = *state;
    sp_heap_chunks_add(chunks, 4, 2, at(100));
    uint32_t fit, first = sp_heap_chunks_place(chunks, at(102), 3, 1, &fit);
    assert_int_equal(first, 6);
    assert_int_equal(fit, 3);
    sp_heap_chunks_add(chunks, 6, 3, at(102));
    assert_true(sp_heap_chunks_joined(chunks, 6));
    assert_true(sp_heap_chunks_leads(chunks, 4));
}

static void memory_before_a_chunk_gets_the_place_before_it(void **state) {
    struct sp_heap_chunks *chunks = *state;
    sp_heap_chunks_add(chunks, 4, 2, at(100));
    uint32_t fit, first = sp_heap_chunks_place(chunks, at(98), 2, 1, &fit);
    assert_int_equal(first, 2);
    sp_heap_chunks_add(chunks, 2, 2, at(98));
    assert_true(sp_heap_chunks_leads(chunks, 2));
    assert_false(sp_heap_chunks_joined(chunks, 2));
}

static void neighbours_in_the_book_are_not_joined_elsewhere(void **state) {
    struct sp_heap_chunks *chunks = *state;
    sp_heap_chunks_add(chunks, 0, 1, at(100));
    sp_heap_chunks_add(chunks, 1, 1, at(102));
    assert_false(sp_heap_chunks_joined(chunks, 1));
    assert_false(sp_heap_chunks_leads(chunks, 0));
    assert_false(sp_heap_chunks_joined(chunks, 0));
}

static void chunk_beside_one_that_a_trim_may_close_is_not_joined(void **state) {
    struct sp_heap_chunks *chunks = *state;
    sp_heap_chunks_add(chunks, 0, 1, at(100));
    chunks->at[0].state = SP_HEAP_CHUNK_OFFERED;
    uint32_t fit;
    sp_heap_chunks_add(chunks, sp_heap_chunks_place(chunks, at(101), 1, 1, &fit), 1, at(101));
    assert_false(sp_heap_chunks_joined(chunks, 1));
}

static void row_goes_into_the_first_gap_that_has_room(void **state) {
    struct sp_heap_chunks *chunks = *state;
    sp_heap_chunks_add(chunks, 2, 1, at(10));
    sp_heap_chunks_add(chunks, 8, 1, at(20));
    uint32_t fit;
    assert_int_equal(sp_heap_chunks_place(chunks, at(30), 2, 1, &fit), 0);
    assert_int_equal(sp_heap_chunks_place(chunks, at(30), 5, 1, &fit), 3);
    assert_int_equal(sp_heap_chunks_place(chunks, at(30), 6, 1, &fit), 9);
    assert_int_equal(fit, 6);
}

static void row_without_a_gap_is_cut(void **state) {
    struct sp_heap_chunks *chunks = *state;
    sp_heap_chunks_add(chunks, 5, 1, at(10));
    uint32_t fit;
    assert_int_equal(sp_heap_chunks_place(chunks, at(30), 12, 1, &fit), 6);
    assert_int_equal(fit, 10);
    sp_heap_chunks_place(chunks, at(30), 12, 12, &fit);
    assert_int_equal(fit, 0);
}

static void removed_chunk_leaves_its_place(void **state) {
    struct sp_heap_chunks *chunks = *state;
    sp_heap_chunks_add(chunks, 0, 16, at(10));
    assert_int_equal(chunks->taken, 16);
    assert_int_equal(sp_heap_chunks_next(chunks, 1), 16);
    sp_heap_chunks_remove(chunks, 0);
    assert_int_equal(chunks->taken, 0);
    assert_int_equal(sp_heap_chunks_next(chunks, 0), 16);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(first_chunk_gets_the_first_place),
        TEST(memory_behind_a_chunk_gets_the_place_behind_it),
        TEST(memory_before_a_chunk_gets_the_place_before_it),
        TEST(neighbours_in_the_book_are_not_joined_elsewhere),
        TEST(chunk_beside_one_that_a_trim_may_close_is_not_joined),
        TEST(row_goes_into_the_first_gap_that_has_room),
        TEST(row_without_a_gap_is_cut),
        TEST(removed_chunk_leaves_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
