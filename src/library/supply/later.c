#include "supply/later.h"

#include "driver/driver.h"
#include "supply/bury.h"

bool sp_later_serves(const struct sp_pool *pool) {
    return sp_load_relaxed(&pool->attributes.reaper) && !sp_pool_is_deterministic(pool) &&
           !sp_driver_is_scheduled();
}

bool sp_later_call(struct sp_pool *pool) {
    return sp_later_serves(pool) && sp_worker_call(&pool->later.chore);
}

// A trim that is due already needs no call: the chore is in the queue then, or visited and put
// back, until nothing is due.
bool sp_later_trim(struct sp_pool *pool) {
    if (!sp_load_relaxed(&pool->attributes.trim_by_reaper) || !sp_later_serves(pool))
        return false;
    atomic_store(&pool->later.synchronized, true);
    if (atomic_exchange(&pool->later.trim_due, true))
        return true;
    if (sp_later_call(pool))
        return true;
    atomic_store(&pool->later.trim_due, false);
    return false;
}

void sp_later_bury(struct sp_pool *pool) {
    size_t buried;
    if (sp_pool_has_zombies(pool) && !sp_later_call(pool))
        sp_bury_all(pool, &buried);
}
