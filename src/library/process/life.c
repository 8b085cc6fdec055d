#include "process/life.h"

#include "base/checked.h"
#include "base/time.h"
#include "order/resolve.h"
#include "process/attributes.h"
#include "process/given_up.h"
#include "process/promises.h"
#include "process/reaper.h"
#include "region/ask.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/handle.h"
#include "region/held.h"
#include "region/lane.h"
#include "region/retain.h"
#include "region/stitch.h"
#include "supply/growth.h"
#include "tell/explain.h"

#include <stdlib.h>
#include <string.h>

// Under the device's lock the handle is good as long as the pool is current.
bool sp_life_make_current(struct sp_pool *pool, poolMemPool_t handle) {
    sp_lock_acquire(&pool->device->lock);
    bool is_there = sp_handle_pool(handle) == pool;
    if (is_there)
        sp_store_release(&pool->device->current, pool);
    sp_lock_release(&pool->device->lock);
    return is_there;
}

static bool withdraw_from_device(struct sp_pool *pool, poolMemPool_t handle) {
    struct sp_device *device = pool->device;
    struct sp_pool *current = pool;
    sp_lock_acquire(&device->lock);
    if (sp_handle_pool(handle) == pool)
        atomic_compare_exchange_strong(&device->current, &current, device->default_pool);
    bool ours = sp_handle_withdraw(pool, handle);
    sp_lock_release(&device->lock);
    return ours;
}

// Returns a struct for a pool, or null without host memory. The device's lock is held.
static struct sp_pool *take_struct_locked(struct sp_device *device) {
    struct sp_list *spare = sp_list_pop_front(&device->spare_pools);
    if (spare)
        return SP_CONTAINER_OF(spare, struct sp_pool, listing.link);
    struct sp_pool *pool = aligned_alloc(_Alignof(struct sp_pool), sizeof(struct sp_pool));
    if (!pool)
        return NULL;
    memset(pool, 0, sizeof *pool);
    pool->device = device;
    sp_reaper_init(pool);
    return pool;
}

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
    atomic_store(&pool->is_complete, sp_progress_is_complete);
    for (int i = 0; i < SP_STATISTIC_COUNT; i++)
        atomic_store(&pool->statistics[i], 0);
    atomic_store(&pool->retain.primed, 0);
    atomic_store(&pool->retain.primed_until, 0);
    pool->settled = pool->settled_lanes = 0;
    atomic_store(&pool->threshold_rests, 0);
    atomic_store(&pool->figures.unlooked, 0);
    atomic_store(&pool->figures.grown_for, 0);
    pool->figures.covered_last = 0;
    pool->figures.short_looks = 0;
    atomic_store(&pool->figures.used_calls, 0);
    atomic_store(&pool->destroyed, false);
    pool->pins = 0;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        pool->regions[kind].mapped = 0;
        pool->regions[kind].rows_from = 0;
        pool->regions[kind].lanes_most = 0;
        sp_list_init(&pool->regions[kind].segments);
        sp_tier_init(&pool->regions[kind].ready, SP_BLOCK_FREE);
        sp_tier_init(&pool->regions[kind].waiting, SP_BLOCK_FREE);
        sp_tier_init(&pool->regions[kind].unfenced, SP_BLOCK_FREE);
        pool->regions[kind].unfenced.apart = true;
        sp_tier_init(&pool->regions[kind].holes, SP_BLOCK_HOLE);
    }
    sp_retain_forget(pool);
    pool->rise = (struct sp_rise){0};
    sp_list_init(&pool->kept.views);
    sp_list_init(&pool->kept.zombies);
    pool->kept.view_count = 0;
    pool->kept.mapping_count = 0;
    atomic_store(&pool->kept.zombie_count, 0);
    pool->kept.views_max = SP_KEPT_VIEWS_MAX;
    pool->kept.mappings_max = SP_KEPT_MAPPINGS_MAX;
    sp_access_clear(&pool->access);
    sp_list_init(&pool->lanes.list);
    sp_list_init(&pool->lanes.legacy);
    pool->lanes.collected_last = NULL;
    sp_store_relaxed(&pool->lanes.ask_each_miss, false);
    sp_store_relaxed(&pool->lanes.offers, NULL);
    atomic_store(&pool->lanes.lazy_next, 0);
    sp_explain_init(pool);
    sp_list_init(&pool->listing.link);
    sp_list_init(&pool->listing.holds);
    sp_list_init(&pool->given_up.due);
    pool->given_up.waits = false;
}

poolError_t sp_life_create(struct sp_device *device, const struct poolMemPoolProps *props,
                           struct sp_pool **created) {
    sp_lock_acquire(&device->lock);
    struct sp_pool *pool = take_struct_locked(device);
    if (pool)
        init_locked(pool, props);
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

// ----------------------------------------------------------------------------------------- the end

// With the device's lock held nobody takes the pool apart yet. A lane in which nothing may stay
// without an event leaves each of its frees to free.c, which looks whether it was the last: all
// that come after their lane was looked at by sp_figures_any_used.
static void give_up(struct sp_pool *pool) {
    sp_lock_acquire(&pool->device->lock);
    sp_store_release(&pool->destroyed, true);
    sp_given_up_add_locked(pool);
    sp_lock_acquire(&pool->lock);
    sp_held_deal(pool);
    sp_lock_release(&pool->lock);
    sp_lock_release(&pool->device->lock);
}

bool sp_life_destroy(struct sp_pool *pool, poolMemPool_t handle) {
    struct sp_device *device = pool->device;
    if (!withdraw_from_device(pool, handle))
        return false;
    atomic_fetch_add(&device->given_up, 1);
    sp_end_gone_contexts(NULL); // no event can be recorded there
    sp_ask_and_close_lanes(pool);
    if (!sp_pool_is_deterministic(pool))
        sp_ask_current_context(pool); // a failure keeps no pool alive
    give_up(pool);
    sp_given_up_reap_pool(device, pool);
    if (sp_load_acquire(&device->given_up) > 0)
        sp_given_up_await_worker();
    return true;
}
