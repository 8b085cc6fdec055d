#include "supply/remap.h"

#include "base/number.h"
#include "base/thread.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/find.h"
#include "region/retain.h"
#include "region/settle.h"
#include "region/stitch.h"
#include "supply/defer.h"
#include "supply/grow.h"
#include "supply/growth.h"
#include "supply/pieces.h"

#include <stdlib.h>
#include <string.h>

struct plan {
    struct sp_pieces pieces;
    struct sp_block *fresh; // what was mapped for what is missing
    uint64_t fresh_size;
    uint64_t extents_max; // of the view
    // These are by extent, in the view's order:
    struct sp_extent **extents;
    struct sp_block **blocks;
    size_t extent_count;
    size_t new_at; // where the new ones stand among them
    size_t new_count;
};

static void free_plan(struct plan *plan) {
    sp_pieces_free(&plan->pieces);
    free(plan->extents);
    free(plan->blocks);
}

// ----------------------------------------------------------------------------------- setting aside

// Gives the old memory back. The new one is given back otherwise.
static void give_back_locked(struct sp_pool *pool, const struct plan *plan) {
    for (size_t i = 0; i < plan->extent_count; i++) {
        if (i < plan->new_at || i >= plan->new_at + plan->new_count)
            sp_settle_insert(pool, plan->blocks[i]);
    }
}

// Sets the chosen pieces aside. New memory has as many extents as it has granules at most.
static bool set_aside_locked(const struct sp_request *request, struct plan *plan) {
    size_t count = 0;
    for (size_t i = 0; i < plan->pieces.count; i++) {
        const struct sp_piece *piece = &plan->pieces.list[i];
        struct sp_extent *extent = sp_view_extent_at(&piece->segment->view, piece->begin);
        for (; extent && extent->address < piece->end; extent = sp_view_extent_next(extent))
            count++;
    }
    if (count > plan->extents_max) {
        sp_request_tell(request, remap(request, poolGrowthRemapTooLong, count, 0));
        return false;
    }
    count += plan->pieces.missing / request->pool->device->vmm.granule + 1;
    plan->extents = malloc(count * sizeof(struct sp_extent *));
    plan->blocks = malloc(count * sizeof(struct sp_block *));
    if (!plan->extents || !plan->blocks)
        return false;
    for (size_t i = 0; i < plan->pieces.count; i++) {
        const struct sp_piece *piece = &plan->pieces.list[i];
        struct sp_extent *extent = sp_view_extent_at(&piece->segment->view, piece->begin);
        for (; extent && extent->address < piece->end; extent = sp_view_extent_next(extent)) {
            uint64_t begin = sp_max(extent->address, piece->begin);
            uint64_t size = sp_min(extent->address + extent->size, piece->end) - begin;
            struct sp_block *block =
                sp_stitch_take_home(request, &piece->segment->chain, begin, size);
            if (!block) {
                give_back_locked(request->pool, plan);
                return false;
            }
            plan->extents[plan->extent_count] = extent;
            plan->blocks[plan->extent_count++] = block;
        }
        if (i + 1 == plan->pieces.before_new)
            plan->new_at = plan->extent_count;
    }
    sp_in_flight_take(&request->pool->in_flight);
    return true;
}

// Chooses pieces, and notes for whoever watches why there are none.
static bool choose_locked(const struct sp_request *request, struct plan *plan) {
    bool chosen = sp_pieces_choose(request, &plan->pieces);
    enum poolGrowthRemap why =
        plan->pieces.count > 0 ? poolGrowthRemapSavesLittle : poolGrowthRemapNoPieces;
    if (!chosen)
        sp_request_tell(request, remap(request, why, 0, plan->pieces.missing));
    else if (plan->pieces.missing > 0)
        sp_request_tell(request, look(request));
    return chosen;
}

// Maps what is missing, and cuts it by extents; what is left of the last one is the block behind.
static struct sp_outcome add_fresh(const struct sp_request *request, struct plan *plan) {
    struct sp_pool *pool = request->pool;
    uint64_t left = plan->pieces.missing;
    if (left == 0 || plan->fresh)
        return sp_outcome_done();
    sp_growth_note(pool, request->size);
    struct sp_outcome outcome = sp_grow_aside(pool, left, &plan->fresh);
    if (!sp_is_done(outcome)) {
        plan->fresh = NULL;
        return outcome;
    }
    struct sp_block *block = plan->fresh;
    struct sp_extent *extent = sp_view_extent_at(&sp_segment_of(block)->view, block->address);
    plan->fresh_size = block->size;
    sp_lock_acquire(&pool->lock);
    for (; left > 0; extent = sp_view_extent_next(extent)) {
        uint64_t size = sp_min(extent->size, left);
        struct sp_block *rest = size < block->size ? sp_block_split(block, size) : NULL;
        if (size < block->size && !rest) {
            outcome = sp_outcome_of(SP_NO_HOST_MEMORY);
            break;
        }
        size_t at = plan->new_at + plan->new_count++;
        size_t behind = plan->extent_count++ - at;
        memmove(&plan->extents[at + 1], &plan->extents[at], behind * sizeof plan->extents[0]);
        memmove(&plan->blocks[at + 1], &plan->blocks[at], behind * sizeof plan->blocks[0]);
        plan->extents[at] = extent;
        plan->blocks[at] = block;
        left -= size;
        block = rest;
    }
    sp_lock_release(&pool->lock);
    return outcome;
}

