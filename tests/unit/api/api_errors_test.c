#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <streampool/lists.h>
#include <string.h>

#include "unit/fixture/pool.h"

static void every_error_has_its_own_name_and_a_line_about_it(void **state) {
    (void)state;
#define HAS_NAME(name, number, text)                                                               \
    assert_int_equal(name, number);                                                                \
    assert_string_equal(poolGetErrorName(name), #name);                                            \
    assert_string_equal(poolGetErrorString(name), text);                                           \
    assert_true(strlen(text) > 0);
    STREAMPOOL_ERRORS(HAS_NAME)
#undef HAS_NAME
}

static void an_unknown_number_is_said_to_be_one(void **state) {
    (void)state;
    const int numbers[] = {-1, 5, 12345};
    for (int i = 0; i < 3; i++) {
        assert_string_equal(poolGetErrorName((poolError_t)numbers[i]), "unrecognized error code");
        assert_string_equal(poolGetErrorString((poolError_t)numbers[i]), "unrecognized error code");
    }
}

static void names_need_no_driver(void **state) {
    (void)state;
    uint64_t calls = simcudaCallCount(NULL);
    poolGetErrorName(poolErrorNotReady);
    poolGetErrorString(poolErrorNotReady);
    poolGetLastErrorDetail();
    poolGetLastNativeError(NULL, NULL);
    poolSetLastError(poolErrorNotReady, "");
    poolPeekAtLastError();
    poolGetLastError();
    assert_int_equal(simcudaCallCount(NULL), calls);
}

static void versions_are_told_and_a_null_parameter_is_refused(void **state) {
    (void)state;
    int version = 0;
    int of_driver = 0;
    assert_int_equal(poolRuntimeGetVersion(&version), poolSuccess);
    assert_int_equal(version, 1000 * STREAMPOOL_VERSION_MAJOR + 10 * STREAMPOOL_VERSION_MINOR);
    assert_int_equal(poolDriverGetVersion(&version), poolSuccess);
    assert_int_equal(sp_driver->cuDriverGetVersion(&of_driver), CUDA_SUCCESS);
    assert_int_equal(version, of_driver);
    assert_int_equal(poolRuntimeGetVersion(NULL), poolErrorInvalidValue);
    assert_int_equal(poolDriverGetVersion(NULL), poolErrorInvalidValue);
}

static void *detail_of_new_thread(void *answer) {
    int native = 7;
    const char *entry_point = "?";
    bool first = poolGetLastErrorDetail()[0] == '\0';
    poolGetLastNativeError(&native, &entry_point);
    *(bool *)answer = first && native == 0 && entry_point[0] == '\0';
    return NULL;
}

static void the_detail_is_the_threads_own_and_lasts_until_its_next_failure(void **state) {
    (void)state;
    int version = 0;
    bool empty = false;
    pthread_t thread;
    assert_int_equal(poolRuntimeGetVersion(NULL), poolErrorInvalidValue);
    assert_string_equal(poolGetLastErrorDetail(), "version is null");
    assert_int_equal(poolRuntimeGetVersion(&version), poolSuccess);
    assert_string_equal(poolGetLastErrorDetail(), "version is null");
    assert_int_equal(pthread_create(&thread, NULL, detail_of_new_thread, &empty), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(empty);
    assert_int_equal(poolMemPoolDestroy(NULL), poolErrorInvalidValue);
    assert_string_not_equal(poolGetLastErrorDetail(), "version is null");
}

static void each_bad_parameter_is_named(void **state) {
    (void)state;
    const struct poolMemPoolProps props = {0};
    poolMemPool_t pool = NULL;
    void *pointer = NULL;
    assert_int_equal(poolMallocAsync(NULL, 1, NULL), poolErrorInvalidValue);
    assert_string_equal(poolGetLastErrorDetail(), "ptr is null");
    assert_int_equal(poolMallocFromPoolAsync(NULL, 1, NULL, NULL), poolErrorInvalidValue);
    assert_string_equal(poolGetLastErrorDetail(), "ptr is null");
    assert_int_equal(poolMallocFromPoolAsync(&pointer, 1, NULL, NULL), poolErrorInvalidValue);
    assert_non_null(strstr(poolGetLastErrorDetail(), "not a pool"));
    assert_int_equal(poolMemPoolCreate(NULL, &props), poolErrorInvalidValue);
    assert_string_equal(poolGetLastErrorDetail(), "pool is null");
    assert_int_equal(poolMemPoolCreate(&pool, NULL), poolErrorInvalidValue);
    assert_string_equal(poolGetLastErrorDetail(), "props is null");
    assert_int_equal(poolMemPoolCreate(&pool, &props), poolErrorInvalidValue);
    assert_non_null(strstr(poolGetLastErrorDetail(), "allocation type"));
    assert_int_equal(poolDeviceGetMemPool(NULL, 0), poolErrorInvalidValue);
    assert_string_equal(poolGetLastErrorDetail(), "pool is null");
    assert_int_equal(poolDeviceGetMemPool(&pool, 7), poolErrorInvalidValue);
    assert_string_equal(poolGetLastErrorDetail(), "there is no device 7");
}

static void
the_native_error_stands_behind_the_last_failure_and_either_half_can_be_asked(void **state) {
    (void)state;
    int native = 0;
    const char *entry_point = "";
    CUstream a = simulated_stream();
    simcudaFailCall("cuStreamSynchronize", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(poolStreamSynchronize(a), poolErrorLaunchFailure);
    assert_int_equal(poolGetLastNativeError(&native, NULL), poolSuccess);
    assert_int_equal(native, CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(poolGetLastNativeError(NULL, &entry_point), poolSuccess);
    assert_string_equal(entry_point, "cuStreamSynchronize");
    assert_string_equal(
        poolGetLastErrorDetail(),
        "synchronising the stream: cuStreamSynchronize returned CUDA_ERROR_LAUNCH_FAILED");
    assert_int_equal(poolMemPoolDestroy(NULL), poolErrorInvalidValue);
    assert_int_equal(poolGetLastNativeError(&native, &entry_point), poolSuccess);
    assert_int_equal(native, CUDA_SUCCESS);
    assert_string_equal(entry_point, "");
}

static void the_last_error_stays_until_it_is_read(void **state) {
    (void)state;
    int version = 0;
    poolGetLastError();
    assert_int_equal(poolPeekAtLastError(), poolSuccess);
    assert_int_equal(poolRuntimeGetVersion(NULL), poolErrorInvalidValue);
    assert_int_equal(poolRuntimeGetVersion(&version), poolSuccess);
    assert_int_equal(poolPeekAtLastError(), poolErrorInvalidValue);
    assert_int_equal(poolPeekAtLastError(), poolErrorInvalidValue);
    assert_int_equal(poolGetLastError(), poolErrorInvalidValue);
    assert_int_equal(poolPeekAtLastError(), poolSuccess);
    assert_int_equal(poolGetLastError(), poolSuccess);
    assert_string_equal(poolGetLastErrorDetail(), "version is null");
}

static void of_two_failures_the_later_one_is_the_last_error(void **state) {
    (void)state;
    void *pointer = NULL;
    poolMemPool_t pool = NULL;
    assert_int_equal(poolMallocAsync(&pointer, SIZE_MAX, NULL), poolErrorMemoryAllocation);
    assert_int_equal(poolDeviceGetDefaultMemPool(&pool, 99), poolErrorInvalidDevice);
    assert_int_equal(poolGetLastError(), poolErrorInvalidDevice);
    assert_int_equal(poolGetLastError(), poolSuccess);
}

static void the_drivers_own_errors_are_last_errors_too(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    poolGetLastError();
    simcudaFailCall("cuStreamSynchronize", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(poolStreamSynchronize(a), poolErrorLaunchFailure);
    assert_int_equal(poolGetLastError(), poolErrorLaunchFailure);
    assert_int_equal(poolGetLastError(), poolSuccess);
}

static void that_work_is_not_ready_is_no_last_error(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    poolGetLastError();
    simulated_work(a);
    assert_int_equal(poolStreamQuery(a), poolErrorNotReady);
    assert_int_equal(poolPeekAtLastError(), poolSuccess);
    assert_int_equal(poolMemPoolDestroy(NULL), poolErrorInvalidValue);
    assert_int_equal(poolStreamQuery(a), poolErrorNotReady);
    assert_int_equal(poolGetLastError(), poolErrorInvalidValue);
    simulated_finish(a);
}

static void a_free_that_found_a_context_after_all_is_no_last_error(void **state) {
    (void)state;
    CUdeviceptr foreign = 0;
    assert_int_equal(sp_driver->cuMemAlloc(&foreign, 4096), CUDA_SUCCESS);
    assert_int_equal(poolDeviceGetDefaultMemPool(NULL, 99), poolErrorInvalidDevice);
    assert_int_equal(sp_driver->cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    simcudaFailCall("cuMemFree", 1, simcudaFaultOnce, CUDA_ERROR_INVALID_CONTEXT);
    assert_int_equal(poolFree((void *)(uintptr_t)foreign), poolSuccess);
    assert_int_equal(poolGetLastError(), poolErrorInvalidDevice);
}

static void *last_error_of_new_thread(void *answer) {
    bool none = poolGetLastError() == poolSuccess;
    bool set = poolSetLastError(poolErrorTimeout, NULL) == poolErrorTimeout;
    *(bool *)answer = none && set && poolPeekAtLastError() == poolErrorTimeout;
    return NULL;
}

static void the_last_error_is_the_threads_own(void **state) {
    (void)state;
    bool own = false;
    pthread_t thread;
    assert_int_equal(poolRuntimeGetVersion(NULL), poolErrorInvalidValue);
    assert_int_equal(pthread_create(&thread, NULL, last_error_of_new_thread, &own), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(own);
    assert_int_equal(poolGetLastError(), poolErrorInvalidValue);
}

static void an_error_that_is_set_is_the_last_one_with_its_sentence(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    int native = 7;
    simcudaFailCall("cuStreamSynchronize", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(poolStreamSynchronize(a), poolErrorLaunchFailure);
    assert_int_equal(poolSetLastError(poolErrorNotSupported, "100 % of it isn't there"),
                     poolErrorNotSupported);
    assert_string_equal(poolGetLastErrorDetail(), "100 % of it isn't there");
    assert_int_equal(poolGetLastNativeError(&native, NULL), poolSuccess);
    assert_int_equal(native, CUDA_SUCCESS);
    assert_int_equal(poolSetLastError(poolSuccess, "nothing"), poolSuccess);
    assert_int_equal(poolSetLastError(poolErrorNotReady, "nothing"), poolErrorNotReady);
    assert_string_equal(poolGetLastErrorDetail(), "100 % of it isn't there");
    assert_int_equal(poolGetLastError(), poolErrorNotSupported);
    assert_int_equal(poolSetLastError(poolErrorTimeout, NULL), poolErrorTimeout);
    assert_string_equal(poolGetLastErrorDetail(), "");
    assert_int_equal(poolGetLastError(), poolErrorTimeout);
}

#define error_test(function)                                                                       \
    cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        error_test(every_error_has_its_own_name_and_a_line_about_it),
        error_test(an_unknown_number_is_said_to_be_one),
        error_test(names_need_no_driver),
        error_test(versions_are_told_and_a_null_parameter_is_refused),
        error_test(the_detail_is_the_threads_own_and_lasts_until_its_next_failure),
        error_test(each_bad_parameter_is_named),
        error_test(the_native_error_stands_behind_the_last_failure_and_either_half_can_be_asked),
        error_test(the_last_error_stays_until_it_is_read),
        error_test(of_two_failures_the_later_one_is_the_last_error),
        error_test(the_drivers_own_errors_are_last_errors_too),
        error_test(that_work_is_not_ready_is_no_last_error),
        error_test(a_free_that_found_a_context_after_all_is_no_last_error),
        error_test(the_last_error_is_the_threads_own),
        error_test(an_error_that_is_set_is_the_last_one_with_its_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
