// The driver's calls that allocate and free memory.
//
// Memory of ours and of the driver's live side by side. A pointer is ours when it lies where one of
// our pools has its addresses. The driver serves what we don't: streams that capture, its own
// pools, and its own memory.
#include "dropin/notes.h"
#include "dropin/real.h"
#include "dropin/room.h"
#include "dropin/seen.h"
#include "dropin/served.h"
#include "dropin/stream.h"
#include "dropin/theirs.h"

// Makes a call of the library, and counts it. The library never supplies a context for a created
// stream, so nothing is demanded then.
#define SERVE(result, stream, call, what)                                                          \
    do {                                                                                           \
        if (sp_stream_is_created(stream))                                                          \
            SP_SERVE_UNDEMANDING(result, call, what);                                              \
        else                                                                                       \
            SP_SERVE_AS(result, call, what);                                                       \
    } while (0)

// On a default stream the driver looks for a current context before all else, and the library only
// where it needs one.
static CUresult context_first(CUresult result, CUstream stream) {
    CUresult context = sp_stream_is_created(stream) ? CUDA_SUCCESS : sp_served_context();
    return context != CUDA_SUCCESS ? context : result;
}

static void *pointer_of(CUdeviceptr address) {
    return (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
}

// The driver's own pools find the device full, too. An allocation in a stream waits for no work.
static struct sp_room room_for(size_t size, CUstream stream) {
    return (struct sp_room){SP_ROOM_OF_DEVICE(SP_ROOM_OF_STREAM), stream, size,
                            .never_waits = true};
}

static CUresult allocate_theirs(CUdeviceptr *address, size_t size, CUstream stream) {
    struct sp_room room = room_for(size, stream);
    CUresult result;
    do
        result = sp_real_call(cuMemAllocAsync, (address, size, stream));
    while (sp_room_made(&room, result));
    return result;
}

static CUresult allocate_from_theirs(CUdeviceptr *address, size_t size, CUmemoryPool pool,
                                     CUstream stream) {
    struct sp_room room = room_for(size, stream);
    CUresult result;
    do
        result = sp_real_call(cuMemAllocFromPoolAsync, (address, size, pool, stream));
    while (sp_room_made(&room, result));
    return result;
}

// The end of an allocation that failed. CUDA's own leave a null pointer where they find no memory.
static CUresult failed(CUresult result, CUdeviceptr *address, CUstream stream) {
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        *address = 0;
    return result == CUDA_ERROR_INVALID_VALUE ? context_first(result, stream) : result;
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
        return leave(allocate_theirs(address, size, stream), unserved);
    if (sp_theirs_serves(stream))
        return leave(allocate_theirs(address, size, stream), pool);
    SERVE(result, stream,
          sp_interpose_malloc(address ? &pointer : NULL, size, stream, sp_seen_promises(stream)),
          SP_TALLY_allocations);
    if (SP_LIKELY(result == CUDA_SUCCESS)) {
        *address = (CUdeviceptr)(uintptr_t)pointer;
        return result;
    }
    if (sp_served_is_capture(result))
        return leave(allocate_theirs(address, size, stream), captured);
    if (result == CUDA_ERROR_NOT_SUPPORTED)
        return leave(allocate_theirs(address, size, stream), unsupported);
    return failed(result, address, stream);
}

// A capture takes memory of the graph for the pool's. That is the driver's: of the stream's device,
// or of the place of a pool of the host or of managed memory.
static CUresult allocate_in_graph(CUdeviceptr *address, size_t size, poolMemPool_t pool,
                                  CUstream stream) {
    int kind = poolMemLocationTypeDevice, id = 0, type = poolMemAllocationTypePinned;
    CUmemoryPool theirs;
    poolMemPoolGetAttribute(pool, poolMemPoolAttrLocationType, &kind);
    poolMemPoolGetAttribute(pool, poolMemPoolAttrLocationId, &id);
    poolMemPoolGetAttribute(pool, poolMemPoolAttrAllocationType, &type);
    if (kind == poolMemLocationTypeDevice && type == poolMemAllocationTypePinned)
        return allocate_theirs(address, size, stream);
    CUmemLocation location = {(CUmemLocationType)kind, id};
    CUresult result =
        sp_real_call(cuMemGetDefaultMemPool, (&theirs, &location, (CUmemAllocationType)type));
    return result == CUDA_SUCCESS ? allocate_from_theirs(address, size, theirs, stream) : result;
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t size, CUmemoryPool pool,
                                 CUstream stream) {
    void *pointer = NULL;
    CUresult result;
    bool serves = sp_served_begin(&result);
    if (!serves && result != CUDA_SUCCESS)
        return result;
    if (!serves)
        return leave(allocate_from_theirs(address, size, pool, stream), unserved);
    if (sp_theirs_has(pool))
        return leave(allocate_from_theirs(address, size, pool, stream), pool);
    SERVE(result, stream,
          sp_interpose_malloc_from_pool(address ? &pointer : NULL, size, (poolMemPool_t)pool,
                                        stream, sp_seen_promises(stream)),
          SP_TALLY_allocations);
    if (SP_LIKELY(result == CUDA_SUCCESS)) {
        *address = (CUdeviceptr)(uintptr_t)pointer;
        return result;
    }
    if (sp_served_is_capture(result))
        return leave(allocate_in_graph(address, size, (poolMemPool_t)pool, stream), captured);
    return failed(result, address, stream);
}

// The end of a free. The note was taken before, as another allocation may have the address by now.
static CUresult ended(struct sp_note note, CUresult result) {
    if (result != CUDA_SUCCESS)
        sp_notes_give_back(note);
    return result;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    CUresult result;
    bool serves = sp_served_begin(&result);
    if (!serves && result != CUDA_SUCCESS)
        return result;
    if (!serves)
        return leave(sp_real_call(cuMemFreeAsync, (address, stream)), frees);
    bool is_foreign = false;
    struct sp_note note = sp_notes_take(address);
    SERVE(result, stream,
          sp_interpose_free(pointer_of(address), stream, sp_seen_promises(stream), &is_foreign),
          address ? SP_TALLY_frees : SP_TALLY_NOTHING);
    if (SP_UNLIKELY(is_foreign) && sp_real()->cuMemFreeAsync)
        return leave(sp_real_call(cuMemFreeAsync, (address, stream)), frees);
    if (SP_UNLIKELY(!address || result == CUDA_ERROR_INVALID_VALUE))
        result = context_first(result, stream);
    return ended(note, result);
}

// It needs no current context, but none that was destroyed may be current.
CUresult cuMemFree_v2(CUdeviceptr address) {
    CUresult result;
    if (!sp_served_is_on() || !sp_interpose_has_address(address))
        return sp_real_call(cuMemFree_v2, (address));
    if (sp_served_context() == CUDA_ERROR_CONTEXT_IS_DESTROYED)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    struct sp_note note = sp_notes_take(address);
    SERVE(result, NULL, poolFree(pointer_of(address)), SP_TALLY_frees);
    return ended(note, result);
}

// ------------------------------------------------------------------------------- per-thread stream

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *address, size_t size, CUstream stream) {
    return cuMemAllocAsync(address, size, sp_stream_per_thread(stream));
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *address, size_t size, CUmemoryPool pool,
                                      CUstream stream) {
    return cuMemAllocFromPoolAsync(address, size, pool, sp_stream_per_thread(stream));
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream) {
    return cuMemFreeAsync(address, sp_stream_per_thread(stream));
}
