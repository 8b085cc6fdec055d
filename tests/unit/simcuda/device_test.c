// Devices and what a program sets of a context: properties, names, flags, limits, peers.
#include <string.h>

#include "simcuda/entry/attributes.h"
#include "unit/simcuda/fixture.h"

static int attribute(int number, CUdevice device) {
    int value;
    OK(cuDeviceGetAttribute(&value, (CUdevice_attribute)number, device));
    return value;
}

// ---------------------------------------------------------------------------------------- devices

static void every_attribute_of_the_list_is_told(void **state) {
    int value;
    (void)state;
#define ASK(name, number, since, its_value)                                                        \
    OK(cuDeviceGetAttribute(&value, (CUdevice_attribute)(number), 0));
    SIM_DEVICE_ATTRIBUTES(ASK)
#undef ASK
    FAILS(cuDeviceGetAttribute(&value, (CUdevice_attribute)0, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuDeviceGetAttribute(&value, (CUdevice_attribute)148, 0), CUDA_ERROR_INVALID_VALUE);
}

static void an_attribute_that_is_newer_than_the_driver_is_no_value(void **state) {
    int value;
    (void)state;
    become("api=11080");
    OK(cuDeviceGetAttribute(&value, (CUdevice_attribute)SIM_ATTRIBUTE_CLUSTER_LAUNCH, 0));
    FAILS(cuDeviceGetAttribute(&value, (CUdevice_attribute)SIM_ATTRIBUTE_NUMA_CONFIG, 0),
          CUDA_ERROR_INVALID_VALUE);
}

static void the_device_has_no_pools_of_the_drivers_own(void **state) {
    (void)state;
    assert_int_equal(attribute(SIM_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0), 0);
    assert_int_equal(attribute(SIM_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 0), 0);
}

static void the_old_calls_for_properties_tell_the_attributes(void **state) {
    CUdevprop properties;
    int major, minor;
    (void)state;
    OK(cuDeviceComputeCapability(&major, &minor, 0));
    assert_int_equal(major, 9);
    assert_int_equal(minor, 0);
    FAILS(cuDeviceComputeCapability(&major, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuDeviceComputeCapability(&major, &minor, 1), CUDA_ERROR_INVALID_DEVICE);
    OK(cuDeviceGetProperties(&properties, 0));
    assert_int_equal(properties.maxThreadsPerBlock, 1024);
    assert_int_equal(properties.maxThreadsDim[2], 64);
    assert_int_equal(properties.maxGridSize[1], 65535);
    assert_int_equal(properties.SIMDWidth, 32);
    assert_int_equal(properties.clockRate, attribute(SIM_ATTRIBUTE_CLOCK_RATE, 0));
    FAILS(cuDeviceGetProperties(NULL, 0), CUDA_ERROR_INVALID_VALUE);
}

static void each_device_has_an_identity_of_its_own(void **state) {
    CUuuid first, again, second;
    char luid[8];
    unsigned nodes;
    (void)state;
    become("devices=2");
    OK(cuDeviceGetUuid(&first, 0));
    OK(cuDeviceGetUuid_v2(&again, 0));
    OK(cuDeviceGetUuid_v2(&second, 1));
    assert_memory_equal(&first, &again, sizeof first);
    assert_memory_not_equal(&first, &second, sizeof first);
    FAILS(cuDeviceGetUuid(&first, 2), CUDA_ERROR_INVALID_DEVICE);
    FAILS(cuDeviceGetUuid(NULL, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuDeviceGetLuid(luid, &nodes, 0), CUDA_ERROR_NOT_SUPPORTED);
    FAILS(cuDeviceGetLuid(luid, NULL, 0), CUDA_ERROR_INVALID_VALUE);
}

static CUdevice device_at(const char *place) {
    CUdevice device;
    OK(cuDeviceGetByPCIBusId(&device, place));
    return device;
}

static void a_device_is_found_by_its_place_on_the_bus(void **state) {
    char place[13];
    (void)state;
    become("devices=3");
    OK(cuDeviceGetPCIBusId(place, sizeof place, 2));
    assert_string_equal(place, "0000:03:00.0");
    assert_int_equal(device_at(place), 2);
    assert_int_equal(device_at("0:3:0"), 2);
    assert_int_equal(device_at("03:00.0"), 2);
    assert_int_equal(device_at("0000:01:00"), 0);
    FAILS(cuDeviceGetPCIBusId(place, 12, 2), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuDeviceGetPCIBusId(place, sizeof place, 3), CUDA_ERROR_INVALID_DEVICE);
}

static void a_place_without_a_device_and_one_that_is_none_are_told_apart(void **state) {
    CUdevice device;
    (void)state;
    FAILS(cuDeviceGetByPCIBusId(&device, "0000:02:00.0"), CUDA_ERROR_INVALID_DEVICE);
    FAILS(cuDeviceGetByPCIBusId(&device, "0000:01:00.1"), CUDA_ERROR_INVALID_DEVICE);
    static const char *const wrong[] = {"", "0000", "01:00", "0000:01:00.0x", "gpu", "0000:01:00."};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        FAILS(cuDeviceGetByPCIBusId(&device, wrong[i]), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuDeviceGetByPCIBusId(&device, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuDeviceGetByPCIBusId(NULL, "01:00.0"), CUDA_ERROR_INVALID_VALUE);
}

static void a_link_has_access_where_peers_have(void **state) {
    int value;
    const CUdevice_P2PAttribute access = CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
    (void)state;
    become("devices=2");
    OK(cuDeviceGetP2PAttribute(&value, access, 0, 1));
    assert_int_equal(value, 1);
    OK(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, 0, 1));
    assert_int_equal(value, 0);
    FAILS(cuDeviceGetP2PAttribute(&value, access, 0, 0), CUDA_ERROR_INVALID_DEVICE);
    FAILS(cuDeviceGetP2PAttribute(&value, access, 0, 2), CUDA_ERROR_INVALID_DEVICE);
    FAILS(cuDeviceGetP2PAttribute(&value, (CUdevice_P2PAttribute)9, 0, 1),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuDeviceGetP2PAttribute(NULL, access, 0, 1), CUDA_ERROR_INVALID_VALUE);
    become("devices=2,peers=0");
    OK(cuDeviceGetP2PAttribute(&value, access, 0, 1));
    assert_int_equal(value, 0);
}

static void every_error_has_a_name_and_a_sentence(void **state) {
    const char *name, *text;
    (void)state;
#define ASK(code, number)                                                                          \
    OK(cuGetErrorName(code, &name));                                                               \
    OK(cuGetErrorString(code, &text));                                                             \
    assert_string_not_equal(name, text);                                                           \
    assert_non_null(strchr(text, ' '));
    SP_DRIVER_ERRORS(ASK)
#undef ASK
    FAILS(cuGetErrorString((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    assert_null(text);
    FAILS(cuGetErrorString(CUDA_SUCCESS, NULL), CUDA_ERROR_INVALID_VALUE);
}

// ------------------------------------------------------------------------------------------ flags

static unsigned flags_of_current(void) {
    unsigned flags;
    OK(cuCtxGetFlags(&flags));
    return flags;
}

static void a_context_has_the_flags_that_it_was_made_with_or_given(void **state) {
    CUcontext context;
    (void)state;
    OK(cuCtxCreate_v2(&context, CU_CTX_SCHED_SPIN | CU_CTX_MAP_HOST, 0));
    assert_int_equal(flags_of_current(), CU_CTX_SCHED_SPIN | CU_CTX_MAP_HOST);
    OK(cuCtxSetFlags(CU_CTX_SCHED_YIELD));
    assert_int_equal(flags_of_current(), CU_CTX_SCHED_YIELD);
    OK(cuCtxDestroy_v2(context));
    FAILS(cuCtxCreate_v2(&context, CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD, 0),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuCtxCreate_v2(&context, 0x100, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuCtxCreate_v2(&context, 0x100, 9), CUDA_ERROR_INVALID_DEVICE);
    FAILS(cuCtxSetFlags(0x100), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuCtxGetFlags(NULL), CUDA_ERROR_INVALID_VALUE);
}

static void the_primary_context_begins_with_flags_that_were_set_before(void **state) {
    unsigned flags;
    int active;
    CUcontext context;
    (void)state;
    become("devices=2");
    OK(cuDevicePrimaryCtxSetFlags_v2(1, CU_CTX_SCHED_BLOCKING_SYNC));
    OK(cuDevicePrimaryCtxGetState(1, &flags, &active));
    assert_int_equal(flags, CU_CTX_SCHED_BLOCKING_SYNC);
    assert_int_equal(active, 0);
    OK(cuDevicePrimaryCtxRetain(&context, 1));
    OK(cuCtxSetCurrent(context));
    assert_int_equal(flags_of_current(), CU_CTX_SCHED_BLOCKING_SYNC | CU_CTX_MAP_HOST);
    OK(cuDevicePrimaryCtxSetFlags(1, CU_CTX_SCHED_SPIN));
    assert_int_equal(flags_of_current(), CU_CTX_SCHED_SPIN | CU_CTX_MAP_HOST);
    OK(cuDevicePrimaryCtxGetState(1, &flags, &active));
    assert_int_equal(flags, CU_CTX_SCHED_SPIN);
    assert_int_equal(active, 1);
    OK(cuDevicePrimaryCtxRelease_v2(1));
    FAILS(cuDevicePrimaryCtxSetFlags(2, 0), CUDA_ERROR_INVALID_DEVICE);
    FAILS(cuDevicePrimaryCtxSetFlags(1, 3), CUDA_ERROR_INVALID_VALUE);
}

static void a_reset_drops_the_flags_of_the_primary_context(void **state) {
    unsigned flags;
    int active;
    (void)state;
    become("devices=2");
    for (int device = 0; device < 2; device++) { // an active one, and one that is not
        OK(cuDevicePrimaryCtxSetFlags(device, CU_CTX_SCHED_SPIN));
        OK(cuDevicePrimaryCtxReset(device));
        OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
        assert_int_equal(flags, 0);
    }
}

static void newer_forms_make_contexts_without_limits_alone(void **state) {
    CUcontext context;
    CUctxCreateParams none = {0}, limited = {.execAffinityParams = (void *)&none},
                      shared = {.cigParams = (void *)&none},
                      both = {(void *)&none, 1, (void *)&none};
    (void)state;
    OK(cuCtxCreate_v3(&context, NULL, 0, 0, 0));
    OK(cuCtxDestroy_v2(context));
    OK(cuCtxCreate_v4(&context, NULL, 0, 0));
    OK(cuCtxDestroy_v2(context));
    FAILS(cuCtxCreate_v3(&context, (void *)&none, 1, 0, 0), CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
    FAILS(cuCtxCreate_v3(&context, NULL, 1, 0, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuCtxCreate_v3(NULL, NULL, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxCreate_v4(&context, &none, 0, 0));
    OK(cuCtxDestroy_v2(context));
    FAILS(cuCtxCreate_v4(&context, &both, 0, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuCtxCreate_v4(&context, &limited, 0, 0), CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
    FAILS(cuCtxCreate_v4(&context, &shared, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
}

static void forms_that_take_a_context_mean_the_current_one_by_null(void **state) {
    CUcontext context, other;
    CUdevice device;
    unsigned version;
    (void)state;
    become("devices=2");
    context = current_context();
    OK(cuCtxCreate_v2(&other, 0, 1));
    OK(cuCtxGetDevice_v2(&device, NULL));
    assert_int_equal(device, 1);
    OK(cuCtxGetDevice_v2(&device, context));
    assert_int_equal(device, 0);
    OK(cuCtxSynchronize_v2(NULL));
    OK(cuCtxSynchronize_v2(context));
    OK(cuCtxGetApiVersion(NULL, &version));
    assert_int_equal(version, 3020);
    OK(cuCtxDestroy_v2(other));
    FAILS(cuCtxGetApiVersion(other, &version), CUDA_ERROR_INVALID_CONTEXT);
    expect_report("use-of-destroyed-context");
    FAILS(cuCtxGetApiVersion(context, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuCtxGetDevice_v2(&device, other), CUDA_ERROR_INVALID_CONTEXT);
    expect_report("use-of-destroyed-context");
}

static void a_call_that_names_a_destroyed_context_is_told_by_its_name(void **state) {
    CUcontext gone;
    unsigned version;
    (void)state;
    OK(cuCtxCreate_v2(&gone, 0, 0));
    OK(cuCtxDestroy_v2(gone));
    FAILS(cuCtxEnablePeerAccess(gone, 0), CUDA_ERROR_INVALID_CONTEXT);
    assert_non_null(
        strstr(simcudaReportText(0), "cuCtxEnablePeerAccess names a context that was destroyed"));
    expect_report("use-of-destroyed-context");
    FAILS(cuCtxDisablePeerAccess(gone), CUDA_ERROR_INVALID_CONTEXT);
    expect_report("use-of-destroyed-context");
    FAILS(cuCtxGetApiVersion(gone, &version), CUDA_ERROR_INVALID_CONTEXT);
    expect_report("use-of-destroyed-context");
}

static void synchronizing_another_context_waits_for_its_work(void **state) {
    CUcontext context, other;
    (void)state;
    context = current_context();
    CUstream stream = make_stream();
    spin(stream, MS);
    OK(cuCtxCreate_v2(&other, 0, 0));
    OK(cuCtxSynchronize_v2(context));
    assert_int_equal(simcudaPendingAll(), 0);
    OK(cuCtxDestroy_v2(other));
}

// ----------------------------------------------------------------------------------------- limits

static void a_limit_is_what_was_set(void **state) {
    size_t value;
    (void)state;
    OK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
    assert_int_equal(value, 1024);
    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    OK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
    assert_int_equal(value, 4096);
    FAILS(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, GRANULE), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 129), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuCtxGetLimit(NULL, CU_LIMIT_STACK_SIZE), CUDA_ERROR_INVALID_VALUE);
}

static void a_limit_that_the_device_lacks_is_unsupported(void **state) {
    size_t value;
    (void)state;
    FAILS(cuCtxGetLimit(&value, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH), CUDA_ERROR_UNSUPPORTED_LIMIT);
    FAILS(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 2), CUDA_ERROR_UNSUPPORTED_LIMIT);
    FAILS(cuCtxGetLimit(&value, (CUlimit)8), CUDA_ERROR_UNSUPPORTED_LIMIT);
    OK(cuCtxGetLimit(&value, CU_LIMIT_SHMEM_SIZE));
    assert_int_equal(value, 0);
    FAILS(cuCtxSetLimit(CU_LIMIT_SHMEM_SIZE, 1), CUDA_ERROR_UNSUPPORTED_LIMIT);
    FAILS(cuCtxSetLimit((CUlimit)-1, 2), CUDA_ERROR_INVALID_VALUE);
}

static void preferences_are_kept_and_checked(void **state) {
    CUfunc_cache cache;
    CUsharedconfig banks;
    int least, greatest;
    (void)state;
    OK(cuCtxGetCacheConfig(&cache));
    assert_int_equal(cache, CU_FUNC_CACHE_PREFER_NONE);
    OK(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
    OK(cuCtxGetCacheConfig(&cache));
    assert_int_equal(cache, CU_FUNC_CACHE_PREFER_L1);
    FAILS(cuCtxSetCacheConfig((CUfunc_cache)4), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
    OK(cuCtxGetSharedMemConfig(&banks));
    assert_int_equal(banks, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
    FAILS(cuCtxSetSharedMemConfig((CUsharedconfig)3), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    assert_int_equal(least, 0);
    assert_int_equal(greatest, -5);
    OK(cuCtxGetStreamPriorityRange(NULL, NULL));
    OK(cuCtxResetPersistingL2Cache());
    OK(cuProfilerStart());
    OK(cuProfilerStop());
}

static void settings_need_a_current_context(void **state) {
    size_t value;
    unsigned flags;
    CUfunc_cache cache;
    (void)state;
    OK(cuCtxSetCurrent(NULL));
    FAILS(cuCtxGetFlags(&flags), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuCtxSetFlags(0), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuCtxGetCacheConfig(&cache), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuCtxResetPersistingL2Cache(), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuProfilerStart(), CUDA_ERROR_INVALID_CONTEXT);
}

// ------------------------------------------------------------------------------------------ peers

static CUcontext first, second;

static int begin_peers(void **state) {
    (void)state;
    become("devices=2");
    first = current_context();
    OK(cuDevicePrimaryCtxRetain(&second, 1));
    OK(cuCtxSetCurrent(first));
    return 0;
}

static CUdeviceptr allocate_in(CUcontext context) {
    CUdeviceptr address;
    OK(cuCtxPushCurrent_v2(context));
    OK(cuMemAlloc_v2(&address, GRANULE));
    OK(cuCtxPopCurrent_v2(NULL));
    return address;
}

// Work of the first device that writes there.
static CUresult write_from_first(CUdeviceptr address) {
    CUstream stream = make_stream();
    touch(stream, "peer", address, 64, simcudaAccessWrite);
    CUresult result = cuStreamSynchronize(stream);
    return result == CUDA_SUCCESS ? cuStreamDestroy_v2(stream) : result;
}

static void memory_of_a_peer_is_out_of_reach_without_access(void **state) {
    (void)state;
    FAILS(write_from_first(allocate_in(second)), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_report("no-access");
}

static void access_to_a_peer_reaches_memory_from_before_and_after(void **state) {
    CUdeviceptr before = allocate_in(second);
    (void)state;
    OK(cuCtxEnablePeerAccess(second, 0));
    OK(write_from_first(before));
    OK(write_from_first(allocate_in(second)));
}

static void access_is_gone_when_it_is_disabled(void **state) {
    CUdeviceptr address = allocate_in(second);
    (void)state;
    OK(cuCtxEnablePeerAccess(second, 0));
    OK(write_from_first(address));
    OK(cuCtxDisablePeerAccess(second));
    FAILS(cuCtxDisablePeerAccess(second), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    FAILS(write_from_first(address), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_report("no-access");
}

static void access_of_one_context_stays_when_another_ends(void **state) {
    CUcontext third;
    CUdeviceptr address = allocate_in(second);
    (void)state;
    OK(cuCtxEnablePeerAccess(second, 0));
    OK(cuCtxCreate_v2(&third, 0, 0));
    OK(cuCtxEnablePeerAccess(second, 0));
    OK(cuCtxDestroy_v2(third));
    OK(write_from_first(address));
}

static void access_ends_with_the_peer(void **state) {
    (void)state;
    OK(cuCtxEnablePeerAccess(second, 0));
    OK(cuDevicePrimaryCtxReset_v2(1));
    FAILS(cuCtxDisablePeerAccess(second), CUDA_ERROR_INVALID_CONTEXT);
    expect_report("use-of-destroyed-context");
    OK(cuDevicePrimaryCtxRetain(&second, 1));
    FAILS(cuCtxDisablePeerAccess(second), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
}

static void access_is_refused_to_itself_and_twice(void **state) {
    (void)state;
    FAILS(cuCtxEnablePeerAccess(first, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    FAILS(cuCtxEnablePeerAccess(second, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuCtxEnablePeerAccess(NULL, 0), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxEnablePeerAccess(second, 0));
    FAILS(cuCtxEnablePeerAccess(second, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    OK(cuCtxSetCurrent(NULL));
    FAILS(cuCtxEnablePeerAccess(second, 0), CUDA_ERROR_INVALID_CONTEXT);
}

static void access_is_unsupported_where_devices_are_no_peers(void **state) {
    CUcontext same;
    (void)state;
    OK(cuCtxCreate_v2(&same, 0, 0));
    FAILS(cuCtxEnablePeerAccess(first, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    become("devices=2,peers=0");
    OK(cuDevicePrimaryCtxRetain(&second, 1));
    FAILS(cuCtxEnablePeerAccess(second, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
}

#define TEST(name)      cmocka_unit_test_setup_teardown(name, begin, end_without_reports)
#define PEER_TEST(name) cmocka_unit_test_setup_teardown(name, begin_peers, end_without_reports)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_attribute_of_the_list_is_told),
        TEST(an_attribute_that_is_newer_than_the_driver_is_no_value),
        TEST(the_device_has_no_pools_of_the_drivers_own),
        TEST(the_old_calls_for_properties_tell_the_attributes),
        TEST(each_device_has_an_identity_of_its_own),
        TEST(a_device_is_found_by_its_place_on_the_bus),
        TEST(a_place_without_a_device_and_one_that_is_none_are_told_apart),
        TEST(a_link_has_access_where_peers_have),
        TEST(every_error_has_a_name_and_a_sentence),
        TEST(a_context_has_the_flags_that_it_was_made_with_or_given),
        TEST(the_primary_context_begins_with_flags_that_were_set_before),
        TEST(a_reset_drops_the_flags_of_the_primary_context),
        TEST(newer_forms_make_contexts_without_limits_alone),
        TEST(forms_that_take_a_context_mean_the_current_one_by_null),
        TEST(a_call_that_names_a_destroyed_context_is_told_by_its_name),
        TEST(synchronizing_another_context_waits_for_its_work),
        TEST(a_limit_is_what_was_set),
        TEST(a_limit_that_the_device_lacks_is_unsupported),
        TEST(preferences_are_kept_and_checked),
        TEST(settings_need_a_current_context),
        PEER_TEST(memory_of_a_peer_is_out_of_reach_without_access),
        PEER_TEST(access_to_a_peer_reaches_memory_from_before_and_after),
        PEER_TEST(access_is_gone_when_it_is_disabled),
        PEER_TEST(access_of_one_context_stays_when_another_ends),
        PEER_TEST(access_ends_with_the_peer),
        PEER_TEST(access_is_refused_to_itself_and_twice),
        PEER_TEST(access_is_unsupported_where_devices_are_no_peers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
