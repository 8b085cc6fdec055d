// Allocating what the lane doesn't have at hand (region/at_hand.h): blocks that others returned to
// its slabs, and behind them the ladder.
#include "calls/malloc.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "base/cold.h"
#include "base/number.h"
#include "calls/admit.h"
#include "calls/explain.h"
#include "calls/free.h"
#include "calls/ladder.h"
#include "calls/near.h"
#include "calls/refusal.h"
#include "calls/returned.h"
#include "order/identity.h"
#include "order/poll.h"
#include "process/pin.h"
#include "region/at_hand.h"
#include "region/collect.h"
#include "region/crowded.h"
#include "region/device.h"
#include "region/lane.h"
#include "region/open_lanes.h"
#include "region/settle.h"

// ------------------------------------------------------------------------------------ small blocks

// Once more, for a lane that has just come to be, or another thread's free: counted. Its fronts may
// have what the lane lacks.
SP_COLD static uint64_t take_small_again(struct sp_pool *pool, struct sp_lane *lane, size_t size,
                                         unsigned int flags) {
    sp_biased_lock_acquire(&lane->lock);
    uint64_t address = sp_at_hand_take_small_locked(lane, size, flags, NULL);
    if (!address && sp_front_is_any(lane)) {
        sp_crowded_drain_locked(lane);
        address = sp_at_hand_take_small_locked(lane, size, flags, NULL);
    }
    if (address)
        sp_at_hand_count_hit_locked(lane);
    sp_biased_lock_release(&lane->lock);
    if (address)
        sp_at_hand_use(pool, lane, size);
    return address;
}

// Before a request is refused: another thread has put blocks back meanwhile, or has some on their
// way, for which this looks so often at most.
SP_COLD static uint64_t take_small_on_its_way(struct sp_pool *pool, struct sp_lane *lane,
                                              size_t size, unsigned int flags) {
    enum { LOOKS_MOST = 128 };
    uint64_t address = 0;
    bool waits = true;
    for (unsigned look = 0; look < LOOKS_MOST && waits && !address; look++) {
        waits = sp_crowded_has_some_on_their_way(lane);
        if (waits)
            sp_lock_pause(look);
        address = take_small_again(pool, lane, size, flags);
    }
    return address;
}

// `growth` is all 0 where the pool is watched, and then notes a growth that is to be told; else it
// is null.
static struct sp_outcome climb(struct sp_pool *pool, struct sp_lane *lane, enum sp_region_kind kind,
                               uint64_t size, unsigned int flags, struct sp_block **block,
                               struct poolMemPoolGrowth *growth) {
    struct sp_request request;
    sp_request_open(&request, pool, lane, kind, size, flags);
    request.watched = growth;
    struct sp_outcome outcome = sp_ladder_climb(&request, block);
    if (sp_is_done(outcome) && growth)
        sp_explain_complete(&request);
    sp_request_close(&request);
    return outcome;
}

// Returns the size of the slab that a block of this size is cut from.
static uint64_t run_size(size_t size) {
    return sp_size_classes[sp_slab_class_of(size)].pages * SP_PAGE_SIZE;
}

// A new slab for the lane, and one block of it. What is on the host comes first: the pool doesn't
// grow for a slab that can't be had.
SP_COLD static struct sp_outcome take_from_new_slab(struct sp_pool *pool, struct sp_lane *lane,
                                                    size_t size, unsigned int flags,
                                                    uint64_t *address,
                                                    struct poolMemPoolGrowth *growth) {
    unsigned class_index = sp_slab_class_of(size);
    struct sp_block *run = NULL;
    struct sp_slab *slab = sp_slab_create(class_index);
    if (!slab)
        return sp_outcome_of(SP_NO_HOST_MEMORY);
    struct sp_outcome outcome =
        climb(pool, lane, SP_REGION_PAGES, run_size(size), flags, &run, growth);
    if (!sp_is_done(outcome)) {
        sp_slab_destroy(slab);
        return outcome;
    }
    sp_slab_set_run(slab, run);
    slab->owner = lane;
    sp_owner_set_run(run, slab);
    sp_biased_lock_acquire(&lane->lock);
    sp_at_hand_note_debt_locked(lane, slab, &run->fences);
    sp_lane_own_slab_locked(lane, slab);
    sp_list_push_back(&lane->slabs[class_index], &slab->link);
    *address = sp_at_hand_take_from_slab_locked(slab, size);
    sp_biased_lock_release(&lane->lock);
    return sp_outcome_done();
}

