#include "vmm/device.h"

#include "base/checked.h"
#include "base/number.h"
#include "base/page_map.h"

static CUresult attribute(CUdevice device, CUdevice_attribute which, int *value) {
    return sp_native_noted(sp_driver->cuDeviceGetAttribute(value, which, device),
                           "cuDeviceGetAttribute");
}

CUmemAllocationProp sp_vmm_device_prop(const struct sp_vmm_device *device,
                                       CUmemAllocationHandleType handles) {
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .requestedHandleTypes = handles,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, device->ordinal}};
    return prop;
}

// Asks for the unit of mappings, and makes it a whole number of pages of the page map, which finds
// a block by its page.
static CUresult granule_of(struct sp_vmm_device *device) {
    CUmemAllocationProp prop = sp_vmm_device_prop(device, CU_MEM_HANDLE_TYPE_NONE);
    CUresult error = sp_driver->cuMemGetAllocationGranularity(&device->granule, &prop,
                                                              CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    if (error != CUDA_SUCCESS)
        return sp_native_noted(error, "cuMemGetAllocationGranularity");
    if (!sp_is_power_of_two(device->granule))
        return CUDA_ERROR_NOT_SUPPORTED;
    device->granule = sp_max(device->granule, SP_PAGE_SIZE);
    return CUDA_SUCCESS;
}

CUresult sp_vmm_device_open(int ordinal, struct sp_vmm_device *device) {
    struct sp_vmm_device opened = {.ordinal = ordinal};
    CUdevice handle;
    int has_vmm = 0;
    int exports_fd = 0;
    int rdma = 0;
    CUresult error = sp_native_noted(sp_driver->cuDeviceGet(&handle, ordinal), "cuDeviceGet");
    if (error != CUDA_SUCCESS)
        return error;
    error = attribute(handle, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, &has_vmm);
    if (error != CUDA_SUCCESS)
        return error;
    if (!has_vmm)
        return CUDA_ERROR_NOT_SUPPORTED;
    error = attribute(handle, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
                      &exports_fd);
    if (error != CUDA_SUCCESS)
        return error;
    error = sp_native_noted(sp_driver->cuDeviceTotalMem(&opened.total_memory, handle),
                            "cuDeviceTotalMem");
    if (error != CUDA_SUCCESS)
        return error;
    error = granule_of(&opened);
    if (error != CUDA_SUCCESS)
        return error;
    error = attribute(handle, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, &rdma);
    if (error == CUDA_ERROR_INVALID_VALUE)
        rdma = 0; // the driver is older than the question
    else if (error != CUDA_SUCCESS)
        return error;
    opened.exports_fd = exports_fd != 0;
    opened.rdma = rdma != 0;
    *device = opened;
    return CUDA_SUCCESS;
}
