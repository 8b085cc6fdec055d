#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fault/host_memory.h"
#include "region/held.h"
#include "unit/fixture/scattered.h"

// Frees behind several streams. The pool and its memory are those of scattered.h.

enum { KINDS = 2 };
static const size_t sizes[KINDS] = {SP_SMALL_MAX, MIB(3)};

static void free_behind(void *pointer, const CUstream *streams, size_t count) {
    assert_int_equal(poolFreeAsyncAfter(pointer, streams, count), poolSuccess);
}

static void refuse_free(void *pointer, const CUstream *streams, size_t count, const char *words) {
    uint64_t used = fixture_used(pool);
    assert_int_equal(poolFreeAsyncAfter(pointer, streams, count), poolErrorInvalidValue);
    assert_non_null(strstr(poolGetLastErrorDetail(), words));
    assert_int_equal(fixture_used(pool), used);
    fixture_check(pool);
}

// Work that is done behind that of fewer hours: a wait for those doesn't end it.
static void work_for(CUstream stream, uint64_t hours) {
    const simcudaWork work = {"hours", hours * 3600 * 1000000000, NULL, 0};
    assert_int_equal(simcudaEnqueue(stream, &work), CUDA_SUCCESS);
}

// Whether the stream's next allocation is this memory; it goes back there at once.
static bool gets(CUstream stream, const void *pointer, size_t size) {
    void *next = NULL;
    poolError_t error = poolMallocAsyncWithFlags(&next, size, pool, stream,
                                                 poolMallocNoGrowth | poolMallocNoInsertedWaits);
    if (error == poolSuccess)
        fixture_free(next, stream);
    return error == poolSuccess && next == pointer;
}

// A block beside which the pool has no memory of its size, unless it grows.
static void *only_block(size_t size) {
    void *pointer = fixture_malloc(pool, size, a), *rest = NULL;
    while (poolMallocAsyncWithFlags(&rest, size, pool, a, poolMallocNoGrowth) == poolSuccess)
        ;
    return pointer;
}

static void nobody_gets_it_before_all_the_streams_have_come_so_far(void **state) {
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        CUstream c = simulated_stream(), both[] = {a, b};
        void *pointer = only_block(sizes[i]);
        work_for(b, 1);
        work_for(a, 2);
        free_behind(pointer, both, 2);
        fixture_check(pool);
        assert_false(gets(a, pointer, sizes[i]));
        assert_false(gets(b, pointer, sizes[i]));
        assert_false(gets(c, pointer, sizes[i]));
        fixture_synchronize(b);
        assert_false(gets(c, pointer, sizes[i]));
        assert_true(gets(a, pointer, sizes[i])); // its own point is left
        fixture_synchronize(a);
    }
}

// The slab's own stream is not among them, or is the second of them.
static void small_memory_waits_for_streams_that_have_no_slab_of_it(void **state) {
    (void)state;
    CUstream c = simulated_stream(), lists[2][2] = {{b, c}, {c, a}};
    for (int i = 0; i < 2; i++) {
        void *pointer = only_block(SP_SMALL_MAX);
        work_for(lists[i][0], 1);
        work_for(lists[i][1], 2);
        free_behind(pointer, lists[i], 2);
        fixture_check(pool);
        assert_false(gets(a, pointer, SP_SMALL_MAX));
        fixture_synchronize(lists[i][0]);
        assert_true(gets(a, pointer, SP_SMALL_MAX) == (lists[i][1] == a));
        fixture_synchronize(lists[i][1]);
        assert_true(gets(a, pointer, SP_SMALL_MAX));
    }
}

