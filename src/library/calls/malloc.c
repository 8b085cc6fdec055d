// Allocating what the lane doesn't have at hand (region/at_hand.h): who may have it, and what the
// stream owes for it.
#include "calls/malloc.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "base/cold.h"
#include "base/number.h"
#include "calls/admit.h"
#include "calls/explain.h"
#include "calls/free.h"
#include "calls/miss.h"
#include "calls/near.h"
#include "order/identity.h"
#include "process/given_up.h"
#include "region/at_hand.h"
#include "region/crowded.h"
#include "region/device.h"
#include "region/lane.h"

// ------------------------------------------------------------------------------------ owed actions

// All fences of a large block count. Of a slab's block the last free there on the lane's own stream
// counts: the slab is its own lane's.
static enum sp_debt debt_locked(const struct sp_lane *lane, uintptr_t owner) {
    const struct sp_slab *slab = sp_owner_slab(owner);
    bool (*is_complete)(struct sp_fence fence) = sp_pool_measure(lane->pool);
    if (!sp_pool_follows_legacy(lane->pool))
        return SP_DEBT_NONE;
    return slab ? sp_action_debt_for_own(lane->stream, slab->last_sequence, is_complete)
                : sp_action_debt_for(lane->stream, &sp_owner_block(owner)->fences, is_complete);
}

// Returns what the stream owes for an allocation that was just made.
static enum sp_debt debt_for(const struct sp_stream *stream, uint64_t address) {
    if (!sp_stream_acts(stream))
        return SP_DEBT_NONE;
    uintptr_t owner = sp_owner_of(address);
    struct sp_lane *lane = sp_owner_lane(owner);
    sp_biased_lock_acquire(&lane->lock);
    enum sp_debt debt = debt_locked(lane, owner);
    sp_biased_lock_release(&lane->lock);
    return debt;
}

// Returns what the stream owes for a block that the lane had at hand, and that its stream alone had
// freed.
static enum sp_debt debt_at_hand(const struct sp_pool *pool, const struct sp_stream *stream,
                                 uint64_t freed) {
    return sp_pool_follows_legacy(pool)
               ? sp_action_debt_for_own(stream, freed, sp_pool_measure(pool))
               : SP_DEBT_NONE;
}

static poolError_t act(struct sp_pool *pool, struct sp_stream *stream, enum sp_debt debt) {
    struct sp_outcome outcome = sp_action_make(stream, debt);
    if (!sp_is_done(outcome))
        return sp_fail_outcome(outcome, "ordering the stream behind the memory's earlier uses");
    sp_pool_count(pool, SP_STATISTIC_EventsRecorded);
    return poolSuccess;
}

// -------------------------------------------------------------------------------------------- both

// With the pool pinned.
SP_COLD static poolError_t malloc_slowly(struct sp_pool *pool, struct sp_stream *stream,
                                         size_t size, unsigned int flags, uint64_t *address) {
    poolError_t admitted = sp_admit(pool, stream);
    if (admitted != poolSuccess)
        return admitted;
    struct sp_lane *lane = sp_lane_of(pool, stream);
    if (!lane)
        return sp_fail(poolErrorMemoryAllocation, "out of host memory");
    struct poolMemPoolGrowth growth;
    struct sp_miss miss = {.pool = pool, .lane = lane, .size = size, .flags = flags};
    if (SP_UNLIKELY(sp_load_relaxed(&pool->watch.is_on))) {
        growth = (struct poolMemPoolGrowth){0};
        miss.growth = &growth;
    }
    struct sp_outcome outcome = sp_miss_serve(&miss, address);
    if (!sp_is_done(outcome))
        return sp_miss_describe(&miss, outcome);
    if (miss.growth && growth.mapped > 0)
        sp_explain_growth(pool, &growth);
    return poolSuccess;
}

static poolError_t check_size(const struct sp_pool *pool, poolMemPool_t handle, size_t size) {
    size_t total = pool->device->vmm.total_memory;
    size_t limit = sp_load_relaxed(&pool->limit);
    size_t most = sp_min(total, limit);
    if (size <= most)
        return poolSuccess;
    if (sp_at_hand_is_another_now(pool, handle))
        return SP_MALLOC_GONE;
    return sp_fail(poolErrorMemoryAllocation,
                   "%zu bytes are more than the pool can ever hold (%zu)", size, most);
}

