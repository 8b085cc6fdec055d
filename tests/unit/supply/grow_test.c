#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "fault/host_memory.h"
#include "supply/growth.h"
#include "unit/fixture/pool.h"

static int setup_small_device(void **state) {
    (void)state;
    return fixture_begin("memory=256M");
}

static void small_requests_take_a_granule_and_large_ones_an_extent(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    fixture_malloc(pool, 1, a);
    assert_int_equal(fixture_reserved(pool), MIB(2));
    fixture_malloc(pool, SP_SMALL_MAX + 1, a);
    assert_int_equal(fixture_reserved(pool), MIB(2) + SP_EXTENT_MIN);
    fixture_malloc(pool, MIB(33), a);
    assert_int_equal(fixture_used(pool), 1 + SP_SMALL_MAX + 1 + MIB(33));
}

static void growth_joins_free_memory_at_the_tail_and_maps_only_what_is_missing(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    void *first = fixture_malloc(pool, MIB(32), a);
    fixture_free(first, a);
    assert_ptr_equal(fixture_malloc(pool, MIB(100), a), first);
    assert_int_equal(fixture_reserved(pool), MIB(100));
}

static void another_streams_pending_memory_is_not_joined(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    simulated_work(a);
    char *first = fixture_malloc(pool, MIB(32), a);
    fixture_free(first, a);
    assert_ptr_equal(fixture_malloc(pool, MIB(100), b), first + MIB(32));
}

static void
a_limit_that_leaves_less_than_the_growth_unit_is_used_up_and_not_exceeded(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool_of_at_most(MIB(64));
    CUstream a = simulated_stream();
    void *pointer = NULL;
    fixture_malloc(pool, 1, a); // 2 MiB
    fixture_malloc(pool, MIB(34), a);
    fixture_malloc(pool, MIB(28), a);
    assert_int_equal(fixture_reserved(pool), MIB(64));
    assert_int_equal(poolMallocFromPoolAsync(&pointer, MIB(3), pool, a), poolErrorMemoryAllocation);
    assert_null(pointer);
    assert_int_equal(fixture_reserved(pool), MIB(64));
}

static void a_request_beyond_the_limit_is_not_called_a_lack_of_host_memory(void **state) {
    (void)state;
    int native = 7;
    const char *entry_point = "?";
    void *pointer = NULL;
    poolMemPool_t pool = fixture_pool_of_at_most(MIB(64));
    CUstream a = simulated_stream();
    fixture_malloc(pool, MIB(40), a);
    assert_int_equal(poolMallocFromPoolAsync(&pointer, MIB(40), pool, a),
                     poolErrorMemoryAllocation);
    assert_null(strstr(poolGetLastErrorDetail(), "host memory"));
    poolGetLastNativeError(&native, &entry_point);
    assert_int_equal(native, CUDA_SUCCESS);
    assert_string_equal(entry_point, "");
}

static void a_driver_error_that_was_got_over_is_not_told_of_a_later_failure(void **state) {
    (void)state;
    int native = 7;
    const char *entry_point = "?";
    void *pointer = NULL;
    poolMemPool_t pool = fixture_pool_of_at_most(MIB(64));
    CUstream a = simulated_stream();
    simcudaFailCall("cuMemCreate", 1, simcudaFaultOnce, CUDA_ERROR_OUT_OF_MEMORY);
    fixture_malloc(pool, MIB(1), a); // a whole extent is refused, what is needed is not
    assert_int_equal(simcudaFailCount(), 1);
    assert_int_equal(poolMallocFromPoolAsync(&pointer, MIB(64), pool, a),
                     poolErrorMemoryAllocation);
    poolGetLastNativeError(&native, &entry_point);
    assert_int_equal(native, CUDA_SUCCESS);
    assert_string_equal(entry_point, "");
}

// What may be reserved is what is reserved less what can be released, plus what is needed: not the
// need alone.
static void free_extents_give_way_where_the_limit_has_room_for_the_rest(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool_of_at_most(MIB(128));
    CUstream a = simulated_stream();
    void *first = fixture_malloc(pool, MIB(32), a);
    fixture_malloc(pool, MIB(32), a);
    fixture_free(first, a);
    fixture_synchronize(a);
    fixture_malloc(pool, MIB(80), a); // 32 + 80 of 128, when some of the first 32 have gone
    assert_true(fixture_reserved(pool) <= MIB(128));
}

static void a_device_that_has_less_than_the_growth_unit_gives_what_is_needed(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    fixture_malloc(fixture_pool(), MIB(240), a);
    fixture_malloc(pool, MIB(5), a);
    assert_int_equal(fixture_reserved(pool), MIB(6));
    fixture_check(pool);
}

