// The common pair, whole: an allocation that the stream's lane has at hand, and the free of one
// back to where it came from. One critical section of the lane each, on lines that its thread alone
// writes; no driver call, no host memory, no division.
//
// An allocation that finds nothing at hand goes on in malloc.c. A free by the lane's own stream is
// always put back here; what follows from it is left to free.c, behind the lane's lock. A double
// free is told by what is seen under that lock.
#ifndef STREAMPOOL_REGION_AT_HAND_H
#define STREAMPOOL_REGION_AT_HAND_H

#include "base/atomic.h"
#include "base/number.h"
#include "order/action.h"
#include "order/identity.h"
#include "region/figures.h"
#include "region/held.h"
#include "region/owner.h"
#include "region/quick.h"

// With the lane's lock held: so much more was allocated on it. False when the allowance doesn't
// cover that: then sp_figures_cover() is to follow, without the lock. The block is live by then, so
// its pool stays.
static inline bool sp_at_hand_use_locked(struct sp_lane *lane, uint64_t bytes) {
    uint64_t used = sp_load_relaxed(&lane->used) + bytes;
    sp_store_relaxed(&lane->used, used);
    return used <= sp_load_relaxed(&lane->allowance);
}

// With the lane's lock held, as the last thing that a free does with the pool but to look whether
// that was destroyed: then it may be taken apart right after.
static inline void sp_at_hand_return_locked(struct sp_lane *lane, uint64_t bytes) {
    sp_store_relaxed(&lane->used, sp_load_relaxed(&lane->used) - bytes);
}

// ------------------------------------------------------------------------------------------ malloc

// A slab of the class with a free block that the flags allow: one behind the first, or one with
// blocks that other streams returned. Null when there is none.
struct sp_slab *sp_at_hand_find_slab_locked(struct sp_lane *lane, unsigned class_index,
                                            unsigned int flags);

struct sp_request;

// Takes back what other streams returned to the lane's slabs of the class, where that has completed
// by now or is within the request's reach.
void sp_at_hand_accept_returned_locked(struct sp_lane *lane, const struct sp_request *request,
                                       unsigned class_index);

// Has an action that is owed for memory of a slab owed for each of its blocks until it is done: the
// slab gets a last number, as if the lane's stream had freed a block there just now.
void sp_at_hand_note_owed_locked(struct sp_lane *lane, struct sp_slab *slab,
                                 const struct sp_fence_set *fences);

static inline uint64_t sp_at_hand_take_from_slab_locked(struct sp_slab *slab, size_t size) {
    uint64_t address = sp_slab_take(slab, size);
    if (SP_UNLIKELY(!sp_slab_has_free(slab)))
        sp_list_remove(&slab->link);
    return address;
}

// A loose block (region/loose.h) out of the lane's quick list.
uint64_t sp_at_hand_take_loose_locked(struct sp_lane *lane, size_t size, uint64_t *freed);

// `freed`, where the caller wants it, is the last number under which the lane's stream freed what
// is taken.
static SP_HOT uint64_t sp_at_hand_take_small_locked(struct sp_lane *lane, size_t size,
                                                    unsigned int flags, uint64_t *freed) {
    unsigned class_index = sp_slab_class_of(size);
    struct sp_list *slabs = &lane->slabs[class_index];
    struct sp_slab *slab = SP_CONTAINER_OF(slabs->next, struct sp_slab, link);
    if (SP_UNLIKELY(slabs->next == slabs || flags & poolMallocSameStreamOnly))
        slab = sp_at_hand_find_slab_locked(lane, class_index, flags);
    if (SP_UNLIKELY(!slab))
        return sp_at_hand_take_loose_locked(lane, size, freed);
    if (freed)
        *freed = slab->last_sequence;
    return sp_at_hand_take_from_slab_locked(slab, size);
}

// The size of a block of its own for so many bytes: what is small is loose. (region/owner.h)
static inline uint64_t sp_at_hand_round_large(size_t size) {
    return size > SP_SMALL_MAX && size < SP_PAGE_SIZE ? SP_PAGE_SIZE
                                                      : sp_round_up(size, SP_ALIGNMENT);
}

static inline uint64_t sp_at_hand_give_out(struct sp_lane *lane, struct sp_block *block,
                                           size_t size) {
    block->requested = size;
    sp_store_relaxed(&block->account, lane);
    sp_store_relaxed(&lane->latest, block);
    sp_block_set_state(block, SP_BLOCK_LIVE);
    return block->address;
}

