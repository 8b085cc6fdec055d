#include "calls/ladder.h"

#include "base/time.h"
#include "calls/rung.h"
#include "calls/wait.h"
#include "order/context.h"
#include "order/end.h"
#include "order/indirect.h"
#include "order/mark.h"
#include "order/poll.h"
#include "order/slot.h"
#include "order/synchronize.h"
#include "region/ask.h"
#include "region/device.h"
#include "region/held.h"
#include "region/take.h"

#include <time.h>

// By which rule memory within reach has come, told from the fences that it still carries.
static enum sp_statistic rule_statistic(const struct sp_request *request,
                                        const struct sp_block *block) {
    switch (sp_request_rule(request, &block->fences)) {
    case SP_RULE_SAME_STREAM:
        return SP_STATISTIC_ReuseSameStream;
    case SP_RULE_COMPLETE:
        return request->brought_news ? SP_STATISTIC_ReuseFoundComplete : SP_STATISTIC_ReuseComplete;
    default:
        return SP_STATISTIC_ReuseOrdered;
    }
}

struct step {
    sp_rung *take;
    enum sp_statistic counts; // SP_STATISTIC_COUNT leaves it to the rule
};

#define STEPS_OF(list) list, sizeof(list) / sizeof(list)[0]

static struct sp_outcome climb(const struct step *steps, size_t count, struct sp_request *request,
                               struct sp_block **block) {
    for (size_t i = 0; i < count; i++) {
        struct sp_outcome outcome = steps[i].take(request, block);
        if (!sp_is_done(outcome))
            return outcome;
        if (!*block)
            continue;
        sp_slot_note_acquired(request->lane->stream, &(*block)->fences);
        enum sp_statistic counts = steps[i].counts;
        sp_pool_count(request->pool,
                      counts == SP_STATISTIC_COUNT ? rule_statistic(request, *block) : counts);
        return sp_outcome_done();
    }
    return sp_outcome_done();
}

// --------------------------------------------------------------------- before a request is refused

// These rungs are tried again once something was found to be complete.
static const struct step again[] = {
    {sp_rung_collected, SP_STATISTIC_COUNT},
    {sp_rung_grown, SP_STATISTIC_Growths},
    {sp_rung_brought_in, SP_STATISTIC_COUNT},
    {sp_rung_remapped_under_pressure, SP_STATISTIC_Remaps},
    {sp_rung_grown_after_trim, SP_STATISTIC_GrowthsAfterTrim},
    {sp_rung_from_other_region, SP_STATISTIC_OtherRegion},
    {sp_rung_remapped_with_pages, SP_STATISTIC_Remaps},
};

static struct sp_outcome climb_again(struct sp_request *request, struct sp_block **block) {
    return climb(STEPS_OF(again), request, block);
}

// Looks at all streams, lanes and contexts, where there are many: the rungs so far have looked at
// some. They have asked all of a few streams, but those that another thread was asking then.
static struct sp_outcome look_at_all(struct sp_request *request, struct sp_block **block) {
    struct sp_outcome outcome = sp_outcome_done();
    uint64_t before = sp_progress_news();
    bool many = sp_stream_count() > SP_POLL_SOME;
    bool may_ask = sp_rung_may_ask_others(request);
    if (many)
        sp_end_gone_contexts(request->lane->stream);
    if (many && may_ask)
        outcome = sp_ask_lazy_lanes(request->pool, request->lane, true);
    if (sp_is_done(outcome) && may_ask)
        outcome = sp_poll_context_of(request->lane->stream);
    bool news = sp_progress_news() != before;
    request->brought_news = request->brought_news || news;
    return sp_is_done(outcome) && (many || news) ? climb_again(request, block) : outcome;
}

// A question for all that may be pending in the way of the request. It publishes what it finds.
typedef struct sp_outcome question(struct sp_request *request);

// The caller's own stream has its own frees at hand in this pool; but other pools, and those that
// were given up, keep what it freed there. Where work is pending an event is left behind it, for
// whoever asks next.
static struct sp_outcome ask_own_stream(struct sp_request *request) {
    struct sp_stream *stream = request->lane->stream;
    bool complete;
    struct sp_outcome outcome = sp_synchronize_ask(stream, &complete);
    return sp_is_done(outcome) && !complete ? sp_mark_record(stream) : outcome;
}

// A capture that begins between two questions is one more reason not to know.
static struct sp_outcome ask_legacy_stream(struct sp_request *request) {
    struct sp_outcome outcome = sp_indirect_ask_legacy(request->lane->stream);
    return outcome.code == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ? sp_outcome_done() : outcome;
}