// Blocks that were returned may be complete by what the ladder has asked.
static struct sp_outcome malloc_small_slowly(struct sp_pool *pool, struct sp_lane *lane,
                                             size_t size, unsigned int flags, uint64_t *address,
                                             struct poolMemPoolGrowth *growth) {
    *address = sp_returned_take(pool, lane, size, flags);
    if (*address)
        return sp_outcome_done();
    struct sp_outcome outcome = take_from_new_slab(pool, lane, size, flags, address, growth);
    if (!sp_outcome_lacks_memory(outcome))
        return outcome;
    struct sp_outcome at_last = sp_returned_take_at_last(pool, lane, size, flags, address);
    return *address ? sp_outcome_done() : sp_outcome_first(at_last, outcome);
}

// ------------------------------------------------------------------------------------ large blocks

// A lane that misses looks after the others, where there are others: now and then it asks the
// events of some streams, by turns, so that the streams share what has completed before each has
// taken memory of its own. This request doesn't need it, so a driver that fails here is heard by
// the next call that does.
static void look_after_others(struct sp_pool *pool, struct sp_lane *lane) {
    bool ask = sp_near_is_turn_of_others(lane) && sp_pool_may_ask(pool);
    sp_near_count_miss(lane);
    if (!ask || atomic_exchange_explicit(&pool->lanes.asks, true, memory_order_relaxed))
        return;
    uint64_t before = sp_progress_news();
    sp_open_lanes_ask_some(pool, lane);
    sp_poll_until_busy_of(lane->stream);
    sp_near_note_answer(lane, sp_progress_news() != before);
    sp_store_relaxed(&pool->lanes.asks, false);
    sp_lock_acquire(&pool->lock);
    sp_settle_part(pool);
    sp_lock_release(&pool->lock);
}

static struct sp_outcome malloc_large_slowly(struct sp_pool *pool, struct sp_lane *lane,
                                             size_t size, unsigned int flags, uint64_t *address,
                                             struct poolMemPoolGrowth *growth) {
    struct sp_block *block;
    enum sp_region_kind kind = flags & poolMallocFixed ? SP_REGION_FIXED : SP_REGION_LARGE;
    sp_collect_quick(lane, sp_settle_insert_and_swallow);
    look_after_others(pool, lane);
    struct sp_outcome outcome =
        climb(pool, lane, kind, sp_at_hand_round_large(size), flags, &block, growth);
    if (!sp_is_done(outcome))
        return outcome;
    sp_owner_set_block(block);
    *address = sp_at_hand_give_out(lane, block, size);
    return sp_outcome_done();
}

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

static bool is_small(size_t size, unsigned int flags) {
    return size <= SP_SMALL_MAX && !(flags & poolMallocFixed);
}

static poolError_t describe_failure(struct sp_lane *lane, size_t size, unsigned int flags,
                                    struct sp_outcome outcome) {
    if (!sp_outcome_lacks_memory(outcome))
        return sp_fail_outcome(outcome, "allocating");
    sp_pool_count(lane->pool, SP_STATISTIC_Failures);
    enum sp_region_kind large = flags & poolMallocFixed ? SP_REGION_FIXED : SP_REGION_LARGE;
    return is_small(size, flags)
               ? sp_refusal_tell(lane, SP_REGION_PAGES, run_size(size), flags, size, outcome)
               : sp_refusal_tell(lane, large, sp_at_hand_round_large(size), flags, size, outcome);
}

// With the pool pinned.
SP_COLD static poolError_t malloc_slowly(struct sp_pool *pool, struct sp_stream *stream,
                                         size_t size, unsigned int flags, uint64_t *address) {
    poolError_t admitted =
        sp_vmm_is_plain(&pool->device->vmm) ? sp_admit(pool, stream) : poolSuccess;
    if (admitted != poolSuccess)
        return admitted;
    struct sp_lane *lane = sp_lane_of(pool, stream);
    if (!lane)
        return sp_fail(poolErrorMemoryAllocation, "out of host memory");
    *address = is_small(size, flags) ? take_small_again(pool, lane, size, flags) : 0;
    if (*address)
        return poolSuccess;
    struct poolMemPoolGrowth growth;
    struct poolMemPoolGrowth *noted = NULL;
    if (SP_UNLIKELY(sp_load_relaxed(&pool->watch.is_on))) {
        growth = (struct poolMemPoolGrowth){0};
        noted = &growth;
    }
    struct sp_outcome outcome = is_small(size, flags)
                                    ? malloc_small_slowly(pool, lane, size, flags, address, noted)
                                    : malloc_large_slowly(pool, lane, size, flags, address, noted);
    if (sp_outcome_lacks_memory(outcome) && is_small(size, flags) &&
        (*address = take_small_on_its_way(pool, lane, size, flags)))
        return poolSuccess;
    if (!sp_is_done(outcome))
        return describe_failure(lane, size, flags, outcome);
    sp_at_hand_use(pool, lane, size);
    if (noted && noted->mapped > 0)
        sp_explain_growth(pool, noted);
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
