// The library itself. Its pool is made the device's current pool, so that the calls are the ones that programs
// make.
#include "cli/allocator.h"

static bool fail(struct sp_session *session, poolError_t error) {
    return sp_session_fail(session, "%s: %s", poolGetErrorName(error), poolGetLastErrorDetail());
}

static bool pool_open(struct sp_session *session) {
    struct poolMemPoolProps props = {
        .allocType = poolMemAllocationTypePinned,
        .location = {.type = poolMemLocationTypeDevice, .id = session->device->ordinal},
    };
    poolError_t error = poolMemPoolCreate(&session->pool, &props);
    if (error != poolSuccess)
        return fail(session, error);
    error = poolMemPoolSetAttribute(session->pool, poolMemPoolAttrReleaseThreshold, &session->threshold);
    if (error == poolSuccess)
        error = poolDeviceSetMemPool(session->device->ordinal, session->pool);
    if (error == poolSuccess)
        return true;
    fail(session, error);
    poolMemPoolDestroy(session->pool);
    return false;
}

static void pool_close(struct sp_session *session) {
    poolDeviceSynchronize();
    poolMemPoolTrimTo(session->pool, 0);
    poolMemPoolDestroy(session->pool);
}

static void pool_begin_pass(struct sp_session *session) {
    uint64_t reset = 0;
    poolMemPoolSetAttribute(session->pool, poolMemPoolAttrReservedMemHigh, &reset);
}

static void pool_at_peak(struct sp_session *session) {
    (void)session;
}

static bool pool_reserved_peak(struct sp_session *session, uint64_t *bytes) {
    poolError_t error = poolMemPoolGetAttribute(session->pool, poolMemPoolAttrReservedMemHigh, bytes);
    return error == poolSuccess || fail(session, error);
}

static int pool_allocate(struct sp_session *session, uint64_t *pointer, size_t size, CUstream stream) {
    (void)session;
    void *address = NULL;
    poolError_t error = poolMallocAsync(&address, size, stream);
    *pointer = (uintptr_t)address;
    return (int)error;
}

static int pool_free(struct sp_session *session, uint64_t pointer, CUstream stream) {
    (void)session;
    return (int)poolFreeAsync((void *)(uintptr_t)pointer, stream);
}

static int pool_synchronize(struct sp_session *session, CUstream stream) {
    (void)session;
    return (int)poolStreamSynchronize(stream);
}

static const char *pool_error_name(int status) {
    return poolGetErrorName((poolError_t)status);
}

const struct sp_allocator sp_allocator_pool = {
    .name = "pool",
    .open = pool_open,
    .close = pool_close,
    .begin_pass = pool_begin_pass,
    .at_peak = pool_at_peak,
    .reserved_peak = pool_reserved_peak,
    .allocate = pool_allocate,
    .free = pool_free,
    .synchronize = pool_synchronize,
    .error_name = pool_error_name,
};
