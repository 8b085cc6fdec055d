#include "calls/bound.h"

#include "base/checked.h"
#include "calls/wait.h"
#include "region/collect.h"
#include "region/device.h"
#include "region/lane.h"
#include "region/take.h"
#include "supply/growth.h"
#include "supply/plan.h"

// True when the least growth that serves the request would take the pool beyond the bound.
static bool is_beyond(const struct sp_request *request) {
    struct sp_pool *pool = request->pool;
    uint64_t room = sp_growth_room(pool, request->size);
    if (room >= sp_round_up(request->size, pool->device->vmm.granule))
        return false;
    sp_lock_acquire(&pool->lock);
    uint64_t least = sp_plan_least(request);
    sp_lock_release(&pool->lock);
    return least > room;
}

// A row of waits ends when the stream is given a large block without a wait. A block of a size that
// it has just freed doesn't count: a stream that follows another one step by step has such blocks,
// too.
static bool may_wait(const struct sp_request *request) {
    struct sp_lane *lane = request->lane;
    uint32_t misses = sp_load_relaxed(&lane->misses);
    sp_lock_acquire(&request->pool->lock);
    if (misses - lane->misses_at_wait > 1)
        lane->waits_in_row = 0;
    bool may = lane->waits_in_row < SP_WAITS_IN_ROW;
    sp_lock_release(&request->pool->lock);
    return may;
}

static void count_wait(const struct sp_request *request) {
    struct sp_lane *lane = request->lane;
    uint32_t misses = sp_load_relaxed(&lane->misses);
    sp_lock_acquire(&request->pool->lock);
    lane->waits_in_row++;
    lane->misses_at_wait = misses;
    sp_lock_release(&request->pool->lock);
    sp_pool_count(request->pool, SP_STATISTIC_WaitsForGrowth);
}

static void wait_if_it_may(struct sp_request *request, struct sp_block **block) {
    if (!may_wait(request)) {
        sp_pool_count(request->pool, SP_STATISTIC_GrowthsAfterWaits);
        return;
    }
    bool fenced = sp_pool_may_ask(request->pool) || sp_is_done(sp_rung_fenced(request, block));
    if (!fenced || !sp_is_done(sp_wait_made_ordered(request, block)))
        *block = NULL;
    if (*block && request->has_waited)
        count_wait(request);
}

struct sp_outcome sp_bound_brought_in(struct sp_request *request, struct sp_block **block) {
    *block = NULL;
    if (request->bound != SP_BOUND_HOLDS || !sp_pool_has_very_many_lanes(request->pool) ||
        !is_beyond(request))
        return sp_outcome_done();
    sp_collect_all(request->pool);
    *block = sp_take(request);
    return sp_outcome_done();
}

struct sp_outcome sp_bound_waited(struct sp_request *request, struct sp_block **block) {
    *block = NULL;
    if (request->bound != SP_BOUND_HOLDS)
        return sp_outcome_done();
    bool beyond = is_beyond(request);
    if (beyond)
        wait_if_it_may(request, block);
    request->bound = beyond ? SP_BOUND_PASSED : SP_BOUND_NONE;
    return sp_outcome_done();
}

struct sp_outcome sp_bound_remapped(struct sp_request *request, struct sp_block **block) {
    return request->bound == SP_BOUND_PASSED ? sp_rung_remapped(request, block) : sp_outcome_done();
}
