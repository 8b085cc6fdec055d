// Growing: mapping new memory where it joins free memory best.
//
// Under the pool's lock a plan is made: the hole to map into, and the free block in front of it
// that the lane may use. Both are set aside (BUSY), cut as they will be needed, with room for every
// fence; the lock is given back, the driver is called, and the result is published, which can't
// fail any more. The map lock, held all the while, keeps other mappers out.
//
//        front      hole                rest
//      |=========|------------------|----------|      free | used part | free, ready for anybody
//      '---- the new block ---------'                 ^ mapped from here to the end
//
// A new segment is a last choice: memory in many segments can't join. So one is extended where it
// can be (pool/segment.h), and a plan counts on that.
#include "pool/device.h"
#include "pool/figures.h"
#include "pool/keep.h"
#include "pool/request.h"
#include "pool/segment.h"
#include "pool/settle.h"

#include "base/checked.h"
#include "base/log.h"
#include "base/number.h"
#include "base/time.h"

#include <stdlib.h>

// So many address spaces with no memory are compared. More than a program comes to that trims now
// and then.
enum { HOLES_LOOKED_AT = 1024 };

struct plan {
    struct sp_block *front;    // free memory to begin with, or null
    struct sp_block *hole;     // once set aside: what of the mapped memory the new block takes
    struct sp_block *rest;     // once set aside: the mapped memory behind it, or null
    struct sp_segment *behind; // to be extended first: the hole is too small, or there is none yet
    uint64_t need;             // the least that must be mapped
    uint64_t amount;           // what is mapped
    bool ahead;                // for requests to come, and not for one
};

static uint64_t granule_of(const struct sp_pool *pool) {
    return pool->device->vmm.granule;
}

// The most that the program is known to need at once, if `size` bytes more are in use now. To map
// much takes longer than to look at all lanes.
static uint64_t known_need(struct sp_pool *pool, uint64_t size) {
    uint64_t used = size > SP_EXTENT_OWN_MAX ? sp_figures_used(pool) : sp_figures_used_lately(pool);
    uint64_t now = used + size;
    uint64_t high = sp_load_relaxed(&pool->used_high);
    return sp_max(now, high);
}

bool sp_growth_is_due(struct sp_pool *pool, uint64_t size) {
    uint64_t reserved = sp_load_relaxed(&pool->reserved);
    uint64_t need = known_need(pool, size);
    uint64_t slack = need / SP_SLACK_SHARE;
    return reserved + size <= need + sp_max(slack, SP_SLACK_MIN);
}

// The size of extents that befits a pool of so many bytes. A call costs about the same for a large
// extent as for a small one, but only whole free extents can be mapped again elsewhere; so an
// extent is a small part of the pool.
static uint64_t extent_of_pool(uint64_t bytes) {
    uint64_t size = SP_EXTENT_MIN;
    while (size < bytes / SP_EXTENTS_OF_POOL && size < SP_EXTENT_MAX)
        size *= 2;
    return size;
}

// Of many pools none may have more than its share of a quarter of the device before it needs it, or
// a few thousand that need little would fill the device.
static bool is_fair(const struct sp_pool *pool, uint64_t bytes) {
    uint32_t pools = sp_load_relaxed(&pool->device->holders_in_use);
    return pools < SP_MANY_POOLS || bytes <= pool->device->vmm.total_memory / 4 / pools;
}

// What is mapped when less is needed: a whole extent as long as the pool may have one that it
// doesn't need yet, else as much as it may have. A request that is large enough for an extent of
// its own gets just that.
static uint64_t large_unit(struct sp_pool *pool, uint64_t need) {
    if (need >= SP_EXTENT_OWN_MIN)
        return 0;
    uint64_t unit = extent_of_pool(sp_load_relaxed(&pool->reserved));
    while (unit > granule_of(pool) && !(sp_growth_is_due(pool, unit) && is_fair(pool, unit)))
        unit /= 2;
    return sp_round_up(unit, granule_of(pool));
}

// What one growth maps when less is needed. Pages grow with what they hold, so that a program with
// few small blocks holds few; the segments of the fixed region have one extent each and grow by
// nothing else.
static uint64_t growth_unit(struct sp_pool *pool, enum sp_region_kind kind, uint64_t need) {
    if (kind == SP_REGION_FIXED)
        return 0;
    if (kind == SP_REGION_LARGE)
        return large_unit(pool, need);
    uint64_t unit = sp_round_up(pool->regions[kind].mapped / 8, granule_of(pool));
    if (unit < granule_of(pool))
        return granule_of(pool);
    return sp_min(unit, SP_GROWTH_UNIT);
}

