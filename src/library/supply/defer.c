#include "supply/defer.h"

#include "driver/driver.h"
#include "order/resolve.h"

#include <stdlib.h>

bool sp_defer_serves(const struct sp_pool *pool) {
    return sp_load_relaxed(&pool->attributes.reaper) && !sp_pool_is_deterministic(pool) &&
           !sp_driver_is_scheduled();
}

bool sp_defer_call(struct sp_pool *pool) {
    return sp_defer_serves(pool) && sp_worker_call(&pool->deferred.task);
}

// A trim that is due already needs no call: the task is in the queue then, or visited and put
// back, until nothing is due.
bool sp_defer_trim(struct sp_pool *pool) {
    if (!sp_load_relaxed(&pool->attributes.trim_by_reaper) || !sp_defer_serves(pool))
        return false;
    atomic_store(&pool->deferred.synchronized, true);
    if (atomic_exchange(&pool->deferred.trim_due, true) || sp_defer_call(pool))
        return true;
    atomic_store(&pool->deferred.trim_due, false);
    return false;
}

// ----------------------------------------------------------------------------------------- burying

static void close_stitch(struct sp_stitch *stitch) {
    sp_fence_set_clear(&stitch->used);
    sp_chain_close(&stitch->segment.chain);
    if (stitch->alias)
        sp_alias_close(stitch->alias);
    free(stitch);
}

struct sp_outcome sp_defer_bury_view(struct sp_pool *pool, struct sp_stitch *stitch) {
    struct sp_outcome outcome =
        stitch->alias ? sp_alias_unmap_all(stitch->alias) : sp_outcome_done();
    if (sp_is_done(outcome)) {
        close_stitch(stitch);
        return sp_outcome_done();
    }
    sp_lock_acquire(&pool->lock);
    sp_stitch_add_zombie(pool, stitch);
    sp_lock_release(&pool->lock);
    return outcome;
}

struct sp_outcome sp_defer_bury_one(struct sp_pool *pool, bool *buried) {
    struct sp_stitch *stitch = NULL;
    sp_lock_acquire(&pool->lock);
    SP_LIST_FOR_EACH_OF(struct sp_stitch, zombie, by_use, &pool->kept.zombies) {
        sp_fence_set_prune(&zombie->used, sp_pool_measure(pool));
        if (!sp_fence_set_empty(&zombie->used) || zombie->used_more)
            continue; // one whose fences found no host memory never goes
        stitch = zombie;
        break;
    }
    if (stitch) {
        sp_list_remove(&stitch->by_use);
        sp_subtract_relaxed(&pool->kept.zombie_count, 1);
    }
    sp_lock_release(&pool->lock);
    struct sp_outcome outcome = stitch ? sp_defer_bury_view(pool, stitch) : sp_outcome_done();
    *buried = stitch && sp_is_done(outcome);
    if (*buried)
        sp_pool_count(pool, SP_STATISTIC_ZombiesBuried);
    return outcome;
}

struct sp_outcome sp_defer_bury_all(struct sp_pool *pool, size_t *buried) {
    struct sp_outcome outcome = sp_outcome_done();
    bool more = sp_pool_has_zombies(pool);
    *buried = 0;
    if (!more)
        return sp_outcome_done();
    sp_end_gone_contexts(NULL);
    sp_pool_begin_mapping(pool);
    while (more) {
        outcome = sp_defer_bury_one(pool, &more);
        *buried += more;
    }
    sp_pool_end_mapping(pool);
    return outcome;
}

void sp_defer_bury_at_end(struct sp_pool *pool) {
    struct sp_list *link;
    while ((link = sp_list_pop_front(&pool->kept.views)) ||
           (link = sp_list_pop_front(&pool->kept.zombies))) {
        struct sp_stitch *stitch = SP_CONTAINER_OF(link, struct sp_stitch, by_use);
        sp_alias_unmap_all(stitch->alias);
        close_stitch(stitch);
    }
}

void sp_defer_bury(struct sp_pool *pool) {
    size_t buried;
    if (sp_pool_has_zombies(pool) && !sp_defer_call(pool))
        sp_defer_bury_all(pool, &buried);
}
