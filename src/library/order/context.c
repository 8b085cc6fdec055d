#include "order/context.h"

#include "order/identity.h"

struct sp_outcome sp_context_id(CUcontext context, uint64_t *id) {
    return sp_identity_now()->context_id(context, id);
}

// Any other answer says nothing, and a context that nothing is known of is taken for alive.
bool sp_context_is_gone(CUcontext context, uint64_t id) {
    return sp_identity_now()->context_is_gone(context, id);
}

struct sp_outcome sp_context_of_stream(CUstream handle, CUcontext *context) {
    if (!sp_stream_is_default(handle))
        return sp_outcome_of_driver(sp_driver->cuStreamGetCtx(handle, context), "cuStreamGetCtx");
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuCtxGetCurrent(context), "cuCtxGetCurrent");
    return sp_is_done(outcome) && !*context ? sp_outcome_of(SP_NO_CONTEXT) : outcome;
}

struct sp_outcome sp_context_device(CUcontext context, int *device) {
    struct sp_outcome outcome = sp_context_enter(context);
    if (!sp_is_done(outcome))
        return outcome;
    outcome = sp_outcome_of_driver(sp_driver->cuCtxGetDevice(device), "cuCtxGetDevice");
    sp_context_leave();
    return outcome;
}

size_t sp_context_free_memory(CUcontext context) {
    size_t free_bytes = 0, total;
    struct sp_outcome outcome = sp_context_enter(context);
    if (!sp_is_done(outcome))
        return 0;
    outcome = sp_outcome_of_driver(sp_driver->cuMemGetInfo(&free_bytes, &total), "cuMemGetInfo");
    sp_context_leave();
    return sp_is_done(outcome) ? free_bytes : 0;
}

struct sp_outcome sp_context_current(CUcontext *context, uint64_t *id) {
    *id = 0;
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuCtxGetCurrent(context), "cuCtxGetCurrent");
    return sp_is_done(outcome) && *context ? sp_identity_now()->known_context_id(*context, id)
                                           : outcome;
}

struct sp_outcome sp_context_current_alive(CUcontext *context, uint64_t *id) {
    struct sp_outcome outcome = sp_context_current(context, id);
    if (sp_is_done(outcome) || outcome.code != CUDA_ERROR_CONTEXT_IS_DESTROYED)
        return outcome;
    *context = NULL;
    return sp_outcome_done();
}

CUcontext sp_context_current_of(int device) {
    CUcontext context = NULL;
    uint64_t id;
    int its_device = -1;
    if (!sp_is_done(sp_context_current(&context, &id)) || !context ||
        !sp_is_done(sp_context_device(context, &its_device)))
        return NULL;
    return its_device == device ? context : NULL;
}

bool sp_context_is_current(CUcontext context, uint64_t id) {
    CUcontext current = NULL;
    uint64_t current_id;
    return sp_is_done(sp_context_current(&current, &current_id)) && current == context &&
           current_id == id;
}

// -------------------------------------------------------------------------------- primary contexts

// The id tells later whether it still is this one, so a context without one can't be kept.
struct sp_outcome sp_context_retain_primary(struct sp_primary *primary, int ordinal,
                                            CUcontext *context, uint64_t *id) {
    CUdevice device;
    struct sp_outcome outcome = sp_outcome_done();
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    sp_lock_acquire(&primary->lock);
    if (!primary->context || sp_context_is_gone(primary->context, primary->id)) {
        outcome = sp_outcome_of_driver(sp_driver->cuDeviceGet(&device, ordinal), "cuDeviceGet");
        if (sp_is_done(outcome))
            outcome = sp_outcome_of_driver(sp_driver->cuDevicePrimaryCtxRetain(context, device),
                                           "cuDevicePrimaryCtxRetain");
        bool is_retained = sp_is_done(outcome);
        if (is_retained)
            outcome = sp_context_id(*context, id);
        if (sp_is_done(outcome)) {
            primary->context = *context;
            primary->id = *id;
        } else if (is_retained) {
            (void)sp_outcome_of_driver(sp_driver->cuDevicePrimaryCtxRelease(device),
                                       "cuDevicePrimaryCtxRelease");
        }
    }
    *context = primary->context;
    *id = primary->id;
    sp_lock_release(&primary->lock);
    sp_capture_mode_restore(mode);
    return outcome;
}

struct sp_outcome sp_context_make_primary_current(struct sp_primary *primary, int ordinal) {
    CUcontext context;
    uint64_t id;
    struct sp_outcome outcome = sp_context_retain_primary(primary, ordinal, &context, &id);
    return sp_is_done(outcome)
               ? sp_outcome_of_driver(sp_driver->cuCtxSetCurrent(context), "cuCtxSetCurrent")
               : outcome;
}
