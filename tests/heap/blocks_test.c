#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "heap/bed.h"
#include "heap/contents.h"

enum { SLABS = 24 };

// Slabs of 64 KiB that begin anywhere in a cell, and then at its beginning.
static const uint64_t skews[] = {0, 512, 33280, 65024};
enum { SKEWS = sizeof skews / sizeof skews[0] };

static struct bed bed;

static void *take(size_t bytes) {
    void *block = pool_heap_malloc(bed.heap, bytes);
    if (block != NULL)
        contents_write(block, bytes, (uint64_t)(uintptr_t)block);
    return block;
}

static void give(void *block, size_t bytes) {
    assert_true(contents_hold(block, bytes, bytes, (uint64_t)(uintptr_t)block));
    pool_heap_free(bed.heap, block);
}

static void assert_errors(uint64_t foreign, uint64_t twice) {
    assert_int_equal(bed.book->foreign_frees, foreign);
    assert_int_equal(bed.book->double_frees, twice);
    assert_int_equal(bed.book->error_count, foreign + twice);
}

static void no_bytes_are_null_and_null_can_be_freed(void **state) {
    (void)state;
    bed_open_full(&bed, BED_MIB(2), SLABS, 0);
    assert_null(pool_heap_malloc(bed.heap, 0));
    pool_heap_free(bed.heap, NULL);
    assert_int_equal(pool_heap_usable_size(bed.heap, NULL), 0);
    assert_null(pool_heap_realloc(bed.heap, NULL, 0));
    assert_errors(0, 0);
    for (uint32_t i = 0; i <= POOL_HEAP_CLASSES; i++)
        assert_int_equal(bed.book->failures[i], 0);
    bed_check_empty(&bed, SLABS);
    bed_shut(&bed);
}

static void check_alignment(const void *block, size_t size) {
    uint64_t address = (uint64_t)(uintptr_t)block;
    assert_true(address % 16 == 0);
    if ((size & (size - 1)) == 0)
        assert_true(address % (size < 512 ? size : 512) == 0);
}

static void blocks_are_aligned_as_large_as_was_asked_for_and_apart(void **state) {
    (void)state;
    for (uint32_t skew = 0; skew < SKEWS; skew++) {
        bed_open_full(&bed, BED_MIB(2), SLABS, skews[skew]);
        for (uint32_t cls = 0; cls < bed.book->classes; cls++) {
            enum { BLOCKS = 40 };
            void *block[BLOCKS];
            size_t size = bed.book->cls[cls].size,
                   least = cls == 0 ? 1 : bed.book->cls[cls - 1].size + 1;
            for (uint32_t i = 0; i < BLOCKS; i++) {
                block[i] = take(i % 2 == 0 ? size : least);
                assert_non_null(block[i]);
                check_alignment(block[i], size);
                assert_int_equal(pool_heap_usable_size(bed.heap, block[i]), size);
            }
            assert_int_equal(bed_taken(&bed, cls), BLOCKS);
            bed_check(&bed);
            for (uint32_t i = 0; i < BLOCKS; i++)
                give(block[i], i % 2 == 0 ? size : least);
            bed_check_empty(&bed, SLABS);
        }
        assert_errors(0, 0);
        bed_shut(&bed);
    }
}

// Fills the heap with blocks of one size, and returns how many it had.
static uint32_t fill(void **block, size_t bytes) {
    uint32_t count = 0;
    while ((block[count] = take(bytes)) != NULL)
        count++;
    return count;
}

static void a_full_heap_has_given_all_blocks_and_gets_all_back(void **state) {
    (void)state;
    static void *block[SLABS * 65536 / 16 + 1];
    bed_open_full(&bed, BED_MIB(2), SLABS, 1024);
    for (uint32_t cls = 0; cls < bed.book->classes; cls++) {
        const struct ph_class *c = &bed.book->cls[cls];
        for (uint32_t again = 0; again < 2; again++) {
            bed.book->bytes_failed_most = 0;
            assert_int_equal(fill(block, c->size), c->blocks * SLABS);
            assert_int_equal(bed.book->failures[cls], again + 1);
            assert_int_equal(bed.book->bytes_failed_most, c->size);
            bed_check(&bed);
            assert_null(pool_heap_malloc(bed.heap, 65536)); // no slab is left for another class
            for (uint32_t i = 0; i < c->blocks * SLABS; i++)
                give(block[i * 7919u % (c->blocks * SLABS)], c->size);
            bed_check_empty(&bed, SLABS);
        }
    }
    assert_errors(0, 0);
    bed_shut(&bed);
}

