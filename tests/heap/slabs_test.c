#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "heap/bed.h"
#include "heap/contents.h"

#define SLAB UINT64_C(65536)

static struct bed bed;

static void a_heap_without_slabs_has_nothing_and_finds_nothing(void **state) {
    (void)state;
    bed_open(&bed, 8 * SLAB, 8);
    assert_null(pool_heap_malloc(bed.heap, 1));
    assert_null(pool_heap_malloc(bed.heap, SLAB));
    assert_null(pool_heap_malloc(bed.heap, 3 * SLAB));
    pool_heap_free(bed.heap, bed.memory);
    assert_int_equal(bed.book->foreign_frees, 1);
    bed_check_empty(&bed, 0);
    bed_shut(&bed);
}

static void only_free_slabs_are_closed_all_or_none(void **state) {
    (void)state;
    bed_open_full(&bed, 8 * SLAB, 8, 0);
    char *run = pool_heap_malloc(bed.heap, 3 * SLAB); // slabs 0 to 2
    for (uint32_t first = 0; first < 3; first++) {
        assert_false(ph_close(bed.book, first, 8 - first));
        assert_false(ph_close(bed.book, first, 1));
    }
    assert_int_equal(bed_count(&bed, POOL_HEAP_FREE), 5);
    assert_true(ph_close(bed.book, 3, 5));
    assert_int_equal(bed_count(&bed, POOL_HEAP_ABSENT), 5);
    assert_false(ph_close(bed.book, 3, 5)); // they are closed
    bed_check(&bed);
    assert_null(pool_heap_malloc(bed.heap, 1));
    pool_heap_free(bed.heap, run);
    bed_check_empty(&bed, 3);
    bed_shut(&bed);
}

// As many groups as a heap of that size would have, whatever it may come to hold.
static void groups_of_processors_follow_the_slabs_that_there_are(void **state) {
    (void)state;
    bed_open_full(&bed, 1024 * SLAB, 1024, 0);
    assert_int_equal(bed.book->groups, 8);
    assert_int_equal(bed.book->spread, 8);
    assert_true(ph_close(bed.book, 300, 513));
    assert_int_equal(bed.book->spread, 2);
    assert_true(ph_close(bed.book, 44, 256));
    assert_int_equal(bed.book->spread, 1);
    bed_admit(&bed, 44, 256, 44 * SLAB);
    assert_int_equal(bed.book->spread, 2);
    bed_check_empty(&bed, 511);
    bed_shut(&bed);
}

// The thread stops for good, as after a trap, or for a while, and then ends its search.
static void a_thread_that_stops_in_the_middle_of_its_search_is_overtaken(void **state) {
    (void)state;
    uint32_t cls = ph_class_of(128);
    bed_open_full(&bed, 8 * SLAB, 8, 0);
    struct ph_current *current = &bed.book->current[cls * bed.book->groups];
    uint32_t stopped = ph_begin_search(current, 0, POOL_HEAP_NONE);
    assert_int_equal(stopped, 1);
    void *block = pool_heap_malloc(bed.heap, 128);
    assert_non_null(block);
    uint32_t slab = current->slab;
    ph_end_search(bed.book, current, stopped, cls, POOL_HEAP_NONE, 7);
    assert_int_equal(current->slab, slab);
    bed_check(&bed);
    pool_heap_free(bed.heap, block);
    bed_check_empty(&bed, 8);
    bed_shut(&bed);
}

// It was emptied and opened anew since a thread found it full.
static void a_slab_with_blocks_to_spare_is_listed_when_it_leaves_its_group(void **state) {
    (void)state;
    uint32_t cls = ph_class_of(128);
    bed_open_full(&bed, 8 * SLAB, 8, 0);
    void *first = pool_heap_malloc(bed.heap, 128);
    struct ph_current *current = &bed.book->current[cls * bed.book->groups];
    ph_move_begin(bed.book);
    assert_true(ph_replace(bed.book, current, cls, current->slab, POOL_HEAP_NONE));
    ph_move_end(bed.book);
    void *second = pool_heap_malloc(bed.heap, 128);
    assert_int_equal(bed_count(&bed, POOL_HEAP_FREE), 7);
    pool_heap_free(bed.heap, first);
    pool_heap_free(bed.heap, second);
    bed_check_empty(&bed, 8);
    bed_shut(&bed);
}

