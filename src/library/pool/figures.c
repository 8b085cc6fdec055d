#include "pool/figures.h"

#include "pool/lane.h"

// A pool's lanes by slot. One that is added meanwhile may be missed: nothing was used on it when
// the walk began.
static struct sp_lane *lane_at(const struct sp_lane_table *table, uint32_t slot) {
    return atomic_load_explicit(&table->lanes[slot], memory_order_acquire);
}

static const struct sp_lane_table *lanes_of(const struct sp_pool *pool) {
    static const struct sp_lane_table none = {NULL, 0};
    const struct sp_lane_table *table =
        atomic_load_explicit(&pool->lane_table, memory_order_acquire);
    return table ? table : &none;
}

uint64_t sp_figures_used(const struct sp_pool *pool) {
    const struct sp_lane_table *table = lanes_of(pool);
    uint64_t sum = 0;
    for (uint32_t slot = 0; slot < table->count; slot++) {
        const struct sp_lane *lane = lane_at(table, slot);
        sum += lane ? sp_figure(&lane->used) : 0;
    }
    return sum;
}

static uint64_t used_lately(const struct sp_pool *pool) {
    uint64_t used = sp_figure(&pool->used_lately);
    uint64_t high = sp_figure(&pool->used_high);
    return used < high ? used : high;
}

// Two threads that come here at once may both look.
uint64_t sp_figures_used_lately(struct sp_pool *pool) {
    uint32_t lanes = atomic_load_explicit(&pool->lane_count, memory_order_relaxed);
    uint32_t calls = atomic_load_explicit(&pool->used_calls, memory_order_relaxed);
    if (lanes > SP_LANES_AT_ONCE && calls > 0) {
        atomic_store_explicit(&pool->used_calls, calls - 1, memory_order_relaxed);
        return used_lately(pool);
    }
    uint64_t used = sp_figures_used(pool);
    atomic_store_explicit(&pool->used_lately, used, memory_order_relaxed);
    atomic_store_explicit(&pool->used_calls, lanes / SP_LANES_AT_ONCE, memory_order_relaxed);
    return used;
}

static bool is_used(struct sp_lane *lane) {
    sp_biased_acquire(&lane->lock);
    bool used = sp_figure(&lane->used) != 0;
    sp_biased_release(&lane->lock);
    return used;
}

bool sp_figures_any_used(struct sp_pool *pool) {
    const struct sp_lane_table *table = lanes_of(pool);
    for (uint32_t slot = 0; slot < table->count; slot++) {
        struct sp_lane *lane = lane_at(table, slot);
        if (lane && is_used(lane))
            return true;
    }
    return false;
}

// -------------------------------------------------------------------------------------- allowances

// What a lane leaves unused of its allowance. Without its lock, a hint.
static uint64_t unused(const struct sp_lane *lane) {
    uint64_t used = sp_figure(&lane->used);
    uint64_t allowance = sp_figure(&lane->allowance);
    return allowance > used ? allowance - used : 0;
}

static uint64_t missing(const struct sp_lane *lane) {
    uint64_t used = sp_figure(&lane->used);
    uint64_t allowance = sp_figure(&lane->allowance);
    return used > allowance ? used - allowance : 0;
}

// Takes up to `most` of what a lane leaves unused.
static uint64_t take_over(struct sp_lane *lane, uint64_t most) {
    if (unused(lane) == 0)
        return 0;
    sp_biased_acquire(&lane->lock);
    uint64_t taken = unused(lane) < most ? unused(lane) : most;
    atomic_store_explicit(&lane->allowance, sp_figure(&lane->allowance) - taken,
                          memory_order_relaxed);
    sp_biased_release(&lane->lock);
    return taken;
}

static void allow(struct sp_lane *lane, uint64_t more) {
    sp_biased_acquire(&lane->lock);
    atomic_store_explicit(&lane->allowance, sp_figure(&lane->allowance) + more,
                          memory_order_relaxed);
    sp_biased_release(&lane->lock);
}

// How many lanes are looked at. Where a look at very many has found too little, others follow at a
// few until they have been as many together: so a pool that grows on thousands of streams looks at
// a few each time.
static uint32_t looks_locked(struct sp_pool *pool, uint32_t lanes) {
    if (lanes <= SP_LANES_AT_ONCE || pool->short_looks == 0)
        return lanes;
    pool->short_looks--;
    return SP_LANES_AT_ONCE;
}

// From the others, the lane that was covered last before all: a program that goes round its streams
// finds there what it needs. With the lock of the allowances held.
static void take_over_missing_locked(struct sp_pool *pool, struct sp_lane *lane) {
    const struct sp_lane_table *table = lanes_of(pool);
    uint32_t looks = looks_locked(pool, table->count);
    uint64_t wanted = missing(lane);
    uint64_t taken = 0;
    for (uint32_t i = 0; i < looks && taken < wanted; i++) {
        struct sp_lane *other = lane_at(table, (pool->covered_last + i) % table->count);
        if (other && other != lane)
            taken += take_over(other, wanted - taken);
    }
    if (taken > 0)
        allow(lane, taken);
    if (taken < wanted && looks == table->count)
        pool->short_looks = looks / SP_LANES_AT_ONCE;
    pool->covered_last = lane->stream->slot;
}

static void raise_high(struct sp_pool *pool, struct sp_lane *lane) {
    sp_biased_acquire(&lane->lock);
    uint64_t more = missing(lane);
    if (more > 0) {
        atomic_fetch_add_explicit(&pool->used_high, more, memory_order_relaxed);
        atomic_store_explicit(&lane->allowance, sp_figure(&lane->allowance) + more,
                              memory_order_relaxed);
    }
    sp_biased_release(&lane->lock);
}

void sp_figures_cover(struct sp_pool *pool, struct sp_lane *lane) {
    if (sp_lock_try(&pool->allowances)) {
        take_over_missing_locked(pool, lane);
        raise_high(pool, lane);
        sp_lock_release(&pool->allowances);
        return;
    }
    raise_high(pool, lane);
}

void sp_figures_reset_used_high(struct sp_pool *pool) {
    const struct sp_lane_table *table = lanes_of(pool);
    uint64_t taken = 0;
    sp_lock_acquire(&pool->allowances);
    for (uint32_t slot = 0; slot < table->count; slot++) {
        struct sp_lane *lane = lane_at(table, slot);
        taken += lane ? take_over(lane, UINT64_MAX) : 0;
    }
    atomic_fetch_sub_explicit(&pool->used_high, taken, memory_order_relaxed);
    atomic_store_explicit(&pool->used_calls, 0, memory_order_relaxed);
    sp_lock_release(&pool->allowances);
}