// The stream may be of another context than the current one, which is alive, too. Where the driver
// can't tell, nothing is asked.
static struct sp_outcome ask_current_context(struct sp_request *request) {
    CUcontext context = NULL;
    uint64_t id;
    bool is_other = sp_is_done(sp_context_current(&context, &id)) && context &&
                    !sp_stream_is_of(request->lane->stream, context, id);
    return is_other ? sp_ask_current_context_of(request->pool->device) : sp_outcome_done();
}

// Other pools keep what was freed on their lazy lanes until somebody asks.
static struct sp_outcome ask_lazy_lanes(struct sp_request *request) {
    return sp_ask_lazy_lanes_of(request->pool->device, request->lane);
}

// Where the program says that nothing in the context captures.
static struct sp_outcome ask_context(struct sp_request *request) {
    if (!sp_load_relaxed(&request->pool->attributes.context_fence))
        return sp_outcome_done();
    struct sp_outcome outcome = sp_indirect_ask_context(request->lane->stream);
    return sp_outcome_lacks_support(outcome) ? sp_outcome_done() : outcome;
}

// The legacy stream comes first: the question to a blocking stream records an event there, which
// the legacy stream would see.
static question *const questions[] = {ask_legacy_stream, ask_own_stream, ask_lazy_lanes,
                                      ask_current_context, ask_context};

static struct sp_outcome ask_and_climb(struct sp_request *request, struct sp_block **block) {
    struct sp_outcome outcome = sp_outcome_done();
    for (size_t i = 0; i < sizeof questions / sizeof questions[0] && sp_is_done(outcome) && !*block;
         i++) {
        uint64_t before = sp_progress_news();
        sp_pool_count(request->pool, SP_STATISTIC_LastQuestions);
        outcome = questions[i](request);
        if (!sp_is_done(outcome) || sp_progress_news() == before)
            continue;
        request->brought_news = true;
        outcome = climb_again(request, block);
    }
    return outcome;
}

// ------------------------------------------------------------------------------- waits of the host

static const struct step found[] = {{sp_rung_within_reach, SP_STATISTIC_ReuseFoundComplete}};

// The events that are there are asked first: that costs least.
static struct sp_outcome poll_and_climb(struct sp_request *request, struct sp_block **block) {
    uint64_t before = sp_progress_news();
    struct sp_outcome outcome = sp_poll_context_of(request->lane->stream);
    if (!sp_is_done(outcome))
        return outcome;
    outcome = climb(STEPS_OF(found), request, block);
    if (!sp_is_done(outcome) || *block)
        return outcome;
    request->brought_news = request->brought_news || sp_progress_news() != before;
    if (sp_progress_news() != before)
        outcome = climb_again(request, block);
    return sp_is_done(outcome) && !*block ? ask_and_climb(request, block) : outcome;
}

enum { HOST_PAUSE_NS = 50000 };

// Nothing can be waited for with a limit, so it is asked again and again.
struct sp_outcome sp_ladder_wait_on_host(struct sp_request *request, struct sp_block **block) {
    uint64_t limit = sp_load_relaxed(&request->pool->attributes.host_wait_max);
    *block = NULL;
    if (limit == 0 || !sp_wait_is_worth(request))
        return sp_outcome_done();
    sp_pool_count(request->pool, SP_STATISTIC_HostWaits);
    uint64_t begin = sp_time_now();
    // As of the last look: what another thread has found complete since then is taken, too.
    bool pending = true;
    struct sp_outcome outcome = poll_and_climb(request, block);
    while (sp_is_done(outcome) && !*block && pending && sp_time_now() - begin < limit) {
        sp_lock_sleep(HOST_PAUSE_NS);
        pending = sp_wait_is_worth(request);
        outcome = poll_and_climb(request, block);
    }
    return outcome;
}

static struct sp_outcome climb_after(question *wait, struct sp_request *request,
                                     struct sp_block **block) {
    uint64_t before = sp_progress_news();
    struct sp_outcome outcome = wait(request);
    if (!sp_is_done(outcome) || sp_progress_news() == before)
        return outcome;
    request->brought_news = true;
    return climb_again(request, block);
}

// The rung that takes what these waits find counts it.
static struct sp_outcome wait_and_climb(struct sp_request *request, struct sp_block **block) {
    struct sp_outcome outcome = climb_after(sp_wait_for_own, request, block);
    if (sp_is_done(outcome) && !*block)
        outcome = sp_ladder_wait_on_host(request, block);
    return sp_is_done(outcome) && !*block ? climb_after(sp_wait_for_context, request, block)
                                          : outcome;
}

// -------------------------------------------------------------------------------------- the ladder

