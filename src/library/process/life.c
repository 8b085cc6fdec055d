#include "process/life.h"

#include "base/number.h"
#include "base/thread.h"
#include "order/progress.h"
#include "order/resolve.h"
#include "process/attributes.h"
#include "process/given_up.h"
#include "process/promises.h"
#include "region/ask.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/held.h"
#include "region/lane.h"
#include "region/loose.h"
#include "region/retain.h"
#include "region/stitch.h"
#include "supply/defer.h"
#include "supply/evict.h"
#include "supply/growth.h"
#include "supply/trim.h"
#include "tell/explain.h"
#include "tell/name.h"

#include <stdlib.h>
#include <string.h>

// -------------------------------------------------------------------------------------- the reaper
//
// The reaper: what the worker does for a pool. At a visit it buries one zombie whose work is known
// to have completed, or releases one extent of a trim that was left to it (supply/defer.h).
//
//   - It takes a pool's map lock for one view or extent at a time, and where others want it, once
//     in a millisecond at most.
//   - It finds out what a trim needs to know: the synchronise that left the trim collects nothing
//     from the lanes, unless a release delay has it counted.
//   - It asks no event, for it can't know that the event's context is alive. Whoever learns of
//     something wakes it.
//   - What the driver refuses stays what it was, and is tried again after a pause that grows.

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

// A pool that was given up is seen to by its end. The next pool in the same struct is looked at
// instead, if it is served. One that isn't is never pinned here, so its end waits for no visit: the
// handle is read first, so the pin fails where the struct has another pool by then.
//
// The visit makes way for others that map, but after a pause it takes its turn: zombies must not
// pile up. One that has to wait for something to complete has the worker woken by the next news. If
// there are some since it began, they may be what it waits for.
static enum sp_worker_result visit(struct sp_task *task, bool insists) {
    struct sp_pool *pool = SP_CONTAINER_OF(task, struct sp_pool, deferred.task);
    poolMemPool_t handle = sp_load_acquire(&pool->handle);
    if (!sp_defer_serves(pool)) {
        atomic_store(&pool->deferred.trim_due, false); // the next synchronise sees to it
        return SP_WORKER_IDLE;
    }
    if (!sp_pin_take(pool, handle))
        return SP_WORKER_IDLE;
    uint64_t seen = sp_progress_news(SP_FOUND);
    struct sp_lock *gives = sp_trim_begin_giving(pool->device);
    enum sp_worker_result result = SP_WORKER_BUSY;
    if (insists)
        sp_lock_acquire(&pool->map_lock);
    if (insists || (sp_load_relaxed(&pool->mappers) == 0 && sp_lock_try(&pool->map_lock))) {
        uint64_t begin = sp_time_now();
        result = bury_one(pool);
        if (result != SP_WORKER_PROGRESS) {
            enum sp_worker_result released = release_one(pool);
            result = released > result ? released : result;
        }
        if (result == SP_WORKER_PROGRESS)
            sp_pool_add(pool, SP_STATISTIC_ReaperTime, sp_time_now() - begin);
        sp_lock_release(&pool->map_lock);
    }
    sp_trim_end_giving(gives);
    if (result == SP_WORKER_PENDING && !sp_progress_await_news(seen, sp_worker_wake))
        sp_worker_wake();
    sp_pin_drop(pool);
    return result;
}

// ------------------------------------------------------------------------------- beginning and end

// Makes a struct a new pool. One that was a pool before has no memory and no lanes; its locks are
// free, its lane table is empty and stays. The device's lock is held, under which late threads look
// for a pin.
static void init_locked(struct sp_pool *pool, const struct poolMemPoolProps *props) {
    pool->props = *props;
    atomic_store(&pool->handle, NULL);
    size_t limit = SIZE_MAX;
    if (props->maxSize > 0)
        (void)sp_checked_round_up(props->maxSize, SP_GROWTH_UNIT, &limit);
    atomic_store(&pool->limit, limit);
    sp_attributes_init(pool);
    atomic_store(&pool->deferred.trim_due, false);
    atomic_store(&pool->deferred.synchronized, false);
    atomic_store(&pool->is_short, false);
    atomic_store(&pool->wants_complete, false);
    atomic_store(&pool->is_complete, sp_progress_is_complete);
    for (int i = 0; i < SP_STATISTIC_COUNT; i++)
        atomic_store(&pool->statistics[i], 0);
    atomic_store(&pool->retain.primed, 0);
    atomic_store(&pool->retain.primed_until, 0);
    pool->settled = pool->settled_lanes = 0;
    pool->refine_grown = pool->refine_rests = 0;
    atomic_store(&pool->figures.unlooked, 0);
    atomic_store(&pool->figures.grown_for, 0);
    pool->figures.covered_last = 0;
    pool->figures.short_looks = 0;
    atomic_store(&pool->figures.used_calls, 0);
    atomic_store(&pool->destroyed, false);
    pool->pins = 0;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        struct sp_region *region = &pool->regions[kind];
        *region = (struct sp_region){.unfenced.apart = true};
        region->ready.state = region->waiting.state = region->unfenced.state = SP_BLOCK_FREE;
        region->holes.state = SP_BLOCK_HOLE;
        sp_list_init(&region->segments);
        sp_list_init(&region->lanes);
    }
    sp_retain_forget(pool);
    pool->rise = (struct sp_rise){0};
    sp_list_init(&pool->kept.views);
    sp_list_init(&pool->kept.zombies);
    pool->kept.mapping_count = pool->kept.view_count = 0;
    atomic_store(&pool->kept.zombie_count, 0);
    sp_loose_forget(pool);
    pool->kept.views_max = SP_KEPT_VIEWS_MAX;
    pool->kept.mappings_max = SP_KEPT_MAPPINGS_MAX;
    sp_access_clear(&pool->access);
    sp_lane_init_all(pool);
    sp_evict_init(pool);
    sp_explain_init(pool);
    sp_list_init(&pool->listing.link);
    sp_list_init(&pool->listing.holds);
    sp_list_init(&pool->given_up.due);
    pool->given_up.waits = false;
}