static void caches_of_other_pools_give_way_when_the_device_is_full(void **state) {
    (void)state;
    poolMemPool_t one = fixture_pool();
    poolMemPool_t two = fixture_pool();
    CUstream a = simulated_stream();
    fixture_free(fixture_malloc(one, MIB(200), a), a);
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(one), MIB(200));
    fixture_malloc(two, MIB(100), a);
    assert_true(fixture_reserved(one) <= MIB(156));
    assert_int_equal(fixture_reserved(two), MIB(100));
}

static void a_request_that_no_cache_can_serve_takes_none(void **state) {
    (void)state;
    void *pointer = NULL;
    poolMemPool_t one = fixture_pool();
    poolMemPool_t two = fixture_pool();
    CUstream a = simulated_stream();
    fixture_malloc(two, MIB(150), a);
    fixture_free(fixture_malloc(one, MIB(64), a), a);
    fixture_synchronize(a);
    assert_int_equal(poolMallocFromPoolAsync(&pointer, MIB(200), two, a),
                     poolErrorMemoryAllocation);
    assert_int_equal(fixture_reserved(one), MIB(64));
    assert_int_equal(fixture_reserved(two), MIB(150));
}

static void a_step_of_growth_that_fails_leaves_the_pool_as_it_was(void **state) {
    (void)state;
    static const char *const calls[] = {"cuMemCreate", "cuMemMap", "cuMemSetAccess"};
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    simulated_work(a);
    void *first = fixture_malloc(pool, MIB(40), a);
    fixture_free(first, a);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        void *pointer = NULL;
        int native = 0;
        const char *entry_point = "";
        simcudaFailCall(calls[i], 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
        assert_int_equal(poolMallocFromPoolAsync(&pointer, MIB(100), pool, a), poolErrorUnknown);
        poolGetLastNativeError(&native, &entry_point);
        assert_int_equal(native, CUDA_ERROR_UNKNOWN);
        assert_string_equal(entry_point, calls[i]);
        assert_null(pointer);
        assert_int_equal(fixture_reserved(pool), MIB(40));
        assert_int_equal(fixture_used(pool), 0);
        fixture_check(pool);
    }
    assert_ptr_equal(fixture_malloc(pool, MIB(40), a), first);
}

static void without_address_space_for_a_segment_growth_fails_and_says_so(void **state) {
    (void)state;
    void *pointer = NULL;
    int native = 0;
    const char *entry_point = "";
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    simcudaFailCall("cuMemAddressReserve", 1, simcudaFaultOnwards, CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(poolMallocFromPoolAsync(&pointer, MIB(1), pool, a), poolErrorMemoryAllocation);
    poolGetLastNativeError(&native, &entry_point);
    assert_string_equal(entry_point, "cuMemAddressReserve");
    assert_int_equal(fixture_reserved(pool), 0);
    simcudaFailClear();
    fixture_malloc(pool, MIB(1), a);
}

// For every nth allocation of host memory: an error or a success, figures that agree, and nothing
// lost.
static void growth_survives_every_lack_of_host_memory(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    fixture_stream(a);
    fixture_stream(b);
    uint64_t failed = 1;
    for (uint64_t nth = 1; failed > 0; nth++) {
        poolMemPool_t pool = fixture_pool();
        void *pointers[3] = {NULL, NULL, NULL};
        poolError_t errors[3];
        host_memory_enter(nth, false);
        errors[0] = poolMallocFromPoolAsync(&pointers[0], MIB(5), pool, a);
        errors[1] = poolMallocFromPoolAsync(&pointers[1], 100, pool, a);
        errors[2] = poolMallocFromPoolAsync(&pointers[2], MIB(50), pool, b);
        host_memory_leave(&failed);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(errors[i] == poolSuccess, pointers[i] != NULL);
            assert_true(errors[i] == poolSuccess || errors[i] == poolErrorMemoryAllocation);
        }
        fixture_check(pool);
        for (int i = 0; i < 3; i++)
            assert_int_equal(poolFreeAsync(pointers[i], a), poolSuccess);
        fixture_synchronize(a);
        fixture_trim(pool, 0);
        assert_int_equal(fixture_reserved(pool), 0);
        assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    }
}

