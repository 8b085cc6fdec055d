#include "region/request.h"

#include "order/action.h"
#include "order/mark.h"
#include "region/device.h"
#include "region/lane.h"
#include "region/segment.h"
#include "region/settle.h"

// Up to which rule its policies let a request have memory without a wait.
static enum sp_rule own_reach(const struct sp_request *request) {
    return request->policies & SP_POLICY_FOLLOW ? SP_RULE_ORDERED : SP_RULE_COMPLETE;
}

// A request that can't grow waits anyhow, so it isn't held back.
void sp_request_open(struct sp_request *request, struct sp_pool *pool, struct sp_lane *lane,
                     enum sp_region_kind kind, uint64_t size, unsigned int flags) {
    bool is_run = kind == SP_REGION_PAGES && size >= SP_PAGE_SIZE;
    *request = (struct sp_request){.pool = pool,
                                   .lane = lane,
                                   .own = flags & poolMallocCompleteOnly ? NULL : lane,
                                   .kind = kind,
                                   .size = size,
                                   .flags = flags,
                                   .found = SP_RULE_COMPLETE,
                                   .took = SP_RULE_NONE,
                                   .sources = 1U << kind,
                                   .looks = SP_REQUEST_LOOKS,
                                   .unit = is_run ? SP_PAGE_SIZE : 1};
    if (!(flags & (poolMallocSameStreamOnly | poolMallocCompleteOnly))) {
        if (sp_pool_policy(pool, poolMemPoolReuseFollowEventDependencies))
            request->policies = SP_POLICY_FOLLOW;
        if (!(flags & poolMallocNoInsertedWaits) &&
            sp_pool_policy(pool, poolMemPoolReuseAllowInternalDependencies))
            request->policies |= SP_POLICY_INSERT;
    }
    request->reach = own_reach(request);
    if (sp_load_relaxed(&pool->attributes.growth_beyond_use) != UINT64_MAX &&
        !(flags & poolMallocNoGrowth) && request->policies & SP_POLICY_INSERT)
        request->bound = SP_BOUND_HOLDS;
    sp_progress_copy_clock(lane->stream, &request->clock);
}

void sp_request_close(struct sp_request *request) {
    sp_fence_set_clear(&request->clock);
}

void sp_request_refresh(struct sp_request *request) {
    sp_fence_set_clear(&request->clock);
    sp_progress_copy_clock(request->lane->stream, &request->clock);
}

CUcontext sp_request_context(const struct sp_request *request) {
    const struct sp_stream *stream = request->lane->stream;
    return stream->device == request->pool->device->vmm.ordinal ? stream->context : NULL;
}

// Up to where an event stands behind the stream's frees that the taker can wait for: events die
// with their context, and only the taker's own is certain to be alive.
static uint64_t fenced_until(const struct sp_stream *owner, const struct sp_stream *taker) {
    return sp_stream_is_of(owner, taker->context, taker->context_id)
               ? sp_load_acquire(&owner->recorded)
               : 0;
}

// Each fact is gathered where those before it don't decide: rules 1 and 2 take little, hold under
// every policy, and decide most often.
static enum sp_rule decide(const struct sp_request *request, struct sp_fence fence) {
    const struct sp_stream *taker = request->lane->stream;
    struct sp_rule_facts facts = {
        .taker_slot = request->own ? taker->slot : UINT32_MAX,
        .taker_first = taker->first,
    };
    enum sp_rule rule = sp_fence_rule(fence, &facts);
    if (rule != SP_RULE_NONE)
        return rule;
    if (sp_pool_knows(request->pool, fence))
        return SP_RULE_COMPLETE;
    facts.follow_dependencies = request->policies & (SP_POLICY_FOLLOW | SP_POLICY_OWN_ORDER);
    facts.ordered_until = sp_fence_set_number(&request->clock, fence.slot);
    rule = sp_fence_rule(fence, &facts);
    if (rule != SP_RULE_NONE)
        return rule;
    facts.legacy_ordered =
        sp_pool_follows_legacy(request->pool) && sp_action_is_legacy_ordered(taker, fence);
    facts.insert_dependencies = request->policies & SP_POLICY_INSERT;
    facts.fenced_until = fenced_until(sp_stream_at(fence.slot), taker);
    return sp_fence_rule(fence, &facts);
}

