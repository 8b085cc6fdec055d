// A pool from its creation to the day its last memory is gone, and its handle.
//
// A handle is not a pointer but (serial number, index) packed into one: a handle that was never
// given out or whose pool was given up is recognised, whatever stands in memory. Pools are
// type-stable: a struct is used again for another pool of its device, never given back to the
// system, so that a thread that comes late may still look at it. What such a thread can come to is
// its own pool's end, or the struct's next pool: so it reads nothing but the device, which stays,
// and atomics; and the handle tells it which pool it is.
#include "pool/ask.h"
#include "pool/attributes.h"
#include "pool/bury.h"
#include "pool/collect.h"
#include "pool/figures.h"
#include "pool/given_up.h"
#include "pool/keep.h"
#include "pool/lane.h"
#include "pool/loan.h"
#include "pool/open_lanes.h"
#include "pool/owner.h"
#include "pool/promises.h"
#include "pool/reaper.h"
#include "pool/runtime.h"
#include "pool/segment.h"
#include "pool/unfenced.h"

#include "base/checked.h"
#include "base/time.h"

#include <stdlib.h>
#include <string.h>

enum { INDEX_BITS = 20, MAX_POOLS = 1 << INDEX_BITS };

// Indices that were in use before and are free are a stack, so that a handle is found whatever the
// number of pools. The arrays take memory as far as they are used.
static struct {
    struct sp_lock lock;
    uintptr_t last_serial;
    uint32_t last_index; // that was ever in use; 0 is none
    uint32_t free_index; // the top of the stack, or 0
    uint32_t free_below[MAX_POOLS];
    struct sp_pool *_Atomic pools[MAX_POOLS]; // by index; null: free
} registry;

static bool has_handle(const struct sp_pool *pool, poolMemPool_t handle) {
    return sp_load_acquire(&pool->handle) == handle;
}

struct sp_pool *sp_pool_from_handle(poolMemPool_t handle) {
    size_t index = (uintptr_t)handle & (MAX_POOLS - 1);
    struct sp_pool *pool = sp_load_acquire(&registry.pools[index]);
    return pool && sp_load_acquire(&pool->handle) == handle ? pool : NULL;
}

// 0 when all are in use.
static uint32_t take_index_locked(void) {
    uint32_t index = registry.free_index;
    if (index != 0)
        registry.free_index = registry.free_below[index];
    else if (registry.last_index < MAX_POOLS - 1)
        index = ++registry.last_index;
    return index;
}

static void give_index_locked(uint32_t index) {
    registry.free_below[index] = registry.free_index;
    registry.free_index = index;
}

static bool publish_locked(struct sp_pool *pool) {
    uint32_t index = take_index_locked();
    if (index == 0)
        return false;
    uintptr_t value = ++registry.last_serial << INDEX_BITS | index;
    sp_store_release(&pool->handle, (poolMemPool_t)value);
    sp_store_release(&registry.pools[index], pool);
    return true;
}

static bool publish(struct sp_pool *pool) {
    sp_lock_acquire(&registry.lock);
    bool published = publish_locked(pool);
    sp_lock_release(&registry.lock);
    return published;
}

// True for the one caller that takes the handle back. The handle is the caller's: the struct may be
// another pool's by now.
static bool withdraw(struct sp_pool *pool, poolMemPool_t handle) {
    size_t index = (uintptr_t)handle & (MAX_POOLS - 1);
    sp_lock_acquire(&registry.lock);
    bool ours = sp_load_relaxed(&registry.pools[index]) == pool && has_handle(pool, handle);
    if (ours) {
        sp_store_release(&registry.pools[index], NULL);
        give_index_locked((uint32_t)index);
    }
    sp_lock_release(&registry.lock);
    return ours;
}

// Under the device's lock the handle is good as long as the pool is current.
bool sp_pool_make_current(struct sp_pool *pool, poolMemPool_t handle) {
    sp_lock_acquire(&pool->device->lock);
    bool is_there = sp_pool_from_handle(handle) == pool;
    if (is_there)
        sp_store_release(&pool->device->current, pool);
    sp_lock_release(&pool->device->lock);
    return is_there;
}

static bool withdraw_from_device(struct sp_pool *pool, poolMemPool_t handle) {
    struct sp_device *device = pool->device;
    struct sp_pool *current = pool;
    sp_lock_acquire(&device->lock);
    if (sp_pool_from_handle(handle) == pool)
        atomic_compare_exchange_strong(&device->current, &current, device->default_pool);
    bool ours = withdraw(pool, handle);
    sp_lock_release(&device->lock);
    return ours;
}

// With the device's lock held. Null without host memory.
static struct sp_pool *take_struct_locked(struct sp_device *device) {
    struct sp_list *spare = sp_list_pop_front(&device->spare_pools);
    if (spare)
        return SP_CONTAINER_OF(spare, struct sp_pool, link);
    struct sp_pool *pool = aligned_alloc(_Alignof(struct sp_pool), sizeof(struct sp_pool));
    if (!pool)
        return NULL;
    memset(pool, 0, sizeof *pool);
    pool->device = device;
    sp_reaper_init(pool);
    return pool;
}

static void give_struct(struct sp_pool *pool) {
    sp_lock_acquire(&pool->device->lock);
    pool->stage = SP_POOL_SPARE;
    sp_list_remove(&pool->link);
    sp_list_push_front(&pool->device->spare_pools, &pool->link);
    sp_lock_release(&pool->device->lock);
}

static size_t limit_of(const struct poolMemPoolProps *props) {
    size_t limit;
    return props->maxSize > 0 && sp_checked_round_up(props->maxSize, SP_GROWTH_UNIT, &limit)
               ? limit
               : SIZE_MAX;
}

