// Quick lists: large blocks as they were freed on a lane, by exact size.
//
// A program that repeats itself asks for the sizes that it has freed. So a freed large block is
// kept whole, and a request of the same size takes it back with no search and no splitting or
// merging. To its chain such a block is taken; whoever finds no fit in a lane's lists puts them all
// back first, so no memory is overlooked. All under the lane's lock.
//
// *Contention* is threads that stand in each other's way at a pool's lock. A lane that places by
// address puts what it frees into tiers, and searches for what it allocates, both under the pool's
// lock, and many threads wait for each other there far longer than the work takes. So a lane
// counts: SP_CONTENTION_STEP more each time that it finds the lock held, and one less each time
// that it finds it free. At SP_CONTENTION_FULL it keeps its next SP_CONTENTION_FREES frees in its
// quick lists, and gives them out again with no look at the pool. Then it goes back to tiers, and
// counts on from SP_CONTENTION_REST. Until then it asks other streams at some misses alone
// (calls/miss.h): the questions of many threads wait for each other, too.
//
// A lane that finds the lock held less than once in nine times puts everything into tiers: blocks
// in quick lists make a shared pool creep (docs/notes/placing.md). A deterministic pool counts
// nothing, as what it does may not depend on what other threads do at the moment.
//
// The counts are written with the lane's lock or without: one of two changes at once may be lost.
#ifndef STREAMPOOL_REGION_QUICK_H
#define STREAMPOOL_REGION_QUICK_H

#include "base/number.h"
#include "region/held.h"

enum {
    SP_CONTENTION_STEP = 8,
    SP_CONTENTION_FULL = 32,
    SP_CONTENTION_REST = 24,
    SP_CONTENTION_FREES = 4096
};

// Looks whether another thread holds the pool's lock, and counts that. The caller doesn't hold it.
static inline bool sp_quick_note_contention(struct sp_lane *lane) {
    bool held = sp_lock_is_held(&lane->pool->lock);
    uint32_t count = sp_load_relaxed(&lane->contention);
    if (SP_LIKELY(!held && count == 0))
        return false;
    if (sp_pool_is_deterministic(lane->pool))
        return false;
    count = held ? count + SP_CONTENTION_STEP : count > 0 ? count - 1 : 0;
    if (count >= SP_CONTENTION_FULL) {
        count = SP_CONTENTION_REST;
        sp_store_relaxed(&lane->contended_frees, SP_CONTENTION_FREES);
    }
    sp_store_relaxed(&lane->contention, count);
    return held;
}

// True while the pool's lock is contended for the lane.
static inline bool sp_quick_is_contended(const struct sp_lane *lane) {
    return SP_UNLIKELY(sp_load_relaxed(&lane->contended_frees) != 0) &&
           !sp_pool_is_deterministic(lane->pool);
}

// True while it is: one of the frees that are left in quick lists is the caller's.
static inline bool sp_quick_keeps(struct sp_lane *lane) {
    uint32_t keeps = sp_load_relaxed(&lane->contended_frees);
    if (SP_LIKELY(keeps == 0) || sp_pool_is_deterministic(lane->pool))
        return false;
    sp_store_relaxed(&lane->contended_frees, keeps - 1);
    return true;
}

static inline unsigned sp_quick_index(uint64_t size) {
    return (unsigned)sp_hash_bits(size / SP_ALIGNMENT, 5);
}

static_assert(SP_QUICK_BINS == 1 << (64 - 59), "sp_quick_index yields a bin");

static inline void sp_quick_note_empty(struct sp_lane *lane, unsigned index) {
    sp_store_release(&lane->quick_used, sp_load_relaxed(&lane->quick_used) & ~(1u << index));
}

static inline struct sp_block *sp_quick_take(struct sp_lane *lane, uint64_t size) {
    unsigned index = sp_quick_index(size);
    struct sp_quick_bin *bin = &lane->quick[index];
    struct sp_block *block = bin->head;
    if (!block || bin->size != size)
        return NULL;
    bin->head = block->quick_next;
    if (!bin->head)
        sp_quick_note_empty(lane, index);
    return block;
}

// Puts a block in. False, and nothing is changed, where blocks of another size stand in its bin.
static inline bool sp_quick_put(struct sp_lane *lane, struct sp_block *block) {
    unsigned index = sp_quick_index(block->size);
    struct sp_quick_bin *bin = &lane->quick[index];
    if (SP_UNLIKELY(bin->head && bin->size != block->size))
        return false;
    bin->size = block->size;
    block->quick_next = bin->head;
    bin->head = block;
    sp_store_relaxed(&lane->quick_used, sp_load_relaxed(&lane->quick_used) | 1u << index);
    sp_block_set_state(block, SP_BLOCK_CACHED);
    return true;
}

// Puts in what the lane's own stream frees. In a lane that places by address that is only the block
// that it gave out last, and it alone, unless the pool's lock is contended.
static inline bool sp_quick_put_own(struct sp_lane *lane, struct sp_block *block) {
    if (SP_UNLIKELY(sp_load_relaxed(&lane->by_address)) &&
        (sp_load_relaxed(&lane->quick_used) != 0 || sp_load_relaxed(&lane->latest) != block) &&
        !sp_quick_keeps(lane))
        return false;
    return sp_quick_put(lane, block);
}

#endif
