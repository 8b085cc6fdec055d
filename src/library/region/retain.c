#include "region/retain.h"

#include "base/number.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/segment.h"

// The bytes that are in use: see retain.h. No request needs memory that a trim has set aside.
static uint64_t occupied(const struct sp_pool *pool) {
    uint64_t bytes = sp_load_relaxed(&pool->reserved) - pool->retain.leaving;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        bytes -= pool->regions[kind].ready.bytes;
    return bytes;
}

// So much is kept for the threshold and for priming if so much is not free.
static uint64_t keep_beside(const struct sp_pool *pool, uint64_t not_free) {
    uint64_t free = sp_load_relaxed(&pool->retain.primed);
    uint64_t primed = sp_min(not_free + free, sp_load_relaxed(&pool->retain.primed_until));
    return sp_max(sp_load_relaxed(&pool->attributes.release_threshold), primed);
}

static uint64_t rounded_up(const struct sp_pool *pool, uint64_t bytes) {
    size_t rounded;
    return sp_checked_round_up(bytes, pool->device->vmm.granule, &rounded) ? rounded : UINT64_MAX;
}

// Whole extents alone count as primed: else fragments would stay in their place. So what is ready
// in extents that are partly in use stays: it can't go.
uint64_t sp_retain_at_synchronize(const struct sp_pool *pool) {
    uint64_t stays = occupied(pool);
    if (sp_load_relaxed(&pool->retain.primed) > 0)
        stays = sp_load_relaxed(&pool->reserved) - pool->retain.leaving -
                sp_free_extents_ready_bytes(pool);
    return rounded_up(pool, sp_max(keep_beside(pool, stays), pool->retain.held));
}

// A used byte is occupied; without priming it doesn't matter how many are. What the delay holds is
// not counted, for its time must run.
uint64_t sp_retain_at_least(const struct sp_pool *pool) {
    bool counts = sp_load_relaxed(&pool->retain.primed) > 0 && !sp_pool_has_very_many_lanes(pool);
    return rounded_up(pool, keep_beside(pool, counts ? sp_figures_used(pool) : 0));
}

void sp_retain_raise_peak(struct sp_pool *pool) {
    pool->retain.peak = sp_max(pool->retain.peak, occupied(pool));
}

static void hold(struct sp_retain *keep, uint64_t bytes) {
    keep->held = bytes;
    keep->below = 0;
    keep->left = sp_load_relaxed(&keep->release_delay);
}

// Memory that was needed is held until so many synchronises have seen less need, and then as much
// as those have seen. If another thread has set the delay to 0 meanwhile nothing is held: no
// further interval would end that.
void sp_retain_end_interval(struct sp_pool *pool) {
    struct sp_retain *keep = &pool->retain;
    if (!sp_retain_has_delay(pool))
        return;
    sp_retain_raise_peak(pool);
    if (keep->peak >= keep->held) {
        hold(keep, keep->peak);
        return;
    }
    keep->below = sp_max(keep->below, keep->peak);
    keep->left = sp_min(keep->left, sp_load_relaxed(&keep->release_delay));
    if (keep->left <= 1)
        hold(keep, keep->below);
    else
        keep->left--;
}

void sp_retain_begin_interval(struct sp_pool *pool) {
    pool->retain.peak = occupied(pool);
}

void sp_retain_forget(struct sp_pool *pool) {
    struct sp_retain *keep = &pool->retain;
    sp_retain_begin_interval(pool);
    keep->held = keep->below = keep->left = 0;
}

void sp_retain_primed(struct sp_pool *pool, uint64_t bytes) {
    struct sp_retain *keep = &pool->retain;
    sp_store_relaxed(&keep->primed, sp_max(sp_load_relaxed(&keep->primed), bytes));
    sp_store_relaxed(&keep->primed_until, sp_max(sp_load_relaxed(&keep->primed_until),
                                                 sp_load_relaxed(&pool->reserved)));
}

void sp_retain_no_more_than(struct sp_pool *pool, uint64_t bytes) {
    struct sp_retain *keep = &pool->retain;
    sp_store_relaxed(&keep->primed, sp_min(sp_load_relaxed(&keep->primed), bytes));
    sp_store_relaxed(&keep->primed_until, sp_min(sp_load_relaxed(&keep->primed_until), bytes));
}

// Fixed blocks have no part in it, so those that came later don't end it.
bool sp_retain_is_primed(const struct sp_pool *pool) {
    return pool->regions[SP_REGION_LARGE].mapped + pool->regions[SP_REGION_PAGES].mapped <=
           sp_load_relaxed(&pool->retain.primed_until);
}
