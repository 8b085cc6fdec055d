// A heap takes memory from its pool, and kernels find it.
#include "heap_host/fixture.h"

static void new_heap_has_an_eighth(void **state) {
    struct fixture *fixture = *state;
    struct poolHeapStatistics statistics = statistics_of(fixture);
    assert_int_equal(statistics.bytesMost, 64 * MIB);
    assert_int_equal(statistics.bytesTaken, 8 * MIB);
    assert_int_equal(statistics.slabSize, poolHeapSlabSize(fixture->heap));
    assert_int_equal(statistics.slabs, 8 * MIB / statistics.slabSize);
    assert_int_equal(statistics.slabsFree, statistics.slabs);
    assert_non_null(allocate(fixture, 100));
}

static void smallest_heap_has_one_chunk(void **state) {
    struct fixture *fixture = *state;
    struct model *model = model_make(4);
    poolHeap_t heap;
    assert_int_equal(poolHeapCreate(&heap, model_pool(model), 1), poolSuccess);
    struct poolHeapStatistics statistics;
    assert_int_equal(poolHeapGetStatistics(heap, model_stream(model, 0), &statistics), poolSuccess);
    assert_int_equal(statistics.bytesMost, UNIT);
    assert_int_equal(statistics.bytesTaken, UNIT);
    assert_int_equal(poolHeapDestroy(heap, NULL, 0), poolSuccess);
    model_end(model);
    assert_non_null(allocate(fixture, 1));
}

static void growth_is_usable_behind_its_point_of_the_stream(void **state) {
    struct fixture *fixture = *state;
    while (allocate(fixture, 32 * 1024) != NULL)
        continue;
    model_hold(fixture->model, fixture->stream[0]);
    assert_int_equal(poolHeapGrow(fixture->heap, 3 * MIB, fixture->stream[0]), poolSuccess);
    assert_null(allocate(fixture, 32 * 1024));
    model_let_go(fixture->model, fixture->stream[0]);
    assert_non_null(allocate(fixture, 32 * 1024));
    assert_int_equal(statistics_of(fixture).bytesTaken, 12 * MIB);
}

static void chunks_side_by_side_hold_a_large_block(void **state) {
    struct fixture *fixture = *state;
    assert_null(allocate(fixture, 20 * MIB));
    assert_int_equal(poolHeapGrow(fixture->heap, 12 * MIB, fixture->stream[0]), poolSuccess);
    void *block = allocate(fixture, 20 * MIB); // in the first chunks and in the new ones
    assert_non_null(block);
    assert_int_equal(statistics_of(fixture).runs, 1);
    assert_int_equal(statistics_of(fixture).slabsOfRuns, statistics_of(fixture).slabs);
    release(fixture, block);
    assert_int_equal(statistics_of(fixture).slabsFree, statistics_of(fixture).slabs);
}

static void scattered_chunks_hold_no_large_block(void **state) {
    struct fixture *fixture = *state;
    model_scatter(fixture->model);
    assert_int_equal(poolHeapGrow(fixture->heap, 8 * MIB, fixture->stream[0]), poolSuccess);
    assert_null(allocate(fixture, 9 * MIB));
    assert_int_equal(poolHeapGrowContiguous(fixture->heap, 9 * MIB, fixture->stream[0]),
                     poolSuccess);
    assert_non_null(allocate(fixture, 9 * MIB));
}

static void every_byte_of_a_large_block_is_memory_of_the_pool(void **state) {
    struct fixture *fixture = *state;
    assert_int_equal(poolHeapGrow(fixture->heap, 56 * MIB, fixture->stream[0]), poolSuccess);
    unsigned char *block = allocate(fixture, 64 * MIB);
    assert_non_null(block);
    for (size_t i = 0; i < 64 * MIB; i += 4096)
        block[i] = 1;
    assert_true(model_live(fixture->model) > 64 * MIB);
}

