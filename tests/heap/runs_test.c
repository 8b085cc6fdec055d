#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "heap/bed.h"
#include "heap/contents.h"

#define SLAB UINT64_C(65536)

static struct bed bed;

static char *take(uint64_t slabs) {
    char *run = pool_heap_malloc(bed.heap, slabs * SLAB - 100);
    if (run != NULL)
        contents_write(run, slabs * SLAB, (uint64_t)(uintptr_t)run);
    return run;
}

static void give(char *run, uint64_t slabs) {
    assert_true(contents_hold(run, slabs * SLAB, slabs * SLAB, (uint64_t)(uintptr_t)run));
    pool_heap_free(bed.heap, run);
}

static uint64_t failures(void) {
    return bed.book->failures[POOL_HEAP_CLASSES];
}

static void a_run_has_whole_slabs_side_by_side(void **state) {
    (void)state;
    enum { SLABS = 200 }; // rows go across the words of a set
    bed_open_full(&bed, SLABS * SLAB, SLABS, 512);
    static const uint32_t lengths[] = {1, 2, 3, 63, 64, 65, 128, 129, 199, 200};
    for (uint32_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char *run[SLABS];
        uint32_t runs = 0, length = lengths[i];
        while (runs < SLABS / length && (run[runs] = take(length)) != NULL) {
            assert_int_equal(pool_heap_usable_size(bed.heap, run[runs]), length * SLAB);
            runs++;
        }
        assert_int_equal(runs, SLABS / length);
        assert_null(take(length));
        bed_check(&bed);
        for (uint32_t j = 0; j < runs; j += 2)
            give(run[j], length);
        for (uint32_t j = 1; j < runs; j += 2)
            give(run[j], length);
        bed_check_empty(&bed, SLABS);
    }
    bed_shut(&bed);
}

static void more_than_a_slab_of_the_last_class_is_a_run(void **state) {
    (void)state;
    bed_open_full(&bed, 8 * SLAB, 8, 0);
    void *half = pool_heap_malloc(bed.heap, SLAB / 2),
         *more = pool_heap_malloc(bed.heap, SLAB / 2 + 1);
    void *whole = pool_heap_malloc(bed.heap, SLAB), *two = pool_heap_malloc(bed.heap, SLAB + 1);
    assert_int_equal(pool_heap_usable_size(bed.heap, half), SLAB / 2);
    assert_int_equal(pool_heap_usable_size(bed.heap, more), SLAB);
    assert_int_equal(pool_heap_usable_size(bed.heap, whole), SLAB);
    assert_int_equal(pool_heap_usable_size(bed.heap, two), 2 * SLAB);
    assert_int_equal(bed_count(&bed, POOL_HEAP_RUN), 3);
    pool_heap_free(bed.heap, half);
    pool_heap_free(bed.heap, more);
    pool_heap_free(bed.heap, whole);
    pool_heap_free(bed.heap, two);
    bed_check_empty(&bed, 8);
    bed_shut(&bed);
}

static void holes_that_are_too_small_serve_no_run(void **state) {
    (void)state;
    enum { SLABS = 12 };
    char *run[SLABS], *by_slab[SLABS], *two[SLABS / 3];
    bed_open_full(&bed, SLABS * SLAB, SLABS, 0);
    for (uint32_t i = 0; i < SLABS; i++) {
        assert_non_null(run[i] = take(1));
        by_slab[ph_place_slab(ph_place_of(bed.book, (uint64_t)(uintptr_t)run[i]))] = run[i];
    }
    for (uint32_t slab = 0; slab < SLABS; slab++) {
        if (slab % 3 != 0)
            give(by_slab[slab], 1);
    }
    assert_null(take(3));
    assert_int_equal(failures(), 1);
    for (uint32_t i = 0; i < SLABS / 3; i++)
        assert_non_null(two[i] = take(2)); // behind slab 0, 3, 6, and 9, in this order
    assert_null(take(1));
    give(two[1], 2);
    give(two[2], 2);
    assert_null(take(3)); // slab 6 lies between them
    give(by_slab[6], 1);
    char *five = take(5);
    assert_non_null(five);
    bed_check(&bed);
    give(five, 5);
    give(two[0], 2);
    give(two[3], 2);
    for (uint32_t slab = 0; slab < SLABS; slab += slab == 3 ? 6 : 3)
        give(by_slab[slab], 1);
    bed_check_empty(&bed, SLABS);
    bed_shut(&bed);
}

