#include "calls/wait.h"

#include "calls/sight.h"
#include "order/indirect.h"
#include "order/poll.h"
#include "region/ask.h"
#include "region/device.h"
#include "region/find.h"
#include "region/held.h"
#include "region/lane.h"
#include "region/retain.h"
#include "region/settle.h"
#include "supply/remap.h"

// No more than is asked for, so that others find the rest while this one waits. Without host memory
// it is the whole block.
static void keep_aside_locked(struct sp_pool *pool, struct sp_block *block, uint64_t size) {
    sp_in_flight_take(&pool->in_flight);
    struct sp_block *rest = block->size > size ? sp_block_split(block, size) : NULL;
    if (rest)
        sp_settle_insert(pool, rest);
}

// While the waits are inserted the memory is set aside, so nobody else takes it, and no lock is
// held. Then it is the block as the caller wants it, or goes back to where it was.
static struct sp_outcome wait_for_aside(struct sp_request *request, struct sp_block *aside,
                                        struct sp_block **block) {
    struct sp_pool *pool = request->pool;
    struct sp_outcome outcome = sp_request_wait_for(request, &aside->fences);
    sp_lock_acquire(&pool->lock);
    if (sp_is_done(outcome) && sp_find_cut(pool, aside, request->size)) {
        sp_retain_note_use(pool); // some of a row may have been ready
        sp_request_took_locked(request, SP_RULE_MADE_ORDERED);
        *block = aside;
    } else {
        sp_settle_insert(pool, aside);
    }
    sp_lock_release(&pool->lock);
    sp_in_flight_put(&pool->in_flight);
    return outcome;
}

static struct sp_outcome take_of_other_regions(struct sp_request *request,
                                               struct sp_block **block) {
    struct sp_request other;
    struct sp_outcome outcome = sp_outcome_done();
    for (int i = 0; sp_is_done(outcome) && !*block && sp_find_other_region(request, i, &other);
         i++) {
        sp_lock_acquire(&request->pool->lock);
        struct sp_block *aside = sp_find_aside(&other);
        if (aside)
            keep_aside_locked(request->pool, aside, other.size);
        sp_lock_release(&request->pool->lock);
        if (aside)
            outcome = wait_for_aside(&other, aside, block);
        request->waits = other.waits;
        request->took = other.took;
    }
    return outcome;
}

static struct sp_outcome take_behind_waits(struct sp_request *request, struct sp_block **block) {
    sp_lock_acquire(&request->pool->lock);
    struct sp_block *aside = sp_find_aside(request);
    if (aside)
        keep_aside_locked(request->pool, aside, request->size);
    sp_lock_release(&request->pool->lock);
    if (aside)
        return wait_for_aside(request, aside, block);
    return sp_remap_behind_waits(request, block);
}

typedef struct sp_outcome source(struct sp_request *request, struct sp_block **block);

bool sp_wait_is_allowed(const struct sp_request *request) {
    return request->policies & SP_POLICY_INSERT;
}

struct sp_outcome sp_wait_recorded(struct sp_request *request, struct sp_block **block) {
    (void)block;
    return sp_ask_lazy_lanes(request->pool, request->lane, false);
}

static struct sp_outcome take_made_ordered(struct sp_request *request, source *take,
                                           struct sp_block **block) {
    enum sp_rule reach = request->reach;
    request->reach = SP_RULE_MADE_ORDERED;
    struct sp_outcome outcome = take(request, block);
    request->reach = reach;
    return outcome.cause == SP_NO_EVENT ? sp_outcome_done() : outcome;
}

struct sp_outcome sp_wait_made_ordered(struct sp_request *request, struct sp_block **block) {
    return take_made_ordered(request, take_behind_waits, block);
}

struct sp_outcome sp_wait_in_other_region(struct sp_request *request, struct sp_block **block) {
    return take_made_ordered(request, take_of_other_regions, block);
}

// Takes memory that the stream has been made to wait for: it is ordered, and needs no further wait.
static struct sp_outcome take_behind_context(struct sp_request *request, enum sp_statistic counts,
                                             struct sp_block **block) {
    enum sp_rule reach = request->reach;
    sp_pool_count(request->pool, counts);
    sp_request_refresh(request);
    request->reach = SP_RULE_ORDERED;
    request->policies |= SP_POLICY_OWN_ORDER;
    struct sp_outcome outcome = take_behind_waits(request, block);
    if (sp_is_done(outcome) && !*block)
        outcome = take_of_other_regions(request, block);
    request->policies &= ~(unsigned)SP_POLICY_OWN_ORDER;
    request->reach = reach;
    return outcome.cause == SP_NO_EVENT ? sp_outcome_done() : outcome;
}

static bool trusts_context(const struct sp_request *request) {
    return sp_load_relaxed(&request->pool->attributes.context_fence);
}