poolError_t sp_life_create(struct sp_device *device, const struct poolMemPoolProps *props,
                           poolMemPool_t overflow_of, struct sp_pool **created) {
    sp_lock_acquire(&device->lock);
    struct sp_list *spare = sp_list_pop_front(&device->spare_pools);
    struct sp_pool *pool = spare ? SP_CONTAINER_OF(spare, struct sp_pool, listing.link)
                                 : aligned_alloc(_Alignof(struct sp_pool), sizeof *pool);
    if (pool && !spare) {
        memset(pool, 0, sizeof *pool);
        pool->device = device;
        // Once for each struct: the worker may come late, and look at the struct's next pool then.
        sp_list_init(&pool->deferred.task.link);
        pool->deferred.task.visit = visit;
    }
    if (pool) {
        init_locked(pool, props);
        atomic_store(&pool->overflow, NULL);
        atomic_store(&pool->overflow_of, overflow_of);
        sp_name_init(pool);
    }
    sp_lock_release(&device->lock);
    if (!pool)
        return sp_fail(poolErrorMemoryAllocation, "out of host memory");
    if (!sp_handle_publish(pool)) {
        sp_device_give_struct(pool);
        return sp_fail(poolErrorMemoryAllocation, "%d pools exist already", SP_HANDLE_MOST);
    }
    sp_lock_acquire(&device->lock);
    pool->stage = SP_POOL_IN_USE;
    sp_list_push_back(&device->pools, &pool->listing.link);
    sp_lock_release(&device->lock);
    *created = pool;
    return poolSuccess;
}

// Where the seat isn't made yet, another thread may make it meanwhile, and the pool its current
// one.
static bool withdraw(struct sp_pool *pool, poolMemPool_t handle, struct sp_device *seat) {
    struct sp_pool *current = pool;
    bool ours = false;
    if (!seat) {
        ours = sp_handle_withdraw(pool, handle);
        seat = sp_device_seat(pool->device);
    }
    if (!seat)
        return ours;
    sp_lock_acquire(&seat->lock);
    if (ours || sp_handle_pool(handle) == pool)
        atomic_compare_exchange_strong(&seat->current, &current, seat->default_pool);
    ours = ours || sp_handle_withdraw(pool, handle);
    sp_lock_release(&seat->lock);
    return ours;
}

bool sp_life_destroy(struct sp_pool *pool, poolMemPool_t handle) {
    struct sp_device *device = pool->device;
    bool ours = withdraw(pool, handle, sp_device_seat(device));
    if (!ours)
        return false;
    atomic_fetch_add(&device->given_up, 1);
    sp_end_gone_contexts(NULL); // no event can be recorded there
    sp_ask_and_close_lanes(pool);
    if (!sp_pool_is_deterministic(pool))
        sp_ask_current_context(pool); // a failure keeps no pool alive
    // With the device's lock held nobody takes the pool apart yet. A lane in which nothing may stay
    // without an event leaves each of its frees to free.c, which looks whether it was the last: all
    // that come after their lane was looked at by sp_figures_any_used.
    sp_lock_acquire(&device->lock);
    sp_store_release(&pool->destroyed, true);
    pool->stage = SP_POOL_GIVEN_UP;
    sp_list_push_back(&device->due, &pool->given_up.due); // to be looked at
    sp_lock_acquire(&pool->lock);
    sp_held_deal(pool, false);
    struct sp_pool *overflow = sp_load_relaxed(&pool->overflow);
    sp_lock_release(&pool->lock);
    sp_lock_release(&device->lock);
    if (overflow)
        sp_life_destroy(overflow, sp_load_acquire(&overflow->handle));
    sp_given_up_reap_pool(device, pool);
    sp_given_up_await_worker(device);
    return true;
}
