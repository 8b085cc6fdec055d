// What of the free memory in pieces is joined, and for whom; remaps in which something fails, frees
// of what they have made, and its end.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/host_memory.h"
#include "region/lane.h"
#include "unit/fixture/scattered.h"
#include "unit/outcomes.h"

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

// ------------------------------------------------------------------------------------ what fails

// What a remap needs of the driver, and of the host, in order.
static const char *const entries[] = {"cuMemMap", "cuMemSetAccess", "cuMemCreate"};

static void require_as_before(uint64_t reserved) {
    fixture_check(pool);
    assert_int_equal(fixture_used(pool), POOL / 2);
    assert_true(fixture_reserved(pool) <= reserved);
    assert_done(bury());
    fixture_check(pool);
}

static void a_remap_in_which_a_driver_call_fails_changes_nothing(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    for (size_t entry = 0; entry < sizeof entries / sizeof entries[0]; entry++) {
        for (uint64_t nth = 1; nth <= 9; nth++) {
            void *pointer = NULL;
            assert_int_equal(
                simcudaFailCall(entries[entry], nth, simcudaFaultOnwards, CUDA_ERROR_UNKNOWN), 0);
            if (poolMallocFromPoolAsync(&pointer, 8 * EXTENT, pool, a) == poolSuccess)
                fixture_free(pointer, a);
            simcudaFailClear();
            collect();
            limit_kept(0, 0);
            fixture_synchronize(a);
            require_as_before(POOL);
        }
    }
    fixture_free(fixture_malloc(pool, 8 * EXTENT, a), a);
}

// The undoing fails, too: what is left mapped is unmapped later, by whoever comes to it first.
static void a_remap_that_cannot_be_undone_is_undone_later(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_synchronize(a);
    for (int trimmed = 0; trimmed < 2; trimmed++) {
        void *pointer = NULL;
        assert_int_equal(
            simcudaFailCall("cuMemSetAccess", 1, simcudaFaultOnwards, CUDA_ERROR_UNKNOWN), 0);
        assert_int_equal(simcudaFailCall("cuMemUnmap", 1, simcudaFaultOnwards, CUDA_ERROR_UNKNOWN),
                         0);
        assert_int_not_equal(poolMallocFromPoolAsync(&pointer, 8 * EXTENT, pool, a), poolSuccess);
        simcudaFailClear();
        fixture_check(pool);
        if (trimmed)
            fixture_trim(pool, 0);
        assert_done(bury());
        assert_true(sp_list_empty(&fixture_inside(pool)->kept.zombies));
    }
    assert_int_equal(fixture_reserved(pool), POOL / 2);
}

// The same with new memory in it, which stays in the pool then.
static void new_memory_that_cannot_be_given_back_is_free_memory(void **state) {
    (void)state;
    pool = fixture_pool();
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_synchronize(a);
    uint64_t mapped = simcudaCallCount("cuMemMap");
    void *pointer = NULL;
    assert_int_equal(simcudaFailCall("cuMemMap", 6, simcudaFaultOnwards, CUDA_ERROR_UNKNOWN), 0);
    assert_int_equal(simcudaFailCall("cuMemUnmap", 1, simcudaFaultOnwards, CUDA_ERROR_UNKNOWN), 0);
    assert_int_not_equal(poolMallocFromPoolAsync(&pointer, 10 * EXTENT, pool, a), poolSuccess);
    assert_true(simcudaCallCount("cuMemMap") > mapped + 5);
    simcudaFailClear();
    fixture_check(pool);
    fixture_trim(pool, 0);
    fixture_check(pool);
    assert_int_equal(fixture_reserved(pool), POOL / 2);
    assert_done(bury());
}

// The old memory in front of it and behind it is free again.
static void new_memory_before_a_front_is_given_back_when_a_driver_call_fails(void **state) {
    (void)state;
    pool = fixture_pool();
    leave_tails_wholes_and_a_front();
    fixture_synchronize(a);
    fixture_trim(pool, POOL);
    uint64_t used = fixture_used(pool);
    unsigned failures = 0;
    for (size_t entry = 0; entry < sizeof entries / sizeof entries[0]; entry++) {
        for (uint64_t nth = 1; nth <= 16; nth++) {
            void *pointer = NULL;
            uint64_t reserved = fixture_reserved(pool);
            assert_int_equal(
                simcudaFailCall(entries[entry], nth, simcudaFaultOnce, CUDA_ERROR_UNKNOWN), 0);
            if (poolMallocFromPoolAsync(&pointer, 10 * EXTENT, pool, a) == poolSuccess) {
                fixture_free(pointer, a);
            } else {
                assert_int_equal(fixture_reserved(pool), reserved);
                failures++;
            }
            simcudaFailClear();
            collect();
            limit_kept(0, 0);
            fixture_synchronize(a);
            assert_done(bury());
            fixture_trim(pool, POOL);
            fixture_check(pool);
            assert_int_equal(fixture_used(pool), used);
        }
    }
    assert_true(failures > 10);
}