typedef bool predicate(const struct sp_request *request, const struct sp_lane *lane);

static bool any_lane_of(const struct sp_request *request, struct sp_pool *pool, predicate *is_one) {
    bool any = false;
    sp_lock_acquire(&pool->lock);
    SP_LIST_FOR_EACH_OF(struct sp_lane, lane, link, &pool->lanes.list)
        any = any || is_one(request, lane);
    sp_lock_release(&pool->lock);
    return any;
}

// Memory that several streams hold back is in none of their lanes.
static bool has_unfenced_in(const struct sp_lane *lane, enum sp_region_kind kind) {
    return lane->tiers[kind]->unfenced.bytes > 0 ||
           (lane->pool->regions[kind].unfenced.bytes > 0 && sp_held_back_any(lane));
}

// The legacy stream can tell of its frees in a region that the request may take from, and no event
// stands behind them.
static bool is_unasked(const struct sp_request *request, const struct sp_lane *lane) {
    struct sp_request other;
    bool has_unfenced = has_unfenced_in(lane, request->kind);
    for (int i = 0; !has_unfenced && sp_find_other_region(request, i, &other); i++)
        has_unfenced = has_unfenced_in(lane, other.kind);
    return lane != request->lane && has_unfenced && sp_indirect_is_seen_by_legacy(lane->stream) &&
           sp_request_shares_context(request, lane->stream);
}

struct sp_outcome sp_wait_behind_legacy(struct sp_request *request, struct sp_block **block) {
    if (!any_lane_of(request, request->pool, is_unasked) ||
        !sp_is_done(sp_indirect_wait(request->lane->stream, SP_INDIRECT_LEGACY)))
        return sp_outcome_done();
    return take_behind_context(request, SP_STATISTIC_LegacyFences, block);
}

struct sp_outcome sp_wait_behind_context(struct sp_request *request, struct sp_block **block) {
    if (!trusts_context(request) ||
        !sp_is_done(sp_indirect_wait(request->lane->stream, SP_INDIRECT_CONTEXT)))
        return sp_outcome_done(); // this driver can't: the request goes on without
    return take_behind_context(request, SP_STATISTIC_ContextFences, block);
}

static bool is_unfenced(const struct sp_request *request, const struct sp_lane *lane) {
    return sp_request_shares_context(request, lane->stream) && sp_held_back_any(lane);
}

// Something that was freed on the lane is pending, and a question can tell when that ends.
static bool may_complete(const struct sp_request *request, const struct sp_lane *lane) {
    const struct sp_stream *stream = lane->stream;
    if (sp_request_shares_context(request, stream) && sp_progress_has_pending_events(stream))
        return true;
    return is_unfenced(request, lane) &&
           (sp_indirect_is_seen_by_legacy(stream) || trusts_context(request));
}

// Other pools of the device can give memory back, where it was the device that had too little.
static bool any_lane(const struct sp_request *request, predicate *is_one) {
    struct sp_pool *pool = NULL;
    if (any_lane_of(request, request->pool, is_one))
        return true;
    if (sp_is_done(request->growth) || request->growth.cause == SP_BEYOND_LIMIT)
        return false;
    bool any = false;
    while ((pool = sp_device_next_sharing(request->pool->device, pool)))
        any = any || any_lane_of(request, pool, is_one);
    return any;
}

// Pieces don't join, so memory that the stream may have at once doesn't always serve it. The
// driver, which takes it back, waits for the device anyway.
struct sp_outcome sp_wait_for_own(struct sp_request *request, struct sp_block **block) {
    (void)block;
    if (sp_vmm_provider(&request->pool->device->vmm)->joins || sp_is_done(request->growth))
        return sp_outcome_done();
    struct sp_shortage shortage = sp_sight_shortage(request, request->growth, request->size);
    bool fits_once_complete = sp_shortage_room(&shortage, SP_MINE).bytes > 0 &&
                              sp_shortage_fits(&shortage, SP_HERE, SP_HERE,
                                               sp_shortage_others(&shortage, SP_READY).whole);
    return fits_once_complete ? sp_synchronize_await(request->lane->stream) : sp_outcome_done();
}

bool sp_wait_is_worth(const struct sp_request *request) {
    return !sp_pool_is_deterministic(request->pool) && any_lane(request, may_complete);
}

struct sp_outcome sp_wait_for_context(struct sp_request *request, struct sp_block **block) {
    (void)block;
    uint64_t limit = sp_load_relaxed(&request->pool->attributes.context_wait_max);
    if (limit == 0 || !sp_indirect_needs_context_wait() || !trusts_context(request) ||
        !sp_pool_may_ask(request->pool) || !any_lane(request, is_unfenced))
        return sp_outcome_done();
    sp_pool_count(request->pool, SP_STATISTIC_ContextWaits);
    return sp_indirect_await_context(request->lane->stream, limit);
}
