// The promises of poolMemPoolAttrStreamPromises: what is counted of them, and what their end brings
// about.
#include "process/promises.h"

#include "order/remember.h"
#include "region/device.h"
#include "region/fail.h"
#include "region/held.h"
#include "region/open_lanes.h"

// Read by each free, and so in a line that nothing else writes.
_Alignas(64) _Atomic uint32_t sp_promises_pools;

void sp_promises_set(struct sp_pool *pool, int promises) {
    int before = atomic_exchange(&pool->promises, promises);
    if (before == poolPromiseNothing && promises != poolPromiseNothing)
        atomic_fetch_add(&sp_promises_pools, 1);
    else if (before != poolPromiseNothing && promises == poolPromiseNothing)
        atomic_fetch_sub(&sp_promises_pools, 1);
}

// A stream that is remembered for the sake of a promise that has ended may be destroyed in any way
// now, and a default stream may be another context's. It isn't known which those are, so all are
// forgotten. No open lane's stream can be borrowed then before its next call, so what it has freed
// gets an event.
void sp_promises_end(void) {
    for (struct sp_device *device = sp_device_next(NULL); device; device = sp_device_next(device)) {
        struct sp_pool *pool = NULL;
        while ((pool = sp_device_next_pool(device, pool)))
            sp_open_lanes_fence(pool, NULL, false);
    }
    sp_remember_forget_handles();
}

enum {
    REMEMBERED_BY = poolPromiseStreamDestroy | poolPromiseOneContext,
    ALL_PROMISES =
        REMEMBERED_BY | poolPromiseNoCapture | poolPromiseNeverCapture | poolPromiseNoLegacyOrder
};

// A call that is under way when a promise ends may remember its stream once more; so it is
// forgotten when one is made, too. And what was left without an event while that was promised gets
// one as long as it is.
poolError_t sp_promises_change(struct sp_pool *pool, int promises) {
    if (promises & ~ALL_PROMISES)
        return sp_fail(poolErrorInvalidValue, "%#x is not a combination of poolStreamPromise",
                       promises);
    int changed = (sp_pool_promises(pool) ^ promises) & REMEMBERED_BY;
    sp_open_lanes_close(pool);
    sp_lock_acquire(&pool->lock);
    sp_promises_set(pool, promises & ~changed);
    sp_held_deal(pool);
    sp_lock_release(&pool->lock);
    if (!changed)
        return poolSuccess;
    sp_promises_end();
    sp_lock_acquire(&pool->lock);
    sp_promises_set(pool, promises);
    sp_held_deal(pool);
    sp_lock_release(&pool->lock);
    return poolSuccess;
}
