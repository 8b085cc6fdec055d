// The driver's calls that end a context. They take its streams and captures along.
//
// A primary context is named by its device. Its handle, by which captures in it are noted, is that
// which the last retain has given: it doesn't change. Its end takes green contexts of the device
// along, so all streams of the device are forgotten. Those that live on are asked for as unseen
// ones.
#include "dropin/captures.h"
#include "dropin/real.h"
#include "dropin/seen.h"

#include "base/atomic.h"

enum { DEVICES = 64, NO_DEVICE = -1 };

static _Atomic(CUcontext) primaries[DEVICES];

static bool exists(CUdevice device) {
    return device >= 0 && device < DEVICES;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    CUresult result = sp_real_call(cuDevicePrimaryCtxRetain, (context, device));
    if (result == CUDA_SUCCESS && exists(device))
        sp_store_release(&primaries[device], *context);
    return result;
}

// ---------------------------------------------------------------------------------- other contexts

static CUresult note_destroyed(CUresult result, CUcontext context, uint64_t before) {
    if (result != CUDA_SUCCESS)
        return result;
    sp_seen_context_ended(context, NO_DEVICE, before);
    sp_captures_end_of_context(context, before);
    return result;
}

CUresult cuCtxDestroy_v2(CUcontext context) {
    uint64_t before = sp_seen_context_ends();
    return note_destroyed(sp_real_call(cuCtxDestroy_v2, (context)), context, before);
}

// The form of before CUDA 4.0.
CUresult cuCtxDestroy(CUcontext context) {
    uint64_t before = sp_seen_context_ends();
    return note_destroyed(sp_real_call(cuCtxDestroy, (context)), context, before);
}

// Others may have attached to the context, which goes on then, with its captures.
CUresult cuCtxDetach(CUcontext context) {
    uint64_t before = sp_seen_context_ends();
    CUresult result = sp_real_call(cuCtxDetach, (context));
    if (result == CUDA_SUCCESS)
        sp_seen_context_ended(context, NO_DEVICE, before);
    return result;
}

// -------------------------------------------------------------------------------- primary contexts

static CUresult note_ended(CUresult result, CUdevice device, uint64_t before) {
    if (result != CUDA_SUCCESS || !exists(device))
        return result;
    sp_seen_context_ended(sp_load_acquire(&primaries[device]), device, before);
    sp_captures_end_of_context(sp_load_acquire(&primaries[device]), before);
    return result;
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
    uint64_t before = sp_seen_context_ends();
    return note_ended(sp_real_call(cuDevicePrimaryCtxReset, (device)), device, before);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    uint64_t before = sp_seen_context_ends();
    return note_ended(sp_real_call(cuDevicePrimaryCtxReset_v2, (device)), device, before);
}

// The context goes on as long as anybody retains it.
static CUresult note_released(CUresult result, CUdevice device, uint64_t before) {
    unsigned int flags;
    int active = 1;
    if (result != CUDA_SUCCESS)
        return result;
    if (sp_real_call(cuDevicePrimaryCtxGetState, (device, &flags, &active)) == CUDA_SUCCESS &&
        !active)
        note_ended(result, device, before);
    return result;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    uint64_t before = sp_seen_context_ends();
    return note_released(sp_real_call(cuDevicePrimaryCtxRelease, (device)), device, before);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    uint64_t before = sp_seen_context_ends();
    return note_released(sp_real_call(cuDevicePrimaryCtxRelease_v2, (device)), device, before);
}

// ---------------------------------------------------------------------------------- green contexts

// A green context retains its device's primary one, which may end with it.
static void note_those_released(uint64_t before) {
    for (CUdevice device = 0; device < DEVICES; device++) {
        if (sp_load_acquire(&primaries[device]))
            note_released(CUDA_SUCCESS, device, before);
    }
}

// The context's streams stay, and can only be destroyed: each call says so.
CUresult cuGreenCtxDestroy(struct CUgreenCtx_st *green) {
    uint64_t before = sp_seen_context_ends();
    CUcontext context = NULL;
    if (sp_real_call(cuCtxFromGreenCtx, (&context, green)) != CUDA_SUCCESS)
        context = NULL;
    CUresult result = sp_real_call(cuGreenCtxDestroy, (green));
    if (result != CUDA_SUCCESS)
        return result;
    sp_seen_context_ended(context, NO_DEVICE, before);
    note_those_released(before);
    return result;
}
