#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "region/lane.h"
#include "unit/outcomes.h"
#include "unit/pool/scattered.h"

// What of the free memory in pieces is joined, and for whom.

static void whole_extents_in_pieces_serve_a_larger_request(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    uint64_t created = simcudaCallCount("cuMemCreate");
    void *joined = fixture_malloc(pool, 8 * EXTENT, a);
    assert_true(lies_in_a_stitched_view(joined));
    assert_int_equal(remaps(), 1);
    assert_int_equal(fixture_reserved(pool), POOL);
    assert_int_equal(fixture_used(pool), POOL);
    assert_int_equal(simcudaCallCount("cuMemCreate"), created);
    refuse(MIB(1), a, poolMallocDefault); // nothing is left
    fixture_free(joined, a);
    fixture_check(pool);
    assert_int_equal(fixture_used(pool), POOL / 2);
}

// All of it waits for the last of these frees, and so would extents that weren't counted for that.
// Where it's the turn of others, nobody has recorded before.
static void what_is_joined_of_memory_without_an_event_gets_one(void **state) {
    (void)state;
    fill_with(HALF);
    fixture_lane(pool, b);
    simulated_work(a);
    drop(1, a);
    drop(4, a);
    uint64_t before = simcudaCallCount("cuEventRecord");
    atomic_store(&fixture_lane(pool, a)->misses, 0);
    assert_true(lies_in_a_stitched_view(fixture_malloc(pool, EXTENT, a)));
    assert_int_equal(simcudaCallCount("cuEventRecord"), before + 1);
}

static void the_tail_of_one_extent_and_the_front_of_another_serve_a_request(void **state) {
    (void)state;
    unsigned char byte = 7;
    fill_with(HALF);
    drop(3, a);  // the tail of extent 1
    drop(8, a);  // the front of extent 4
    drop(12, a); // and of extent 6
    void *joined = fixture_malloc(pool, 2 * HALF, a);
    assert_true(lies_in_a_stitched_view(joined));
    fixture_check(pool);
    // The bytes are those of the extents, and not those of the neighbours.
    assert_int_equal(simcudaPoke((uintptr_t)joined + 2 * HALF - 1, &byte, 1), CUDA_SUCCESS);
    assert_int_equal(simcudaPoke((uintptr_t)joined, &byte, 1), CUDA_SUCCESS);
    assert_int_equal(simcudaPeek(&byte, (uintptr_t)blocks[2] + HALF - 1, 1), CUDA_SUCCESS);
    assert_int_equal(byte, 0);
    assert_int_equal(simcudaPeek(&byte, (uintptr_t)blocks[9], 1), CUDA_SUCCESS);
    assert_int_equal(byte, 0);
    fixture_free(joined, a);
}

static void what_is_left_over_of_the_last_extent_stays_free_and_is_used(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    void *joined = fixture_malloc(pool, EXTENT + HALF, a);
    assert_true(lies_in_a_stitched_view(joined));
    fixture_check(pool);
    uint64_t calls = mapping_calls();
    void *rest = fixture_malloc(pool, HALF, a);
    assert_false(lies_in_a_stitched_view(rest));
    assert_int_equal(mapping_calls(), calls);
    void *more = fixture_malloc(pool, 6 * EXTENT, a); // all that there still is
    refuse(MIB(1), a, poolMallocDefault);
    fixture_free(more, a);
    fixture_free(joined, a);
    fixture_free(rest, a);
}

static void free_memory_is_put_together_with_new_memory(void **state) {
    (void)state;
    pool = fixture_pool();
    fill_with(EXTENT);
    drop_every_other(a);
    void *joined = fixture_malloc(pool, 10 * EXTENT - HALF, a);
    assert_true(lies_in_a_stitched_view(joined));
    assert_int_equal(fixture_reserved(pool), POOL + 2 * EXTENT - HALF);
    fixture_check(pool);
    fixture_free(joined, a);
    collect();
    assert_ptr_equal(fixture_malloc(pool, 10 * EXTENT - HALF, a), joined);
}

