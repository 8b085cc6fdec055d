#include "floor.h"

#include "samples.h"

#include <stdlib.h>

// One range: first where the extents are mapped already, then where they are mapped again.
struct extents {
    const struct sp_driver *driver;
    size_t count;
    size_t size;
    CUmemGenericAllocationHandle *handles;
    size_t created;
    CUdeviceptr address;
    size_t mapped; // from the begin of the range
};

static CUmemAllocationProp properties(void) {
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
}

static CUresult round_up_to_granule(struct extents *extents) {
    CUmemAllocationProp prop = properties();
    size_t granule = 1;
    CUresult error = extents->driver->cuMemGetAllocationGranularity(
        &granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    extents->size = (extents->size + granule - 1) / granule * granule;
    return error;
}

static CUresult create_all(struct extents *extents) {
    CUmemAllocationProp prop = properties();
    CUresult error = CUDA_SUCCESS;
    while (extents->created < extents->count && error == CUDA_SUCCESS) {
        error = extents->driver->cuMemCreate(&extents->handles[extents->created], extents->size,
                                             &prop, 0);
        extents->created += error == CUDA_SUCCESS;
    }
    return error;
}

// Each once, behind what is mapped so far.
static CUresult map_all(struct extents *extents) {
    const struct sp_driver *driver = extents->driver;
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr begin = extents->address + extents->mapped * extents->size;
    CUresult error = CUDA_SUCCESS;
    for (size_t i = 0; i < extents->count && error == CUDA_SUCCESS; i++) {
        error =
            driver->cuMemMap(begin + i * extents->size, extents->size, 0, extents->handles[i], 0);
        extents->mapped += error == CUDA_SUCCESS;
    }
    return error == CUDA_SUCCESS
               ? driver->cuMemSetAccess(begin, extents->count * extents->size, &access, 1)
               : error;
}

static CUresult map_twice(struct extents *extents, double *microseconds) {
    CUresult error = map_all(extents);
    double begin = samples_clock();
    if (error == CUDA_SUCCESS)
        error = map_all(extents);
    *microseconds = (samples_clock() - begin) / 1000;
    return error;
}

static CUresult unmap_and_release(const struct extents *extents) {
    CUresult error =
        extents->mapped > 0
            ? extents->driver->cuMemUnmap(extents->address, extents->mapped * extents->size)
            : CUDA_SUCCESS;
    for (size_t i = 0; i < extents->created; i++)
        extents->driver->cuMemRelease(extents->handles[i]);
    return error;
}

static CUresult measure_in_range(struct extents *extents, double *microseconds) {
    size_t range = 2 * extents->count * extents->size;
    CUresult error = extents->driver->cuMemAddressReserve(&extents->address, range, 0, 0, 0);
    if (error != CUDA_SUCCESS)
        return error;
    error = create_all(extents);
    if (error == CUDA_SUCCESS)
        error = map_twice(extents, microseconds);
    CUresult unmapped = unmap_and_release(extents);
    extents->driver->cuMemAddressFree(extents->address, range);
    return error != CUDA_SUCCESS ? error : unmapped;
}

// Maps an extent at the begin of the range, as a pool does that has reserved it before.
static CUresult create_and_map(struct extents *extents, double *microseconds) {
    double begin = samples_clock();
    CUresult error = create_all(extents);
    if (error == CUDA_SUCCESS)
        error = map_all(extents);
    *microseconds = (samples_clock() - begin) / 1000;
    return error;
}

int floor_measure_growth(const struct sp_driver *driver, size_t size, double *microseconds) {
    CUmemGenericAllocationHandle handle;
    struct extents extents = {.driver = driver, .count = 1, .size = size, .handles = &handle};
    CUresult error = round_up_to_granule(&extents);
    if (error == CUDA_SUCCESS)
        error = driver->cuMemAddressReserve(&extents.address, extents.size, 0, 0, 0);
    if (error != CUDA_SUCCESS)
        return (int)error;
    error = create_and_map(&extents, microseconds);
    CUresult unmapped = unmap_and_release(&extents);
    driver->cuMemAddressFree(extents.address, extents.size);
    return (int)(error != CUDA_SUCCESS ? error : unmapped);
}

int floor_measure(const struct sp_driver *driver, size_t count, size_t size, double *microseconds) {
    struct extents extents = {.driver = driver, .count = count, .size = size};
    CUresult error = round_up_to_granule(&extents);
    if (error != CUDA_SUCCESS)
        return (int)error;
    extents.handles = calloc(count, sizeof *extents.handles);
    if (!extents.handles)
        return CUDA_ERROR_OUT_OF_MEMORY;
    error = measure_in_range(&extents, microseconds);
    free(extents.handles);
    return (int)error;
}
