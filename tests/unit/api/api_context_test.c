#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "inside/teardown.h"
#include "unit/fixture/pool.h"
#include "unit/outcomes.h"

#include "api/interpose.h"
#include "order/context.h"

// What a call does on a default stream where no context is current. The fixture has retained device
// 0's primary context; device 1's is active only where the library retains it.

static int setup(void **state) {
    (void)state;
    return fixture_begin("devices=2");
}

static CUcontext current(void) {
    CUcontext context = NULL;
    assert_int_equal(sp_driver->cuCtxGetCurrent(&context), CUDA_SUCCESS);
    return context;
}

static void use(CUcontext context) {
    assert_int_equal(sp_driver->cuCtxSetCurrent(context), CUDA_SUCCESS);
}

static CUdevice device_of(CUcontext context) {
    CUdevice device = -1;
    assert_done(sp_context_device(context, &device));
    return device;
}

static bool is_active(int device) {
    unsigned int flags;
    int active = 0;
    assert_int_equal(sp_driver->cuDevicePrimaryCtxGetState(device, &flags, &active), CUDA_SUCCESS);
    return active != 0;
}

static uint64_t retains(void) {
    return simcudaCallCount("cuDevicePrimaryCtxRetain");
}

static poolMemPool_t pool_of(int device) {
    poolMemPool_t pool = NULL;
    assert_int_equal(poolDeviceGetDefaultMemPool(&pool, device), poolSuccess);
    return pool;
}

enum { DEFAULTS = 3 };
static const CUstream defaults[DEFAULTS] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};

static CUevent event;

static poolError_t call_malloc(CUstream stream) {
    void *pointer = NULL;
    poolError_t error = poolMallocAsync(&pointer, 1000, stream);
    assert_true(error != poolSuccess || poolFree(pointer) == poolSuccess);
    return error;
}

static poolError_t call_malloc_of_nothing(CUstream stream) {
    void *pointer = NULL;
    return poolMallocAsync(&pointer, 0, stream);
}

static poolError_t call_malloc_per_thread(CUstream stream) {
    void *pointer = NULL;
    poolError_t error = poolMallocAsync_ptsz(&pointer, 1000, stream);
    assert_true(error != poolSuccess || poolFree(pointer) == poolSuccess);
    return error;
}

static poolError_t call_malloc_with_flags(CUstream stream) {
    void *pointer = NULL;
    poolError_t error =
        poolMallocAsyncWithFlags(&pointer, 1000, NULL, stream, poolMallocNoInsertedWaits);
    assert_true(error != poolSuccess || poolFree(pointer) == poolSuccess);
    return error;
}

static poolError_t call_malloc_from_pool(CUstream stream) {
    void *pointer = NULL;
    poolError_t error = poolMallocFromPoolAsync(&pointer, 1000, pool_of(0), stream);
    assert_true(error != poolSuccess || poolFree(pointer) == poolSuccess);
    return error;
}

// Memory of a pool of device 1, too: the runtime's goes by the thread's device, which is 0 where
// none was chosen.
static poolError_t call_free(CUstream stream) {
    void *pointers[2];
    poolError_t error = poolSuccess;
    CUstream user = NULL;
    use(simulated_context());
    user = simulated_stream();
    pointers[0] = fixture_malloc(pool_of(0), 1000, user);
    pointers[1] = fixture_malloc(pool_of(1), 1000, user);
    for (int i = 0; i < 2; i++) {
        use(NULL);
        error = poolFreeAsync(pointers[i], stream);
        assert_true(error == poolSuccess || poolFreeAsync(pointers[i], user) == poolSuccess);
    }
    assert_int_equal(poolStreamDestroy(user), poolSuccess);
    return error;
}

static poolError_t call_synchronize(CUstream stream) {
    return poolStreamSynchronize(stream);
}

static poolError_t call_query(CUstream stream) {
    return poolStreamQuery(stream);
}

