#include "supply/grow.h"

#include "base/log.h"
#include "base/number.h"
#include "base/thread.h"
#include "order/context.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/find.h"
#include "region/owner.h"
#include "region/refine.h"
#include "region/retain.h"
#include "region/row.h"
#include "region/segment.h"
#include "region/settle.h"
#include "supply/growth.h"

// ---------------------------------------------------------------------------------------- the plan

// Under the pool's lock a plan is made: the hole to map into, and the free memory in front of it
// that the lane may use, so that new memory joins free memory best. Both are set aside (BUSY), cut
// as they will be needed, with room for every fence.
//
//        front      hole                rest
//      |=========|------------------|----------|      free | used part | free, ready for anybody
//      '---- the new block ---------'                 ^ mapped from here to the end
//
// On a plain device (vmm/device.h) each growth is a new segment, all of which is mapped.
//
// A new segment is a last choice elsewhere: memory in many segments can't join. So one is extended
// where it can be (region/segment.h), and a plan counts on that.
struct plan {
    struct sp_row front;       // free memory to begin with: once set aside, its first block is all
    struct sp_block *hole;     // once set aside: what of the mapped memory the new block takes
    struct sp_block *rest;     // once set aside: the mapped memory behind it, or null
    struct sp_segment *behind; // to be extended first: the hole is too small, or there is none yet
    uint64_t need;             // the least that must be mapped
    uint64_t amount;           // what is mapped
    bool ahead;                // for requests to come, and not for one
};

// So many holes are compared at most, and of the rows in front of them so many blocks beside the
// last of each. A program that trims now and then comes to fewer.
enum { HOLES_LOOKED_AT = 1024, FRONTS_LOOKED_AT = 1024 };

// Returns the plan to map into a hole, null where it is still to be made, behind a block or at a
// segment's begin (null). A segment for fixed blocks has one extent at most: two would become one
// free block.
static struct plan plan_behind(const struct sp_request *request, struct sp_block *before,
                               struct sp_block *hole, unsigned *fronts) {
    struct plan plan = {.hole = hole, .need = UINT64_MAX, .ahead = !request->lane};
    if (request->kind == SP_REGION_FIXED && (before || (hole && hole->next)))
        return plan;
    plan.front = sp_row_up_to(request, before, request->size, fronts);
    plan.need = sp_round_up(request->size - plan.front.size, request->pool->device->vmm.granule);
    return plan;
}

static bool keep_better_plan(const struct sp_request *request, struct sp_block *hole,
                             unsigned *fronts, struct plan *best) {
    struct plan plan = plan_behind(request, hole->prev, hole, fronts);
    if (plan.need <= hole->size && plan.need < best->need)
        *best = plan;
    return best->hole != NULL;
}

// Returns the plan that maps least, among the smallest holes, of which a pool has few unless trims
// have torn it to pieces. If none of these will do, any hole that does is taken.
static struct plan best_plan(const struct sp_request *request, unsigned *fronts) {
    struct plan best = {.need = UINT64_MAX};
    const struct sp_tier *holes = &request->pool->regions[request->kind].holes;
    struct sp_block *b = sp_tier_first(holes);
    for (unsigned looks = 0; b && looks < HOLES_LOOKED_AT; looks++, b = sp_tier_next(b))
        keep_better_plan(request, b, fronts, &best);
    if (!b || best.hole)
        return best;
    struct sp_block *fit =
        sp_tier_best_fit(holes, sp_round_up(request->size, request->pool->device->vmm.granule));
    if (fit && keep_better_plan(request, fit, fronts, &best))
        return best;
    while (b && !keep_better_plan(request, b, fronts, &best))
        b = sp_tier_next(b);
    return best;
}

