// Rows of what the driver tells of devices, and of what belongs to a context.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "conformance/rows.h"
#include "conformance/wider.h"
#include "simcuda/entry/attributes.h"
#include "support/check.h"
#include "support/device.h"
#include "support/simulated.h"

static uint64_t attribute(int number) {
    int value = 0;
    DRIVER(test_driver()->cuDeviceGetAttribute(&value, (CUdevice_attribute)number, 0));
    return (uint64_t)value;
}

// The attribute of the device has this value.
#define TELLS(name, value) IS_TOLD(attribute(SIM_ATTRIBUTE_##name), value)

static CUcontext current(void) {
    CUcontext context = NULL;
    DRIVER(test_driver()->cuCtxGetCurrent(&context));
    return context;
}

// ---------------------------------------------------------------------------------------- devices

void row_an_attribute_or_device_that_is_none_is_refused(void) {
    const struct sp_driver *driver = test_driver();
    const CUdevice_attribute known = (CUdevice_attribute)SIM_ATTRIBUTE_WARP_SIZE;
    int value = 0;
    ANSWERS(driver->cuDeviceGetAttribute(&value, (CUdevice_attribute)0, 0),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(driver->cuDeviceGetAttribute(&value, (CUdevice_attribute)1000, 0),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(driver->cuDeviceGetAttribute(NULL, known, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(driver->cuDeviceGetAttribute(&value, known, 99), CUDA_ERROR_INVALID_DEVICE);
    ANSWERS(driver->cuDeviceGetAttribute(&value, known, -1), CUDA_ERROR_INVALID_DEVICE);
}

void row_a_device_tells_the_limits_of_its_launches(void) {
    TELLS(MAX_THREADS_PER_BLOCK, 1024);
    TELLS(MAX_BLOCK_DIM_X, 1024);
    TELLS(MAX_BLOCK_DIM_Y, 1024);
    TELLS(MAX_BLOCK_DIM_Z, 64);
    TELLS(MAX_GRID_DIM_X, 2147483647);
    TELLS(MAX_GRID_DIM_Y, 65535);
    TELLS(MAX_GRID_DIM_Z, 65535);
    TELLS(MAX_SHARED_MEMORY_PER_BLOCK, 49152);
    TELLS(MAX_REGISTERS_PER_BLOCK, 65536);
    TELLS(WARP_SIZE, 32);
    TELLS(TOTAL_CONSTANT_MEMORY, 65536);
    TELLS(MAX_PITCH, 2147483647);
}

static void need_capability_9_0(void) {
    if (attribute(SIM_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) != 9 ||
        attribute(SIM_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) != 0)
        test_skip("the device's compute capability is not 9.0");
}

void row_a_device_of_capability_9_0_tells_its_multiprocessors(void) {
    need_capability_9_0();
    TELLS(MULTIPROCESSOR_COUNT, 132);
    TELLS(MAX_THREADS_PER_MULTIPROCESSOR, 2048);
    TELLS(MAX_BLOCKS_PER_MULTIPROCESSOR, 32);
    TELLS(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472);
    TELLS(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448);
    TELLS(RESERVED_SHARED_MEMORY_PER_BLOCK, 1024);
    TELLS(MAX_REGISTERS_PER_MULTIPROCESSOR, 65536);
    TELLS(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2);
    TELLS(MEM_SYNC_DOMAIN_COUNT, 4);
}

void row_a_device_of_capability_9_0_tells_its_cache(void) {
    need_capability_9_0();
    TELLS(GLOBAL_L1_CACHE_SUPPORTED, 1);
    TELLS(LOCAL_L1_CACHE_SUPPORTED, 1);
    TELLS(MAX_ACCESS_POLICY_WINDOW_SIZE, 134217728);
    TELLS(L2_CACHE_SIZE, 62914560);
    TELLS(MAX_PERSISTING_L2_CACHE_SIZE, 39321600);
}

void row_a_device_tells_the_alignment_of_textures(void) {
    TELLS(TEXTURE_ALIGNMENT, 512);
    TELLS(SURFACE_ALIGNMENT, 512);
    TELLS(TEXTURE_PITCH_ALIGNMENT, 32);
    TELLS(CAN_TEX2D_GATHER, 1);
}

void row_a_device_tells_how_streams_may_use_words(void) {
    TELLS(CAN_USE_STREAM_MEM_OPS_V1, 0);
    TELLS(CAN_USE_64_BIT_STREAM_MEM_OPS_V1, 0);
    TELLS(CAN_USE_STREAM_WAIT_VALUE_NOR_V1, 0);
    TELLS(CAN_USE_64_BIT_STREAM_MEM_OPS, 1);
    TELLS(CAN_USE_STREAM_WAIT_VALUE_NOR, 1);
    TELLS(CAN_FLUSH_REMOTE_WRITES, 0);
}

void row_a_device_tells_what_its_host_shares(void) {
    TELLS(UNIFIED_ADDRESSING, 1);
    TELLS(CAN_MAP_HOST_MEMORY, 1);
    TELLS(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1);
    TELLS(HOST_REGISTER_SUPPORTED, 1);
    TELLS(HOST_NATIVE_ATOMIC_SUPPORTED, 0);
    TELLS(INTEGRATED, 0);
    TELLS(NUMA_CONFIG, 0);
    TELLS(NUMA_ID, -1);
}

void row_a_devices_properties_are_its_attributes(void) {
    CUdevprop properties;
    int major = 0, minor = -1;
    memset(&properties, 0, sizeof properties);
    DRIVER(wider()->cuDeviceGetProperties(&properties, 0));
    IS_TOLD(properties.maxThreadsPerBlock, 1024);
    IS_TOLD(properties.maxThreadsDim[2], 64);
    IS_TOLD(properties.maxGridSize[0], 2147483647);
    IS_TOLD(properties.sharedMemPerBlock, 49152);
    IS_TOLD(properties.totalConstantMemory, 65536);
    IS_TOLD(properties.SIMDWidth, 32);
    IS_TOLD(properties.memPitch, 2147483647);
    IS_TOLD(properties.regsPerBlock, 65536);
    IS_TOLD(properties.textureAlign, 512);
    DRIVER(wider()->cuDeviceComputeCapability(&major, &minor, 0));
    TELLS(COMPUTE_CAPABILITY_MAJOR, major);
    TELLS(COMPUTE_CAPABILITY_MINOR, minor);
}

void row_a_device_has_one_uuid_and_no_luid(void) {
    CUuuid first, second;
    char luid[8];
    unsigned int nodes = 0;
    DRIVER(wider()->cuDeviceGetUuid(&first, 0));
    DRIVER(wider()->cuDeviceGetUuid_v2(&second, 0));
    REQUIRE(memcmp(&first, &second, sizeof first) == 0);
    ANSWERS(wider()->cuDeviceGetUuid_v2(NULL, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuDeviceGetUuid_v2(&first, 99), CUDA_ERROR_INVALID_DEVICE);
    ANSWERS(wider()->cuDeviceGetLuid(luid, &nodes, 0), CUDA_ERROR_NOT_SUPPORTED);
}

void row_a_place_on_the_bus_needs_its_room(void) {
    char id[32] = "";
    DRIVER(wider()->cuDeviceGetPCIBusId(id, 13, 0));
    IS_TOLD(strlen(id), 12);
    ANSWERS(wider()->cuDeviceGetPCIBusId(id, 12, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuDeviceGetPCIBusId(NULL, 13, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuDeviceGetPCIBusId(id, 13, 99), CUDA_ERROR_INVALID_DEVICE);
}

void row_a_place_on_the_bus_may_lack_its_zeros(void) {
    char id[32], shorter[32];
    unsigned domain, bus, slot;
    CUdevice device = -1;
    DRIVER(wider()->cuDeviceGetPCIBusId(id, sizeof id, 0));
    REQUIRE(sscanf(id, "%x:%x:%x", &domain, &bus, &slot) == 3);
    snprintf(shorter, sizeof shorter, "%x:%x:%x", domain, bus, slot);
    DRIVER(wider()->cuDeviceGetByPCIBusId(&device, shorter));
    IS_TOLD(device, 0);
}

void row_a_place_on_the_bus_that_is_none_is_refused(void) {
    char id[32];
    CUdevice device = -1;
    DRIVER(wider()->cuDeviceGetPCIBusId(id, sizeof id, 0));
    id[11] = '1'; // another function of the same board
    ANSWERS(wider()->cuDeviceGetByPCIBusId(&device, id), CUDA_ERROR_INVALID_DEVICE);
    ANSWERS(wider()->cuDeviceGetByPCIBusId(&device, "gpu"), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuDeviceGetByPCIBusId(NULL, id), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuDeviceGetByPCIBusId(&device, NULL), CUDA_ERROR_INVALID_VALUE);
}

void row_a_device_is_no_peer_of_itself(void) {
    int value = 9;
    DRIVER(test_driver()->cuDeviceCanAccessPeer(&value, 0, 0));
    IS_TOLD(value, 0);
    ANSWERS(
        wider()->cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0),
        CUDA_ERROR_INVALID_DEVICE);
    ANSWERS(
        wider()->cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 99),
        CUDA_ERROR_INVALID_DEVICE);
    ANSWERS(test_driver()->cuDeviceCanAccessPeer(&value, 0, 99), CUDA_ERROR_INVALID_DEVICE);
}

// --------------------------------------------------------------------------------------- contexts

void row_flags_of_a_context_that_are_none_are_refused(void) {
    CUcontext context = NULL;
    const struct sp_driver *driver = test_driver();
    ANSWERS(driver->cuCtxCreate(&context, CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD, 0),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(driver->cuCtxCreate(&context, 0x100, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(driver->cuCtxCreate(NULL, 0, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(driver->cuCtxCreate(&context, 0, 99), CUDA_ERROR_INVALID_DEVICE);
    ANSWERS(driver->cuCtxCreate(&context, 0x100, 99), CUDA_ERROR_INVALID_DEVICE);
}

void row_a_context_tells_the_flags_it_was_made_with(void) {
    CUcontext context = NULL;
    unsigned int flags = 0;
    DRIVER(test_driver()->cuCtxCreate(&context, CU_CTX_SCHED_YIELD | CU_CTX_MAP_HOST, 0));
    DRIVER(wider()->cuCtxGetFlags(&flags));
    IS_TOLD(flags, CU_CTX_SCHED_YIELD | CU_CTX_MAP_HOST);
}

void row_a_contexts_flags_may_be_changed(void) {
    CUcontext context = NULL;
    unsigned int flags = 0;
    WIDER_NEEDS(cuCtxSetFlags);
    DRIVER(test_driver()->cuCtxCreate(&context, CU_CTX_SCHED_YIELD, 0));
    DRIVER(wider()->cuCtxSetFlags(CU_CTX_SCHED_SPIN));
    DRIVER(wider()->cuCtxGetFlags(&flags));
    IS_TOLD(flags, CU_CTX_SCHED_SPIN);
    ANSWERS(wider()->cuCtxSetFlags(CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD),
            CUDA_ERROR_INVALID_VALUE);
}

void row_an_active_primary_contexts_flags_may_be_changed(void) {
    unsigned int flags = 0;
    int active = 0;
    DRIVER(wider()->cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_YIELD));
    DRIVER(test_driver()->cuDevicePrimaryCtxGetState(0, &flags, &active));
    IS_TOLD(active, 1);
    IS_TOLD(flags, CU_CTX_SCHED_YIELD);
    DRIVER(wider()->cuCtxGetFlags(&flags));
    IS_TOLD(flags, CU_CTX_SCHED_YIELD | CU_CTX_MAP_HOST);
    ANSWERS(wider()->cuDevicePrimaryCtxSetFlags_v2(0, 0x100), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuDevicePrimaryCtxSetFlags_v2(99, 0), CUDA_ERROR_INVALID_DEVICE);
}

void row_a_reset_drops_the_flags_of_the_primary_context(void) {
    unsigned int flags = 0;
    int active = 9;
    DRIVER(wider()->cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_BLOCKING_SYNC));
    DRIVER(wider()->cuDevicePrimaryCtxReset_v2(0));
    DRIVER(test_driver()->cuDevicePrimaryCtxGetState(0, &flags, &active));
    IS_TOLD(active, 0);
    IS_TOLD(flags, 0);
}

void row_a_context_may_be_limited_to_nothing(void) {
    CUcontext context = NULL;
    CUctxCreateParams nothing = {0};
    WIDER_NEEDS(cuCtxCreate_v4);
    ANSWERS(wider()->cuCtxCreate_v3(&context, NULL, 1, 0, 0), CUDA_ERROR_INVALID_VALUE);
    DRIVER(wider()->cuCtxCreate_v4(&context, &nothing, 0, 0));
    REQUIRE(context == current());
    DRIVER(wider()->cuCtxCreate_v4(&context, NULL, 0, 0));
    REQUIRE(context == current());
    DRIVER(wider()->cuCtxCreate_v3(&context, NULL, 0, 0, 0));
    REQUIRE(context == current());
}

void row_a_share_of_a_device_needs_its_service(void) {
    CUcontext context = NULL;
    uint32_t one_multiprocessor[2] = {0, 1}; // the kind of the limit, and its value
    CUexecAffinityParam *limits = (CUexecAffinityParam *)(void *)one_multiprocessor;
    ANSWERS(wider()->cuCtxCreate_v3(&context, limits, 1, 0, 0),
            CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
}

void row_a_destroyed_context_tells_no_version(void) {
    CUcontext context = NULL;
    unsigned int version = 0;
    DRIVER(test_driver()->cuCtxCreate(&context, 0, 0));
    DRIVER(wider()->cuCtxGetApiVersion(context, &version));
    IS_TOLD(version, 3020);
    DRIVER(test_driver()->cuCtxDestroy(context));
    ANSWERS(wider()->cuCtxGetApiVersion(context, &version), CUDA_ERROR_INVALID_CONTEXT);
    test_forgive_complaints();
}

static uint64_t limit(int number) {
    size_t value = 0;
    DRIVER(wider()->cuCtxGetLimit(&value, (CUlimit)number));
    return value;
}

void row_a_new_context_has_these_limits(void) {
    CUcontext context = NULL;
    DRIVER(test_driver()->cuCtxCreate(&context, 0, 0));
    IS_TOLD(limit(CU_LIMIT_STACK_SIZE), 1024);
    IS_TOLD(limit(CU_LIMIT_PRINTF_FIFO_SIZE), 33 << 18);
    IS_TOLD(limit(CU_LIMIT_MALLOC_HEAP_SIZE), 8 << 20);
    IS_TOLD(limit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT), 2048);
    IS_TOLD(limit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY), 64);
    IS_TOLD(limit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE), 11796480);
}

void row_a_limit_that_a_device_lacks_is_unsupported(void) {
    size_t value = 0;
    need_capability_9_0();
    ANSWERS(wider()->cuCtxGetLimit(&value, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH),
            CUDA_ERROR_UNSUPPORTED_LIMIT);
    ANSWERS(wider()->cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 2),
            CUDA_ERROR_UNSUPPORTED_LIMIT);
    DRIVER(wider()->cuCtxGetLimit(&value, CU_LIMIT_SHMEM_SIZE));
    ANSWERS(wider()->cuCtxGetLimit(&value, (CUlimit)-1), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuCtxGetLimit(NULL, CU_LIMIT_STACK_SIZE), CUDA_ERROR_INVALID_VALUE);
}

void row_a_limit_beyond_what_a_device_has_is_invalid(void) {
    ANSWERS(wider()->cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2 << 20), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 129),
            CUDA_ERROR_INVALID_VALUE);
    IS_TOLD(limit(CU_LIMIT_STACK_SIZE), 1024);
}

void row_a_limit_that_is_set_is_told(void) {
    DRIVER(wider()->cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 16 << 20));
    IS_TOLD(limit(CU_LIMIT_PRINTF_FIFO_SIZE), 16 << 20);
    DRIVER(wider()->cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 32 << 20));
    IS_TOLD(limit(CU_LIMIT_MALLOC_HEAP_SIZE), 32 << 20);
    DRIVER(wider()->cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 128));
    IS_TOLD(limit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY), 128);
}