// What the slab's own stream did comes along when all of it goes to others.
static void a_slab_that_is_given_back_has_all_the_points(void **state) {
    (void)state;
    CUstream both[] = {b, a};
    for (int i = 0; i < 2; i++) {
        void *pointer = fixture_malloc(pool, 100, a);
        work_for(both[i], 1);
        free_behind(pointer, both, 2);
        fixture_synchronize(both[1 - i]); // the other one's work is pending
        collect();
        uint64_t reserved = fixture_reserved(pool);
        fixture_trim(pool, 0);
        assert_int_equal(fixture_reserved(pool), reserved);
        fixture_synchronize(both[i]);
        fixture_trim(pool, 0);
        assert_int_equal(fixture_reserved(pool), 0);
    }
}

static void a_stream_that_is_named_twice_counts_once(void **state) {
    (void)state;
    const CUstream lists[][3] = {
        {a, a, a}, {NULL, CU_STREAM_LEGACY, NULL}, {CU_STREAM_PER_THREAD, CU_STREAM_PER_THREAD}};
    for (int i = 0; i < 3; i++) {
        void *pointer = fixture_malloc(pool, MIB(3), lists[i][0]);
        simulated_work(lists[i][0]);
        free_behind(pointer, lists[i], i == 2 ? 2 : 3);
        assert_ptr_equal(fixture_malloc(pool, MIB(3), lists[i][0]), pointer);
        fixture_synchronize(lists[i][0]);
    }
}

static void stream_0_of_the_variant_is_the_threads_own(void **state) {
    (void)state;
    const CUstream streams[] = {NULL, a, CU_STREAM_PER_THREAD};
    void *pointer = fixture_malloc(pool, MIB(3), a);
    simulated_work(CU_STREAM_PER_THREAD);
    assert_int_equal(poolFreeAsyncAfter_ptsz(pointer, streams, 3), poolSuccess);
    assert_false(gets(a, pointer, MIB(3)));
    assert_null(sp_lane_find(fixture_inside(pool), fixture_stream(CU_STREAM_LEGACY)->slot));
    fixture_synchronize(CU_STREAM_PER_THREAD);
    assert_true(gets(a, pointer, MIB(3)));
}

// More than a call has room for on its stack.
static void as_many_streams_as_one_likes_can_be_named(void **state) {
    (void)state;
    enum { STREAMS = 50 };
    for (int i = 0; i < KINDS; i++) {
        CUstream streams[STREAMS];
        void *pointer = only_block(sizes[i]);
        for (int k = 0; k < STREAMS; k++) {
            streams[k] = simulated_stream();
            work_for(streams[k], (uint64_t)k + 1);
        }
        free_behind(pointer, streams, STREAMS);
        for (int k = 0; k < STREAMS; k++) {
            assert_false(gets(a, pointer, sizes[i]));
            fixture_synchronize(streams[k]);
        }
        assert_true(gets(a, pointer, sizes[i]));
    }
}

static void no_stream_is_made_to_wait_and_no_event_is_recorded_below_the_cap(void **state) {
    (void)state;
    CUstream both[] = {a, b};
    void *first = fixture_malloc(pool, MIB(1), a), *second = fixture_malloc(pool, MIB(1), a);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, GIB(1));
    fixture_lane(pool, a);
    free_behind(fixture_malloc(pool, 1, a), both, 2); // which makes the other lane
    uint64_t waits = simcudaCallCount("cuStreamWaitEvent"),
             records = simcudaCallCount("cuEventRecord");
    free_behind(first, both, 2);
    assert_int_equal(simcudaCallCount("cuEventRecord"), records);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    free_behind(second, both, 2);
    assert_int_equal(simcudaCallCount("cuEventRecord"), records + 2);
    assert_int_equal(simcudaCallCount("cuStreamWaitEvent"), waits);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatEventsRecorded), 2);
}

// An event stands behind each point, and a block is not put together from pieces.
static void let_wait(void) {
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    fixture_set_flag(pool, poolMemPoolAttrDefragmentation, poolDefragmentNever);
}

