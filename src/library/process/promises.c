#include "process/promises.h"

#include "base/thread.h"
#include "order/resolve.h"
#include "region/ask.h"
#include "region/device.h"
#include "region/fail.h"
#include "region/held.h"

// Read by each free, and so in a line that nothing else writes.
_Alignas(64) _Atomic uint32_t sp_promises_pools;
_Alignas(64) _Atomic int sp_promises_now;

void sp_promises_set(struct sp_pool *pool, int promises) {
    int before = atomic_exchange(&pool->promises, promises);
    if (before == poolPromiseNothing && promises != poolPromiseNothing)
        atomic_fetch_add(&sp_promises_pools, 1);
    else if (before != poolPromiseNothing && promises == poolPromiseNothing)
        atomic_fetch_sub(&sp_promises_pools, 1);
}

static void for_each_pool(void (*act)(struct sp_pool *pool)) {
    for (struct sp_device *device = sp_device_next(NULL); device; device = sp_device_next(device)) {
        struct sp_pool *pool = NULL;
        while ((pool = sp_device_next_pool(device, pool)))
            act(pool);
    }
}

static void deal(struct sp_pool *pool) {
    sp_lock_acquire(&pool->lock);
    sp_held_deal(pool, false);
    sp_lock_release(&pool->lock);
}

// A stream that is cached for the sake of a promise that has ended may be destroyed in any way
// now, and a default stream may be another context's. It isn't known which those are, so all are
// forgotten. None can be borrowed then before its next call, so what lazy lanes have freed gets an
// event, and those that take borrowing are lazy no more.
void sp_promises_end(void) {
    for_each_pool(sp_ask_and_close_lanes);
    sp_stream_cache_forget_handles();
    for_each_pool(deal);
}

enum {
    CACHED_BY = poolPromiseStreamDestroy | poolPromiseOneContext,
    ALL_PROMISES =
        CACHED_BY | poolPromiseNoCapture | poolPromiseNeverCapture | poolPromiseNoLegacyOrder
};

// A call that is under way when a promise ends may cache its stream once more; so it is
// forgotten when one is made, too. And what was left without an event while that was promised gets
// one as long as it is.
poolError_t sp_promises_change(struct sp_pool *pool, int promises) {
    if (promises & ~ALL_PROMISES)
        return sp_fail(poolErrorInvalidValue,
                       "poolMemPoolAttrStreamPromises can't be %#x, which is no combination of "
                       "poolStreamPromise",
                       promises);
    int changed = (sp_pool_promises(pool) ^ promises) & CACHED_BY;
    sp_ask_and_close_lanes(pool);
    sp_promises_set(pool, promises & ~changed);
    deal(pool);
    if (changed) {
        sp_promises_end();
        sp_promises_set(pool, promises);
        deal(pool);
    }
    return poolSuccess;
}

// -------------------------------------------------------------------- while no stream captures

static struct sp_lock lock; // whoever changes what holds, or looks if it does
static uint32_t changes;
static bool is_broken; // a stream has captured while none was said to

static void set_locked(int promises) {
    bool before = sp_borrow_is_allowed(), after = promises & poolPromiseNoCapture;
    if (before && !after)
        for_each_pool(sp_ask_and_close_lanes);
    sp_store_relaxed(&sp_promises_now, promises);
    if (after)
        sp_borrow_allow();
    else
        sp_borrow_suspend();
    if (before != after)
        for_each_pool(deal); // where it is suspended, another thread may have made some lazy again
    changes++;
}

void sp_promises_hold(int promises) {
    if (sp_fork_is_child())
        return;
    sp_lock_acquire(&lock);
    set_locked(is_broken ? promises & ~poolPromiseNoCapture : promises);
    sp_lock_release(&lock);
}

// The promise may have ended for the capture that was seen, and hold once more. So the driver is
// asked again, and the answer counts where nothing has changed meanwhile.
void sp_promises_note_capture(struct sp_outcome answer, CUstream stream) {
    if (!sp_outcome_is_capture(answer) || !sp_borrow_is_allowed() || sp_fork_is_child())
        return;
    sp_lock_acquire(&lock);
    uint32_t before = changes;
    sp_lock_release(&lock);
    if (!sp_outcome_is_capture(sp_resolve_capture(stream)))
        return;
    sp_lock_acquire(&lock);
    if (changes == before && sp_borrow_is_allowed()) {
        is_broken = true;
        set_locked(sp_load_relaxed(&sp_promises_now) & ~poolPromiseNoCapture);
    }
    sp_lock_release(&lock);
}