// From the lane's quick list; 0 when there is none of the size. It may be one that can't even be
// rounded.
static inline uint64_t sp_at_hand_take_quick_locked(struct sp_lane *lane, size_t size,
                                                    uint64_t *freed) {
    if (SP_UNLIKELY(size > SIZE_MAX / 2))
        return 0;
    struct sp_block *block = sp_quick_take(lane, sp_at_hand_round_large(size));
    if (!block)
        return 0;
    if (freed)
        *freed = sp_fence_set_at(&block->fences, 0)->sequence;
    return sp_at_hand_give_out(lane, block, size);
}

static inline void sp_at_hand_count_hit_locked(struct sp_lane *lane) {
    sp_store_relaxed(&lane->hits, sp_load_relaxed(&lane->hits) + 1);
}

// Takes what the lane has at hand, or the thread's shelf of a crowded one, and counts it. 0 when
// there is nothing, or no lane yet, or no such shelf. A stream for which the caller wants to know
// `freed` uses no shelves.
static SP_HOT uint64_t sp_at_hand_take(struct sp_pool *pool, const struct sp_stream *stream,
                                       size_t size, unsigned int flags, uint64_t *freed) {
    struct sp_lane *lane = sp_lane_find_for_malloc(pool, stream->slot);
    uint64_t address = 0;
    bool covered = true;
    if (SP_UNLIKELY(lane && !freed && sp_biased_lock_is_contended(&lane->lock) &&
                    size <= SP_SMALL_MAX))
        lane = sp_lane_shelf(lane, pool);
    if (SP_UNLIKELY(!lane))
        return 0;
    sp_biased_lock_acquire(&lane->lock);
    if (SP_LIKELY(sp_lane_is(lane, pool, stream)))
        address = size <= SP_SMALL_MAX ? sp_at_hand_take_small_locked(lane, size, flags, freed)
                                       : sp_at_hand_take_quick_locked(lane, size, freed);
    if (SP_LIKELY(address)) {
        sp_at_hand_count_hit_locked(lane);
        covered = sp_at_hand_use_locked(lane, size);
    }
    sp_biased_lock_release(&lane->lock);
    if (SP_UNLIKELY(!covered))
        sp_figures_cover(pool, lane);
    return address;
}

// A lane that has the stream's memory at hand may be one of the struct's next pool. With a block of
// it live that pool stays, so its handle can be looked at.
static inline bool sp_at_hand_is_another_now(const struct sp_pool *pool, poolMemPool_t handle) {
    return sp_load_acquire(&pool->handle) != handle;
}

// -------------------------------------------------------------------------------------------- free

struct sp_put {
    unsigned left;
    uint64_t requested; // by the program, of the block
};

// The free lies in the extent of the last one under the number, so it counts nothing.
static inline bool sp_at_hand_is_counted(const struct sp_lane *lane, uint64_t sequence,
                                         uint64_t address, uint64_t bytes) {
    uint64_t offset = address - lane->window;
    return sp_load_relaxed(&lane->unfenced_sequence) == sequence && offset < lane->window_size &&
           lane->window_size - offset >= bytes;
}

// Counts what no event stands behind yet. A lane that may hold back nothing looks further at each
// free, for its pool may be given up; and one that isn't listed at the next.
static inline unsigned sp_at_hand_count_freed_locked(struct sp_lane *lane, uint64_t sequence,
                                                     uint64_t address, uint64_t bytes) {
    if (SP_LIKELY(sp_at_hand_is_counted(lane, sequence, address, bytes) &&
                  !sp_load_relaxed(&lane->looks)))
        return 0;
    if (sp_load_relaxed(&lane->looks) & SP_LOOK_LISTS)
        sp_lane_list_locked(lane);
    if (sp_at_hand_is_counted(lane, sequence, address, bytes) && !sp_load_relaxed(&lane->looks))
        return 0;
    return sp_held_count_freed_locked(lane, sequence, address, bytes);
}

// Unlinks an empty slab whose class has another one to allocate from.
bool sp_at_hand_detach_slab_locked(struct sp_slab *slab);
static inline unsigned sp_at_hand_slab_left_locked(const struct sp_lane *lane,
                                                   struct sp_slab *slab) {
    const struct sp_list *slabs = &lane->slabs[slab->class_index];
    if (slab->live != 0 || slabs->next == slabs->prev)
        return 0;
    return sp_at_hand_detach_slab_locked(slab) ? SP_LEFT_SLAB : 0;
}