static void heap_takes_no_more_than_its_maximum(void **state) {
    struct fixture *fixture = *state;
    assert_int_equal(poolHeapGrow(fixture->heap, 57 * MIB, fixture->stream[0]),
                     poolErrorMemoryAllocation);
    assert_string_equal(poolGetLastErrorDetail(),
                        "the heap may have 64 MiB, and 8 MiB of these are taken");
    assert_int_equal(poolHeapGrow(fixture->heap, SIZE_MAX, fixture->stream[0]),
                     poolErrorMemoryAllocation);
    assert_int_equal(statistics_of(fixture).bytesTaken, 8 * MIB);
    assert_int_equal(poolHeapGrow(fixture->heap, 56 * MIB, fixture->stream[0]), poolSuccess);
}

static void pool_without_memory_changes_nothing(void **state) {
    struct fixture *fixture = *state;
    size_t live = model_live(fixture->model);
    model_limit(fixture->model, live + 5 * MIB);
    assert_int_equal(poolHeapGrow(fixture->heap, 6 * MIB, fixture->stream[0]),
                     poolErrorMemoryAllocation);
    assert_int_equal(model_live(fixture->model), live);
    assert_int_equal(statistics_of(fixture).bytesTaken, 8 * MIB);
    assert_int_equal(poolHeapGrow(fixture->heap, 4 * MIB, fixture->stream[0]), poolSuccess);
}

static void growth_by_nothing_does_nothing(void **state) {
    struct fixture *fixture = *state;
    assert_int_equal(poolHeapGrow(fixture->heap, 0, fixture->stream[0]), poolSuccess);
    assert_int_equal(poolHeapGrowContiguous(fixture->heap, 0, fixture->stream[0]), poolSuccess);
    assert_int_equal(statistics_of(fixture).bytesTaken, 8 * MIB);
}

static void more_chunks_than_a_kernel_is_told_of_are_admitted(void **state) {
    (void)state;
    struct model *model = model_make(400);
    CUstream stream = model_stream(model, 0);
    poolHeap_t heap;
    struct poolHeapStatistics statistics;
    assert_int_equal(poolHeapCreate(&heap, model_pool(model), 500 * MIB), poolSuccess);
    assert_int_equal(poolHeapGrow(heap, 400 * MIB, stream), poolSuccess);
    assert_int_equal(poolHeapGetStatistics(heap, stream, &statistics), poolSuccess);
    assert_int_equal(statistics.slabs * statistics.slabSize, statistics.bytesTaken);
    assert_int_equal(statistics.bytesTaken, (400 + 62) * MIB);
    size_t book = model_live(model) - 462 * MIB;
    assert_int_equal(poolHeapTrimTo(heap, 62 * MIB, &stream, 1), poolSuccess);
    model_await_live(model, 62 * MIB + book);
    assert_int_equal(poolHeapDestroy(heap, NULL, 0), poolSuccess);
    model_end(model);
}

static void free_of_the_host_is_one_of_the_stream(void **state) {
    struct fixture *fixture = *state;
    void *block = allocate(fixture, 1000);
    model_hold(fixture->model, fixture->stream[1]);
    assert_int_equal(poolHeapFree(fixture->heap, block, fixture->stream[1]), poolSuccess);
    assert_int_not_equal(statistics_of(fixture).slabsFree, statistics_of(fixture).slabs);
    model_let_go(fixture->model, fixture->stream[1]);
    assert_int_equal(statistics_of(fixture).slabsFree, statistics_of(fixture).slabs);
    assert_int_equal(poolHeapFree(fixture->heap, NULL, fixture->stream[1]), poolSuccess);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(new_heap_has_an_eighth),
        TEST(smallest_heap_has_one_chunk),
        TEST(growth_is_usable_behind_its_point_of_the_stream),
        TEST(chunks_side_by_side_hold_a_large_block),
        TEST(scattered_chunks_hold_no_large_block),
        TEST(every_byte_of_a_large_block_is_memory_of_the_pool),
        TEST(heap_takes_no_more_than_its_maximum),
        TEST(pool_without_memory_changes_nothing),
        TEST(growth_by_nothing_does_nothing),
        cmocka_unit_test(more_chunks_than_a_kernel_is_told_of_are_admitted),
        TEST(free_of_the_host_is_one_of_the_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
