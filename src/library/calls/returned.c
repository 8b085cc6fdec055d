#include "calls/returned.h"

#include "base/cold.h"
#include "order/end.h"
#include "order/poll.h"
#include "region/at_hand.h"
#include "region/request.h"

static bool has_returned(struct sp_lane *lane, unsigned class_index) {
    sp_biased_lock_acquire(&lane->lock);
    bool has = !sp_list_empty(&lane->returned_slabs[class_index]);
    sp_biased_lock_release(&lane->lock);
    return has;
}

// Takes a small block once something was learned, and counts it as `counts`.
SP_COLD static uint64_t take_learned(struct sp_pool *pool, struct sp_lane *lane, size_t size,
                                     unsigned int flags, enum sp_statistic counts) {
    sp_biased_lock_acquire(&lane->lock);
    uint64_t address = sp_at_hand_take_small_locked(lane, size, flags, NULL);
    sp_biased_lock_release(&lane->lock);
    if (address)
        sp_pool_count(pool, counts);
    return address;
}

// It asks whether their contexts are gone, and, where the policy allows it, whether the recorded
// events are complete.
uint64_t sp_returned_take(struct sp_pool *pool, struct sp_lane *lane, size_t size,
                          unsigned int flags) {
    uint64_t address = 0;
    if (!has_returned(lane, sp_slab_class_of(size)))
        return 0;
    if (sp_end_some_gone_contexts(lane->stream))
        address = take_learned(pool, lane, size, flags, SP_STATISTIC_ReuseComplete);
    if (!address && !(flags & poolMallocSameStreamOnly) && sp_pool_may_ask(pool) &&
        sp_is_done(sp_poll_some_of(lane->stream)))
        address = take_learned(pool, lane, size, flags, SP_STATISTIC_ReuseFoundComplete);
    return address;
}

// -------------------------------------------------------------------------------- before a refusal

// Copies the fences of the first slab with returned blocks that the stream can be made to wait for.
// False where there is none, or no host memory.
static bool find_awaitable(const struct sp_request *request, unsigned class_index,
                           struct sp_fence_set *fences) {
    struct sp_lane *lane = request->lane;
    bool found = false;
    sp_biased_lock_acquire(&lane->lock);
    SP_LIST_FOR_EACH(link, &lane->returned_slabs[class_index]) {
        const struct sp_slab *slab = SP_CONTAINER_OF(link, struct sp_slab, returned_link);
        if (!found && sp_request_rule(request, &slab->foreign) <= SP_RULE_MADE_ORDERED)
            found = sp_fence_set_join(fences, &slab->foreign);
    }
    sp_biased_lock_release(&lane->lock);
    return found;
}

// The stream runs after the blocks then, whatever the policy on events is.
static uint64_t take_ordered(struct sp_request *request, size_t size) {
    struct sp_lane *lane = request->lane;
    sp_request_refresh(request);
    request->reach = SP_RULE_ORDERED;
    request->made_order = true;
    sp_biased_lock_acquire(&lane->lock);
    sp_at_hand_accept_returned_locked(request, sp_slab_class_of(size));
    uint64_t address = sp_at_hand_take_small_locked(lane, size, request->flags, NULL);
    sp_biased_lock_release(&lane->lock);
    return address;
}

static struct sp_outcome wait_and_take(struct sp_request *request, size_t size, uint64_t *address) {
    struct sp_fence_set fences = {.count = 0};
    struct sp_outcome outcome = sp_outcome_of(SP_NO_EVENT);
    if (find_awaitable(request, sp_slab_class_of(size), &fences))
        outcome = sp_request_wait_for(request, &fences);
    if (sp_is_done(outcome))
        *address = take_ordered(request, size);
    sp_fence_set_clear(&fences);
    return outcome.cause == SP_NO_EVENT ? sp_outcome_done() : outcome;
}

static struct sp_outcome take_by_waiting(struct sp_pool *pool, struct sp_lane *lane, size_t size,
                                         unsigned int flags, uint64_t *address) {
    struct sp_request request;
    struct sp_outcome outcome = sp_outcome_done();
    sp_request_open(&request, pool, lane, SP_REGION_PAGES, 0, flags);
    if (sp_request_allows(&request, poolMemPoolReuseAllowInternalDependencies))
        outcome = wait_and_take(&request, size, address);
    sp_request_close(&request);
    if (*address)
        sp_pool_count(pool, SP_STATISTIC_ReuseMadeOrdered);
    return outcome;
}

struct sp_outcome sp_returned_take_at_last(struct sp_pool *pool, struct sp_lane *lane, size_t size,
                                           unsigned int flags, uint64_t *address) {
    *address = 0;
    if (!has_returned(lane, sp_slab_class_of(size)))
        return sp_outcome_done();
    *address = take_learned(pool, lane, size, flags, SP_STATISTIC_ReuseFoundComplete);
    return *address ? sp_outcome_done() : take_by_waiting(pool, lane, size, flags, address);
}
