#include "process/reclaim.h"

#include "base/number.h"
#include "order/context.h"
#include "order/mark.h"
#include "order/poll.h"
#include "process/given_up.h"
#include "region/ask.h"
#include "region/figures.h"
#include "region/lane.h"
#include "supply/defer.h"
#include "supply/trim.h"

_Atomic bool sp_reclaim_saw_synchronize;

static size_t releasable_on(struct sp_device *device) {
    size_t sum = 0;
    struct sp_pool *pool = NULL;
    while ((pool = sp_device_next_sharing(device, pool)))
        sum += sp_trim_releasable(pool);
    return sum;
}

// Room that a device has beyond what is asked for shows that memory is not what it lacks.
#define CLEARLY_ENOUGH ((size_t)64 << 20)

// Only whole granules can be mapped.
static size_t free_on(const struct sp_device *device, CUcontext context) {
    size_t bytes = 0;
    (void)sp_device_free_memory(device, context, &bytes);
    return sp_round_down(bytes, device->vmm.granule);
}

bool sp_reclaim_could_have(struct sp_device *device, CUcontext context, size_t bytes) {
    size_t had;
    if (!sp_device_free_memory(device, context, &had))
        return true;
    had = sp_round_down(had, device->vmm.granule);
    return had >= bytes || releasable_on(device) >= bytes - had;
}

// The driver may refuse memory that the system says the host has left. Then as much is missing as
// is asked for.
static size_t missing_on(const struct sp_device *device, size_t had, size_t bytes) {
    bool is_guess = sp_vmm_device_is_of_host(&device->vmm) && had >= bytes;
    return is_guess ? bytes : sp_excess(bytes, had);
}

bool sp_reclaim_until(struct sp_device *device, CUcontext context, size_t bytes, size_t more) {
    sp_given_up_reap_all(device);
    size_t had = free_on(device, context);
    size_t missing = missing_on(device, had, bytes);
    if (missing == 0 && had > CLEARLY_ENOUGH && had - CLEARLY_ENOUGH > bytes)
        return false;
    size_t releasable = releasable_on(device), released = 0;
    if (releasable < missing)
        return false;
    size_t wanted = missing + more < releasable ? missing + more : releasable;
    struct sp_pool *pool = NULL;
    while ((pool = sp_device_next_sharing(device, pool))) {
        size_t before = sp_load_relaxed(&pool->reserved);
        if (released >= wanted)
            continue;
        sp_trim_by(pool, wanted - released);
        released += sp_excess(before, sp_load_relaxed(&pool->reserved));
    }
    sp_given_up_reap(device); // what was destroyed while the walk stood on it
    return released > 0;
}

bool sp_reclaim_addresses(struct sp_device *device) {
    struct sp_pool *pool = NULL;
    bool any = false;
    while ((pool = sp_device_next_pool(device, pool))) {
        size_t buried;
        sp_defer_bury_all(pool, &buried);
        bool lost = sp_trim_lost(pool);
        any = any || lost || buried > 0;
    }
    sp_given_up_reap(device); // what was destroyed while the walk stood on it
    return any;
}

// ------------------------------------------------------------------------------------- giving way

// More than any device has, and not so much that a sum with a request overflows.
#define ALL_THERE_IS (SIZE_MAX / 2)

// The thread's current context, if it is on the device; each uses the host. What is free there is
// of no use to an allocation of a size that nobody knows.
static CUcontext context_on(const struct sp_device *device, uint64_t *id) {
    CUcontext context = NULL;
    int ordinal;
    bool is_on_it = sp_is_done(sp_context_current(&context, id)) && context &&
                    sp_is_done(sp_context_device(context, &ordinal)) &&
                    (ordinal == device->vmm.ordinal || sp_vmm_device_is_of_host(&device->vmm));
    return is_on_it ? context : NULL;
}

// Finds out first which frees have completed. One that can't be asked about stays where it is.
bool sp_reclaim_give(struct sp_device *device, size_t bytes, bool all) {
    struct sp_pool *pool = NULL;
    uint64_t id;
    if (bytes == 0 && !all)
        return false;
    CUcontext context = context_on(device, &id);
    while (context && (pool = sp_device_next_sharing(device, pool))) {
        sp_ask_lazy_lanes(pool, NULL, true);
        sp_ask_current_context(pool);
    }
    return sp_reclaim_until(device, bytes > 0 ? context : NULL, bytes, all ? ALL_THERE_IS : 0);
}

static void await_frees_to(struct sp_pool *pool, CUcontext context, uint64_t id) {
    uint32_t count = sp_stream_count();
    for (uint32_t slot = 0; slot < count; slot++) {
        struct sp_stream *stream = sp_stream_at(slot);
        struct sp_mark *mark = NULL;
        if (sp_lane_find(pool, slot) && sp_stream_is_of(stream, context, id) &&
            sp_progress_has_pending_events(stream))
            mark = sp_mark_covering(stream, sp_load_acquire(&stream->recorded));
        if (!mark)
            continue;
        // Events of a context that is current stay as long as the call.
        if (sp_is_done(sp_private_event_await(mark->event)))
            sp_poll_mark(mark, SP_FOUND);
        sp_mark_release(mark);
    }
}

bool sp_reclaim_await_frees(struct sp_device *device, size_t bytes) {
    struct sp_pool *pool = NULL;
    uint64_t id, before = sp_progress_news(SP_FOUND);
    CUcontext context = context_on(device, &id);
    size_t not_live = 0; // what the pools hold beyond what is live, pending or not
    while (context && (pool = sp_device_next_sharing(device, pool)))
        not_live += sp_excess(sp_load_relaxed(&pool->reserved), sp_figures_used(pool));
    if (!context || not_live < sp_max(missing_on(device, free_on(device, context), bytes), 1))
        return false;
    while ((pool = sp_device_next_sharing(device, pool)))
        await_frees_to(pool, context, id);
    return sp_progress_news(SP_FOUND) != before;
}

void sp_reclaim_after_synchronize(const struct sp_stream *stream) {
    if (!sp_load_relaxed(&sp_reclaim_saw_synchronize))
        sp_store_relaxed(&sp_reclaim_saw_synchronize, true);
    struct sp_device *device = NULL;
    while ((device = sp_device_next(device))) {
        struct sp_pool *pool = NULL;
        while ((pool = sp_device_next_in_use(device, pool))) {
            if (!stream || sp_lane_find(pool, stream->slot))
                sp_trim_at_synchronize(pool);
        }
        sp_given_up_reap(device);
    }
}
