// The common pair, whole: an allocation that the stream's lane has at hand, and the free of one
// back to where it came from. One critical section of the lane each, on lines that its thread alone
// writes; no driver call, no host memory, no division.
//
// What isn't common is left to malloc.c and free.c, before anything is changed: a free changes all
// or nothing here. It looks at everything under the lane's lock, which is what a block's double
// free is told by.
#ifndef STREAMPOOL_POOL_AT_HAND_H
#define STREAMPOOL_POOL_AT_HAND_H

#include "base/checked.h"
#include "order/action.h"
#include "order/chain.h"
#include "pool/figures.h"
#include "pool/owner.h"
#include "pool/quick.h"

// ------------------------------------------------------------------------------------------ malloc

// A slab of the class with a free block that the flags allow: one behind the first, or one with
// blocks that other streams returned. Null when there is none.
struct sp_slab *sp_lane_find_slab_locked(struct sp_lane *lane, unsigned class_index,
                                         unsigned int flags);

// A free that leaves a slab empty counts all of it: all is held back from others. Any other free
// counts the block. Nobody else could have that while the slab is in use; but the sooner an event
// follows, the sooner others have what lies beside.
static inline uint32_t sp_slab_counts(const struct sp_slab *slab, bool whole) {
    return whole ? sp_slab_bytes(slab) : sp_slab_class(slab)->block_size;
}

// A slab counts whole once under each number, however often its stream uses it again. Of two
// numbers that are equal in these bits one has long had an event behind it.
static inline bool sp_slab_is_counted(const struct sp_slab *slab, uint64_t sequence) {
    return slab->counted_under == (uint32_t)sequence;
}

static inline uint64_t sp_take_from_slab_locked(struct sp_slab *slab, size_t size) {
    uint64_t address = sp_slab_take(slab, size);
    if (SP_UNLIKELY(!sp_slab_has_free(slab)))
        sp_list_remove(&slab->link);
    return address;
}

// `freed`, where the caller wants it, is the last number under which the lane's stream freed what
// is taken.
static SP_HOT uint64_t sp_take_small_locked(struct sp_lane *lane, size_t size, unsigned int flags,
                                            uint64_t *freed) {
    unsigned class_index = sp_size_class_of(size);
    struct sp_list *slabs = &lane->slabs[class_index];
    struct sp_slab *slab = SP_CONTAINER_OF(slabs->next, struct sp_slab, link);
    if (SP_UNLIKELY(slabs->next == slabs || flags & poolMallocSameStreamOnly))
        slab = sp_lane_find_slab_locked(lane, class_index, flags);
    if (SP_UNLIKELY(!slab))
        return 0;
    if (freed)
        *freed = slab->last_sequence;
    return sp_take_from_slab_locked(slab, size);
}

static inline uint64_t sp_rounded_large(size_t size) {
    return size < SP_PAGE_SIZE ? SP_PAGE_SIZE : sp_round_up(size, SP_ALIGNMENT);
}

static inline uint64_t sp_hand_out(struct sp_lane *lane, struct sp_block *block, size_t size) {
    block->requested = size;
    atomic_store_explicit(&block->account, lane, memory_order_relaxed);
    sp_block_set_state(block, SP_BLOCK_LIVE);
    return block->address;
}

// From the lane's quick list; 0 when there is none of the size. It may be one that can't even be
// rounded.
static inline uint64_t sp_take_quick_locked(struct sp_lane *lane, size_t size, uint64_t *freed) {
    if (SP_UNLIKELY(size > SIZE_MAX / 2))
        return 0;
    struct sp_block *block = sp_quick_take(lane, sp_rounded_large(size));
    if (!block)
        return 0;
    if (freed)
        *freed = sp_fence_set_at(&block->fences, 0)->sequence;
    return sp_hand_out(lane, block, size);
}

static inline void sp_lane_count_hit_locked(struct sp_lane *lane) {
    atomic_store_explicit(&lane->hits, sp_figure(&lane->hits) + 1, memory_order_relaxed);
}

// What the lane has at hand, counted; 0 when it has nothing, or isn't there yet.
static SP_HOT uint64_t sp_take_at_hand(struct sp_pool *pool, const struct sp_stream *stream,
                                       size_t size, unsigned int flags, uint64_t *freed) {
    struct sp_lane *lane = sp_pool_find_lane(pool, stream->slot);
    uint64_t address = 0;
    bool covered = true;
    if (SP_UNLIKELY(!lane))
        return 0;
    sp_biased_acquire(&lane->lock);
    if (SP_LIKELY(sp_lane_is(lane, pool, stream)))
        address = size <= SP_SMALL_MAX ? sp_take_small_locked(lane, size, flags, freed)
                                       : sp_take_quick_locked(lane, size, freed);
    if (SP_LIKELY(address)) {
        sp_lane_count_hit_locked(lane);
        covered = sp_figures_use_locked(lane, size);
    }
    sp_biased_release(&lane->lock);
    if (SP_UNLIKELY(!covered))
        sp_figures_cover(pool, lane);
    return address;
}

// -------------------------------------------------------------------------------------------- free

// So many bytes more that no event stands behind; false, and nothing changed, where that is the
// first under a number, or too many.
static inline bool sp_lane_add_unfenced_locked(struct sp_lane *lane, uint64_t sequence,
                                               uint64_t bytes) {
    uint64_t unfenced = atomic_load_explicit(&lane->unfenced_bytes, memory_order_relaxed) + bytes;
    if (SP_UNLIKELY(atomic_load_explicit(&lane->unfenced_sequence, memory_order_relaxed) !=
                        sequence ||
                    unfenced > atomic_load_explicit(&lane->unfenced_most, memory_order_relaxed)))
        return false;
    atomic_store_explicit(&lane->unfenced_bytes, unfenced, memory_order_relaxed);
    return true;
}

