// Remapping: free memory in pieces, made one block by mapping its extents a second time.
//
// Under the pool's lock the pieces are chosen and set aside (BUSY), cut as they will be needed; the lock is given back,
// the driver is called, and the result is published. What the pieces look like, and what becomes of them, is said in
// pool/stitch.h. The map lock, held all the while, keeps other mappers out; whoever finds memory without mapping never
// waits.
//
// Which pieces. Only whole extents can be mapped, so of a row of free blocks these parts can be of use:
//
//      row     ...##|====|--------|--------|==##...     - whole extents: anywhere in the view
//                    tail                   front       = the free end of an extent: `tail` at the view's begin, and
//                                                         `front` at its end
//
// A call costs about the same for each extent, so large rows go first, and the row that fits what is left best goes last. The
// tail of one extent is only asked for where it doesn't go without.
#include "pool/figures.h"
#include "pool/reaper.h"
#include "pool/runtime.h"
#include "pool/settle.h"
#include "pool/stitch.h"

#include "base/checked.h"
#include "base/mutant.h"
#include "base/time.h"

#include <stdlib.h>

// A row of free memory, with the bounds of the whole extents in it.
struct candidate {
    struct sp_segment *segment;
    uint64_t begin, end;
    uint64_t first, last; // first > end: no extent begins here; last < begin: none ends here
    uint64_t extent_size; // of the whole ones, in the mean
    bool used;
};

// A part of the home that goes into the view.
struct piece {
    struct sp_segment *segment;
    uint64_t begin, end;
};

struct plan {
    struct candidate *candidates;
    size_t candidate_count, candidate_capacity;
    uint64_t longest_front;
    struct piece *pieces; // as many as candidates at most
    size_t piece_count;
    uint64_t missing;       // bytes that no candidate has: new memory at the view's end
    bool failed;            // for want of host memory
    struct sp_block *fresh; // what was mapped for them
    uint64_t fresh_size;
    uint64_t extents_max; // of the view
    // By extent, in the view's order:
    struct sp_extent **extents;
    struct sp_block **blocks;
    size_t extent_count;
    size_t old_count; // of them, the ones that were there before
};

static void free_plan(struct plan *plan) {
    free(plan->candidates);
    free(plan->pieces);
    free(plan->extents);
    free(plan->blocks);
}

// ------------------------------------------------------------------------------------------- candidates

static uint64_t whole(const struct candidate *candidate) {
    return candidate->last > candidate->first ? candidate->last - candidate->first : 0;
}

// What a view can end with, and begin with.
static uint64_t front(const struct candidate *candidate) {
    return candidate->end > candidate->first ? candidate->end - candidate->first : 0;
}

static uint64_t tail(const struct candidate *candidate) {
    return candidate->last > candidate->begin ? candidate->last - candidate->begin : 0;
}

static uint64_t mean_extent_size(const struct sp_view *view, const struct candidate *candidate) {
    uint64_t count = 0;
    const struct sp_extent *extent = sp_view_extent_from(view, candidate->first);
    for (; extent && extent->address < candidate->last; extent = sp_view_extent_next(extent))
        count++;
    return count > 0 ? whole(candidate) / count : 0;
}

static void add_candidate(void *context, struct sp_block *first, uint64_t size) {
    struct plan *plan = context;
    struct candidate candidate = {
        sp_segment_of(first), first->address, first->address + size, 0, 0, 0, false};
    const struct sp_view *view = &candidate.segment->view;
    const struct sp_extent *low = sp_view_extent_at(view, candidate.begin);
    const struct sp_extent *high = sp_view_extent_at(view, candidate.end - 1);
    candidate.first = low->address == candidate.begin ? candidate.begin : low->address + low->size;
    candidate.last = high->address + high->size == candidate.end ? candidate.end : high->address;
    candidate.extent_size = mean_extent_size(view, &candidate);
    if (front(&candidate) == 0 && tail(&candidate) == 0)
        return;
    if (plan->candidate_count == plan->candidate_capacity) {
        size_t capacity = plan->candidate_capacity ? plan->candidate_capacity * 2 : 64;
        struct candidate *more = realloc(plan->candidates, capacity * sizeof *more);
        plan->failed = plan->failed || !more;
        if (!more)
            return;
        plan->candidates = more;
        plan->candidate_capacity = capacity;
    }
    plan->candidates[plan->candidate_count++] = candidate;
    if (front(&candidate) > plan->longest_front)
        plan->longest_front = front(&candidate);
}

