#include "region/figures.h"

#include "base/number.h"
#include "region/lane.h"

// A pool's lanes by slot, less what is added meanwhile: nothing was used there as the walk began.
static const struct sp_lane_table *lanes_of(const struct sp_pool *pool) {
    static const struct sp_lane_table none = {NULL, 0};
    const struct sp_lane_table *table = sp_load_acquire(&pool->lane_table);
    return table ? table : &none;
}

uint64_t sp_figures_used(const struct sp_pool *pool) {
    const struct sp_lane_table *table = lanes_of(pool);
    uint64_t sum = 0;
    for (uint32_t slot = 0; slot < table->count; slot++) {
        const struct sp_lane *lane = sp_load_acquire(&table->lanes[slot]);
        for (; lane; lane = sp_load_acquire(&lane->next_shelf))
            sum += sp_load_relaxed(&lane->used);
    }
    return sum;
}

uint64_t sp_figures_used_whole(const struct sp_pool *pool) {
    const struct sp_pool *overflow = sp_load_acquire(&pool->overflow);
    return sp_figures_used(pool) + (overflow ? sp_figures_used(overflow) : 0);
}

uint64_t sp_figures_used_high_whole(const struct sp_pool *pool) {
    const struct sp_pool *overflow = sp_load_acquire(&pool->overflow);
    return sp_load_relaxed(&pool->figures.used_high) +
           (overflow ? sp_load_relaxed(&overflow->figures.used_high) : 0);
}

// Two threads that come here at once may both look.
uint64_t sp_figures_used_lately(struct sp_pool *pool) {
    struct sp_figures *figures = &pool->figures;
    uint32_t lanes = sp_load_relaxed(&pool->lanes.count);
    uint32_t calls = sp_load_relaxed(&figures->used_calls);
    if (lanes > SP_LANES_AT_ONCE && calls > 0) {
        sp_store_relaxed(&figures->used_calls, calls - 1);
        uint64_t lately = sp_load_relaxed(&figures->used_lately);
        return sp_min(lately, sp_load_relaxed(&figures->used_high));
    }
    uint64_t used = sp_figures_used(pool);
    sp_store_relaxed(&figures->used_lately, used);
    sp_store_relaxed(&figures->used_calls, lanes / SP_LANES_AT_ONCE);
    return used;
}

bool sp_figures_any_used(struct sp_pool *pool) {
    const struct sp_lane_table *table = lanes_of(pool);
    bool used = false;
    for (uint32_t slot = 0; slot < table->count && !used; slot++) {
        struct sp_lane *lane = sp_load_acquire(&table->lanes[slot]);
        for (; lane && !used; lane = sp_load_acquire(&lane->next_shelf)) {
            sp_biased_lock_acquire(&lane->lock);
            used = sp_load_relaxed(&lane->used) != 0;
            sp_biased_lock_release(&lane->lock);
        }
    }
    return used;
}

// Takes up to `most` of what the shelves of a lane, but for this one, leave unused of their
// allowances: without a shelf's lock that is a hint.
static uint64_t take_over(struct sp_lane *lane, const struct sp_lane *but, uint64_t most) {
    uint64_t sum = 0;
    for (; lane && sum < most; lane = sp_load_acquire(&lane->next_shelf)) {
        if (lane == but || sp_load_relaxed(&lane->allowance) <= sp_load_relaxed(&lane->used))
            continue;
        sp_biased_lock_acquire(&lane->lock);
        uint64_t allowance = sp_load_relaxed(&lane->allowance);
        uint64_t left = sp_excess(allowance, sp_load_relaxed(&lane->used));
        uint64_t taken = sp_min(left, most - sum);
        sp_store_relaxed(&lane->allowance, allowance - taken);
        sp_biased_lock_release(&lane->lock);
        sum += taken;
    }
    return sum;
}

// From the others, the lane that was covered last before all: a program that goes round its streams
// finds there what it needs. Returns how much; `looked`: it has looked at all that it needed to.
//
// Where a look at very many has found too little, others follow at a few until they have been as
// many together: so a pool that grows on thousands of streams looks at a few each time.
static uint64_t take_over_missing_locked(struct sp_pool *pool, struct sp_lane *lane, bool *looked) {
    const struct sp_lane_table *table = lanes_of(pool);
    uint32_t looks = table->count;
    if (looks > SP_LANES_AT_ONCE && pool->figures.short_looks > 0) {
        pool->figures.short_looks--;
        looks = SP_LANES_AT_ONCE;
    }
    uint64_t wanted = sp_excess(sp_load_relaxed(&lane->used), sp_load_relaxed(&lane->allowance));
    uint64_t taken = 0;
    for (uint32_t i = 0; i < looks && taken < wanted; i++) {
        struct sp_lane *other =
            sp_load_acquire(&table->lanes[(pool->figures.covered_last + i) % table->count]);
        if (other)
            taken += take_over(other, lane, wanted - taken);
    }
    if (taken < wanted && looks == table->count)
        pool->figures.short_looks = looks / SP_LANES_AT_ONCE;
    pool->figures.covered_last = lane->stream->slot;
    *looked = taken >= wanted || looks == table->count;
    return taken;
}

// A lane that raises the sum, though it has looked at all others, shows that all is in use.
void sp_figures_cover(struct sp_pool *pool, struct sp_lane *lane) {
    struct sp_figures *figures = &pool->figures;
    bool looked = false, may_look = sp_lock_try(&figures->allowances);
    uint64_t taken = may_look ? take_over_missing_locked(pool, lane, &looked) : 0;
    sp_biased_lock_acquire(&lane->lock);
    uint64_t allowance = sp_load_relaxed(&lane->allowance) + taken;
    uint64_t more = sp_excess(sp_load_relaxed(&lane->used), allowance);
    if (more > 0)
        sp_add_relaxed(&figures->used_high, more);
    sp_store_relaxed(&lane->allowance, allowance + more);
    sp_biased_lock_release(&lane->lock);
    if (more > 0 && looked)
        sp_store_relaxed(&figures->unlooked, 0);
    else if (more > 0)
        sp_add_relaxed(&figures->unlooked, more);
    if (may_look)
        sp_lock_release(&figures->allowances);
}

uint64_t sp_figures_at_once(const struct sp_pool *pool) {
    uint64_t high = sp_load_relaxed(&pool->figures.used_high);
    uint64_t unlooked = sp_load_relaxed(&pool->figures.unlooked);
    return sp_max(sp_excess(high, unlooked), sp_load_relaxed(&pool->figures.grown_for));
}

void sp_figures_reset_used_high(struct sp_pool *pool) {
    const struct sp_lane_table *table = lanes_of(pool);
    uint64_t taken = 0;
    sp_lock_acquire(&pool->figures.allowances);
    for (uint32_t slot = 0; slot < table->count; slot++) {
        struct sp_lane *lane = sp_load_acquire(&table->lanes[slot]);
        taken += lane ? take_over(lane, NULL, UINT64_MAX) : 0;
    }
    sp_subtract_relaxed(&pool->figures.used_high, taken);
    sp_store_relaxed(&pool->figures.used_calls, 0);
    sp_store_relaxed(&pool->figures.unlooked, 0);
    sp_store_relaxed(&pool->figures.grown_for, 0);
    sp_lock_release(&pool->figures.allowances);
    struct sp_pool *overflow = sp_load_acquire(&pool->overflow);
    if (overflow)
        sp_figures_reset_used_high(overflow);
}
