// A pool's four figures, which are counted here and by the common pair (region/at_hand.h). The
// reasons are in docs/notes/locks.md.
//
// Reserved bytes change when something is mapped, so they are two numbers of the pool. Used bytes
// change with each call, so they are counted where the call is anyway: in the lane that the block
// was allocated on, its *account*, under its lock, by whichever stream it is freed. What all lanes
// use is summed when somebody asks.
//
// The highest sum there ever was can't be told from one lane. So each has an *allowance*: what it
// may use with no look at the others, and raises the sum above used_high by nothing.
//
//   a lane's used  <= its allowance, whenever no call on it is under way
//                     (each shelf of a crowded lane has a used and an allowance of its own)
//   the sum of all allowances == used_high
//
// An allocation that its lane's allowance doesn't cover takes over what others leave unused of
// theirs; only what is missing then raises used_high. While one thread at a time allocates that is
// exactly the highest sum. A thread that finds another one at this very thing doesn't wait: it
// raises used_high at once. Nor does an allocation look at all of more than 64 lanes each time. So
// used_high may be more then, but never more than the sum of the most that each lane has used.
#ifndef STREAMPOOL_REGION_FIGURES_H
#define STREAMPOOL_REGION_FIGURES_H

#include "region/device.h"

// Brings the lane's allowance up to what it uses.
void sp_figures_cover(struct sp_pool *pool, struct sp_lane *lane);

// The sum. Exact when no other thread is in a call.
uint64_t sp_figures_used(const struct sp_pool *pool);

// The sum, and the most there ever was, with those of the overflow (process/overflow.h). While that
// is in use the most may be too high: both had their most at different times.
uint64_t sp_figures_used_whole(const struct sp_pool *pool);
uint64_t sp_figures_used_high_whole(const struct sp_pool *pool);

// A sum for who needs it often and not exactly. With more than 64 lanes it is of some while ago: it
// is made anew after so many calls that each has cost as much as a look at 64.
uint64_t sp_figures_used_lately(struct sp_pool *pool);

// Something is live. With each lane's lock taken in turn: a free that was counted after its lane
// was looked at sees what the caller wrote before, namely that the pool is given up.
bool sp_figures_any_used(struct sp_pool *pool);

// The most that is known to have been in use at once: used_high less what threads added without a
// look at the other lanes, or `grown_for`, where that is more. While one thread at a time allocates
// it is used_high. Of several threads it may be less, as far as they had more without a growth.
uint64_t sp_figures_at_once(const struct sp_pool *pool);

// So many bytes more the pool's limit lets it reserve.
static inline uint64_t sp_figures_below_limit(const struct sp_pool *pool) {
    uint64_t taken = sp_load_relaxed(&pool->reserved) + sp_load_relaxed(&pool->unpublished);
    return sp_excess(pool->limit, taken);
}

// The bytes of memory that the pool has, where `reserved` counts extents.
static inline uint64_t sp_figures_resident(const struct sp_pool *pool) {
    return sp_excess(sp_load_relaxed(&pool->reserved), sp_load_relaxed(&pool->residency.bytes));
}

// Sets used_high to the sum, in the overflow, too.
void sp_figures_reset_used_high(struct sp_pool *pool);

// Both with the pool's lock held.
static inline void sp_figures_reserved_add(struct sp_pool *pool, uint64_t bytes) {
    uint64_t before = sp_add_relaxed(&pool->reserved, bytes);
    sp_atomic_raise(&pool->reserved_high, before + bytes);
    if (before == 0)
        sp_device_note_memory(pool);
}

static inline void sp_figures_reserved_subtract(struct sp_pool *pool, uint64_t bytes) {
    sp_subtract_relaxed(&pool->reserved, bytes);
}

#endif
