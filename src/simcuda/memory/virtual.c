#include "simcuda/memory/virtual.h"

#include <inttypes.h>
#include <stdbool.h>

#include "base/number.h"
#include "simcuda/common/shared.h"
#include "simcuda/memory/address.h"
#include "simcuda/memory/device.h"
#include "simcuda/memory/mapping.h"
#include "simcuda/queue/cost.h"
#include "simcuda/report/report.h"

static CUresult check_prop(const CUmemAllocationProp *prop) {
    if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE &&
        prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sim_device_exists(prop->location.id))
        return CUDA_ERROR_INVALID_DEVICE;
    if (sim_config.device[prop->location.id].vmm == simcudaVmmMissing)
        return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_SUCCESS;
}

CUresult sim_virtual_granularity(size_t *granularity, const CUmemAllocationProp *prop) {
    CUresult result = check_prop(prop);
    if (result == CUDA_SUCCESS)
        *granularity = sim_config.granule;
    return result;
}

static bool some_device_supports(void) {
    for (uint64_t i = 0; i < sim_config.devices; i++) {
        if (sim_config.device[i].vmm == simcudaVmmSupported)
            return true;
    }
    return false;
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

CUresult sim_virtual_create(CUmemGenericAllocationHandle *handle, size_t size,
                            const CUmemAllocationProp *prop, unsigned long long flags) {
    struct sim_extent *extent;
    CUresult result = check_prop(prop);
    if (result == CUDA_SUCCESS && (!handle || flags != 0))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = check_size("cuMemCreate", size);
    if (result != CUDA_SUCCESS)
        return result;
    if (sim_config.device[prop->location.id].vmm == simcudaVmmRefused)
        return CUDA_ERROR_NOT_SUPPORTED;
    bool shareable = prop->requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    result = sim_extent_create(SIM_EXTENT_OF_HANDLE, prop->location.id, size, shareable, &extent);
    if (result != CUDA_SUCCESS)
        return result;
    sim_now += sim_cost_extent(SIM_ENTRY_cuMemCreate, size);
    *handle = extent->handle;
    return CUDA_SUCCESS;
}

CUresult sim_virtual_release(CUmemGenericAllocationHandle handle) {
    struct sim_extent *extent = sim_extent_find(handle);
    if (!extent) {
        sim_report(simcudaReport_badMemoryHandle,
                   "cuMemRelease(0x%llx) names a handle that does not exist, or was released",
                   handle);
        return CUDA_ERROR_INVALID_VALUE;
    }
    sim_now += sim_cost_extent(SIM_ENTRY_cuMemRelease, extent->size);
    sim_extent_release(extent);
    return CUDA_SUCCESS;
}

CUresult sim_virtual_access(unsigned long long *flags, const CUmemLocation *location,
                            CUdeviceptr address) {
    const struct sim_mapping *mapping = sim_mapping_at(address);
    if (!flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE || !mapping)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sim_device_exists(location->id))
        return CUDA_ERROR_INVALID_DEVICE;
    *flags = mapping->access[location->id];
    return CUDA_SUCCESS;
}
