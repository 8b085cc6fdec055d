#include "region/ask.h"

#include "base/number.h"
#include "order/context.h"
#include "order/indirect.h"
#include "order/poll.h"
#include "order/resolve.h"
#include "region/device.h"

// Asks so many of the pool's lanes, or all, from a slot on: those that have freed something, and
// nothing stands behind it. Slots from the number of streams on have no lane.
// A stream that is idle needs no event: what it has freed is complete. A record on a legacy stream
// that is busy would make the later work of all blocking streams wait for what they have pending,
// so that is for who needs an event and can't do with an answer.
static struct sp_outcome ask_lanes(struct sp_pool *pool, uint32_t from, uint32_t count,
                                   const struct sp_lane *caller, bool may_ask) {
    const struct sp_lane_table *table = sp_load_acquire(&pool->lane_table);
    struct sp_outcome first = sp_outcome_done();
    if (!table || !sp_held_may_be_lazy(pool))
        return first;
    uint32_t slots = (uint32_t)sp_min(table->count, sp_stream_count());
    for (uint32_t i = 0; i < slots && i < count; i++) {
        struct sp_lane *lane = sp_load_acquire(&table->lanes[(from + i) % slots]);
        if (!lane || lane == caller || !sp_held_back_any(lane) ||
            !sp_held_may_borrow(pool, lane->stream) ||
            !sp_borrow_stream(lane->stream, caller ? caller->stream : NULL,
                              sp_held_is_promised(pool)))
            continue;
        bool complete = false;
        struct sp_outcome asked =
            may_ask ? sp_synchronize_ask(lane->stream, &complete) : sp_outcome_done();
        bool records = !may_ask || !sp_stream_is_legacy(lane->stream->handle);
        if (sp_is_done(asked) && !complete && records)
            sp_lane_record(lane);
        first = sp_outcome_first(first, asked);
        sp_borrow_end(lane->stream);
    }
    return first;
}

struct sp_outcome sp_ask_lazy_lanes(struct sp_pool *pool, const struct sp_lane *caller,
                                    bool may_ask) {
    return ask_lanes(pool, 0, UINT32_MAX, caller, may_ask);
}

struct sp_outcome sp_ask_lazy_lanes_of(struct sp_device *device, const struct sp_lane *caller) {
    struct sp_outcome first = sp_outcome_done();
    struct sp_pool *pool = NULL;
    while ((pool = sp_device_next_pool(device, pool)))
        first = sp_outcome_first(first, ask_lanes(pool, 0, UINT32_MAX, caller, true));
    return first;
}

struct sp_outcome sp_ask_some_lazy_lanes(struct sp_pool *pool, const struct sp_lane *caller) {
    uint32_t from = 0;
    if (sp_stream_count() > SP_LANES_AT_ONCE)
        from = sp_add_relaxed(&pool->lanes.lazy_next, SP_LANES_AT_ONCE);
    return ask_lanes(pool, from, SP_LANES_AT_ONCE, caller, true);
}

// A free that found its lane lazy is counted when the lane's lock can be had.
void sp_ask_and_close_lanes(struct sp_pool *pool) {
    struct sp_lane *lane = NULL;
    if (!sp_held_may_be_lazy(pool))
        return;
    sp_lock_acquire(&pool->lock);
    sp_held_deal(pool, true);
    sp_lock_release(&pool->lock);
    while ((lane = sp_lane_next(pool, lane))) {
        for (struct sp_lane *shelf = lane; shelf; shelf = sp_load_acquire(&shelf->next_shelf)) {
            sp_biased_lock_acquire(&shelf->lock);
            sp_biased_lock_release(&shelf->lock);
        }
    }
    sp_ask_lazy_lanes(pool, NULL, false);
}

// A stream of the context that has freed memory of which the legacy stream alone would tell, or
// null.
static struct sp_stream *unasked_stream(struct sp_pool *pool, CUcontext context, uint64_t id) {
    struct sp_stream *found = NULL;
    sp_lock_acquire(&pool->lock);
    SP_LIST_FOR_EACH_OF(const struct sp_lane, lane, link, &pool->lanes.list) {
        if (sp_held_back_any(lane) && sp_indirect_is_seen_by_legacy(lane->stream) &&
            sp_stream_is_of(lane->stream, context, id))
            found = lane->stream;
    }
    sp_lock_release(&pool->lock);
    return found;
}

// About one pool, or all of the device: the legacy stream tells of all of them.
static struct sp_outcome ask_current_context(struct sp_pool *pool, struct sp_device *device) {
    CUcontext context = NULL;
    uint64_t id;
    struct sp_outcome outcome = sp_poll_current_context();
    if (!sp_is_done(outcome) || (pool && !sp_pool_may_ask(pool)))
        return outcome;
    outcome = sp_context_current_alive(&context, &id);
    if (!sp_is_done(outcome) || !context)
        return outcome;
    struct sp_stream *unasked = pool ? unasked_stream(pool, context, id) : NULL;
    for (struct sp_pool *each = NULL; !pool && (each = sp_device_next_pool(device, each));) {
        if (!unasked && sp_pool_may_ask(each))
            unasked = unasked_stream(each, context, id);
    }
    return unasked ? sp_indirect_ask(unasked, SP_INDIRECT_LEGACY) : sp_outcome_done();
}

struct sp_outcome sp_ask_current_context(struct sp_pool *pool) {
    return sp_pool_is_deterministic(pool) ? sp_outcome_done()
                                          : ask_current_context(pool, pool->device);
}

struct sp_outcome sp_ask_current_context_of(struct sp_device *device) {
    return ask_current_context(NULL, device);
}
