// Freeing: what follows from a put (region/at_hand.h), and the frees of who isn't the lane's own
// stream.
//
// A block goes back in one of three ways. The lane's own stream puts it back. Another stream, or
// poolFree(), which has none, returns a small block to its slab, or claims a large one and files
// it. What is left to do then is the same: give up a slab, file a block, record an event. The
// account is settled last wherever the pool is needed: a pool that was given up may be taken apart
// once nothing is used.
#include "calls/free.h"

#include "base/atomic.h"
#include "base/cold.h"
#include "base/page_map.h"
#include "calls/locate.h"
#include "order/foreign.h"
#include "order/identity.h"
#include "order/mark.h"
#include "order/poll.h"
#include "process/given_up.h"
#include "process/pin.h"
#include "region/collect.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/lane.h"
#include "region/settle.h"
#include "region/unfenced.h"

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
    struct sp_outcome outcome = sp_foreign_free((CUdeviceptr)(uintptr_t)pointer, stream);
    if (sp_is_done(outcome))
        return poolSuccess;
    char what[64];
    snprintf(what, sizeof what, "%p is no memory of any pool", pointer);
    return sp_fail_outcome(outcome, what);
}

SP_COLD static poolError_t not_live(const void *pointer) {
    struct sp_location location = sp_locate((uint64_t)(uintptr_t)pointer);
    if (location.place == SP_PLACE_INSIDE)
        return sp_fail(poolErrorInvalidValue,
                       "%p lies %" PRIu64 " bytes into a live allocation of %" PRIu64 " bytes",
                       pointer, location.offset, location.size);
    return sp_fail(poolErrorInvalidValue, "%p was freed already, or is no allocation", pointer);
}

// ---------------------------------------------------------------------------------------- a record

// A record that was counted and couldn't be made. The lane may be another pool's by now.
SP_COLD static void uncount_record(struct sp_lane *lane, const struct sp_stream *stream) {
    sp_biased_lock_acquire(&lane->lock);
    if (lane->stream == stream && sp_load_relaxed(&lane->records) > 0)
        sp_unfenced_count_records_locked(lane, (uint64_t)-1);
    sp_biased_lock_release(&lane->lock);
}

// The free itself has been done, so a driver that fails here only delays reuse.
static void record_counted(struct sp_lane *lane, struct sp_stream *stream) {
    if (!sp_is_done(sp_mark_record_freed(stream)))
        uncount_record(lane, stream);
}

static void record(struct sp_pool *pool, struct sp_stream *stream) {
    if (sp_is_done(sp_mark_record(stream)))
        sp_pool_count(pool, SP_STATISTIC_EventsRecorded);
}

// ---------------------------------------------------------------------------- a free that is filed

// A free under way that needs its pool to the end. Without a stream there is no lane and no fence:
// the caller vouches for his own work.
struct release {
    struct sp_stream *stream;
    uint64_t sequence; // of the fence
    struct sp_pool *pool;
    struct sp_lane *account; // the lane that the block was allocated on
    struct sp_lane *lane;    // the stream's own
    struct sp_slab *slab;    // of a small block
    struct sp_block *block;  // a large one
    uint64_t requested;
    unsigned left; // to do: a combination of enum sp_left
};

// The block carries this free's fence from here on, and those of its earlier owners that neither
// have completed nor are covered by it. There is room: every live block has it.
static void stamp(struct sp_block *block, const struct release *release) {
    if (release->stream && sp_fence_set_is_of(&block->fences, release->stream->slot)) {
        sp_fence_set_advance(&block->fences, release->stream->slot, release->sequence);
        return;
    }
    sp_fence_set_prune(&block->fences, sp_pool_measure(release->pool));
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
    struct sp_block *out = sp_collect_detach_other_locked(lane, block->size);
    *filed = sp_quick_put(lane, block);
    return out;
}

static void file_in_lane(struct sp_lane *lane, struct sp_block *block) {
    for (bool filed = false; !filed;) {
        sp_biased_lock_acquire(&lane->lock);
        struct sp_block *out = put_quick_locked(lane, block, &filed);
        sp_biased_lock_release(&lane->lock);
        sp_collect_file(lane->pool, out, sp_settle_insert_and_swallow);
    }
}

// Where several streams have a claim the block goes to the tiers itself.
static void file(const struct release *release) {
    struct sp_block *block = release->block;
    stamp(block, release);
    block->quick_next = NULL;
    if (release->lane && is_of_stream_alone(block, release->stream))
        file_in_lane(release->lane, block);
    else
        sp_collect_file(release->pool, block, sp_settle_insert_and_swallow);
}