static poolError_t call_record(CUstream stream) {
    return poolEventRecord(event, stream);
}

static poolError_t call_wait(CUstream stream) {
    return poolStreamWaitEvent(stream, event, 0);
}

static poolError_t call_device_synchronize(CUstream stream) {
    (void)stream;
    return poolDeviceSynchronize();
}

typedef poolError_t (*call_function)(CUstream stream);
static const call_function calls[] = {call_malloc,
                                      call_malloc_of_nothing,
                                      call_malloc_per_thread,
                                      call_malloc_with_flags,
                                      call_malloc_from_pool,
                                      call_free,
                                      call_synchronize,
                                      call_query,
                                      call_record,
                                      call_wait,
                                      call_device_synchronize};
enum { CALLS = sizeof calls / sizeof calls[0] };

static void for_each_call(void (*check)(call_function call, CUstream stream)) {
    assert_int_equal(sp_driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    for (size_t i = 0; i < CALLS * DEFAULTS; i++)
        check(calls[i / DEFAULTS], defaults[i % DEFAULTS]);
    use(simulated_context());
    assert_int_equal(sp_driver->cuEventDestroy(event), CUDA_SUCCESS);
}

static void require_supplied(call_function call, CUstream stream) {
    use(NULL);
    assert_int_equal(call(stream), poolSuccess);
    assert_ptr_equal(current(), simulated_context());
}

static void every_call_makes_the_primary_context_of_device_0_current_and_goes_on(void **state) {
    (void)state;
    uint64_t before = retains();
    for_each_call(require_supplied);
    assert_int_equal(retains(), before + 1);
}

static void require_kept(call_function call, CUstream stream) {
    CUcontext own = NULL;
    assert_int_equal(sp_driver->cuCtxCreate(&own, 0, 1), CUDA_SUCCESS);
    // These are another context's.
    if (call != call_record && call != call_wait && call != call_free) {
        assert_int_equal(call(stream), poolSuccess);
        assert_ptr_equal(current(), own);
    }
    assert_int_equal(sp_driver->cuCtxDestroy(own), CUDA_SUCCESS);
}

static void a_context_that_is_current_stays_so(void **state) {
    (void)state;
    uint64_t before = retains();
    for_each_call(require_kept);
    assert_int_equal(retains(), before);
}

static void require_demanded(call_function call, CUstream stream) {
    use(NULL);
    sp_interpose_set_terms(SP_INTERPOSE_DEMANDS);
    assert_int_equal(call(stream), poolErrorDeviceUninitialized);
    assert_int_equal(sp_interpose_set_terms(0), SP_INTERPOSE_DEMANDS);
    assert_null(current());
}

static void whoever_stands_in_for_the_driver_gets_its_error(void **state) {
    (void)state;
    uint64_t before = retains();
    for_each_call(require_demanded);
    assert_int_equal(retains(), before);
    assert_int_equal(sp_interpose_set_terms(0), 0);
}

static void a_call_with_a_pool_of_another_device_gets_that_devices_context(void **state) {
    (void)state;
    void *pointer = NULL;
    poolMemPool_t pool = pool_of(1);
    use(NULL);
    assert_false(is_active(1));
    assert_int_equal(poolMallocFromPoolAsync(&pointer, 1000, pool, NULL), poolSuccess);
    assert_true(is_active(1));
    assert_int_equal(device_of(current()), 1);
    fixture_free(pointer, NULL);
    use(NULL);
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, 1000, pool, CU_STREAM_PER_THREAD, 0),
                     poolSuccess);
    assert_int_equal(device_of(current()), 1);
    fixture_free(pointer, CU_STREAM_PER_THREAD);
    use(NULL);
    assert_int_equal(call_malloc(NULL), poolSuccess);
    assert_int_equal(device_of(current()), 0);
}