static void the_addresses_of_a_closed_slab_are_foreign(void **state) {
    (void)state;
    bed_open_full(&bed, 4 * SLAB, 4, 512);
    char *block = pool_heap_malloc(bed.heap, 100);
    pool_heap_free(bed.heap, block);
    assert_true(ph_close(bed.book, 0, 4));
    pool_heap_free(bed.heap, block);
    assert_int_equal(bed.book->foreign_frees, 1);
    assert_int_equal(bed.book->double_frees, 0);
    bed_check_empty(&bed, 0);
    bed_shut(&bed);
}

// A slab that is current for a class when it is closed.
static void a_closed_slab_serves_nobody_and_can_be_admitted_elsewhere(void **state) {
    (void)state;
    bed_open(&bed, 2 * SLAB, 6);
    for (uint32_t round = 0; round < 40; round++) {
        uint64_t offset = round % 5 * SLAB + round * 512;
        bed_admit(&bed, 0, 1, offset);
        char *block = pool_heap_malloc(bed.heap, 40);
        assert_non_null(block);
        assert_true((uint64_t)(uintptr_t)block - bed.book->slab[0].base < SLAB);
        contents_write(block, 40, round);
        assert_false(ph_close(bed.book, 0, 1));
        assert_true(contents_hold(block, 40, 40, round));
        pool_heap_free(bed.heap, block);
        assert_true(ph_close(bed.book, 0, 1));
        assert_null(pool_heap_malloc(bed.heap, 40));
        bed_check_empty(&bed, 0);
    }
    assert_int_equal(bed.book->foreign_frees + bed.book->double_frees, 0);
    bed_shut(&bed);
}

static void a_slab_that_was_admitted_elsewhere_joins_no_row(void **state) {
    (void)state;
    bed_open(&bed, 4 * SLAB, 8);
    bed_admit(&bed, 0, 4, 0);
    assert_true(ph_close(bed.book, 1, 1));
    assert_null(pool_heap_malloc(bed.heap, 3 * SLAB));
    bed_admit(&bed, 1, 1, 6 * SLAB);
    bed_check(&bed);
    assert_null(pool_heap_malloc(bed.heap, 3 * SLAB));
    char *two = pool_heap_malloc(bed.heap, 2 * SLAB); // slabs 2 and 3
    assert_non_null(two);
    assert_null(pool_heap_malloc(bed.heap, 2 * SLAB));
    bed_check(&bed);
    pool_heap_free(bed.heap, two);
    assert_true(ph_close(bed.book, 1, 1));
    bed_admit(&bed, 1, 1, SLAB); // where it was
    char *all = pool_heap_malloc(bed.heap, 4 * SLAB);
    assert_non_null(all);
    bed_check(&bed);
    pool_heap_free(bed.heap, all);
    bed_check_empty(&bed, 4);
    bed_shut(&bed);
}

// Slabs come and go at ever new addresses, until each place of the table was used.
static void a_table_of_places_that_were_all_used_is_still_searched_quickly(void **state) {
    (void)state;
    enum { SLABS = 8, ROUNDS = 400 };
    bed_open(&bed, SLABS * SLAB, ROUNDS + SLABS);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        if (round >= SLABS)
            assert_true(ph_close(bed.book, round % SLABS, 1));
        bed_admit(&bed, round % SLABS, 1, round * SLAB + 512);
    }
    for (uint32_t i = 0; i < bed.book->places; i++)
        assert_true(bed.book->place[i] != POOL_HEAP_PLACE_EMPTY);
    assert_true(bed.book->reach < SLABS);
    char *block[SLABS];
    for (uint32_t i = 0; i < SLABS; i++)
        assert_non_null(block[i] = pool_heap_malloc(bed.heap, SLAB));
    bed_check(&bed);
    for (uint32_t i = 0; i < SLABS; i++)
        pool_heap_free(bed.heap, block[i]);
    bed_check_empty(&bed, SLABS);
    bed_shut(&bed);
}

