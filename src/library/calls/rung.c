#include "calls/rung.h"

#include "base/number.h"
#include "calls/wait.h"
#include "order/context.h"
#include "order/indirect.h"
#include "order/mark.h"
#include "order/poll.h"
#include "order/resolve.h"
#include "process/reclaim.h"
#include "region/ask.h"
#include "region/collect.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/find.h"
#include "region/held.h"
#include "region/lane.h"
#include "region/refine.h"
#include "region/retain.h"
#include "region/settle.h"
#include "supply/grow.h"
#include "supply/growth.h"
#include "supply/remap.h"
#include "supply/trim.h"

// ------------------------------------------------------------------------------------ conditions

bool sp_rung_is_for_pages(const struct sp_request *request) {
    return request->kind == SP_REGION_PAGES;
}

bool sp_rung_may_ask_others(const struct sp_request *request) {
    return !(request->flags & poolMallocSameStreamOnly) && sp_pool_may_ask(request->pool);
}

// A request that doesn't go by its stream's order asks about that, whatever the policy on others
// is.
bool sp_rung_may_ask_any(const struct sp_request *request) {
    return sp_rung_may_ask_others(request) ||
           (!request->own && !sp_pool_is_deterministic(request->pool));
}

bool sp_rung_may_grow(const struct sp_request *request) {
    return !(request->flags & poolMallocNoGrowth);
}

// Growing comes before remapping as long as the program is known to need the memory, or soon will.
bool sp_rung_is_filled(const struct sp_request *request) {
    bool is_filling =
        sp_rung_may_grow(request) && (sp_growth_is_foreseen(request->pool, request->size) ||
                                      sp_growth_is_due(request->pool, request->size));
    if (is_filling)
        sp_request_tell(request, remap(request, poolGrowthRemapFilling, 0, 0));
    return !is_filling;
}

bool sp_rung_is_held_back(const struct sp_request *request) {
    return request->bound == SP_BOUND_HOLDS;
}

bool sp_rung_is_beyond(const struct sp_request *request) {
    return request->bound == SP_BOUND_PASSED;
}

// ------------------------------------------------------------------------------------ what is free

struct sp_outcome sp_rung_within_reach(struct sp_request *request, struct sp_block **block) {
    bool may_refine = request->kind == SP_REGION_LARGE && sp_rung_may_grow(request);
    request->refine = may_refine ? SP_REFINE_MAY : SP_REFINE_NEVER;
    *block = sp_find(request);
    return sp_outcome_done();
}

// Memory that the request's own stream has freed may be complete with nobody knowing: the stream is
// asked about much of it. Where it isn't, the pool grows by a little rather than that a small block
// keeps so much. The request doesn't need what is refined, so a driver that fails here is told of
// by the next call that does.
struct sp_outcome sp_rung_refined(struct sp_request *request, struct sp_block **block) {
    struct sp_pool *pool = request->pool;
    uint64_t size;
    bool complete, refined = false;
    sp_lock_acquire(&pool->lock);
    const struct sp_block *found = sp_find_to_refine(request, &size);
    bool is_own = found && found->tier != &pool->regions[request->kind].ready;
    sp_lock_release(&pool->lock);
    if (is_own && sp_refine_asks(pool, size) && sp_rung_may_ask_others(request))
        sp_synchronize_ask(request->lane->stream, &complete);
    if (found)
        refined = sp_trim_refine(request);
    sp_lock_acquire(&pool->lock);
    bool avoids = is_own && !refined && sp_refine_grows(pool, request->size);
    sp_lock_release(&pool->lock);
    request->refine = avoids ? SP_REFINE_AVOID : SP_REFINE_NEVER;
    *block = sp_find(request);
    return sp_outcome_done();
}

// Looks in another region than the request's own. False when there is none.
static bool find_in_other(struct sp_request *request, int i, struct sp_block **block) {
    struct sp_request other;
    bool is_one = sp_find_other_region(request, i, &other);
    if (is_one) {
        *block = sp_find(&other);
        request->took = other.took;
    }
    return is_one;
}

