#include "vmm/device.h"

#include "base/checked.h"
#include "base/number.h"
#include "base/page_map.h"

static struct sp_outcome attribute(CUdevice device, CUdevice_attribute which, int *value) {
    return sp_outcome_of_driver(sp_driver->cuDeviceGetAttribute(value, which, device),
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
static struct sp_outcome granule_of(struct sp_vmm_device *device) {
    CUmemAllocationProp prop = sp_vmm_device_prop(device, CU_MEM_HANDLE_TYPE_NONE);
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuMemGetAllocationGranularity(
                                 &device->granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                             "cuMemGetAllocationGranularity");
    if (!sp_is_done(outcome))
        return outcome;
    if (!sp_is_power_of_two(device->granule))
        return sp_outcome_of(SP_NOT_SUPPORTED);
    device->granule = sp_max(device->granule, SP_PAGE_SIZE);
    return sp_outcome_done();
}

struct sp_outcome sp_vmm_device_open(int ordinal, struct sp_vmm_device *device) {
    struct sp_vmm_device opened = {.ordinal = ordinal};
    CUdevice handle;
    int has_vmm = 0;
    int exports_fd = 0;
    int rdma = 0;
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuDeviceGet(&handle, ordinal), "cuDeviceGet");
    if (!sp_is_done(outcome))
        return outcome;
    outcome = attribute(handle, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, &has_vmm);
    if (!sp_is_done(outcome))
        return outcome;
    if (!has_vmm)
        return sp_outcome_of(SP_NOT_SUPPORTED);
    outcome = attribute(handle, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
                        &exports_fd);
    if (!sp_is_done(outcome))
        return outcome;
    outcome = sp_outcome_of_driver(sp_driver->cuDeviceTotalMem(&opened.total_memory, handle),
                                   "cuDeviceTotalMem");
    if (!sp_is_done(outcome))
        return outcome;
    outcome = granule_of(&opened);
    if (!sp_is_done(outcome))
        return outcome;
    outcome = attribute(handle, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, &rdma);
    if (outcome.code == CUDA_ERROR_INVALID_VALUE)
        rdma = 0; // the driver is older than the question
    else if (!sp_is_done(outcome))
        return outcome;
    opened.exports_fd = exports_fd != 0;
    opened.rdma = rdma != 0;
    *device = opened;
    return sp_outcome_done();
}