// Returns the plan that maps least, in the address space that there is where that is no worse than
// at the end of a segment, which is extended for it. Its `need` is UINT64_MAX when there is none.
static struct plan plan_for(const struct sp_request *request) {
    unsigned fronts = FRONTS_LOOKED_AT;
    struct plan best = best_plan(request, &fronts);
    struct sp_segment *segment = sp_segment_to_extend(&request->pool->regions[request->kind]);
    if (!segment)
        return best;
    struct sp_block *last = sp_chain_last(&segment->chain);
    bool is_hole = sp_block_state(last) == SP_BLOCK_HOLE;
    struct plan plan =
        plan_behind(request, is_hole ? last->prev : last, is_hole ? last : NULL, &fronts);
    plan.behind = segment;
    return plan.need < best.need ? plan : best;
}

uint64_t sp_grow_least(const struct sp_request *request) {
    uint64_t alone = // in a segment of its own
        sp_round_up(request->size, request->pool->device->vmm.granule);
    uint64_t least = plan_for(request).need;
    return sp_min(least, alone);
}

// ----------------------------------------------------------------------------------- setting aside

// Puts everything of a plan back to where it was. This needs no host memory: holes have no fences
// to join.
static void undo_locked(struct sp_pool *pool, const struct plan *plan) {
    if (plan->hole)
        sp_segment_insert_hole(plan->hole);
    if (plan->rest)
        sp_segment_insert_hole(plan->rest);
    if (plan->front.first) {
        sp_settle_insert(pool, plan->front.first);
        sp_in_flight_put(&pool->in_flight);
    }
}

// Cuts the hole as the picture shows. False without host memory.
static bool cut_locked(struct plan *plan, uint64_t size) {
    struct sp_block *first = plan->front.first ? plan->front.first : plan->hole;
    uint64_t used = size - plan->front.size;
    if (!sp_fence_set_reserve(&first->fences, 1) || !sp_owner_has_room(first->address, size))
        return false;
    if (plan->amount < plan->hole->size) {
        struct sp_block *remaining = sp_block_split(plan->hole, plan->amount);
        if (!remaining)
            return false;
        sp_segment_insert_hole(remaining);
    }
    if (used < plan->amount) {
        plan->rest = sp_block_split(plan->hole, used);
        return plan->rest != NULL;
    }
    return true;
}

// Undoes it, and gives back the segment's address space that isn't needed after all.
static void undo(struct sp_pool *pool, const struct plan *plan, struct sp_segment *segment) {
    sp_lock_acquire(&pool->lock);
    undo_locked(pool, plan);
    sp_lock_release(&pool->lock);
    sp_segment_tidy(segment);
}

// Makes a plan and sets its blocks aside. SP_NO_HOLE when none is large enough, and SP_TOO_SHORT
// when a segment must be extended first, the one that the plan is behind.
static struct sp_outcome prepare_locked(const struct sp_request *request, struct plan *plan) {
    struct sp_pool *pool = request->pool;
    *plan = plan_for(request);
    if (plan->need == UINT64_MAX)
        return sp_outcome_of(SP_NO_HOLE);
    plan->amount = sp_growth_amount(pool, request->kind, plan->need);
    if (request->refine == SP_REFINE_AVOID) // no more than was counted
        plan->amount = sp_min(plan->amount, sp_max(plan->need, sp_refine_size(request->size)));
    if (plan->amount < plan->need)
        return sp_outcome_of(SP_BEYOND_LIMIT);
    if (!plan->behind && !plan->hole->next && plan->amount > plan->hole->size) {
        // The last hole is extended where that can be, and else a smaller one has to do.
        struct sp_segment *segment = sp_segment_to_extend(&pool->regions[request->kind]);
        plan->behind = segment == sp_segment_of(plan->hole) ? segment : NULL;
    }
    if (plan->behind)
        return sp_outcome_of(SP_TOO_SHORT);
    if (plan->amount > plan->hole->size)
        plan->amount = plan->hole->size;
    sp_tier_remove(plan->hole);
    bool joined = true; // the memory in front of the hole, to one block
    if (plan->front.first) {
        sp_in_flight_take(&pool->in_flight);
        joined = sp_row_join(pool, plan->front, plan->front.size)->size == plan->front.size;
    }
    if (joined && cut_locked(plan, request->size))
        return sp_outcome_done();
    undo_locked(pool, plan);
    return sp_outcome_of(SP_NO_HOST_MEMORY);
}

