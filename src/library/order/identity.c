#include "order/identity.h"

#include "order/context.h"

#include <stdatomic.h>

static bool is_per_thread(CUstream handle) {
    return handle == CU_STREAM_PER_THREAD;
}

// A number for the calling host thread that is never used again.
static uint64_t thread_number(void) {
    static _Atomic uint64_t last;
    static _Thread_local uint64_t number;
    if (number == 0)
        number = atomic_fetch_add(&last, 1) + 1;
    return number;
}

// A default stream is one of the current context.
static CUresult context_of(CUstream handle, CUcontext *context) {
    if (!sp_stream_is_default(handle))
        return sp_native_noted(sp_driver->cuStreamGetCtx(handle, context), "cuStreamGetCtx");
    CUresult error = sp_native_noted(sp_driver->cuCtxGetCurrent(context), "cuCtxGetCurrent");
    if (error == CUDA_SUCCESS && !*context)
        return CUDA_ERROR_INVALID_CONTEXT;
    return error;
}

CUresult sp_stream_name_anonymously(CUstream handle, struct sp_stream_name *name) {
    CUcontext context = NULL;
    CUresult error = context_of(handle, &context);
    if (error == CUDA_SUCCESS)
        error = sp_context_id(context, &name->word[0]);
    name->word[1] = (uint64_t)(uintptr_t)sp_stream_proper_handle(handle);
    name->word[2] = is_per_thread(handle) ? thread_number() : 0;
    return error;
}

// -------------------------------------------------------------------------------------- describing

static CUresult kind_of(CUstream handle, enum sp_stream_kind *kind) {
    unsigned int flags = 0;
    *kind = SP_STREAM_LEGACY;
    if (sp_stream_is_legacy(handle))
        return CUDA_SUCCESS;
    CUresult error =
        sp_native_noted(sp_driver->cuStreamGetFlags(handle, &flags), "cuStreamGetFlags");
    *kind = flags & CU_STREAM_NON_BLOCKING ? SP_STREAM_NON_BLOCKING : SP_STREAM_BLOCKING;
    return error;
}

CUresult sp_stream_describe(CUstream handle, struct sp_stream_description *description) {
    description->handle = handle;
    description->identified = sp_driver->cuStreamGetId != NULL;
    CUresult error = context_of(handle, &description->context);
    if (error == CUDA_SUCCESS)
        error = sp_context_id(description->context, &description->context_id);
    return error == CUDA_SUCCESS ? kind_of(handle, &description->kind) : error;
}
