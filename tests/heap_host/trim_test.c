// A heap gives memory back beside blocks that are live, and beside kernels that run.
#include "heap_host/fixture.h"

#include <sched.h>

static size_t book_of(const struct fixture *fixture) {
    return model_live(fixture->model) - statistics_of(fixture).bytesTaken;
}

static void trim(const struct fixture *fixture) {
    assert_int_equal(poolHeapTrim(fixture->heap, fixture->stream, 3), poolSuccess);
}

static void trimmed_heap_has_no_memory_and_can_grow_again(void **state) {
    struct fixture *fixture = *state;
    size_t book = book_of(fixture);
    trim(fixture);
    model_await_live(fixture->model, book);
    assert_null(allocate(fixture, 100));
    struct poolHeapStatistics statistics = statistics_of(fixture);
    assert_int_equal(statistics.bytesTaken, 0);
    assert_int_equal(statistics.bytesTrimmed, 8 * MIB);
    assert_int_equal(statistics.slabsLeftByTrim, 0);
    assert_int_equal(poolHeapGrow(fixture->heap, 8 * MIB, fixture->stream[0]), poolSuccess);
    assert_non_null(allocate(fixture, 8 * MIB));
}

static void chunk_with_a_live_block_stays(void **state) {
    struct fixture *fixture = *state;
    size_t book = book_of(fixture);
    void *block = allocate(fixture, 100);
    trim(fixture);
    model_await_live(fixture->model, book + UNIT);
    struct poolHeapStatistics statistics = statistics_of(fixture);
    assert_int_equal(statistics.slabs, UNIT / statistics.slabSize);
    assert_int_equal(statistics.slabsLeftByTrim, 1);
    release(fixture, block);
    trim(fixture);
    model_await_live(fixture->model, book);
    assert_int_equal(statistics_of(fixture).slabsLeftByTrim, 0);
}

static void trim_keeps_what_it_was_told_to(void **state) {
    struct fixture *fixture = *state;
    size_t book = book_of(fixture);
    assert_int_equal(poolHeapTrimTo(fixture->heap, 3 * MIB, fixture->stream, 2), poolSuccess);
    model_await_live(fixture->model, book + 4 * MIB); // a chunk more would be too much
    assert_int_equal(statistics_of(fixture).slabsLeftByTrim, 0);
    assert_int_equal(poolHeapTrimTo(fixture->heap, 4 * MIB, fixture->stream, 2), poolSuccess);
    assert_int_equal(statistics_of(fixture).bytesTaken, 4 * MIB);
}

static void two_trims_keep_as_much_as_one(void **state) {
    struct fixture *fixture = *state;
    size_t book = book_of(fixture);
    model_hold(fixture->model, fixture->stream[0]);
    assert_int_equal(poolHeapTrimTo(fixture->heap, 6 * MIB, fixture->stream, 1), poolSuccess);
    assert_int_equal(poolHeapTrimTo(fixture->heap, 6 * MIB, fixture->stream, 1), poolSuccess);
    model_let_go(fixture->model, fixture->stream[0]);
    model_await_live(fixture->model, book + 6 * MIB);
    trim(fixture);
    model_await_live(fixture->model, book);
}

static void trim_counts_what_the_one_before_may_close(void **state) {
    struct fixture *fixture = *state;
    size_t book = book_of(fixture);
    model_hold(fixture->model, fixture->stream[0]);
    assert_int_equal(poolHeapTrimTo(fixture->heap, 4 * MIB, fixture->stream, 1), poolSuccess);
    assert_int_equal(poolHeapGrow(fixture->heap, 4 * MIB, fixture->stream[1]), poolSuccess);
    assert_int_equal(poolHeapTrimTo(fixture->heap, 8 * MIB, fixture->stream, 1), poolSuccess);
    assert_int_equal(poolHeapTrimTo(fixture->heap, 6 * MIB, fixture->stream, 1), poolSuccess);
    model_let_go(fixture->model, fixture->stream[0]);
    model_await_live(fixture->model, book + 6 * MIB);
    trim(fixture);
    model_await_live(fixture->model, book);
    assert_int_equal(statistics_of(fixture).bytesTrimmed, 12 * MIB);
}

// Work of a stream makes no call of the heap's host.
static void give(void *given) {
    struct pool_heap heap = {((void **)given)[0]};
    pool_heap_free(heap, ((void **)given)[1]);
}

static void trim_gives_what_became_free_behind_the_one_before(void **state) {
    struct fixture *fixture = *state;
    size_t book = book_of(fixture);
    void *given[] = {poolHeapDevice(fixture->heap).book, allocate(fixture, 100)};
    model_hold(fixture->model, fixture->stream[0]);
    trim(fixture);
    model_work(fixture->model, fixture->stream[0], give, given);
    trim(fixture);
    model_let_go(fixture->model, fixture->stream[0]);
    model_await_live(fixture->model, book);
    assert_int_equal(statistics_of(fixture).slabsLeftByTrim, 0);
}