// Of half of the extents the front is free; the others are gone. Nothing of that may begin a view.
static void fronts_alone_are_no_beginning_of_a_view(void **state) {
    (void)state;
    fill_with(HALF);
    for (size_t i = 0; i < HALVES; i++) {
        if (i % 4 < 2)
            drop(i, a);
    }
    fixture_synchronize(a);
    fixture_trim(pool, 0); // no two extents lie side by side now
    for (size_t i = 2; i < HALVES; i += 4)
        drop(i, a);
    fixture_synchronize(a);
    fixture_set(pool, poolMemPoolAttrUsedMemHigh, 0);
    void *large = fixture_malloc(pool, 3 * EXTENT, a);
    assert_false(lies_in_a_stitched_view(large));
    assert_int_equal(fixture_reserved(pool), POOL / 2 + 3 * EXTENT);
    fixture_free(large, a);
}

static void new_memory_stands_between_whole_extents_and_a_front(void **state) {
    (void)state;
    unsigned char byte = 0;
    pool = fixture_pool();
    leave_tails_wholes_and_a_front();
    void *large = fixture_malloc(pool, 10 * EXTENT, a);
    assert_true(lies_in_a_stitched_view(large));
    assert_int_equal(fixture_reserved(pool), POOL + 5 * EXTENT);
    fixture_check(pool);
    assert_int_equal(simcudaPoke((uintptr_t)large + 10 * EXTENT - 1, "x", 1), CUDA_SUCCESS);
    assert_int_equal(simcudaPeek(&byte, (uintptr_t)blocks[15] - 1, 1), CUDA_SUCCESS);
    assert_int_equal(byte, 'x');
    fixture_free(large, a);
    collect();
    fixture_check(pool);
    assert_ptr_equal(fixture_malloc(pool, 10 * EXTENT, a), large);
}

static void memory_that_another_stream_has_pending_is_not_joined(void **state) {
    (void)state;
    fill_with(EXTENT);
    simulated_work(a);
    drop_every_other(a);
    collect();
    refuse(8 * EXTENT, b, poolMallocNoGrowth | poolMallocNoInsertedWaits);
    assert_int_equal(remaps(), 0);
    assert_true(lies_in_a_stitched_view(fixture_malloc(pool, 8 * EXTENT, a))); // its own is
    assert_int_equal(remaps(), 1);
}

static void memory_that_another_stream_is_ordered_behind_is_joined(void **state) {
    (void)state;
    CUevent event;
    fill_with(EXTENT);
    simulated_work(a);
    drop_every_other(a);
    assert_int_equal(sp_driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    assert_int_equal(poolEventRecord(event, a), poolSuccess);
    assert_int_equal(poolStreamWaitEvent(b, event, 0), poolSuccess);
    refuse(8 * EXTENT, b, poolMallocSameStreamOnly);
    assert_true(lies_in_a_stitched_view(fixture_malloc(pool, 8 * EXTENT, b)));
    assert_int_equal(poolEventDestroy(event), poolSuccess);
}

static void fixed_memory_is_never_joined(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_synchronize(a);
    void *fixed = NULL;
    poolError_t error = poolMallocAsyncWithFlags(&fixed, 8 * EXTENT, pool, a, poolMallocFixed);
    assert_int_equal(remaps(), 0);
    if (error == poolSuccess)
        fixture_free(fixed, a);
}

// ------------------------------------------------------------------------- where growing is no way

// The pool has used as much before, so it would grow for so little; but it can't.
static void a_pool_that_cannot_grow_joins_what_it_has(void **state) {
    (void)state;
    fill_with(HALF);
    drop(3, a);
    drop(8, a);
    void *joined = fixture_malloc(pool, 2 * HALF, a);
    assert_int_equal(fixture_reserved(pool), POOL);
    fixture_free(joined, a);
}

static void a_request_that_may_not_grow_joins_what_there_is(void **state) {
    (void)state;
    void *joined = NULL;
    pool = fixture_pool();
    fill_with(HALF);
    drop(3, a);
    drop(8, a);
    assert_int_equal(poolMallocAsyncWithFlags(&joined, 2 * HALF, pool, a, poolMallocNoGrowth),
                     poolSuccess);
    assert_true(lies_in_a_stitched_view(joined));
    assert_int_equal(fixture_reserved(pool), POOL);
    fixture_free(joined, a);
}

// ------------------------------------------------------------------------------------ behind waits

// Every second block was freed on the one stream while it works, and an event stands behind.
static void leave_pieces_pending(void) {
    fill_with(EXTENT);
    simulated_work(a);
    drop_every_other(a);
    assert_done(sp_mark_record(fixture_stream(a)));
}

static void pending_memory_in_pieces_is_joined_behind_a_wait(void **state) {
    (void)state;
    leave_pieces_pending();
    void *joined = fixture_malloc(pool, 4 * EXTENT, b);
    assert_true(lies_in_a_stitched_view(joined));
    // One event stands behind all.
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatWaitsInserted), 1);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseMadeOrdered), 1);
    assert_int_equal(sp_driver->cuStreamQuery(b), CUDA_ERROR_NOT_READY);
    fixture_free(joined, b);
    fixture_check(pool);
}

