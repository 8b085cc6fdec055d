#include "process/give_way.h"

#include "base/number.h"
#include "order/context.h"
#include "order/poll.h"
#include "order/private_event.h"
#include "process/reclaim.h"
#include "region/ask.h"
#include "region/figures.h"
#include "region/lane.h"

// More than any device has, and not so much that a sum with a request overflows.
#define ALL_THERE_IS (SIZE_MAX / 2)

// The thread's current context, if it is on the device. What is free there is of no use to an
// allocation of a size that nobody knows.
static CUcontext context_on(const struct sp_device *device, uint64_t *id) {
    CUcontext context = NULL;
    int ordinal;
    bool is_on_it = sp_is_done(sp_context_current(&context, id)) && context &&
                    sp_is_done(sp_context_device(context, &ordinal)) &&
                    ordinal == device->vmm.ordinal;
    return is_on_it ? context : NULL;
}

static CUcontext context_to_measure(const struct sp_device *device, size_t bytes) {
    uint64_t id;
    return bytes > 0 ? context_on(device, &id) : NULL;
}

// Finds out which frees have completed. One that can't be asked about stays where it is.
static void learn(struct sp_device *device) {
    struct sp_pool *pool = NULL;
    uint64_t id;
    if (!context_on(device, &id))
        return;
    while ((pool = sp_device_next_pool(device, pool))) {
        sp_ask_open_lanes(pool, NULL, true);
        sp_ask_current_context(pool);
    }
}

static bool give(struct sp_device *device, size_t bytes, size_t more) {
    learn(device);
    return sp_reclaim_until(device, context_to_measure(device, bytes), bytes, more);
}

bool sp_give_way_enough(struct sp_device *device, size_t bytes) {
    return bytes > 0 && give(device, bytes, 0);
}

bool sp_give_way_all(struct sp_device *device, size_t bytes) {
    return give(device, bytes, ALL_THERE_IS);
}

// ----------------------------------------------------------------------------------------- waiting

// Returns the bytes that the pools hold beyond what is live, pending or not.
static size_t not_live_on(struct sp_device *device) {
    struct sp_pool *pool = NULL;
    size_t sum = 0;
    while ((pool = sp_device_next_pool(device, pool)))
        sum += sp_excess(sp_load_relaxed(&pool->reserved), sp_figures_used(pool));
    return sum;
}

static bool could_help(struct sp_device *device, CUcontext context, size_t bytes) {
    size_t missing = sp_excess(bytes, sp_context_free_memory(context));
    return not_live_on(device) >= sp_max(missing, 1);
}

// Events of a context that is current stay as long as the call.
static void await(struct sp_stream *stream) {
    struct sp_mark *mark = sp_mark_covering(stream, sp_load_acquire(&stream->recorded));
    if (!mark)
        return;
    if (sp_is_done(sp_private_event_await(mark->event)))
        sp_poll_mark(mark);
    sp_mark_release(mark);
}

static void await_frees_to(struct sp_pool *pool, CUcontext context, uint64_t id) {
    uint32_t count = sp_stream_count();
    for (uint32_t slot = 0; slot < count; slot++) {
        struct sp_stream *stream = sp_stream_at(slot);
        if (sp_lane_find(pool, slot) && sp_stream_is_of(stream, context, id) &&
            sp_progress_has_pending_events(stream))
            await(stream);
    }
}

bool sp_give_way_await_frees(struct sp_device *device, size_t bytes) {
    struct sp_pool *pool = NULL;
    uint64_t id, before = sp_progress_news();
    CUcontext context = context_on(device, &id);
    if (!context || !could_help(device, context, bytes))
        return false;
    while ((pool = sp_device_next_pool(device, pool)))
        await_frees_to(pool, context, id);
    return sp_progress_news() != before;
}