static void call_with_promises(int promises, CUstream stream) {
    void *pointer = NULL;
    fixture_set_flag(pool_of(1), poolMemPoolAttrStreamPromises, promises);
    use(NULL);
    assert_int_equal(poolMallocFromPoolAsync(&pointer, 1000, pool_of(1), stream), poolSuccess);
    assert_int_equal(device_of(current()), 1);
    fixture_free(pointer, stream);
}

// Where default streams are remembered that holds for the first call.
static void with_promises_it_is_the_same(void **state) {
    (void)state;
    static const int promises[] = {poolPromiseNoCapture,
                                   poolPromiseStreamDestroy | poolPromiseNeverCapture,
                                   poolPromiseNoLegacyOrder, poolPromiseStreamDestroy};
    for (size_t i = 0; i < DEFAULTS * sizeof promises / sizeof promises[0]; i++)
        call_with_promises(promises[i / DEFAULTS], defaults[i % DEFAULTS]);
    call_with_promises(poolPromiseStreamDestroy | poolPromiseNoCapture | poolPromiseOneContext,
                       NULL);
}

static void a_users_stream_needs_no_context_and_brings_none(void **state) {
    (void)state;
    CUstream user = simulated_stream();
    use(NULL);
    assert_int_equal(call_malloc(user), poolSuccess);
    assert_int_equal(poolStreamSynchronize(user), poolSuccess);
    assert_null(current());
    use(simulated_context());
}

// ----------------------------------------------------------------------------------------- threads

static void *call_in_fresh_thread(void *result) {
    poolError_t *error = result;
    void *pointer = NULL;
    *error = poolMallocFromPoolAsync(&pointer, 1000, pool_of(1), NULL);
    if (*error == poolSuccess)
        *error = poolFreeAsync(pointer, NULL);
    return current();
}

enum { THREADS = 8 };

static void every_fresh_thread_is_given_the_same_context_and_it_is_retained_once(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    poolError_t errors[THREADS];
    void *contexts[THREADS];
    uint64_t before = retains();
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_in_fresh_thread, &errors[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &contexts[i]), 0);
        assert_int_equal(errors[i], poolSuccess);
        assert_ptr_equal(contexts[i], contexts[0]);
    }
    assert_non_null(contexts[0]);
    assert_int_equal(retains(), before + 1);
    assert_true(is_active(1));
    inside_teardown(); // gives one reference back
    assert_false(is_active(1));
}