// Memory that was mapped ahead serves small blocks too: pages are cut from it, with nothing asked
// and nothing mapped.
struct sp_outcome sp_rung_primed(struct sp_request *request, struct sp_block **block) {
    sp_lock_acquire(&request->pool->lock);
    bool primed = sp_retain_is_primed(request->pool);
    sp_lock_release(&request->pool->lock);
    if (primed)
        find_in_other(request, 0, block);
    return sp_outcome_done();
}

// Memory that was freed in a context that was destroyed is complete, under every policy. Nobody
// tells, so it is looked for.
struct sp_outcome sp_rung_of_gone_contexts(struct sp_request *request, struct sp_block **block) {
    if (sp_end_some_gone_contexts(request->lane->stream))
        *block = sp_find(request);
    return sp_outcome_done();
}

// Asks about what the stream itself has freed. Where work is pending an event may be left behind
// it, for the next one.
static struct sp_outcome ask_own_stream(const struct sp_request *request, bool may_record) {
    struct sp_stream *stream = request->lane->stream;
    bool complete;
    struct sp_outcome outcome = sp_synchronize_ask(stream, &complete);
    return sp_is_done(outcome) && !complete && may_record ? sp_mark_record(stream) : outcome;
}

// Memory that only a question can find.
struct sp_outcome sp_rung_found_complete(struct sp_request *request, struct sp_block **block) {
    uint64_t before = sp_progress_news(SP_FOUND);
    struct sp_outcome outcome = sp_outcome_done();
    bool asks_others = sp_rung_may_ask_others(request);
    if (!request->own) // it doesn't go by its stream's order; see ask() in region/ask.c
        outcome = ask_own_stream(request, !sp_stream_is_legacy(request->lane->stream->handle));
    if (asks_others && sp_is_done(outcome))
        outcome = sp_ask_some_lazy_lanes(request->pool, request->lane);
    if (asks_others && sp_is_done(outcome))
        outcome = sp_poll_some_of(request->lane->stream, SP_POLL_SOME);
    if (sp_progress_news(SP_FOUND) != before)
        request->found = SP_RULE_FOUND_COMPLETE;
    if (sp_is_done(outcome))
        *block = sp_find(request);
    return outcome;
}

// The lanes' own memory comes after the question: what has completed is ready by then, and the
// lanes' latest frees don't join it.
struct sp_outcome sp_rung_collected(struct sp_request *request, struct sp_block **block) {
    uint32_t listed = sp_load_acquire(&request->pool->lanes.freed_count);
    bool whole = false, all = listed <= SP_LANES_AT_ONCE;
    uint32_t lanes = all ? listed : SP_LANES_COLLECTED;
    for (uint64_t parts = sp_request_patience(request); !*block && !whole && parts > 0; parts--) {
        whole = sp_collect_part(request->pool, &lanes);
        *block = whole ? sp_find(request) : sp_find_own_or_ready(request);
    }
    request->left_out &= ~(unsigned)SP_LEFT_OUT_LANES;
    request->left_out |= whole && all ? 0 : SP_LEFT_OUT_LANES;
    return sp_outcome_done();
}

// A request that had no patience for so much brings in what it has left, before memory is taken
// from others or waited for. From here on it looks at all that there is.
struct sp_outcome sp_rung_brought_in(struct sp_request *request, struct sp_block **block) {
    struct sp_pool *pool = request->pool;
    sp_lock_acquire(&pool->lock);
    bool settled = sp_settle_is_done(pool);
    sp_lock_release(&pool->lock);
    request->looks = SP_REQUEST_LOOKS_ALL;
    if (settled && (request->left_out & (SP_LEFT_OUT_LANES | SP_LEFT_OUT_ROWS)) == 0)
        return sp_outcome_done();
    sp_collect_all(pool);
    request->left_out = 0;
    *block = sp_find(request);
    return sp_outcome_done();
}

