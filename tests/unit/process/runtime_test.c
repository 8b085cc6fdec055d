#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inside/teardown.h"
#include "process/given_up.h"
#include "unit/fixture/pool.h"

static int setup_two_devices(void **state) {
    (void)state;
    return fixture_begin("devices=2,memory=256M");
}

static int setup_mixed_devices(void **state) {
    (void)state;
    return fixture_begin("devices=3,vmm.1=missing,vmm.2=refused");
}

// 64 KiB beyond 64 MiB.
static int setup_odd_device(void **state) {
    (void)state;
    return fixture_begin("memory=65600K");
}

static void a_start_that_failed_is_made_by_the_next_call(void **state) {
    (void)state;
    int native = 0;
    const char *entry_point = "";
    inside_teardown();
    simcudaFailCall("cuDeviceGetCount", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    assert_int_equal(sp_runtime_start(), poolErrorUnknown);
    poolGetLastNativeError(&native, &entry_point);
    assert_int_equal(native, CUDA_ERROR_UNKNOWN);
    assert_string_equal(entry_point, "cuDeviceGetCount");
    assert_int_equal(sp_runtime_start(), poolSuccess);
}

static void a_device_is_opened_at_its_first_use_and_has_a_default_pool(void **state) {
    (void)state;
    struct sp_device *device = NULL;
    struct sp_device *again = NULL;
    assert_null(sp_device_next(NULL));
    assert_int_equal(sp_runtime_open(1, &device), poolSuccess);
    assert_int_equal(device->vmm.ordinal, 1);
    assert_non_null(device->default_pool);
    assert_ptr_equal(device->current, device->default_pool);
    assert_ptr_equal(sp_device_next(NULL), device);
    assert_null(sp_device_next(device));
    assert_int_equal(sp_runtime_open(1, &again), poolSuccess);
    assert_ptr_equal(again, device);
}

static void an_ordinal_that_there_is_not_is_invalid(void **state) {
    (void)state;
    struct sp_device *device = NULL;
    const int ordinals[] = {-1, 2, SP_MAX_DEVICES, INT32_MAX, INT32_MIN};
    for (int i = 0; i < 5; i++)
        assert_int_equal(sp_runtime_open(ordinals[i], &device), poolErrorInvalidValue);
}

static void a_device_whose_opening_failed_is_opened_by_the_next_call(void **state) {
    (void)state;
    static const char *const calls[] = {"cuDeviceGet", "cuDeviceGetAttribute", "cuDeviceTotalMem",
                                        "cuMemGetAllocationGranularity"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct sp_device *device = NULL;
        int native = 0;
        const char *entry_point = "";
        simcudaFailCall(calls[i], 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
        assert_int_equal(sp_runtime_open(0, &device), poolErrorUnknown);
        poolGetLastNativeError(&native, &entry_point);
        assert_string_equal(entry_point, calls[i]);
    }
    struct sp_device *device = NULL;
    assert_int_equal(sp_runtime_open(0, &device), poolSuccess);
}

static void a_device_without_virtual_memory_management_is_opened_as_a_plain_one(void **state) {
    (void)state;
    struct sp_device *device = NULL;
    assert_int_equal(sp_runtime_open(1, &device), poolSuccess);
    assert_ptr_equal(sp_vmm_provider(&device->vmm), &sp_vmm_plain);
    assert_int_equal(sp_runtime_open(0, &device), poolSuccess);
    assert_ptr_equal(sp_vmm_provider(&device->vmm), &sp_vmm_virtual);
}

static void a_granule_of_no_use_is_an_error_that_says_so(void **state) {
    (void)state;
    struct sp_device *device = NULL;
    simcudaFailCall("cuMemGetAllocationGranularity", 1, simcudaFaultOnce, CUDA_ERROR_NOT_SUPPORTED);
    assert_int_equal(sp_runtime_open(0, &device), poolErrorNotSupported);
    assert_non_null(strstr(poolGetLastErrorDetail(), "cuMemGetAllocationGranularity"));
    assert_int_equal(sp_runtime_open(0, &device), poolSuccess);
}

static void a_failed_start_is_tried_again_and_names_the_call(void **state) {
    (void)state;
    int native = 0;
    const char *entry_point = "";
    inside_teardown();
    simcudaFailCall("cuDeviceGetCount", 1, simcudaFaultOnce, CUDA_ERROR_SYSTEM_NOT_READY);
    assert_int_equal(sp_runtime_start(), poolErrorSystemNotReady);
    poolGetLastNativeError(&native, &entry_point);
    assert_int_equal(native, CUDA_ERROR_SYSTEM_NOT_READY);
    assert_string_equal(entry_point, "cuDeviceGetCount");
    assert_int_equal(sp_runtime_start(), poolSuccess);
}

static void walking_pools_pins_the_one_it_stands_on(void **state) {
    (void)state;
    struct sp_device *device = NULL;
    assert_int_equal(sp_runtime_open(0, &device), poolSuccess);
    poolMemPool_t handle = fixture_pool();
    struct sp_pool *inside = fixture_inside(handle);
    fixture_free(fixture_malloc(handle, MIB(1), simulated_stream()), NULL);
    struct sp_pool *pool = sp_device_next_pool(device, NULL);
    while (pool != inside)
        pool = sp_device_next_pool(device, pool);
    assert_int_equal(poolMemPoolDestroy(handle), poolSuccess);
    assert_int_equal(device->given_up, 1);
    while (pool)
        pool = sp_device_next_pool(device, pool);
    sp_given_up_reap(device);
    assert_int_equal(device->given_up, 0);
}

static void a_synchronise_trims_the_pools_that_the_stream_used_on_every_device(void **state) {
    (void)state;
    poolMemPool_t of_other = NULL;
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .location = {poolMemLocationTypeDevice, 1}};
    assert_int_equal(poolMemPoolCreate(&of_other, &props), poolSuccess);
    poolMemPool_t unused = fixture_pool();
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    fixture_free(fixture_malloc(of_other, MIB(8), a), a);
    fixture_free(fixture_malloc(unused, MIB(8), b), b);
    fixture_set(unused, poolMemPoolAttrReleaseThreshold, 0);
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(of_other), 0);
    assert_int_equal(fixture_reserved(unused), MIB(8));
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    assert_int_equal(fixture_reserved(unused), 0);
}

