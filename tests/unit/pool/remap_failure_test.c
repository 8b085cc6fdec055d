#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/host_memory.h"
#include "unit/outcomes.h"
#include "unit/pool/scattered.h"

// Remaps in which something fails, frees of what they have made, and its end.

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
    return cmocka_run_group_tests_name("pool/remap_failure", tests, NULL, NULL);
}
