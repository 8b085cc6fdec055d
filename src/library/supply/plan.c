#include "supply/plan.h"

#include "base/number.h"
#include "base/thread.h"
#include "region/device.h"
#include "region/segment.h"
#include "region/settle.h"
#include "supply/growth.h"

// So many holes are compared at most, and of the rows in front of them so many blocks beside the
// last of each. A program that trims now and then comes to fewer.
enum { HOLES_LOOKED_AT = 1024, FRONTS_LOOKED_AT = 1024 };

// -------------------------------------------------------------------------------------- the choice

// Returns the plan to map into a hole, null where it is still to be made, behind a block or at a
// segment's begin (null). A segment for fixed blocks has one extent at most: two would become one
// free block.
static struct sp_plan plan_behind(const struct sp_request *request, struct sp_block *before,
                                  struct sp_block *hole, unsigned *fronts) {
    struct sp_plan plan = {.hole = hole, .need = UINT64_MAX, .ahead = !request->lane};
    if (request->kind == SP_REGION_FIXED && (before || (hole && hole->next)))
        return plan;
    plan.front = sp_row_up_to(request, before, request->size, fronts);
    plan.need = sp_round_up(request->size - plan.front.size, request->pool->device->vmm.granule);
    return plan;
}

static bool keep_better_plan(const struct sp_request *request, struct sp_block *hole,
                             unsigned *fronts, struct sp_plan *best) {
    struct sp_plan plan = plan_behind(request, hole->prev, hole, fronts);
    if (plan.need <= hole->size && plan.need < best->need)
        *best = plan;
    return best->hole != NULL;
}