// The largest whole extents first, for each costs a call; then the most of them; then by address, so that equal pools
// choose alike.
static int compare_candidates(const void *a, const void *b) {
    const struct candidate *left = a;
    const struct candidate *right = b;
    if (left->extent_size != right->extent_size)
        return left->extent_size > right->extent_size ? -1 : 1;
    if (whole(left) != whole(right))
        return whole(left) > whole(right) ? -1 : 1;
    return left->begin < right->begin ? -1 : left->begin > right->begin;
}

// --------------------------------------------------------------------------------------------- the choice

static void use(struct plan *plan, struct candidate *candidate, uint64_t begin, uint64_t end) {
    candidate->used = true;
    plan->pieces[plan->piece_count++] = (struct piece){candidate->segment, begin, end};
}

// The candidate whose front fits best. Asked again and again while a request is longer than any, so that costs nothing.
static struct candidate *best_last(const struct plan *plan, uint64_t size) {
    struct candidate *best = NULL;
    for (size_t i = 0; i < plan->candidate_count && size <= plan->longest_front; i++) {
        struct candidate *candidate = &plan->candidates[i];
        if (!candidate->used && front(candidate) >= size && (!best || front(candidate) < front(best)))
            best = candidate;
    }
    return best;
}

// The candidate with the longest free tail of an extent that is partly used.
static struct candidate *best_begin(const struct plan *plan) {
    struct candidate *best = NULL;
    for (size_t i = 0; i < plan->candidate_count; i++) {
        struct candidate *candidate = &plan->candidates[i];
        uint64_t gain = tail(candidate) - whole(candidate);
        if (gain > 0 && (!best || gain > tail(best) - whole(best)))
            best = candidate;
    }
    return best;
}

// Chooses pieces of `size` bytes together, the first of which is the tail of `begin` unless that is null. What could
// not be found is plan->missing.
static void choose_behind(struct plan *plan, struct candidate *begin, uint64_t size) {
    for (size_t i = 0; i < plan->candidate_count; i++)
        plan->candidates[i].used = false;
    plan->piece_count = 0;
    uint64_t left = size;
    if (begin) {
        uint64_t taken =
            tail(begin) < size ? tail(begin) : size; // a row that is enough by itself could not be joined
        use(plan, begin, begin->last - taken, begin->last);
        left -= taken;
    }
    size_t next = 0;
    while (left > 0) {
        struct candidate *last = best_last(plan, left);
        if (last) {
            use(plan, last, last->first, last->first + left);
            plan->missing = 0;
            return;
        }
        while (next < plan->candidate_count && plan->candidates[next].used)
            next++;
        if (next == plan->candidate_count || whole(&plan->candidates[next]) == 0)
            break;
        struct candidate *middle = &plan->candidates[next];
        left -= whole(middle);
        use(plan, middle, middle->first, middle->last);
    }
    plan->missing = left;
}

// Where the free memory is not enough, it is put together with new memory if that saves much of what growing alone would
// take; a call's time is not spent on little.
static bool is_worth_it(const struct sp_request *request, const struct plan *plan) {
    if (plan->missing == 0 || plan->piece_count == 0)
        return plan->missing == 0;
    uint64_t otherwise = sp_growth_least(request);
    return !(request->flags & poolMallocNoGrowth) &&
           sp_round_up(plan->missing, request->pool->device->vmm.granule) <
               otherwise - otherwise / SP_SAVING_SHARE;
}