// One free extent, behind another one, has lost its handle in a trim that the driver broke off.
static void memory_whose_handle_is_released_is_no_piece(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop(0, a);
    drop(1, a);
    fixture_synchronize(a);
    assert_int_equal(simcudaFailCall("cuMemUnmap", 1, simcudaFaultOnwards, CUDA_ERROR_UNKNOWN), 0);
    assert_int_equal(poolMemPoolTrimTo(pool, POOL - EXTENT), poolErrorUnknown);
    simcudaFailClear();
    assert_int_equal(fixture_reserved(pool), POOL);
    for (size_t i = 3; i <= 7; i += 2)
        drop(i, a);
    fixture_synchronize(a);
    uint64_t before = remaps();
    void *joined = fixture_malloc(pool, 3 * EXTENT, a);
    assert_true(lies_in_a_stitched_view(joined));
    assert_int_equal(remaps(), before + 1);
    fixture_free(joined, a);
    fixture_synchronize(a);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), POOL - 5 * EXTENT);
}

static void a_remap_in_which_host_memory_runs_out_changes_nothing(void **state) {
    (void)state;
    for (int onwards = 0; onwards < 2; onwards++) {
        for (int fresh = 0; fresh < 2; fresh++) {
            uint64_t failed = 1;
            pool = fresh ? fixture_pool() : fixture_pool_of_at_most(POOL);
            fill_with(EXTENT);
            drop_every_other(a);
            fixture_synchronize(a);
            settle();
            for (uint64_t nth = 1; failed > 0; nth++) {
                void *pointer = NULL;
                size_t size = (fresh ? 12 : 8) * EXTENT;
                uint64_t reserved = fixture_reserved(pool);
                host_memory_enter(nth, onwards);
                poolError_t error = poolMallocFromPoolAsync(&pointer, size, pool, a);
                host_memory_leave(&failed);
                fixture_check(pool);
                if (error != poolSuccess)
                    assert_int_equal(fixture_reserved(pool), reserved);
                else
                    fixture_free(pointer, a);
                fixture_synchronize(a);
                collect();
                limit_kept(0, 0);
                assert_done(bury());
                fixture_trim(pool, POOL);
                fixture_check(pool);
            }
            for (size_t i = 1; i < EXTENTS; i += 2)
                drop(i, a);
        }
    }
}

// --------------------------------------------------------------------------------- wrong addresses

static void only_a_live_stitched_block_can_be_freed(void **state) {
    (void)state;
    fill_with(EXTENT);
    void *home = blocks[0];
    drop_every_other(a);
    void *joined = fixture_malloc(pool, 8 * EXTENT, a);
    assert_int_equal(poolFreeAsync(home, a), poolErrorInvalidValue);
    assert_int_equal(poolFreeAsync((char *)joined + EXTENT, a), poolErrorInvalidValue);
    assert_int_equal(poolFreeAsync((char *)joined + 512, a), poolErrorInvalidValue);
    fixture_free(joined, a);
    assert_int_equal(poolFreeAsync(joined, a), poolErrorInvalidValue);
    collect();
    assert_int_equal(poolFreeAsync(joined, a), poolErrorInvalidValue);
    assert_int_equal(poolFree(joined), poolErrorInvalidValue);
    fixture_synchronize(a);
    limit_kept(0, 0);
    assert_done(bury());
    assert_int_equal(poolFreeAsync(joined, a), poolErrorInvalidValue);
    fixture_check(pool);
}

// ------------------------------------------------------------------------------------------- pools

static void a_pool_that_is_given_up_goes_with_its_last_stitched_block(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    void *joined = fixture_malloc(pool, 8 * EXTENT, a);
    for (size_t i = 1; i < EXTENTS; i += 2)
        drop(i, a);
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    assert_true(simcudaMemoryInUse(0) >= 8 * EXTENT);
    simulated_work(a);
    fixture_free(joined, a);
    assert_true(simcudaMemoryInUse(0) >= 8 * EXTENT);
    fixture_synchronize(a);
    assert_int_equal(simcudaMemoryInUse(0), 0);
}

static void a_free_without_a_stream_gives_the_pieces_back_at_once(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_synchronize(a);
    void *joined = fixture_malloc(pool, 8 * EXTENT, a);
    assert_int_equal(poolFree(joined), poolSuccess);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), POOL / 2);
}

static void stitched_memory_outlives_the_context_that_used_it(void **state) {
    (void)state;
    CUcontext second;
    CUstream c;
    assert_int_equal(sp_driver->cuCtxCreate(&second, 0, 0), CUDA_SUCCESS);
    c = simulated_stream();
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_synchronize(a);
    void *joined = fixture_malloc(pool, 8 * EXTENT, c);
    simulated_work(c);
    fixture_free(joined, c);
    assert_int_equal(sp_driver->cuCtxDestroy(second), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    assert_ptr_equal(fixture_malloc(pool, 8 * EXTENT, a), joined);
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
        TEST(a_remap_in_which_a_driver_call_fails_changes_nothing),
        TEST(a_remap_that_cannot_be_undone_is_undone_later),
        TEST(new_memory_that_cannot_be_given_back_is_free_memory),
        TEST(new_memory_before_a_front_is_given_back_when_a_driver_call_fails),
        TEST(memory_whose_handle_is_released_is_no_piece),
        TEST(a_remap_in_which_host_memory_runs_out_changes_nothing),
        TEST(only_a_live_stitched_block_can_be_freed),
        TEST(a_pool_that_is_given_up_goes_with_its_last_stitched_block),
        TEST(a_free_without_a_stream_gives_the_pieces_back_at_once),
        TEST(stitched_memory_outlives_the_context_that_used_it),
    };
    return cmocka_run_group_tests_name("supply_remap", tests, NULL, NULL);
}
