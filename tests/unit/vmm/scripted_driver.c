#include "unit/vmm/scripted_driver.h"

#include <string.h>

struct scripted_state scripted;

// Counts the call; the error that it has to return, if any.
static CUresult enter(enum scripted_entry entry) {
    scripted.calls[entry]++;
    if (scripted.fail_nth == 0 || scripted.fail != entry || --scripted.fail_nth > 0)
        return CUDA_SUCCESS;
    return scripted.fail_error;
}

static CUresult refuse(void) {
    scripted.misuse++;
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult device_get(CUdevice *device, int ordinal) {
    CUresult error = enter(SCRIPTED_cuDeviceGet);
    if (error != CUDA_SUCCESS)
        return error;
    if (ordinal < 0 || ordinal >= scripted.devices)
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal + 100; // a handle is not an ordinal
    return CUDA_SUCCESS;
}

static CUresult device_get_attribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    CUresult error = enter(SCRIPTED_cuDeviceGetAttribute);
    if (error != CUDA_SUCCESS)
        return error;
    if (device < 100)
        return refuse();
    if (attribute == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)
        *value = scripted.has_vmm;
    else if (attribute == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED)
        *value = scripted.exports_fd;
    else if (attribute == CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED &&
             scripted.rdma >= 0)
        *value = scripted.rdma;
    else if (attribute == CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED)
        return CUDA_ERROR_INVALID_VALUE;
    else
        return refuse();
    return CUDA_SUCCESS;
}

static CUresult device_total_mem(size_t *bytes, CUdevice device) {
    CUresult error = enter(SCRIPTED_cuDeviceTotalMem);
    if (error != CUDA_SUCCESS)
        return error;
    if (device < 100)
        return refuse();
    *bytes = scripted.total_memory;
    return CUDA_SUCCESS;
}

static CUresult granularity(size_t *bytes, const CUmemAllocationProp *prop,
                            CUmemAllocationGranularity_flags option) {
    CUresult error = enter(SCRIPTED_cuMemGetAllocationGranularity);
    if (error != CUDA_SUCCESS)
        return error;
    if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        option != CU_MEM_ALLOC_GRANULARITY_MINIMUM)
        return refuse();
    *bytes = scripted.granule;
    return CUDA_SUCCESS;
}

// Ranges lie far apart from each other, but for those that a test asks to be neighbours by their
// size.
static CUresult address_reserve(CUdeviceptr *address, size_t size, size_t alignment,
                                CUdeviceptr hint, unsigned long long flags) {
    CUresult error = enter(SCRIPTED_cuMemAddressReserve);
    scripted.last_alignment = alignment;
    if (error != CUDA_SUCCESS)
        return error;
    if (size == 0 || size % scripted.granule != 0 || hint != 0 || flags != 0)
        return refuse();
    if (size > scripted.most_reserved || scripted.range_count == SCRIPTED_MOST)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUdeviceptr end = (CUdeviceptr)1 << 44;
    for (int i = 0; i < scripted.range_count; i++)
        end = scripted.ranges[i].address + scripted.ranges[i].size;
    *address = end;
    scripted.ranges[scripted.range_count++] = (struct scripted_range){end, size};
    return CUDA_SUCCESS;
}

static CUresult address_free(CUdeviceptr address, size_t size) {
    CUresult error = enter(SCRIPTED_cuMemAddressFree);
    if (error != CUDA_SUCCESS)
        return error;
    for (int i = 0; i < scripted.range_count; i++) {
        if (scripted.ranges[i].address != address || scripted.ranges[i].size != size)
            continue;
        scripted.ranges[i] = scripted.ranges[--scripted.range_count];
        return CUDA_SUCCESS;
    }
    return refuse();
}

static struct scripted_extent *extent_of(CUmemGenericAllocationHandle handle) {
    struct scripted_extent *extent = handle >= 1 && handle <= (unsigned)scripted.extent_count
                                         ? &scripted.extents[handle - 1]
                                         : NULL;
    return extent && extent->created ? extent : NULL;
}

