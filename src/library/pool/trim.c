// Trimming: giving whole free extents back to the device, and none whose memory may still be in
// use.
//
// Under the pool's lock the extents that lie wholly in ready memory are sorted by size, and as many
// as are wanted are set aside (BUSY); then, without the lock, each is unmapped and becomes a hole.
// An extent that the driver doesn't take stays what it was, ready memory.
//
// Extents differ in size, so taking them whole can overshoot. What is kept must be at least what
// was asked to be kept, as with CUDA's pool; so when the last extent is larger than what is still
// to go, it goes and the difference is mapped anew.
#include "order/end.h"
#include "pool/bury.h"
#include "pool/collect.h"
#include "pool/device.h"
#include "pool/figures.h"
#include "pool/keep.h"
#include "pool/later.h"
#include "pool/loan.h"
#include "pool/open_lanes.h"
#include "pool/segment.h"
#include "pool/settle.h"

#include "base/checked.h"
#include "base/number.h"

#include <stdlib.h>

// One extent to release: the block that stands for it while it is set aside.
struct victim {
    struct sp_block *block;
    struct sp_extent *extent;
};

// What a trim does: filled under the pool's lock, worked off without it.
struct work {
    struct victim *victims;
    size_t count;
    size_t capacity;
    struct sp_extent *partial; // the extent that is larger than what is still to go, or null
    uint64_t map_back;         // bytes to map anew at its start
};

static struct sp_extent *extent_of(struct sp_tree_node *node) {
    return node ? SP_CONTAINER_OF(node, struct sp_extent, by_size) : NULL;
}

static int compare_extents(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    const struct sp_extent *left = SP_CONTAINER_OF(a, struct sp_extent, by_size);
    const struct sp_extent *right = SP_CONTAINER_OF(b, struct sp_extent, by_size);
    return sp_compare_pairs(left->size, left->address, right->size, right->address);
}

static int compare_size(const void *key, const struct sp_tree_node *node) {
    const struct sp_extent *extent = SP_CONTAINER_OF(node, struct sp_extent, by_size);
    return sp_compare_pairs(*(const uint64_t *)key, 0, extent->size, extent->address);
}

// ------------------------------------------------------------------------------------ what is free

// The smallest ready block that an extent may lie in. However many smaller ones there are, nobody
// looks at them.
static struct sp_block *first_with_extents(const struct sp_pool *pool, int kind) {
    return sp_tier_best_fit(&pool->regions[kind].ready, pool->device->vmm.granule);
}

// Calls `visit` for each extent that lies wholly in ready memory. The pool's lock is held.
static void for_each_free_extent(struct sp_pool *pool,
                                 void (*visit)(void *context, struct sp_extent *extent),
                                 void *context) {
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        for (struct sp_block *b = first_with_extents(pool, kind); b; b = sp_tier_next(b)) {
            struct sp_extent *extent = sp_view_extent_from(&sp_segment_of(b)->view, b->address);
            for (; extent && extent->address + extent->size <= sp_block_end(b);
                 extent = sp_view_extent_next(extent))
                visit(context, extent);
        }
    }
}

static void add_size(void *sum, struct sp_extent *extent) {
    *(size_t *)sum += extent->size;
}

static void add_to_tree(void *tree, struct sp_extent *extent) {
    sp_tree_insert(tree, &extent->by_size);
}

// ----------------------------------------------------------------------------------- setting aside

static bool push(struct work *work, struct sp_block *block, struct sp_extent *extent) {
    if (work->count == work->capacity) {
        size_t capacity = work->capacity ? work->capacity * 2 : 64;
        struct victim *victims = realloc(work->victims, capacity * sizeof *victims);
        if (!victims)
            return false;
        work->victims = victims;
        work->capacity = capacity;
    }
    work->victims[work->count++] = (struct victim){block, extent};
    return true;
}

static bool reaches_into(const struct sp_extent *extent, const struct sp_block *block) {
    return extent && extent->address + extent->size <= sp_block_end(block);
}

// The first chosen extent that lies in a block, from an address on.
static struct sp_extent *chosen_in(const struct sp_block *block) {
    struct sp_extent *extent = sp_view_extent_from(&sp_segment_of(block)->view, block->address);
    while (reaches_into(extent, block) && !extent->chosen)
        extent = sp_view_extent_next(extent);
    return reaches_into(extent, block) ? extent : NULL;
}

