#include "calls/ladder.h"

#include "base/thread.h"
#include "calls/rung.h"
#include "calls/wait.h"
#include "order/registry.h"
#include "region/device.h"
#include "region/find.h"
#include "region/held.h"

#include <time.h>

enum {
    ONCE = SP_LADDER_ONCE,
    NEWS = SP_LADDER_NEWS,
    QUESTION = SP_LADDER_QUESTION,
    EVENTS = SP_LADDER_EVENTS,
    BEHIND = SP_LADDER_BEHIND,
    POLL = SP_LADDER_POLL,
    HOST = SP_LADDER_HOST,
    FREE = SP_LADDER_FREE
};

// In place of a statistic: the rule by which memory was taken tells it, or it was counted before.
enum { BY_RULE = SP_STATISTIC_COUNT, ALREADY };

static sp_rung wait_on_host;

// The whole ladder, in this order: the cheaper rung comes first, unless rung.h says why not.
//
//   when    it is tried only if that holds
//   counts  the statistic of an allocation that it serves. A rung that MAPS may find what another
//           thread has freed meanwhile: then the rule counts
//   does    one that ASKS and has no block leads to NEWS if it has learned that something is
//           complete
static const struct rung {
    unsigned parts;
    bool (*when)(const struct sp_request *request);
    sp_rung *take;
    int counts; // enum sp_statistic
    enum { TAKES, ASKS, MAPS } does;
} ladder[] = {
    // Memory that is free is found. Contexts may be asked if they are gone, and events that are
    // there (cuEventQuery), once recorded (cuEventRecord).
    {ONCE | FREE, NULL, sp_rung_within_reach, BY_RULE, TAKES},
    {ONCE, sp_rung_is_for_pages, sp_rung_primed, BY_RULE, TAKES},
    {ONCE, NULL, sp_rung_of_gone_contexts, BY_RULE, TAKES},
    {ONCE, sp_rung_may_ask_any, sp_rung_found_complete, BY_RULE, TAKES},
    {ONCE | NEWS, NULL, sp_rung_collected, BY_RULE, TAKES},
    // Free memory is mapped once more, side by side, and new memory what it lacks (cuMemCreate,
    // cuMemMap, cuMemSetAccess), under the pool's map lock, as all that is mapped. A pool that is
    // still filling grows first.
    {ONCE, sp_rung_is_filled, sp_rung_remapped, SP_STATISTIC_Remaps, MAPS},
    // By GrowthBeyondUse the stream may wait (cuStreamWaitEvent), and the pool doesn't grow as yet.
    {ONCE, sp_rung_is_held_back, sp_rung_brought_in_at_bound, BY_RULE, TAKES},
    {ONCE, sp_rung_is_held_back, sp_rung_waited_at_bound, SP_STATISTIC_ReuseMadeOrdered, TAKES},
    {ONCE, sp_rung_is_beyond, sp_rung_remapped, SP_STATISTIC_Remaps, MAPS},
    // The driver maps more; after a trim, which gives it memory back (cuMemUnmap, cuMemRelease).
    {ONCE | NEWS, sp_rung_may_grow, sp_rung_grown, SP_STATISTIC_Growths, MAPS},
    {ONCE | NEWS, NULL, sp_rung_brought_in, BY_RULE, TAKES},
    {ONCE | NEWS, NULL, sp_rung_remapped_under_pressure, SP_STATISTIC_Remaps, MAPS},
    {ONCE | NEWS, sp_rung_may_grow, sp_rung_grown_after_trim, SP_STATISTIC_GrowthsAfterTrim, MAPS},
    {ONCE | NEWS, NULL, sp_rung_from_other_region, SP_STATISTIC_OtherRegion, TAKES},
    {ONCE | NEWS, NULL, sp_rung_remapped_with_pages, SP_STATISTIC_Remaps, MAPS},
    // All that may be pending is asked. The legacy stream comes first: the question to a blocking
    // stream records an event there, which the legacy stream would see.
    {ONCE, NULL, sp_rung_looked_at_all, BY_RULE, ASKS},
    {QUESTION, NULL, sp_rung_asked_legacy_stream, BY_RULE, ASKS},
    {QUESTION, NULL, sp_rung_asked_own_stream, BY_RULE, ASKS},
    {QUESTION, NULL, sp_rung_asked_lazy_lanes, BY_RULE, ASKS},
    {QUESTION, NULL, sp_rung_asked_current_context, BY_RULE, ASKS},
    {QUESTION, NULL, sp_rung_asked_context, BY_RULE, ASKS},
    // The stream waits: a rung records what has no event behind it, and remaps what lies in pieces.
    {EVENTS, sp_wait_is_allowed, sp_wait_recorded, BY_RULE, TAKES},
    {EVENTS, sp_wait_is_allowed, sp_wait_made_ordered, SP_STATISTIC_ReuseMadeOrdered, TAKES},
    {EVENTS, sp_wait_is_allowed, sp_wait_in_other_region, SP_STATISTIC_ReuseMadeOrdered, TAKES},
    {BEHIND, sp_wait_is_allowed, sp_wait_behind_legacy, SP_STATISTIC_ReuseMadeOrdered, TAKES},
    {BEHIND, sp_wait_is_allowed, sp_wait_behind_context, SP_STATISTIC_ReuseMadeOrdered, TAKES},
    // The host waits, no longer than HostWaitMax and ContextWaitMax say, and asks as above.
    {POLL, NULL, sp_rung_polled, SP_STATISTIC_ReuseFoundComplete, ASKS},
    {HOST, NULL, sp_wait_for_own, BY_RULE, ASKS},
    {HOST, NULL, wait_on_host, ALREADY, TAKES},
    {HOST, NULL, sp_wait_for_context, BY_RULE, ASKS},
};