void row_a_contexts_preferred_cache_is_told_again(void) {
    CUfunc_cache cache = CU_FUNC_CACHE_PREFER_L1;
    DRIVER(wider()->cuCtxGetCacheConfig(&cache));
    IS_TOLD(cache, CU_FUNC_CACHE_PREFER_NONE);
    DRIVER(wider()->cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_SHARED));
    DRIVER(wider()->cuCtxGetCacheConfig(&cache));
    IS_TOLD(cache, CU_FUNC_CACHE_PREFER_SHARED);
    ANSWERS(wider()->cuCtxSetCacheConfig((CUfunc_cache)4), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuCtxGetCacheConfig(NULL), CUDA_ERROR_INVALID_VALUE);
}

void row_banks_of_shared_memory_are_four_bytes_wide(void) {
    CUsharedconfig config = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
    DRIVER(wider()->cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
    DRIVER(wider()->cuCtxGetSharedMemConfig(&config));
    IS_TOLD(config, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
    ANSWERS(wider()->cuCtxSetSharedMemConfig((CUsharedconfig)3), CUDA_ERROR_INVALID_VALUE);
}

void row_what_belongs_to_a_context_needs_one(void) {
    unsigned int flags = 0;
    size_t value = 0;
    int least = 0;
    test_use_no_context();
    ANSWERS(wider()->cuCtxGetFlags(&flags), CUDA_ERROR_INVALID_CONTEXT);
    ANSWERS(wider()->cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE), CUDA_ERROR_INVALID_CONTEXT);
    ANSWERS(wider()->cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096), CUDA_ERROR_INVALID_CONTEXT);
    ANSWERS(wider()->cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1), CUDA_ERROR_INVALID_CONTEXT);
    ANSWERS(wider()->cuCtxGetStreamPriorityRange(&least, &least), CUDA_ERROR_INVALID_CONTEXT);
    ANSWERS(wider()->cuCtxResetPersistingL2Cache(), CUDA_ERROR_INVALID_CONTEXT);
}

void row_a_profiler_needs_a_context(void) {
    DRIVER(wider()->cuProfilerStart());
    DRIVER(wider()->cuProfilerStop());
    test_use_no_context();
    ANSWERS(wider()->cuProfilerStart(), CUDA_ERROR_INVALID_CONTEXT);
    ANSWERS(wider()->cuProfilerStop(), CUDA_ERROR_INVALID_CONTEXT);
}

void row_contexts_of_one_device_are_no_peers(void) {
    CUcontext primary = current(), context = NULL;
    DRIVER(test_driver()->cuCtxCreate(&context, 0, 0));
    ANSWERS(wider()->cuCtxEnablePeerAccess(context, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    ANSWERS(wider()->cuCtxEnablePeerAccess(primary, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    ANSWERS(wider()->cuCtxEnablePeerAccess(primary, 1), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuCtxEnablePeerAccess(NULL, 0), CUDA_ERROR_INVALID_CONTEXT);
    ANSWERS(wider()->cuCtxDisablePeerAccess(primary), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
}
