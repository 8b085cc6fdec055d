// Freeing: to the lane of the stream, with a fence where another stream may want the memory.
#include "order/chain.h"
#include "order/mark.h"
#include "pool/figures.h"
#include "pool/owner.h"
#include "pool/quick.h"
#include "pool/runtime.h"
#include "pool/settle.h"

#include "base/mutant.h"

static poolError_t not_live(const void *pointer) {
    return sp_fail(poolErrorInvalidValue, "%p is not the start of a live allocation", pointer);
}

// What a free knows of its stream. Without a stream there is no lane and no fence: the caller vouches for his
// own work.
struct point {
    struct sp_stream *stream;
    uint64_t sequence;
};

// ----------------------------------------------------------------------------------------- small blocks

// The block goes back to its slab, which lists itself again if it had none free.
static uint32_t put_own_locked(struct sp_lane *owner, struct sp_slab *slab, uint16_t index,
                               const struct point *point) {
    bool listed = sp_slab_has_free(slab);
    uint32_t requested = sp_slab_put(slab, index);
    if (point->stream && SP_MUTATED(LastSequenceLowered, true, slab->last_sequence < point->sequence))
        slab->last_sequence = point->sequence; // a late caller may bring an older number
    if (!listed)
        sp_list_push_front(&owner->slabs[slab->class_index], &slab->link);
    return requested;
}

static uint32_t return_locked(struct sp_lane *owner, struct sp_slab *slab, uint16_t index) {
    if (sp_list_empty(&slab->returned_link))
        sp_list_push_back(&owner->returned_slabs[slab->class_index], &slab->returned_link);
    return sp_slab_return(slab, index);
}

// An empty slab is given up when its class has another one to allocate from.
static bool unlink_if_surplus_locked(struct sp_lane *owner, struct sp_slab *slab) {
    struct sp_list *class_list = &owner->slabs[slab->class_index];
    if (slab->live != 0 || sp_list_empty(&slab->link) || class_list->next == class_list->prev)
        return false;
    sp_list_remove(&slab->link);
    sp_list_remove(&slab->returned_link);
    sp_list_remove(&slab->owned_link);
    return true;
}

struct small_free {
    uint32_t requested;
    bool over_unfenced;
    bool surplus; // the slab was unlinked
};

// With the lock of the slab's owner held. CUDA_ERROR_INVALID_VALUE when no live block begins there.
static CUresult free_small_locked(struct sp_lane *owner, struct sp_slab *slab, uint64_t address,
                                  const struct point *point, struct small_free *done) {
    uint16_t index = slab->owner == owner ? sp_slab_find(slab, address) : SP_SLAB_END;
    if (index == SP_SLAB_END)
        return CUDA_ERROR_INVALID_VALUE;
    bool foreign = point->stream && point->stream != owner->stream;
    struct sp_fence fence = {foreign ? point->stream->slot : 0, point->sequence};
    if (foreign)
        sp_fence_set_prune(&slab->foreign, owner->pool->is_complete);
    if (foreign && !sp_fence_set_add(&slab->foreign, fence))
        return CUDA_ERROR_OUT_OF_MEMORY;
    done->requested = foreign ? return_locked(owner, slab, index) : put_own_locked(owner, slab, index, point);
    if (point->stream == owner->stream)
        done->over_unfenced = sp_lane_count_unfenced(owner, point->sequence, sp_slab_class(slab)->block_size);
    done->surplus = unlink_if_surplus_locked(owner, slab);
    return CUDA_SUCCESS;
}

static bool count_unfenced(struct sp_lane *lane, const struct point *point, uint64_t bytes) {
    sp_lock_acquire(&lane->lock);
    bool over = sp_lane_count_unfenced(lane, point->sequence, bytes);
    sp_lock_release(&lane->lock);
    return over;
}

static poolError_t free_small(void *pointer, struct sp_slab *slab, const struct point *point,
                              struct sp_pool **pool, uint64_t *requested, bool *over_unfenced) {
    struct sp_lane *owner = slab->owner;
    uint32_t block_size = sp_slab_class(slab)->block_size;
    struct small_free done = {0, false, false};
    struct sp_lane *lane = owner;
    *pool = owner->pool;
    if (!*pool)
        return not_live(pointer);
    if (point->stream && point->stream != owner->stream)
        lane = sp_pool_lane(*pool, point->stream);
    if (!lane)
        return sp_fail(poolErrorMemoryAllocation, "out of host memory");
    sp_lock_acquire(&owner->lock);
    CUresult error = free_small_locked(owner, slab, (uint64_t)(uintptr_t)pointer, point, &done);
    sp_lock_release(&owner->lock);
    if (error == CUDA_ERROR_INVALID_VALUE)
        return not_live(pointer);
    if (error != CUDA_SUCCESS)
        return sp_fail(poolErrorMemoryAllocation, "out of host memory");
    *requested = done.requested;
    *over_unfenced = lane != owner ? count_unfenced(lane, point, block_size) : done.over_unfenced;
    if (done.surplus)
        sp_pool_release_slab(*pool, owner, slab);
    return poolSuccess;
}

// ----------------------------------------------------------------------------------------- large blocks

