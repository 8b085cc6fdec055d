// What the tests of a device heap's host part begin with: a model machine, and a heap on it.
#ifndef STREAMPOOL_TESTS_HEAP_HOST_FIXTURE_H
#define STREAMPOOL_TESTS_HEAP_HOST_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "heap_host/model.h"

#include <streampool/heap.cuh>
#include <streampool/heap.h>

#define MIB  ((size_t)1 << 20)
#define UNIT (2 * MIB)

// A heap of at most 64 MiB in an arena of 128: 8 MiB are taken at first. Slabs have 64 KiB.
struct fixture {
    struct model *model;
    poolHeap_t heap;
    CUstream stream[MODEL_STREAMS];
};

static inline int set_up(void **state) {
    static struct fixture fixture;
    fixture.model = model_make(64);
    for (unsigned i = 0; i < MODEL_STREAMS; i++)
        fixture.stream[i] = model_stream(fixture.model, i);
    *state = &fixture;
    return (int)poolHeapCreate(&fixture.heap, model_pool(fixture.model), 64 * MIB);
}

// A test that has destroyed the heap sets it to null.
static inline int tear_down(void **state) {
    struct fixture *fixture = *state;
    if (fixture->heap != NULL)
        assert_int_equal(poolHeapDestroy(fixture->heap, NULL, 0), poolSuccess);
    model_end(fixture->model);
    return 0;
}

static inline struct poolHeapStatistics statistics_of(const struct fixture *fixture) {
    struct poolHeapStatistics statistics;
    assert_int_equal(poolHeapGetStatistics(fixture->heap, fixture->stream[5], &statistics),
                     poolSuccess);
    return statistics;
}

// What a kernel would do, at this moment.
static inline void *allocate(const struct fixture *fixture, size_t bytes) {
    return pool_heap_malloc(poolHeapDevice(fixture->heap), bytes);
}

static inline void release(const struct fixture *fixture, void *block) {
    pool_heap_free(poolHeapDevice(fixture->heap), block);
}

#endif