// ---------------------------------------------------------------------------------------- the plan

static struct plan plan_for_hole(const struct sp_request *request, struct sp_block *hole) {
    struct plan plan = {.hole = hole, .need = request->size, .ahead = !request->lane};
    // A segment for fixed blocks has one extent at most: two would become one free block.
    if (request->kind == SP_REGION_FIXED && (hole->prev || hole->next)) {
        plan.need = UINT64_MAX;
        return plan;
    }
    if (hole->prev && sp_block_usable(request, hole->prev) && hole->prev->size < request->size) {
        plan.front = hole->prev;
        plan.need = request->size - hole->prev->size;
    }
    plan.need = sp_round_up(plan.need, granule_of(request->pool));
    return plan;
}

static bool keep_better_plan(const struct sp_request *request, struct sp_block *hole,
                             struct plan *best) {
    struct plan plan = plan_for_hole(request, hole);
    if (plan.need <= hole->size && plan.need < best->need)
        *best = plan;
    return best->hole != NULL;
}

// The plan that maps least, among the smallest holes, of which a pool has few unless trims have
// torn it to pieces. If none of these will do, any that does.
static struct plan best_plan(const struct sp_request *request) {
    struct plan best = {.need = UINT64_MAX};
    const struct sp_tier *holes = &request->pool->regions[request->kind].holes;
    struct sp_block *b = sp_tier_first(holes);
    for (unsigned looks = 0; b && looks < HOLES_LOOKED_AT; looks++, b = sp_tier_next(b))
        keep_better_plan(request, b, &best);
    if (!b || best.hole)
        return best;
    struct sp_block *fit =
        sp_tier_best_fit(holes, sp_round_up(request->size, granule_of(request->pool)));
    if (fit && keep_better_plan(request, fit, &best))
        return best;
    while (b && !keep_better_plan(request, b, &best))
        b = sp_tier_next(b);
    return best;
}

// What is mapped at the end of a segment that is extended for it.
static struct plan plan_behind(const struct sp_request *request, struct sp_segment *segment) {
    struct sp_block *last = sp_chain_last(&segment->chain);
    struct plan plan = {.need = request->size, .ahead = !request->lane};
    if (sp_block_state(last) == SP_BLOCK_HOLE)
        plan = plan_for_hole(request, last);
    else if (sp_block_usable(request, last) && last->size < request->size)
        plan = (struct plan){
            .front = last, .need = request->size - last->size, .ahead = !request->lane};
    plan.need = sp_round_up(plan.need, granule_of(request->pool));
    plan.behind = segment;
    return plan;
}

// The plan that maps least; with what there is, where that is no worse. `need` is UINT64_MAX when
// there is none.
static struct plan plan_for(const struct sp_request *request) {
    struct plan best = best_plan(request);
    struct sp_segment *segment = sp_segment_to_extend(&request->pool->regions[request->kind]);
    struct plan plan = {.need = UINT64_MAX};
    if (segment)
        plan = plan_behind(request, segment);
    return plan.need < best.need ? plan : best;
}

uint64_t sp_growth_least(const struct sp_request *request) {
    // In a segment of its own.
    uint64_t alone = sp_round_up(request->size, granule_of(request->pool));
    uint64_t least = plan_for(request).need;
    return sp_min(least, alone);
}

// How much is to be mapped where `need` is needed: the growth unit, if the pool's limit has room
// for it.
static uint64_t amount_for(struct sp_pool *pool, enum sp_region_kind kind, uint64_t need) {
    uint64_t room = pool->limit - sp_load_relaxed(&pool->reserved);
    uint64_t amount = growth_unit(pool, kind, need);
    if (amount < need)
        amount = need;
    return amount > room ? sp_round_down(room, granule_of(pool)) : amount;
}

// The segment that must be extended for the plan's amount, or null: then a smaller hole has to do.
static struct sp_segment *to_extend(const struct sp_request *request, const struct plan *plan) {
    if (plan->behind || plan->hole->next || plan->amount <= plan->hole->size)
        return plan->behind;
    struct sp_segment *segment = sp_segment_to_extend(&request->pool->regions[request->kind]);
    return segment == sp_segment_of(plan->hole) ? segment : NULL;
}

