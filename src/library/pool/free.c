// Freeing: to the lane of the stream, with a fence where another stream may want the memory.
//
//   at hand   the common free (pool/at_hand.h): one section of the lane, and nothing else
//   near      the same where the free is the first under its number, or is to record: a record
//             comes after
//   slow      all else. Something of the pool is left to be done after the block is back (a slab
//             that is given up, another lane), so the account is settled last: a pool that was
//             given up may be taken apart once nothing is used
#include "order/foreign.h"
#include "order/mark.h"
#include "order/poll.h"
#include "pool/at_hand.h"
#include "pool/given_up.h"
#include "pool/locate.h"
#include "pool/runtime.h"
#include "pool/settle.h"

#include "base/cold.h"

#include "base/page_map.h"

#include <inttypes.h>
#include <stdio.h>

// Memory of the driver's own allocators goes back to the driver; what is at no pool's address and
// none of that either, is the driver's to refuse.
SP_COLD static poolError_t free_foreign(const void *pointer, const struct sp_stream *stream) {
    if (stream && !sp_foreign_frees_in_order())
        return sp_fail(
            poolErrorInvalidValue,
            "%p is no memory of any pool, and before CUDA 11.2 a driver frees none of its own in a "
            "stream's order",
            pointer);
    CUresult error = sp_foreign_free((CUdeviceptr)(uintptr_t)pointer, stream);
    if (error == CUDA_SUCCESS)
        return poolSuccess;
    char what[64];
    snprintf(what, sizeof what, "%p is no memory of any pool", pointer);
    return sp_fail_driver(error, what);
}

SP_COLD static poolError_t not_live(const void *pointer) {
    struct sp_location location = sp_locate((uint64_t)(uintptr_t)pointer);
    if (location.place == SP_PLACE_INSIDE)
        return sp_fail(poolErrorInvalidValue,
                       "%p lies %" PRIu64 " bytes into a live allocation of %" PRIu64 " bytes",
                       pointer, location.offset, location.size);
    return sp_fail(poolErrorInvalidValue, "%p was freed already, or is no allocation", pointer);
}

// ------------------------------------------------------------------------------------ near at hand

static void count_record_locked(struct sp_lane *lane, uint64_t more) {
    atomic_store_explicit(&lane->records, sp_figure(&lane->records) + more, memory_order_relaxed);
}

// One that was counted and couldn't be made. Of a lane that may be another one's by now.
SP_COLD static void uncount_record(struct sp_lane *lane, const struct sp_pool *pool,
                                   const struct sp_stream *stream) {
    sp_biased_acquire(&lane->lock);
    if (sp_lane_is(lane, pool, stream) && sp_figure(&lane->records) > 0)
        count_record_locked(lane, (uint64_t)-1);
    sp_biased_release(&lane->lock);
}

// The quick lists grow by what is freed, and that is counted where it is recorded.
static bool is_shortening_due(struct sp_lane *lane) {
    lane->freed_unchecked += sp_figure(&lane->unfenced_bytes);
    if (lane->freed_unchecked < SP_QUICK_KEPT * SP_PAGE_SIZE)
        return false;
    lane->freed_unchecked = 0;
    return true;
}

SP_COLD static void shorten_quick(struct sp_lane *lane, struct sp_pool *pool, poolMemPool_t handle,
                                  const struct sp_stream *stream) {
    if (!sp_pool_pin(pool, handle))
        return;
    sp_lane_shorten_quick(lane, pool, stream);
    sp_pool_unpin(pool);
}

// A free that records is noted by its record, and any other before another thread can find the
// memory.
static bool put_near_locked(struct sp_lane *lane, uintptr_t owner, uint64_t address,
                            uint64_t sequence, bool *over) {
    struct sp_slab *slab = sp_owner_slab(owner);
    bool put = slab ? sp_put_small_locked(lane, slab, address, sequence, over)
                    : sp_put_large_locked(lane, sp_owner_block(owner), address, sequence, over);
    if (*over)
        count_record_locked(lane, 1);
    else if (put)
        sp_number_raise(&lane->stream->freed, sequence);
    return put;
}

