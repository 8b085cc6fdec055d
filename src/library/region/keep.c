#include "region/keep.h"

#include "base/checked.h"
#include "base/number.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/survey.h"

// Returns the bytes that are neither ready nor missing: live, held by a lane, or pending. No
// request needs memory that a trim has set aside.
static uint64_t occupied(const struct sp_pool *pool) {
    uint64_t bytes = sp_load_relaxed(&pool->reserved) - pool->keep.leaving;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        bytes -= pool->regions[kind].ready.bytes;
    return bytes;
}

// Returns how much is kept for the threshold and for priming if so much is not free.
static uint64_t keep_beside(const struct sp_pool *pool, uint64_t not_free) {
    uint64_t free = sp_load_relaxed(&pool->keep.primed);
    uint64_t primed = sp_min(not_free + free, sp_load_relaxed(&pool->keep.primed_until));
    return sp_max(sp_load_relaxed(&pool->attributes.release_threshold), primed);
}

static uint64_t rounded_up(const struct sp_pool *pool, uint64_t bytes) {
    size_t rounded;
    return sp_checked_round_up(bytes, pool->device->vmm.granule, &rounded) ? rounded : UINT64_MAX;
}

// Whole extents alone count as primed: else fragments would stay in their place. So what is ready
// in extents that are partly in use stays: it can't go.
uint64_t sp_keep_at_synchronize(const struct sp_pool *pool) {
    uint64_t stays = occupied(pool);
    if (sp_load_relaxed(&pool->keep.primed) > 0)
        stays = sp_load_relaxed(&pool->reserved) - pool->keep.leaving - sp_survey_ready_bytes(pool);
    return rounded_up(pool, sp_max(keep_beside(pool, stays), pool->keep.held));
}

// A used byte is occupied; without priming it doesn't matter how many are. What the delay holds is
// not counted, for its time must run.
uint64_t sp_keep_at_least(const struct sp_pool *pool) {
    uint64_t used = sp_load_relaxed(&pool->keep.primed) > 0 ? sp_figures_used(pool) : 0;
    return rounded_up(pool, keep_beside(pool, used));
}

// ------------------------------------------------------------------------------- the release delay

void sp_keep_raise_peak(struct sp_pool *pool) {
    pool->keep.peak = sp_max(pool->keep.peak, occupied(pool));
}

static void hold(struct sp_keep *keep, uint64_t bytes) {
    keep->held = bytes;
    keep->below = 0;
    keep->left = sp_load_relaxed(&keep->release_delay);
}

// Memory that was needed is held until so many synchronises have seen less need, and then as much
// as those have seen. If another thread has set the delay to 0 meanwhile nothing is held: no
// further interval would end that.
void sp_keep_end_interval(struct sp_pool *pool) {
    struct sp_keep *keep = &pool->keep;
    if (!sp_keep_delays(pool))
        return;
    sp_keep_raise_peak(pool);
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

void sp_keep_begin_interval(struct sp_pool *pool) {
    pool->keep.peak = occupied(pool);
}

void sp_keep_forget(struct sp_pool *pool) {
    struct sp_keep *keep = &pool->keep;
    sp_keep_begin_interval(pool);
    keep->held = 0;
    keep->below = 0;
    keep->left = 0;
}

// While there was no delay, memory in use was not counted by intervals.
void sp_keep_set_delay(struct sp_pool *pool, uint64_t synchronizes) {
    sp_lock_acquire(&pool->lock);
    if (synchronizes == 0 || !sp_keep_delays(pool))
        sp_keep_forget(pool);
    sp_store_relaxed(&pool->keep.release_delay, synchronizes);
    sp_lock_release(&pool->lock);
}

// ----------------------------------------------------------------------------------------- priming

void sp_keep_primed(struct sp_pool *pool, uint64_t bytes) {
    struct sp_keep *keep = &pool->keep;
    sp_store_relaxed(&keep->primed, sp_max(sp_load_relaxed(&keep->primed), bytes));
    sp_store_relaxed(&keep->primed_until, sp_max(sp_load_relaxed(&keep->primed_until),
                                                 sp_load_relaxed(&pool->reserved)));
}

void sp_keep_no_more_than(struct sp_pool *pool, uint64_t bytes) {
    struct sp_keep *keep = &pool->keep;
    sp_store_relaxed(&keep->primed, sp_min(sp_load_relaxed(&keep->primed), bytes));
    sp_store_relaxed(&keep->primed_until, sp_min(sp_load_relaxed(&keep->primed_until), bytes));
}

// Fixed blocks have no part in it, so those that came later don't end it.
bool sp_keep_is_primed(const struct sp_pool *pool) {
    return pool->regions[SP_REGION_LARGE].mapped + pool->regions[SP_REGION_PAGES].mapped <=
           sp_load_relaxed(&pool->keep.primed_until);
}
