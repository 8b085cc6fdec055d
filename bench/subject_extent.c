// The floor of growth and trim: the driver's calls for one extent, in address space that is
// reserved already. There is one block at a time. An extent at NUMA node 0 is for the host and the
// device.
#include "subject.h"

#include <stdlib.h>

enum { RANGE_GIB = 64 }; // the largest block

struct extent {
    const CUmemAllocationProp *properties;
    size_t user_count; // the first ones of `users`
    CUdeviceptr address;
    size_t granule;
    CUmemGenericAllocationHandle handle;
    size_t size;   // 0: there is none
    size_t mapped; // all of it, or 0
};

static const CUmemAllocationProp on_device = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                              .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};

static const CUmemAllocationProp on_node = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                            .location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}};

static const CUmemAccessDesc users[] = {
    {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
    {{CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};

static size_t range(void) {
    return (size_t)RANGE_GIB << 30;
}

static int open_at(struct subject *subject, uint64_t threshold,
                   const CUmemAllocationProp *properties, size_t user_count) {
    const struct sp_driver *driver = subject->driver;
    struct extent *extent = calloc(1, sizeof *extent);
    if (!extent)
        return CUDA_ERROR_OUT_OF_MEMORY;
    extent->properties = properties;
    extent->user_count = user_count;
    CUresult error = driver->cuMemGetAllocationGranularity(&extent->granule, properties,
                                                           CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    if (error == CUDA_SUCCESS)
        error = driver->cuMemAddressReserve(&extent->address, range(), 0, 0, 0);
    if (error != CUDA_SUCCESS) {
        free(extent);
        return (int)error;
    }
    subject->pool = extent;
    subject->threshold = threshold;
    return 0;
}

static int open_extent(struct subject *subject, uint64_t threshold) {
    return open_at(subject, threshold, &on_device, 1);
}

static int open_node_extent(struct subject *subject, uint64_t threshold) {
    int at_node = 0;
    subject->driver->cuDeviceGetAttribute(
        &at_node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0);
    return at_node ? open_at(subject, threshold, &on_node, 2) : CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult unmap_and_release(const struct sp_driver *driver, struct extent *extent) {
    CUresult error =
        extent->mapped ? driver->cuMemUnmap(extent->address, extent->mapped) : CUDA_SUCCESS;
    if (error == CUDA_SUCCESS && extent->size)
        error = driver->cuMemRelease(extent->handle);
    extent->size = extent->mapped = 0;
    return error;
}

static int close_extent(struct subject *subject) {
    struct extent *extent = subject->pool;
    if (!extent)
        return 0;
    CUresult error = unmap_and_release(subject->driver, extent);
    CUresult freed = subject->driver->cuMemAddressFree(extent->address, range());
    free(extent);
    subject->pool = NULL;
    return (int)(error != CUDA_SUCCESS ? error : freed);
}

static int allocate_extent(const struct subject *subject, void **pointer, size_t size,
                           CUstream stream) {
    (void)stream;
    const struct sp_driver *driver = subject->driver;
    struct extent *extent = subject->pool;
    size = (size + extent->granule - 1) / extent->granule * extent->granule;
    if (extent->size || size > range())
        return CUDA_ERROR_INVALID_VALUE;
    CUresult error = driver->cuMemCreate(&extent->handle, size, extent->properties, 0);
    if (error != CUDA_SUCCESS)
        return (int)error;
    extent->size = size;
    error = driver->cuMemMap(extent->address, size, 0, extent->handle, 0);
    if (error != CUDA_SUCCESS)
        return (int)error;
    extent->mapped = size;
    *pointer = (void *)(uintptr_t)extent->address;
    return (int)driver->cuMemSetAccess(extent->address, size, users, extent->user_count);
}

// The next synchronise gives it back.
static int release_extent(const struct subject *subject, void *pointer, CUstream stream) {
    (void)subject, (void)pointer, (void)stream;
    return 0;
}

static int synchronize_extent(const struct subject *subject, CUstream stream) {
    CUresult error = subject->driver->cuStreamSynchronize(stream);
    return (int)(error == CUDA_SUCCESS ? unmap_and_release(subject->driver, subject->pool) : error);
}

const struct subject subject_extent = {.role = SUBJECT_IS_FLOOR,
                                       .open = open_extent,
                                       .close = close_extent,
                                       .allocate = allocate_extent,
                                       .release = release_extent,
                                       .synchronize = synchronize_extent};

const struct subject subject_node_extent = {.role = SUBJECT_IS_FLOOR,
                                            .open = open_node_extent,
                                            .close = close_extent,
                                            .allocate = allocate_extent,
                                            .release = release_extent,
                                            .synchronize = synchronize_extent};