static void the_rule_of_the_dearest_point_is_counted(void **state) {
    (void)state;
    CUstream both[] = {a, b};
    let_wait();
    fill_with(EXTENT);
    work_for(a, 1);
    free_behind(blocks[0], both, 2);
    fixture_set(pool, poolMemPoolStatReuseSameStream, 0);
    assert_ptr_equal(fixture_malloc(pool, EXTENT, b), blocks[0]); // behind a wait for a
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseMadeOrdered), 1);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatWaitsInserted), 1);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseSameStream), 0);
    work_for(a, 5);
    free_behind(blocks[0], both, 2);
    fixture_synchronize(b);
    assert_ptr_equal(fixture_malloc(pool, EXTENT, a), blocks[0]); // its own point is left
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseSameStream), 1);
}

static void memory_with_an_event_behind_each_point_is_filed_so(void **state) {
    (void)state;
    CUstream both[] = {a, b};
    const struct sp_region *large = &fixture_inside(pool)->regions[SP_REGION_LARGE];
    void *first = fixture_malloc(pool, MIB(3), a), *second = fixture_malloc(pool, MIB(3), a);
    simulated_work(a);
    simulated_work(b);
    free_behind(first, both, 2);
    assert_int_equal(large->unfenced.bytes, MIB(3));
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    free_behind(second, both, 2);
    assert_int_equal(large->waiting.bytes, MIB(3));
}

static void a_deterministic_pool_goes_by_synchronises_alone(void **state) {
    (void)state;
    CUstream both[] = {a, b};
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    void *pointer = fixture_malloc(pool, MIB(3), a);
    simulated_work(b);
    free_behind(pointer, both, 2);
    simulated_finish(b);
    assert_int_equal(poolStreamQuery(b), poolSuccess);
    assert_false(gets(a, pointer, MIB(3)));
    fixture_synchronize(b);
    assert_true(gets(a, pointer, MIB(3)));
}

// Lazy lanes record no event at a free, and are asked for one.
static void promises_hold_for_each_of_the_streams(void **state) {
    (void)state;
    CUstream both[] = {a, b};
    fixture_set_flag(pool, poolMemPoolAttrStreamPromises,
                     poolPromiseStreamDestroy | poolPromiseNeverCapture);
    let_wait();
    fixture_free(fixture_malloc(pool, 1, b), b); // makes its lane
    fill_with(EXTENT);
    uint64_t asked = simcudaCallCount("cuStreamIsCapturing");
    simulated_work(a);
    free_behind(blocks[0], both, 2);
    assert_int_equal(simcudaCallCount("cuStreamIsCapturing"), asked);
    assert_ptr_equal(fixture_malloc(pool, EXTENT, b), blocks[0]);
}

static void what_is_no_live_allocation_is_refused(void **state) {
    (void)state;
    CUstream both[] = {a, b};
    CUdeviceptr others = 0;
    int local = 0;
    for (int i = 0; i < KINDS; i++) {
        char *pointer = fixture_malloc(pool, sizes[i], a);
        refuse_free(pointer + 512, both, 2, "lies 512 bytes into a live allocation");
        free_behind(pointer, both, 2);
        refuse_free(pointer, both, 2, "was freed already");
        collect();
        refuse_free(pointer, both, 2, "was freed already");
    }
    assert_int_equal(sp_driver->cuMemAlloc(&others, MIB(2)), CUDA_SUCCESS);
    refuse_free((void *)(uintptr_t)others, both, 2, "is no memory of any pool");
    assert_int_equal(sp_driver->cuMemFree(others), CUDA_SUCCESS);
    refuse_free(&local, both, 2, "is no memory of any pool");
}

static void a_bad_list_is_refused_and_null_is_freed(void **state) {
    (void)state;
    CUstream list[] = {a, b};
    void *pointer = fixture_malloc(pool, MIB(1), a);
    refuse_free(pointer, list, 0, "count is 0");
    refuse_free(NULL, list, 0, "count is 0");
    refuse_free(pointer, NULL, 2, "streams is null");
    free_behind(NULL, list, 2);
    simcudaFailCall(sp_driver->cuStreamGetId ? "cuStreamGetId" : "cuStreamGetCtx", 2,
                    simcudaFaultOnce, CUDA_ERROR_INVALID_HANDLE);
    poolError_t error = poolFreeAsyncAfter(pointer, list, 2);
    uint64_t failed = simcudaFailCount();
    simcudaFailClear();
    assert_int_equal(error, failed ? poolErrorInvalidResourceHandle : poolSuccess);
    assert_int_equal(fixture_used(pool), failed ? MIB(1) : 0);
    if (failed)
        free_behind(pointer, list, 2);
}