// Cuts an extent out of a BUSY block. What stands before it goes back to the tier; what stands
// behind it is left in `rest`. False without host memory; then what is left of the block is in
// `rest`.
static bool cut_out(struct sp_pool *pool, struct sp_block *block, struct sp_extent *extent,
                    struct work *work, struct sp_block **rest) {
    *rest = block;
    if (block->address < extent->address) {
        struct sp_block *from = sp_block_split(block, extent->address - block->address);
        if (!from)
            return false;
        sp_settle_insert(pool, block);
        *rest = block = from;
    }
    struct sp_block *behind = NULL;
    if (block->size > extent->size) {
        behind = sp_block_split(block, extent->size);
        if (!behind)
            return false;
    }
    if (push(work, block, extent)) {
        pool->keep.leaving += extent->size;
        *rest = behind;
        return true;
    }
    if (behind)
        sp_block_absorb_next(block); // ready memory has no fences, so this needs no memory
    return false;
}

// Sets the chosen extents of one ready block aside.
static void set_aside(struct sp_pool *pool, struct sp_block *block, struct work *work) {
    struct sp_extent *extent = chosen_in(block);
    if (!extent)
        return;
    sp_tier_remove(block);
    while (extent) {
        extent->chosen = false;
        sp_loan_invalidate(extent);
        if (!cut_out(pool, block, extent, work, &block))
            work->partial = extent == work->partial ? NULL : work->partial;
        extent = block ? chosen_in(block) : NULL;
    }
    if (block)
        sp_settle_insert(pool, block);
}

// The blocks of a tier don't touch each other, so what set_aside puts back never merges with the
// next one.
static void set_all_aside(struct sp_pool *pool, struct work *work) {
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        struct sp_block *block = first_with_extents(pool, kind);
        while (block) {
            struct sp_block *next = sp_tier_next(block);
            set_aside(pool, block, work);
            block = next;
        }
    }
}

// The last extent, by address, of the largest size that is at most `size`; null when all are
// larger.
static struct sp_extent *last_of_at_most(const struct sp_tree *extents, uint64_t size) {
    uint64_t above = size + 1;
    struct sp_tree_node *larger = sp_tree_lower_bound(extents, &above, compare_size);
    return extent_of(larger ? sp_tree_prev(larger) : sp_tree_last(extents));
}

// The largest extent of at most `excess` bytes; if all are larger, the smallest. Of equal ones the
// last, so that what is kept lies together.
static struct sp_extent *next_victim(const struct sp_tree *extents, uint64_t excess) {
    struct sp_extent *fitting = last_of_at_most(extents, excess);
    return fitting ? fitting : last_of_at_most(extents, extent_of(sp_tree_first(extents))->size);
}

// Returns what is still to go then.
static uint64_t choose(struct work *work, struct sp_extent *extent, uint64_t excess) {
    extent->chosen = true;
    if (extent->size <= excess)
        return excess - extent->size;
    work->partial = extent;
    work->map_back = extent->size - excess;
    return 0;
}

// Chooses extents of `excess` bytes together and sets them aside. With less host memory than it
// takes, fewer.
static void choose_all_locked(struct sp_pool *pool, uint64_t excess, struct work *work) {
    struct sp_tree extents;
    sp_tree_init(&extents, compare_extents);
    for_each_free_extent(pool, add_to_tree, &extents);
    while (excess > 0 && !sp_tree_empty(&extents)) {
        struct sp_extent *extent = next_victim(&extents, excess);
        sp_tree_remove(&extents, &extent->by_size);
        excess = choose(work, extent, excess);
    }
    set_all_aside(pool, work);
}

// The extent that next_victim would find, without a tree.
struct victim_search {
    uint64_t excess;
    struct sp_extent *fitting;
    struct sp_extent *smallest; // of those that are larger
};

static void look_at_victim(void *context, struct sp_extent *extent) {
    struct victim_search *search = context;
    const struct sp_extent *smallest = search->smallest;
    if (extent->size <= search->excess) {
        if (!search->fitting || compare_extents(&search->fitting->by_size, &extent->by_size) < 0)
            search->fitting = extent;
    } else if (!smallest || extent->size < smallest->size ||
               (extent->size == smallest->size && extent->address > smallest->address)) {
        search->smallest = extent;
    }
}