// A segment that can't be extended isn't asked again, so this ends.
static struct sp_outcome prepare(const struct sp_request *request, struct plan *plan) {
    for (;;) {
        sp_lock_acquire(&request->pool->lock);
        struct sp_outcome outcome = prepare_locked(request, plan);
        sp_lock_release(&request->pool->lock);
        if (outcome.cause != SP_TOO_SHORT)
            return outcome;
        outcome = sp_segment_extend(plan->behind, plan->amount);
        if (!sp_is_done(outcome))
            return outcome;
    }
}

static struct sp_outcome add_alone(const struct sp_request *request, uint64_t bytes,
                                   struct sp_block **hole) {
    struct sp_pool *pool = request->pool;
    const struct sp_stream *stream = request->lane ? request->lane->stream : NULL;
    struct sp_outcome outcome = sp_vmm_device_begin_taking(&pool->device->vmm, bytes);
    if (!sp_is_done(outcome))
        return outcome;
    outcome = sp_segment_add(pool, request->kind, bytes, stream, hole);
    sp_vmm_device_end_taking(&pool->device->vmm, bytes);
    return outcome;
}

// The plan where nothing joins: a segment of its own, whose memory is there already and only has to
// be counted. It gets only what is needed if the device hasn't got more.
static struct sp_outcome prepare_alone(const struct sp_request *request, struct plan *plan) {
    struct sp_pool *pool = request->pool;
    uint64_t bytes = sp_round_up(request->size, pool->device->vmm.granule);
    *plan = (struct plan){.amount = sp_growth_amount(pool, request->kind, bytes),
                          .ahead = !request->lane};
    if (plan->ahead && plan->amount > bytes)
        plan->amount = bytes; // nobody asked for more
    if (plan->amount < bytes)
        return sp_outcome_of(SP_BEYOND_LIMIT);
    uint64_t begin = sp_time_now();
    struct sp_outcome outcome = add_alone(request, plan->amount, &plan->hole);
    if (sp_outcome_lacks_memory(outcome) && plan->amount > bytes) {
        plan->amount = bytes;
        outcome = add_alone(request, bytes, &plan->hole);
    }
    sp_pool_add(pool, SP_STATISTIC_GrowthTime, sp_time_now() - begin);
    if (!sp_is_done(outcome))
        return outcome;
    plan->need = plan->amount;
    struct sp_segment *segment = sp_segment_of(plan->hole);
    sp_lock_acquire(&pool->lock);
    bool cut = cut_locked(plan, request->size);
    sp_lock_release(&pool->lock);
    if (cut)
        return sp_outcome_done();
    undo(pool, plan, segment);
    return sp_outcome_of(SP_NO_HOST_MEMORY);
}

// Gives back what is to be mapped beyond the need. False when all of it is needed, or without host
// memory.
static bool reduce(struct sp_pool *pool, struct plan *plan) {
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
        sp_segment_insert_hole(surplus);
    sp_lock_release(&pool->lock);
    if (surplus)
        plan->amount = plan->need;
    return surplus != NULL;
}

// ----------------------------------------------------------------------------------------- growing

void sp_grow_count(struct sp_pool *pool, const struct sp_block *block, uint64_t bytes) {
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
        sp_grow_count(pool, plan->hole, mapped);
        sp_settle_insert(pool, plan->hole);
    } else {
        sp_log_warn("no host memory: %zu MiB of device memory are lost", (size_t)(mapped >> 20));
    }
    plan->hole = unmapped;
    sp_lock_release(&pool->lock);
}