// The account is settled with the rest, and the record that may follow looks at the stream alone. A
// pool that was given up is left to the slow way, whose last free looks whether it can be taken
// apart. Whoever gives a pool up takes each lane's lock afterwards, to see what is used: so a free
// whose section is a later one sees that it was.
static bool put_near(uintptr_t owner, uint64_t address, struct sp_stream *stream) {
    struct sp_lane *lane = sp_owner_lane(owner);
    uint64_t sequence = sp_progress_number(stream);
    bool put = false, over = false, shorten = false;
    if (!lane || lane->stream != stream || !stream->identified)
        return false;
    sp_biased_acquire(&lane->lock);
    struct sp_pool *pool = lane->pool;
    if (lane->stream == stream && !atomic_load_explicit(&pool->destroyed, memory_order_acquire))
        put = put_near_locked(lane, owner, address, sequence, &over);
    if (over)
        shorten = is_shortening_due(lane);
    poolMemPool_t handle = atomic_load_explicit(&pool->handle, memory_order_relaxed);
    sp_biased_release(&lane->lock);
    if (over && sp_mark_record_freed(stream) != CUDA_SUCCESS)
        uncount_record(lane, pool, stream);
    if (SP_UNLIKELY(shorten))
        shorten_quick(lane, pool, handle, stream);
    return put;
}

poolError_t sp_pool_free_near(void *pointer, uintptr_t owner, struct sp_stream *stream) {
    return put_near(owner, (uint64_t)(uintptr_t)pointer, stream)
               ? poolSuccess
               : sp_pool_free_slowly(pointer, owner, stream);
}

// --------------------------------------------------------------------- all that there is to a free

// A free under way. Without a stream there is no lane and no fence: the caller vouches for his own
// work.
struct release {
    struct sp_stream *stream;
    uint64_t sequence; // of the fence
    struct sp_pool *pool;
    struct sp_lane *account;
    uint64_t requested;
    uint32_t held_back; // from others, until an event stands behind the free
    bool over_unfenced;
    bool shorten; // the lane's quick lists may have become long
};

// ------------------------------------------------------------------------------------ small blocks

// The block goes back to its slab, which lists itself again if it had none free.
static uint32_t put_own_locked(struct sp_lane *owner, struct sp_slab *slab, uint16_t index,
                               const struct release *release) {
    bool listed = sp_slab_has_free(slab);
    uint32_t requested = sp_slab_put(slab, index);
    if (release->stream && slab->last_sequence < release->sequence)
        slab->last_sequence = release->sequence; // a late caller may bring an older number
    if (!listed)
        sp_list_push_front(&owner->slabs[slab->class_index], &slab->link);
    return requested;
}

// The block waits in its slab with the other streams' fences. CUDA_ERROR_OUT_OF_MEMORY when there
// is no host memory for this one.
SP_COLD static CUresult return_locked(struct sp_lane *owner, struct sp_slab *slab, uint16_t index,
                                      struct release *release) {
    sp_fence_set_prune(&slab->foreign, sp_pool_measure(owner->pool));
    if (!sp_fence_set_add(&slab->foreign,
                          (struct sp_fence){release->stream->slot, release->sequence}))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (sp_list_empty(&slab->returned_link))
        sp_list_push_back(&owner->returned_slabs[slab->class_index], &slab->returned_link);
    release->requested = sp_slab_return(slab, index);
    return CUDA_SUCCESS;
}

SP_COLD static void unlink_locked(struct sp_slab *slab) {
    sp_list_remove(&slab->link);
    sp_list_remove(&slab->returned_link);
    sp_list_remove(&slab->owned_link);
}

// An empty slab is given up when its class has another one to allocate from.
static inline bool unlink_if_surplus_locked(struct sp_lane *owner, struct sp_slab *slab) {
    const struct sp_list *class_list = &owner->slabs[slab->class_index];
    if (slab->live != 0 || class_list->next == class_list->prev || sp_list_empty(&slab->link))
        return false;
    unlink_locked(slab);
    return true;
}

// What can't be had before an event stands behind the free. A slab that is given up counts whole in
// any case: its stream has it no more.
static void count_locked(struct sp_lane *owner, struct sp_slab *slab, struct release *release,
                         bool surplus) {
    bool own = release->stream == owner->stream;
    bool whole =
        slab->live == 0 && (!own || surplus || !sp_slab_is_counted(slab, release->sequence));
    release->held_back = sp_slab_counts(slab, whole);
    if (!own)
        return;
    if (whole)
        slab->counted_under = (uint32_t)release->sequence;
    release->over_unfenced = sp_lane_count_unfenced(owner, release->sequence, release->held_back);
}

