#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "simcuda/common/page_table.h"

#define GRANULE ((uint64_t)65536)
#define BASE    ((uint64_t)0x110000000000)

// The table never looks into a mapping: any address serves as one.
static struct sim_mapping *const one = (struct sim_mapping *)(uintptr_t)0x1000;
static struct sim_mapping *const two = (struct sim_mapping *)(uintptr_t)0x2000;

static struct sim_page_table table;

static int begin(void **state) {
    (void)state;
    sim_page_table_init(&table, GRANULE);
    return 0;
}

static int end(void **state) {
    (void)state;
    sim_page_table_destroy(&table);
    return 0;
}

static void nothing_is_mapped_at_first(void **state) {
    (void)state;
    assert_null(sim_page_table_find(&table, 0));
    assert_null(sim_page_table_find(&table, BASE));
    assert_null(sim_page_table_find(&table, UINT64_MAX));
    assert_true(sim_page_table_range_empty(&table, BASE, 1000 * GRANULE));
}

static void every_byte_of_a_granule_finds_its_mapping(void **state) {
    (void)state;
    sim_page_table_set(&table, BASE, 2 * GRANULE, one);
    sim_page_table_set(&table, BASE + 2 * GRANULE, GRANULE, two);
    assert_ptr_equal(sim_page_table_find(&table, BASE), one);
    assert_ptr_equal(sim_page_table_find(&table, BASE + 2 * GRANULE - 1), one);
    assert_ptr_equal(sim_page_table_find(&table, BASE + 2 * GRANULE), two);
    assert_null(sim_page_table_find(&table, BASE - 1));
    assert_null(sim_page_table_find(&table, BASE + 3 * GRANULE));
}

static void a_range_with_one_mapping_is_not_empty(void **state) {
    const uint64_t far_away = 100000 * GRANULE;
    (void)state;
    sim_page_table_set(&table, BASE + far_away, GRANULE, one);
    assert_true(sim_page_table_range_empty(&table, BASE, far_away));
    assert_false(sim_page_table_range_empty(&table, BASE, far_away + GRANULE));
    assert_true(sim_page_table_range_empty(&table, BASE + far_away + GRANULE, far_away));
}

static void what_is_taken_out_is_gone(void **state) {
    (void)state;
    sim_page_table_set(&table, BASE, 20000 * GRANULE, one);
    sim_page_table_set(&table, BASE, 20000 * GRANULE, NULL);
    assert_null(sim_page_table_find(&table, BASE));
    assert_true(sim_page_table_range_empty(&table, BASE, 20000 * GRANULE));
}

int main(void) {
#define TABLE_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        TABLE_TEST(nothing_is_mapped_at_first),
        TABLE_TEST(every_byte_of_a_granule_finds_its_mapping),
        TABLE_TEST(a_range_with_one_mapping_is_not_empty),
        TABLE_TEST(what_is_taken_out_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
