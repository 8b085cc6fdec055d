#include "calls/miss.h"

#include "base/cold.h"
#include "calls/admit.h"
#include "calls/ladder.h"
#include "calls/rung.h"
#include "calls/sight.h"
#include "calls/wait.h"
#include "order/poll.h"
#include "order/resolve.h"
#include "region/ask.h"
#include "region/at_hand.h"
#include "region/collect.h"
#include "region/device.h"
#include "region/in_flight.h"
#include "region/loose.h"
#include "region/quick.h"
#include "region/settle.h"
#include "tell/explain.h"
#include "tell/refusal.h"

// A slab's blocks go by their streams' order, and what completes there isn't known of each: so a
// block that must be complete is a block of its own, whatever its size.
static bool is_small(const struct sp_miss *miss) {
    return miss->size <= SP_SMALL_MAX &&
           !(miss->flags & (poolMallocFixed | poolMallocCompleteOnly));
}

// The ladder is asked for the slab that a small block is cut from, or for the block.
static bool takes_slab(const struct sp_miss *miss) {
    return is_small(miss) && !miss->loose;
}

static uint64_t wanted_size(const struct sp_miss *miss) {
    return takes_slab(miss) ? sp_size_classes[sp_slab_class_of(miss->size)].pages * SP_PAGE_SIZE
                            : sp_at_hand_round_large(miss->size);
}

static enum sp_region_kind wanted_kind(const struct sp_miss *miss) {
    if (miss->flags & poolMallocFixed)
        return SP_REGION_FIXED;
    return miss->size <= SP_SMALL_MAX ? SP_REGION_PAGES : SP_REGION_LARGE;
}

static struct sp_outcome climb(const struct sp_miss *miss, unsigned parts,
                               struct sp_block **block) {
    struct sp_request request;
    sp_request_open(&request, miss->pool, miss->lane, wanted_kind(miss), wanted_size(miss),
                    miss->flags);
    request.in_flight = takes_slab(miss) ? &miss->pool->in_flight : NULL;
    if (miss->growth)
        sp_explain_watch(&request, miss->growth);
    request.growth = miss->lacked;
    struct sp_outcome outcome = sp_ladder_climb(&request, parts, block);
    if (sp_is_done(outcome) && miss->growth)
        sp_explain_complete(&request, sp_rung_may_ask_others(&request));
    sp_request_close(&request);
    return outcome;
}

static struct sp_outcome take_block(const struct sp_miss *miss, unsigned parts, uint64_t *address) {
    struct sp_block *block;
    struct sp_outcome outcome = climb(miss, parts, &block);
    if (!sp_is_done(outcome))
        return outcome;
    sp_owner_set_block(block);
    *address = sp_at_hand_give_out(miss->lane, block, miss->size);
    return outcome;
}

static bool is_large(const struct sp_miss *miss) {
    return !is_small(miss);
}

static bool may_take_slab(const struct sp_miss *miss) {
    return is_small(miss) && !sp_load_relaxed(&miss->lane->is_alien) &&
           !sp_loose_is_due(miss->pool, sp_slab_class_of(miss->size));
}

static bool has_shelves(const struct sp_miss *miss) {
    return sp_load_acquire(&miss->lane->next_shelf) && may_take_slab(miss);
}

// ------------------------------------------------------------------------------------ small blocks

// Takes one that a shelf has at hand.
SP_COLD static uint64_t take_from(const struct sp_miss *miss, struct sp_lane *shelf, bool is_hit) {
    sp_biased_lock_acquire(&shelf->lock);
    uint64_t address = sp_at_hand_take_small_locked(shelf, miss->size, miss->flags, NULL);
    if (address && is_hit)
        sp_at_hand_count_hit_locked(shelf);
    sp_biased_lock_release(&shelf->lock);
    return address;
}

// Or that any of the lane's shelves has: the thread stays with the one that has some.
static uint64_t take_from_any(const struct sp_miss *miss, bool is_hit) {
    uint64_t address = take_from(miss, miss->shelf, is_hit);
    for (struct sp_lane *shelf = miss->lane; shelf && !address;
         shelf = sp_load_acquire(&shelf->next_shelf)) {
        if (shelf == miss->shelf || sp_load_relaxed(&shelf->slab_count) == 0)
            continue;
        address = take_from(miss, shelf, is_hit);
        if (address)
            sp_lane_go_to_shelf(miss->lane, shelf);
    }
    return address;
}