static void closed_chunk_waits_for_all_trims_that_it_was_offered_to(void **state) {
    struct fixture *fixture = *state;
    size_t book = book_of(fixture);
    allocate(fixture, 100);
    model_hold(fixture->model, fixture->stream[0]);
    trim(fixture);
    model_hold(fixture->model, fixture->stream[4]);
    assert_int_equal(poolHeapTrim(fixture->heap, &fixture->stream[4], 1), poolSuccess);
    model_let_go(fixture->model, fixture->stream[0]);
    while (statistics_of(fixture).slabsLeftByTrim == 0) // the first trim's answers aren't read
        sched_yield();
    assert_int_equal(model_live(fixture->model), book + 8 * MIB);
    assert_int_equal(statistics_of(fixture).slabs, UNIT / statistics_of(fixture).slabSize);
    model_let_go(fixture->model, fixture->stream[4]);
    model_await_live(fixture->model, book + UNIT);
}

static void chunk_that_two_trims_find_closed_counts_once(void **state) {
    struct fixture *fixture = *state;
    size_t book = book_of(fixture);
    model_hold(fixture->model, fixture->stream[0]);
    trim(fixture);
    trim(fixture);
    model_let_go(fixture->model, fixture->stream[0]);
    model_await_live(fixture->model, book);
    assert_int_equal(poolHeapGrow(fixture->heap, 8 * MIB, fixture->stream[0]), poolSuccess);
    assert_int_equal(poolHeapTrimTo(fixture->heap, 4 * MIB, fixture->stream, 1), poolSuccess);
    model_await_live(fixture->model, book + 4 * MIB);
}

static void trim_waits_for_the_work_of_every_stream(void **state) {
    struct fixture *fixture = *state;
    size_t book = book_of(fixture);
    for (unsigned held = 0; held < 3; held++) {
        model_hold(fixture->model, fixture->stream[held]);
        trim(fixture);
        assert_int_equal(model_live(fixture->model), book + 8 * MIB);
        assert_non_null(allocate(fixture, 100)); // a kernel that runs before
        model_let_go(fixture->model, fixture->stream[held]);
        model_await_live(fixture->model, book + UNIT);
        assert_int_equal(poolHeapGrow(fixture->heap, 6 * MIB, fixture->stream[3]), poolSuccess);
    }
}

static void note(void *ran) {
    *(int *)ran = 1;
}

static void later_work_of_every_stream_waits_for_the_trim(void **state) {
    struct fixture *fixture = *state;
    int ran = 0;
    model_hold(fixture->model, fixture->stream[0]);
    trim(fixture);
    model_work(fixture->model, fixture->stream[2], note, &ran);
    assert_int_equal(ran, 0);
    model_let_go(fixture->model, fixture->stream[0]);
    assert_int_equal(ran, 1);
}

static void trim_waits_for_growth_on_another_stream(void **state) {
    struct fixture *fixture = *state;
    size_t book = book_of(fixture);
    model_hold(fixture->model, fixture->stream[4]);
    assert_int_equal(poolHeapGrow(fixture->heap, 8 * MIB, fixture->stream[4]), poolSuccess);
    trim(fixture);
    assert_int_equal(model_live(fixture->model), book + 16 * MIB);
    model_let_go(fixture->model, fixture->stream[4]);
    model_await_live(fixture->model, book);
}

static void place_of_a_closed_chunk_is_not_joined_to_its_neighbours(void **state) {
    struct fixture *fixture = *state;
    size_t book = book_of(fixture);
    assert_int_equal(poolHeapGrow(fixture->heap, 2 * MIB, fixture->stream[0]), poolSuccess);
    void *first = allocate(fixture, 2 * MIB), *second = allocate(fixture, 2 * MIB);
    void *third = allocate(fixture, 2 * MIB);
    release(fixture, second);
    trim(fixture);
    model_await_live(fixture->model, book + 4 * MIB);
    // The second chunk's address is taken, so the next one in its place lies elsewhere.
    poolHeap_t other;
    assert_int_equal(poolHeapCreate(&other, model_pool(fixture->model), 8 * MIB), poolSuccess);
    assert_int_equal(poolHeapGrow(fixture->heap, 2 * MIB, fixture->stream[0]), poolSuccess);
    release(fixture, first);
    release(fixture, third);
    assert_null(allocate(fixture, 4 * MIB));
    assert_int_equal(poolHeapDestroy(other, NULL, 0), poolSuccess);
}

static void chunk_between_two_joins_them(void **state) {
    struct fixture *fixture = *state;
    size_t book = book_of(fixture);
    void *first = allocate(fixture, 2 * MIB), *second = allocate(fixture, 2 * MIB);
    void *third = allocate(fixture, 2 * MIB);
    release(fixture, second);
    trim(fixture);
    model_await_live(fixture->model, book + 4 * MIB);
    assert_int_equal(poolHeapGrow(fixture->heap, 2 * MIB, fixture->stream[0]), poolSuccess);
    release(fixture, first);
    release(fixture, third);
    assert_non_null(allocate(fixture, 6 * MIB));
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(trimmed_heap_has_no_memory_and_can_grow_again),
        TEST(chunk_with_a_live_block_stays),
        TEST(trim_keeps_what_it_was_told_to),
        TEST(two_trims_keep_as_much_as_one),
        TEST(trim_counts_what_the_one_before_may_close),
        TEST(trim_gives_what_became_free_behind_the_one_before),
        TEST(closed_chunk_waits_for_all_trims_that_it_was_offered_to),
        TEST(chunk_that_two_trims_find_closed_counts_once),
        TEST(trim_waits_for_the_work_of_every_stream),
        TEST(later_work_of_every_stream_waits_for_the_trim),
        TEST(trim_waits_for_growth_on_another_stream),
        TEST(place_of_a_closed_chunk_is_not_joined_to_its_neighbours),
        TEST(chunk_between_two_joins_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