// ---------------------------------------------------------------------------------------- the view

// Makes a view over the extents, in which all is vacant.
static struct sp_outcome make_stitch(struct sp_pool *pool, const struct plan *plan,
                                     struct sp_stitch **made) {
    struct sp_stitch *stitch =
        calloc(1, sizeof *stitch + plan->extent_count * sizeof stitch->runs[0]);
    if (!stitch)
        return sp_outcome_of(SP_NO_HOST_MEMORY);
    stitch->segment.pool = pool;
    stitch->segment.kind = SP_STITCHED;
    stitch->count = plan->extent_count;
    sp_list_init(&stitch->by_use);
    struct sp_outcome outcome = sp_alias_open(&stitch->alias, stitch, &pool->device->space,
                                              &pool->access, plan->extents, plan->extent_count);
    *made = stitch;
    if (!sp_is_done(outcome))
        return outcome;
    for (size_t i = 0; i < plan->extent_count; i++) {
        const struct sp_alias_entry *entry = &stitch->alias->entries[i];
        stitch->runs[i] = (struct sp_run){.address = entry->address,
                                          .size = entry->size,
                                          .home = plan->extents[i]->address,
                                          .chain = plan->blocks[i]->chain,
                                          .valid = true};
    }
    if (!sp_chain_open(&stitch->segment.chain, stitch->alias->address, stitch->alias->size))
        return sp_outcome_of(SP_NO_HOST_MEMORY);
    sp_block_set_state(stitch->segment.chain.first, SP_BLOCK_VACANT);
    return sp_outcome_done();
}

// Takes the block in the new view, and counts the new memory. The surplus of its last extent is
// free memory. Without host memory nothing is published.
static struct sp_outcome publish(const struct sp_request *request, const struct plan *plan,
                                 struct sp_stitch *stitch, struct sp_block **block) {
    struct sp_pool *pool = request->pool;
    uint64_t offset = plan->blocks[0]->address - plan->extents[0]->address;
    uint64_t missing = plan->pieces.missing;
    sp_lock_acquire(&pool->lock);
    *block = sp_stitch_begin(stitch, stitch->alias->address + offset, request->size, plan->blocks);
    if (*block && plan->fresh) {
        sp_request_tell(request, remap(request, poolGrowthRemapUsed, 0, 0));
        sp_request_tell(request,
                        growth(request, plan->fresh, plan->fresh_size, request->size - missing));
        sp_grow_count(pool, plan->fresh, plan->fresh_size);
        if (plan->fresh_size > missing)
            sp_settle_insert(pool,
                             sp_chain_find(plan->fresh->chain, plan->fresh->address + missing));
    }
    if (*block) {
        sp_stitch_keep(pool, stitch);
        sp_stitch_limit_kept(pool, pool->kept.views_max, pool->kept.mappings_max);
        sp_retain_note_use(pool);
    }
    sp_lock_release(&pool->lock);
    if (!*block)
        return sp_outcome_of(SP_NO_HOST_MEMORY);
    sp_in_flight_put(&pool->in_flight);
    return sp_outcome_done();
}

// The new memory that was cut is joined again, and unmapped.
static void undo(struct sp_pool *pool, struct plan *plan, struct sp_stitch *stitch) {
    if (stitch)
        sp_defer_bury_view(pool, stitch); // nothing has used it
    sp_lock_acquire(&pool->lock);
    give_back_locked(pool, plan);
    while (plan->fresh && plan->fresh->size < plan->fresh_size)
        sp_block_absorb_next(plan->fresh); // new memory has no fences, so this needs no memory
    sp_lock_release(&pool->lock);
    sp_in_flight_put(&pool->in_flight);
    if (plan->fresh)
        sp_grow_back(pool, plan->fresh);
}

static struct sp_outcome stitch_mapping(const struct sp_request *request, struct plan *plan,
                                        struct sp_block **block) {
    struct sp_pool *pool = request->pool;
    struct sp_stitch *stitch = NULL;
    struct sp_outcome outcome = add_fresh(request, plan);
    if (sp_is_done(outcome)) {
        uint64_t begin = sp_time_now();
        outcome = make_stitch(pool, plan, &stitch);
        sp_pool_add(pool, SP_STATISTIC_RemapTime, sp_time_now() - begin);
    }
    if (sp_is_done(outcome)) {
        sp_pool_add(pool, SP_STATISTIC_RemappedExtents, plan->extent_count);
        sp_pool_add(pool, SP_STATISTIC_RemappedBytes, stitch->alias->size);
        outcome = publish(request, plan, stitch, block);
    }
    if (!sp_is_done(outcome)) {
        sp_request_tell(request, remap(request, poolGrowthRemapFailed, 0, 0));
        undo(pool, plan, stitch);
    }
    return outcome;
}