// Maps the amount, or only what is needed if the device hasn't got more. Very much is mapped in
// several extents, but in one where the device has less left by what is known in the context, or
// null: either the driver takes that back from others of the process, or one call tells.
static struct sp_outcome map(struct sp_pool *pool, CUcontext context, struct plan *plan) {
    const struct sp_vmm_device *device = &pool->device->vmm;
    struct sp_segment *segment = sp_segment_of(plan->hole);
    struct sp_outcome outcome;
    uint64_t mapped = 0;
    do {
        uint64_t taken = segment->view.provider->joins ? plan->amount : 0; // else it is there
        uint64_t extent =
            sp_growth_extent(pool, segment->kind, plan->amount, plan->need, plan->ahead);
        if (context && extent == SP_EXTENT_MAX && sp_context_free_memory(context) < plan->amount)
            extent = plan->amount;
        // Small blocks take what this one leaves of its last granule, and hold no large extent so.
        bool parts = extent >= SP_EXTENT_PARTED_MIN && plan->rest &&
                     segment->kind == SP_REGION_LARGE && segment->view.provider->divides;
        uint64_t begin = sp_time_now();
        outcome = sp_vmm_device_begin_taking(device, taken);
        if (sp_is_done(outcome)) {
            outcome = sp_view_map_pieces(&segment->view, plan->hole->address, plan->amount, extent,
                                         parts ? device->granule : 0, &mapped);
            sp_vmm_device_end_taking(device, taken);
        }
        sp_pool_add(pool, SP_STATISTIC_GrowthTime, sp_time_now() - begin);
    } while (mapped == 0 && sp_outcome_lacks_memory(outcome) && reduce(pool, plan));
    if (!sp_is_done(outcome) && mapped > 0)
        keep_mapped(pool, plan, mapped);
    return outcome;
}

static struct sp_block *publish_locked(struct sp_pool *pool, const struct plan *plan) {
    struct sp_block *block = plan->hole;
    sp_grow_count(pool, block, plan->amount);
    if (plan->rest)
        sp_settle_insert(pool, plan->rest);
    if (plan->front.first) {
        block = plan->front.first;
        sp_block_absorb_next(block); // a hole brings no fences, so this needs no memory
        sp_in_flight_put(&pool->in_flight);
    }
    if (!plan->ahead)
        sp_retain_note_use(pool);
    sp_block_set_live(block);
    return block;
}

// Plans, in address space that is got for it if need be, and maps; what is left is to publish.
// Where the device refuses, it may get another provider by that: a stream is to be admitted to that
// first.
static struct sp_outcome map_for(const struct sp_request *request, struct plan *plan) {
    struct sp_pool *pool = request->pool;
    struct sp_vmm_device *device = &pool->device->vmm;
    const struct sp_vmm_provider *provider = sp_vmm_provider(device);
    if (sp_pool_residency(pool) == SP_EVICTED)
        return sp_outcome_of(SP_FORBIDDEN);
    struct sp_outcome outcome =
        provider->joins ? prepare(request, plan) : prepare_alone(request, plan);
    if (outcome.cause == SP_NO_HOLE) {
        uint64_t bytes = sp_round_up(request->size, device->granule);
        uint64_t amount = sp_growth_amount(pool, request->kind, bytes);
        outcome = sp_segment_add(pool, request->kind, sp_max(amount, bytes), NULL, NULL);
        if (sp_is_done(outcome))
            outcome = prepare(request, plan);
    }
    if (sp_is_done(outcome)) {
        struct sp_segment *segment = sp_segment_of(plan->hole);
        outcome = map(pool, request->lane ? sp_request_context(request) : NULL, plan);
        if (!sp_is_done(outcome))
            undo(pool, plan, segment);
    }
    if (sp_is_done(outcome))
        sp_vmm_device_note_mapped(device);
    else if (sp_outcome_lacks_support(outcome) && sp_vmm_device_change_from(device, provider) &&
             !request->lane)
        outcome = map_for(request, plan);
    return outcome;
}