// The same where `over` is null. Else the free may begin a number, and may be too many: it is told
// that, and recorded by the caller.
static SP_HOT bool sp_lane_count_free_locked(struct sp_lane *lane, uint64_t sequence,
                                             uint64_t bytes, bool *over) {
    if (!over)
        return sp_lane_add_unfenced_locked(lane, sequence, bytes);
    *over = sp_lane_count_unfenced(lane, sequence, bytes);
    return true;
}

// A free that leaves a slab empty has more to do where another slab of its class is listed: this
// one is given up then. At hand it also leaves the slab to the near way where it is to count whole.
static inline bool sp_leaves_more_to_do(const struct sp_list *slabs, const struct sp_slab *slab,
                                        uint64_t sequence, const bool *over) {
    if (SP_LIKELY(slab->live > 1))
        return false;
    bool surplus = slabs->next == &slab->link ? slabs->prev != &slab->link : !sp_list_empty(slabs);
    return surplus || (!over && !sp_slab_is_counted(slab, sequence));
}

static SP_HOT bool sp_put_small_locked(struct sp_lane *lane, struct sp_slab *slab, uint64_t address,
                                       uint64_t sequence, bool *over) {
    struct sp_list *slabs = &lane->slabs[slab->class_index];
    if (SP_UNLIKELY(slab->owner != lane || sp_leaves_more_to_do(slabs, slab, sequence, over)))
        return false;
    uint16_t index = sp_slab_find(slab, address);
    bool whole = over && slab->live == 1 && !sp_slab_is_counted(slab, sequence);
    if (SP_UNLIKELY(index == SP_SLAB_END ||
                    !sp_lane_count_free_locked(lane, sequence, sp_slab_counts(slab, whole), over)))
        return false;
    if (whole)
        slab->counted_under = (uint32_t)sequence;
    if (slab->last_sequence < sequence)
        slab->last_sequence = sequence; // a late caller may bring an older number
    if (SP_UNLIKELY(!sp_slab_has_free(slab)))
        sp_list_push_front(slabs, &slab->link); // it was full
    sp_figures_return_locked(lane, sp_slab_put(slab, index));
    return true;
}

static SP_HOT bool sp_put_large_locked(struct sp_lane *lane, struct sp_block *block,
                                       uint64_t address, uint64_t sequence, bool *over) {
    uint32_t slot = lane->stream->slot;
    if (SP_UNLIKELY(block->address != address || !sp_block_is_live_of(block, lane) ||
                    !sp_fence_set_is_of(&block->fences, slot) ||
                    !sp_quick_has_room(lane, block->size) ||
                    !sp_lane_count_free_locked(lane, sequence, block->size, over)))
        return false;
    sp_fence_set_advance(&block->fences, slot, sequence);
    sp_figures_return_locked(lane, block->requested);
    sp_quick_put(lane, block);
    return true;
}

// A block of the stream's own lane goes back to its slab or quick list, and nothing is left to do
// for the pool. `owner` is the address's word in the page map. False: nothing was done.
static SP_HOT bool sp_put_at_hand(uintptr_t owner, uint64_t address,
                                  const struct sp_stream *stream) {
    struct sp_lane *lane = sp_owner_lane(owner);
    uint64_t sequence;
    if (SP_UNLIKELY(!lane || lane->stream != stream || !sp_progress_is_noted(stream, &sequence)))
        return false;
    struct sp_slab *slab = sp_owner_slab(owner);
    sp_biased_acquire(&lane->lock);
    bool put = SP_LIKELY(lane->stream == stream) &&
               (slab ? sp_put_small_locked(lane, slab, address, sequence, NULL)
                     : sp_put_large_locked(lane, sp_owner_block(owner), address, sequence, NULL));
    sp_biased_release(&lane->lock);
    return put;
}

// ------------------------------------------------------------------------------ what the API calls

// From the pool that has this handle, or had it a moment ago. SP_POOL_GONE when another thread has
// given it up meanwhile.
static SP_HOT poolError_t sp_pool_malloc(struct sp_pool *pool, poolMemPool_t handle,
                                         struct sp_stream *stream, size_t size, unsigned int flags,
                                         void **pointer) {
    if (SP_UNLIKELY(sp_stream_acts(stream) || flags & poolMallocFixed))
        return sp_pool_malloc_slowly(pool, handle, stream, size, flags, pointer);
    uint64_t address = sp_take_at_hand(pool, stream, size, flags, NULL);
    if (SP_UNLIKELY(!address))
        return sp_pool_malloc_near(pool, handle, stream, size, flags, pointer);
    if (SP_UNLIKELY(sp_pool_is_another_now(pool, handle)))
        return sp_pool_hand_over(pool, handle, stream, address, SP_DEBT_NONE, pointer);
    *pointer = (void *)(uintptr_t)address;
    return poolSuccess;
}

// On a stream, whose capture state has been checked. `owner` is what the page map says of the
// pointer.
static SP_HOT poolError_t sp_pool_free(void *pointer, uintptr_t owner, struct sp_stream *stream) {
    return SP_LIKELY(sp_put_at_hand(owner, (uint64_t)(uintptr_t)pointer, stream))
               ? poolSuccess
               : sp_pool_free_near(pointer, owner, stream);
}

#endif
