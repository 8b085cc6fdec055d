#include "order/primary.h"

#include "order/capture_mode.h"
#include "order/context.h"

static CUresult device_of(int ordinal, CUdevice *device) {
    return sp_native_noted(sp_driver->cuDeviceGet(device, ordinal), "cuDeviceGet");
}

// A context that is gone has taken the reference along, also where another one has its handle by
// now.
static bool is_retained_locked(const struct sp_primary *primary) {
    return primary->context && !sp_context_is_gone(primary->context, primary->id);
}

// The id tells later whether it still is this one, so a context without one can't be kept.
static CUresult retain_locked(struct sp_primary *primary, int ordinal) {
    CUcontext context = NULL;
    CUdevice device;
    uint64_t id = 0;
    CUresult error = device_of(ordinal, &device);
    if (error == CUDA_SUCCESS)
        error = sp_native_noted(sp_driver->cuDevicePrimaryCtxRetain(&context, device),
                                "cuDevicePrimaryCtxRetain");
    if (error != CUDA_SUCCESS)
        return error;
    error = sp_context_id(context, &id);
    if (error != CUDA_SUCCESS) {
        sp_driver->cuDevicePrimaryCtxRelease(device);
        return error;
    }
    primary->context = context;
    primary->id = id;
    return CUDA_SUCCESS;
}

static CUresult make_current_locked(struct sp_primary *primary, int ordinal) {
    CUresult error = is_retained_locked(primary) ? CUDA_SUCCESS : retain_locked(primary, ordinal);
    if (error != CUDA_SUCCESS)
        return error;
    return sp_native_noted(sp_driver->cuCtxSetCurrent(primary->context), "cuCtxSetCurrent");
}

CUresult sp_primary_make_current(struct sp_primary *primary, int ordinal) {
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    sp_lock_acquire(&primary->lock);
    CUresult error = make_current_locked(primary, ordinal);
    sp_lock_release(&primary->lock);
    sp_capture_mode_restore(mode);
    return error;
}

void sp_primary_release(struct sp_primary *primary, int ordinal) {
    CUdevice device;
    if (is_retained_locked(primary) && device_of(ordinal, &device) == CUDA_SUCCESS)
        sp_driver->cuDevicePrimaryCtxRelease(device);
    primary->context = NULL;
    primary->id = 0;
}