// ---------------------------------------------------------------------------- remaps and growth

static struct sp_outcome remap_if(struct sp_request *request, enum poolDefragmentation least,
                                  uint64_t time_max, struct sp_block **block) {
    int policy = sp_device_defragmentation(request->pool);
    if (request->refine == SP_REFINE_AVOID) // the pool grows next
        return sp_outcome_done();
    if (request->kind != SP_REGION_LARGE || policy < (int)least) {
        sp_request_tell(request, remap(request, poolGrowthRemapForbidden, 0, 0));
        return sp_outcome_done();
    }
    struct sp_outcome outcome = sp_remap(request, time_max, block);
    return sp_outcome_lacks_memory(outcome) ? sp_outcome_done() : outcome;
}

struct sp_outcome sp_rung_remapped(struct sp_request *request, struct sp_block **block) {
    uint64_t most = sp_load_relaxed(&request->pool->attributes.remap_time_max);
    return remap_if(request, poolDefragmentBeforeGrowth, most, block);
}

struct sp_outcome sp_rung_remapped_under_pressure(struct sp_request *request,
                                                  struct sp_block **block) {
    return remap_if(request, poolDefragmentUnderPressure, UINT64_MAX, block);
}

struct sp_outcome sp_rung_remapped_with_pages(struct sp_request *request, struct sp_block **block) {
    request->sources |= 1U << SP_REGION_PAGES;
    return sp_rung_remapped_under_pressure(request, block);
}

// True when all that the pool has free is known to be complete.
static bool is_idle(struct sp_pool *pool) {
    sp_lock_acquire(&pool->lock);
    sp_settle_all(pool);
    bool pending = sp_settle_is_any_pending(pool);
    sp_lock_release(&pool->lock);
    return !pending;
}

// Returns how much must be released before the pool's limit lets it grow by so many bytes.
static uint64_t over_limit(const struct sp_pool *pool, uint64_t bytes) {
    return sp_excess(bytes, sp_figures_below_limit(pool));
}

// True when the limit and the device have room for the request, once all that is free was given
// back.
static bool could_grow(const struct sp_request *request) {
    struct sp_pool *pool = request->pool;
    size_t needed = sp_round_up(request->size, pool->device->vmm.granule);
    uint64_t over = over_limit(pool, needed);
    return (over == 0 || sp_trim_releasable(pool) >= over) &&
           sp_reclaim_could_have(pool->device, sp_request_context(request), needed);
}

// CUDA's pool gives memory back at a synchronise. Of a program that synchronises by CUDA's own
// calls nothing is seen, so the threshold is applied here, if the stream turns out to be idle and
// nothing of the pool is pending: when it was synchronised it looks like that. Only before a
// growth that can succeed: what goes could not have served the request.
static void apply_threshold_unasked(const struct sp_request *request) {
    struct sp_pool *pool = request->pool;
    if (sp_load_relaxed(&sp_reclaim_saw_synchronize) || sp_pool_is_deterministic(pool) ||
        sp_load_relaxed(&pool->reserved) <= sp_load_relaxed(&pool->attributes.release_threshold))
        return;
    bool complete;
    if (sp_is_done(sp_synchronize_ask(request->lane->stream, &complete)) && complete &&
        is_idle(pool) && could_grow(request))
        sp_trim_at_synchronize(pool);
}

// Grows. A growth that lacks memory is kept in mind, and no failure of the rung.
static struct sp_outcome grow(struct sp_request *request, struct sp_block **block) {
    struct sp_outcome outcome = sp_grow(request, block);
    if (!sp_outcome_lacks_memory(outcome))
        return outcome;
    request->growth = outcome;
    return sp_outcome_done();
}

