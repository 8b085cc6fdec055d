#include "calls/near.h"

#include "base/cold.h"
#include "order/mark.h"
#include "region/at_hand.h"
#include "region/collect.h"
#include "region/crowd.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/offer.h"
#include "region/open.h"
#include "region/owner.h"
#include "region/take.h"

bool sp_near_is_turn_of_others(const struct sp_lane *lane) {
    const struct sp_lanes *lanes = &lane->pool->lanes;
    if (!sp_pool_is_shared(lane->pool) || sp_load_relaxed(&lanes->asks))
        return false;
    return (sp_load_relaxed(&lanes->ask_each_miss) && !sp_crowd_is_there(lane)) ||
           sp_load_relaxed(&lane->misses) % SP_MISSES_PER_POLL == 0;
}

void sp_near_count_miss(struct sp_lane *lane) {
    if (!sp_pool_is_shared(lane->pool))
        return;
    uint32_t misses = sp_load_relaxed(&lane->misses);
    sp_store_relaxed(&lane->misses, misses + 1); // a hint: one of two at once may be lost
}

// By the rule of the ladder: memory near at hand carries a fence of one stream, or none.
static void count_near_locked(struct sp_lane *lane, const struct sp_block *block) {
    const struct sp_stream *stream = lane->stream;
    bool complete = sp_fence_set_empty(&block->fences);
    struct sp_fence fence = *sp_fence_set_at(&block->fences, 0);
    if (!complete && fence.slot == stream->slot && fence.sequence >= stream->first)
        sp_at_hand_count_hit_locked(lane);
    else if (complete || fence.slot == stream->slot || sp_pool_knows(lane->pool, fence))
        sp_pool_count(lane->pool, SP_STATISTIC_ReuseComplete);
    else
        sp_pool_count(lane->pool, SP_STATISTIC_ReuseOrdered);
}

// A block that the lane has in pieces, or the pool ready, or others that the stream runs after;
// counted; null when there is none.
static struct sp_block *take_near_locked(struct sp_lane *lane, size_t size, unsigned int flags,
                                         bool *unfenced) {
    struct sp_block *block =
        sp_take_near_locked(lane, sp_at_hand_round_large(size), flags, unfenced);
    if (!block)
        return NULL;
    sp_at_hand_give_out(lane, block, size);
    sp_owner_set_block(block);
    count_near_locked(lane, block);
    sp_near_count_miss(lane);
    return block;
}

struct near {
    bool looked;   // at what is near; else there is no lane for that, or it is its turn to ask
    bool unfenced; // the lane has memory that no event stands behind
};

// Takes memory with no pin, which is as safe as a hit: the lane is the stream's in this pool as
// long as its lock is held, a pool with a live block isn't taken apart, and one that is has nothing
// in its tiers by then.
static uint64_t take_near_once(struct sp_pool *pool, struct sp_lane *lane,
                               const struct sp_stream *stream, size_t size, unsigned int flags,
                               struct near *near) {
    struct sp_block *block = NULL;
    bool covered = true;
    bool again;
    *near = (struct near){false, false};
    do {
        again = false;
        sp_biased_lock_acquire(&lane->lock);
        if (SP_LIKELY(sp_lane_is(lane, pool, stream) && !sp_near_is_turn_of_others(lane))) {
            near->looked = true;
            block = take_near_locked(lane, size, flags, &near->unfenced);
            again = !block && sp_load_relaxed(&lane->quick_used) != 0;
        }
        if (block)
            covered = sp_at_hand_use_locked(lane, size);
        sp_biased_lock_release(&lane->lock);
    } while (SP_UNLIKELY(again));
    if (SP_UNLIKELY(!covered))
        sp_figures_cover(pool, lane);
    return block ? block->address : 0;
}

// The pool stays as long as the block is in no tier, and is the lane's unless it was another one
// when the lane was found.
static uint64_t take_offered(struct sp_pool *pool, struct sp_lane *lane, struct sp_stream *stream,
                             size_t size, unsigned int flags) {
    struct sp_block *block = sp_offer_take(pool, stream, sp_at_hand_round_large(size), flags);
    bool covered = true;
    if (!block)
        return 0;
    sp_biased_lock_acquire(&lane->lock);
    bool is_lane = sp_lane_is(lane, pool, stream);
    if (is_lane) {
        sp_at_hand_give_out(lane, block, size);
        sp_near_count_miss(lane);
        covered = sp_at_hand_use_locked(lane, size);
    }
    sp_biased_lock_release(&lane->lock);
    if (SP_UNLIKELY(!is_lane)) {
        sp_collect_file(pool, block, sp_settle_insert);
        return 0;
    }
    if (SP_UNLIKELY(!covered))
        sp_figures_cover(pool, lane);
    return block->address;
}

static void record_to_join(struct sp_pool *pool, struct sp_stream *stream) {
    if (sp_is_done(sp_mark_record(stream)))
        sp_pool_count(pool, SP_STATISTIC_EventsRecorded);
}

// Where nothing fits, the lane may have it on both sides of where its last event stands: what has
// no event behind it doesn't join what has. The pool may be at its end, and its struct another
// one's: a record that this one counts does no harm. A plain device first looks if the stream can
// use its memory.
uint64_t sp_near_take(struct sp_pool *pool, struct sp_stream *stream, size_t size,
                      unsigned int flags) {
    struct sp_lane *lane = sp_lane_find(pool, stream->slot);
    struct near near;
    if (!lane || size > SIZE_MAX / 2 || sp_vmm_is_plain(&pool->device->vmm))
        return 0;
    uint64_t address = take_near_once(pool, lane, stream, size, flags, &near);
    if (!address && near.unfenced) {
        record_to_join(pool, stream);
        address = take_near_once(pool, lane, stream, size, flags, &near);
    }
    return address || !near.looked ? address : take_offered(pool, lane, stream, size, flags);
}