SP_COLD static poolError_t malloc_pinned(struct sp_pool *pool, poolMemPool_t handle,
                                         struct sp_stream *stream, size_t size, unsigned int flags,
                                         uint64_t *address) {
    poolError_t error = check_size(pool, handle, size);
    if (error != poolSuccess)
        return error;
    if (!sp_pin_take(pool, handle))
        return SP_MALLOC_GONE;
    error = malloc_slowly(pool, stream, size, flags, address);
    sp_pin_drop(pool);
    return error;
}

// Orders an anonymous stream behind its earlier frees. A size that can't be had is refused before
// the stream is made to wait.
static poolError_t order_behind_chain(const struct sp_pool *pool, poolMemPool_t handle,
                                      struct sp_stream *stream, size_t size) {
    poolError_t error = check_size(pool, handle, size);
    if (error != poolSuccess)
        return error;
    struct sp_outcome ordered = sp_identity_before_reuse(stream);
    return sp_is_done(ordered)
               ? poolSuccess
               : sp_fail_outcome(ordered, "ordering the stream behind its earlier frees");
}

static void give_back(uint64_t address, struct sp_stream *stream) {
    sp_free_other((void *)(uintptr_t)address, sp_owner_of(address), stream);
}

// Unless the pool has become another one meanwhile. With the action that is owed.
SP_APART poolError_t sp_malloc_hand_over(struct sp_pool *pool, poolMemPool_t handle,
                                         struct sp_stream *stream, uint64_t address,
                                         enum sp_debt debt, void **pointer) {
    if (SP_UNLIKELY(sp_at_hand_is_another_now(pool, handle))) {
        give_back(address, stream);
        return SP_MALLOC_GONE;
    }
    poolError_t error = debt == SP_DEBT_NONE ? poolSuccess : act(pool, stream, debt);
    if (error == poolSuccess)
        *pointer = (void *)(uintptr_t)address;
    else
        give_back(address, stream);
    return error;
}

SP_COLD static poolError_t malloc_by_ladder(struct sp_pool *pool, poolMemPool_t handle,
                                            struct sp_stream *stream, size_t size,
                                            unsigned int flags, void **pointer) {
    uint64_t address = 0;
    poolError_t error = malloc_pinned(pool, handle, stream, size, flags, &address);
    if (error != poolSuccess)
        return error;
    return sp_malloc_hand_over(pool, handle, stream, address, debt_for(stream, address), pointer);
}

// A front's blocks may have been other streams', and what the stream owes for them the lane tells.
static inline bool may_take_from_front(const struct sp_stream *stream, unsigned int flags) {
    return !(flags & poolMallocSameStreamOnly) && !sp_load_relaxed(&stream->acts);
}

SP_APART poolError_t sp_malloc_missed(struct sp_pool *pool, poolMemPool_t handle,
                                      struct sp_stream *stream, size_t size, unsigned int flags,
                                      void **pointer) {
    uint64_t address = size > SP_SMALL_MAX ? sp_near_take(pool, stream, size, flags)
                       : may_take_from_front(stream, flags) ? sp_crowded_take(pool, stream, size)
                                                            : 0;
    if (SP_UNLIKELY(!address))
        return malloc_by_ladder(pool, handle, stream, size, flags, pointer);
    return sp_malloc_hand_over(pool, handle, stream, address, debt_for(stream, address), pointer);
}

SP_APART poolError_t sp_malloc_acting(struct sp_pool *pool, poolMemPool_t handle,
                                      struct sp_stream *stream, size_t size, unsigned int flags,
                                      void **pointer) {
    poolError_t error = sp_identity_records_each_free(stream)
                            ? order_behind_chain(pool, handle, stream, size)
                            : poolSuccess;
    if (error != poolSuccess)
        return error;
    if (flags & poolMallocFixed)
        return malloc_by_ladder(pool, handle, stream, size, flags, pointer);
    uint64_t freed = 0;
    uint64_t address = sp_at_hand_take(pool, stream, size, flags, &freed);
    if (!address)
        return sp_malloc_missed(pool, handle, stream, size, flags, pointer);
    return sp_malloc_hand_over(pool, handle, stream, address, debt_at_hand(pool, stream, freed),
                               pointer);
}
