#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "region/lane.h"
#include "unit/fixture/pool.h"

// Which stream a call acted on is seen from what pends: work on the legacy stream or on the
// thread's own.

static void stream_0_of_a_variant_is_the_threads_own_stream(void **state) {
    (void)state;
    simulated_work(CU_STREAM_PER_THREAD);
    assert_int_equal(poolStreamQuery_ptsz(NULL), poolErrorNotReady);
    assert_int_equal(poolStreamQuery_ptsz(CU_STREAM_PER_THREAD), poolErrorNotReady);
    assert_int_equal(poolStreamQuery(CU_STREAM_PER_THREAD), poolErrorNotReady);
    assert_int_equal(poolStreamSynchronize_ptsz(NULL), poolSuccess);
    assert_int_equal(simcudaPending(CU_STREAM_PER_THREAD), 0);
    assert_int_equal(poolStreamQuery_ptsz(NULL), poolSuccess);
}

static void stream_0_of_a_plain_call_is_the_legacy_stream(void **state) {
    (void)state;
    simulated_work(CU_STREAM_LEGACY);
    assert_int_equal(poolStreamQuery(NULL), poolErrorNotReady);
    assert_int_equal(poolStreamQuery(CU_STREAM_LEGACY), poolErrorNotReady);
    assert_int_equal(poolStreamQuery_ptsz(CU_STREAM_LEGACY), poolErrorNotReady);
    assert_int_equal(poolStreamSynchronize(NULL), poolSuccess);
    assert_int_equal(poolStreamQuery(NULL), poolSuccess);
}

static void memory_of_a_variant_is_allocated_and_freed_on_the_threads_own_stream(void **state) {
    (void)state;
    void *pointer = NULL;
    poolMemPool_t pool = fixture_pool();
    assert_int_equal(poolMallocFromPoolAsync_ptsz(&pointer, MIB(1), pool, NULL), poolSuccess);
    struct sp_stream *own = fixture_stream(CU_STREAM_PER_THREAD);
    assert_non_null(sp_lane_find(fixture_inside(pool), own->slot));
    assert_null(sp_lane_find(fixture_inside(pool), fixture_stream(NULL)->slot));
    assert_int_equal(poolFreeAsync_ptsz(pointer, NULL), poolSuccess);
    assert_null(sp_lane_find(fixture_inside(pool), fixture_stream(NULL)->slot));
    assert_int_equal(poolDeviceSetMemPool(0, pool), poolSuccess);
    assert_int_equal(poolMallocAsync_ptsz(&pointer, MIB(1), NULL), poolSuccess);
    assert_int_equal(poolFreeAsync_ptsz(pointer, NULL), poolSuccess);
    assert_null(sp_lane_find(fixture_inside(pool), fixture_stream(NULL)->slot));
}

static void an_event_of_a_variant_is_recorded_on_the_threads_own_stream(void **state) {
    (void)state;
    CUevent event = NULL;
    assert_int_equal(sp_driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    simulated_work(CU_STREAM_PER_THREAD);
    assert_int_equal(poolEventRecord(event, NULL), poolSuccess);
    assert_int_equal(simcudaPending(CU_STREAM_PER_THREAD), 1);
    assert_int_equal(poolEventRecord_ptsz(event, NULL), poolSuccess);
    assert_true(simcudaPending(CU_STREAM_PER_THREAD) > 1);
    assert_int_equal(poolEventQuery(event), poolErrorNotReady);
    assert_int_equal(poolEventSynchronize(event), poolSuccess);
    assert_int_equal(sp_driver->cuEventDestroy(event), CUDA_SUCCESS);
}

static void a_users_stream_is_itself_in_both(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    simulated_work(a);
    assert_int_equal(poolStreamQuery(a), poolErrorNotReady);
    assert_int_equal(poolStreamQuery_ptsz(a), poolErrorNotReady);
    assert_int_equal(poolStreamSynchronize_ptsz(a), poolSuccess);
    assert_int_equal(poolStreamQuery(a), poolSuccess);
}

#define variant_test(function)                                                                     \
    cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        variant_test(stream_0_of_a_variant_is_the_threads_own_stream),
        variant_test(stream_0_of_a_plain_call_is_the_legacy_stream),
        variant_test(memory_of_a_variant_is_allocated_and_freed_on_the_threads_own_stream),
        variant_test(an_event_of_a_variant_is_recorded_on_the_threads_own_stream),
        variant_test(a_users_stream_is_itself_in_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
