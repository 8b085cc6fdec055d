// The driver's call that tells what a device can do: where the driver has no pools, ours are there.
// Nothing starts by the question.
#include "dropin/real.h"
#include "dropin/served.h"

static CUresult ask(CUdevice_attribute attribute, CUdevice device, int *value) {
    return sp_real_call(cuDeviceGetAttribute, (value, attribute, device));
}

// A driver that is older than the question doesn't know the attribute.
static bool has_pools(CUdevice device) {
    int value = 0;
    return ask(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device, &value) == CUDA_SUCCESS && value;
}

// With virtual memory management or without. A device that there isn't has neither.
static bool can_have_ours(CUdevice device) {
    int value = 0;
    return !sp_served_is_refused() &&
           ask(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, device, &value) == CUDA_SUCCESS && value;
}

// These came with CUDA 13.0.
enum { HOST_NUMA_MEMORY_POOLS_SUPPORTED = 142, HOST_MEMORY_POOLS_SUPPORTED = 144 };

static bool is_about_host(CUdevice_attribute attribute) {
    return (int)attribute == HOST_MEMORY_POOLS_SUPPORTED ||
           (int)attribute == HOST_NUMA_MEMORY_POOLS_SUPPORTED;
}

static bool is_about_pools(CUdevice_attribute attribute) {
    return is_about_host(attribute) || attribute == CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED ||
           attribute == CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES;
}

// Pools that can be exported are the driver's: where it has none, there is no type of handle. Those
// of a node need memory that the driver maps.
static int ours(CUdevice_attribute attribute, CUdevice device) {
    int maps_nodes = 0;
    if ((int)attribute == HOST_NUMA_MEMORY_POOLS_SUPPORTED)
        return ask(CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device,
                   &maps_nodes) == CUDA_SUCCESS &&
               maps_nodes;
    return attribute != CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    CUresult result = ask(attribute, device, value);
    bool is_known = result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_VALUE;
    if (!value || !is_known || !is_about_pools(attribute))
        return result;
    bool has = is_about_host(attribute) ? result == CUDA_SUCCESS && *value : has_pools(device);
    if (has || !can_have_ours(device))
        return result;
    *value = ours(attribute, device);
    return CUDA_SUCCESS;
}
