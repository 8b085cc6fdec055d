#include "mam/chunk.h"

#include "beside/refuse.h"
#include "mam/home.h"

// ---------------------------------------------------------------------------------------- its size

enum { SHARE_OF_DEVICE = 16, SHARE_OF_FREE = 2 };
static const size_t step = (size_t)32 << 20;

size_t sp_chunk_of_steps(size_t size) {
    return (size + step - 1) / step * step;
}

size_t sp_chunk_of_free(size_t available, size_t total) {
    size_t share = total / SHARE_OF_DEVICE, most = available / SHARE_OF_FREE;
    return available - (share < most ? share : most);
}

// A limit is made of whole steps, so an automatic chunk that is fixed is, too; unless there is less
// than one of them.
static poolError_t measure(struct sp_manager *manager, struct sp_home *home, size_t *size) {
    struct sp_home_memory memory = {0, 0};
    *size = manager->chunk_size;
    if (*size != 0)
        return poolSuccess;
    struct sp_outcome outcome = sp_home_measure(home, &memory);
    if (!sp_is_done(outcome))
        return sp_refuse_outcome(outcome, "asking how much the device has free");
    *size = sp_chunk_of_free(memory.available, memory.total);
    if (manager->flags & poolMamFixed && *size > step)
        *size -= *size % step;
    return poolSuccess;
}

// -------------------------------------------------------------------------------------- its memory

// Nothing is ever submitted to the stream, so all that a pool could ask about it is known.
enum {
    PROMISES = poolPromiseStreamDestroy | poolPromiseNoCapture | poolPromiseNeverCapture |
               poolPromiseNoLegacyOrder
};

static poolError_t promise(poolMemPool_t pool) {
    int promises = PROMISES;
    return poolMemPoolSetAttribute(pool, poolMemPoolAttrStreamPromises, &promises);
}

static poolError_t make_pool(const struct sp_manager *manager, size_t size, poolMemPool_t *pool) {
    struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                     .location = {poolMemLocationTypeDevice, manager->device},
                                     .maxSize = manager->flags & poolMamFixed ? size : 0};
    return poolMemPoolCreate(pool, &props);
}

// Has the chunk mapped, and keeps it whatever the program synchronises.
static poolError_t fill(poolMemPool_t pool, size_t size) {
    uint64_t kept = size;
    poolError_t error = promise(pool);
    if (error == poolSuccess)
        error = poolMemPoolSetAttribute(pool, poolMemPoolAttrReleaseThreshold, &kept);
    return error == poolSuccess ? poolMemPoolPrime(pool, size) : error;
}

static poolError_t take_at_home(struct sp_manager *manager, struct sp_home *home) {
    size_t size = 0;
    poolMemPool_t pool = NULL;
    poolError_t error = measure(manager, home, &size);
    if (error != poolSuccess)
        return error;
    error = make_pool(manager, size, &pool);
    if (error == poolSuccess)
        error = fill(pool, size);
    if (error != poolSuccess) {
        error = sp_refuse_again(error, "taking a chunk of %zu bytes", size);
        if (pool)
            poolMemPoolDestroy(pool);
        return error;
    }
    manager->pool = pool;
    sp_store_release(&manager->home, home);
    return poolSuccess;
}

static poolError_t take_locked(struct sp_manager *manager) {
    struct sp_home *home = NULL;
    struct sp_outcome outcome = sp_home_open(manager->device, &home);
    if (!sp_is_done(outcome))
        return sp_refuse_outcome(outcome, "making a stream for the manager");
    poolError_t error = take_at_home(manager, home);
    if (error != poolSuccess)
        sp_home_close(home);
    return error;
}

poolError_t sp_chunk_take(struct sp_manager *manager) {
    poolError_t error = poolSuccess;
    sp_lock_acquire(&manager->lock);
    if (!sp_load_relaxed(&manager->home))
        error = take_locked(manager);
    sp_lock_release(&manager->lock);
    return error;
}