static void begin_capture(CUstream stream) {
    assert_int_equal(sp_driver->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
                     CUDA_SUCCESS);
}

static void end_capture(CUstream stream) {
    CUgraph graph = NULL;
    assert_int_equal(sp_driver->cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuGraphDestroy(graph), CUDA_SUCCESS);
}

static void a_capturing_stream_in_the_list_refuses_all(void **state) {
    (void)state;
    CUstream both[] = {a, b};
    for (int i = 0; i < KINDS; i++) {
        void *pointer = fixture_malloc(pool, sizes[i], a);
        begin_capture(b);
        refuse_free(pointer, both, 2, "the stream is capturing");
        end_capture(b);
        free_behind(pointer, both, 2);
    }
}

// For every nth allocation of host memory: freed or still live, and never half. No part of the
// block, which is all that is free, goes to anybody too early.
static void free_without_host_memory(void *(*make)(void), size_t size, size_t part) {
    enum { STREAMS = 12 };
    uint64_t failed = 1;
    for (uint64_t nth = 1; failed > 0; nth++) {
        CUstream streams[STREAMS];
        void *pointer = make();
        for (int i = 0; i < STREAMS; i++) {
            streams[i] = simulated_stream();
            work_for(streams[i], (uint64_t)i + 1);
            fixture_stream(streams[i]);
        }
        uint64_t used = fixture_used(pool);
        host_memory_enter(nth, false);
        poolError_t error = poolFreeAsyncAfter(pointer, streams, STREAMS);
        host_memory_leave(&failed);
        assert_true(error == poolSuccess || error == poolErrorMemoryAllocation);
        assert_int_equal(fixture_used(pool), error == poolSuccess ? used - size : used);
        fixture_check(pool);
        if (error != poolSuccess)
            free_behind(pointer, streams, STREAMS);
        collect();
        for (int i = 0; i < STREAMS; i++) {
            refuse(part, a, poolMallocNoGrowth | poolMallocNoInsertedWaits);
            fixture_synchronize(streams[i]);
        }
        fixture_check(pool);
    }
}

static void *make_large(void) {
    return only_block(MIB(1));
}

static void *make_small(void) {
    return only_block(SP_SMALL_MAX);
}

static void *make_joined(void) {
    void *joined = fixture_malloc(pool, 4 * EXTENT, a);
    assert_true(lies_in_a_stitched_view(joined));
    return joined;
}

static void a_free_survives_every_lack_of_host_memory(void **state) {
    (void)state;
    free_without_host_memory(make_small, SP_SMALL_MAX, SP_SMALL_MAX);
    free_without_host_memory(make_large, MIB(1), MIB(1));
}

// A block that was taken behind several streams, whose work is done by now.
static void *make_worn(void) {
    CUstream streams[5];
    for (int i = 0; i < 5; i++) {
        streams[i] = simulated_stream();
        simulated_work(streams[i]);
    }
    void *pointer = only_block(MIB(1)), *again = NULL;
    free_behind(pointer, streams, 5);
    assert_int_equal(poolMallocAsyncWithFlags(&again, MIB(1), pool, a, poolMallocNoGrowth),
                     poolSuccess);
    assert_ptr_equal(again, pointer);
    for (int i = 0; i < 5; i++)
        fixture_synchronize(streams[i]);
    return pointer;
}

static void what_has_completed_costs_a_free_no_room(void **state) {
    (void)state;
    let_wait();
    free_without_host_memory(make_worn, MIB(1), MIB(1));
}