// Memory of a stream of another context is out of that stream's reach until somebody asks here, and
// a program may only ever free here.
static void ask_for_other_context(const struct release *release) {
    const struct sp_stream *owner = release->account->stream;
    if (!sp_stream_is_of(release->stream, owner->context, owner->context_id) &&
        sp_pool_may_ask(release->pool))
        sp_poll_stream(release->stream);
}

static void make_known(const struct release *release) {
    struct sp_stream *stream = release->stream;
    if (sp_identity_records_each_free(stream))
        return;
    if (release->left & SP_LEFT_RECORD)
        record_counted(release->lane, stream);
    else if (sp_load_acquire(&release->pool->destroyed))
        record(release->pool, stream);
    ask_for_other_context(release);
}

// Takes a given-up pool apart with its last free. The struct may be another pool's by now, which
// does no harm: whoever reaps looks again.
SP_COLD static void reap_if_last(struct sp_pool *pool) {
    if (sp_figures_any_used(pool))
        sp_given_up_wake(pool->device, pool);
    else
        sp_given_up_reap_pool(pool->device, pool);
}

static void finish(const struct release *release) {
    struct sp_pool *pool = release->pool;
    if (release->left & SP_LEFT_SLAB)
        sp_collect_slab(pool, release->account, release->slab);
    if (release->left & SP_LEFT_FILE)
        file(release);
    if (release->stream)
        make_known(release);
    if (release->left & SP_LEFT_SHORTEN)
        sp_collect_shorten(release->lane, pool, release->stream);
    sp_at_hand_return(release->account, release->requested);
    if (SP_UNLIKELY(sp_load_acquire(&pool->destroyed)))
        reap_if_last(pool);
}

// ---------------------------------------------------------------------------------- after the put

// The pool that the lane is of now, whichever that is.
SP_COLD static void shorten_quick(struct sp_lane *lane, const struct sp_stream *stream) {
    struct sp_pool *pool = NULL;
    poolMemPool_t handle = NULL;
    sp_biased_lock_acquire(&lane->lock);
    if (lane->stream == stream) {
        pool = lane->pool;
        handle = sp_load_relaxed(&pool->handle);
    }
    sp_biased_lock_release(&lane->lock);
    if (!pool || !sp_pin_take(pool, handle))
        return;
    sp_collect_shorten(lane, pool, stream);
    sp_pin_drop(pool);
}

static void finish_with_pool(struct sp_lane *lane, uintptr_t owner, struct sp_stream *stream,
                             uint64_t sequence, struct sp_put put) {
    struct release release = {.stream = stream,
                              .sequence = sequence,
                              .pool = lane->pool,
                              .account = lane,
                              .lane = lane,
                              .slab = sp_owner_slab(owner),
                              .block = sp_owner_block(owner),
                              .requested = put.requested,
                              .left = put.left};
    sp_atomic_raise(&stream->freed, sequence);
    finish(&release);
}

// The record looks at the stream alone: the pool may be gone by then.
SP_APART poolError_t sp_free_finish(struct sp_lane *lane, uintptr_t owner, struct sp_stream *stream,
                                    uint64_t sequence, struct sp_put put) {
    if (SP_UNLIKELY(put.left & SP_LEFT_WITH_POOL)) {
        finish_with_pool(lane, owner, stream, sequence, put);
        return poolSuccess;
    }
    if (put.left & SP_LEFT_RECORD)
        record_counted(lane, stream);
    if (SP_UNLIKELY(put.left & SP_LEFT_SHORTEN))
        shorten_quick(lane, stream);
    return poolSuccess;
}

// ----------------------------------------------------------------- by the lane's stream, once more

// Frees a block of an anonymous stream, whose free point was an event; or one that was live a
// moment ago.
static poolError_t put_own(void *pointer, uintptr_t owner, struct sp_lane *lane,
                           struct sp_stream *stream, uint64_t sequence) {
    struct sp_put put = {.left = SP_LEFT_ALL};
    sp_biased_lock_acquire(&lane->lock);
    if (lane->stream == stream)
        put = sp_at_hand_put_locked(lane, owner, (uint64_t)(uintptr_t)pointer, sequence);
    if (put.left != SP_LEFT_ALL && sp_identity_records_each_free(stream))
        sp_unfenced_count_records_locked(lane, 1);
    sp_biased_lock_release(&lane->lock);
    return put.left == SP_LEFT_ALL ? not_live(pointer)
                                   : sp_free_finish(lane, owner, stream, sequence, put);
}

// ------------------------------------------------------------------------ by another, or by nobody

static poolError_t out_of_host_memory(void) {
    return sp_fail(poolErrorMemoryAllocation, "out of host memory");
}

// The stream's lane in the block's pool, which is there as long as the block is live. False without
// host memory.
static bool find_lane(struct release *release) {
    release->pool = release->account->pool;
    if (release->stream)
        release->lane = sp_lane_of(release->pool, release->stream);
    return release->lane || !release->stream;
}

