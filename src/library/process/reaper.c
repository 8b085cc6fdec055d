#include "process/reaper.h"

#include "base/time.h"
#include "order/progress.h"
#include "order/resolve.h"
#include "process/given_up.h"
#include "supply/defer.h"
#include "supply/trim.h"

static enum sp_worker_result bury_one(struct sp_pool *pool) {
    bool buried;
    struct sp_outcome outcome = sp_defer_bury_one(pool, &buried);
    if (buried)
        return SP_WORKER_PROGRESS;
    if (!sp_is_done(outcome))
        return SP_WORKER_REFUSED;
    if (!sp_pool_has_zombies(pool))
        return SP_WORKER_IDLE;
    return sp_end_gone_contexts(NULL) ? SP_WORKER_PROGRESS : SP_WORKER_PENDING;
}

// A trim that is asked for meanwhile is not lost: it is due again then.
static enum sp_worker_result release_one(struct sp_pool *pool) {
    uint64_t released;
    if (!atomic_exchange(&pool->deferred.trim_due, false))
        return SP_WORKER_IDLE;
    bool synchronized = atomic_exchange(&pool->deferred.synchronized, false);
    struct sp_outcome outcome = sp_trim_one(pool, synchronized, &released);
    if (released == 0 && sp_is_done(outcome))
        return SP_WORKER_IDLE;
    atomic_store(&pool->deferred.trim_due, true);
    sp_pool_add(pool, SP_STATISTIC_BytesReleasedByReaper, released);
    return released > 0 ? SP_WORKER_PROGRESS : SP_WORKER_REFUSED;
}

static enum sp_worker_result do_some(struct sp_pool *pool) {
    uint64_t begin = sp_time_now();
    enum sp_worker_result buried = bury_one(pool);
    enum sp_worker_result released =
        buried == SP_WORKER_PROGRESS ? SP_WORKER_IDLE : release_one(pool);
    enum sp_worker_result most = buried > released ? buried : released;
    if (most == SP_WORKER_PROGRESS)
        sp_pool_add(pool, SP_STATISTIC_ReaperTime, sp_time_now() - begin);
    return most;
}

// The visit makes way for others that map, but after a pause it takes its turn: zombies must not
// pile up.
static enum sp_worker_result work_on(struct sp_pool *pool, bool insists) {
    struct sp_lock *gives = sp_trim_begin_giving(pool->device);
    enum sp_worker_result result = SP_WORKER_BUSY;
    if (insists)
        sp_lock_acquire(&pool->map_lock);
    if (insists || (sp_load_relaxed(&pool->mappers) == 0 && sp_lock_try(&pool->map_lock))) {
        result = do_some(pool);
        sp_lock_release(&pool->map_lock);
    }
    sp_trim_end_giving(gives);
    return result;
}

// A pool that was given up is seen to by its end. The next pool in the same struct is looked at
// instead, if it is served. One that isn't is never pinned here, so its end waits for no visit: the
// handle is read first, so the pin fails where the struct has another pool by then.
//
// A visit that has to wait for something to complete has the worker woken by the next news. If
// there are some since the visit began, they may be what it waits for.
static enum sp_worker_result visit(struct sp_task *task, bool insists) {
    struct sp_pool *pool = SP_CONTAINER_OF(task, struct sp_pool, deferred.task);
    poolMemPool_t handle = sp_load_acquire(&pool->handle);
    if (!sp_defer_serves(pool)) {
        atomic_store(&pool->deferred.trim_due, false); // the next synchronise sees to it
        return SP_WORKER_IDLE;
    }
    if (!sp_pin_take(pool, handle))
        return SP_WORKER_IDLE;
    uint64_t seen = sp_progress_news();
    enum sp_worker_result result = work_on(pool, insists);
    if (result == SP_WORKER_PENDING && !sp_progress_await_news(seen, sp_worker_wake))
        sp_worker_wake();
    sp_pin_drop(pool);
    return result;
}

void sp_reaper_init(struct sp_pool *pool) {
    sp_worker_task_init(&pool->deferred.task, visit);
}