// With the lock of the slab's owner held. CUDA_ERROR_INVALID_VALUE when no live block begins there.
static CUresult free_small_locked(struct sp_lane *owner, struct sp_slab *slab, uint64_t address,
                                  struct release *release, bool *surplus) {
    uint16_t index = slab->owner == owner ? sp_slab_find(slab, address) : SP_SLAB_END;
    if (index == SP_SLAB_END)
        return CUDA_ERROR_INVALID_VALUE;
    bool foreign = release->stream && release->stream != owner->stream;
    if (foreign) {
        CUresult error = return_locked(owner, slab, index, release);
        if (error != CUDA_SUCCESS)
            return error;
    } else {
        release->requested = put_own_locked(owner, slab, index, release);
    }
    *surplus = unlink_if_surplus_locked(owner, slab);
    count_locked(owner, slab, release, *surplus);
    return CUDA_SUCCESS;
}

SP_COLD static bool count_unfenced(struct sp_lane *lane, const struct release *release,
                                   uint64_t bytes) {
    sp_biased_acquire(&lane->lock);
    bool over = sp_lane_count_unfenced(lane, release->sequence, bytes);
    sp_biased_release(&lane->lock);
    return over;
}

static poolError_t free_small(void *pointer, struct sp_slab *slab, struct release *release) {
    struct sp_lane *owner = slab->owner;
    struct sp_lane *lane = owner;
    bool surplus = false;
    if (!owner || !owner->pool) // used again meanwhile, or given back
        return not_live(pointer);
    release->pool = owner->pool;
    release->account = owner;
    if (release->stream && release->stream != owner->stream)
        lane = sp_pool_lane(release->pool, release->stream);
    if (!lane)
        return sp_fail(poolErrorMemoryAllocation, "out of host memory");
    sp_biased_acquire(&owner->lock);
    CUresult error =
        free_small_locked(owner, slab, (uint64_t)(uintptr_t)pointer, release, &surplus);
    sp_biased_release(&owner->lock);
    if (error == CUDA_ERROR_INVALID_VALUE)
        return not_live(pointer);
    if (error != CUDA_SUCCESS)
        return sp_fail(poolErrorMemoryAllocation, "out of host memory");
    if (lane != owner)
        release->over_unfenced = count_unfenced(lane, release, release->held_back);
    if (surplus)
        sp_pool_release_slab(release->pool, owner, slab);
    return poolSuccess;
}

// ------------------------------------------------------------------------------------ large blocks

// The first one to free a live block wins; a second one finds that it isn't live, or has become
// another one meanwhile.
static bool claim(struct sp_block *block, struct sp_lane *account, uint64_t address) {
    sp_biased_acquire(&account->lock);
    bool claimed = sp_block_is_live_of(block, account) && block->address == address;
    if (claimed)
        sp_block_set_state(block, SP_BLOCK_BUSY);
    sp_biased_release(&account->lock);
    return claimed;
}

// What the block carries from here on: this free's fence, and those of its earlier owners that
// neither have completed nor are covered by it. There is room: every live block has it.
static void stamp(const struct sp_pool *pool, struct sp_block *block,
                  const struct release *release) {
    if (release->stream && sp_fence_set_is_of(&block->fences, release->stream->slot)) {
        sp_fence_set_advance(&block->fences, release->stream->slot, release->sequence);
        return;
    }
    sp_fence_set_prune(&block->fences, sp_pool_measure(pool));
    if (!release->stream)
        return;
    sp_fence_set_reserve(&block->fences, 1);
    sp_fence_set_add(&block->fences, (struct sp_fence){release->stream->slot, release->sequence});
}

static bool is_of_stream_alone(const struct sp_block *block, const struct sp_stream *stream) {
    return block->fences.count == 1 && sp_fence_set_at(&block->fences, 0)->slot == stream->slot;
}

// Into the lane's quick list, unless blocks of another size stand there: some of these are
// returned, and have to go to the tiers. There may be more of them, and then the block isn't filed
// yet.
static struct sp_block *put_quick_locked(struct sp_lane *lane, struct sp_block *block,
                                         bool *filed) {
    struct sp_block *out = sp_lane_detach_other_locked(lane, block->size);
    *filed = sp_quick_has_room(lane, block->size);
    if (*filed)
        sp_quick_put(lane, block);
    return out;
}

// Where several streams have a claim the block goes to the tiers itself.
static struct sp_block *file_locked(struct sp_lane *lane, struct sp_block *block, bool *filed) {
    if (is_of_stream_alone(block, lane->stream))
        return put_quick_locked(lane, block, filed);
    *filed = true;
    return block;
}