// The first one to free a live block wins; a second one finds that it isn't live.
static bool claim(struct sp_block *block) {
    uint32_t live = SP_BLOCK_LIVE;
    return atomic_compare_exchange_strong_explicit(&block->state, &live, SP_BLOCK_BUSY, memory_order_acq_rel,
                                                   memory_order_relaxed);
}

// What the block carries from here on: this free's fence, and those of its earlier owners that neither have
// completed nor are covered by it. There is room: every live block has it.
static void stamp(const struct sp_pool *pool, struct sp_block *block, const struct point *point) {
    sp_fence_set_prune(&block->fences, pool->is_complete);
    if (SP_IS_MUTANT(AcquisitionLost))
        sp_fence_set_clear(&block->fences);
    if (!point->stream)
        return;
    sp_fence_set_reserve(&block->fences, 1);
    sp_fence_set_add(&block->fences, (struct sp_fence){point->stream->slot, point->sequence});
}

static bool is_of_stream_alone(const struct sp_block *block, const struct sp_stream *stream) {
    return stream && block->fences.count == 1 && sp_fence_set_at(&block->fences, 0)->slot == stream->slot;
}

// Into the lane's quick list if only its stream has a claim; else to the tier that the fences say.
static void file(struct sp_pool *pool, struct sp_lane *lane, struct sp_block *block) {
    struct sp_block *out = block;
    block->quick_next = NULL;
    if (lane && is_of_stream_alone(block, lane->stream)) {
        sp_lock_acquire(&lane->lock);
        out = sp_quick_put(lane, block);
        sp_lock_release(&lane->lock);
    }
    sp_pool_insert_cached(pool, out, sp_pool_insert_and_swallow);
}

static poolError_t free_large(void *pointer, struct sp_block *block, const struct point *point,
                              struct sp_pool **pool, uint64_t *requested, bool *over_unfenced) {
    struct sp_lane *lane = NULL;
    if (!block || block->address != (uint64_t)(uintptr_t)pointer || block->slab ||
        sp_block_state(block) != SP_BLOCK_LIVE)
        return not_live(pointer);
    *pool = sp_segment_of(block)->pool;
    if (point->stream) {
        lane = sp_pool_lane(*pool, point->stream);
        if (!lane)
            return sp_fail(poolErrorMemoryAllocation, "out of host memory");
    }
    if (!claim(block))
        return not_live(pointer);
    if (block->address !=
        (uint64_t)(uintptr_t)pointer) { // the block was freed and became another one meanwhile
        sp_block_set_state(block, SP_BLOCK_LIVE);
        return not_live(pointer);
    }
    *requested = block->requested;
    *over_unfenced = lane && count_unfenced(lane, point, block->size);
    stamp(*pool, block, point);
    file(*pool, lane, block);
    return poolSuccess;
}

// ------------------------------------------------------------------------------------------------- both

struct sp_pool *sp_pool_of_address(uint64_t address) {
    uintptr_t owner = sp_owner_of(address);
    struct sp_slab *slab = sp_owner_slab(owner);
    struct sp_block *block = sp_owner_block(owner);
    if (slab)
        return ((struct sp_lane *)slab->owner)->pool;
    return block && block->address == address && sp_block_state(block) == SP_BLOCK_LIVE
               ? sp_segment_of(block)->pool
               : NULL;
}

static void record(struct sp_pool *pool, struct sp_stream *stream) {
    if (sp_stream_record(stream) == CUDA_SUCCESS)
        sp_pool_count(pool, SP_STATISTIC_EventsRecorded);
}

// What follows a free: the record that makes it known, and the end of a pool that was given up. The free
// itself has been done, so a driver that fails here only delays reuse.
static void finish(struct sp_pool *pool, const struct point *point, uint64_t requested, bool over_unfenced) {
    bool given_up = atomic_load_explicit(&pool->destroyed, memory_order_acquire);
    if (point->stream && !point->stream->identified)
        sp_pool_count(pool, SP_STATISTIC_EventsRecorded); // its free point was one
    if (point->stream && point->stream->identified && (over_unfenced || given_up))
        record(pool, point->stream);
    struct sp_device *device = pool->device;
    uint64_t left = sp_figures_used_subtract(pool, requested);
    if (left == 0 && atomic_load_explicit(&pool->destroyed, memory_order_acquire))
        sp_device_reap_pool(device, pool);
}

poolError_t sp_pool_free(void *pointer, struct sp_stream *stream) {
    struct point point = {stream, 0};
    uintptr_t owner = sp_owner_of((uint64_t)(uintptr_t)pointer);
    struct sp_pool *pool = NULL;
    uint64_t requested = 0;
    bool over_unfenced = false;
    if (!owner)
        return not_live(pointer);
    if (stream) {
        CUresult fenced = sp_stream_free_point(stream, &point.sequence);
        if (fenced != CUDA_SUCCESS)
            return sp_fail_driver(fenced, "recording the point of the free");
    }
    struct sp_slab *slab = sp_owner_slab(owner);
    poolError_t error =
        slab ? free_small(pointer, slab, &point, &pool, &requested, &over_unfenced)
             : free_large(pointer, sp_owner_block(owner), &point, &pool, &requested, &over_unfenced);
    if (error == poolSuccess)
        finish(pool, &point, requested, over_unfenced);
    return error;
}
