#include "process/given_up.h"

#include "base/number.h"
#include "order/poll.h"
#include "order/progress.h"
#include "order/resolve.h"
#include "process/promises.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/lane.h"
#include "region/segment.h"
#include "supply/defer.h"
#include "supply/trim.h"

// --------------------------------------------------------------------------------- what is awaited

enum { COMPLETION, SYNCHRONIZE };

static struct sp_lane *lane_of(const struct sp_tree_node *node) {
    return SP_CONTAINER_OF(node, struct sp_lane, awaited);
}

static int compare_lanes(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    const struct sp_lane *left = lane_of(a);
    const struct sp_lane *right = lane_of(b);
    int by_slot = sp_compare(left->stream->slot, right->stream->slot);
    return by_slot
               ? by_slot
               : sp_compare_pairs(left->awaits, (uintptr_t)left, right->awaits, (uintptr_t)right);
}

static int compare_slot(const void *slot, const struct sp_tree_node *node) {
    return *(const uint32_t *)slot <= lane_of(node)->stream->slot ? -1 : 1;
}

void sp_given_up_init(struct sp_device *device) {
    sp_list_init(&device->due);
    sp_tree_init(&device->awaited[COMPLETION], compare_lanes);
    sp_tree_init(&device->awaited[SYNCHRONIZE], compare_lanes);
}

// Notes the lowest pending number of each stream in the lanes. False where looking is the only way
// to find out: nothing of a block is pending any more, or a stream has no lane.
static bool note_tier(const struct sp_pool *pool, const struct sp_tier *tier) {
    bool waits = true;
    for (struct sp_block *b = sp_tier_first(tier); b && waits; b = sp_tier_next(b)) {
        waits = false;
        for (uint32_t i = 0; i < b->fences.count; i++) {
            struct sp_fence fence = *sp_fence_set_at(&b->fences, i);
            if (sp_pool_knows(pool, fence))
                continue;
            struct sp_lane *lane = sp_lane_find(pool, fence.slot);
            if (!lane)
                return false;
            if (lane->awaits == 0 || fence.sequence < lane->awaits)
                lane->awaits = fence.sequence;
            waits = true;
        }
    }
    return waits;
}

// ---------------------------------------------- due, waiting, resting: with the device's lock held

// Lanes are added by threads that free what is live, so under the pool's lock; none of these is
// awaited yet.
static void stop_waiting(struct sp_pool *pool) {
    sp_lock_acquire(&pool->lock);
    SP_LIST_FOR_EACH_OF(struct sp_lane, lane, link, &pool->lanes.list) {
        if (pool->given_up.waits && lane->awaits != 0)
            sp_tree_remove(&pool->device->awaited[pool->given_up.awaits_synchronize],
                           &lane->awaited);
        lane->awaits = 0;
    }
    sp_lock_release(&pool->lock);
    pool->given_up.waits = false;
}

// Notes all fences of the pool. False when it must be looked at again, whatever completes. A pool
// whose measure of completion is about to change is pinned, and so neither waits nor rests.
static bool try_to_wait(struct sp_pool *pool) {
    bool noted = true;
    sp_lock_acquire(&pool->lock);
    pool->given_up.awaits_synchronize = sp_pool_measure(pool) == sp_progress_is_synchronized;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        noted = noted && note_tier(pool, &pool->regions[kind].waiting) &&
                note_tier(pool, &pool->regions[kind].unfenced);
        SP_LIST_FOR_EACH_OF(const struct sp_lane_tiers, tiers, link, &pool->regions[kind].lanes) {
            noted = noted && note_tier(pool, &tiers->fenced) && note_tier(pool, &tiers->unfenced);
        }
    }
    SP_LIST_FOR_EACH_OF(struct sp_lane, lane, link, &pool->lanes.list) {
        if (!noted || lane->awaits == 0)
            continue;
        sp_tree_insert(&pool->device->awaited[pool->given_up.awaits_synchronize], &lane->awaited);
        pool->given_up.waits = true;
    }
    sp_lock_release(&pool->lock);
    if (!noted)
        stop_waiting(pool); // what was noted until then
    return noted;
}