// Counts the bytes that nobody else can have before an event stands behind the free, in the
// stream's lane.
static void count(struct release *release, uint64_t bytes) {
    struct sp_lane *lane = release->lane;
    if (!lane)
        return;
    sp_biased_lock_acquire(&lane->lock);
    release->left |= sp_at_hand_count_freed_locked(lane, release->sequence, bytes);
    if (sp_identity_records_each_free(release->stream))
        sp_unfenced_count_records_locked(lane, 1);
    sp_biased_lock_release(&lane->lock);
}

// The block waits in its slab with the other streams' fences. False when there is no host memory
// for this one.
SP_COLD static bool return_locked(struct release *release, uint16_t index) {
    struct sp_lane *owner = release->account;
    struct sp_slab *slab = release->slab;
    sp_fence_set_prune(&slab->foreign, sp_pool_measure(owner->pool));
    if (!sp_fence_set_add(&slab->foreign,
                          (struct sp_fence){release->stream->slot, release->sequence}))
        return false;
    if (sp_list_empty(&slab->returned_link))
        sp_list_push_back(&owner->returned_slabs[slab->class_index], &slab->returned_link);
    release->requested = sp_slab_return(slab, index);
    return true;
}

// With the lock of the slab's owner held. poolErrorInvalidValue when no live block begins there.
static poolError_t free_small_locked(uint64_t address, struct release *release, uint64_t *counts) {
    struct sp_slab *slab = release->slab;
    uint16_t index =
        slab->owner == release->account ? sp_slab_find(slab, address) : (uint16_t)SP_SLAB_END;
    if (index == SP_SLAB_END)
        return poolErrorInvalidValue;
    if (!release->stream)
        release->requested = sp_at_hand_put_into_slab_locked(release->account, slab, index);
    else if (!return_locked(release, index))
        return poolErrorMemoryAllocation;
    release->left = sp_at_hand_slab_left_locked(release->account, slab);
    *counts = slab->live == 0 ? sp_slab_bytes(slab) : sp_slab_class(slab)->block_size;
    return poolSuccess;
}

static poolError_t free_small(void *pointer, struct release *release) {
    uint64_t counts = 0;
    release->account = release->slab->owner;
    if (!release->account || !release->account->pool) // used again meanwhile, or given back
        return not_live(pointer);
    if (!find_lane(release))
        return out_of_host_memory();
    sp_biased_lock_acquire(&release->account->lock);
    poolError_t error = free_small_locked((uint64_t)(uintptr_t)pointer, release, &counts);
    sp_biased_lock_release(&release->account->lock);
    if (error != poolSuccess)
        return error == poolErrorInvalidValue ? not_live(pointer) : out_of_host_memory();
    count(release, counts);
    finish(release);
    return poolSuccess;
}

// The first one to free a live block wins; a second one finds that it isn't live, or has become
// another one meanwhile.
static bool claim(struct release *release, uint64_t address) {
    struct sp_lane *account = release->account;
    sp_biased_lock_acquire(&account->lock);
    bool claimed =
        sp_owner_is_live_of(release->block, account) && release->block->address == address;
    if (claimed)
        sp_block_set_state(release->block, SP_BLOCK_BUSY);
    sp_biased_lock_release(&account->lock);
    return claimed;
}

static poolError_t free_large(void *pointer, struct release *release) {
    struct sp_block *block = release->block;
    uint64_t address = (uint64_t)(uintptr_t)pointer;
    release->account = block->address == address ? sp_owner_block_lane(block) : NULL;
    if (!release->account)
        return not_live(pointer);
    if (!find_lane(release))
        return out_of_host_memory();
    if (!claim(release, address))
        return not_live(pointer);
    release->requested = block->requested;
    release->left = SP_LEFT_FILE;
    count(release, block->size);
    finish(release);
    return poolSuccess;
}

// -------------------------------------------------------------------------------------------- both

SP_COLD poolError_t sp_free_other(void *pointer, uintptr_t owner, struct sp_stream *stream) {
    struct release release = {
        .stream = stream, .slab = sp_owner_slab(owner), .block = sp_owner_block(owner)};
    if (!owner)
        return sp_page_map_find((uint64_t)(uintptr_t)pointer) ? not_live(pointer)
                                                              : free_foreign(pointer, stream);
    if (stream) {
        struct sp_outcome fenced = sp_identity_at_free(stream, &release.sequence);
        if (!sp_is_done(fenced))
            return sp_fail_outcome(fenced, "recording the point of the free");
    }
    struct sp_lane *lane = sp_owner_lane(owner);
    if (lane && stream && lane->stream == stream)
        return put_own(pointer, owner, lane, stream, release.sequence);
    return release.slab ? free_small(pointer, &release) : free_large(pointer, &release);
}