static void insert_hole(struct sp_pool *pool, struct sp_block *hole) {
    sp_tier_insert(&pool->regions[sp_segment_of(hole)->kind].holes, hole);
}

// Everything of a plan back to where it was. Nothing here needs memory: holes have no fences to
// join.
static void undo_locked(struct sp_pool *pool, const struct plan *plan) {
    if (plan->hole)
        insert_hole(pool, plan->hole);
    if (plan->rest)
        insert_hole(pool, plan->rest);
    if (plan->front)
        sp_settle_insert(pool, plan->front);
}

// Cuts the hole as the picture above shows. False without host memory.
static bool cut_locked(struct sp_pool *pool, struct plan *plan, uint64_t size) {
    uint64_t used = size - (plan->front ? plan->front->size : 0);
    if (!sp_fence_set_reserve(plan->front ? &plan->front->fences : &plan->hole->fences, 1))
        return false;
    if (plan->amount < plan->hole->size) {
        struct sp_block *remaining = sp_block_split(plan->hole, plan->amount);
        if (!remaining)
            return false;
        insert_hole(pool, remaining);
    }
    if (used < plan->amount) {
        plan->rest = sp_block_split(plan->hole, used);
        return plan->rest != NULL;
    }
    return true;
}

// The address space that wasn't needed after all, too.
static void undo(struct sp_pool *pool, const struct plan *plan, struct sp_segment *segment) {
    sp_lock_acquire(&pool->lock);
    undo_locked(pool, plan);
    sp_lock_release(&pool->lock);
    sp_segment_tidy(segment);
}