static void choose_one_locked(struct sp_pool *pool, uint64_t excess, struct work *work) {
    struct victim_search search = {excess, NULL, NULL};
    for_each_free_extent(pool, look_at_victim, &search);
    struct sp_extent *victim = search.fitting ? search.fitting : search.smallest;
    if (!victim)
        return;
    choose(work, victim, excess);
    set_all_aside(pool, work);
}

// --------------------------------------------------------------------------------------- releasing

// Nothing of the extent is pending, so neither is anything that went through a stitched view of it.
static CUresult unmap(struct sp_segment *segment, struct sp_extent *extent) {
    SP_LIST_FOR_EACH_SAFE(link, &extent->aliases) {
        struct sp_alias_entry *entry = SP_CONTAINER_OF(link, struct sp_alias_entry, link);
        CUresult error = sp_alias_unmap(entry);
        if (error != CUDA_SUCCESS)
            return error;
    }
    return sp_view_unmap(&segment->view, extent);
}

static CUresult release(struct sp_pool *pool, const struct victim *victim) {
    struct sp_segment *segment = sp_segment_of(victim->block);
    uint64_t size = victim->extent->size;
    CUresult error = unmap(segment, victim->extent);
    sp_lock_acquire(&pool->lock);
    pool->keep.leaving -= size;
    if (error == CUDA_SUCCESS) {
        pool->regions[segment->kind].mapped -= size;
        sp_figures_reserved_subtract(pool, size);
        sp_tier_insert(&pool->regions[segment->kind].holes, victim->block);
    } else {
        sp_settle_insert(pool, victim->block);
    }
    sp_lock_release(&pool->lock);
    sp_segment_tidy(segment);
    return error;
}

// Releases an extent and maps its first `kept` bytes anew. A driver that refuses this leaves the
// pool with less than it might have kept.
static CUresult release_but(struct sp_pool *pool, const struct victim *victim, uint64_t kept) {
    struct sp_segment *segment = sp_segment_of(victim->block);
    struct sp_block *front = victim->block;
    sp_lock_acquire(&pool->lock);
    struct sp_block *rest = sp_block_split(front, kept);
    sp_lock_release(&pool->lock);
    if (!rest)
        return release(pool, victim);
    uint64_t size = victim->extent->size;
    CUresult error = unmap(segment, victim->extent);
    bool unmapped = error == CUDA_SUCCESS;
    bool mapped = !unmapped || sp_view_map(&segment->view, front->address, kept) == CUDA_SUCCESS;
    sp_lock_acquire(&pool->lock);
    pool->keep.leaving -= size;
    if (unmapped) {
        uint64_t released = mapped ? size - kept : size;
        pool->regions[segment->kind].mapped -= released;
        sp_figures_reserved_subtract(pool, released);
    }
    sp_tier_insert(
        mapped ? &pool->regions[segment->kind].ready : &pool->regions[segment->kind].holes, front);
    sp_tier_insert(
        unmapped ? &pool->regions[segment->kind].holes : &pool->regions[segment->kind].ready, rest);
    sp_lock_release(&pool->lock);
    sp_segment_tidy(segment);
    return error;
}

// Works all of it off, whatever fails, and returns the first error.
static CUresult work_off(struct sp_pool *pool, const struct work *work) {
    CUresult first = CUDA_SUCCESS;
    for (size_t i = 0; i < work->count; i++) {
        const struct victim *victim = &work->victims[i];
        CUresult error = victim->extent == work->partial ? release_but(pool, victim, work->map_back)
                                                         : release(pool, victim);
        first = first == CUDA_SUCCESS ? error : first;
    }
    return first;
}

typedef void choice(struct sp_pool *pool, uint64_t excess, struct work *work);

// With the map lock held. Keeps what it is told to, or, without that, what a synchronise leaves.
static CUresult trim_mapping(struct sp_pool *pool, const size_t *keep, choice *choose_locked) {
    struct work work = {0};
    sp_lock_acquire(&pool->lock);
    sp_settle_all(pool);
    uint64_t kept = keep ? *keep : sp_keep_at_synchronize(pool);
    uint64_t reserved = sp_load_relaxed(&pool->reserved);
    if (reserved > kept)
        choose_locked(pool, reserved - kept, &work);
    sp_lock_release(&pool->lock);
    CUresult error = work_off(pool, &work);
    free(work.victims);
    return error;
}

