#include "vmm/access.h"

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