// Chooses and sets aside. CUDA_ERROR_NOT_FOUND when no hole is large enough, and
// CUDA_ERROR_NOT_READY when a segment must be extended first, the one that the plan is behind.
static CUresult prepare_locked(const struct sp_request *request, struct plan *plan) {
    struct sp_pool *pool = request->pool;
    *plan = plan_for(request);
    if (plan->need == UINT64_MAX)
        return CUDA_ERROR_NOT_FOUND;
    plan->amount = amount_for(pool, request->kind, plan->need);
    if (plan->amount < plan->need)
        return CUDA_ERROR_OUT_OF_MEMORY;
    plan->behind = to_extend(request, plan);
    if (plan->behind)
        return CUDA_ERROR_NOT_READY;
    if (plan->amount > plan->hole->size)
        plan->amount = plan->hole->size;
    sp_tier_remove(plan->hole);
    if (plan->front)
        sp_tier_remove(plan->front);
    if (cut_locked(pool, plan, request->size))
        return CUDA_SUCCESS;
    undo_locked(pool, plan);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult prepare_once(const struct sp_request *request, struct plan *plan) {
    sp_lock_acquire(&request->pool->lock);
    CUresult error = prepare_locked(request, plan);
    sp_lock_release(&request->pool->lock);
    return error;
}

// A segment that can't be extended isn't asked again, so this ends.
static CUresult prepare(const struct sp_request *request, struct plan *plan) {
    CUresult error = prepare_once(request, plan);
    while (error == CUDA_ERROR_NOT_READY) {
        error = sp_segment_extend(plan->behind, plan->amount);
        if (error == CUDA_SUCCESS)
            error = prepare_once(request, plan);
    }
    return error;
}

static CUresult prepare_in_new_segment(const struct sp_request *request, struct plan *plan) {
    struct sp_pool *pool = request->pool;
    uint64_t bytes = sp_round_up(request->size, granule_of(pool));
    uint64_t amount = amount_for(pool, request->kind, bytes);
    CUresult error = sp_segment_add(pool, request->kind, sp_max(amount, bytes));
    return error == CUDA_SUCCESS ? prepare(request, plan) : error;
}

// ----------------------------------------------------------------------------------------- growing

// Gives back of the mapped part what is not needed. False when all of it is, or without host
// memory.
static bool reduce_to_need(struct sp_pool *pool, struct plan *plan) {
    uint64_t kept = plan->need - plan->hole->size; // of the rest
    struct sp_block *surplus = plan->rest;
    if (plan->amount == plan->need || !surplus)
        return false;
    sp_lock_acquire(&pool->lock);
    if (kept > 0)
        surplus = sp_block_split(plan->rest, kept);
    else
        plan->rest = NULL;
    if (surplus)
        insert_hole(pool, surplus);
    sp_lock_release(&pool->lock);
    if (surplus)
        plan->amount = plan->need;
    return surplus != NULL;
}

static bool is_of_its_own(uint64_t amount) {
    return amount >= SP_EXTENT_OWN_MIN && amount <= SP_EXTENT_OWN_MAX;
}

// The size of the extents that a growth is made of: what befits the pool, or a part of the request,
// whichever is more; or the whole request, where that is no larger than extents are anyway. A
// request that is larger than all that the pool has gets one extent: it is what the pool mostly
// consists of from then on. Not so memory for requests to come, which will divide it.
static uint64_t extent_size(const struct sp_pool *pool, const struct plan *plan) {
    uint64_t reserved = sp_load_relaxed(&pool->reserved);
    if (sp_segment_of(plan->hole)->kind != SP_REGION_LARGE || is_of_its_own(plan->amount) ||
        (plan->amount >= reserved && !plan->ahead))
        return plan->amount;
    uint64_t size = extent_of_pool(reserved + plan->amount);
    uint64_t share = sp_round_up(plan->amount / SP_EXTENTS_OF_REQUEST, granule_of(pool));
    return sp_max(size, share);
}

static void count_mapped(struct sp_pool *pool, const struct sp_block *block, uint64_t bytes) {
    pool->regions[sp_segment_of(block)->kind].mapped += bytes;
    sp_figures_reserved_add(pool, bytes);
}

// Memory that was mapped for a growth that then failed, and could not be unmapped again, is free
// memory.
static void keep_mapped(struct sp_pool *pool, struct plan *plan, uint64_t mapped) {
    struct sp_block *unmapped = NULL;
    sp_lock_acquire(&pool->lock);
    if (plan->rest)
        sp_block_absorb_next(plan->hole); // neither has fences, so this needs no memory
    plan->rest = NULL;
    if (mapped < plan->hole->size)
        unmapped = sp_block_split(plan->hole, mapped);
    if (unmapped || mapped == plan->hole->size) {
        count_mapped(pool, plan->hole, mapped);
        sp_settle_insert(pool, plan->hole);
    } else {
        sp_log_warn("no host memory: %zu MiB of device memory are lost", (size_t)(mapped >> 20));
    }
    plan->hole = unmapped;
    sp_lock_release(&pool->lock);
}

static CUresult map_amount(struct sp_pool *pool, struct plan *plan, uint64_t *mapped) {
    struct sp_view *view = &sp_segment_of(plan->hole)->view;
    uint64_t begin = sp_time_now();
    CUresult error = sp_view_map_pieces(view, plan->hole->address, plan->amount,
                                        extent_size(pool, plan), mapped);
    sp_pool_add(pool, SP_STATISTIC_GrowthTime, sp_time_now() - begin);
    return error;
}

// Maps the amount, or only what is needed if the device hasn't got more.
static CUresult map(struct sp_pool *pool, struct plan *plan) {
    uint64_t mapped = 0;
    CUresult error = map_amount(pool, plan, &mapped);
    if (error == CUDA_ERROR_OUT_OF_MEMORY && mapped == 0 && reduce_to_need(pool, plan))
        error = map_amount(pool, plan, &mapped);
    if (error != CUDA_SUCCESS && mapped > 0)
        keep_mapped(pool, plan, mapped);
    return error;
}

static struct sp_block *publish_locked(struct sp_pool *pool, const struct plan *plan) {
    struct sp_block *block = plan->hole;
    count_mapped(pool, block, plan->amount);
    if (plan->rest)
        sp_settle_insert(pool, plan->rest);
    if (plan->front) {
        block = plan->front;
        sp_block_absorb_next(block); // a hole brings no fences, so this needs no memory
    }
    if (!plan->ahead)
        sp_keep_note_use(pool);
    sp_block_set_live(block);
    return block;
}

// Plans and maps; what is left is to publish.
static CUresult map_for(const struct sp_request *request, struct plan *plan) {
    struct sp_pool *pool = request->pool;
    CUresult error = prepare(request, plan);
    if (error == CUDA_ERROR_NOT_FOUND)
        error = prepare_in_new_segment(request, plan);
    if (error != CUDA_SUCCESS)
        return error;
    struct sp_segment *segment = sp_segment_of(plan->hole);
    error = map(pool, plan);
    if (error != CUDA_SUCCESS)
        undo(pool, plan, segment);
    return error;
}

static CUresult grow_mapping(struct sp_request *request, struct sp_block **block) {
    struct sp_pool *pool = request->pool;
    struct plan plan;
    *block = sp_take(request); // another thread may have grown while this one waited
    if (*block)
        return CUDA_SUCCESS;
    CUresult error = map_for(request, &plan);
    if (error != CUDA_SUCCESS)
        return error;
    sp_lock_acquire(&pool->lock);
    *block = publish_locked(pool, &plan);
    sp_lock_release(&pool->lock);
    return CUDA_SUCCESS;
}

CUresult sp_grow(struct sp_request *request, struct sp_block **block) {
    sp_pool_begin_mapping(request->pool);
    CUresult error = grow_mapping(request, block);
    sp_pool_end_mapping(request->pool);
    return error;
}

// --------------------------------------------------------------------------- growing ahead of need

CUresult sp_grow_ahead(struct sp_pool *pool, uint64_t bytes) {
    struct sp_request nobodys = {
        .pool = pool, .kind = SP_REGION_LARGE, .size = bytes, .reach = SP_RULE_COMPLETE};
    struct plan plan;
    CUresult error = map_for(&nobodys, &plan);
    if (error != CUDA_SUCCESS)
        return error;
    sp_lock_acquire(&pool->lock);
    sp_settle_insert(pool, publish_locked(pool, &plan));
    sp_lock_release(&pool->lock);
    return CUDA_SUCCESS;
}

// ---------------------------------------------------------------------- memory for a stitched view

// Sets a hole of `bytes` aside: of the smallest that have as much the lowest one.
static CUresult set_hole_aside(struct sp_pool *pool, uint64_t bytes, struct plan *plan) {
    CUresult error = CUDA_ERROR_NOT_FOUND;
    *plan = (struct plan){.need = bytes, .amount = bytes};
    sp_lock_acquire(&pool->lock);
    const struct sp_tier *holes = &pool->regions[SP_REGION_LARGE].holes;
    unsigned looks = 0;
    for (struct sp_block *b = sp_tier_best_fit(holes, bytes); b && looks < HOLES_LOOKED_AT;
         b = sp_tier_next(b), looks++) {
        if (!plan->hole || b->address < plan->hole->address)
            plan->hole = b;
    }
    if (plan->hole) {
        sp_tier_remove(plan->hole);
        error = cut_locked(pool, plan, bytes) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
        if (error != CUDA_SUCCESS)
            undo_locked(pool, plan);
    }
    sp_lock_release(&pool->lock);
    return error;
}

// The same, in address space that is got for it if need be.
static CUresult prepare_aside(struct sp_pool *pool, uint64_t bytes, struct plan *plan) {
    CUresult error = set_hole_aside(pool, bytes, plan);
    sp_lock_acquire(&pool->lock);
    struct sp_segment *segment = sp_segment_to_extend(&pool->regions[SP_REGION_LARGE]);
    sp_lock_release(&pool->lock);
    if (error == CUDA_ERROR_NOT_FOUND && segment) {
        error = sp_segment_extend(segment, bytes);
        if (error == CUDA_SUCCESS)
            error = set_hole_aside(pool, bytes, plan);
    }
    if (error == CUDA_ERROR_NOT_FOUND) {
        error = sp_segment_add(pool, SP_REGION_LARGE, bytes);
        if (error == CUDA_SUCCESS)
            error = set_hole_aside(pool, bytes, plan);
    }
    return error;
}

CUresult sp_grow_aside(struct sp_pool *pool, uint64_t bytes, struct sp_block **block) {
    struct plan plan;
    uint64_t amount = sp_round_up(bytes, granule_of(pool));
    if (amount > pool->limit - sp_load_relaxed(&pool->reserved))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult error = prepare_aside(pool, amount, &plan);
    if (error != CUDA_SUCCESS)
        return error;
    struct sp_segment *segment = sp_segment_of(plan.hole);
    error = map(pool, &plan);
    if (error != CUDA_SUCCESS)
        undo(pool, &plan, segment);
    *block = plan.hole;
    return error;
}

void sp_grow_count(struct sp_pool *pool, const struct sp_block *block, uint64_t bytes) {
    count_mapped(pool, block, bytes);
}

void sp_grow_back(struct sp_pool *pool, struct sp_block *block) {
    struct plan plan = {.hole = block};
    struct sp_segment *segment = sp_segment_of(block);
    size_t mapped = block->size;
    sp_view_unmap_back(&segment->view, block->address, &mapped);
    if (mapped > 0)
        keep_mapped(pool, &plan, mapped);
    undo(pool, &plan, segment);
}