static void the_context_outlives_every_reference_of_the_program(void **state) {
    (void)state;
    use(NULL);
    assert_int_equal(call_malloc(NULL), poolSuccess);
    assert_int_equal(sp_driver->cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    assert_true(is_active(0));
    assert_int_equal(call_malloc(NULL), poolSuccess);
    inside_teardown();
    assert_false(is_active(0));
    use(NULL);
}

// A reset takes the reference, and the work, of everybody.
static void a_context_that_was_reset_is_retained_anew(void **state) {
    (void)state;
    for (int again = 0; again < 2; again++) {
        use(NULL);
        assert_int_equal(poolStreamSynchronize(NULL), poolSuccess);
        assert_int_equal(call_malloc_from_pool(NULL), poolSuccess);
        assert_int_equal(sp_driver->cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
        assert_false(is_active(0));
    }
    uint64_t before = retains();
    CUcontext others = NULL;
    // At the same handle.
    assert_int_equal(sp_driver->cuDevicePrimaryCtxRetain(&others, 0), CUDA_SUCCESS);
    use(NULL);
    assert_int_equal(call_malloc(NULL), poolSuccess);
    assert_ptr_equal(current(), others);
    assert_int_equal(retains(), before + 2);
    assert_int_equal(sp_driver->cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    assert_true(is_active(0));
    inside_teardown();
    assert_false(is_active(0));
    use(NULL);
}

static void what_was_reset_is_not_released_at_the_end(void **state) {
    (void)state;
    CUcontext others = NULL;
    use(NULL);
    assert_int_equal(call_malloc(NULL), poolSuccess);
    use(NULL);
    assert_int_equal(sp_driver->cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuDevicePrimaryCtxRetain(&others, 0), CUDA_SUCCESS);
    inside_teardown();
    assert_true(is_active(0));
    assert_int_equal(sp_driver->cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    assert_false(is_active(0));
}

// ---------------------------------------------------------------------------------------- failures

static const char *failing;

static void require_failure(call_function call, CUstream stream) {
    int native = 0;
    const char *entry_point = "";
    use(NULL);
    simcudaFailCall(failing, 1, simcudaFaultOnwards, CUDA_ERROR_ECC_UNCORRECTABLE);
    assert_int_equal(call(stream), poolErrorECCUncorrectable);
    poolGetLastNativeError(&native, &entry_point);
    assert_string_equal(entry_point, failing);
    assert_non_null(strstr(poolGetLastErrorDetail(), failing));
    simcudaFailClear();
    assert_null(current());
}

static void a_context_that_can_not_be_had_is_an_error_that_names_the_call(void **state) {
    (void)state;
    static const char *const names[] = {"cuDeviceGet", "cuDevicePrimaryCtxRetain"};
    pool_of(0); // so that no call opens the device
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        failing = names[i];
        assert_int_equal(sp_driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
        for (size_t at = 0; at < CALLS; at++) {
            if (calls[at] != call_free) // which calls more than that
                require_failure(calls[at], NULL);
        }
        use(simulated_context());
        assert_int_equal(sp_driver->cuEventDestroy(event), CUDA_SUCCESS);
    }
}

static void a_context_without_an_id_is_given_back(void **state) {
    (void)state;
    const char *name = sp_driver->cuCtxGetId ? "cuCtxGetId" : "cuPointerGetAttribute";
    void *pointer = NULL;
    pool_of(1);
    use(NULL);
    simcudaFailCall(name, 1, simcudaFaultOnce, CUDA_ERROR_ECC_UNCORRECTABLE);
    assert_int_equal(poolMallocFromPoolAsync(&pointer, 1000, pool_of(1), NULL),
                     poolErrorECCUncorrectable);
    assert_false(is_active(1));
    assert_null(current());
    assert_int_equal(poolMallocFromPoolAsync(&pointer, 1000, pool_of(1), NULL), poolSuccess);
    fixture_free(pointer, NULL);
}

static void a_context_that_can_not_be_made_current_is_not_retained_twice(void **state) {
    (void)state;
    void *pointer = NULL;
    pool_of(1);
    use(NULL);
    uint64_t before = retains();
    simcudaFailCall("cuCtxSetCurrent", 1, simcudaFaultOnce, CUDA_ERROR_ECC_UNCORRECTABLE);
    assert_int_equal(poolMallocFromPoolAsync(&pointer, 1000, pool_of(1), NULL),
                     poolErrorECCUncorrectable);
    assert_null(current());
    assert_int_equal(poolMallocFromPoolAsync(&pointer, 1000, pool_of(1), NULL), poolSuccess);
    assert_int_equal(retains(), before + 1);
    fixture_free(pointer, NULL);
}

#define context_test(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        context_test(every_call_makes_the_primary_context_of_device_0_current_and_goes_on),
        context_test(a_context_that_is_current_stays_so),
        context_test(whoever_stands_in_for_the_driver_gets_its_error),
        context_test(a_call_with_a_pool_of_another_device_gets_that_devices_context),
        context_test(with_promises_it_is_the_same),
        context_test(a_users_stream_needs_no_context_and_brings_none),
        context_test(every_fresh_thread_is_given_the_same_context_and_it_is_retained_once),
        context_test(the_context_outlives_every_reference_of_the_program),
        context_test(a_context_that_was_reset_is_retained_anew),
        context_test(what_was_reset_is_not_released_at_the_end),
        context_test(a_context_that_can_not_be_had_is_an_error_that_names_the_call),
        context_test(a_context_without_an_id_is_given_back),
        context_test(a_context_that_can_not_be_made_current_is_not_retained_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