static void slabs_that_do_not_lie_side_by_side_are_no_run(void **state) {
    (void)state;
    bed_open(&bed, 8 * SLAB, 12);
    bed_admit(&bed, 0, 3, 0);
    bed_admit(&bed, 3, 2, 5 * SLAB);
    bed_admit(&bed, 5, 3, 8 * SLAB + 512);
    assert_null(take(4));
    char *first = take(3), *last = take(3), *middle = take(2);
    assert_non_null(first);
    assert_non_null(last);
    assert_non_null(middle);
    bed_check(&bed);
    give(first, 3);
    give(middle, 2);
    give(last, 3);
    bed_check_empty(&bed, 8);
    bed_shut(&bed);
}

static void a_run_is_freed_once_and_by_its_beginning(void **state) {
    (void)state;
    bed_open_full(&bed, 8 * SLAB, 8, 0);
    char *run = take(5);
    for (uint64_t offset = 16; offset < 5 * SLAB; offset += offset < 64 ? 16 : SLAB / 4)
        pool_heap_free(bed.heap, run + offset);
    uint64_t foreign = bed.book->foreign_frees;
    assert_true(foreign > 15);
    assert_int_equal(bed.book->double_frees, 0);
    give(run, 5);
    pool_heap_free(bed.heap, run);
    assert_int_equal(bed.book->double_frees, 1);
    assert_int_equal(bed.book->foreign_frees, foreign);
    bed_check_empty(&bed, 8);
    bed_shut(&bed);
}

static void no_run_is_longer_than_the_heap(void **state) {
    (void)state;
    bed_open_full(&bed, 8 * SLAB, 8, 0);
    assert_null(pool_heap_malloc(bed.heap, 8 * SLAB + 1));
    assert_null(pool_heap_malloc(bed.heap, SIZE_MAX));
    assert_null(pool_heap_malloc(bed.heap, SIZE_MAX - SLAB));
    assert_null(pool_heap_malloc(bed.heap, (size_t)1 << 32 << 16)); // 2^32 slabs
    assert_int_equal(failures(), 4);
    assert_true(bed.book->bytes_failed_most == SIZE_MAX);
    give(take(8), 8);
    bed_check_empty(&bed, 8);
    bed_shut(&bed);
}

static void a_search_in_vain_is_made_again_after_slabs_were_admitted(void **state) {
    (void)state;
    bed_open(&bed, 8 * SLAB, 8);
    assert_null(take(1));
    assert_null(take(2));
    bed_admit(&bed, 0, 4, 0);
    char *four = take(4);
    assert_non_null(four);
    assert_null(take(2));
    bed_admit(&bed, 4, 4, 4 * SLAB);
    char *two = take(2);
    assert_non_null(two);
    give(four, 4);
    give(two, 2);
    char *all = take(8);
    assert_non_null(all);
    give(all, 8);
    bed_check_empty(&bed, 8);
    bed_shut(&bed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_has_whole_slabs_side_by_side),
        cmocka_unit_test(more_than_a_slab_of_the_last_class_is_a_run),
        cmocka_unit_test(holes_that_are_too_small_serve_no_run),
        cmocka_unit_test(slabs_that_do_not_lie_side_by_side_are_no_run),
        cmocka_unit_test(a_run_is_freed_once_and_by_its_beginning),
        cmocka_unit_test(no_run_is_longer_than_the_heap),
        cmocka_unit_test(a_search_in_vain_is_made_again_after_slabs_were_admitted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