static bool choose_locked(const struct sp_request *request, struct plan *plan) {
    sp_for_each_row(request, add_candidate, plan);
    if (plan->failed || plan->candidate_count == 0)
        return false;
    plan->pieces = malloc(plan->candidate_count * sizeof *plan->pieces);
    if (!plan->pieces)
        return false;
    qsort(plan->candidates, plan->candidate_count, sizeof *plan->candidates, compare_candidates);
    choose_behind(plan, NULL, request->size);
    struct candidate *begin = plan->missing > 0 ? best_begin(plan) : NULL;
    if (begin)
        choose_behind(plan, begin, request->size);
    return is_worth_it(request, plan);
}

// ------------------------------------------------------------------------------------------ setting aside

static size_t count_extents(const struct plan *plan) {
    size_t count = 0;
    for (size_t i = 0; i < plan->piece_count; i++) {
        const struct piece *piece = &plan->pieces[i];
        struct sp_extent *extent = sp_view_extent_at(&piece->segment->view, piece->begin);
        for (; extent && extent->address < piece->end; extent = sp_view_extent_next(extent))
            count++;
    }
    return count;
}

// The old memory alone: the new one is given back otherwise.
static void give_back_locked(struct sp_pool *pool, const struct plan *plan) {
    for (size_t i = 0; i < plan->old_count; i++)
        sp_pool_insert(pool, plan->blocks[i]);
}

static bool set_piece_aside(const struct sp_request *request, struct plan *plan, const struct piece *piece) {
    struct sp_extent *extent = sp_view_extent_at(&piece->segment->view, piece->begin);
    for (; extent && extent->address < piece->end; extent = sp_view_extent_next(extent)) {
        uint64_t begin = extent->address > piece->begin ? extent->address : piece->begin;
        uint64_t end =
            extent->address + extent->size < piece->end ? extent->address + extent->size : piece->end;
        uint64_t size = SP_MUTATED(SurplusTwice, sp_round_up((end - begin) / 2, SP_ALIGNMENT), end - begin);
        struct sp_block *block =
            extent->handle_released ? NULL : sp_home_take(request, &piece->segment->chain, begin, size);
        if (!block)
            return false;
        plan->extents[plan->extent_count] = extent;
        plan->blocks[plan->extent_count++] = block;
        plan->old_count = plan->extent_count;
    }
    return true;
}

// New memory is of as many extents as it has granules at most.
static bool set_aside_locked(const struct sp_request *request, struct plan *plan) {
    size_t count = count_extents(plan);
    if (count > plan->extents_max)
        return false;
    count += plan->missing / request->pool->device->vmm.granule + 1;
    plan->extents = malloc(count * sizeof(struct sp_extent *));
    plan->blocks = malloc(count * sizeof(struct sp_block *));
    if (!plan->extents || !plan->blocks)
        return false;
    for (size_t i = 0; i < plan->piece_count; i++) {
        if (!set_piece_aside(request, plan, &plan->pieces[i])) {
            give_back_locked(request->pool, plan);
            return false;
        }
    }
    return true;
}

// Takes memory that others freed while this thread waited for the map lock, or sets aside what a view can be made of.
static bool prepare(const struct sp_request *request, struct plan *plan, struct sp_block **block) {
    sp_lock_acquire(&request->pool->lock);
    *block = sp_take_locked(request);
    bool prepared = !*block && choose_locked(request, plan) && set_aside_locked(request, plan);
    sp_lock_release(&request->pool->lock);
    return prepared;
}

// ------------------------------------------------------------------------------------------- new memory

