// The driver's calls that allocate and free memory.
//
// Memory of ours and of the driver's live side by side. A pointer is ours when it lies where one of
// our pools has its addresses. The driver serves what we don't: streams that capture, its own
// pools, and its own memory.
#include "dropin/current.h"
#include "dropin/real.h"
#include "dropin/served.h"
#include "dropin/theirs.h"

#include "api/observe.h"

static CUstream per_thread(CUstream stream) {
    return stream ? stream : CU_STREAM_PER_THREAD;
}

static bool is_created(CUstream stream) {
    return stream > CU_STREAM_PER_THREAD;
}

// A call with a created stream fails without a current context, too. The library would find the
// stream without one. With a default stream it finds out by itself.
static CUresult check_context(CUstream stream) {
    return is_created(stream) ? sp_current_check() : CUDA_SUCCESS;
}

// Makes a call of the library. It never supplies a context for a created stream, so nothing is
// demanded then.
#define SERVE(result, stream, call)                                                                \
    do {                                                                                           \
        if (is_created(stream))                                                                    \
            (result) = sp_served_code(call);                                                       \
        else                                                                                       \
            SP_SERVE(result, call);                                                                \
    } while (0)

static void *pointer_of(CUdeviceptr address) {
    return (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
}

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream) {
    void *pointer = NULL;
    CUresult result;
    bool serves = sp_served_begin(&result);
    if (!serves && result != CUDA_SUCCESS)
        return result;
    if (!serves || sp_theirs_serves(stream))
        return sp_real_call(cuMemAllocAsync, (address, size, stream));
    result = check_context(stream);
    if (result != CUDA_SUCCESS)
        return result;
    SERVE(result, stream, sp_observe_malloc(address ? &pointer : NULL, size, stream));
    if (sp_served_is_capture(result) || result == CUDA_ERROR_NOT_SUPPORTED)
        return sp_real_call(cuMemAllocAsync, (address, size, stream));
    if (result == CUDA_SUCCESS)
        *address = (CUdeviceptr)(uintptr_t)pointer;
    return result;
}

// A capture takes memory of the graph for the pool's, and for that any pool of the device will do.
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t size, CUmemoryPool pool,
                                 CUstream stream) {
    void *pointer = NULL;
    CUresult result;
    bool serves = sp_served_begin(&result);
    if (!serves && result != CUDA_SUCCESS)
        return result;
    if (!serves || sp_theirs_has(pool))
        return sp_real_call(cuMemAllocFromPoolAsync, (address, size, pool, stream));
    result = check_context(stream);
    if (result != CUDA_SUCCESS)
        return result;
    SERVE(
        result, stream,
        sp_observe_malloc_from_pool(address ? &pointer : NULL, size, (poolMemPool_t)pool, stream));
    if (sp_served_is_capture(result))
        return sp_real_call(cuMemAllocAsync, (address, size, stream));
    if (result == CUDA_SUCCESS)
        *address = (CUdeviceptr)(uintptr_t)pointer;
    return result;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    CUresult result;
    bool serves = sp_served_begin(&result);
    if (!serves && result != CUDA_SUCCESS)
        return result;
    if (!serves || (address && !sp_interpose_has_address(address) && sp_real()->cuMemFreeAsync))
        return sp_real_call(cuMemFreeAsync, (address, stream));
    result = check_context(stream);
    if (result != CUDA_SUCCESS)
        return result;
    SERVE(result, stream, sp_observe_free(pointer_of(address), stream));
    return result;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    CUresult result;
    if (!sp_served_is_on() || !sp_interpose_has_address(address))
        return sp_real_call(cuMemFree_v2, (address));
    SP_SERVE(result, poolFree(pointer_of(address)));
    return result;
}

// ------------------------------------------------------------------------------- per-thread stream

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *address, size_t size, CUstream stream) {
    return cuMemAllocAsync(address, size, per_thread(stream));
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *address, size_t size, CUmemoryPool pool,
                                      CUstream stream) {
    return cuMemAllocFromPoolAsync(address, size, pool, per_thread(stream));
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream) {
    return cuMemFreeAsync(address, per_thread(stream));
}