// A struct that was a pool before has no memory and no lanes; its locks are free, its lane table is
// empty and stays. With the device's lock held, under which late threads look for a pin.
static void init_locked(struct sp_pool *pool, const struct poolMemPoolProps *props) {
    pool->props = *props;
    atomic_store(&pool->handle, NULL);
    atomic_store(&pool->limit, limit_of(props));
    sp_attributes_init(pool);
    atomic_store(&pool->trim_due, false);
    atomic_store(&pool->synchronized, false);
    atomic_store(&pool->is_short, false);
    atomic_store(&pool->is_complete, sp_progress_is_complete);
    for (int i = 0; i < SP_STATISTIC_COUNT; i++)
        atomic_store(&pool->statistics[i], 0);
    atomic_store(&pool->keep.primed, 0);
    atomic_store(&pool->keep.primed_until, 0);
    pool->settled = 0;
    atomic_store(&pool->threshold_rests, 0);
    atomic_store(&pool->used_high, 0);
    pool->covered_last = 0;
    pool->short_looks = 0;
    atomic_store(&pool->used_calls, 0);
    pool->shared = 0;
    atomic_store(&pool->reserved, 0);
    atomic_store(&pool->reserved_high, 0);
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
        sp_tier_init(&pool->regions[kind].holes, SP_BLOCK_HOLE);
    }
    sp_keep_forget(pool);
    sp_list_init(&pool->kept);
    sp_list_init(&pool->zombies);
    pool->kept_views = 0;
    pool->kept_mappings = 0;
    atomic_store(&pool->zombie_count, 0);
    pool->kept_views_max = SP_KEPT_VIEWS_MAX;
    pool->kept_mappings_max = SP_KEPT_MAPPINGS_MAX;
    sp_access_clear(&pool->access);
    sp_list_init(&pool->lanes);
    sp_list_init(&pool->legacy_lanes);
    pool->in_turn = NULL;
    atomic_store(&pool->open_in_turn, 0);
    sp_list_init(&pool->link);
    sp_list_init(&pool->holds);
    sp_list_init(&pool->due);
    pool->waits = false;
}

poolError_t sp_pool_create(struct sp_device *device, const struct poolMemPoolProps *props,
                           struct sp_pool **created) {
    sp_lock_acquire(&device->lock);
    struct sp_pool *pool = take_struct_locked(device);
    if (pool)
        init_locked(pool, props);
    sp_lock_release(&device->lock);
    if (!pool)
        return sp_fail(poolErrorMemoryAllocation, "out of host memory");
    if (!publish(pool)) {
        give_struct(pool);
        return sp_fail(poolErrorMemoryAllocation, "%d pools exist already", MAX_POOLS - 1);
    }
    sp_lock_acquire(&device->lock);
    pool->stage = SP_POOL_IN_USE;
    sp_list_push_back(&device->pools, &pool->link);
    sp_lock_release(&device->lock);
    *created = pool;
    return poolSuccess;
}

// ----------------------------------------------------------------------------------------- the end

void sp_pool_dispose(struct sp_pool *pool) {
    sp_promises_set(pool, poolPromiseNothing);
    sp_bury_at_end(pool);
    sp_segments_close(pool);
    sp_lane_free_all(pool);
    give_struct(pool);
}

// With the device's lock held nobody takes the pool apart yet. A lane in which nothing may stay
// without an event leaves each of its frees to free.c, which looks whether it was the last: all
// that come after their lane was looked at by sp_figures_any_used.
static void give_up(struct sp_pool *pool) {
    sp_lock_acquire(&pool->device->lock);
    sp_store_release(&pool->destroyed, true);
    sp_given_up_add_locked(pool);
    sp_lock_acquire(&pool->lock);
    sp_unfenced_share_out(pool);
    sp_lock_release(&pool->lock);
    sp_lock_release(&pool->device->lock);
}

bool sp_pool_destroy(struct sp_pool *pool, poolMemPool_t handle) {
    struct sp_device *device = pool->device;
    if (!withdraw_from_device(pool, handle))
        return false;
    atomic_fetch_add(&device->given_up, 1);
    sp_open_lanes_close(pool);
    if (!sp_pool_is_deterministic(pool))
        sp_pool_ask_current_context(pool); // a failure keeps no pool alive
    give_up(pool);
    sp_device_reap_pool(device, pool);
    if (sp_load_acquire(&device->given_up) > 0)
        sp_given_up_await_worker();
    return true;
}

void sp_pool_demolish(struct sp_pool *pool) {
    withdraw(pool, pool->handle);
    sp_bury_at_end(pool);
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        SP_LIST_FOR_EACH(link, &pool->regions[kind].segments) {
            struct sp_view *view = &SP_CONTAINER_OF(link, struct sp_segment, link)->view;
            struct sp_extent *extent = sp_view_extent_from(view, 0);
            while (extent) {
                struct sp_extent *next = sp_view_extent_next(extent);
                sp_view_unmap(view, extent);
                extent = next;
            }
        }
    }
    sp_collect_free_slabs(pool);
    sp_given_up_forget(pool);
    sp_pool_dispose(pool);
}

static void free_lane_tables(struct sp_lane_table *table) {
    while (table) {
        struct sp_lane_table *smaller = table->smaller;
        free(table);
        table = smaller;
    }
}

void sp_device_free_pool_structs(struct sp_device *device) {
    while (!sp_list_empty(&device->spare_pools)) {
        struct sp_pool *pool =
            SP_CONTAINER_OF(sp_list_pop_front(&device->spare_pools), struct sp_pool, link);
        free_lane_tables(atomic_load(&pool->lane_table));
        free(pool);
    }
}
