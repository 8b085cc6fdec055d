// Each call of the seam fails once, in each call of the heap: nothing is lost, and the heap works.
#include "heap_host/fixture.h"

#include <string.h>

// True where the heap's call succeeded. `n`: its n-th call of the seam was to fail.
typedef bool action(const struct fixture *fixture);

static bool grow(const struct fixture *fixture) {
    return poolHeapGrow(fixture->heap, 3 * UNIT, fixture->stream[0]) == poolSuccess;
}

static bool grow_contiguous(const struct fixture *fixture) {
    return poolHeapGrowContiguous(fixture->heap, 3 * UNIT, fixture->stream[0]) == poolSuccess;
}

static bool maintain(const struct fixture *fixture) {
    poolError_t first = poolHeapMaintain(fixture->heap, fixture->stream[0]);
    poolError_t second = poolHeapMaintain(fixture->heap, fixture->stream[0]);
    return first == poolSuccess && second == poolSuccess;
}

static bool free_block(const struct fixture *fixture) {
    return poolHeapFree(fixture->heap, allocate(fixture, 10), fixture->stream[0]) == poolSuccess;
}

static bool count(const struct fixture *fixture) {
    struct poolHeapStatistics statistics;
    memset(&statistics, 0x5a, sizeof statistics);
    struct poolHeapStatistics before = statistics;
    if (poolHeapGetStatistics(fixture->heap, fixture->stream[0], &statistics) == poolSuccess)
        return true;
    assert_memory_equal(&statistics, &before, sizeof before);
    return false;
}

// Behind a stream that is held the thread finds nothing to do yet.
static bool trim(const struct fixture *fixture) {
    model_hold(fixture->model, fixture->stream[0]);
    return poolHeapTrim(fixture->heap, fixture->stream, 2) == poolSuccess;
}

static size_t book;

static void check(struct fixture *fixture) {
    struct poolHeapStatistics statistics = statistics_of(fixture);
    assert_int_equal(model_live(fixture->model), statistics.bytesTaken + book);
    assert_true(statistics.slabs * statistics.slabSize <= statistics.bytesTaken);
}

// A failure of a call that ends in a failure has changed nothing but for what is noted in heap.h.
static void fail_each(struct fixture *fixture, action *act) {
    bool failed = true;
    book = model_live(fixture->model) - 8 * MIB;
    for (unsigned n = 1; failed; n++) {
        assert_true(n < 100);
        if (fixture->heap == NULL)
            assert_int_equal(poolHeapCreate(&fixture->heap, model_pool(fixture->model), 64 * MIB),
                             poolSuccess);
        model_fail(fixture->model, n);
        bool succeeded = act(fixture);
        failed = model_has_failed(fixture->model);
        model_fail(fixture->model, 0);
        assert_true(succeeded || failed);
        model_let_go(fixture->model, fixture->stream[0]);
        if (act != trim)
            check(fixture);
        assert_true(grow(fixture));
        assert_non_null(allocate(fixture, 3 * UNIT));
        assert_int_equal(poolHeapTrim(fixture->heap, fixture->stream, 2), poolSuccess);
        poolError_t destroyed = poolHeapDestroy(fixture->heap, fixture->stream, 3);
        fixture->heap = NULL;
        // What failed in the heap's thread is told here.
        assert_true(destroyed == poolSuccess || (act == trim && destroyed == poolErrorUnknown));
        assert_int_equal(model_live(fixture->model), 0);
        assert_int_equal(model_pending(fixture->model), 0);
    }
}

static void growing_fails_anywhere(void **state) {
    fail_each(*state, grow);
}

static void growing_as_a_whole_fails_anywhere(void **state) {
    fail_each(*state, grow_contiguous);
}

static void maintaining_fails_anywhere(void **state) {
    struct fixture *fixture = *state;
    fail_each(fixture, maintain);
}

static void freeing_fails_anywhere(void **state) {
    fail_each(*state, free_block);
}

static void counting_fails_anywhere(void **state) {
    fail_each(*state, count);
}

static void trimming_fails_anywhere(void **state) {
    fail_each(*state, trim);
}

// The last call records an event behind the kernel that admits the memory.
static void refused_growth_takes_nothing(void **state) {
    struct fixture *fixture = *state;
    unsigned changed = 0;
    bool failed = true;
    for (unsigned n = 1; failed; n++) {
        size_t live = model_live(fixture->model);
        model_fail(fixture->model, n);
        bool succeeded = grow(fixture);
        failed = model_has_failed(fixture->model);
        model_fail(fixture->model, 0);
        if (model_live(fixture->model) != live && failed && !succeeded)
            changed++;
        assert_true(free_block(fixture)); // records the event
    }
    assert_int_equal(changed, 1);
}

static void creating_fails_anywhere(void **state) {
    (void)state;
    bool failed = true;
    for (unsigned n = 1; failed; n++) {
        struct model *model = model_make(64);
        poolHeap_t heap = NULL;
        assert_true(n < 100);
        model_fail(model, n);
        poolError_t error = poolHeapCreate(&heap, model_pool(model), 64 * MIB);
        failed = model_has_failed(model);
        model_fail(model, 0);
        assert_int_equal(error, failed ? poolErrorUnknown : poolSuccess);
        assert_int_equal(heap == NULL, failed);
        if (failed)
            assert_non_null(strstr(poolGetLastErrorDetail(), " failed"));
        else
            assert_int_equal(poolHeapDestroy(heap, NULL, 0), poolSuccess);
        model_end(model);
    }
}

static void destroying_fails_anywhere_and_gives_all_back(void **state) {
    (void)state;
    bool failed = true;
    for (unsigned n = 1; failed; n++) {
        struct model *model = model_make(64);
        CUstream streams[] = {model_stream(model, 0), model_stream(model, 1)};
        poolHeap_t heap;
        assert_int_equal(poolHeapCreate(&heap, model_pool(model), 64 * MIB), poolSuccess);
        assert_int_equal(poolHeapMaintain(heap, streams[0]), poolSuccess);
        model_fail(model, n);
        poolError_t error = poolHeapDestroy(heap, streams, 2);
        failed = model_has_failed(model);
        assert_true(failed || error == poolSuccess);
        model_end(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(growing_fails_anywhere),
        TEST(growing_as_a_whole_fails_anywhere),
        TEST(maintaining_fails_anywhere),
        TEST(freeing_fails_anywhere),
        TEST(counting_fails_anywhere),
        TEST(trimming_fails_anywhere),
        TEST(refused_growth_takes_nothing),
        cmocka_unit_test(creating_fails_anywhere),
        cmocka_unit_test(destroying_fails_anywhere_and_gives_all_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