// Where no kept view will do, it takes memory that others freed while this thread waited for the
// map lock, or sets aside what a view can be made of.
struct sp_outcome sp_remap(struct sp_request *request, uint64_t time_max, struct sp_block **block) {
    struct sp_pool *pool = request->pool;
    struct sp_outcome outcome = sp_outcome_done();
    unsigned looks = request->looks;
    struct plan plan = {.extents_max = time_max / SP_REMAP_TIME_EACH};
    sp_lock_acquire(&pool->lock);
    *block = sp_stitch_take_kept(request);
    if (*block)
        sp_retain_note_use(pool);
    sp_lock_release(&pool->lock);
    if (*block) {
        sp_pool_count(pool, SP_STATISTIC_KeptViewsUsed);
        return sp_outcome_done();
    }
    sp_pool_begin_mapping(pool);
    sp_request_tell(request, begin(request));
    sp_lock_acquire(&pool->lock);
    request->looks = SP_REQUEST_LOOKS_ALL; // a row that is enough by itself is mapped already
    *block = sp_find_locked(request);
    request->looks = looks;
    bool prepared = !*block && choose_locked(request, &plan) && set_aside_locked(request, &plan);
    sp_lock_release(&pool->lock);
    if (prepared)
        outcome = stitch_mapping(request, &plan, block);
    sp_pool_end_mapping(pool);
    free_plan(&plan);
    sp_defer_bury(pool); // those that can be buried by now
    return outcome;
}

// ------------------------------------------------------------------------------------ behind waits

// Waits for all pieces together, so that each stream is waited for once.
static struct sp_outcome wait_for_pieces(struct sp_request *request, const struct plan *plan) {
    struct sp_fence_set all = {0};
    struct sp_outcome outcome = sp_outcome_done();
    for (size_t i = 0; i < plan->extent_count && sp_is_done(outcome); i++)
        outcome = sp_fence_set_join(&all, &plan->blocks[i]->fences)
                      ? sp_outcome_done()
                      : sp_outcome_of(SP_NO_HOST_MEMORY);
    if (sp_is_done(outcome))
        outcome = sp_request_wait_for(request, &all);
    sp_fence_set_clear(&all);
    return outcome;
}

// A wait can block, so the map lock is given back for it: what is set aside stays so, and its
// extents with it. New memory comes first: no stream is made to wait for what then can't be had.
// While it isn't reserved yet, the limit knows of it. A request that could grow as well takes no
// longer for it than any other such one.
struct sp_outcome sp_remap_behind_waits(struct sp_request *request, struct sp_block **block) {
    struct sp_pool *pool = request->pool;
    bool held = request->bound == SP_BOUND_HOLDS;
    uint64_t time_max = sp_load_relaxed(&pool->attributes.remap_time_max);
    struct plan plan = {.extents_max = held ? time_max / SP_REMAP_TIME_EACH : SIZE_MAX};
    struct sp_outcome outcome = sp_outcome_done();
    int least = held ? (int)poolDefragmentBeforeGrowth : (int)poolDefragmentUnderPressure;
    bool prepared = false;
    if (request->kind == SP_REGION_LARGE && sp_device_defragmentation(pool) >= least) {
        sp_pool_begin_mapping(pool);
        sp_request_tell(request, begin(request));
        sp_lock_acquire(&pool->lock);
        uint64_t room = sp_figures_below_limit(pool);
        prepared = choose_locked(request, &plan) &&
                   sp_round_up(plan.pieces.missing, pool->device->vmm.granule) <= room &&
                   set_aside_locked(request, &plan);
        sp_lock_release(&pool->lock);
        if (prepared)
            outcome = add_fresh(request, &plan);
        atomic_fetch_add(&pool->unpublished, plan.fresh_size);
        sp_pool_end_mapping(pool);
    }
    if (prepared) {
        if (sp_is_done(outcome))
            outcome = wait_for_pieces(request, &plan);
        sp_pool_begin_mapping(pool);
        atomic_fetch_sub(&pool->unpublished, plan.fresh_size);
        if (sp_is_done(outcome))
            outcome = stitch_mapping(request, &plan, block);
        else
            undo(pool, &plan, NULL);
        sp_pool_end_mapping(pool);
    }
    free_plan(&plan);
    sp_defer_bury(pool); // of views that are not kept for this one
    return sp_outcome_lacks_memory(outcome) ? sp_outcome_done() : outcome;
}
