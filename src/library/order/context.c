#include "order/context.h"

#include "order/identity.h"

struct sp_outcome sp_context_id(CUcontext context, uint64_t *id) {
    return sp_identity_now()->context_id(context, id);
}

// Any other answer says nothing, and a context that nothing is known of is taken for alive.
bool sp_context_is_gone(CUcontext context, uint64_t id) {
    return sp_identity_now()->context_is_gone(context, id);
}

struct sp_outcome sp_context_device(CUcontext context, int *device) {
    CUcontext popped;
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuCtxPushCurrent(context), "cuCtxPushCurrent");
    if (!sp_is_done(outcome))
        return outcome;
    outcome = sp_outcome_of_driver(sp_driver->cuCtxGetDevice(device), "cuCtxGetDevice");
    sp_driver->cuCtxPopCurrent(&popped);
    return outcome;
}

size_t sp_context_free_memory(CUcontext context) {
    CUcontext popped;
    size_t free_bytes = 0;
    size_t total;
    if (sp_driver->cuCtxPushCurrent(context) != CUDA_SUCCESS)
        return 0;
    if (!sp_is_done(
            sp_outcome_of_driver(sp_driver->cuMemGetInfo(&free_bytes, &total), "cuMemGetInfo")))
        free_bytes = 0;
    sp_driver->cuCtxPopCurrent(&popped);
    return free_bytes;
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

bool sp_context_is_current(CUcontext context, uint64_t id) {
    CUcontext current = NULL;
    uint64_t current_id;
    return sp_is_done(sp_context_current(&current, &current_id)) && current == context &&
           current_id == id;
}
