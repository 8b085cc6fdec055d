// What maintaining decides, and when.
#include "heap_host/fixture.h"

#include "devheap/survey.h"

static const struct sp_heap_facts facts = {.slabs = 128,
                                           .slabs_free = 64,
                                           .run_failed_most = 0,
                                           .mark_percent = 25,
                                           .shift = 16,
                                           .units_left = 100};

static struct sp_heap_wish decide(struct sp_heap_facts given) {
    return sp_heap_survey_decide(&given);
}

static void heap_with_enough_free_stays(void **state) {
    (void)state;
    struct sp_heap_facts given = facts;
    given.slabs_free = 32;
    assert_int_equal(decide(given).units, 0);
    assert_int_equal(decide(given).units_run, 0);
}

static void heap_below_the_mark_grows_by_a_quarter(void **state) {
    (void)state;
    struct sp_heap_facts given = facts;
    given.slabs_free = 31;
    assert_int_equal(decide(given).units, 1); // 32 slabs
    given.slabs = 1280;
    given.slabs_free = 319;
    assert_int_equal(decide(given).units, 10);
}

static void full_heap_grows_until_the_mark_is_met(void **state) {
    (void)state;
    struct sp_heap_facts given = facts;
    given.slabs_free = 0;
    given.mark_percent = 50;
    assert_int_equal(decide(given).units, 4); // 128 of 256 slabs
    given.mark_percent = 90;
    assert_int_equal(decide(given).units, 36);
}

static void heap_without_slabs_gets_some(void **state) {
    (void)state;
    struct sp_heap_facts given = facts;
    given.slabs = given.slabs_free = 0;
    assert_int_equal(decide(given).units, 1);
}

static void mark_of_0_never_lets_it_grow(void **state) {
    (void)state;
    struct sp_heap_facts given = facts;
    given.slabs_free = given.mark_percent = 0;
    assert_int_equal(decide(given).units, 0);
}

static void growth_ends_at_the_maximum(void **state) {
    (void)state;
    struct sp_heap_facts given = facts;
    given.slabs_free = 0;
    given.mark_percent = 90;
    given.units_left = 3;
    assert_int_equal(decide(given).units, 3);
}

static void large_block_that_failed_gets_a_chunk(void **state) {
    (void)state;
    struct sp_heap_facts given = facts;
    given.run_failed_most = 5 * MIB;
    assert_int_equal(decide(given).units_run, 3);
    assert_int_equal(decide(given).units, 0);
    given.run_failed_most = 201 * MIB; // no growth serves it
    assert_int_equal(decide(given).units_run, 0);
    given.run_failed_most = UINT64_MAX;
    assert_int_equal(decide(given).units_run, 0);
}

static void chunk_of_a_large_block_counts_for_the_mark(void **state) {
    (void)state;
    struct sp_heap_facts given = facts;
    given.run_failed_most = 3 * MIB;
    given.slabs_free = 0;
    given.mark_percent = 50;
    assert_int_equal(decide(given).units_run, 2);
    assert_int_equal(decide(given).units, 2);
}

static void maintain(const struct fixture *fixture) {
    assert_int_equal(poolHeapMaintain(fixture->heap, fixture->stream[0]), poolSuccess);
}

static void fill(const struct fixture *fixture) {
    while (allocate(fixture, 32 * 1024) != NULL)
        continue;
}

static void full_heap_grows_by_its_second_maintaining(void **state) {
    struct fixture *fixture = *state;
    fill(fixture);
    maintain(fixture);
    assert_int_equal(statistics_of(fixture).bytesTaken, 8 * MIB);
    maintain(fixture);
    assert_int_equal(statistics_of(fixture).bytesTaken, 12 * MIB); // a third more: 25 % are free
    assert_non_null(allocate(fixture, 32 * 1024));
}

static void nothing_is_done_while_a_survey_is_pending(void **state) {
    struct fixture *fixture = *state;
    fill(fixture);
    model_hold(fixture->model, fixture->stream[0]);
    for (int i = 0; i < 3; i++)
        maintain(fixture);
    assert_int_equal(statistics_of(fixture).bytesTaken, 8 * MIB);
    model_let_go(fixture->model, fixture->stream[0]);
    maintain(fixture);
    assert_int_equal(statistics_of(fixture).bytesTaken, 12 * MIB);
}

static void growth_that_a_survey_cannot_see_counts_as_free(void **state) {
    struct fixture *fixture = *state;
    fill(fixture);
    model_hold(fixture->model, fixture->stream[1]);
    assert_int_equal(poolHeapGrow(fixture->heap, 8 * MIB, fixture->stream[1]), poolSuccess);
    maintain(fixture);
    maintain(fixture);
    assert_int_equal(statistics_of(fixture).bytesTaken, 16 * MIB);
    model_let_go(fixture->model, fixture->stream[1]);
}

