#include "process/reclaim.h"

#include "base/checked.h"
#include "base/number.h"
#include "order/context.h"
#include "process/given_up.h"
#include "supply/later.h"
#include "supply/loss.h"
#include "supply/trim.h"

_Atomic bool sp_reclaim_heard_synchronize;

static size_t releasable_on(struct sp_device *device) {
    size_t sum = 0;
    struct sp_pool *pool = NULL;
    while ((pool = sp_device_next_pool(device, pool)))
        sum += sp_trim_releasable(pool);
    return sum;
}

// Releases up to `bytes` of one pool's free extents; returns how many.
static size_t release_some(struct sp_pool *pool, size_t bytes) {
    size_t before = sp_load_relaxed(&pool->reserved);
    sp_trim_by(pool, bytes);
    size_t after = sp_load_relaxed(&pool->reserved);
    return sp_excess(before, after);
}

// Room that a device has beyond what is asked for shows that memory is not what it lacks.
#define CLEARLY_ENOUGH ((size_t)64 << 20)

// Only whole granules can be mapped.
static size_t free_on(const struct sp_device *device, CUcontext context) {
    return sp_round_down(context ? sp_context_free_memory(context) : 0, device->vmm.granule);
}

bool sp_reclaim_could_have(struct sp_device *device, CUcontext context, size_t bytes) {
    size_t had = free_on(device, context);
    return !context || had >= bytes || releasable_on(device) >= bytes - had;
}

bool sp_reclaim_until(struct sp_device *device, CUcontext context, size_t bytes, size_t more) {
    sp_given_up_reap_all(device);
    size_t had = free_on(device, context);
    if (had > CLEARLY_ENOUGH && had - CLEARLY_ENOUGH > bytes)
        return false;
    size_t missing = sp_excess(bytes, had);
    size_t releasable = releasable_on(device), released = 0;
    if (releasable < missing)
        return false;
    size_t wanted = missing + more < releasable ? missing + more : releasable;
    struct sp_pool *pool = NULL;
    while ((pool = sp_device_next_pool(device, pool))) {
        if (released < wanted)
            released += release_some(pool, wanted - released);
    }
    sp_given_up_reap(device); // what was destroyed while the walk stood on it
    return released > 0;
}

bool sp_reclaim_addresses(struct sp_device *device) {
    struct sp_pool *pool = NULL;
    bool any = false;
    while ((pool = sp_device_next_pool(device, pool))) {
        size_t buried;
        sp_later_bury_all(pool, &buried);
        bool lost = sp_loss_note(pool);
        any = any || lost || buried > 0;
    }
    sp_given_up_reap(device); // what was destroyed while the walk stood on it
    return any;
}

// ----------------------------------------------------------------------------- after a synchronise

static void after_synchronize_on(struct sp_device *device, const struct sp_stream *stream) {
    struct sp_pool *pool = NULL;
    while ((pool = sp_device_next_in_use(device, pool))) {
        if (!stream || sp_lane_find(pool, stream->slot))
            sp_trim_at_synchronize(pool);
    }
    sp_given_up_reap(device);
}

void sp_reclaim_after_synchronize(const struct sp_stream *stream) {
    if (!sp_reclaim_hears_synchronizes())
        sp_store_relaxed(&sp_reclaim_heard_synchronize, true);
    struct sp_device *device = NULL;
    while ((device = sp_device_next(device)))
        after_synchronize_on(device, stream);
}