// Returns the plan that maps least, among the smallest holes, of which a pool has few unless trims
// have torn it to pieces. If none of these will do, any hole that does is taken.
static struct sp_plan best_plan(const struct sp_request *request, unsigned *fronts) {
    struct sp_plan best = {.need = UINT64_MAX};
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
static struct sp_plan plan_for(const struct sp_request *request) {
    unsigned fronts = FRONTS_LOOKED_AT;
    struct sp_plan best = best_plan(request, &fronts);
    struct sp_segment *segment = sp_segment_to_extend(&request->pool->regions[request->kind]);
    if (!segment)
        return best;
    struct sp_block *last = sp_chain_last(&segment->chain);
    bool is_hole = sp_block_state(last) == SP_BLOCK_HOLE;
    struct sp_plan plan =
        plan_behind(request, is_hole ? last->prev : last, is_hole ? last : NULL, &fronts);
    plan.behind = segment;
    return plan.need < best.need ? plan : best;
}

uint64_t sp_plan_least(const struct sp_request *request) {
    uint64_t alone = // in a segment of its own
        sp_round_up(request->size, request->pool->device->vmm.granule);
    uint64_t least = plan_for(request).need;
    return sp_min(least, alone);
}

// ----------------------------------------------------------------------------------- setting aside

// Puts everything of a plan back to where it was. This needs no host memory: holes have no fences
// to join.
static void undo_locked(struct sp_pool *pool, const struct sp_plan *plan) {
    if (plan->hole)
        sp_segment_insert_hole(plan->hole);
    if (plan->rest)
        sp_segment_insert_hole(plan->rest);
    if (plan->front.first) {
        sp_settle_insert(pool, plan->front.first);
        sp_in_flight_put(&pool->in_flight);
    }
}

// Cuts the hole as the picture in plan.h shows. False without host memory.
static bool cut_locked(struct sp_plan *plan, uint64_t size) {
    struct sp_block *first = plan->front.first ? plan->front.first : plan->hole;
    uint64_t used = size - plan->front.size;
    if (!sp_fence_set_reserve(&first->fences, 1))
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

void sp_plan_undo(struct sp_pool *pool, const struct sp_plan *plan, struct sp_segment *segment) {
    sp_lock_acquire(&pool->lock);
    undo_locked(pool, plan);
    sp_lock_release(&pool->lock);
    sp_segment_tidy(segment);
}

// Makes a plan and sets its blocks aside. SP_NO_HOLE when none is large enough, and SP_TOO_SHORT
// when a segment must be extended first, the one that the plan is behind.
static struct sp_outcome prepare_locked(const struct sp_request *request, struct sp_plan *plan) {
    struct sp_pool *pool = request->pool;
    *plan = plan_for(request);
    if (plan->need == UINT64_MAX)
        return sp_outcome_of(SP_NO_HOLE);
    plan->amount = sp_growth_amount(pool, request->kind, plan->need);
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
static struct sp_outcome prepare(const struct sp_request *request, struct sp_plan *plan) {
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

// The plan where nothing joins: a segment of its own, whose memory is there already and only has to
// be counted. It gets only what is needed if the device hasn't got more.
static struct sp_outcome prepare_alone(const struct sp_request *request, struct sp_plan *plan) {
    struct sp_pool *pool = request->pool;
    uint64_t bytes = sp_round_up(request->size, pool->device->vmm.granule);
    *plan = (struct sp_plan){.amount = sp_growth_amount(pool, request->kind, bytes),
                             .ahead = !request->lane};
    if (plan->ahead && plan->amount > bytes)
        plan->amount = bytes; // nobody asked for more
    if (plan->amount < bytes)
        return sp_outcome_of(SP_BEYOND_LIMIT);
    const struct sp_stream *stream = request->lane ? request->lane->stream : NULL;
    uint64_t begin = sp_time_now();
    struct sp_outcome outcome =
        sp_segment_add(pool, request->kind, plan->amount, stream, &plan->hole);
    if (sp_outcome_lacks_memory(outcome) && plan->amount > bytes) {
        plan->amount = bytes;
        outcome = sp_segment_add(pool, request->kind, bytes, stream, &plan->hole);
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
    sp_plan_undo(pool, plan, segment);
    return sp_outcome_of(SP_NO_HOST_MEMORY);
}

struct sp_outcome sp_plan_make(const struct sp_request *request, struct sp_plan *plan) {
    struct sp_pool *pool = request->pool;
    if (!sp_vmm_provider(&pool->device->vmm)->joins)
        return prepare_alone(request, plan);
    struct sp_outcome outcome = prepare(request, plan);
    if (outcome.cause != SP_NO_HOLE)
        return outcome;
    uint64_t bytes = sp_round_up(request->size, pool->device->vmm.granule);
    uint64_t amount = sp_growth_amount(pool, request->kind, bytes);
    outcome = sp_segment_add(pool, request->kind, sp_max(amount, bytes), NULL, NULL);
    return sp_is_done(outcome) ? prepare(request, plan) : outcome;
}

bool sp_plan_reduce(struct sp_pool *pool, struct sp_plan *plan) {
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

// ----------------------------------------------------------------------------- for a stitched view

// Sets a hole of `bytes` aside: the lowest of the smallest that have as much.
static struct sp_outcome set_hole_aside(struct sp_pool *pool, uint64_t bytes,
                                        struct sp_plan *plan) {
    struct sp_outcome outcome = sp_outcome_of(SP_NO_HOLE);
    *plan = (struct sp_plan){.need = bytes, .amount = bytes};
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

struct sp_outcome sp_plan_make_aside(struct sp_pool *pool, uint64_t bytes, struct sp_plan *plan) {
    struct sp_outcome outcome = set_hole_aside(pool, bytes, plan);
    sp_lock_acquire(&pool->lock);
    struct sp_segment *segment = sp_segment_to_extend(&pool->regions[SP_REGION_LARGE]);
    sp_lock_release(&pool->lock);
    if (outcome.cause == SP_NO_HOLE && segment) {
        outcome = sp_segment_extend(segment, bytes);
        if (sp_is_done(outcome))
            outcome = set_hole_aside(pool, bytes, plan);
    }
    if (outcome.cause == SP_NO_HOLE) {
        outcome = sp_segment_add(pool, SP_REGION_LARGE, bytes, NULL, NULL);
        if (sp_is_done(outcome))
            outcome = set_hole_aside(pool, bytes, plan);
    }
    return outcome;
}
