// Freeing: what follows from a put (region/at_hand.h), and the frees of who isn't the lane's own
// stream.
//
// A block goes back in one of three ways. The lane's own stream puts it back. Another stream,
// several of them, or poolFree(), which has none, return a small block to its slab, or claim a
// large one. What is left to do then is the same (calls/release.h): take a slab apart,
// put a block into a tier, record an event. The account is settled last wherever the pool is
// needed: a pool that was given up may be taken apart once nothing is used.
#include "calls/free.h"

#include "base/atomic.h"
#include "base/cold.h"
#include "base/page_map.h"
#include "order/stream.h"
#include "process/given_up.h"
#include "region/collect.h"
#include "region/stitch.h"
#include "tell/pointer.h"

#include <stdio.h>

// Memory of the driver's own allocators goes back to the driver; what is at no pool's address and
// none of that either, is the driver's to refuse.
SP_COLD static poolError_t free_foreign(const void *pointer, const struct sp_stream *stream) {
    if (stream && !sp_stream_frees_foreign())
        return sp_fail(
            poolErrorInvalidValue,
            "%p is no memory of any pool, and before CUDA 11.2 a driver frees none of its own in a "
            "stream's order",
            pointer);
    struct sp_outcome outcome = sp_stream_free_foreign((CUdeviceptr)(uintptr_t)pointer, stream);
    if (sp_is_done(outcome))
        return poolSuccess;
    char what[64];
    snprintf(what, sizeof what, "%p is no memory of any pool", pointer);
    return sp_fail_outcome(outcome, what);
}

// A live block may begin there by now: another thread has allocated it since, or had claimed it.
SP_COLD static poolError_t not_live(const void *pointer) {
    struct poolPointerAttributes at;
    sp_pointer_look(&at, (uint64_t)(uintptr_t)pointer);
    size_t offset = (size_t)((uintptr_t)pointer - (uintptr_t)at.base);
    if (at.state == poolPointerLive && offset > 0 && offset < at.requestedSize)
        return sp_fail(poolErrorInvalidValue,
                       "%p lies %zu bytes into a live allocation of %zu bytes", pointer, offset,
                       at.requestedSize);
    return sp_fail(poolErrorInvalidValue, "%p was freed already, or is no allocation", pointer);
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
    struct sp_release_point point = {
        .stream = stream, .sequence = sequence, .lane = lane, .left = put.left};
    struct sp_release release = {.points = &point,
                                 .count = 1,
                                 .pool = lane->pool,
                                 .account = lane,
                                 .slab = sp_owner_slab(owner),
                                 .block = sp_owner_block(owner),
                                 .requested = put.requested,
                                 .left = put.left};
    sp_atomic_raise(&stream->freed, sequence);
    sp_release_finish(&release);
}

// The record looks at the stream alone: the pool may be gone by then.
SP_APART poolError_t sp_free_finish(struct sp_lane *lane, uintptr_t owner, struct sp_stream *stream,
                                    uint64_t sequence, struct sp_put put) {
    if (SP_UNLIKELY(put.left & SP_LEFT_WITH_POOL)) {
        finish_with_pool(lane, owner, stream, sequence, put);
        return poolSuccess;
    }
    if (put.left & SP_LEFT_RECORD)
        sp_release_record(lane, stream);
    if (SP_UNLIKELY(put.left & SP_LEFT_SHORTEN))
        shorten_quick(lane, stream);
    return poolSuccess;
}

// ----------------------------------------------------------------- by the lane's stream, once more

// Frees a block of an anonymous stream, whose free point was an event; or tries once more, to tell
// the error.
static poolError_t put_own(void *pointer, uintptr_t owner, struct sp_lane *lane,
                           struct sp_stream *stream, uint64_t sequence) {
    struct sp_put put = {.left = SP_LEFT_ALL};
    sp_biased_lock_acquire(&lane->lock);
    if (lane->stream == stream)
        put = sp_at_hand_put_locked(lane, owner, (uint64_t)(uintptr_t)pointer, sequence);
    if (put.left != SP_LEFT_ALL && sp_identity_records_each_free(stream))
        sp_held_count_records_locked(lane, 1);
    sp_biased_lock_release(&lane->lock);
    return put.left == SP_LEFT_ALL ? not_live(pointer)
                                   : sp_free_finish(lane, owner, stream, sequence, put);
}

