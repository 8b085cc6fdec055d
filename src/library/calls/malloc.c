// Allocating what the lane doesn't have at hand (region/at_hand.h): who may have it, and what the
// stream owes for it.
#include "calls/malloc.h"

#include "base/atomic.h"
#include "base/cold.h"
#include "base/number.h"
#include "calls/admit.h"
#include "calls/free.h"
#include "calls/miss.h"
#include "order/identity.h"
#include "order/mark.h"
#include "process/given_up.h"
#include "process/overflow.h"
#include "region/at_hand.h"
#include "region/collect.h"
#include "region/device.h"
#include "region/find.h"
#include "region/held.h"
#include "region/lane.h"
#include "region/loose.h"
#include "tell/explain.h"

#include <stdio.h>

// ------------------------------------------------------------------------------------ owed actions

// Returns what the stream owes for an allocation that was just made. All fences of a large block
// count. Of a slab's block the last free there on the lane's own stream counts: the slab is its own
// lane's.
static enum sp_owed owed_for(const struct sp_stream *stream, uint64_t address) {
    if (!sp_stream_acts(stream))
        return SP_OWED_NONE;
    uintptr_t owner = sp_owner_of(address);
    struct sp_lane *lane = sp_owner_lane(owner);
    const struct sp_slab *slab = sp_owner_slab(owner);
    enum sp_owed owed = SP_OWED_NONE;
    sp_biased_lock_acquire(&lane->lock);
    bool (*is_complete)(struct sp_fence fence) = sp_pool_measure(lane->pool);
    if (sp_pool_follows_legacy(lane->pool))
        owed = slab ? sp_action_owed_for_own(lane->stream, slab->last_sequence, is_complete)
                    : sp_action_owed_for(lane->stream, &sp_owner_block(owner)->fences, is_complete);
    sp_biased_lock_release(&lane->lock);
    return owed;
}

// Makes the action that is owed, and returns the address; or gives the block back, where the pool
// has become another one meanwhile or the action fails.
SP_APART poolError_t sp_malloc_hand_over(struct sp_pool *pool, poolMemPool_t handle,
                                         struct sp_stream *stream, uint64_t address,
                                         enum sp_owed owed, void **pointer) {
    poolError_t error = poolSuccess;
    if (SP_UNLIKELY(sp_at_hand_is_another_now(pool, handle))) {
        error = SP_MALLOC_GONE;
    } else if (owed != SP_OWED_NONE) {
        struct sp_outcome outcome = sp_identity_of(stream)->act(stream, owed);
        if (sp_is_done(outcome))
            sp_pool_count(pool, SP_STATISTIC_EventsRecorded);
        else
            error =
                sp_fail_outcome(outcome, "ordering the stream behind the memory's earlier uses");
    }
    if (error == poolSuccess)
        *pointer = (void *)(uintptr_t)address;
    else
        sp_free_other((void *)(uintptr_t)address, sp_owner_of(address), stream);
    return error;
}

// ---------------------------------------------------------------- large or loose: the first look

struct look {
    bool made;     // else there is no lane for that, or it is due to ask
    bool unfenced; // the lane has memory that no event stands behind
};

// Takes memory with no pin, which is as safe as a hit: the lane is the stream's in this pool as
// long as its lock is held, a pool with a live block isn't taken apart, and one that is has nothing
// in its tiers by then.
static uint64_t look_once(struct sp_pool *pool, struct sp_lane *lane,
                          const struct sp_stream *stream, size_t size, unsigned int flags,
                          struct look *look) {
    struct sp_found found;
    bool covered = true;
    bool again;
    *look = (struct look){false, false};
    do {
        found.block = NULL;
        again = false;
        sp_biased_lock_acquire(&lane->lock);
        if (SP_LIKELY(sp_lane_is(lane, pool, stream) && !sp_miss_is_due_to_ask(lane))) {
            found = sp_find_first_locked(lane, sp_at_hand_round_large(size), flags);
            *look = (struct look){true, found.unfenced};
            again = !found.block && sp_load_relaxed(&lane->quick_used) != 0;
        }
        if (found.block) {
            sp_at_hand_give_out(lane, found.block, size);
            sp_owner_set_block(found.block);
            if (found.rule == SP_RULE_SAME_STREAM)
                sp_at_hand_count_hit_locked(lane);
            else
                sp_pool_count(pool, sp_request_statistic(found.rule));
            sp_miss_count(lane);
            covered = sp_at_hand_use_locked(lane, size);
        }
        sp_biased_lock_release(&lane->lock);
    } while (SP_UNLIKELY(again));
    if (SP_UNLIKELY(!covered))
        sp_figures_cover(pool, lane);
    return found.block ? found.block->address : 0;
}