static void count_taken(const struct rung *rung, const struct sp_request *request,
                        const struct sp_block *block) {
    enum sp_statistic counts = (enum sp_statistic)rung->counts;
    if (rung->counts == ALREADY)
        return;
    if (rung->counts == BY_RULE || (rung->does == MAPS && request->took != SP_RULE_NONE))
        counts = sp_request_statistic(request->took == SP_RULE_COMPLETE ? request->found
                                                                        : request->took);
    sp_registry_note_acquired(request->lane->stream, &block->fences);
    sp_pool_count(request->pool, counts);
}

// Climbs the rungs of some parts up to the first that has a block, or fails.
static struct sp_outcome climb(struct sp_request *request, unsigned parts,
                               struct sp_block **block) {
    struct sp_outcome outcome = sp_outcome_done();
    const struct rung *end = ladder + sizeof ladder / sizeof ladder[0];
    for (const struct rung *rung = ladder; rung < end && sp_is_done(outcome) && !*block; rung++) {
        uint64_t before = sp_progress_news(SP_FOUND);
        if (!(rung->parts & parts) || (rung->when && !rung->when(request)))
            continue;
        if (rung->parts == QUESTION)
            sp_pool_count(request->pool, SP_STATISTIC_LastQuestions);
        if (rung->does == MAPS &&
            request->refine == SP_REFINE_MAY) // what comes free meanwhile serves
            request->refine = SP_REFINE_NEVER;
        outcome = rung->take(request, block);
        if (sp_is_done(outcome) && request->refine == SP_REFINE_DUE) // it found a large extent
            outcome = sp_rung_refined(request, block);
        if (*block) {
            count_taken(rung, request, *block);
        } else if (rung->does == ASKS && sp_is_done(outcome)) {
            if (sp_progress_news(SP_FOUND) == before)
                continue;
            request->found = SP_RULE_FOUND_COMPLETE;
            outcome = climb(request, NEWS, block);
        }
    }
    return outcome;
}

// The driver has no wait with a limit, so it is asked again and again: the events that are there
// first, which costs least.
static struct sp_outcome wait_on_host(struct sp_request *request, struct sp_block **block) {
    enum { PAUSE_NS = 50000 };
    uint64_t limit = sp_load_relaxed(&request->pool->attributes.host_wait_max);
    if (limit == 0 || !sp_wait_is_worth(request))
        return sp_outcome_done();
    sp_pool_count(request->pool, SP_STATISTIC_HostWaits);
    struct sp_outcome outcome;
    uint64_t begin = sp_time_now();
    // As of the last look: what another thread has found complete since then is taken, too.
    bool pending = true;
    for (;;) {
        outcome = climb(request, POLL, block);
        if (sp_is_done(outcome) && !*block)
            outcome = climb(request, QUESTION, block);
        if (!sp_is_done(outcome) || *block || !pending || sp_time_now() - begin >= limit)
            return outcome;
        sp_lock_sleep(PAUSE_NS);
        pending = sp_wait_is_worth(request);
    }
}

// A block that is put together of several pieces has the fences of all: one of the own stream's
// with no event behind it would hold back more extents than it was counted for (region/held.h).
static void fence_joined(const struct sp_request *request, const struct sp_block *block) {
    struct sp_lane *lane = request->lane;
    if (!lane || sp_space_is_one_extent(&request->pool->device->space, block->address, block->size))
        return;
    for (uint32_t i = 0; i < block->fences.count; i++) {
        struct sp_fence fence = *sp_fence_set_at(&block->fences, i);
        if (fence.slot != lane->stream->slot || sp_held_is_covered(lane, fence.sequence))
            continue;
        sp_lane_record(lane);
        return;
    }
}

struct sp_outcome sp_ladder_climb(struct sp_request *request, unsigned parts,
                                  struct sp_block **block) {
    *block = NULL;
    if (!(parts & (ONCE | FREE))) { // it was climbed before, up to where all is looked at
        request->looks = SP_REQUEST_LOOKS_ALL;
        request->bound = SP_BOUND_NONE;
    }
    if (!sp_pool_may_ask(request->pool))
        parts &= ~(unsigned)QUESTION;
    struct sp_outcome outcome = climb(request, parts, block);
    if (!sp_is_done(outcome) && request->left_out & SP_LEFT_OUT_ROWS) {
        // A rung has failed in the driver. What was not looked at yet may still serve the request.
        request->looks = SP_REQUEST_LOOKS_ALL;
        request->refine = SP_REFINE_NEVER;
        *block = sp_find(request);
        if (*block)
            count_taken(ladder, request, *block);
    }
    if (*block) {
        fence_joined(request, *block);
        return sp_outcome_done();
    }
    if (!sp_is_done(outcome))
        return outcome;
    return sp_is_done(request->growth) ? sp_outcome_of(SP_FORBIDDEN) : request->growth;
}