// Notes that the slab's own stream frees a block under the number, and returns what that counts.
// The first free under a number counts the slab whole, and the others count nothing: another stream
// may free the last block that is live. Then all of the slab waits for that number, and the slab's
// own stream may be gone. A late caller may bring an older number.
static inline uint32_t sp_at_hand_stamp_locked(struct sp_slab *slab, uint64_t sequence) {
    if (SP_LIKELY(slab->last_sequence >= sequence))
        return 0;
    sp_store_plain(&slab->last_sequence, sequence);
    return sp_slab_bytes(slab);
}

static SP_HOT struct sp_put sp_at_hand_put_small_locked(struct sp_lane *lane, struct sp_slab *slab,
                                                        uint64_t address, uint64_t sequence) {
    uint16_t index = SP_LIKELY(slab->owner == lane) ? sp_slab_find(slab, address) : SP_SLAB_END;
    if (SP_UNLIKELY(index == SP_SLAB_END))
        return (struct sp_put){.left = SP_LEFT_ALL};
    if (SP_UNLIKELY(!sp_slab_has_free(slab)))
        sp_list_push_front(&lane->slabs[slab->class_index], &slab->link); // it was full
    struct sp_put put = {.requested = sp_slab_put(slab, index)};
    put.left = sp_at_hand_slab_left_locked(lane, slab);
    uint32_t bytes = sp_at_hand_stamp_locked(slab, sequence);
    if (SP_UNLIKELY(bytes > 0 || sp_load_relaxed(&lane->looks)))
        put.left |= sp_at_hand_count_freed_locked(lane, sequence, slab->address, bytes);
    return put;
}

static SP_HOT struct sp_put sp_at_hand_put_large_locked(struct sp_lane *lane,
                                                        struct sp_block *block, uint64_t address,
                                                        uint64_t sequence) {
    uint32_t slot = lane->stream->slot;
    if (SP_UNLIKELY(block->address != address || !sp_owner_is_live_of(block, lane)))
        return (struct sp_put){.left = SP_LEFT_ALL};
    struct sp_put put = {.requested = block->requested};
    put.left = sp_at_hand_count_freed_locked(lane, sequence, address, block->size);
    if (SP_UNLIKELY(!sp_fence_set_is_of(&block->fences, slot) || !sp_quick_put_own(lane, block))) {
        sp_block_set_state(block, SP_BLOCK_BUSY);
        put.left |= SP_LEFT_BLOCK;
        return put;
    }
    sp_fence_set_advance(&block->fences, slot, sequence);
    return put;
}

// Puts back what the lane's own stream frees. A free that records is noted by its record, and any
// other before another thread can find the memory.
static SP_HOT struct sp_put sp_at_hand_put_locked(struct sp_lane *lane, uintptr_t owner,
                                                  uint64_t address, uint64_t sequence) {
    struct sp_slab *slab = sp_owner_slab(owner);
    struct sp_put put =
        slab ? sp_at_hand_put_small_locked(lane, slab, address, sequence)
             : sp_at_hand_put_large_locked(lane, (struct sp_block *)owner, address, sequence);
    if (SP_UNLIKELY(sp_load_relaxed(&lane->stream->freed) < sequence) &&
        !(put.left & (SP_LEFT_RECORD | SP_LEFT_ALL)))
        sp_atomic_raise(&lane->stream->freed, sequence);
    if (SP_LIKELY(!(put.left & (SP_LEFT_WITH_POOL | SP_LEFT_ALL))))
        sp_at_hand_return_locked(lane, put.requested);
    return put;
}

// The lane that a free on a stream puts an address's block back into, and the number of the free:
// that of an identified stream that allocated the block itself. Null: another stream's, or none.
static SP_HOT struct sp_lane *sp_at_hand_lane(uintptr_t owner, const struct sp_stream *stream,
                                              uint64_t *sequence) {
    struct sp_lane *lane = sp_owner_lane(owner);
    *sequence = sp_load_acquire(&stream->sequence);
    return SP_LIKELY(lane && sp_load_relaxed(&lane->puts) == stream) ? lane : NULL;
}

#endif
