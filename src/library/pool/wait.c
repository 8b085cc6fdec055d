// The last rungs of the ladder: memory that is free and pending, and a wait that brings it within
// reach.
#include "base/time.h"
#include "order/context_wait.h"
#include "order/learn.h"
#include "order/poll.h"
#include "order/silent.h"
#include "pool/device.h"
#include "pool/lane.h"
#include "pool/remap.h"
#include "pool/request.h"
#include "pool/settle.h"
#include "pool/unfenced.h"

#include <time.h>

// A fence that the clock tells of needs no second wait, whatever the policy on events is.
static bool is_in_the_way(const struct sp_request *request, struct sp_fence fence) {
    struct sp_request ordered = *request;
    struct sp_fence_set alone = {.count = 1, .some = {fence}};
    ordered.made_order = true;
    return sp_request_rule(&ordered, &alone) > SP_RULE_ORDERED;
}

CUresult sp_request_wait_for(struct sp_request *request, const struct sp_fence_set *fences) {
    for (uint32_t i = 0; i < fences->count; i++) {
        struct sp_fence fence = *sp_fence_set_at(fences, i);
        if (!is_in_the_way(request, fence))
            continue;
        CUresult error = sp_learn_wait_fence(request->lane->stream, fence);
        if (error != CUDA_SUCCESS)
            return error;
        sp_pool_count(request->pool, SP_STATISTIC_WaitsInserted);
    }
    return CUDA_SUCCESS;
}

// No more than is asked for, so that others find the rest while this one waits. Without host memory
// it is the whole block.
static void cut_locked(struct sp_pool *pool, struct sp_block *block, uint64_t size) {
    struct sp_block *rest = block->size > size ? sp_block_split(block, size) : NULL;
    if (rest)
        sp_settle_insert(pool, rest);
}

static struct sp_block *set_aside(struct sp_request *request) {
    sp_lock_acquire(&request->pool->lock);
    struct sp_block *block = sp_take_aside(request);
    if (block)
        cut_locked(request->pool, block, request->size);
    sp_lock_release(&request->pool->lock);
    return block;
}

// The block as the caller wants it, or back to where it was.
static bool finish(const struct sp_request *request, struct sp_block *block, bool ordered) {
    sp_lock_acquire(&request->pool->lock);
    bool taken = ordered && sp_take_cut(request->pool, block, request->size);
    if (!taken)
        sp_settle_insert(request->pool, block);
    sp_lock_release(&request->pool->lock);
    return taken;
}

// While the waits are inserted the memory is set aside, so nobody else takes it, and no lock is
// held.
static CUresult take_behind_waits(struct sp_request *request, struct sp_block **block) {
    struct sp_block *aside = set_aside(request);
    if (!aside)
        return sp_remap_behind_waits(request, block);
    CUresult error = sp_request_wait_for(request, &aside->fences);
    if (finish(request, aside, error == CUDA_SUCCESS))
        *block = aside;
    return error;
}

CUresult sp_take_made_ordered(struct sp_request *request, struct sp_block **block) {
    enum sp_rule reach = request->reach;
    *block = NULL;
    if (!sp_request_allows(request, poolMemPoolReuseAllowInternalDependencies))
        return CUDA_SUCCESS;
    request->reach = SP_RULE_MADE_ORDERED;
    CUresult error = take_behind_waits(request, block);
    request->reach = reach;
    return error == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : error;
}

// Takes memory that the stream has been made to wait for: it is ordered, and needs no further wait.
static CUresult take_ordered(struct sp_request *request, enum sp_statistic counts,
                             struct sp_block **block) {
    enum sp_rule reach = request->reach;
    sp_pool_count(request->pool, counts);
    sp_request_refresh(request);
    request->reach = SP_RULE_ORDERED;
    request->made_order = true;
    CUresult error = take_behind_waits(request, block);
    request->made_order = false;
    request->reach = reach;
    return error == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : error;
}

static bool trusts_context(const struct sp_request *request) {
    return sp_load_relaxed(&request->pool->attributes.context_fence);
}

typedef bool predicate(const struct sp_request *request, const struct sp_lane *lane);

static bool any_lane_of(const struct sp_request *request, struct sp_pool *pool, predicate *is_one) {
    bool any = false;
    sp_lock_acquire(&pool->lock);
    SP_LIST_FOR_EACH(link, &pool->lanes.list)
        any = any || is_one(request, SP_CONTAINER_OF(link, struct sp_lane, link));
    sp_lock_release(&pool->lock);
    return any;
}

