#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "unit/fixture/pool.h"

#include "api/interpose.h"

// Memory that no pool gave is freed by the driver.

static CUstream stream;
static poolMemPool_t pool;
static void *live; // of the pool

static int setup(void **state) {
    (void)state;
    if (fixture_begin(NULL) != 0)
        return -1;
    pool = fixture_pool();
    stream = simulated_stream();
    live = fixture_malloc(pool, 1000, stream);
    return 0;
}

static bool frees_in_order(void) {
    return sp_driver->cuMemFreeAsync != NULL;
}

static void *driver_memory(void) {
    CUdeviceptr address = 0;
    assert_int_equal(sp_driver->cuMemAlloc(&address, MIB(2)), CUDA_SUCCESS);
    return (void *)(uintptr_t)address;
}

static uint64_t allocations(void) {
    simcudaLive alive;
    simcudaGetLive(&alive);
    return alive.allocations;
}

static void require_native(CUresult error, const char *entry_point) {
    int native = 0;
    const char *name = "";
    poolGetLastNativeError(&native, &name);
    assert_int_equal(native, error);
    assert_string_equal(name, entry_point);
}

static void the_drivers_memory_is_freed_in_the_streams_order(void **state) {
    (void)state;
    const CUstream streams[] = {stream, simulated_blocking_stream(), NULL, CU_STREAM_LEGACY,
                                CU_STREAM_PER_THREAD};
    for (size_t i = 0; frees_in_order() && i < sizeof streams / sizeof streams[0]; i++) {
        void *foreign = driver_memory();
        simulated_work(streams[i]);
        assert_int_equal(sp_driver->cuMemsetD8Async((uintptr_t)foreign, 1, MIB(2), streams[i]),
                         CUDA_SUCCESS);
        assert_int_equal(poolFreeAsync(foreign, streams[i]), poolSuccess);
        assert_int_equal(allocations(), 1);
        fixture_synchronize(streams[i]);
        assert_int_equal(allocations(), 0);
    }
    assert_int_equal(fixture_used(pool), 1000);
}

static void a_driver_that_frees_none_in_order_says_so_and_the_memory_stays(void **state) {
    (void)state;
    void *foreign = driver_memory();
    if (!frees_in_order()) {
        assert_int_equal(poolFreeAsync(foreign, stream), poolErrorInvalidValue);
        assert_non_null(strstr(poolGetLastErrorDetail(), "is no memory of any pool"));
        assert_non_null(strstr(poolGetLastErrorDetail(), "CUDA 11.2"));
        require_native(CUDA_SUCCESS, "");
    }
    assert_int_equal(allocations(), 1);
    assert_int_equal(poolFree(foreign), poolSuccess);
    assert_int_equal(allocations(), 0);
}

static void a_free_in_no_order_waits_for_the_device(void **state) {
    (void)state;
    void *foreign = driver_memory();
    simulated_work(stream);
    assert_int_equal(poolFree(foreign), poolSuccess);
    assert_int_equal(simcudaPending(stream), 0);
    assert_int_equal(allocations(), 0);
}

static void what_the_driver_refuses_is_an_error_that_tells_both(void **state) {
    (void)state;
    int local = 0;
    void *const pointers[] = {&local, (void *)(uintptr_t)1, (void *)UINTPTR_MAX};
    for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++) {
        assert_int_equal(poolFree(pointers[i]), poolErrorInvalidValue);
        assert_non_null(
            strstr(poolGetLastErrorDetail(), "is no memory of any pool: cuMemFree returned"));
        require_native(CUDA_ERROR_INVALID_VALUE, "cuMemFree");
        assert_int_equal(poolFreeAsync(pointers[i], stream), poolErrorInvalidValue);
        assert_non_null(strstr(poolGetLastErrorDetail(), "is no memory of any pool"));
        if (frees_in_order())
            require_native(CUDA_ERROR_INVALID_VALUE, "cuMemFreeAsync");
    }
    assert_int_equal(fixture_used(pool), 1000);
}

