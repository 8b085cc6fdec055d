// The public calls. A malloc and a free enter the manager, call the pool on the home's stream, and
// leave; all else is aside of that path.
#include "beside/refuse.h"
#include "mam/chunk.h"
#include "mam/home.h"
#include "mam/manager.h"

#include <stddef.h>

// ---------------------------------------------------------------------------- create and destroy

// Sees to it, before a lock is taken, that the process may use the driver: in a child made by
// fork() a lock may be held by nobody. And that there is such a device.
static poolError_t find_device(int device) {
    poolMemPool_t ignored;
    return poolDeviceGetDefaultMemPool(&ignored, device);
}

static poolError_t find_process(void) {
    struct poolPointerAttributes ignored;
    return poolPointerGetAttributes(&ignored, NULL);
}

static poolError_t check_making(const poolMam_t *mam, unsigned int flags) {
    if (!mam)
        return sp_refuse(poolErrorInvalidValue, "mam is null");
    if (flags & ~(unsigned int)poolMamFixed)
        return sp_refuse(poolErrorInvalidValue, "%#x is not a combination of poolMamFlags", flags);
    return poolSuccess;
}

// A chunk of 0 bytes stands for as many as the device has free.
static poolError_t create(poolMam_t *mam, size_t chunk_size, int device, unsigned int flags) {
    struct sp_manager made = {.device = device, .chunk_size = chunk_size, .flags = flags};
    poolError_t error = find_device(device);
    if (error != poolSuccess)
        return error;
    if (!sp_manager_add(&made, mam))
        return sp_refuse(poolErrorMemoryAllocation, "there are %d managers already",
                         SP_MANAGER_PLACES - 1);
    return poolSuccess;
}

poolError_t poolMamCreate(poolMam_t *mam, size_t chunkSize, int device, unsigned int flags) {
    poolError_t error = check_making(mam, flags);
    if (error != poolSuccess)
        return error;
    if (chunkSize == 0)
        return sp_refuse(poolErrorInvalidValue, "the chunk has 0 bytes");
    if (chunkSize > PTRDIFF_MAX)
        return sp_refuse(poolErrorMemoryAllocation, "no device has %zu bytes", chunkSize);
    if (flags & poolMamFixed)
        chunkSize = sp_chunk_of_steps(chunkSize);
    return create(mam, chunkSize, device, flags);
}

poolError_t poolMamCreateAuto(poolMam_t *mam, int device, unsigned int flags) {
    poolError_t error = check_making(mam, flags);
    return error == poolSuccess ? create(mam, 0, device, flags) : error;
}

static poolError_t refuse_handle(poolMam_t mam) {
    poolError_t error = find_process();
    if (error != poolSuccess)
        return error;
    return sp_refuse(poolErrorInvalidValue, "%p is no manager, or was destroyed", (void *)mam);
}

// Has the pool learn that all frees are complete, and gives what is free back to the device. Where
// the context is gone its end does both, and to ask a stream of it is a mistake.
static void empty(const struct sp_manager *manager, struct sp_home *home) {
    if (sp_home_is_gone(home))
        return;
    sp_home_settle(home);
    poolMemPoolTrimTo(manager->pool, 0);
}

// Nobody is inside of it any more.
static poolError_t end(struct sp_manager *manager) {
    struct sp_home *home = sp_load_relaxed(&manager->home);
    poolError_t error = poolSuccess;
    if (home) {
        empty(manager, home);
        error = poolMemPoolDestroy(manager->pool);
        sp_home_close(home);
    }
    sp_manager_give_back(manager);
    return error;
}

poolError_t poolMamDestroy(poolMam_t mam) {
    poolError_t error = find_process();
    if (error != poolSuccess || !mam)
        return error;
    if (sp_manager_entered)
        return sp_refuse(poolErrorNotPermitted, "an observer of growths destroys a manager");
    struct sp_manager *manager = sp_manager_take_out(mam);
    return manager ? end(manager) : refuse_handle(mam);
}

// ------------------------------------------------------------------------------ malloc and free

static inline CUstream stream_of(struct sp_home *home) {
    return sp_load_acquire(&home->stream);
}

// Says where a call has failed because the program has reset the primary context.
SP_COLD static poolError_t explain(struct sp_manager *manager, poolError_t error) {
    if (error == poolErrorMemoryAllocation || error == poolErrorInitializationError ||
        !sp_home_is_gone(sp_load_relaxed(&manager->home)))
        return error;
    return sp_refuse(poolErrorContextIsDestroyed,
                     "the primary context of device %d was reset, which ends its managers",
                     manager->device);
}