// What several streams freed lies side by side before the new memory, and another one runs after
// them. Their fences need host memory where they come together.
static void so_does_growth_behind_what_several_streams_freed(void **state) {
    (void)state;
    enum { STREAMS = 8 };
    bool served = false;
    for (uint64_t nth = 1; !served; nth++) {
        void *blocks[STREAMS], *all = NULL;
        uint64_t failed = 0;
        CUevent event = NULL;
        CUstream streams[STREAMS], later = simulated_stream();
        poolMemPool_t pool = fixture_pool();
        assert_int_equal(sp_driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
        for (int i = 0; i < STREAMS; i++)
            blocks[i] = fixture_malloc(pool, MIB(16), streams[i] = simulated_stream());
        for (int i = 0; i < STREAMS; i++) {
            simulated_work(streams[i]);
            fixture_free(blocks[i], streams[i]);
            assert_int_equal(poolEventRecord(event, streams[i]), poolSuccess);
            assert_int_equal(poolStreamWaitEvent(later, event, 0), poolSuccess);
        }
        fixture_lane(pool, later);
        host_memory_enter(nth, false);
        poolError_t error = poolMallocFromPoolAsync(&all, MIB(144), pool, later);
        host_memory_leave(&failed);
        served = failed == 0;
        assert_true(error == poolSuccess || error == poolErrorMemoryAllocation);
        fixture_check(pool);
        if (error == poolSuccess)
            fixture_free(all, later);
        else
            fixture_malloc(pool, MIB(144), later);
        assert_true(!served || fixture_reserved(pool) == MIB(144));
        fixture_check(pool);
        assert_int_equal(poolEventDestroy(event), poolSuccess);
    }
}

static void a_malloc_that_fails_for_want_of_host_memory_keeps_no_growth(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    fixture_stream(a);
    uint64_t failed = 1;
    for (uint64_t nth = 1; failed > 0; nth++) {
        poolMemPool_t pool = fixture_pool();
        void *pointer = NULL;
        host_memory_enter(nth, false);
        poolError_t error = poolMallocFromPoolAsync(&pointer, KIB(40), pool, a);
        host_memory_leave(&failed);
        if (error != poolSuccess)
            assert_int_equal(fixture_reserved(pool), 0);
        assert_int_equal(poolFreeAsync(pointer, a), poolSuccess);
        assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
        fixture_synchronize(a);
    }
}

// The driver refuses a step, and then the undoing of those before it. Nobody may have that memory,
// but the next growth gets rid of it.
static void a_growth_that_cannot_be_undone_is_undone_by_the_next_one(void **state) {
    (void)state;
    static const struct {
        const char *step, *undoing;
    } calls[] = {{"cuMemSetAccess", "cuMemUnmap"},
                 {"cuMemSetAccess", "cuMemRelease"},
                 {"cuMemMap", "cuMemRelease"}};
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    for (int i = 0; i < 3; i++) {
        void *pointer = NULL;
        assert_int_equal(simcudaFailCall(calls[i].step, 1, simcudaFaultOnwards, CUDA_ERROR_UNKNOWN),
                         0);
        assert_int_equal(
            simcudaFailCall(calls[i].undoing, 1, simcudaFaultOnwards, CUDA_ERROR_UNKNOWN), 0);
        assert_int_equal(poolMallocFromPoolAsync(&pointer, MIB(8), pool, a), poolErrorUnknown);
        simcudaFailClear();
        assert_int_equal(fixture_reserved(pool), 0);
        fixture_free(fixture_malloc(pool, MIB(8), a), a);
        assert_int_equal(fixture_reserved(pool), MIB(8));
        assert_int_equal(simcudaMemoryInUse(0), MIB(8));
        fixture_synchronize(a);
        fixture_trim(pool, 0);
    }
    assert_int_equal(simcudaMemoryInUse(0), 0);
}

#define grow_test(function)                                                                        \
    cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)
#define small_test(function)                                                                       \
    cmocka_unit_test_setup_teardown(function, setup_small_device, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        grow_test(a_malloc_that_fails_for_want_of_host_memory_keeps_no_growth),
        grow_test(small_requests_take_a_granule_and_large_ones_an_extent),
        grow_test(growth_joins_free_memory_at_the_tail_and_maps_only_what_is_missing),
        grow_test(another_streams_pending_memory_is_not_joined),
        grow_test(a_limit_that_leaves_less_than_the_growth_unit_is_used_up_and_not_exceeded),
        grow_test(a_request_beyond_the_limit_is_not_called_a_lack_of_host_memory),
        grow_test(a_driver_error_that_was_got_over_is_not_told_of_a_later_failure),
        grow_test(free_extents_give_way_where_the_limit_has_room_for_the_rest),
        small_test(a_device_that_has_less_than_the_growth_unit_gives_what_is_needed),
        small_test(caches_of_other_pools_give_way_when_the_device_is_full),
        small_test(a_request_that_no_cache_can_serve_takes_none),
        grow_test(a_step_of_growth_that_fails_leaves_the_pool_as_it_was),
        grow_test(a_growth_that_cannot_be_undone_is_undone_by_the_next_one),
        grow_test(without_address_space_for_a_segment_growth_fails_and_says_so),
        grow_test(growth_survives_every_lack_of_host_memory),
        grow_test(so_does_growth_behind_what_several_streams_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
