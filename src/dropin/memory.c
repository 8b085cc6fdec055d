// The driver's calls that allocate and free memory.
//
// Memory of ours and of the driver's live side by side. A pointer is ours when it lies where one of
// our pools has its addresses. The driver serves what we don't: streams that capture, its own
// pools, and its own memory.
#include "dropin/real.h"
#include "dropin/served.h"
#include "dropin/theirs.h"

static CUstream per_thread(CUstream stream) {
    return stream ? stream : CU_STREAM_PER_THREAD;
}

static void *pointer_of(CUdeviceptr address) {
    return (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
}

// Ends a call that was left to the driver, and counts it under a reason.
#define leave(result, reason) sp_tally_result(result, SP_TALLY_cuda_##reason)

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream) {
    void *pointer = NULL;
    CUresult result;
    bool serves = sp_served_begin(&result);
    if (!serves && result != CUDA_SUCCESS)
        return result;
    if (!serves)
        return leave(sp_real_call(cuMemAllocAsync, (address, size, stream)), unserved);
    if (sp_theirs_serves(stream))
        return leave(sp_real_call(cuMemAllocAsync, (address, size, stream)), pool);
    SP_SERVE_AS(result, poolMallocAsync(address ? &pointer : NULL, size, stream),
                SP_TALLY_allocations);
    if (sp_served_is_capture(result))
        return leave(sp_real_call(cuMemAllocAsync, (address, size, stream)), captured);
    if (result == CUDA_ERROR_NOT_SUPPORTED)
        return leave(sp_real_call(cuMemAllocAsync, (address, size, stream)), unsupported);
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
    if (!serves)
        return leave(sp_real_call(cuMemAllocFromPoolAsync, (address, size, pool, stream)),
                     unserved);
    if (sp_theirs_has(pool))
        return leave(sp_real_call(cuMemAllocFromPoolAsync, (address, size, pool, stream)), pool);
    SP_SERVE_AS(
        result,
        poolMallocFromPoolAsync(address ? &pointer : NULL, size, (poolMemPool_t)pool, stream),
        SP_TALLY_allocations);
    if (sp_served_is_capture(result))
        return leave(sp_real_call(cuMemAllocAsync, (address, size, stream)), captured);
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
        return leave(sp_real_call(cuMemFreeAsync, (address, stream)), frees);
    SP_SERVE_AS(result, poolFreeAsync(pointer_of(address), stream),
                address ? SP_TALLY_frees : SP_TALLY_NOTHING);
    return result;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    CUresult result;
    if (!sp_served_is_on() || !sp_interpose_has_address(address))
        return sp_real_call(cuMemFree_v2, (address));
    SP_SERVE_AS(result, poolFree(pointer_of(address)), SP_TALLY_frees);
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