static void the_drivers_memory_is_freed_once(void **state) {
    (void)state;
    void *foreign = driver_memory();
    assert_int_equal(frees_in_order() ? poolFreeAsync(foreign, stream) : poolFree(foreign),
                     poolSuccess);
    assert_int_equal(poolFree(foreign), poolErrorInvalidValue);
    assert_int_equal(poolFreeAsync(foreign, stream), poolErrorInvalidValue);
    assert_int_equal(simcudaReportCount("bad-free"), frees_in_order() ? 2 : 1);
    simcudaReportClear();
    fixture_synchronize(stream);
    assert_int_equal(allocations(), 0);
}

// Neither a pointer into a live allocation nor one that was freed is any of the driver's business.
static void what_is_at_a_pools_address_never_goes_to_the_driver(void **state) {
    (void)state;
    void *freed = fixture_malloc(pool, MIB(3), stream);
    fixture_free(freed, stream);
    fixture_synchronize(stream);
    fixture_trim(pool, 0);
    void *const pointers[] = {freed, (char *)live + 8, (char *)freed + MIB(64)};
    uint64_t before = simcudaCallCount("cuMemFreeAsync") + simcudaCallCount("cuMemFree");
    for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++) {
        assert_int_equal(poolFreeAsync(pointers[i], stream), poolErrorInvalidValue);
        assert_null(strstr(poolGetLastErrorDetail(), "no memory of any pool"));
        assert_int_equal(poolFree(pointers[i]), poolErrorInvalidValue);
    }
    assert_int_equal(simcudaCallCount("cuMemFreeAsync") + simcudaCallCount("cuMemFree"), before);
}

static void use_no_context_and_fail(CUresult error) {
    assert_int_equal(sp_driver->cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    simcudaFailCall("cuMemFree", 1, simcudaFaultOnce, (int)error);
}

// A driver may want a current context for that.
static void a_free_in_no_order_needs_no_context(void **state) {
    (void)state;
    CUcontext context = NULL;
    void *foreign = driver_memory();
    use_no_context_and_fail(CUDA_ERROR_INVALID_CONTEXT);
    sp_interpose_set_terms(SP_INTERPOSE_DEMANDS);
    assert_int_equal(poolFree(foreign), poolErrorDeviceUninitialized);
    sp_interpose_set_terms(0);
    use_no_context_and_fail(CUDA_ERROR_INVALID_CONTEXT);
    simcudaFailCall("cuDevicePrimaryCtxRetain", 1, simcudaFaultOnce, CUDA_ERROR_ECC_UNCORRECTABLE);
    assert_int_equal(poolFree(foreign), poolErrorECCUncorrectable);
    simcudaFailClear();
    use_no_context_and_fail(CUDA_ERROR_INVALID_CONTEXT);
    assert_int_equal(poolFree(foreign), poolSuccess);
    assert_int_equal(sp_driver->cuCtxGetCurrent(&context), CUDA_SUCCESS);
    assert_ptr_equal(context, simulated_context());
    assert_int_equal(allocations(), 0);
}

static void a_capturing_stream_is_refused_and_the_memory_stays(void **state) {
    (void)state;
    CUgraph graph = NULL;
    void *foreign = driver_memory();
    assert_int_equal(sp_driver->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
                     CUDA_SUCCESS);
    assert_int_equal(poolFreeAsync(foreign, stream), poolErrorInvalidValue);
    assert_int_equal(sp_driver->cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuGraphDestroy(graph), CUDA_SUCCESS);
    assert_int_equal(poolFree(foreign), poolSuccess);
}

#define foreign_test(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        foreign_test(the_drivers_memory_is_freed_in_the_streams_order),
        foreign_test(a_driver_that_frees_none_in_order_says_so_and_the_memory_stays),
        foreign_test(a_free_in_no_order_waits_for_the_device),
        foreign_test(what_the_driver_refuses_is_an_error_that_tells_both),
        foreign_test(the_drivers_memory_is_freed_once),
        foreign_test(what_is_at_a_pools_address_never_goes_to_the_driver),
        foreign_test(a_free_in_no_order_needs_no_context),
        foreign_test(a_capturing_stream_is_refused_and_the_memory_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