// Each address of a slab leads to it, and the ones beside it don't.
static void an_address_leads_to_the_slab_that_it_lies_in(void **state) {
    (void)state;
    bed_open(&bed, 4 * SLAB, 8);
    static const uint64_t offsets[] = {0, SLAB + 512, 3 * SLAB - 512, 4 * SLAB + 33280};
    for (uint32_t i = 0; i < 4; i++)
        bed_admit(&bed, i, 1, offsets[i]);
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t base = bed.book->slab[i].base;
        for (uint64_t at = 0; at < SLAB; at += 16)
            assert_int_equal(ph_place_slab(ph_place_of(bed.book, base + at)), i);
        uint64_t after = ph_place_of(bed.book, base + SLAB),
                 before = ph_place_of(bed.book, base - 1);
        assert_true(ph_place_slab(after) == POOL_HEAP_NONE || ph_place_base(after) == base + SLAB);
        assert_true(ph_place_slab(before) == POOL_HEAP_NONE ||
                    ph_place_base(before) == base - SLAB);
    }
    bed_check_empty(&bed, 4);
    bed_shut(&bed);
}

static void the_largest_heap_has_all_its_slabs(void **state) {
    (void)state;
    bed_open(&bed, SP_HEAP_BYTES_MOST, 0);
    assert_int_equal(bed.book->slabs, POOL_HEAP_SLABS_MAX);
    // Addresses that are never used: runs touch no memory.
    for (uint32_t i = 0; i < POOL_HEAP_SLABS_MAX; i++)
        ph_admit(bed.book, i, (UINT64_C(1) << 46) + 512 + ((uint64_t)i << 21), i != 0);
    assert_true(bed.book->reach < 64);
    void *all = pool_heap_malloc(bed.heap, SP_HEAP_BYTES_MOST);
    assert_non_null(all);
    assert_null(pool_heap_malloc(bed.heap, 1));
    pool_heap_free(bed.heap, all);
    void *one = pool_heap_malloc(bed.heap, BED_MIB(2)), *last;
    assert_null(pool_heap_malloc(bed.heap, SP_HEAP_BYTES_MOST));
    assert_non_null(last = pool_heap_malloc(bed.heap, SP_HEAP_BYTES_MOST - BED_MIB(128)));
    assert_int_equal(bed_count(&bed, POOL_HEAP_RUN), 2);
    pool_heap_free(bed.heap, one);
    pool_heap_free(bed.heap, last);
    bed_check_empty(&bed, POOL_HEAP_SLABS_MAX);
    bed_shut(&bed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_heap_without_slabs_has_nothing_and_finds_nothing),
        cmocka_unit_test(only_free_slabs_are_closed_all_or_none),
        cmocka_unit_test(groups_of_processors_follow_the_slabs_that_there_are),
        cmocka_unit_test(a_thread_that_stops_in_the_middle_of_its_search_is_overtaken),
        cmocka_unit_test(a_slab_with_blocks_to_spare_is_listed_when_it_leaves_its_group),
        cmocka_unit_test(the_addresses_of_a_closed_slab_are_foreign),
        cmocka_unit_test(a_closed_slab_serves_nobody_and_can_be_admitted_elsewhere),
        cmocka_unit_test(a_slab_that_was_admitted_elsewhere_joins_no_row),
        cmocka_unit_test(a_table_of_places_that_were_all_used_is_still_searched_quickly),
        cmocka_unit_test(an_address_leads_to_the_slab_that_it_lies_in),
        cmocka_unit_test(the_largest_heap_has_all_its_slabs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
