// The driver's plain calls, with no order of streams. There is no figure of what they reserve, so the device's
// free memory is compared: when the pass begins, and at the operation with the most bytes alive.
#include "cli/allocator.h"

static const struct sp_driver *driver_of(const struct sp_session *session) {
    return session->device->driver;
}

static bool direct_open(struct sp_session *session) {
    const struct sp_driver *driver = driver_of(session);
    return (driver->cuMemAlloc && driver->cuMemFree) ||
           sp_session_fail(session, "the driver has no cuMemAlloc");
}

static void direct_close(struct sp_session *session) {
    (void)session;
}

static size_t free_memory(const struct sp_session *session) {
    size_t free = 0, total = 0;
    driver_of(session)->cuMemGetInfo(&free, &total);
    return free;
}

static void direct_begin_pass(struct sp_session *session) {
    session->free_before = free_memory(session);
    session->free_at_peak = session->free_before;
}

static void direct_at_peak(struct sp_session *session) {
    session->free_at_peak = free_memory(session);
}

static bool direct_reserved_peak(struct sp_session *session, uint64_t *bytes) {
    bool shrank = session->free_at_peak < session->free_before;
    *bytes = shrank ? session->free_before - session->free_at_peak : 0;
    return true;
}

static int direct_allocate(struct sp_session *session, uint64_t *pointer, size_t size, CUstream stream) {
    (void)stream;
    CUdeviceptr address = 0;
    CUresult result = size > 0 ? driver_of(session)->cuMemAlloc(&address, size) : CUDA_SUCCESS;
    *pointer = address;
    return (int)result;
}

static int direct_free(struct sp_session *session, uint64_t pointer, CUstream stream) {
    (void)stream;
    return pointer ? (int)driver_of(session)->cuMemFree(pointer) : CUDA_SUCCESS;
}

static int direct_synchronize(struct sp_session *session, CUstream stream) {
    return (int)driver_of(session)->cuStreamSynchronize(stream);
}

static const char *direct_error_name(int status) {
    return sp_driver_error_name((CUresult)status);
}

const struct sp_allocator sp_allocator_direct = {
    .name = "direct",
    .open = direct_open,
    .close = direct_close,
    .begin_pass = direct_begin_pass,
    .at_peak = direct_at_peak,
    .reserved_peak = direct_reserved_peak,
    .allocate = direct_allocate,
    .free = direct_free,
    .synchronize = direct_synchronize,
    .error_name = direct_error_name,
};