// Takes a large or loose block with no pin: free memory that the lane has in pieces, that the pool
// has ready, or that a few other lanes have and the stream runs after. Every so many misses the
// lane goes the long way instead, on which it looks after the others.
//
// Where nothing fits, the lane may have it in neighbours of which one has an event behind it, and
// the other doesn't: an event makes them one. Or another lane offers it. The pool may be at its
// end, and its struct another one's: a record that this one counts does no harm. A plain device
// first looks if the stream can use its memory.
static uint64_t look_first(struct sp_pool *pool, struct sp_stream *stream, size_t size,
                           unsigned int flags) {
    struct sp_lane *lane = sp_lane_find_for_malloc(pool, stream->slot);
    struct look look;
    if (!lane || size > SIZE_MAX / 2 || sp_vmm_provider(&pool->device->vmm)->is_of_context)
        return 0;
    uint64_t address = look_once(pool, lane, stream, size, flags, &look);
    if (!address && look.unfenced) {
        if (sp_is_done(sp_mark_record(stream)))
            sp_pool_count(pool, SP_STATISTIC_EventsRecorded);
        address = look_once(pool, lane, stream, size, flags, &look);
    }
    if (!address && look.made && sp_collect_offered(pool, lane, sp_at_hand_round_large(size)))
        address = look_once(pool, lane, stream, size, flags, &look);
    return address;
}

// -------------------------------------------------------------------------------------- the ladder

// The most that the pool can ever hold where it doesn't overflow.
static size_t most_of(const struct sp_pool *pool) {
    size_t total = pool->device->vmm.total_memory;
    size_t limit = sp_load_relaxed(&pool->limit);
    return sp_min(total, limit);
}

static poolError_t check_size(const struct sp_pool *pool, poolMemPool_t handle, size_t size) {
    size_t most = sp_max(most_of(pool), sp_load_relaxed(&pool->attributes.host_overflow_max));
    most = sp_min(most, SIZE_MAX / 2); // a larger one couldn't even be rounded
    if (size <= most)
        return poolSuccess;
    if (sp_at_hand_is_another_now(pool, handle))
        return SP_MALLOC_GONE;
    return sp_fail(poolErrorMemoryAllocation,
                   "%zu bytes are more than the pool can ever hold (%zu)", size, most);
}

// Makes ready for a miss in a pool that is pinned.
static poolError_t open_miss(struct sp_pool *pool, struct sp_stream *stream, size_t size,
                             unsigned int flags, struct sp_miss *miss) {
    poolError_t admitted = sp_admit(pool, stream);
    if (admitted != poolSuccess)
        return admitted;
    struct sp_lane *lane = sp_lane_of(pool, stream);
    if (!lane)
        return sp_fail(poolErrorMemoryAllocation, "out of host memory");
    sp_lane_look_at_context(lane);
    if (flags & poolMallocCompleteOnly && !sp_load_relaxed(&pool->wants_complete)) {
        sp_lock_acquire(&pool->lock);
        sp_store_relaxed(&pool->wants_complete, true);
        sp_held_deal(pool, false);
        sp_lock_release(&pool->lock);
    }
    *miss = (struct sp_miss){.pool = pool, .lane = lane, .size = size, .flags = flags};
    miss->shelf = size <= SP_SMALL_MAX ? sp_lane_make_shelf(lane) : lane;
    return poolSuccess;
}

// Serves a miss that has found no memory from the overflow (process/overflow.h): not what is less
// than a granule, nor what is for other devices. A host that has none leaves it refused.
static poolError_t take_from_overflow(struct sp_miss *miss, struct sp_outcome refused,
                                      uint64_t *address) {
    struct sp_pool *pool = miss->pool, *overflow;
    struct sp_miss there;
    char why[128];
    uint64_t most = sp_load_relaxed(&pool->attributes.host_overflow_max);
    if (most == 0 || miss->flags & poolMallocFixed || miss->size < pool->device->vmm.granule)
        return sp_miss_describe(miss, refused);
    poolError_t error = sp_overflow_of(pool, &overflow);
    if (error == poolSuccess)
        error = open_miss(overflow, miss->lane->stream, miss->size, miss->flags, &there);
    if (error != poolSuccess) {
        snprintf(why, sizeof why, "%s", sp_fail_detail());
        miss->no_overflow = why;
        return sp_miss_describe(miss, refused);
    }
    miss->overflowed = sp_miss_serve(&there, address);
    if (sp_is_done(miss->overflowed)) {
        sp_pool_count(pool, SP_STATISTIC_ReuseHost);
        return poolSuccess;
    }
    bool is_refused =
        sp_outcome_lacks_memory(miss->overflowed) || sp_outcome_lacks_support(miss->overflowed);
    return is_refused ? sp_miss_describe(miss, refused)
                      : sp_fail_outcome(miss->overflowed, "allocating memory of the host");
}