static void count_large_locked(struct sp_lane *lane, const struct sp_block *block,
                               struct release *release) {
    release->over_unfenced = sp_lane_count_unfenced(lane, release->sequence, block->size);
    release->shorten = release->over_unfenced && is_shortening_due(lane);
}

static void file(struct sp_lane *lane, struct sp_block *block, struct release *release) {
    bool filed = false;
    bool counted = false;
    block->quick_next = NULL;
    if (!lane) {
        sp_pool_insert_cached(release->pool, block, sp_pool_insert_and_swallow);
        return;
    }
    while (!filed) {
        sp_biased_acquire(&lane->lock);
        if (!counted)
            count_large_locked(lane, block, release);
        struct sp_block *out = file_locked(lane, block, &filed);
        sp_biased_release(&lane->lock);
        sp_pool_insert_cached(release->pool, out, sp_pool_insert_and_swallow);
        counted = true;
    }
}

static poolError_t free_large(void *pointer, struct sp_block *block, struct release *release) {
    uint64_t address = (uint64_t)(uintptr_t)pointer;
    struct sp_lane *lane = NULL;
    if (!block || block->address != address)
        return not_live(pointer);
    release->account = sp_block_lane(block);
    if (!release->account)
        return not_live(pointer);
    release->pool = sp_segment_of(block)->pool;
    if (release->stream) {
        lane = sp_pool_lane(release->pool, release->stream);
        if (!lane)
            return sp_fail(poolErrorMemoryAllocation, "out of host memory");
    }
    if (!claim(block, release->account, address))
        return not_live(pointer);
    release->requested = block->requested;
    stamp(release->pool, block, release);
    file(lane, block, release);
    return poolSuccess;
}

// -------------------------------------------------------------------------------------------- both

struct sp_pool *sp_pool_of_address(uint64_t address) {
    return sp_owner_pool(sp_owner_of(address), address);
}

static void record(struct sp_pool *pool, struct sp_stream *stream) {
    if (sp_mark_record(stream) == CUDA_SUCCESS)
        sp_pool_count(pool, SP_STATISTIC_EventsRecorded);
}

// Memory of a stream of another context is out of that stream's reach until somebody asks here, and
// a program may only ever free here.
static void ask_for_other_context(const struct release *release) {
    const struct sp_stream *owner = release->account->stream;
    if (!sp_stream_is_of(release->stream, owner->context, owner->context_id) &&
        sp_pool_may_ask(release->pool))
        sp_poll_stream(release->stream);
}

// What there is to do besides: the record that makes the free known, and the account. The free
// itself has been done, so a driver that fails here only delays reuse.
static void finish(const struct release *release) {
    struct sp_stream *stream = release->stream;
    if (stream && !stream->identified)
        sp_pool_count(release->pool, SP_STATISTIC_EventsRecorded); // its free point was one
    if (stream && stream->identified &&
        (release->over_unfenced ||
         atomic_load_explicit(&release->pool->destroyed, memory_order_acquire)))
        record(release->pool, stream);
    if (stream && stream->identified)
        ask_for_other_context(release);
    if (release->shorten)
        sp_lane_shorten_quick(sp_pool_find_lane(release->pool, stream->slot), release->pool,
                              stream);
    sp_figures_return(release->account, release->requested);
}

// Of a pool that was given up. The struct may be another one's by now, which does no harm: whoever
// reaps looks again.
SP_COLD static void reap_if_last(struct sp_pool *pool) {
    if (sp_figures_any_used(pool))
        sp_device_wake_pool(pool->device, pool);
    else
        sp_device_reap_pool(pool->device, pool);
}

SP_COLD poolError_t sp_pool_free_slowly(void *pointer, uintptr_t owner, struct sp_stream *stream) {
    struct release release = {.stream = stream};
    if (!owner)
        return sp_page_map_find((uint64_t)(uintptr_t)pointer) ? not_live(pointer)
                                                              : free_foreign(pointer, stream);
    if (stream) {
        CUresult fenced = sp_identity_at_free(stream, &release.sequence);
        if (fenced != CUDA_SUCCESS)
            return sp_fail_driver(fenced, "recording the point of the free");
    }
    struct sp_slab *slab = sp_owner_slab(owner);
    poolError_t error = slab ? free_small(pointer, slab, &release)
                             : free_large(pointer, sp_owner_block(owner), &release);
    if (error != poolSuccess)
        return error;
    finish(&release);
    if (SP_UNLIKELY(atomic_load_explicit(&release.pool->destroyed, memory_order_acquire)))
        reap_if_last(release.pool);
    return poolSuccess;
}