struct sp_outcome sp_rung_grown(struct sp_request *request, struct sp_block **block) {
    struct sp_pool *pool = request->pool;
    apply_threshold_unasked(request);
    struct sp_outcome outcome = grow(request, block);
    if (sp_is_done(outcome) && !*block && request->refine == SP_REFINE_AVOID) {
        request->refine = SP_REFINE_NEVER;
        *block = sp_find(request);
        return outcome;
    }
    bool is_short = sp_is_done(outcome) && !*block;
    if (sp_load_relaxed(&pool->is_short) == is_short)
        return outcome;
    sp_lock_acquire(&pool->lock);
    sp_store_relaxed(&pool->is_short, is_short);
    if (is_short) // a pool that can't grow creeps no more
        sp_store_relaxed(&pool->lanes.ask_each_miss, false);
    sp_held_deal(pool, false);
    sp_lock_release(&pool->lock);
    return outcome;
}

static bool make_room(const struct sp_request *request, size_t more) {
    struct sp_pool *pool = request->pool;
    size_t needed = sp_round_up(request->size, pool->device->vmm.granule);
    uint64_t over = over_limit(pool, needed);
    if (over > 0 && !sp_trim_make_room(pool, over))
        return false;
    return sp_reclaim_until(pool->device, sp_request_context(request), needed, more) || over > 0;
}

// With nothing else to release the last growth stands. The driver needs some memory for its own
// ends, and can't give all that it says is free: so more is released each time.
struct sp_outcome sp_rung_grown_after_trim(struct sp_request *request, struct sp_block **block) {
    static const size_t more[] = {0, (size_t)64 << 20, SIZE_MAX / 2};
    struct sp_device *device = request->pool->device;
    struct sp_outcome outcome = sp_outcome_done();
    uint64_t reserved = sp_device_reserved(device);
    bool buried = sp_reclaim_addresses(device); // for new memory to lie at
    bool gone = sp_trim_await_giving(device);
    for (size_t i = 0; i < sizeof more / sizeof more[0] && sp_is_done(outcome) && !*block; i++) {
        bool made = make_room(request, more[i]) || sp_device_reserved(device) < reserved;
        if (!made && !buried && !gone)
            break;
        reserved = sp_device_reserved(device);
        buried = gone = false;
        outcome = grow(request, block);
    }
    if (*block && request->took == SP_RULE_NONE)
        sp_pool_count(request->pool, SP_STATISTIC_Growths);
    return outcome;
}

struct sp_outcome sp_rung_from_other_region(struct sp_request *request, struct sp_block **block) {
    for (int i = 0; !*block && find_in_other(request, i, block); i++)
        ;
    return sp_outcome_done();
}

// -------------------------------------------------------------------------------------- questions

// Looks at all streams, lanes and contexts, where there are many: the rungs so far have looked at
// some. They have asked all of a few streams, but those that another thread was asking then.
struct sp_outcome sp_rung_looked_at_all(struct sp_request *request, struct sp_block **block) {
    (void)block;
    struct sp_outcome outcome = sp_outcome_done();
    bool many = sp_stream_count() > SP_POLL_SOME;
    bool may_ask = sp_rung_may_ask_others(request);
    if (many)
        sp_end_gone_contexts(request->lane->stream);
    if (many && may_ask)
        outcome = sp_ask_lazy_lanes(request->pool, request->lane, true);
    return sp_is_done(outcome) && may_ask ? sp_poll_context_of(request->lane->stream) : outcome;
}

// A capture that begins between two questions is one more reason not to know.
struct sp_outcome sp_rung_asked_legacy_stream(struct sp_request *request, struct sp_block **block) {
    (void)block;
    struct sp_outcome outcome = sp_indirect_ask(request->lane->stream, SP_INDIRECT_LEGACY);
    return outcome.code == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ? sp_outcome_done() : outcome;
}

// The caller's own stream has its own frees at hand in this pool; but other pools, and those that
// were given up, keep what it freed there.
struct sp_outcome sp_rung_asked_own_stream(struct sp_request *request, struct sp_block **block) {
    (void)block;
    return ask_own_stream(request, true);
}

// Other pools keep what was freed on their lazy lanes until somebody asks.
struct sp_outcome sp_rung_asked_lazy_lanes(struct sp_request *request, struct sp_block **block) {
    (void)block;
    return sp_ask_lazy_lanes_of(request->pool->device, request->lane);
}

