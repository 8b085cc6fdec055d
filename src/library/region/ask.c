#include "region/ask.h"

#include "order/context.h"
#include "order/poll.h"
#include "order/silent.h"
#include "region/device.h"
#include "region/lane.h"
#include "region/unfenced.h"

// A stream of the context that has freed memory of which the legacy stream alone would tell, or
// null.
static struct sp_stream *silent_stream(struct sp_pool *pool, CUcontext context, uint64_t id) {
    struct sp_stream *found = NULL;
    sp_lock_acquire(&pool->lock);
    SP_LIST_FOR_EACH(link, &pool->lanes.list) {
        const struct sp_lane *lane = SP_CONTAINER_OF(link, struct sp_lane, link);
        if (sp_unfenced_holds_back(lane) && sp_silent_is_seen_by_legacy(lane->stream) &&
            sp_stream_is_of(lane->stream, context, id))
            found = lane->stream;
    }
    sp_lock_release(&pool->lock);
    return found;
}

struct sp_outcome sp_ask_current_context(struct sp_pool *pool) {
    CUcontext context = NULL;
    uint64_t id;
    if (sp_pool_is_deterministic(pool))
        return sp_outcome_done();
    struct sp_outcome outcome = sp_poll_current_context();
    if (!sp_is_done(outcome) || !sp_pool_may_ask(pool))
        return outcome;
    outcome = sp_context_current_alive(&context, &id);
    struct sp_stream *silent =
        sp_is_done(outcome) && context ? silent_stream(pool, context, id) : NULL;
    return silent ? sp_silent_ask_legacy(silent) : outcome;
}

// The legacy stream tells of all of them.
static struct sp_stream *silent_stream_on(struct sp_device *device, CUcontext context,
                                          uint64_t id) {
    struct sp_stream *found = NULL;
    struct sp_pool *pool = NULL;
    while ((pool = sp_device_next_pool(device, pool))) {
        if (!found && sp_pool_may_ask(pool))
            found = silent_stream(pool, context, id);
    }
    return found;
}

struct sp_outcome sp_ask_current_context_of(struct sp_device *device) {
    CUcontext context = NULL;
    uint64_t id;
    struct sp_outcome outcome = sp_poll_current_context();
    if (sp_is_done(outcome))
        outcome = sp_context_current_alive(&context, &id);
    struct sp_stream *silent =
        sp_is_done(outcome) && context ? silent_stream_on(device, context, id) : NULL;
    return silent ? sp_silent_ask_legacy(silent) : outcome;
}