static void blocks_that_come_back_to_a_full_heap_are_found(void **state) {
    (void)state;
    static void *block[SLABS * 65536 / 16 + 1];
    static const size_t sizes[] = {48, 96, 512, 1536,
                                   32768}; // some don't fill the last word of bits
    bed_open_full(&bed, BED_MIB(2), SLABS, 0);
    for (uint32_t size = 0; size < sizeof sizes / sizeof sizes[0]; size++) {
        size_t bytes = sizes[size];
        uint32_t count = fill(block, bytes);
        for (uint32_t i = 0; i < count; i += 1 + i / 256) {
            give(block[i], bytes);
            assert_ptr_equal(take(bytes), block[i]);
            assert_null(pool_heap_malloc(bed.heap, bytes));
        }
        for (uint32_t i = 0; i < count; i += 3)
            give(block[i], bytes);
        bed_check(&bed);
        for (uint32_t i = 0; i < count; i += 3)
            assert_non_null(block[i] = take(bytes));
        assert_null(pool_heap_malloc(bed.heap, bytes));
        bed_check(&bed);
        for (uint32_t i = 0; i < count; i++)
            give(block[i], bytes);
        bed_check_empty(&bed, SLABS);
    }
    bed_shut(&bed);
}

// Threads that come to a full heap don't ask a full slab without a look (find.cuh).
static void a_full_heap_has_no_current_slab(void **state) {
    (void)state;
    static void *block[SLABS * 65536 / 512 + 1];
    bed_open_full(&bed, BED_MIB(2), SLABS, 0);
    uint32_t count = fill(block, 512), cls = ph_class_of(512);
    assert_int_equal(bed.book->current[cls * bed.book->groups].slab, POOL_HEAP_NONE);
    give(block[count / 2], 512);
    assert_ptr_equal(take(512), block[count / 2]);
    bed_check(&bed);
    bed_shut(&bed);
}

static void what_is_no_live_block_is_counted_and_changes_nothing(void **state) {
    (void)state;
    bed_open_full(&bed, BED_MIB(2), SLABS, 512);
    char *small = take(48), *large = take(3000), *run = take(200000), *other = take(48);
    char outside[64];
    char *foreign[] = {outside,
                       small + 1,
                       small + 16,
                       large + 8,
                       run + 16,
                       run + 65536,
                       run + 131072,
                       (char *)16,
                       (char *)UINTPTR_MAX,
                       (char *)(uintptr_t)(UINT64_C(1) << 55)};
    uint32_t count = sizeof foreign / sizeof foreign[0];
    for (uint32_t i = 0; i < count; i++) {
        pool_heap_free(bed.heap, foreign[i]);
        assert_int_equal(bed.book->error[i].address, (uintptr_t)foreign[i]);
        assert_int_equal(bed.book->error[i].kind, poolHeapErrorForeign);
        assert_int_equal(pool_heap_usable_size(bed.heap, foreign[i]), 0);
    }
    assert_errors(count, 0);
    assert_null(pool_heap_realloc(bed.heap, small + 16, 100));
    assert_errors(++count, 0);
    bed_check(&bed);
    give(small, 48);
    give(large, 3000);
    give(run, 200000);
    for (uint32_t i = 0; i < 2; i++) {
        pool_heap_free(bed.heap, small); // its slab holds another block
        pool_heap_free(bed.heap, large); // its slab is free
        pool_heap_free(bed.heap, run);
    }
    assert_errors(count, 6);
    assert_int_equal(bed.book->error[count].address, (uintptr_t)small);
    assert_int_equal(bed.book->error[count].kind, poolHeapErrorDouble);
    assert_null(pool_heap_realloc(bed.heap, large, 100));
    assert_null(pool_heap_realloc(bed.heap, run, 100));
    assert_errors(count, 8);
    for (uint32_t i = 0; i < 100; i++) // more than the book remembers
        pool_heap_free(bed.heap, small);
    assert_errors(count, 108);
    give(other, 48);
    bed_check_empty(&bed, SLABS);
    bed_shut(&bed);
}

