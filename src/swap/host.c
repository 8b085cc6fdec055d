#include "swap/host.h"

#include "base/lock.h"
#include "base/number.h"
#include "base/options.h"
#include "beside/refuse.h"

#include <stdlib.h>

// The largest piece: the next one is pinned while the device copies this one.
#ifndef SP_HOST_PIECE
#define SP_HOST_PIECE ((size_t)256 << 20)
#endif
// The smallest that is tried where a larger one can't be had.
#define LEAST ((size_t)64 << 10)
#define UNIT  ((size_t)4 << 10)

#define VARIABLE "STREAMPOOL_SWAP_HOST"

static struct sp_lock lock;
// Guarded by it:
static poolMemPool_t pool;
static uint64_t taken; // <= the limit when the last piece was taken

static _Atomic uint64_t limit;
static _Atomic bool is_set; // the limit, by a call

// ---------------------------------------------------------------------------------------- the pool

static poolError_t make_locked(void) {
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .location = {poolMemLocationTypeHost, 0},
                                           .usage = poolMemPoolUsageStaging};
    poolMemPool_t made = NULL;
    poolError_t error = poolMemPoolCreate(&made, &props);
    if (error == poolSuccess)
        error = poolMemPoolSetName(made, "swap");
    if (error != poolSuccess && made)
        poolMemPoolDestroy(made);
    pool = error == poolSuccess ? made : NULL;
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

poolError_t sp_host_pool(poolMemPool_t *the_pool) {
    sp_lock_acquire(&lock);
    poolError_t error = is_there(pool) ? poolSuccess : make_locked();
    if (error == poolSuccess)
        *the_pool = pool;
    sp_lock_release(&lock);
    return error;
}

static poolError_t let_in(poolMemPool_t the_pool, int device) {
    const struct poolMemAccessDesc access = {{poolMemLocationTypeDevice, device},
                                             poolMemAccessFlagsProtReadWrite};
    enum poolMemAccessFlags flags = poolMemAccessFlagsProtNone;
    poolError_t error = poolMemPoolGetAccess(&flags, the_pool, &access.location);
    return error == poolSuccess && flags != access.flags
               ? poolMemPoolSetAccess(the_pool, &access, 1)
               : error;
}

// --------------------------------------------------------------------------------------- the limit

void sp_host_set_limit(uint64_t bytes) {
    atomic_store(&limit, bytes);
    atomic_store(&is_set, true);
}

static poolError_t find_limit(uint64_t *most) {
    const char *text = secure_getenv(VARIABLE);
    *most = UINT64_MAX;
    if (atomic_load(&is_set))
        *most = atomic_load(&limit);
    else if (text && text[0] != '\0' && !sp_options_parse_size(text, most))
        return sp_refuse(poolErrorInvalidValue, VARIABLE "=%s is no number of bytes", text);
    return poolSuccess;
}

// Sets room aside below the limit, for as much as there is.
static size_t set_aside(size_t wanted, uint64_t most) {
    sp_lock_acquire(&lock);
    uint64_t room = sp_excess(most, taken);
    size_t size = wanted <= room ? wanted : sp_round_down((size_t)room, UNIT);
    taken += size;
    sp_lock_release(&lock);
    return size;
}

static void put_back(size_t size) {
    sp_lock_acquire(&lock);
    taken -= size;
    sp_lock_release(&lock);
}

// ------------------------------------------------------------------------------ taking and giving

// Another thread may destroy the pool meanwhile: then the next one is taken.
static poolError_t allocate(int device, size_t size, void **memory) {
    poolError_t before = poolPeekAtLastError(), error = poolSuccess;
    poolMemPool_t from = NULL;
    do {
        sp_refuse_nothing(before);
        from = NULL;
        error = sp_host_pool(&from);
        if (error == poolSuccess)
            error = let_in(from, device);
        if (error == poolSuccess)
            error = poolMallocFromPool(memory, size, from);
    } while (error == poolErrorInvalidValue && from && !is_there(from));
    return error;
}

// Where the host can't give a large piece it may still give a smaller one.
poolError_t sp_host_take(int device, uint64_t wanted, void **memory, size_t *size) {
    poolError_t before = poolPeekAtLastError();
    uint64_t most = 0;
    *memory = NULL;
    *size = 0;
    poolError_t error = find_limit(&most);
    if (error != poolSuccess)
        return error;
    size_t next = (size_t)sp_min(wanted, SP_HOST_PIECE);
    while (next > 0 && (next = set_aside(next, most)) > 0) {
        error = allocate(device, next, memory);
        if (error == poolSuccess) {
            *size = next;
            return poolSuccess;
        }
        put_back(next);
        if (error != poolErrorMemoryAllocation)
            return error;
        next = next / 2 >= LEAST ? sp_round_down(next / 2, UNIT) : 0;
    }
    sp_refuse_nothing(before);
    return poolSuccess;
}

void sp_host_give(void *memory, size_t size) {
    poolFree(memory);
    put_back(size);
}

void sp_host_trim(void) {
    uint64_t kept = 0;
    poolError_t before = poolPeekAtLastError();
    sp_lock_acquire(&lock);
    if (is_there(pool) &&
        poolMemPoolGetAttribute(pool, poolMemPoolAttrReleaseThreshold, &kept) == poolSuccess)
        poolMemPoolTrimTo(pool, (size_t)kept);
    sp_lock_release(&lock);
    sp_refuse_nothing(before);
}