static void pending_pieces_of_two_streams_are_joined_behind_two_waits(void **state) {
    (void)state;
    CUstream c = simulated_stream();
    fill_with(EXTENT);
    simulated_work(a);
    drop(1, a);
    simulated_work(c);
    drop(4, c);
    assert_done(sp_mark_record(fixture_stream(a)));
    assert_done(sp_mark_record(fixture_stream(c)));
    void *joined = fixture_malloc(pool, 2 * EXTENT, b);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatWaitsInserted), 2);
    fixture_free(joined, b);
    fixture_check(pool);
}

static void pending_pieces_are_joined_only_where_the_policies_allow_it(void **state) {
    (void)state;
    static const int never = poolDefragmentNever;
    leave_pieces_pending();
    refuse(4 * EXTENT, b, poolMallocNoInsertedWaits);
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    refuse(4 * EXTENT, b, poolMallocDefault);
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 1);
    assert_int_equal(poolMemPoolSetAttribute(pool, poolMemPoolAttrDefragmentation, (void *)&never),
                     poolSuccess);
    refuse(4 * EXTENT, b, poolMallocDefault);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatWaitsInserted), 0);
}

static void pieces_that_no_event_stands_behind_stay_where_they_are(void **state) {
    (void)state;
    fill_with(EXTENT);
    simulated_work(a);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, POOL);
    drop(1, a);
    drop(4, a);
    refuse(2 * EXTENT, b, poolMallocDefault);
}

static void a_wait_or_a_mapping_that_fails_leaves_pending_pieces_free(void **state) {
    (void)state;
    static const char *const calls[] = {"cuStreamWaitEvent", "cuMemMap", "cuMemSetAccess"};
    leave_pieces_pending();
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        void *pointer = NULL;
        simcudaFailCall(calls[i], 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
        assert_int_not_equal(poolMallocFromPoolAsync(&pointer, 4 * EXTENT, pool, b), poolSuccess);
        assert_int_equal(simcudaFailCount(), 1);
        simcudaFailClear();
        fixture_check(pool);
    }
    fixture_free(fixture_malloc(pool, 4 * EXTENT, b), b);
    fixture_check(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(whole_extents_in_pieces_serve_a_larger_request),
        TEST(what_is_joined_of_memory_without_an_event_gets_one),
        TEST(the_tail_of_one_extent_and_the_front_of_another_serve_a_request),
        TEST(what_is_left_over_of_the_last_extent_stays_free_and_is_used),
        TEST(free_memory_is_put_together_with_new_memory),
        TEST(fronts_alone_are_no_beginning_of_a_view),
        TEST(new_memory_stands_between_whole_extents_and_a_front),
        TEST(memory_that_another_stream_has_pending_is_not_joined),
        TEST(memory_that_another_stream_is_ordered_behind_is_joined),
        TEST(fixed_memory_is_never_joined),
        TEST(a_pool_that_cannot_grow_joins_what_it_has),
        TEST(a_request_that_may_not_grow_joins_what_there_is),
        TEST(pending_memory_in_pieces_is_joined_behind_a_wait),
        TEST(pending_pieces_of_two_streams_are_joined_behind_two_waits),
        TEST(pending_pieces_are_joined_only_where_the_policies_allow_it),
        TEST(pieces_that_no_event_stands_behind_stay_where_they_are),
        TEST(a_wait_or_a_mapping_that_fails_leaves_pending_pieces_free),
    };
    return cmocka_run_group_tests_name("pool/remap", tests, NULL, NULL);
}
