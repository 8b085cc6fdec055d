// A checked build tells of each free that is none of a live block, with its address, and of no
// other.
#define POOL_HEAP_CHECK

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "heap/bed.h"

#define SLAB UINT64_C(65536)

enum { SLABS = 8, LANES = 8, TOLD_MOST = 4096 };

static struct bed bed;
static char told[TOLD_MOST];

// Notes what is printed while `act` runs.
static void listen(void (*act)(void *argument), void *argument) {
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stdout);
    int own = dup(STDOUT_FILENO);
    assert_true(own >= 0 && dup2(fileno(file), STDOUT_FILENO) >= 0);
    act(argument);
    fflush(stdout);
    dup2(own, STDOUT_FILENO);
    close(own);
    rewind(file);
    told[fread(told, 1, sizeof told - 1, file)] = 0;
    fclose(file);
}

static void assert_told(const void *address, const char *of_it, uint32_t times) {
    char line[128], expected[TOLD_MOST] = "";
    snprintf(line, sizeof line, "pool_heap: %p %s\n", address, of_it);
    for (uint32_t i = 0; i < times; i++)
        strcat(expected, line);
    assert_string_equal(told, expected);
}

static void free_it(void *block) {
    pool_heap_free(bed.heap, block);
}

static void assert_free_is_told(void *address, const char *of_it) {
    listen(free_it, address);
    assert_told(address, of_it, 1);
}

static void resize_it(void *block) {
    assert_null(pool_heap_realloc(bed.heap, block, 100));
}

static const char foreign[] = "is no block of this heap", twice[] = "is free already";

static void frees_of_live_blocks_and_of_null_are_not_told(void **state) {
    (void)state;
    bed_open_full(&bed, SLABS * SLAB, SLABS, 512);
    listen(free_it, NULL);
    assert_told(NULL, "", 0);
    for (size_t bytes = 1; bytes < 3 * SLAB; bytes *= 3) {
        listen(free_it, pool_heap_malloc(bed.heap, bytes));
        assert_told(NULL, "", 0);
    }
    bed_check_empty(&bed, SLABS);
    bed_shut(&bed);
}

static void a_block_that_is_freed_twice_is_told_with_its_address(void **state) {
    (void)state;
    bed_open_full(&bed, SLABS * SLAB, SLABS, 512);
    char *kept = pool_heap_malloc(bed.heap, 100), *block = pool_heap_malloc(bed.heap, 100);
    pool_heap_free(bed.heap, block);
    assert_free_is_told(block, twice);
    pool_heap_free(bed.heap, kept); // and the slab is free
    assert_free_is_told(kept, twice);
    char *run = pool_heap_malloc(bed.heap, 3 * SLAB);
    pool_heap_free(bed.heap, run);
    assert_free_is_told(run, twice);
    assert_int_equal(bed.book->double_frees, 3);
    assert_int_equal(bed.book->foreign_frees, 0);
    bed_check_empty(&bed, SLABS);
    bed_shut(&bed);
}

static void an_address_where_no_block_begins_is_told(void **state) {
    (void)state;
    bed_open_full(&bed, SLABS * SLAB, SLABS, 512);
    char *block = pool_heap_malloc(bed.heap, 100), *run = pool_heap_malloc(bed.heap, 3 * SLAB);
    assert_free_is_told(block + 8, foreign);
    assert_free_is_told(run + SLAB, foreign);
    assert_free_is_told(&bed, foreign);
    listen(resize_it, &bed);
    assert_told(&bed, foreign, 1);
    assert_int_equal(bed.book->foreign_frees, 4);
    assert_int_equal(bed.book->double_frees, 0);
    pool_heap_free(bed.heap, block);
    pool_heap_free(bed.heap, run);
    bed_check_empty(&bed, SLABS);
    bed_shut(&bed);
}

static void free_in_lane(void *argument, uint32_t thread) {
    (void)thread;
    pool_heap_free(bed.heap, argument);
}

static void free_in_all_lanes(void *block) {
    warps_run(&(struct warps){.way = WARPS_FREE,
                              .warps = 1,
                              .lanes = LANES,
                              .seed = 1,
                              .kernel = free_in_lane,
                              .argument = block});
}

// Whoever of them is together.
static void of_lanes_that_free_a_block_at_once_all_but_one_are_told(void **state) {
    (void)state;
    bed_open_full(&bed, SLABS * SLAB, SLABS, 0);
    char *kept = pool_heap_malloc(bed.heap, 48), *block = pool_heap_malloc(bed.heap, 48);
    listen(free_in_all_lanes, block);
    assert_told(block, twice, LANES - 1);
    pool_heap_free(bed.heap, kept);
    bed_check_empty(&bed, SLABS);
    bed_shut(&bed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frees_of_live_blocks_and_of_null_are_not_told),
        cmocka_unit_test(a_block_that_is_freed_twice_is_told_with_its_address),
        cmocka_unit_test(an_address_where_no_block_begins_is_told),
        cmocka_unit_test(of_lanes_that_free_a_block_at_once_all_but_one_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