// ----------------------------------------------------------------------- by others, or by nobody

static poolError_t out_of_host_memory(void) {
    return sp_fail(poolErrorMemoryAllocation, "out of host memory");
}

// The block, which nobody else may free any more, waits in its slab with the other streams' fences;
// the slab's own stream has its last number for that. There is room for another's, and those of
// several come together. Here as well the first free under a number counts the slab whole. False
// when there is no host memory for the fences.
SP_COLD static bool return_locked(struct sp_release *release, uint16_t index) {
    struct sp_lane *owner = release->account;
    struct sp_slab *slab = release->slab;
    sp_fence_set_prune(&slab->foreign, sp_pool_measure(owner->pool));
    if (!sp_fence_set_reserve(&slab->foreign, release->count))
        return false;
    for (uint32_t i = 0; i < release->count; i++) {
        struct sp_release_point *point = &release->points[i];
        struct sp_fence fence = {point->stream->slot, point->sequence};
        if (point->stream == owner->stream) {
            point->counts = sp_at_hand_stamp_locked(slab, fence.sequence);
            continue;
        }
        point->counts = sp_fence_set_covers(&slab->foreign, fence) ? 0 : sp_slab_bytes(slab);
        if (release->count == 1)
            sp_fence_set_add(&slab->foreign, fence);
    }
    sp_fence_set_join(&slab->foreign, &release->fences);
    if (sp_list_empty(&slab->returned_link))
        sp_list_push_back(&owner->returned_slabs[slab->class_index], &slab->returned_link);
    sp_slab_return(slab, index);
    return true;
}

// With the lock of the slab's owner held. poolErrorInvalidValue when no live block begins there.
static poolError_t free_small_locked(uint64_t address, struct sp_release *release) {
    struct sp_slab *slab = release->slab;
    uint16_t index =
        slab->owner == release->account ? sp_slab_find(slab, address) : (uint16_t)SP_SLAB_END;
    if (index == SP_SLAB_END)
        return poolErrorInvalidValue;
    release->address = slab->address;
    release->requested = sp_slab_requested(slab, index);
    if (release->count > 0 && !return_locked(release, index))
        return poolErrorMemoryAllocation;
    if (release->count == 0) {
        if (!sp_slab_has_free(slab))
            sp_list_push_front(&release->account->slabs[slab->class_index], &slab->link);
        sp_slab_put(slab, index);
    }
    release->left = sp_at_hand_slab_left_locked(release->account, slab);
    sp_lane_list_locked(release->account);
    return poolSuccess;
}

static poolError_t free_small(void *pointer, struct sp_release *release) {
    release->account = release->slab->owner;
    if (!release->account || !release->account->pool) // used again meanwhile, or given back
        return not_live(pointer);
    if (!sp_release_find_lanes(release))
        return out_of_host_memory();
    sp_biased_lock_acquire(&release->account->lock);
    poolError_t error = free_small_locked((uint64_t)(uintptr_t)pointer, release);
    sp_biased_lock_release(&release->account->lock);
    if (error != poolSuccess)
        return error == poolErrorInvalidValue ? not_live(pointer) : out_of_host_memory();
    sp_release_count(release);
    sp_release_finish(release);
    return poolSuccess;
}

