#include "simcuda/memory/virtual.h"

#include <inttypes.h>
#include <stdbool.h>

#include "base/number.h"
#include "simcuda/common/shared.h"
#include "simcuda/entry/abi.h"
#include "simcuda/memory/address.h"
#include "simcuda/memory/device.h"
#include "simcuda/memory/mapping.h"
#include "simcuda/queue/cost.h"
#include "simcuda/report/report.h"

static bool some_device_supports(void) {
    for (uint64_t i = 0; i < sim_config.devices; i++) {
        if (sim_config.device[i].vmm == simcudaVmmSupported)
            return true;
    }
    return false;
}

static CUresult check_device(const CUmemAllocationProp *prop) {
    if (prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE &&
        prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!sim_device_exists(prop->location.id))
        return CUDA_ERROR_INVALID_DEVICE;
    if (sim_config.device[prop->location.id].vmm == simcudaVmmMissing)
        return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_SUCCESS;
}

// Memory that names no node is never shared with other processes.
static bool is_host_handle_type(const CUmemAllocationProp *prop) {
    bool has_node = (int)prop->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
    return prop->requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE ||
           (has_node && prop->requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

// Memory of the host that names no node is of the first one.
static int node_of(const CUmemLocation *location) {
    return location->type == CU_MEM_LOCATION_TYPE_HOST ? 0 : location->id;
}

static CUresult check_host(const CUmemAllocationProp *prop) {
    int node = node_of(&prop->location);
    if (!sim_device_knows_host() || !is_host_handle_type(prop) || node < 0 ||
        (uint64_t)node >= sim_config.nodes)
        return CUDA_ERROR_INVALID_VALUE;
    if (sim_config.hostVmm == simcudaVmmMissing || !some_device_supports())
        return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_SUCCESS;
}

static bool is_of_host(const CUmemAllocationProp *prop) {
    return prop->location.type == CU_MEM_LOCATION_TYPE_HOST ||
           (int)prop->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
}

static CUresult check_prop(const CUmemAllocationProp *prop) {
    if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (is_of_host(prop))
        return check_host(prop);
    return prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? check_device(prop)
                                                              : CUDA_ERROR_INVALID_VALUE;
}

// As seen on an H200 a granule is told also of memory that can't be made: that of other places, of
// nodes that there aren't, and managed memory.
static CUresult check_asked(const CUmemAllocationProp *prop) {
    if (!prop || (prop->type != CU_MEM_ALLOCATION_TYPE_PINNED &&
                  prop->type != CU_MEM_ALLOCATION_TYPE_MANAGED))
        return CUDA_ERROR_INVALID_VALUE;
    if (prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
        return check_device(prop);
    if (!sim_device_knows_host() ||
        (unsigned)prop->location.type > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
        return CUDA_ERROR_INVALID_VALUE;
    return some_device_supports() ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_virtual_granularity(size_t *granularity, const CUmemAllocationProp *prop) {
    CUresult result = check_asked(prop);
    if (result == CUDA_SUCCESS)
        *granularity = sim_config.granule;
    return result;
}

static CUresult check_size(const char *call, uint64_t size) {
    if (size != 0 && size % sim_config.granule == 0)
        return CUDA_SUCCESS;
    sim_report(simcudaReport_wrongGranule,
               "%s of %" PRIu64 " bytes has a size that is no multiple of the granule", call, size);
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_virtual_reserve(CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr hint,
                             unsigned long long flags) {
    uint64_t result_address;
    if (!some_device_supports())
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!address || flags != 0 || (alignment != 0 && !sp_is_power_of_two(alignment)))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_size("cuMemAddressReserve", size);
    if (result != CUDA_SUCCESS)
        return result;
    if (alignment < sim_config.granule)
        alignment = sim_config.granule;
    result = sim_range_reserve(size, alignment, hint, &result_address);
    if (result != CUDA_SUCCESS)
        return result;
    sim_now += sim_cost_extent(SIM_ENTRY_cuMemAddressReserve, size);
    *address = result_address;
    return CUDA_SUCCESS;
}

CUresult sim_virtual_free(CUdeviceptr address, size_t size) {
    if (!sim_range_exists(address, size)) {
        sim_report(simcudaReport_notReserved,
                   "cuMemAddressFree(0x%llx, %zu bytes) names a range that cuMemAddressReserve did "
                   "not give",
                   address, size);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!sim_mapping_none_in(address, size)) {
        sim_report(
            simcudaReport_freeMappedRange,
            "cuMemAddressFree(0x%llx, %zu bytes) frees a range in which memory is still mapped",
            address, size);
        return CUDA_ERROR_INVALID_VALUE;
    }
    sim_now += sim_cost_extent(SIM_ENTRY_cuMemAddressFree, size);
    sim_range_free(address, size);
    return CUDA_SUCCESS;
}

static CUresult create_extent(size_t size, const CUmemAllocationProp *prop,
                              struct sim_extent **extent) {
    bool shareable = prop->requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    if (!is_of_host(prop))
        return sim_config.device[prop->location.id].vmm == simcudaVmmRefused
                   ? CUDA_ERROR_NOT_SUPPORTED
                   : sim_extent_create(SIM_EXTENT_OF_HANDLE, prop->location.id, size, shareable,
                                       extent);
    CUresult result = sim_extent_create(SIM_EXTENT_OF_HANDLE, SIM_HOST, size, shareable, extent);
    if (result == CUDA_SUCCESS)
        (*extent)->node = node_of(&prop->location);
    return result;
}

static uint64_t cost_of(enum sim_entry entry, const struct sim_extent *extent) {
    return sim_extent_is_of_host(extent) ? sim_cost_host_extent(entry, extent->size)
                                         : sim_cost_extent(entry, extent->size);
}

CUresult sim_virtual_create(CUmemGenericAllocationHandle *handle, size_t size,
                            const CUmemAllocationProp *prop, unsigned long long flags) {
    struct sim_extent *extent;
    CUresult result = check_prop(prop);
    if (result == CUDA_SUCCESS && (!handle || flags != 0))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = check_size("cuMemCreate", size);
    if (result == CUDA_SUCCESS)
        result = create_extent(size, prop, &extent);
    if (result != CUDA_SUCCESS)
        return result;
    sim_now += cost_of(SIM_ENTRY_cuMemCreate, extent);
    *handle = extent->handle;
    return CUDA_SUCCESS;
}

static CUresult report_no_handle(const char *call, CUmemGenericAllocationHandle handle) {
    sim_report(simcudaReport_badMemoryHandle,
               "%s(0x%llx) names a handle that does not exist, or was released", call, handle);
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_virtual_properties(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle) {
    const struct sim_extent *extent = sim_extent_find(handle);
    if (!prop)
        return CUDA_ERROR_INVALID_VALUE;
    if (!extent)
        return report_no_handle("cuMemGetAllocationPropertiesFromHandle", handle);
    bool is_of_host = sim_extent_is_of_host(extent);
    *prop = (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes =
            extent->shareable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = extent->device}};
    if (is_of_host)
        prop->location = (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST_NUMA, extent->node};
    return CUDA_SUCCESS;
}

CUresult sim_virtual_release(CUmemGenericAllocationHandle handle) {
    struct sim_extent *extent = sim_extent_find(handle);
    if (!extent)
        return report_no_handle("cuMemRelease", handle);
    sim_now += cost_of(SIM_ENTRY_cuMemRelease, extent);
    sim_extent_release(extent);
    return CUDA_SUCCESS;
}

CUresult sim_virtual_access(unsigned long long *flags, const CUmemLocation *location,
                            CUdeviceptr address) {
    const struct sim_mapping *mapping = sim_mapping_at(address);
    int accessor;
    if (!flags || !location || !mapping)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_mapping_find_accessor(location, &accessor);
    if (result != CUDA_SUCCESS)
        return result;
    if (accessor == SIM_HOST && !sim_extent_is_of_host(mapping->extent))
        return CUDA_ERROR_INVALID_VALUE;
    *flags = mapping->access[accessor];
    return CUDA_SUCCESS;
}
