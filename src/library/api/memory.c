// The calls that allocate memory.
#include "api/admit.h"
#include "calls/malloc.h"
#include "observe/observe.h"
#include "process/promises.h"
#include "region/at_hand.h"

// From the pool that has this handle, or had it a moment ago.
static SP_HOT poolError_t take(struct sp_pool *pool, poolMemPool_t handle, struct sp_stream *stream,
                               size_t size, unsigned int flags, void **pointer) {
    if (SP_UNLIKELY(sp_load_relaxed(&stream->acts) || flags & poolMallocFixed))
        return sp_malloc_acting(pool, handle, stream, size, flags, pointer);
    uint64_t address = sp_at_hand_take(pool, stream, size, flags, NULL);
    if (SP_UNLIKELY(!address))
        return sp_malloc_missed(pool, handle, stream, size, flags, pointer);
    if (SP_UNLIKELY(sp_at_hand_is_another_now(pool, handle)))
        return sp_malloc_hand_over(pool, handle, stream, address, SP_DEBT_NONE, pointer);
    *pointer = (void *)(uintptr_t)address;
    return poolSuccess;
}

// A pool that a caller has named. Both null stand for the current pool.
struct named_pool {
    poolMemPool_t handle;
    struct sp_pool *pool;
};

static SP_HOT poolError_t allocate_from(void **ptr, size_t size, struct named_pool from,
                                        CUstream handle, unsigned int flags) {
    poolError_t error = poolSuccess;
    struct sp_stream *stream =
        sp_admit_stream(handle, from.pool, sp_load_relaxed(&from.pool->promises),
                        sp_admit_refuse_allocation, &error);
    if (SP_UNLIKELY(!stream))
        return error;
    if (SP_UNLIKELY(size == 0)) {
        *ptr = NULL;
        return poolSuccess;
    }
    error = take(from.pool, from.handle, stream, size, flags, ptr);
    return SP_UNLIKELY(error == SP_MALLOC_GONE)
               ? sp_fail(poolErrorInvalidValue, "the pool was destroyed meanwhile")
               : error;
}

// Returns the promises of the current pool, which depends on the stream's device. So they are known
// only for streams that the thread remembers. Where the thread may remember the stream only by
// another pool's promises, the result is none, and the driver is asked.
static int promises_of_current(CUstream handle) {
    poolMemPool_t pool;
    const struct sp_stream *stream = sp_remember_find(handle);
    struct sp_device *device = stream ? sp_device_at(stream->device) : NULL;
    int promises =
        device ? sp_pool_promises(sp_device_current_pool(device, &pool)) : poolPromiseNothing;
    return sp_admit_lets_remember(promises, handle) ? promises : poolPromiseNothing;
}

static void remember_if_promised(const struct sp_pool *pool, struct sp_stream *stream,
                                 CUstream handle) {
    if (sp_admit_lets_remember(sp_pool_promises(pool), handle))
        sp_remember_stream(stream, handle);
}

// Allocates from the current pool of the stream's device. Another thread may destroy that pool
// meanwhile; then another pool is current.
static SP_HOT poolError_t allocate_from_current(void **ptr, size_t size, CUstream handle,
                                                unsigned int flags) {
    struct sp_device *device;
    poolError_t error = poolSuccess;
    struct sp_stream *stream = sp_admit_stream(handle, NULL, promises_of_current(handle),
                                               sp_admit_refuse_allocation, &error);
    if (SP_UNLIKELY(!stream))
        return error;
    if (SP_UNLIKELY(size == 0)) {
        *ptr = NULL;
        return poolSuccess;
    }
    device = sp_device_at(stream->device);
    if (SP_UNLIKELY(!device)) {
        error = sp_runtime_open(stream->device, &device);
        if (error != poolSuccess)
            return error;
    }
    do {
        poolMemPool_t current;
        struct sp_pool *pool = sp_device_current_pool(device, &current);
        remember_if_promised(pool, stream, handle);
        error = take(pool, current, stream, size, flags, ptr);
    } while (error == SP_MALLOC_GONE);
    return error;
}

SP_COLD static poolError_t allocate(void **ptr, size_t size, struct named_pool from,
                                    CUstream stream, unsigned int flags) {
    return from.pool ? allocate_from(ptr, size, from, stream, flags)
                     : allocate_from_current(ptr, size, stream, flags);
}

// ------------------------------------------------------------------------------------- allocations