enum sp_rule sp_request_rule(const struct sp_request *request, const struct sp_fence_set *fences) {
    enum sp_rule dearest = SP_RULE_SAME_STREAM;
    for (uint32_t i = 0; i < fences->count; i++) {
        enum sp_rule rule = decide(request, *sp_fence_set_at(fences, i));
        if (rule > dearest)
            dearest = rule;
    }
    return fences->count == 0 ? SP_RULE_COMPLETE : dearest;
}

bool sp_request_reaches_others(const struct sp_request *request) {
    if (request->reach <= SP_RULE_COMPLETE || !request->lane)
        return request->reach > SP_RULE_COMPLETE;
    return request->reach > SP_RULE_ORDERED || request->clock.count > 0 ||
           sp_load_relaxed(&request->lane->stream->acts);
}

// The legacy stream runs after all blocking streams.
bool sp_request_reaches_lanes_before_alone(const struct sp_request *request) {
    return request->reach == SP_RULE_ORDERED && !sp_stream_is_legacy(request->lane->stream->handle);
}

// Its stream has it at once, whatever the fences are.
static inline bool is_at_once(const struct sp_request *request, const struct sp_block *block) {
    return sp_request_is_own_or_ready(request->pool, request->own, sp_segment_of(block)->kind,
                                      block);
}

bool sp_request_usable(const struct sp_request *request, const struct sp_block *block) {
    if (!block->tier || block->tier->state != SP_BLOCK_FREE)
        return false;
    if (is_at_once(request, block))
        return true;
    if (!sp_request_reaches_others(request))
        return false;
    if (request->pretends)
        return request->pretends & sp_request_part(request, block);
    return sp_request_rule(request, &block->fences) <= request->reach;
}

unsigned sp_request_part(const struct sp_request *request, const struct sp_block *block) {
    if (!sp_free_extents_is_free(block))
        return 0;
    if (sp_settle_is_complete(request->pool, &block->fences))
        return SP_READY;
    enum sp_rule reach = request->pretends ? own_reach(request) : request->reach;
    if (is_at_once(request, block) || sp_request_rule(request, &block->fences) <= reach)
        return SP_MINE;
    return sp_settle_is_unfenced(request->pool, block) ? SP_UNFENCED : SP_PENDING;
}

// No rule says what it reaches, so no search is cut short by one.
struct sp_request sp_request_pretend(const struct sp_request *request, unsigned parts) {
    struct sp_request dry = *request;
    dry.pretends = parts;
    dry.reach = SP_RULE_NONE;
    dry.bound = SP_BOUND_NONE;
    dry.looks = SP_REQUEST_LOOKS_ALL;
    dry.sources |= 1U << SP_REGION_PAGES;
    dry.flags &= ~(unsigned)poolMallocNoGrowth;
    return dry;
}

// A fence that the clock tells of needs no second wait, whatever the policy on events is.
struct sp_outcome sp_request_wait_for(struct sp_request *request,
                                      const struct sp_fence_set *fences) {
    for (uint32_t i = 0; i < fences->count; i++) {
        struct sp_fence fence = *sp_fence_set_at(fences, i);
        struct sp_request ordered = *request;
        ordered.policies |= SP_POLICY_OWN_ORDER;
        if (decide(&ordered, fence) <= SP_RULE_ORDERED)
            continue;
        struct sp_outcome outcome = sp_mark_wait_for_fence(request->lane->stream, fence);
        if (!sp_is_done(outcome))
            return outcome;
        request->waits++;
        sp_pool_count(request->pool, SP_STATISTIC_WaitsInserted);
    }
    return sp_outcome_done();
}