// A live block has room for one more fence, so this fails for a free behind several streams alone:
// the block is live again then. It makes room in the block, and where that borrows memory in that,
// too: giving back mustn't fail.
static bool reserve_fences(struct sp_release *release) {
    struct sp_lane *account = release->account;
    struct sp_block *block = release->block;
    if (release->count <= 1)
        return true;
    sp_fence_set_prune(&block->fences, sp_pool_measure(release->pool));
    bool room = sp_fence_set_reserve(&block->fences, release->count);
    if (room && sp_stitch_has_block(block)) {
        sp_lock_acquire(&release->pool->lock);
        room = sp_stitch_reserve(block, release->count);
        sp_lock_release(&release->pool->lock);
    }
    if (room)
        return true;
    sp_biased_lock_acquire(&account->lock);
    sp_block_set_state(block, SP_BLOCK_LIVE);
    sp_biased_lock_release(&account->lock);
    return false;
}

// The first one to free a live block wins; a second one finds that it isn't live, or has become
// another one meanwhile.
static poolError_t free_large(void *pointer, struct sp_release *release) {
    struct sp_block *block = release->block;
    uint64_t address = (uint64_t)(uintptr_t)pointer;
    release->account = block->address == address ? sp_owner_block_lane(block) : NULL;
    if (!release->account)
        return not_live(pointer);
    if (!sp_release_find_lanes(release))
        return out_of_host_memory();
    sp_biased_lock_acquire(&release->account->lock);
    bool claimed = sp_owner_is_live_of(block, release->account) && block->address == address;
    if (claimed)
        sp_block_set_state(block, SP_BLOCK_BUSY);
    sp_biased_lock_release(&release->account->lock);
    if (!claimed)
        return not_live(pointer);
    if (!reserve_fences(release))
        return out_of_host_memory();
    release->address = address;
    release->requested = block->requested;
    release->left = SP_LEFT_BLOCK;
    for (uint32_t i = 0; i < release->count; i++)
        release->points[i].counts = block->size;
    sp_release_count(release);
    sp_release_finish(release);
    return poolSuccess;
}

// -------------------------------------------------------------------------------------------- both

static poolError_t free_others(void *pointer, uintptr_t owner, struct sp_release_point *points,
                               uint32_t count) {
    struct sp_release release = {.points = points,
                                 .count = count,
                                 .slab = sp_owner_slab(owner),
                                 .block = sp_owner_block(owner)};
    poolError_t error =
        release.slab ? free_small(pointer, &release) : free_large(pointer, &release);
    if (SP_UNLIKELY(release.fences.more))
        sp_fence_set_give_more(&release.fences);
    return error;
}

// Tells the numbers of a free on these streams.
static poolError_t number(struct sp_release_point *points, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        struct sp_outcome fenced = sp_identity_at_free(points[i].stream, &points[i].sequence);
        if (!sp_is_done(fenced))
            return sp_fail_outcome(fenced, "recording the point of the free");
    }
    return poolSuccess;
}

SP_COLD poolError_t sp_free_other(void *pointer, uintptr_t owner, struct sp_stream *stream) {
    struct sp_release_point point = {.stream = stream};
    if (!owner)
        return sp_page_map_has((uint64_t)(uintptr_t)pointer) ? not_live(pointer)
                                                             : free_foreign(pointer, stream);
    poolError_t error = stream ? number(&point, 1) : poolSuccess;
    if (error != poolSuccess)
        return error;
    struct sp_lane *lane = sp_owner_lane(owner);
    if (lane && stream && lane->stream == stream && !sp_load_relaxed(&lane->is_alien))
        return put_own(pointer, owner, lane, stream, point.sequence);
    return free_others(pointer, owner, &point, stream ? 1 : 0);
}

SP_COLD poolError_t sp_free_behind(void *pointer, uintptr_t owner, struct sp_release_point *points,
                                   uint32_t count) {
    if (!owner && !sp_page_map_has((uint64_t)(uintptr_t)pointer))
        return sp_fail(
            poolErrorInvalidValue,
            "%p is no memory of any pool, and the driver frees its own behind one stream "
            "alone",
            pointer);
    if (!owner)
        return not_live(pointer);
    poolError_t error = number(points, count);
    return error == poolSuccess ? free_others(pointer, owner, points, count) : error;
}