static CUresult mem_create(CUmemGenericAllocationHandle *handle, size_t size,
                           const CUmemAllocationProp *prop, unsigned long long flags) {
    CUresult error = enter(SCRIPTED_cuMemCreate);
    if (error != CUDA_SUCCESS)
        return error;
    if (size == 0 || size % scripted.granule != 0 || flags != 0 ||
        prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return refuse();
    scripted.extents[scripted.extent_count++] =
        (struct scripted_extent){.created = true, .size = size, .prop = *prop};
    *handle = (CUmemGenericAllocationHandle)scripted.extent_count;
    return CUDA_SUCCESS;
}

static CUresult mem_map(CUdeviceptr address, size_t size, size_t offset,
                        CUmemGenericAllocationHandle handle, unsigned long long flags) {
    CUresult error = enter(SCRIPTED_cuMemMap);
    struct scripted_extent *extent = extent_of(handle);
    if (error != CUDA_SUCCESS)
        return error;
    if (!extent || extent->released || extent->mapped_at || size != extent->size || offset != 0 ||
        flags != 0)
        return refuse();
    extent->mapped_at = address;
    return CUDA_SUCCESS;
}

static struct scripted_extent *mapping(CUdeviceptr address) {
    for (int i = 0; i < scripted.extent_count; i++) {
        if (scripted.extents[i].created && scripted.extents[i].mapped_at == address)
            return &scripted.extents[i];
    }
    return NULL;
}

static CUresult mem_set_access(CUdeviceptr address, size_t size, const CUmemAccessDesc *access,
                               size_t count) {
    CUresult error = enter(SCRIPTED_cuMemSetAccess);
    struct scripted_extent *extent = mapping(address);
    if (error != CUDA_SUCCESS)
        return error;
    if (!extent || extent->size != size || count != 1 ||
        access->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE ||
        access->location.id != extent->prop.location.id)
        return refuse();
    extent->accessible = true;
    return CUDA_SUCCESS;
}

// Memory goes with its handle and its mapping, whichever is last.
static void end_if_unused(struct scripted_extent *extent) {
    if (extent->released && !extent->mapped_at)
        *extent = (struct scripted_extent){0};
}

static CUresult mem_unmap(CUdeviceptr address, size_t size) {
    CUresult error = enter(SCRIPTED_cuMemUnmap);
    struct scripted_extent *extent = mapping(address);
    if (error != CUDA_SUCCESS)
        return error;
    if (!extent || extent->size != size)
        return refuse();
    extent->mapped_at = 0;
    end_if_unused(extent);
    return CUDA_SUCCESS;
}

static CUresult mem_release(CUmemGenericAllocationHandle handle) {
    CUresult error = enter(SCRIPTED_cuMemRelease);
    struct scripted_extent *extent = extent_of(handle);
    if (error != CUDA_SUCCESS)
        return error;
    if (!extent || extent->released)
        return refuse();
    extent->released = true;
    end_if_unused(extent);
    return CUDA_SUCCESS;
}

static const struct sp_driver driver = {
    .cuDeviceGet = device_get,
    .cuDeviceGetAttribute = device_get_attribute,
    .cuDeviceTotalMem = device_total_mem,
    .cuMemGetAllocationGranularity = granularity,
    .cuMemAddressReserve = address_reserve,
    .cuMemAddressFree = address_free,
    .cuMemCreate = mem_create,
    .cuMemMap = mem_map,
    .cuMemSetAccess = mem_set_access,
    .cuMemUnmap = mem_unmap,
    .cuMemRelease = mem_release,
};

void scripted_install(void) {
    scripted = (struct scripted_state){
        .devices = 1,
        .has_vmm = 1,
        .granule = (size_t)2 << 20,
        .total_memory = (size_t)16 << 30,
        .most_reserved = SIZE_MAX,
    };
    sp_driver = &driver;
}

void scripted_fail(enum scripted_entry entry, uint64_t nth, CUresult error) {
    scripted.fail = entry;
    scripted.fail_nth = nth;
    scripted.fail_error = error;
}

size_t scripted_physical_bytes(void) {
    size_t bytes = 0;
    for (int i = 0; i < scripted.extent_count; i++)
        bytes += scripted.extents[i].created ? scripted.extents[i].size : 0;
    return bytes;
}

int scripted_mappings(void) {
    int count = 0;
    for (int i = 0; i < scripted.extent_count; i++)
        count += scripted.extents[i].created && scripted.extents[i].mapped_at;
    return count;
}

const struct scripted_extent *scripted_mapping_at(CUdeviceptr address) {
    return mapping(address);
}