static void realloc_keeps_contents_and_moves_only_what_has_to(void **state) {
    (void)state;
    bed_open_full(&bed, BED_MIB(2), SLABS, 0);
    static const size_t sizes[] = {1, 16, 17, 40, 100, 30, 24, 70000, 40000, 300000, 20, 65536, 8};
    size_t had = 0;
    char *block = NULL;
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t usable = pool_heap_usable_size(bed.heap, block);
        char *moved = pool_heap_realloc(bed.heap, block, sizes[i]);
        assert_non_null(moved);
        assert_true(contents_hold(moved, had < sizes[i] ? had : sizes[i], had, 7));
        if (sizes[i] <= usable && sizes[i] > usable / 2)
            assert_ptr_equal(moved, block);
        if (usable > 32 && sizes[i] <= usable / 2)
            assert_ptr_not_equal(moved, block);
        contents_write(moved, sizes[i], 7);
        had = sizes[i];
        block = moved;
        bed_check(&bed);
    }
    assert_null(pool_heap_realloc(bed.heap, block, 0));
    assert_errors(0, 0);
    bed_check_empty(&bed, SLABS);
    bed_shut(&bed);
}

static void a_realloc_that_finds_no_memory_leaves_the_block(void **state) {
    (void)state;
    static void *filler[65536 / 16 * SLABS];
    bed_open_full(&bed, BED_MIB(2), SLABS, 0);
    char *block = take(1000);
    fill(filler, 32768);
    assert_null(pool_heap_realloc(bed.heap, block, 40000));
    assert_ptr_equal(pool_heap_realloc(bed.heap, block, 100), block); // there is no smaller one
    assert_int_equal(pool_heap_usable_size(bed.heap, block), 1024);
    give(block, 1000);
    bed_check(&bed);
    bed_shut(&bed);
}

static void the_largest_slabs_have_over_a_hundred_thousand_blocks(void **state) {
    (void)state;
    enum { LARGE = 2 };
    bed_open_full(&bed, BED_GIB(8), LARGE, 3584);
    assert_int_equal(bed.plan.shift, POOL_HEAP_SHIFT_MAX);
    uint32_t blocks = bed.book->cls[0].blocks, count = 0;
    assert_true(blocks > 130000);
    void **block = test_malloc(LARGE * (size_t)blocks * sizeof *block + sizeof *block);
    while ((block[count] = pool_heap_malloc(bed.heap, 16)) != NULL) {
        *(uint64_t *)block[count] = count;
        count++;
    }
    assert_int_equal(count, LARGE * blocks);
    bed_check(&bed);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(*(uint64_t *)block[i], i);
        pool_heap_free(bed.heap, block[i]);
    }
    test_free(block);
    bed_check_empty(&bed, LARGE);
    bed_shut(&bed);
}

static void a_heap_of_one_slab_serves_one_class_after_the_other(void **state) {
    (void)state;
    bed_open_full(&bed, SP_HEAP_BYTES_LEAST, 1, 0);
    for (uint32_t cls = 0; cls < bed.book->classes; cls++) {
        void *block = take(bed.book->cls[cls].size);
        assert_non_null(block);
        uint32_t other = cls == 0 ? 1 : 0;
        assert_null(pool_heap_malloc(bed.heap, bed.book->cls[other].size));
        assert_null(pool_heap_malloc(bed.heap, 65536));
        give(block, bed.book->cls[cls].size);
        bed_check_empty(&bed, 1);
    }
    void *whole = take(65536);
    assert_non_null(whole);
    assert_null(pool_heap_malloc(bed.heap, 1));
    give(whole, 65536);
    bed_check_empty(&bed, 1);
    bed_shut(&bed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_bytes_are_null_and_null_can_be_freed),
        cmocka_unit_test(blocks_are_aligned_as_large_as_was_asked_for_and_apart),
        cmocka_unit_test(a_full_heap_has_given_all_blocks_and_gets_all_back),
        cmocka_unit_test(blocks_that_come_back_to_a_full_heap_are_found),
        cmocka_unit_test(a_full_heap_has_no_current_slab),
        cmocka_unit_test(what_is_no_live_block_is_counted_and_changes_nothing),
        cmocka_unit_test(realloc_keeps_contents_and_moves_only_what_has_to),
        cmocka_unit_test(a_realloc_that_finds_no_memory_leaves_the_block),
        cmocka_unit_test(the_largest_slabs_have_over_a_hundred_thousand_blocks),
        cmocka_unit_test(a_heap_of_one_slab_serves_one_class_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