static void a_free_of_joined_memory_survives_it_too(void **state) {
    (void)state;
    fill_with(EXTENT);
    for (size_t i = 0; i < 8; i += 2)
        drop(i, a);
    fixture_synchronize(a);
    free_without_host_memory(make_joined, 4 * EXTENT, EXTENT);
}

static void joined_memory_goes_home_with_all_the_points(void **state) {
    (void)state;
    CUstream c = simulated_stream(), d = simulated_stream(), all[] = {a, b, c};
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_synchronize(a);
    void *joined = make_joined();
    for (int i = 0; i < 3; i++)
        work_for(all[i], (uint64_t)i + 1);
    free_behind(joined, all, 3);
    fixture_check(pool);
    uint64_t ready = EXTENTS / 2 - 4; // of the extents that nobody has used since
    for (uint64_t i = 0; i < ready; i++)
        fixture_malloc(pool, EXTENT, d);
    for (int i = 0; i < 3; i++) {
        refuse(EXTENT, d, poolMallocNoInsertedWaits);
        fixture_synchronize(all[i]);
    }
    fixture_malloc(pool, EXTENT, d);
}

static void a_given_up_pool_goes_when_all_the_streams_are_through(void **state) {
    (void)state;
    CUstream both[] = {a, b};
    for (int i = 0; i < KINDS; i++) {
        poolMemPool_t other = fixture_pool();
        void *pointer = fixture_malloc(other, sizes[i], a);
        work_for(a, 1);
        work_for(b, 2);
        uint64_t before = simcudaCallCount("cuMemRelease");
        assert_int_equal(poolMemPoolDestroy(other), poolSuccess);
        free_behind(pointer, both, 2);
        fixture_synchronize(a);
        assert_int_equal(simcudaCallCount("cuMemRelease"), before);
        fixture_synchronize(b);
        assert_true(simcudaCallCount("cuMemRelease") > before);
    }
}

// A part of it that others could have would wait for all of it.
static void what_has_no_event_behind_it_is_not_joined(void **state) {
    (void)state;
    CUstream both[] = {a, b};
    struct sp_tier *unfenced = &fixture_inside(pool)->regions[SP_REGION_LARGE].unfenced;
    fill_with(EXTENT);
    simulated_work(a);
    simulated_work(b);
    free_behind(blocks[0], both, 2);
    free_behind(blocks[1], both, 2);
    collect();
    assert_int_equal(unfenced->bytes, 2 * EXTENT);
    assert_int_equal(sp_tier_last(unfenced)->size, EXTENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(nobody_gets_it_before_all_the_streams_have_come_so_far),
        TEST(small_memory_waits_for_streams_that_have_no_slab_of_it),
        TEST(a_slab_that_is_given_back_has_all_the_points),
        TEST(a_stream_that_is_named_twice_counts_once),
        TEST(stream_0_of_the_variant_is_the_threads_own),
        TEST(as_many_streams_as_one_likes_can_be_named),
        TEST(no_stream_is_made_to_wait_and_no_event_is_recorded_below_the_cap),
        TEST(the_rule_of_the_dearest_point_is_counted),
        TEST(memory_with_an_event_behind_each_point_is_filed_so),
        TEST(a_deterministic_pool_goes_by_synchronises_alone),
        TEST(promises_hold_for_each_of_the_streams),
        TEST(what_is_no_live_allocation_is_refused),
        TEST(a_bad_list_is_refused_and_null_is_freed),
        TEST(a_capturing_stream_in_the_list_refuses_all),
        TEST(a_free_survives_every_lack_of_host_memory),
        TEST(what_has_completed_costs_a_free_no_room),
        TEST(a_free_of_joined_memory_survives_it_too),
        TEST(joined_memory_goes_home_with_all_the_points),
        TEST(what_has_no_event_behind_it_is_not_joined),
        TEST(a_given_up_pool_goes_when_all_the_streams_are_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