// The stream may be of another context than the current one, which is alive, too. Where the driver
// can't tell, nothing is asked.
struct sp_outcome sp_rung_asked_current_context(struct sp_request *request,
                                                struct sp_block **block) {
    (void)block;
    CUcontext context = NULL;
    uint64_t id;
    bool is_other = sp_is_done(sp_context_current(&context, &id)) && context &&
                    !sp_stream_is_of(request->lane->stream, context, id);
    return is_other ? sp_ask_current_context_of(request->pool->device) : sp_outcome_done();
}

// Where the program says that nothing in the context captures.
struct sp_outcome sp_rung_asked_context(struct sp_request *request, struct sp_block **block) {
    (void)block;
    if (!sp_load_relaxed(&request->pool->attributes.context_fence))
        return sp_outcome_done();
    struct sp_outcome outcome = sp_indirect_ask(request->lane->stream, SP_INDIRECT_CONTEXT);
    return sp_outcome_lacks_support(outcome) ? sp_outcome_done() : outcome;
}

struct sp_outcome sp_rung_polled(struct sp_request *request, struct sp_block **block) {
    struct sp_outcome outcome = sp_poll_context_of(request->lane->stream);
    if (sp_is_done(outcome))
        *block = sp_find(request);
    return outcome;
}

// ------------------------------------------------------------------------------- bounded growth

// True when the least growth that serves the request would take the pool beyond the bound.
static bool would_go_beyond(const struct sp_request *request) {
    struct sp_pool *pool = request->pool;
    uint64_t room = sp_growth_room(pool, request->size);
    if (room >= sp_round_up(request->size, pool->device->vmm.granule))
        return false;
    sp_lock_acquire(&pool->lock);
    uint64_t least = sp_grow_least(request);
    sp_lock_release(&pool->lock);
    return least > room;
}

// A row of waits ends when the stream is given a large block without a wait. A block of a size that
// it has just freed doesn't count: a stream that follows another one step by step has such blocks,
// too.
static void wait_if_it_may(struct sp_request *request, struct sp_block **block) {
    struct sp_pool *pool = request->pool;
    struct sp_lane *lane = request->lane;
    uint32_t misses = sp_load_relaxed(&lane->misses);
    sp_lock_acquire(&pool->lock);
    if (misses - lane->misses_at_wait > 1)
        lane->consecutive_waits = 0;
    bool may_wait = lane->consecutive_waits < SP_CONSECUTIVE_WAITS;
    sp_lock_release(&pool->lock);
    if (!may_wait) {
        sp_pool_count(pool, SP_STATISTIC_GrowthsAfterWaits);
        return;
    }
    bool fenced = sp_pool_may_ask(pool) || sp_is_done(sp_wait_recorded(request, block));
    if (!fenced || !sp_is_done(sp_wait_made_ordered(request, block)))
        *block = NULL;
    if (!*block || request->waits == 0)
        return;
    misses = sp_load_relaxed(&lane->misses);
    sp_lock_acquire(&pool->lock);
    lane->consecutive_waits++;
    lane->misses_at_wait = misses;
    sp_lock_release(&pool->lock);
    sp_pool_count(pool, SP_STATISTIC_WaitsForGrowth);
}

struct sp_outcome sp_rung_brought_in_at_bound(struct sp_request *request, struct sp_block **block) {
    if (request->left_out & SP_LEFT_OUT_LANES && would_go_beyond(request)) {
        sp_collect_all(request->pool);
        *block = sp_find(request);
    }
    return sp_outcome_done();
}

struct sp_outcome sp_rung_waited_at_bound(struct sp_request *request, struct sp_block **block) {
    bool beyond = would_go_beyond(request);
    if (beyond)
        wait_if_it_may(request, block);
    request->bound = beyond ? SP_BOUND_PASSED : SP_BOUND_NONE;
    return sp_outcome_done();
}