// These rungs need no more than a question to events that are there; and a wait where the program
// has said that it would rather have that than a growth.
static const struct step at_once[] = {
    {sp_rung_within_reach, SP_STATISTIC_COUNT},
    {sp_rung_primed, SP_STATISTIC_COUNT},
    // FREE_STEPS up to here
    {sp_rung_of_gone_contexts, SP_STATISTIC_COUNT},
    {sp_rung_found_complete, SP_STATISTIC_COUNT},
    {sp_rung_collected_from_some, SP_STATISTIC_COUNT},
    {sp_rung_remapped, SP_STATISTIC_Remaps},
    {sp_rung_brought_in_at_bound, SP_STATISTIC_COUNT},
    {sp_rung_waited, SP_STATISTIC_ReuseMadeOrdered},
    {sp_rung_remapped_beyond, SP_STATISTIC_Remaps},
    {sp_rung_grown, SP_STATISTIC_Growths},
    {sp_rung_brought_in, SP_STATISTIC_COUNT},
    {sp_rung_remapped_under_pressure, SP_STATISTIC_Remaps},
    {sp_rung_grown_after_trim, SP_STATISTIC_GrowthsAfterTrim},
    {sp_rung_from_other_region, SP_STATISTIC_OtherRegion},
    {sp_rung_remapped_with_pages, SP_STATISTIC_Remaps},
};

enum { FREE_STEPS = 2 };

// These rungs make the stream wait for events that are there; and for others.
static const struct step by_events[] = {
    {sp_rung_fenced, SP_STATISTIC_COUNT},
    {sp_wait_made_ordered, SP_STATISTIC_ReuseMadeOrdered},
    {sp_wait_in_other_region, SP_STATISTIC_ReuseMadeOrdered},
};
static const struct step by_waiting[] = {
    {sp_wait_behind_legacy, SP_STATISTIC_ReuseMadeOrdered},
    {sp_wait_behind_context, SP_STATISTIC_ReuseMadeOrdered},
};

// A look that was cut short may have missed what makes the call that failed needless.
static struct sp_outcome climb_at_once(struct sp_request *request, struct sp_block **block) {
    struct sp_outcome outcome = climb(STEPS_OF(at_once), request, block);
    if (sp_is_done(outcome) || !request->cut_short)
        return outcome;
    request->thorough = true;
    climb(at_once, 1, request, block);
    return *block ? sp_outcome_done() : outcome;
}

static struct sp_outcome climb_free(struct sp_request *request, struct sp_block **block) {
    return climb(at_once, FREE_STEPS, request, block);
}

static struct sp_outcome ask_if_allowed(struct sp_request *request, struct sp_block **block) {
    return sp_pool_may_ask(request->pool) ? ask_and_climb(request, block) : sp_outcome_done();
}

static struct sp_outcome climb_by_stream(struct sp_request *request, struct sp_block **block) {
    struct sp_outcome outcome = climb(STEPS_OF(by_events), request, block);
    return sp_is_done(outcome) && !*block ? climb(STEPS_OF(by_waiting), request, block) : outcome;
}

static struct sp_outcome climb_thoroughly(struct sp_request *request, struct sp_block **block) {
    request->thorough = true;
    request->bound = SP_BOUND_NONE; // where it held, the first climb has passed it
    struct sp_outcome outcome = climb_again(request, block);
    return sp_is_done(outcome) && !*block ? climb(STEPS_OF(by_events), request, block) : outcome;
}

// A block that is put together of several pieces has the fences of all: one of the own stream's
// with no event behind it would hold back more extents than it was counted for (region/held.h).
static void fence_joined(const struct sp_request *request, struct sp_block *block) {
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
    static const struct {
        unsigned part;
        sp_rung *climb;
    } all[] = {
        {SP_LADDER_FREE, climb_free},
        {SP_LADDER_AT_ONCE, climb_at_once},
        {SP_LADDER_AT_ONCE, look_at_all},
        {SP_LADDER_AT_ONCE, ask_if_allowed},
        {SP_LADDER_STREAM_WAITS, climb_by_stream},
        {SP_LADDER_HOST_WAITS, wait_and_climb},
        {SP_LADDER_AGAIN, climb_thoroughly},
    };
    struct sp_outcome outcome = sp_outcome_done();
    *block = NULL;
    for (size_t i = 0; i < sizeof all / sizeof all[0] && sp_is_done(outcome) && !*block; i++) {
        if (parts & all[i].part)
            outcome = all[i].climb(request, block);
    }
    if (*block)
        fence_joined(request, *block);
    if (*block || !sp_is_done(outcome))
        return outcome;
    return sp_is_done(request->growth) ? sp_outcome_of(SP_FORBIDDEN) : request->growth;
}