// An extent is at least a granule, so a pool with less unused than that has none to release.
static bool may_release(const struct sp_pool *pool) {
    return sp_load_relaxed(&pool->reserved) >= sp_figures_used(pool) + pool->device->vmm.granule;
}

static bool has_more_than(const struct sp_pool *pool, uint64_t keep) {
    return sp_load_relaxed(&pool->reserved) > keep;
}

// Puts what a trim may release where it finds it.
static void make_ready(struct sp_pool *pool) {
    sp_end_gone_contexts(NULL);
    sp_collect_all(pool);
}

// `keep` as above.
static CUresult release_down_to(struct sp_pool *pool, const size_t *keep) {
    sp_pool_begin_mapping(pool);
    CUresult error = trim_mapping(pool, keep, choose_all_locked);
    sp_pool_end_mapping(pool);
    sp_later_bury(pool); // views that have no memory any more
    return error;
}

CUresult sp_pool_trim(struct sp_pool *pool, size_t keep) {
    size_t rounded, buried;
    CUresult first = sp_bury_all(pool, &buried);
    CUresult error = CUDA_SUCCESS;
    if (sp_checked_round_up(keep, pool->device->vmm.granule, &rounded) &&
        has_more_than(pool, rounded) && may_release(pool)) {
        make_ready(pool);
        error = release_down_to(pool, &rounded);
    }
    return first == CUDA_SUCCESS ? error : first;
}

CUresult sp_pool_trim_for_program(struct sp_pool *pool, size_t keep) {
    sp_lock_acquire(&pool->lock);
    sp_keep_no_more_than(pool, keep);
    sp_lock_release(&pool->lock);
    sp_open_lanes_fence(pool, NULL, true); // one that can't be asked keeps what it freed
    return sp_pool_trim(pool, keep);
}

// The pool was synchronised: with a release delay an interval ends, before what was in use is made
// ready, and another begins.
static void hear_synchronize(struct sp_pool *pool) {
    if (!sp_keep_delays(pool)) {
        make_ready(pool);
        return;
    }
    sp_lock_acquire(&pool->lock);
    sp_keep_end_interval(pool);
    sp_lock_release(&pool->lock);
    make_ready(pool);
    sp_lock_acquire(&pool->lock);
    sp_settle_all(pool);
    sp_keep_begin_interval(pool);
    sp_lock_release(&pool->lock);
}

void sp_pool_trim_to_threshold(struct sp_pool *pool) {
    size_t buried;
    if (!sp_later_serves(pool))
        sp_bury_all(pool, &buried);
    if (!has_more_than(pool, sp_keep_at_least(pool)) ||
        !(may_release(pool) || sp_keep_delays(pool)))
        return;
    bool delays = sp_keep_delays(pool);
    if (delays)
        hear_synchronize(pool); // each counts, however soon the reaper comes
    if (sp_later_trim(pool))
        return;
    if (!delays)
        hear_synchronize(pool);
    release_down_to(pool, NULL);
}

CUresult sp_pool_trim_extent(struct sp_pool *pool, bool synchronized, uint64_t *released) {
    if (synchronized && !sp_keep_delays(pool)) // else it was heard at once
        make_ready(pool);
    uint64_t before = sp_load_relaxed(&pool->reserved);
    CUresult error = trim_mapping(pool, NULL, choose_one_locked);
    *released = before - sp_load_relaxed(&pool->reserved);
    return error;
}

size_t sp_pool_releasable(struct sp_pool *pool) {
    size_t sum = 0;
    sp_end_gone_contexts(NULL);
    sp_collect_all(pool);
    sp_pool_begin_mapping(pool);
    sp_lock_acquire(&pool->lock);
    sp_settle_all(pool);
    for_each_free_extent(pool, add_size, &sum);
    sp_lock_release(&pool->lock);
    sp_pool_end_mapping(pool);
    return sum;
}

bool sp_pool_make_room(struct sp_pool *pool, size_t bytes) {
    size_t reserved = sp_load_relaxed(&pool->reserved);
    if (sp_pool_releasable(pool) < bytes)
        return false;
    return sp_pool_trim(pool, sp_excess(reserved, bytes)) == CUDA_SUCCESS;
}