// Cuts the new memory by extents; what is left of the last one is the block behind. False without host memory.
static bool cut_fresh_locked(struct plan *plan, struct sp_block *block, uint64_t left) {
    struct sp_extent *extent = sp_view_extent_at(&sp_segment_of(block)->view, block->address);
    for (; left > 0; extent = sp_view_extent_next(extent)) {
        uint64_t size = extent->size < left ? extent->size : left;
        struct sp_block *rest = size < block->size ? sp_block_split(block, size) : NULL;
        if (size < block->size && !rest)
            return false;
        plan->extents[plan->extent_count] = extent;
        plan->blocks[plan->extent_count++] = block;
        left -= size;
        block = rest;
    }
    return true;
}

// What was cut is joined again, and unmapped.
static void give_fresh_back(struct sp_pool *pool, struct plan *plan) {
    if (!plan->fresh)
        return;
    sp_lock_acquire(&pool->lock);
    while (plan->fresh->size < plan->fresh_size)
        sp_block_absorb_next(plan->fresh); // new memory has no fences, so this needs no memory
    sp_lock_release(&pool->lock);
    sp_grow_back(pool, plan->fresh);
}

static CUresult add_fresh(struct sp_pool *pool, struct plan *plan) {
    if (plan->missing == 0)
        return CUDA_SUCCESS;
    CUresult error = sp_grow_aside(pool, plan->missing, &plan->fresh);
    if (error != CUDA_SUCCESS) {
        plan->fresh = NULL;
        return error;
    }
    plan->fresh_size = plan->fresh->size;
    sp_lock_acquire(&pool->lock);
    bool cut = cut_fresh_locked(plan, plan->fresh, plan->missing);
    sp_lock_release(&pool->lock);
    return cut ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

// ------------------------------------------------------------------------------------------------ the view

static void describe_runs(struct sp_stitch *stitch, const struct plan *plan) {
    for (size_t i = 0; i < plan->extent_count; i++) {
        const struct sp_alias_entry *entry = &stitch->alias->entries[i];
        stitch->runs[i] = (struct sp_run){.address = entry->address,
                                          .size = entry->size,
                                          .home = plan->extents[i]->address,
                                          .chain = plan->blocks[i]->chain,
                                          .valid = true};
    }
}

// A view over the extents, in which all is vacant.
static CUresult make_stitch(struct sp_pool *pool, const struct plan *plan, struct sp_stitch **made) {
    struct sp_stitch *stitch = calloc(1, sizeof *stitch + plan->extent_count * sizeof stitch->runs[0]);
    if (!stitch)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stitch->segment.pool = pool;
    stitch->segment.kind = SP_STITCHED;
    stitch->count = plan->extent_count;
    sp_list_init(&stitch->by_use);
    CUresult error =
        sp_alias_open(&stitch->alias, stitch, &pool->device->space, plan->extents, plan->extent_count);
    *made = stitch;
    if (error != CUDA_SUCCESS)
        return error;
    describe_runs(stitch, plan);
    if (!sp_chain_open(&stitch->segment.chain, stitch->alias->address, stitch->alias->size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    sp_block_set_state(stitch->segment.chain.first, SP_BLOCK_VACANT);
    return CUDA_SUCCESS;
}

static CUresult make_stitch_counted(struct sp_pool *pool, const struct plan *plan, struct sp_stitch **made) {
    uint64_t begin = sp_time_now();
    CUresult error = make_stitch(pool, plan, made);
    sp_pool_add(pool, SP_STATISTIC_RemapTime, sp_time_now() - begin);
    if (error != CUDA_SUCCESS)
        return error;
    sp_pool_add(pool, SP_STATISTIC_RemappedExtents, plan->extent_count);
    sp_pool_add(pool, SP_STATISTIC_RemappedBytes, (*made)->alias->size);
    return CUDA_SUCCESS;
}

static void keep_locked(struct sp_pool *pool, struct sp_stitch *stitch) {
    sp_list_push_front(&pool->kept, &stitch->by_use);
    pool->kept_views++;
    pool->kept_mappings += stitch->count;
}

// The surplus of the last new extent is free memory.
static void publish_fresh_locked(struct sp_pool *pool, const struct plan *plan) {
    if (!plan->fresh)
        return;
    sp_grow_count(pool, plan->fresh, plan->fresh_size);
    if (plan->fresh_size > plan->missing)
        sp_pool_insert(pool, sp_chain_find(plan->fresh->chain, plan->fresh->address + plan->missing));
}

// The block in the new view. Null without host memory; then nothing is published.
static struct sp_block *publish_locked(struct sp_pool *pool, const struct sp_request *request,
                                       const struct plan *plan, struct sp_stitch *stitch) {
    uint64_t offset = plan->pieces[0].begin - plan->extents[0]->address;
    struct sp_block *block =
        sp_stitch_lend(stitch, stitch->alias->address + offset, request->size, plan->blocks);
    if (!block)
        return NULL;
    publish_fresh_locked(pool, plan);
    keep_locked(pool, stitch);
    sp_kept_limit(pool, pool->kept_views_max, pool->kept_mappings_max);
    return block;
}

static CUresult publish(const struct sp_request *request, const struct plan *plan, struct sp_stitch *stitch,
                        struct sp_block **block) {
    struct sp_pool *pool = request->pool;
    sp_lock_acquire(&pool->lock);
    *block = publish_locked(pool, request, plan, stitch);
    sp_lock_release(&pool->lock);
    return *block ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

// A view that was not used yet goes at once; what the driver doesn't unmap is tried again as a zombie.
static void discard(struct sp_pool *pool, struct sp_stitch *stitch) {
    if (stitch->alias && sp_alias_unmap_all(stitch->alias) != CUDA_SUCCESS) {
        sp_lock_acquire(&pool->lock);
        sp_zombies_add(pool, stitch);
        sp_lock_release(&pool->lock);
        return;
    }
    if (stitch->alias)
        sp_alias_close(stitch->alias);
    sp_chain_close(&stitch->segment.chain);
    free(stitch);
}

static void undo(struct sp_pool *pool, struct plan *plan, struct sp_stitch *stitch) {
    if (stitch)
        discard(pool, stitch);
    sp_lock_acquire(&pool->lock);
    give_back_locked(pool, plan);
    sp_lock_release(&pool->lock);
    give_fresh_back(pool, plan);
}

static CUresult stitch_mapping(const struct sp_request *request, struct plan *plan, struct sp_block **block) {
    struct sp_pool *pool = request->pool;
    struct sp_stitch *stitch = NULL;
    CUresult error = add_fresh(pool, plan);
    if (error == CUDA_SUCCESS)
        error = make_stitch_counted(pool, plan, &stitch);
    if (error == CUDA_SUCCESS)
        error = publish(request, plan, stitch, block);
    if (error != CUDA_SUCCESS)
        undo(pool, plan, stitch);
    return error;
}

static CUresult remap_mapping(const struct sp_request *request, uint64_t time_max, struct sp_block **block) {
    struct plan plan = {.extents_max = time_max / SP_REMAP_TIME_EACH};
    CUresult error = prepare(request, &plan, block) ? stitch_mapping(request, &plan, block) : CUDA_SUCCESS;
    free_plan(&plan);
    return error;
}

static struct sp_block *take_kept(const struct sp_request *request) {
    sp_lock_acquire(&request->pool->lock);
    struct sp_block *block = sp_kept_take(request);
    sp_lock_release(&request->pool->lock);
    return block;
}

CUresult sp_remap(const struct sp_request *request, uint64_t time_max, struct sp_block **block) {
    *block = take_kept(request);
    if (*block) {
        sp_pool_count(request->pool, SP_STATISTIC_KeptViewsUsed);
        return CUDA_SUCCESS;
    }
    sp_pool_begin_mapping(request->pool);
    CUresult error = remap_mapping(request, time_max, block);
    sp_pool_end_mapping(request->pool);
    sp_reaper_take_zombies(request->pool); // those that can be buried by now
    return error;
}