// Takes the first block of a new slab, which becomes the lane's. Its descriptor comes first: the
// pool doesn't grow for one that can't be had. What the climb takes for a slab is in flight until
// the slab is its lane's.
SP_COLD static struct sp_outcome take_from_new_slab(const struct sp_miss *miss, unsigned parts,
                                                    uint64_t *address) {
    struct sp_lane *shelf = miss->shelf;
    struct sp_block *run = NULL;
    struct sp_slab *slab = sp_slab_create(sp_slab_class_of(miss->size));
    if (!slab)
        return sp_outcome_of(SP_NO_HOST_MEMORY);
    struct sp_outcome outcome = climb(miss, parts, &run);
    if (!sp_is_done(outcome)) {
        sp_slab_destroy(slab);
        return outcome;
    }
    sp_slab_set_run(slab, run);
    slab->owner = shelf;
    sp_owner_set_run(run, slab);
    sp_biased_lock_acquire(&shelf->lock);
    sp_at_hand_note_owed_locked(shelf, slab, &run->fences);
    sp_lane_own_slab_locked(shelf, slab);
    sp_list_push_back(&shelf->slabs[slab->class_index], &slab->link);
    *address = sp_at_hand_take_from_slab_locked(slab, miss->size);
    sp_biased_lock_release(&shelf->lock);
    sp_in_flight_put(&miss->pool->in_flight);
    return outcome;
}

// Those that other streams have returned to the lane's slabs, and that its stream can't have as it
// is.
static bool has_returned(const struct sp_miss *miss) {
    bool has = false;
    for (struct sp_lane *shelf = miss->lane; shelf && !has;
         shelf = sp_load_acquire(&shelf->next_shelf)) {
        sp_biased_lock_acquire(&shelf->lock);
        has = !sp_list_empty(&shelf->returned_slabs[sp_slab_class_of(miss->size)]);
        sp_biased_lock_release(&shelf->lock);
    }
    return has;
}

// Takes a small block once something was learned, and counts it as `counts`.
SP_COLD static uint64_t take_learned(const struct sp_miss *miss, enum sp_statistic counts) {
    uint64_t address = take_from_any(miss, false);
    if (address)
        sp_pool_count(miss->pool, counts);
    return address;
}

// Takes one that a question to a few streams and contexts, by turns, brings back. It asks whether
// their contexts are gone, and, where the policy allows it, whether the recorded events are
// complete.
static struct sp_outcome take_returned(const struct sp_miss *miss, uint64_t *address) {
    const struct sp_stream *stream = miss->lane->stream;
    if (!has_returned(miss))
        return sp_outcome_done();
    if (sp_end_some_gone_contexts(stream))
        *address = take_learned(miss, SP_STATISTIC_ReuseComplete);
    if (!*address && !(miss->flags & poolMallocSameStreamOnly) && sp_pool_may_ask(miss->pool) &&
        sp_is_done(sp_poll_some_of(stream, SP_POLL_SOME)))
        *address = take_learned(miss, SP_STATISTIC_ReuseFoundComplete);
    return sp_outcome_done();
}

// Copies the fences of the first slab with returned blocks that the stream can be made to wait for.
// False where there is none, or no host memory.
static bool find_awaitable(const struct sp_request *request, unsigned class_index,
                           struct sp_fence_set *fences) {
    bool found = false;
    for (struct sp_lane *shelf = request->lane; shelf && !found;
         shelf = sp_load_acquire(&shelf->next_shelf)) {
        sp_biased_lock_acquire(&shelf->lock);
        SP_LIST_FOR_EACH_OF(const struct sp_slab, slab, returned_link,
                            &shelf->returned_slabs[class_index]) {
            if (!found && sp_request_rule(request, &slab->foreign) <= SP_RULE_MADE_ORDERED)
                found = sp_fence_set_join(fences, &slab->foreign);
        }
        sp_biased_lock_release(&shelf->lock);
    }
    return found;
}

// The stream runs after the blocks then, whatever the policy on events is.
static uint64_t take_ordered(struct sp_request *request, size_t size) {
    uint64_t address = 0;
    sp_request_refresh(request);
    request->reach = SP_RULE_ORDERED;
    request->policies |= SP_POLICY_OWN_ORDER;
    for (struct sp_lane *shelf = request->lane; shelf && !address;
         shelf = sp_load_acquire(&shelf->next_shelf)) {
        sp_biased_lock_acquire(&shelf->lock);
        sp_at_hand_accept_returned_locked(shelf, request, sp_slab_class_of(size));
        address = sp_at_hand_take_small_locked(shelf, size, request->flags, NULL);
        sp_biased_lock_release(&shelf->lock);
    }
    return address;
}

