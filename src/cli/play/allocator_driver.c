// CUDA's own pool, in a pool of its own rather than the device's default one: that one may hold
// memory that others allocated.
#include "cli/play/allocator.h"

static bool fail(struct sp_stage *stage, const char *what, CUresult result) {
    return sp_stage_fail(stage, "%s: %s", what, sp_driver_error_name(result));
}

static bool is_there(struct sp_stage *stage) {
    const struct sp_driver *driver = sp_stage_driver(stage);
    if (!driver->cuMemAllocFromPoolAsync || !driver->cuMemFreeAsync || !driver->cuMemPoolCreate ||
        !driver->cuMemPoolDestroy || !driver->cuMemPoolSetAttribute ||
        !driver->cuMemPoolGetAttribute || !driver->cuMemPoolTrimTo)
        return sp_stage_fail(stage, "the driver has no cuMemAllocAsync (new in CUDA 11.2)");
    if (!sp_device_attribute(driver, stage->device->handle,
                             CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED))
        return sp_stage_fail(stage, "the device has no memory pools (cuMemAllocAsync)");
    return true;
}

static bool driver_open(struct sp_stage *stage) {
    const struct sp_driver *driver = sp_stage_driver(stage);
    if (!is_there(stage))
        return false;
    CUmemPoolProps props = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = stage->device->ordinal},
    };
    CUresult result = driver->cuMemPoolCreate(&stage->driver_pool, &props);
    if (result != CUDA_SUCCESS)
        return fail(stage, "cuMemPoolCreate", result);
    result = driver->cuMemPoolSetAttribute(stage->driver_pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                           &stage->threshold);
    if (result == CUDA_SUCCESS)
        return true;
    driver->cuMemPoolDestroy(stage->driver_pool);
    return fail(stage, "cuMemPoolSetAttribute", result);
}

static bool driver_close(struct sp_stage *stage) {
    const struct sp_driver *driver = sp_stage_driver(stage);
    driver->cuCtxSynchronize();
    driver->cuMemPoolTrimTo(stage->driver_pool, 0);
    driver->cuMemPoolDestroy(stage->driver_pool);
    return true;
}

static bool driver_begin_pass(struct sp_stage *stage) {
    uint64_t reset = 0;
    CUresult result = sp_stage_driver(stage)->cuMemPoolSetAttribute(
        stage->driver_pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &reset);
    return result == CUDA_SUCCESS || fail(stage, "cuMemPoolSetAttribute", result);
}

static bool driver_reserved_peak(struct sp_stage *stage, uint64_t *bytes) {
    CUresult result = sp_stage_driver(stage)->cuMemPoolGetAttribute(
        stage->driver_pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, bytes);
    return result == CUDA_SUCCESS || fail(stage, "cuMemPoolGetAttribute", result);
}

static void driver_look(struct sp_stage *stage, struct sp_figures *figures) {
    const struct sp_driver *driver = sp_stage_driver(stage);
    uint64_t now, high;
    if (driver->cuMemPoolGetAttribute(stage->driver_pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
                                      &now) == CUDA_SUCCESS &&
        driver->cuMemPoolGetAttribute(stage->driver_pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
                                      &high) == CUDA_SUCCESS)
        sp_figures_note(figures, SP_FIGURE_RESERVED, now, high);
}

static int driver_allocate(struct sp_stage *stage, uint64_t *pointer, size_t size,
                           CUstream stream) {
    CUdeviceptr address = 0;
    CUresult result = CUDA_SUCCESS;
    if (size > 0)
        result = sp_stage_driver(stage)->cuMemAllocFromPoolAsync(&address, size, stage->driver_pool,
                                                                 stream);
    *pointer = address;
    return (int)result;
}

static int driver_free(struct sp_stage *stage, uint64_t pointer, size_t size, CUstream stream) {
    (void)size;
    return pointer ? (int)sp_stage_driver(stage)->cuMemFreeAsync(pointer, stream) : CUDA_SUCCESS;
}

static int driver_free_unordered(struct sp_stage *stage, uint64_t pointer, size_t size) {
    (void)size;
    return pointer ? (int)sp_stage_driver(stage)->cuMemFree(pointer) : CUDA_SUCCESS;
}

static int driver_trim(struct sp_stage *stage, uint64_t keep) {
    return (int)sp_stage_driver(stage)->cuMemPoolTrimTo(stage->driver_pool, keep);
}

const struct sp_allocator sp_allocator_driver = {
    .name = "driver",
    .title = "CUDA's pool",
    .open = driver_open,
    .close = driver_close,
    .begin_pass = driver_begin_pass,
    .reserved_peak = driver_reserved_peak,
    .look = driver_look,
    .allocate = driver_allocate,
    .free = driver_free,
    .free_unordered = driver_free_unordered,
    .trim = driver_trim,
    .order = sp_driver_order,
    .error_name = sp_driver_status_name,
};