SP_COLD static poolError_t allocate_first(struct sp_manager *manager, void **ptr, size_t size);

static SP_HOT poolError_t allocate(struct sp_manager *manager, void **ptr, size_t size) {
    struct sp_home *home = sp_load_acquire(&manager->home);
    if (SP_UNLIKELY(!home))
        return allocate_first(manager, ptr, size);
    poolError_t error = poolMallocFromPoolAsync(ptr, size, manager->pool, stream_of(home));
    if (SP_UNLIKELY(error != poolSuccess))
        return explain(manager, error);
    if (size >= SP_KNOWN_LEAST)
        sp_known_note(&manager->known, *ptr);
    return poolSuccess;
}

static poolError_t allocate_first(struct sp_manager *manager, void **ptr, size_t size) {
    poolError_t error = find_process();
    if (error == poolSuccess)
        error = sp_chunk_take(manager);
    return error == poolSuccess ? allocate(manager, ptr, size) : error;
}

SP_COLD static poolError_t allocate_nothing(void **ptr) {
    poolError_t error = find_process();
    if (error == poolSuccess)
        *ptr = NULL;
    return error;
}

poolError_t poolMamMalloc(poolMam_t mam, void **ptr, size_t size) {
    struct sp_manager *before, *manager = sp_manager_enter(mam, &before);
    poolError_t error = poolSuccess;
    if (SP_UNLIKELY(!manager))
        return refuse_handle(mam);
    if (SP_UNLIKELY(!ptr))
        error = sp_refuse(poolErrorInvalidValue, "ptr is null");
    else if (SP_UNLIKELY(size == 0))
        error = allocate_nothing(ptr);
    else
        error = allocate(manager, ptr, size);
    sp_manager_leave(manager, before);
    return error;
}

// Says why an address is no live block of the manager's pool.
SP_COLD static poolError_t refuse_pointer(const struct poolPointerAttributes *found,
                                          const void *ptr) {
    if (found->state == poolPointerForeign)
        return sp_refuse(poolErrorInvalidValue, "%p is no memory of a pool", ptr);
    if (found->state == poolPointerFree)
        return sp_refuse(poolErrorInvalidValue, "%p was freed already, or never handed out", ptr);
    if (found->base != ptr)
        return sp_refuse(poolErrorInvalidValue, "%p lies inside of the block at %p", ptr,
                         found->base);
    return sp_refuse(poolErrorInvalidValue, "%p is a block of another manager or pool", ptr);
}

// Finds out whether the address is a live block of the manager's pool.
static inline poolError_t check_own(const struct sp_manager *manager, void *ptr) {
    struct poolPointerAttributes found;
    poolError_t error = poolPointerGetAttributes(&found, ptr);
    if (SP_UNLIKELY(error != poolSuccess))
        return error;
    if (SP_UNLIKELY(found.state != poolPointerLive || found.base != ptr || !found.pool ||
                    found.pool != manager->pool))
        return refuse_pointer(&found, ptr);
    return poolSuccess;
}

// Frees what is the manager's: poolFreeAsync would free any pool's, and pass other memory to the
// driver. A manager that has a block has a chunk, and so a home.
static SP_HOT poolError_t release(struct sp_manager *manager, void *ptr) {
    struct sp_home *home = sp_load_acquire(&manager->home);
    poolError_t error = poolSuccess;
    if (!sp_known_take(&manager->known, ptr))
        error = check_own(manager, ptr);
    if (SP_UNLIKELY(error != poolSuccess))
        return error;
    error = poolFreeAsync(ptr, stream_of(home));
    return SP_LIKELY(error == poolSuccess) ? poolSuccess : explain(manager, error);
}

poolError_t poolMamFree(poolMam_t mam, void *ptr) {
    struct sp_manager *before, *manager = sp_manager_enter(mam, &before);
    if (SP_UNLIKELY(!manager))
        return refuse_handle(mam);
    poolError_t error = SP_LIKELY(ptr) ? release(manager, ptr) : find_process();
    sp_manager_leave(manager, before);
    return error;
}

// -------------------------------------------------------------------------------------- the pool

poolError_t poolMamGetPool(poolMam_t mam, poolMemPool_t *pool) {
    struct sp_manager *before, *manager = sp_manager_enter(mam, &before);
    if (!manager)
        return refuse_handle(mam);
    poolError_t error = pool ? find_process() : sp_refuse(poolErrorInvalidValue, "pool is null");
    if (error == poolSuccess && !sp_load_acquire(&manager->home))
        error = sp_chunk_take(manager);
    if (error == poolSuccess)
        *pool = manager->pool;
    sp_manager_leave(manager, before);
    return error;
}
