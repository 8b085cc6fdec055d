// CUDA's own pool, in a pool of its own rather than the device's default one: that one may hold memory that
// others allocated.
#include "cli/allocator.h"

static const struct sp_driver *driver_of(const struct sp_session *session) {
    return session->device->driver;
}

static bool fail(struct sp_session *session, const char *what, CUresult result) {
    return sp_session_fail(session, "%s: %s", what, sp_driver_error_name(result));
}

static bool is_there(struct sp_session *session) {
    const struct sp_driver *driver = driver_of(session);
    if (!driver->cuMemAllocFromPoolAsync || !driver->cuMemFreeAsync || !driver->cuMemPoolCreate ||
        !driver->cuMemPoolDestroy || !driver->cuMemPoolSetAttribute || !driver->cuMemPoolGetAttribute ||
        !driver->cuMemPoolTrimTo)
        return sp_session_fail(session, "the driver has no cuMemAllocAsync (new in CUDA 11.2)");
    if (!sp_device_attribute(driver, session->device->handle, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED))
        return sp_session_fail(session, "the device has no memory pools (cuMemAllocAsync)");
    return true;
}

static bool driver_open(struct sp_session *session) {
    const struct sp_driver *driver = driver_of(session);
    if (!is_there(session))
        return false;
    CUmemPoolProps props = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = session->device->ordinal},
    };
    CUresult result = driver->cuMemPoolCreate(&session->driver_pool, &props);
    if (result != CUDA_SUCCESS)
        return fail(session, "cuMemPoolCreate", result);
    result = driver->cuMemPoolSetAttribute(session->driver_pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                           &session->threshold);
    if (result == CUDA_SUCCESS)
        return true;
    driver->cuMemPoolDestroy(session->driver_pool);
    return fail(session, "cuMemPoolSetAttribute", result);
}

static void driver_close(struct sp_session *session) {
    const struct sp_driver *driver = driver_of(session);
    driver->cuCtxSynchronize();
    driver->cuMemPoolTrimTo(session->driver_pool, 0);
    driver->cuMemPoolDestroy(session->driver_pool);
}

static void driver_begin_pass(struct sp_session *session) {
    uint64_t reset = 0;
    driver_of(session)->cuMemPoolSetAttribute(session->driver_pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
                                              &reset);
}

static void driver_at_peak(struct sp_session *session) {
    (void)session;
}

static bool driver_reserved_peak(struct sp_session *session, uint64_t *bytes) {
    CUresult result = driver_of(session)->cuMemPoolGetAttribute(session->driver_pool,
                                                                CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, bytes);
    return result == CUDA_SUCCESS || fail(session, "cuMemPoolGetAttribute", result);
}

static int driver_allocate(struct sp_session *session, uint64_t *pointer, size_t size, CUstream stream) {
    CUdeviceptr address = 0;
    CUresult result = CUDA_SUCCESS;
    if (size > 0)
        result = driver_of(session)->cuMemAllocFromPoolAsync(&address, size, session->driver_pool, stream);
    *pointer = address;
    return (int)result;
}

static int driver_free(struct sp_session *session, uint64_t pointer, CUstream stream) {
    return pointer ? (int)driver_of(session)->cuMemFreeAsync(pointer, stream) : CUDA_SUCCESS;
}

static int driver_synchronize(struct sp_session *session, CUstream stream) {
    return (int)driver_of(session)->cuStreamSynchronize(stream);
}

static const char *driver_error_name(int status) {
    return sp_driver_error_name((CUresult)status);
}

const struct sp_allocator sp_allocator_driver = {
    .name = "driver",
    .open = driver_open,
    .close = driver_close,
    .begin_pass = driver_begin_pass,
    .at_peak = driver_at_peak,
    .reserved_peak = driver_reserved_peak,
    .allocate = driver_allocate,
    .free = driver_free,
    .synchronize = driver_synchronize,
    .error_name = driver_error_name,
};