static void growth_behind_a_survey_counts_as_free(void **state) {
    struct fixture *fixture = *state;
    fill(fixture);
    maintain(fixture);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(poolHeapGrow(fixture->heap, 4 * MIB, fixture->stream[i]), poolSuccess);
    maintain(fixture);
    maintain(fixture);
    assert_int_equal(statistics_of(fixture).bytesTaken, 16 * MIB);
    fill(fixture);
    maintain(fixture);
    maintain(fixture); // later surveys see it
    assert_int_equal(statistics_of(fixture).bytesTaken, 22 * MIB);
}

static void large_block_fits_after_maintaining(void **state) {
    struct fixture *fixture = *state;
    model_scatter(fixture->model);
    assert_int_equal(poolHeapSetMark(fixture->heap, 0), poolSuccess);
    assert_null(allocate(fixture, 11 * MIB));
    maintain(fixture);
    maintain(fixture);
    assert_non_null(allocate(fixture, 11 * MIB));
    maintain(fixture);
    maintain(fixture); // only what failed since counts
    struct poolHeapStatistics statistics = statistics_of(fixture);
    assert_int_equal(statistics.bytesTaken, 20 * MIB);
    assert_int_equal(statistics.largestFailed, 11 * MIB);
    assert_int_equal(statistics.failuresOfRuns, 1);
}

static void block_that_no_growth_could_serve_hides_no_other(void **state) {
    struct fixture *fixture = *state;
    model_scatter(fixture->model);
    assert_int_equal(poolHeapSetMark(fixture->heap, 0), poolSuccess);
    assert_null(allocate(fixture, 11 * MIB));
    assert_null(allocate(fixture, 64 * MIB + 1));
    assert_null(allocate(fixture, SIZE_MAX));
    maintain(fixture);
    maintain(fixture);
    assert_non_null(allocate(fixture, 11 * MIB));
    assert_true(statistics_of(fixture).largestFailed == SIZE_MAX);
}

static void block_of_a_class_that_failed_needs_no_chunk_of_its_own(void **state) {
    struct fixture *fixture = *state;
    assert_int_equal(poolHeapSetMark(fixture->heap, 0), poolSuccess);
    fill(fixture);
    maintain(fixture);
    maintain(fixture);
    assert_int_equal(statistics_of(fixture).bytesTaken, 8 * MIB);
    assert_null(allocate(fixture, 32 * 1024 + 1));
    maintain(fixture);
    maintain(fixture);
    assert_int_equal(statistics_of(fixture).bytesTaken, 10 * MIB);
}

static void pool_with_less_gives_what_it_has(void **state) {
    struct fixture *fixture = *state;
    fill(fixture);
    assert_int_equal(poolHeapSetMark(fixture->heap, 75), poolSuccess); // 24 MiB more
    model_limit(fixture->model, model_live(fixture->model) + 7 * MIB);
    maintain(fixture);
    maintain(fixture);
    assert_int_equal(statistics_of(fixture).bytesTaken, 14 * MIB);
}

static void pool_without_memory_is_told(void **state) {
    struct fixture *fixture = *state;
    fill(fixture);
    model_limit(fixture->model, model_live(fixture->model));
    maintain(fixture);
    assert_int_equal(poolHeapMaintain(fixture->heap, fixture->stream[0]),
                     poolErrorMemoryAllocation);
    model_limit(fixture->model, SIZE_MAX);
    maintain(fixture); // by the survey of the call that failed
    assert_int_equal(statistics_of(fixture).bytesTaken, 12 * MIB);
}

static void heap_at_its_maximum_is_no_error(void **state) {
    struct fixture *fixture = *state;
    assert_int_equal(poolHeapGrow(fixture->heap, 56 * MIB, fixture->stream[0]), poolSuccess);
    fill(fixture);
    assert_null(allocate(fixture, 1 * MIB));
    for (int i = 0; i < 3; i++)
        maintain(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heap_with_enough_free_stays),
        cmocka_unit_test(heap_below_the_mark_grows_by_a_quarter),
        cmocka_unit_test(full_heap_grows_until_the_mark_is_met),
        cmocka_unit_test(heap_without_slabs_gets_some),
        cmocka_unit_test(mark_of_0_never_lets_it_grow),
        cmocka_unit_test(growth_ends_at_the_maximum),
        cmocka_unit_test(large_block_that_failed_gets_a_chunk),
        cmocka_unit_test(chunk_of_a_large_block_counts_for_the_mark),
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(full_heap_grows_by_its_second_maintaining),
        TEST(nothing_is_done_while_a_survey_is_pending),
        TEST(growth_that_a_survey_cannot_see_counts_as_free),
        TEST(growth_behind_a_survey_counts_as_free),
        TEST(large_block_fits_after_maintaining),
        TEST(block_that_no_growth_could_serve_hides_no_other),
        TEST(block_of_a_class_that_failed_needs_no_chunk_of_its_own),
        TEST(pool_with_less_gives_what_it_has),
        TEST(pool_without_memory_is_told),
        TEST(heap_at_its_maximum_is_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