struct sp_outcome sp_grow(struct sp_request *request, struct sp_block **block) {
    struct sp_pool *pool = request->pool;
    struct sp_outcome outcome = sp_outcome_done();
    struct plan plan;
    sp_pool_begin_mapping(pool);
    *block = sp_find(request); // another thread may have grown while this one waited
    if (!*block) {
        if (request->listener) { // before anything is set aside
            sp_request_tell(request, begin(request));
            sp_lock_acquire(&pool->lock);
            sp_request_tell(request, look(request));
            sp_lock_release(&pool->lock);
        }
        if (request->kind == SP_REGION_LARGE)
            sp_growth_note(pool, request->size);
        outcome = map_for(request, &plan);
    }
    if (!*block && sp_is_done(outcome)) {
        sp_lock_acquire(&pool->lock);
        sp_request_tell(request, growth(request, plan.hole, plan.amount, plan.front.size));
        *block = publish_locked(pool, &plan);
        sp_request_took_locked(request, SP_RULE_NONE);
        sp_lock_release(&pool->lock);
    }
    sp_pool_end_mapping(pool);
    return outcome;
}

struct sp_outcome sp_grow_ahead(struct sp_pool *pool, uint64_t bytes) {
    struct sp_request nobodys = {
        .pool = pool, .kind = SP_REGION_LARGE, .unit = 1, .size = bytes, .reach = SP_RULE_COMPLETE};
    struct plan plan;
    struct sp_outcome outcome = map_for(&nobodys, &plan);
    if (!sp_is_done(outcome))
        return outcome;
    sp_lock_acquire(&pool->lock);
    sp_settle_insert(pool, publish_locked(pool, &plan));
    sp_lock_release(&pool->lock);
    return sp_outcome_done();
}

// ---------------------------------------------------------------------- memory for a stitched view

// Sets a hole of `bytes` aside: the lowest of the smallest that have as much.
static struct sp_outcome set_hole_aside(struct sp_pool *pool, uint64_t bytes, struct plan *plan) {
    struct sp_outcome outcome = sp_outcome_of(SP_NO_HOLE);
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
        outcome = cut_locked(plan, bytes) ? sp_outcome_done() : sp_outcome_of(SP_NO_HOST_MEMORY);
        if (!sp_is_done(outcome))
            undo_locked(pool, plan);
    }
    sp_lock_release(&pool->lock);
    return outcome;
}

struct sp_outcome sp_grow_aside(struct sp_pool *pool, uint64_t bytes, struct sp_block **block) {
    struct plan plan;
    uint64_t amount = sp_round_up(bytes, pool->device->vmm.granule);
    if (amount > sp_figures_below_limit(pool))
        return sp_outcome_of(SP_BEYOND_LIMIT);
    if (sp_pool_residency(pool) == SP_EVICTED)
        return sp_outcome_of(SP_FORBIDDEN);
    struct sp_outcome outcome = set_hole_aside(pool, amount, &plan);
    sp_lock_acquire(&pool->lock);
    struct sp_segment *segment = sp_segment_to_extend(&pool->regions[SP_REGION_LARGE]);
    sp_lock_release(&pool->lock);
    if (outcome.cause == SP_NO_HOLE && segment) {
        outcome = sp_segment_extend(segment, amount);
        if (sp_is_done(outcome))
            outcome = set_hole_aside(pool, amount, &plan);
    }
    if (outcome.cause == SP_NO_HOLE) {
        outcome = sp_segment_add(pool, SP_REGION_LARGE, amount, NULL, NULL);
        if (sp_is_done(outcome))
            outcome = set_hole_aside(pool, amount, &plan);
    }
    if (!sp_is_done(outcome))
        return outcome;
    segment = sp_segment_of(plan.hole);
    outcome = map(pool, NULL, &plan);
    if (!sp_is_done(outcome))
        undo(pool, &plan, segment);
    *block = plan.hole;
    return outcome;
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