// Once all has been asked: one that is complete by now, or one for which the stream is made to
// wait.
static struct sp_outcome take_returned_at_last(const struct sp_miss *miss, uint64_t *address) {
    struct sp_request request;
    struct sp_fence_set fences = {.count = 0};
    struct sp_outcome outcome = sp_outcome_of(SP_NO_EVENT);
    if (!has_returned(miss))
        return sp_outcome_done();
    *address = take_learned(miss, SP_STATISTIC_ReuseFoundComplete);
    if (*address)
        return sp_outcome_done();
    sp_request_open(&request, miss->pool, miss->lane, SP_REGION_PAGES, 0, miss->flags);
    if (sp_wait_is_allowed(&request) &&
        find_awaitable(&request, sp_slab_class_of(miss->size), &fences))
        outcome = sp_request_wait_for(&request, &fences);
    if (sp_is_done(outcome))
        *address = take_ordered(&request, miss->size);
    sp_fence_set_clear(&fences);
    sp_request_close(&request);
    if (*address)
        sp_pool_count(miss->pool, SP_STATISTIC_ReuseMadeOrdered);
    return outcome.cause == SP_NO_EVENT ? sp_outcome_done() : outcome;
}

// Once more, for a lane that has just come to be, or another thread's free.
static struct sp_outcome take_from_shelf(const struct sp_miss *miss, uint64_t *address) {
    *address = take_from(miss, miss->shelf, true);
    return sp_outcome_done();
}

static struct sp_outcome take_from_shelves(const struct sp_miss *miss, uint64_t *address) {
    *address = take_from_any(miss, true);
    return sp_outcome_done();
}

// ------------------------------------------------------------------------------------ large blocks

bool sp_miss_is_due_to_ask(const struct sp_lane *lane) {
    const struct sp_lanes *lanes = &lane->pool->lanes;
    return sp_pool_is_shared(lane->pool) && !sp_load_relaxed(&lanes->asks) &&
           ((sp_load_relaxed(&lanes->ask_each_miss) && !sp_quick_is_contended(lane)) ||
            sp_load_relaxed(&lane->misses) % SP_MISSES_PER_POLL == 0);
}

void sp_miss_count(struct sp_lane *lane) {
    if (!sp_pool_is_shared(lane->pool))
        return;
    uint32_t misses = sp_load_relaxed(&lane->misses);
    sp_store_relaxed(&lane->misses, misses + 1); // a hint: one of two at once may be lost
}

// A lane that misses looks after the others, where there are others: now and then it asks the
// events of some streams, by turns, so that the streams share what has completed before each has
// taken memory of its own. This request doesn't need it, so a driver that fails here is told of by
// the next call that does.
static struct sp_outcome look_after_others(const struct sp_miss *miss, uint64_t *address) {
    struct sp_pool *pool = miss->pool;
    bool ask = sp_miss_is_due_to_ask(miss->lane) && sp_pool_may_ask(pool);
    (void)address;
    sp_collect_quick(miss->lane, sp_settle_insert_and_swallow);
    sp_miss_count(miss->lane);
    if (!ask || atomic_exchange_explicit(&pool->lanes.asks, true, memory_order_relaxed))
        return sp_outcome_done();
    sp_ask_some_lazy_lanes(pool, miss->lane);
    sp_poll_some_of(miss->lane->stream, 1);
    sp_store_relaxed(&pool->lanes.asks, false);
    sp_lock_acquire(&pool->lock);
    sp_settle_part(pool);
    sp_lock_release(&pool->lock);
    return sp_outcome_done();
}

// --------------------------------------------------------------------------------------- the steps

// A miss tries these, in this order: it takes something, or climbs these parts of the ladder for
// the block or its slab, or for a `loose` block. When it looks AGAIN each climb is of
// SP_LADDER_AGAIN instead: for what may have come back since.
enum { FIRST = 1, AGAIN = 2 };
static const struct step {
    unsigned looks;
    bool (*when)(const struct sp_miss *miss);
    struct sp_outcome (*take)(const struct sp_miss *miss, uint64_t *address);
    unsigned parts;
    bool loose;
} steps[] = {
    {FIRST, is_large, look_after_others, 0, false},
    {FIRST | AGAIN, is_large, NULL, SP_LADDER_ALL, false},
    // A shelf takes free pages before what others have, so each thread comes to have a slab.
    {FIRST, is_small, take_from_shelf, 0, false},
    {FIRST, has_shelves, NULL, SP_LADDER_FREE, false},
    {FIRST | AGAIN, is_small, take_from_shelves, 0, false},
    {FIRST, is_small, take_returned, 0, false},
    // A loose block has room wherever a slab has, so nobody waits for a slab.
    {FIRST, may_take_slab, NULL, SP_LADDER_AT_ONCE, false},
    {FIRST, is_small, look_after_others, 0, true},
    {FIRST, is_small, NULL, SP_LADDER_AT_ONCE, true},
    {FIRST | AGAIN, is_small, NULL, SP_LADDER_STREAM_WAITS, true},
    {FIRST | AGAIN, is_small, take_returned_at_last, 0, false},
    {FIRST, is_small, NULL, SP_LADDER_HOST, true},
};