// Has the next thread that looks for pools that are due look at this one, whatever it waits for.
static void wake_locked(struct sp_pool *pool) {
    stop_waiting(pool);
    if (sp_list_empty(&pool->given_up.due))
        sp_list_push_back(&pool->device->due, &pool->given_up.due);
}

// Wakes the pools whose lanes wait for numbers that are complete. In each slot the first lane waits
// for the lowest number.
static void wake_completed_in(struct sp_tree *tree, bool (*is_complete)(struct sp_fence fence)) {
    const struct sp_tree_node *node;
    for (uint32_t slot = 0; (node = sp_tree_lower_bound(tree, &slot, compare_slot));) {
        const struct sp_lane *lane = lane_of(node);
        slot = lane->stream->slot;
        if (is_complete((struct sp_fence){slot, lane->awaits}))
            wake_locked(lane->pool);
        else
            slot++;
    }
}

// ------------------------------------------------------------------------------------ taking apart

// No walk finds the pool then, for none stands on it.
bool sp_given_up_claim_locked(struct sp_pool *pool) {
    if (pool->stage != SP_POOL_GIVEN_UP || pool->pins > 0)
        return false;
    pool->stage = SP_POOL_CLAIMED;
    pool->given_up.woken = false;
    stop_waiting(pool);
    sp_list_remove(&pool->given_up.due);
    sp_device_relist_locked(pool, false);
    return true;
}

void sp_given_up_dispose(struct sp_pool *pool) {
    sp_promises_set(pool, poolPromiseNothing);
    sp_defer_bury_at_end(pool);
    sp_segment_close_all(pool);
    sp_lane_free_all(pool);
    sp_device_give_struct(pool);
}

// Takes a claimed pool apart, or puts it back in its place. Another thread's last free finds the
// pool claimed and leaves it to this one, so look again when it became empty meanwhile.
static void take_apart(struct sp_pool *pool) {
    struct sp_device *device = pool->device;
    struct sp_pool *overflow = atomic_exchange(&pool->overflow, NULL);
    if (overflow) // it is given up, too, and nobody comes to it any more
        sp_pin_drop(overflow);
    bool was_live = sp_figures_any_used(pool);
    struct sp_outcome outcome = sp_trim_to(pool, 0);
    if (!sp_figures_any_used(pool) && sp_load_relaxed(&pool->reserved) == 0) {
        bool promised = (sp_pool_promises(pool) & poolPromiseStreamDestroy) != 0;
        atomic_fetch_sub(&device->given_up, 1);
        sp_given_up_dispose(pool);
        if (promised)
            sp_promises_end();
        return;
    }
    // It is due, waits, or rests. Where the driver has kept memory that should have gone, it is
    // due; and where nothing is used and it waits for nothing, or it would rest for ever.
    sp_lock_acquire(&device->lock);
    pool->stage = SP_POOL_GIVEN_UP;
    sp_device_relist_locked(pool, true);
    bool waits = sp_is_done(outcome) && !pool->given_up.woken && try_to_wait(pool);
    if (!waits || (!pool->given_up.waits && !sp_figures_any_used(pool)))
        wake_locked(pool);
    sp_lock_release(&device->lock);
    if (was_live && !sp_figures_any_used(pool))
        sp_given_up_reap_pool(device, pool);
}

// A pool on which a walk stands can't be claimed. Nothing wakes one that has become empty, so it is
// left to threads that come later.
void sp_given_up_reap_pool(struct sp_device *device, struct sp_pool *pool) {
    sp_lock_acquire(&device->lock);
    bool claimed = sp_given_up_claim_locked(pool);
    if (!claimed && pool->stage == SP_POOL_GIVEN_UP)
        wake_locked(pool);
    sp_lock_release(&device->lock);
    if (claimed)
        take_apart(pool);
}

