#include "region/open_lanes.h"

#include "base/number.h"
#include "order/borrow.h"
#include "order/mark.h"
#include "order/synchronize.h"
#include "region/device.h"
#include "region/held.h"
#include "region/lane.h"
#include "region/open.h"

// Has freed something, and nothing stands behind it.
static bool is_unfenced(const struct sp_lane *lane) {
    return sp_open_may_borrow(lane->pool, lane->stream) &&
           sp_load_relaxed(&lane->unfenced_sequence) > sp_pool_covered_of(lane->pool, lane->stream);
}

// A stream that is idle needs no event: what it has freed is complete. A record on a legacy stream
// that is busy would make the later work of all blocking streams wait for what they have pending,
// so that is for who needs an event and can't do with an answer.
static struct sp_outcome ask_or_record(struct sp_lane *lane, bool may_ask) {
    bool complete = false;
    struct sp_outcome outcome =
        may_ask ? sp_synchronize_ask(lane->stream, &complete) : sp_outcome_done();
    if (!sp_is_done(outcome) || complete)
        return outcome;
    if (may_ask && sp_stream_is_legacy(lane->stream->handle))
        return sp_outcome_done();
    sp_lane_record(lane);
    return sp_outcome_done();
}

static struct sp_outcome fence_open(struct sp_lane *lane, const struct sp_lane *caller,
                                    bool may_ask) {
    if (!sp_borrow_stream(lane->stream, caller ? caller->stream : NULL,
                          sp_open_is_promised(lane->pool)))
        return sp_outcome_done();
    struct sp_outcome outcome = ask_or_record(lane, may_ask);
    sp_borrow_end(lane->stream);
    return outcome;
}

// Fences so many of the pool's lanes, or all, from a slot on.
// Slots from the number of streams on have no lane.
static struct sp_outcome fence_open_of(struct sp_pool *pool, uint32_t from, uint32_t count,
                                       const struct sp_lane *caller, bool may_ask) {
    const struct sp_lane_table *table = sp_load_acquire(&pool->lane_table);
    struct sp_outcome first = sp_outcome_done();
    if (!table || !sp_open_is_possible(pool))
        return first;
    uint32_t slots = (uint32_t)sp_min(table->count, sp_stream_count());
    for (uint32_t i = 0; i < slots && i < count; i++) {
        struct sp_lane *lane = sp_load_acquire(&table->lanes[(from + i) % slots]);
        if (!lane || lane == caller || !is_unfenced(lane))
            continue;
        struct sp_outcome outcome = fence_open(lane, caller, may_ask);
        first = sp_outcome_first(first, outcome);
    }
    return first;
}

struct sp_outcome sp_open_lanes_fence(struct sp_pool *pool, const struct sp_lane *caller,
                                      bool may_ask) {
    return fence_open_of(pool, 0, UINT32_MAX, caller, may_ask);
}

struct sp_outcome sp_open_lanes_ask_device(struct sp_device *device, const struct sp_lane *caller) {
    struct sp_outcome first = sp_outcome_done();
    struct sp_pool *pool = NULL;
    while ((pool = sp_device_next_pool(device, pool))) {
        struct sp_outcome outcome = fence_open_of(pool, 0, UINT32_MAX, caller, true);
        first = sp_outcome_first(first, outcome);
    }
    return first;
}

struct sp_outcome sp_open_lanes_ask_some(struct sp_pool *pool, const struct sp_lane *caller) {
    uint32_t from = 0;
    if (sp_stream_count() > SP_LANES_AT_ONCE)
        from = sp_add_relaxed(&pool->lanes.open_in_turn, SP_LANES_AT_ONCE);
    return fence_open_of(pool, from, SP_LANES_AT_ONCE, caller, true);
}

// A free that found its lane open is counted when the lane's lock can be had.
static void await_frees(const struct sp_pool *pool) {
    const struct sp_lane_table *table = sp_load_acquire(&pool->lane_table);
    for (uint32_t slot = 0; table && slot < table->count; slot++) {
        struct sp_lane *lane = sp_load_acquire(&table->lanes[slot]);
        if (!lane)
            continue;
        sp_biased_lock_acquire(&lane->lock);
        sp_biased_lock_release(&lane->lock);
    }
}

void sp_open_lanes_close(struct sp_pool *pool) {
    if (!sp_open_is_possible(pool))
        return;
    sp_lock_acquire(&pool->lock);
    sp_held_deal_closed(pool);
    sp_lock_release(&pool->lock);
    await_frees(pool);
    sp_open_lanes_fence(pool, NULL, false);
}