// Returns the last climb's outcome where none has any.
static struct sp_outcome serve(const struct sp_miss *miss, unsigned look, uint64_t *address) {
    struct sp_outcome lacking = sp_outcome_done();
    struct sp_miss wanted = *miss;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const struct step *step = &steps[i];
        if (!(step->looks & look) || !step->when(miss))
            continue;
        unsigned parts = look == AGAIN ? SP_LADDER_AGAIN : step->parts;
        wanted.loose = step->loose;
        struct sp_outcome outcome = step->take ? step->take(&wanted, address)
                                    : takes_slab(&wanted)
                                        ? take_from_new_slab(&wanted, parts, address)
                                        : take_block(&wanted, parts, address);
        if (*address || !(sp_is_done(outcome) || sp_outcome_lacks_memory(outcome)))
            return outcome;
        if (!sp_is_done(outcome)) {
            lacking = outcome;
            // that it was forbidden to grow is no lack of memory
            wanted.lacked = outcome.cause == SP_FORBIDDEN ? sp_outcome_done() : outcome;
        }
    }
    return lacking;
}

// ------------------------------------------------------------------------------- before a refusal

// Looks until all was still meanwhile, or so often that what moves is for others. Before each look
// it waits for memory that is in flight in other threads. Returns `refused` when nothing is found.
static struct sp_outcome look_until_still(const struct sp_miss *miss, struct sp_outcome refused,
                                          uint64_t *address) {
    enum { LOOKS_MOST = 16 };
    unsigned pauses = SP_IN_FLIGHT_PAUSES;
    bool still = sp_in_flight_is_ruled_out();
    for (unsigned looks = 0; !still && looks < LOOKS_MOST; looks++) {
        sp_in_flight_await(miss->pool, &pauses);
        struct sp_stillness begin = sp_in_flight_begin_look(miss->pool);
        struct sp_outcome outcome = serve(miss, AGAIN, address);
        still = sp_in_flight_end_look(miss->pool, &begin);
        if (!sp_outcome_lacks_memory(outcome))
            return outcome;
    }
    return refused;
}

struct sp_outcome sp_miss_serve(const struct sp_miss *miss, uint64_t *address) {
    *address = 0;
    struct sp_outcome outcome = serve(miss, FIRST, address);
    if (sp_outcome_lacks_memory(outcome))
        outcome = look_until_still(miss, outcome, address);
    if (!sp_is_done(outcome))
        return outcome;
    bool has_shelves = sp_load_acquire(&miss->lane->next_shelf) != NULL;
    struct sp_lane *lane = has_shelves ? sp_owner_lane(sp_owner_of(*address)) : miss->lane;
    sp_biased_lock_acquire(&lane->lock);
    bool covered = sp_at_hand_use_locked(lane, miss->size);
    sp_biased_lock_release(&lane->lock);
    if (!covered)
        sp_figures_cover(miss->pool, lane);
    return outcome;
}

poolError_t sp_miss_describe(const struct sp_miss *miss, struct sp_outcome outcome) {
    if (!sp_outcome_lacks_memory(outcome))
        return sp_admit_fail(miss->pool, miss->lane->stream, outcome, "allocating");
    struct sp_miss least = *miss;
    least.loose = true;
    sp_pool_count(miss->pool, SP_STATISTIC_Failures);
    struct sp_request request;
    sp_request_open(&request, miss->pool, miss->lane, wanted_kind(&least), wanted_size(&least),
                    miss->flags);
    struct sp_shortage shortage = sp_sight_shortage(&request, outcome, miss->size);
    shortage.overflowed = miss->overflowed;
    shortage.no_overflow = miss->no_overflow;
    poolError_t error = sp_refusal_tell(&shortage, outcome);
    sp_request_close(&request);
    return error;
}
