#include "region/ask.h"

#include "base/number.h"
#include "order/context.h"
#include "order/indirect.h"
#include "order/poll.h"
#include "order/resolve.h"
#include "region/device.h"

#include <stdlib.h>

typedef void visitor(struct sp_lane *lane, void *context);

// Visits lanes, and shelves, that have freed something, and nothing stands behind it: of so many by
// turns, or of all; without host memory for their names, of as many as there is room for here.
static void each_uncovered(struct sp_pool *pool, uint32_t most, visitor *visit, void *context) {
    struct sp_lane *some[SP_LANES_AT_ONCE], **all = NULL;
    uint32_t count = (uint32_t)sp_min(most, sp_load_relaxed(&pool->lanes.uncovered_count));
    if (count > SP_LANES_AT_ONCE)
        all = malloc(count * sizeof(struct sp_lane *));
    struct sp_lane **lanes = all ? all : some;
    bool prunes = count > SP_LANES_AT_ONCE; // to lock a lane makes its thread wait
    count = sp_lane_name_uncovered(pool, lanes,
                                   all ? count : (uint32_t)sp_min(count, SP_LANES_AT_ONCE));
    for (uint32_t i = 0; i < count; i++) {
        struct sp_lane *lane = lanes[i];
        if (sp_held_back_here(lane)) {
            visit(lane, context);
            continue;
        }
        if (!prunes)
            continue;
        sp_biased_lock_acquire(&lane->lock);
        if (!sp_held_back_here(lane)) // it may have freed since
            sp_lane_unlist_locked(lane, SP_LOOK_COVERED);
        sp_biased_lock_release(&lane->lock);
    }
    free(all);
}

// For whom lanes are asked, how, and the first failure.
struct question {
    const struct sp_lane *caller;
    bool may_ask;
    struct sp_outcome first;
};

// A stream that is idle needs no event: what it has freed is complete. A record on a legacy stream
// that is busy would make the later work of all blocking streams wait for what they have pending,
// so that is for who needs an event and can't do with an answer.
static void ask(struct sp_lane *lane, void *context) {
    struct question *question = context;
    const struct sp_stream *asks = question->caller ? question->caller->stream : NULL;
    struct sp_stream *stream = lane->stream;
    if (stream == asks || !sp_held_may_borrow(lane->pool, stream) ||
        !sp_borrow_stream(stream, asks, sp_held_is_promised(lane->pool)))
        return;
    bool complete = false;
    struct sp_outcome asked =
        question->may_ask ? sp_synchronize_ask(stream, &complete) : sp_outcome_done();
    bool records = !question->may_ask || !sp_stream_is_legacy(stream->handle);
    if (sp_is_done(asked) && !complete && records)
        sp_lane_record(lane);
    question->first = sp_outcome_first(question->first, asked);
    sp_borrow_end(stream);
}

static struct sp_outcome ask_lanes(struct sp_pool *pool, uint32_t most,
                                   const struct sp_lane *caller, bool may_ask) {
    struct question question = {caller, may_ask, sp_outcome_done()};
    if (sp_held_may_be_lazy(pool))
        each_uncovered(pool, most, ask, &question);
    return question.first;
}

struct sp_outcome sp_ask_lazy_lanes(struct sp_pool *pool, const struct sp_lane *caller,
                                    bool may_ask) {
    return ask_lanes(pool, UINT32_MAX, caller, may_ask);
}

struct sp_outcome sp_ask_lazy_lanes_of(struct sp_device *device, const struct sp_lane *caller) {
    struct sp_outcome first = sp_outcome_done();
    struct sp_pool *pool = NULL;
    while ((pool = sp_device_next_sharing(device, pool)))
        first = sp_outcome_first(first, ask_lanes(pool, UINT32_MAX, caller, true));
    return first;
}

struct sp_outcome sp_ask_some_lazy_lanes(struct sp_pool *pool, const struct sp_lane *caller) {
    return ask_lanes(pool, SP_LANES_AT_ONCE, caller, true);
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

struct of_context {
    CUcontext context;
    uint64_t id;
    struct sp_stream *found;
};

static void note_unasked(struct sp_lane *lane, void *context) {
    struct of_context *search = context;
    if (sp_indirect_is_seen_by_legacy(lane->stream) &&
        sp_stream_is_of(lane->stream, search->context, search->id))
        search->found = lane->stream;
}

// A stream of the context that has freed memory of which the legacy stream alone would tell, or
// null.
static struct sp_stream *unasked_stream(struct sp_pool *pool, CUcontext context, uint64_t id) {
    struct of_context search = {context, id, NULL};
    each_uncovered(pool, UINT32_MAX, note_unasked, &search);
    return search.found;
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
    for (struct sp_pool *each = NULL; !pool && (each = sp_device_next_sharing(device, each));) {
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
