#include "copy/staging.h"

#include "base/lock.h"
#include "beside/refuse.h"
#include "copy/crew.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

// Bytes of the host that copies may have, and that stay when none is under way.
#define MOST ((size_t)1 << 30)
#define KEPT ((uint64_t)144 << 20)

static struct sp_lock lock;
// Guarded by it:
static poolMemPool_t pool;
static uint64_t let_in[4]; // devices, a bit each

static poolError_t make_locked(void) {
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .location = {poolMemLocationTypeHost, 0},
                                           .maxSize = MOST};
    uint64_t for_ever = UINT64_MAX, kept = KEPT;
    poolMemPool_t made = NULL;
    poolError_t error = poolMemPoolCreate(&made, &props);
    if (error == poolSuccess)
        error = poolMemPoolSetAttribute(made, poolMemPoolAttrHostWaitMax, &for_ever);
    if (error == poolSuccess)
        error = poolMemPoolSetAttribute(made, poolMemPoolAttrReleaseThreshold, &kept);
    if (error == poolSuccess)
        error = poolMemPoolSetName(made, "copies");
    if (error != poolSuccess && made)
        poolMemPoolDestroy(made);
    pool = error == poolSuccess ? made : NULL;
    memset(let_in, 0, sizeof let_in);
    return error;
}

// The program may have destroyed it, which is no error for it to see.
static bool is_there(poolMemPool_t one) {
    uint64_t ignored;
    poolError_t before = poolPeekAtLastError();
    if (!one)
        return false;
    if (poolMemPoolGetAttribute(one, poolMemPoolAttrReleaseThreshold, &ignored) == poolSuccess)
        return true;
    sp_refuse_nothing(before);
    return false;
}

static poolError_t let_in_locked(int device) {
    const struct poolMemAccessDesc access = {{poolMemLocationTypeDevice, device},
                                             poolMemAccessFlagsProtReadWrite};
    uint64_t *bits = &let_in[device / 64 % 4], bit = (uint64_t)1 << device % 64;
    poolError_t error = *bits & bit ? poolSuccess : poolMemPoolSetAccess(pool, &access, 1);
    if (error == poolSuccess)
        *bits |= bit;
    return error;
}

poolError_t sp_staging_pool(poolMemPool_t *the_pool) {
    sp_lock_acquire(&lock);
    poolError_t error = is_there(pool) ? poolSuccess : make_locked();
    if (error == poolSuccess)
        *the_pool = pool;
    sp_lock_release(&lock);
    return error;
}

// The pool, which the device can use.
static poolError_t pool_for(int device, poolMemPool_t *the_pool) {
    sp_lock_acquire(&lock);
    poolError_t error = is_there(pool) ? poolSuccess : make_locked();
    *the_pool = pool;
    if (error == poolSuccess)
        error = let_in_locked(device);
    sp_lock_release(&lock);
    return error;
}

// ------------------------------------------------------------------------ memory that others have

// The pool waits for blocks that were given back, and are behind work of their streams. It doesn't
// wait for those of copies that are being made, which are waited for here.
static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
// Guarded by it:
static size_t taken;        // blocks that weren't given back, and threads that try to take one
static unsigned long given; // blocks that were

static unsigned long begin_to_take(void) {
    pthread_mutex_lock(&count_lock);
    taken++;
    unsigned long so_far = given;
    pthread_mutex_unlock(&count_lock);
    return so_far;
}

static void note_end(bool is_given) {
    pthread_mutex_lock(&count_lock);
    taken--;
    given += is_given;
    pthread_cond_broadcast(&change);
    pthread_mutex_unlock(&count_lock);
}

// Waits until a block was given back since then. False where nobody has one. Under a scheduled
// driver no other thread would run.
static bool await_block(unsigned long so_far) {
    pthread_mutex_lock(&count_lock);
    while (given == so_far && taken > 0 && !sp_driver_is_scheduled())
        pthread_cond_wait(&change, &count_lock);
    bool is_given = given != so_far;
    pthread_mutex_unlock(&count_lock);
    return is_given;
}

// ------------------------------------------------------------------------------ taking and giving

static poolError_t take_once(int device, size_t bytes, const CUstream *stream, void **block,
                             poolMemPool_t *from) {
    poolError_t error = pool_for(device, from);
    if (error != poolSuccess)
        return error;
    return stream ? poolMallocFromPoolAsync(block, bytes, *from, *stream)
                  : poolMallocFromPool(block, bytes, *from);
}

// Another thread may destroy the pool meanwhile: then the next one is taken. Without a stream the
// host may use the block at once.
static poolError_t take(int device, size_t bytes, const CUstream *stream, void **block) {
    poolMemPool_t from = NULL;
    poolError_t before = poolPeekAtLastError(), error = poolSuccess;
    bool again = false;
    do {
        sp_refuse_nothing(before);
        unsigned long so_far = begin_to_take();
        error = take_once(device, bytes, stream, block, &from);
        if (error != poolSuccess)
            note_end(false);
        again = (error == poolErrorInvalidValue && from && !is_there(from)) ||
                (error == poolErrorMemoryAllocation && await_block(so_far));
    } while (again);
    sp_crew_order(); // the block was another copy's
    return error == poolSuccess
               ? poolSuccess
               : sp_refuse_again(error, "%zu bytes of pinned memory for a copy", bytes);
}

poolError_t sp_staging_take(int device, size_t bytes, void **block) {
    return take(device, bytes, NULL, block);
}

poolError_t sp_staging_take_ordered(int device, size_t bytes, CUstream stream, void **block) {
    return take(device, bytes, &stream, block);
}

// Where the pool can't note the free, the stream is waited for. If that fails too the block stays
// taken: its stream may still use it.
static poolError_t give(void *block, CUstream stream) {
    if (poolFreeAsync(block, stream) == poolSuccess)
        return poolSuccess;
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuStreamSynchronize(stream), "cuStreamSynchronize");
    return sp_is_done(outcome) ? poolFree(block) : sp_refuse_outcome(outcome, "copying");
}

poolError_t sp_staging_give(void *block, CUstream stream) {
    poolError_t error = give(block, stream);
    note_end(true);
    return error;
}
