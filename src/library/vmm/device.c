#include "vmm/device.h"

#include "base/log.h"
#include "base/number.h"
#include "base/options.h"
#include "base/page_map.h"

const struct sp_vmm_provider sp_vmm_virtual = {
    .joins = true, .divides = true, .lets_peers_in = true};
const struct sp_vmm_provider sp_vmm_plain = {.is_of_context = true, .waits_to_give = true};

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

// Asks what a device with virtual memory management can do. The unit of mappings is made a whole
// number of pages of the page map, which finds a block by its page.
static struct sp_outcome ask_vmm(CUdevice handle, struct sp_vmm_device *device) {
    int exports_fd = 0, rdma = 0;
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
    outcome = attribute(handle, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
                        &exports_fd);
    if (!sp_is_done(outcome))
        return outcome;
    outcome = attribute(handle, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, &rdma);
    if (outcome.code == CUDA_ERROR_INVALID_VALUE)
        rdma = 0; // the driver is older than the question
    else if (!sp_is_done(outcome))
        return outcome;
    device->exports_fd = exports_fd != 0;
    device->rdma = rdma != 0;
    return sp_outcome_done();
}

struct sp_outcome sp_vmm_device_open(int ordinal, struct sp_vmm_device *device) {
    struct sp_vmm_device opened = {.ordinal = ordinal};
    CUdevice handle = 0;
    int has_vmm = 0;
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuDeviceGet(&handle, ordinal), "cuDeviceGet");
    if (sp_is_done(outcome))
        outcome =
            attribute(handle, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, &has_vmm);
    if (sp_is_done(outcome))
        outcome = sp_outcome_of_driver(sp_driver->cuDeviceTotalMem(&opened.total_memory, handle),
                                       "cuDeviceTotalMem");
    if (sp_is_done(outcome) && has_vmm && sp_options()->vmm) {
        outcome = ask_vmm(handle, &opened);
    } else if (sp_is_done(outcome)) {
        opened.granule = SP_PLAIN_GRANULE;
        atomic_init(&opened.means, SP_VMM_PLAIN);
        sp_log_info("device %d maps no virtual memory: its pools use cuMemAlloc", ordinal);
    }
    if (sp_is_done(outcome))
        *device = opened;
    return outcome;
}

bool sp_vmm_device_change_from(struct sp_vmm_device *device,
                               const struct sp_vmm_provider *provider) {
    int untried = SP_VMM_UNTRIED;
    if (atomic_compare_exchange_strong(&device->means, &untried, SP_VMM_PLAIN))
        sp_log_info("device %d refuses to map virtual memory: its pools use cuMemAlloc",
                    device->ordinal);
    return sp_vmm_provider(device) != provider;
}

// ------------------------------------------------------------------------------------------ access

static CUmemAccessDesc descriptor_of(int ordinal, CUmemAccess_flags flags) {
    return (CUmemAccessDesc){{CU_MEM_LOCATION_TYPE_DEVICE, ordinal}, flags};
}

void sp_access_clear(struct sp_access *access) {
    for (int ordinal = 0; ordinal < SP_ACCESS_DEVICES; ordinal++)
        sp_access_note(access, ordinal, CU_MEM_ACCESS_FLAGS_PROT_NONE);
}

bool sp_access_has_peers(const struct sp_access *access) {
    bool any = false;
    for (int ordinal = 0; ordinal < SP_ACCESS_DEVICES; ordinal++)
        any = any || sp_access_of(access, ordinal) != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return any;
}

struct sp_outcome sp_access_set(CUdeviceptr address, size_t size,
                                const CUmemAccessDesc *descriptors, size_t count) {
    return sp_outcome_of_driver(sp_driver->cuMemSetAccess(address, size, descriptors, count),
                                "cuMemSetAccess");
}

struct sp_outcome sp_access_give(const struct sp_access *access, const struct sp_vmm_device *device,
                                 CUdeviceptr address, size_t size) {
    CUmemAccessDesc descriptors[SP_ACCESS_DEVICES + 1];
    size_t count = 0;
    descriptors[count++] = descriptor_of(device->ordinal, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    for (int ordinal = 0; access && ordinal < SP_ACCESS_DEVICES; ordinal++) {
        CUmemAccess_flags flags = sp_access_of(access, ordinal);
        if (flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
            descriptors[count++] = descriptor_of(ordinal, flags);
    }
    return sp_access_set(address, size, descriptors, count);
}

struct sp_outcome sp_access_is_possible(const struct sp_vmm_device *device, int peer,
                                        bool *possible) {
    CUdevice own, other;
    int can = 0;
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuDeviceGet(&own, device->ordinal), "cuDeviceGet");
    if (sp_is_done(outcome))
        outcome = sp_outcome_of_driver(sp_driver->cuDeviceGet(&other, peer), "cuDeviceGet");
    if (sp_is_done(outcome))
        outcome = sp_outcome_of_driver(sp_driver->cuDeviceCanAccessPeer(&can, other, own),
                                       "cuDeviceCanAccessPeer");
    *possible = can != 0;
    return outcome;
}
