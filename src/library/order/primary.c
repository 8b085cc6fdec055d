#include "order/primary.h"

#include "order/capture_mode.h"
#include "order/context.h"

static struct sp_outcome device_of(int ordinal, CUdevice *device) {
    return sp_outcome_of_driver(sp_driver->cuDeviceGet(device, ordinal), "cuDeviceGet");
}

// A context that is gone has taken the reference along, also where another one has its handle by
// now.
static bool is_retained_locked(const struct sp_primary *primary) {
    return primary->context && !sp_context_is_gone(primary->context, primary->id);
}

// The id tells later whether it still is this one, so a context without one can't be kept.
static struct sp_outcome retain_locked(struct sp_primary *primary, int ordinal) {
    CUcontext context = NULL;
    CUdevice device;
    uint64_t id = 0;
    struct sp_outcome outcome = device_of(ordinal, &device);
    if (sp_is_done(outcome))
        outcome = sp_outcome_of_driver(sp_driver->cuDevicePrimaryCtxRetain(&context, device),
                                       "cuDevicePrimaryCtxRetain");
    if (!sp_is_done(outcome))
        return outcome;
    outcome = sp_context_id(context, &id);
    if (!sp_is_done(outcome)) {
        (void)sp_outcome_of_driver(sp_driver->cuDevicePrimaryCtxRelease(device),
                                   "cuDevicePrimaryCtxRelease");
        return outcome;
    }
    primary->context = context;
    primary->id = id;
    return sp_outcome_done();
}

static struct sp_outcome make_current_locked(struct sp_primary *primary, int ordinal) {
    struct sp_outcome outcome =
        is_retained_locked(primary) ? sp_outcome_done() : retain_locked(primary, ordinal);
    if (!sp_is_done(outcome))
        return outcome;
    return sp_outcome_of_driver(sp_driver->cuCtxSetCurrent(primary->context), "cuCtxSetCurrent");
}

struct sp_outcome sp_primary_retain(struct sp_primary *primary, int ordinal, CUcontext *context,
                                    uint64_t *id) {
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    sp_lock_acquire(&primary->lock);
    struct sp_outcome outcome =
        is_retained_locked(primary) ? sp_outcome_done() : retain_locked(primary, ordinal);
    *context = primary->context;
    *id = primary->id;
    sp_lock_release(&primary->lock);
    sp_capture_mode_restore(mode);
    return outcome;
}

struct sp_outcome sp_primary_make_current(struct sp_primary *primary, int ordinal) {
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    sp_lock_acquire(&primary->lock);
    struct sp_outcome outcome = make_current_locked(primary, ordinal);
    sp_lock_release(&primary->lock);
    sp_capture_mode_restore(mode);
    return outcome;
}