void sp_given_up_wake(struct sp_device *device, struct sp_pool *pool) {
    sp_lock_acquire(&device->lock);
    pool->given_up.woken = true;
    if (pool->stage == SP_POOL_GIVEN_UP)
        wake_locked(pool);
    sp_lock_release(&device->lock);
}

static bool is_of_given_up(const struct sp_task *task) {
    const struct sp_pool *pool = SP_CONTAINER_OF(task, struct sp_pool, deferred.task);
    return atomic_load(&pool->destroyed);
}

// A pool's struct is never freed, so the task may be looked at, whichever pool has the struct by
// then.
void sp_given_up_await_worker(struct sp_device *device) {
    if (sp_load_acquire(&device->given_up) > 0)
        sp_worker_await(is_of_given_up);
}

// Takes apart what is due. It looks once at each of those that are due now. A thread that stands on
// one of them looks at it when it leaves.
static void reap_due(struct sp_device *device) {
    uint32_t left = 0;
    sp_lock_acquire(&device->lock);
    SP_LIST_FOR_EACH(link, &device->due)
        left++;
    for (; left > 0 && !sp_list_empty(&device->due); left--) {
        struct sp_pool *pool = SP_CONTAINER_OF(device->due.next, struct sp_pool, given_up.due);
        if (sp_given_up_claim_locked(pool)) {
            sp_lock_release(&device->lock);
            take_apart(pool);
            sp_lock_acquire(&device->lock);
        } else { // behind the others
            sp_list_remove(&pool->given_up.due);
            sp_list_push_back(&device->due, &pool->given_up.due);
        }
    }
    sp_lock_release(&device->lock);
    sp_given_up_await_worker(device);
}

void sp_given_up_ask(struct sp_device *device) {
    sp_lock_acquire(&device->lock);
    bool any = !sp_tree_empty(&device->awaited[COMPLETION]);
    sp_lock_release(&device->lock);
    if (any)
        sp_poll_current_context(); // a failure keeps them waiting
}

void sp_given_up_reap(struct sp_device *device) {
    if (sp_load_acquire(&device->given_up) == 0)
        return;
    sp_end_gone_contexts(NULL);
    sp_lock_acquire(&device->lock);
    wake_completed_in(&device->awaited[COMPLETION], sp_progress_is_complete);
    wake_completed_in(&device->awaited[SYNCHRONIZE], sp_progress_is_synchronized);
    sp_lock_release(&device->lock);
    reap_due(device);
}

// Those that wait or rest have memory, and stand in a list that changes under the device's lock.
void sp_given_up_reap_all(struct sp_device *device) {
    if (sp_load_acquire(&device->given_up) == 0)
        return;
    sp_lock_acquire(&device->lock);
    SP_LIST_FOR_EACH_OF(struct sp_pool, pool, listing.holds, &device->holders[SP_HOLDERS_GIVEN_UP])
        wake_locked(pool);
    sp_lock_release(&device->lock);
    reap_due(device);
}

// -------------------------------------------------------------------------------------------- pins

bool sp_pin_take(struct sp_pool *pool, poolMemPool_t handle) {
    sp_lock_acquire(&pool->device->lock);
    bool pinned = sp_load_acquire(&pool->handle) == handle && pool->stage == SP_POOL_IN_USE;
    pool->pins += pinned;
    sp_lock_release(&pool->device->lock);
    return pinned;
}

void sp_pin_drop(struct sp_pool *pool) {
    sp_lock_acquire(&pool->device->lock);
    pool->pins--;
    bool given_up = sp_load_acquire(&pool->destroyed);
    sp_lock_release(&pool->device->lock);
    if (given_up)
        sp_given_up_reap_pool(pool->device, pool);
}
