#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <streampool/lists.h>
#include <string.h>

#include "unit/pool/fixture.h"

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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