// An allocation as the program asked for it. A null handle that was not `named` stands for the
// current pool.
struct wanted {
    void **ptr;
    size_t size;
    poolMemPool_t handle;
    bool named;
    CUstream stream;
    unsigned int flags;
};

enum {
    ALL_FLAGS =
        poolMallocSameStreamOnly | poolMallocNoInsertedWaits | poolMallocNoGrowth | poolMallocFixed
};

SP_COLD static poolError_t allocate_wanted(const struct wanted *wanted) {
    struct named_pool from = {wanted->handle, NULL};
    poolError_t error = poolSuccess;
    if (!wanted->ptr)
        return sp_fail(poolErrorInvalidValue, "ptr is null");
    if (wanted->flags & ~(unsigned int)ALL_FLAGS)
        return sp_fail(poolErrorInvalidValue, "%#x is not a combination of poolMallocFlags",
                       wanted->flags);
    if (wanted->named || wanted->handle)
        error = sp_api_pool(wanted->handle, &from.pool);
    return error == poolSuccess
               ? allocate(wanted->ptr, wanted->size, from, wanted->stream, wanted->flags)
               : error;
}

static void note_allocation(const struct wanted *wanted, poolError_t error, const void *caller) {
    if (error == poolErrorMemoryAllocation)
        sp_observe_refused(wanted->size, sp_admit_to_note(wanted->stream));
    if (error == poolSuccess && *wanted->ptr)
        sp_observe_allocated(*wanted->ptr, wanted->size, sp_admit_to_note(wanted->stream), caller);
}

// Allocates where the runtime isn't started, or somebody observes. `caller` is where the public
// call returns to.
SP_COLD static poolError_t allocate_aside(const struct wanted *wanted, const void *caller) {
    poolError_t error = sp_runtime_start();
    if (error != poolSuccess)
        return error;
    if (!sp_observe_is_on())
        return allocate_wanted(wanted);
    bool turn = sp_observe_take_turn();
    error = allocate_wanted(wanted);
    note_allocation(wanted, error, caller);
    sp_observe_give_turn(turn);
    return error;
}

#define CALLER __builtin_return_address(0)

poolError_t poolMallocAsync(void **ptr, size_t size, CUstream stream) {
    if (SP_UNLIKELY(!sp_runtime_is_plain()))
        return allocate_aside(&(struct wanted){ptr, size, NULL, false, stream, 0}, CALLER);
    if (!ptr)
        return sp_fail(poolErrorInvalidValue, "ptr is null");
    return allocate_from_current(ptr, size, stream, poolMallocDefault);
}

poolError_t poolMallocFromPoolAsync(void **ptr, size_t size, poolMemPool_t handle,
                                    CUstream stream) {
    struct named_pool from = {handle, NULL};
    if (SP_UNLIKELY(!sp_runtime_is_plain()))
        return allocate_aside(&(struct wanted){ptr, size, handle, true, stream, 0}, CALLER);
    if (!ptr)
        return sp_fail(poolErrorInvalidValue, "ptr is null");
    from.pool = sp_handle_pool(handle);
    if (SP_UNLIKELY(!from.pool))
        return sp_api_no_pool(handle);
    return allocate_from(ptr, size, from, stream, poolMallocDefault);
}

poolError_t poolMallocAsyncWithFlags(void **ptr, size_t size, poolMemPool_t handle, CUstream stream,
                                     unsigned int flags) {
    struct wanted wanted = {ptr, size, handle, false, stream, flags};
    return sp_runtime_is_plain() ? allocate_wanted(&wanted) : allocate_aside(&wanted, CALLER);
}

// ------------------------------------------------------------------------------- _ptsz variants

poolError_t poolMallocAsync_ptsz(void **ptr, size_t size, CUstream stream) {
    return poolMallocAsync(ptr, size, sp_api_per_thread(stream));
}

poolError_t poolMallocFromPoolAsync_ptsz(void **ptr, size_t size, poolMemPool_t pool,
                                         CUstream stream) {
    return poolMallocFromPoolAsync(ptr, size, pool, sp_api_per_thread(stream));
}

poolError_t poolMallocAsyncWithFlags_ptsz(void **ptr, size_t size, poolMemPool_t pool,
                                          CUstream stream, unsigned int flags) {
    return poolMallocAsyncWithFlags(ptr, size, pool, sp_api_per_thread(stream), flags);
}