// One granule is lacking: what is free beyond whole ones is no part of it.
static void room_is_made_in_whole_granules(void **state) {
    (void)state;
    poolMemPool_t keeping = fixture_pool(), growing = fixture_pool();
    CUstream stream = simulated_stream();
    fixture_free(fixture_malloc(keeping, MIB(32), stream), stream);
    fixture_synchronize(stream);
    fixture_malloc(growing, MIB(34), stream);
    assert_int_equal(fixture_reserved(keeping), MIB(30));
}

static void a_forked_child_is_refused_and_told_why(void **state) {
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        void *pointer = NULL;
        poolError_t error = poolMallocAsync(&pointer, 100, NULL);
        bool told = strstr(poolGetLastErrorDetail(), "forked") != NULL;
        struct poolPointerAttributes attributes;
        poolError_t asked = poolPointerGetAttributes(&attributes, &pointer);
        bool refused = error == poolErrorInitializationError && asked == error;
        _exit(refused && told ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

#define two_devices_test(function)                                                                 \
    cmocka_unit_test_setup_teardown(function, setup_two_devices, fixture_teardown)
#define odd_device_test(function)                                                                  \
    cmocka_unit_test_setup_teardown(function, setup_odd_device, fixture_teardown)
#define mixed_devices_test(function)                                                               \
    cmocka_unit_test_setup_teardown(function, setup_mixed_devices, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        two_devices_test(a_start_that_failed_is_made_by_the_next_call),
        two_devices_test(a_device_is_opened_at_its_first_use_and_has_a_default_pool),
        two_devices_test(an_ordinal_that_there_is_not_is_invalid),
        two_devices_test(a_device_whose_opening_failed_is_opened_by_the_next_call),
        mixed_devices_test(a_device_without_virtual_memory_management_is_opened_as_a_plain_one),
        mixed_devices_test(a_granule_of_no_use_is_an_error_that_says_so),
        two_devices_test(a_failed_start_is_tried_again_and_names_the_call),
        two_devices_test(walking_pools_pins_the_one_it_stands_on),
        two_devices_test(a_synchronise_trims_the_pools_that_the_stream_used_on_every_device),
        odd_device_test(room_is_made_in_whole_granules),
        two_devices_test(a_forked_child_is_refused_and_told_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