// The legacy stream can tell of its frees, and no event stands behind them.
static bool is_silent(const struct sp_request *request, const struct sp_lane *lane) {
    return lane != request->lane && lane->unfenced[request->kind].bytes > 0 &&
           sp_silent_is_seen_by_legacy(lane->stream) &&
           sp_request_shares_context(request, lane->stream);
}

CUresult sp_take_behind_legacy(struct sp_request *request, struct sp_block **block) {
    *block = NULL;
    if (!sp_request_allows(request, poolMemPoolReuseAllowInternalDependencies) ||
        !any_lane_of(request, request->pool, is_silent) ||
        sp_silent_wait_legacy(request->lane->stream) != CUDA_SUCCESS)
        return CUDA_SUCCESS;
    return take_ordered(request, SP_STATISTIC_LegacyFences, block);
}

CUresult sp_take_behind_context(struct sp_request *request, struct sp_block **block) {
    *block = NULL;
    if (!trusts_context(request) ||
        !sp_request_allows(request, poolMemPoolReuseAllowInternalDependencies) ||
        sp_silent_wait_context(request->lane->stream) != CUDA_SUCCESS)
        return CUDA_SUCCESS; // this driver can't: the request goes on without
    return take_ordered(request, SP_STATISTIC_ContextFences, block);
}

static bool is_unfenced(const struct sp_request *request, const struct sp_lane *lane) {
    return sp_request_shares_context(request, lane->stream) && sp_unfenced_holds_back(lane);
}

// Something that was freed on the lane is pending, and a question can tell when that ends.
static bool may_complete(const struct sp_request *request, const struct sp_lane *lane) {
    const struct sp_stream *stream = lane->stream;
    if (sp_request_shares_context(request, stream) && sp_progress_has_pending_events(stream))
        return true;
    return is_unfenced(request, lane) &&
           (sp_silent_is_seen_by_legacy(stream) || trusts_context(request));
}

// Other pools of the device can give memory back, where it was the device that had too little.
static bool any_lane(const struct sp_request *request, predicate *is_one) {
    struct sp_pool *pool = NULL;
    if (any_lane_of(request, request->pool, is_one))
        return true;
    if (!request->lacking)
        return false;
    bool any = false;
    while ((pool = sp_device_next_pool(request->pool->device, pool)))
        any = any || any_lane_of(request, pool, is_one);
    return any;
}

// Memory may come within reach by itself.
static bool is_worth_waiting(const struct sp_request *request) {
    return !sp_pool_is_deterministic(request->pool) && any_lane(request, may_complete);
}

// The events that are there are asked first: that costs least.
static CUresult poll_and_climb(struct sp_request *request, struct sp_block **block) {
    uint64_t before = sp_progress_news();
    CUresult error = sp_poll_context_of(request->lane->stream);
    if (error != CUDA_SUCCESS)
        return error;
    *block = sp_take(request);
    if (*block)
        return CUDA_SUCCESS;
    error = sp_progress_news() == before ? CUDA_SUCCESS : sp_climb_again(request, block);
    return error == CUDA_SUCCESS && !*block ? sp_ask_and_climb(request, block) : error;
}

// Nothing can be waited for with a limit, so it is asked again and again.
CUresult sp_take_after_host_wait(struct sp_request *request, struct sp_block **block) {
    static const struct timespec pause = {0, 50000};
    uint64_t limit = sp_load_relaxed(&request->pool->attributes.host_wait_max);
    *block = NULL;
    if (limit == 0 || !is_worth_waiting(request))
        return CUDA_SUCCESS;
    sp_pool_count(request->pool, SP_STATISTIC_HostWaits);
    uint64_t begin = sp_time_now();
    // As of the last look: what another thread has found complete since then is taken, too.
    bool pending = true;
    CUresult error = poll_and_climb(request, block);
    while (error == CUDA_SUCCESS && !*block && pending && sp_time_now() - begin < limit) {
        nanosleep(&pause, NULL);
        pending = is_worth_waiting(request);
        error = poll_and_climb(request, block);
    }
    return error;
}

CUresult sp_take_after_context_wait(struct sp_request *request, struct sp_block **block) {
    uint64_t limit = sp_load_relaxed(&request->pool->attributes.context_wait_max);
    uint64_t before = sp_progress_news();
    *block = NULL;
    if (limit == 0 || !sp_context_wait_is_needed() || !trusts_context(request) ||
        !sp_pool_may_ask(request->pool) || !any_lane(request, is_unfenced))
        return CUDA_SUCCESS;
    sp_pool_count(request->pool, SP_STATISTIC_ContextWaits);
    CUresult error = sp_context_wait_for(request->lane->stream, limit);
    return error == CUDA_SUCCESS && sp_progress_news() != before ? sp_climb_again(request, block)
                                                                 : error;
}