// With the pool pinned. Where the device becomes plain by this, the stream is admitted anew.
SP_COLD static poolError_t malloc_pinned(struct sp_pool *pool, struct sp_stream *stream,
                                         size_t size, unsigned int flags, uint64_t *address) {
    const struct sp_vmm_provider *provider = sp_vmm_provider(&pool->device->vmm);
    struct poolMemPoolGrowth growth;
    struct sp_miss miss;
    poolError_t error = open_miss(pool, stream, size, flags, &miss);
    if (error != poolSuccess)
        return error;
    if (SP_UNLIKELY(sp_load_relaxed(&pool->watch.is_on))) {
        growth = (struct poolMemPoolGrowth){0};
        miss.growth = &growth;
    }
    struct sp_outcome outcome =
        size <= most_of(pool) ? sp_miss_serve(&miss, address) : sp_outcome_of(SP_BEYOND_LIMIT);
    if (sp_outcome_lacks_support(outcome) && sp_vmm_provider(&pool->device->vmm) != provider)
        return malloc_pinned(pool, stream, size, flags, address);
    if (sp_outcome_lacks_memory(outcome)) {
        error = sp_admit(pool, stream); // the pool may be evicted by now
        return error == poolSuccess ? take_from_overflow(&miss, outcome, address) : error;
    }
    if (!sp_is_done(outcome))
        return sp_miss_describe(&miss, outcome);
    if (miss.growth && growth.mapped > 0)
        sp_explain_growth(pool, &growth);
    return poolSuccess;
}

SP_COLD static poolError_t malloc_by_ladder(struct sp_pool *pool, poolMemPool_t handle,
                                            struct sp_stream *stream, size_t size,
                                            unsigned int flags, void **pointer) {
    uint64_t address = 0;
    poolError_t error = check_size(pool, handle, size);
    if (error != poolSuccess)
        return error;
    if (!sp_pin_take(pool, handle))
        return SP_MALLOC_GONE;
    error = malloc_pinned(pool, stream, size, flags, &address);
    sp_pin_drop(pool);
    if (error != poolSuccess)
        return error;
    return sp_malloc_hand_over(pool, handle, stream, address, owed_for(stream, address), pointer);
}

SP_APART poolError_t sp_malloc_missed(struct sp_pool *pool, poolMemPool_t handle,
                                      struct sp_stream *stream, size_t size, unsigned int flags,
                                      void **pointer) {
    uint64_t address = 0;
    if (size > SP_SMALL_MAX || sp_loose_is_due(pool, sp_slab_class_of(size)))
        address = look_first(pool, stream, size, flags);
    if (SP_UNLIKELY(!address))
        return malloc_by_ladder(pool, handle, stream, size, flags, pointer);
    return sp_malloc_hand_over(pool, handle, stream, address, owed_for(stream, address), pointer);
}

// An anonymous stream is ordered behind its earlier frees first. A size that can't be had is
// refused before the stream is made to wait. What the lane had at hand its stream alone had freed.
SP_APART poolError_t sp_malloc_acting(struct sp_pool *pool, poolMemPool_t handle,
                                      struct sp_stream *stream, size_t size, unsigned int flags,
                                      void **pointer) {
    if (sp_identity_records_each_free(stream)) {
        poolError_t error = check_size(pool, handle, size);
        if (error != poolSuccess)
            return error;
        struct sp_outcome ordered = sp_identity_before_reuse(stream);
        if (!sp_is_done(ordered))
            return sp_fail_outcome(ordered, "ordering the stream behind its earlier frees");
    }
    if (flags & (poolMallocFixed | poolMallocCompleteOnly))
        return malloc_by_ladder(pool, handle, stream, size, flags, pointer);
    uint64_t freed = 0;
    uint64_t address = sp_at_hand_take(pool, stream, size, flags, &freed);
    if (!address)
        return sp_malloc_missed(pool, handle, stream, size, flags, pointer);
    enum sp_owed owed = SP_OWED_NONE;
    if (sp_pool_follows_legacy(pool))
        owed = sp_action_owed_for_own(stream, freed, sp_pool_measure(pool));
    return sp_malloc_hand_over(pool, handle, stream, address, owed, pointer);
}
