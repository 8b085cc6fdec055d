#include "calls/ladder.h"

#include "base/time.h"
#include "calls/rung.h"
#include "calls/wait.h"
#include "order/context.h"
#include "order/end.h"
#include "order/mark.h"
#include "order/poll.h"
#include "order/silent.h"
#include "order/slot.h"
#include "order/synchronize.h"
#include "region/ask.h"
#include "region/device.h"
#include "region/open_lanes.h"
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

static CUresult climb(const struct step *steps, size_t count, struct sp_request *request,
                      struct sp_block **block) {
    for (size_t i = 0; i < count; i++) {
        CUresult error = steps[i].take(request, block);
        if (error != CUDA_SUCCESS)
            return error;
        if (!*block)
            continue;
        sp_slot_note_acquired(request->lane->stream, &(*block)->fences);
        enum sp_statistic counts = steps[i].counts;
        sp_pool_count(request->pool,
                      counts == SP_STATISTIC_COUNT ? rule_statistic(request, *block) : counts);
        return CUDA_SUCCESS;
    }
    return CUDA_SUCCESS;
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
};

static CUresult climb_again(struct sp_request *request, struct sp_block **block) {
    return climb(STEPS_OF(again), request, block);
}

// Looks at all streams, lanes and contexts, where there are many: the rungs so far have looked at
// some.
static CUresult look_at_all(struct sp_request *request, struct sp_block **block) {
    CUresult error = CUDA_SUCCESS;
    uint64_t before = sp_progress_news();
    if (sp_stream_count() <= SP_POLL_SOME)
        return CUDA_SUCCESS;
    sp_end_gone_contexts(request->lane->stream);
    if (sp_rung_may_ask_others(request))
        error = sp_open_lanes_fence(request->pool, request->lane, true);
    if (error == CUDA_SUCCESS && sp_rung_may_ask_others(request))
        error = sp_poll_context_of(request->lane->stream);
    request->brought_news = request->brought_news || sp_progress_news() != before;
    return error == CUDA_SUCCESS ? climb_again(request, block) : error;
}

// A question for all that may be pending in the way of the request. It publishes what it finds.
typedef CUresult question(struct sp_request *request);

// The caller's own stream has its own frees at hand in this pool; but other pools, and those that
// were given up, keep what it freed there. Where work is pending an event is left behind it, for
// whoever asks next.
static CUresult ask_own_stream(struct sp_request *request) {
    struct sp_stream *stream = request->lane->stream;
    CUresult error = sp_synchronize_ask(stream);
    return error == CUDA_ERROR_NOT_READY ? sp_mark_record(stream) : error;
}

// A capture that begins between two questions is one more reason not to know.
static CUresult ask_legacy_stream(struct sp_request *request) {
    CUresult error = sp_silent_ask_legacy(request->lane->stream);
    return error == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ? CUDA_SUCCESS : error;
}

// The stream may be of another context than the current one, which is alive, too. Where the driver
// can't tell, nothing is asked.
static CUresult ask_current_context(struct sp_request *request) {
    CUcontext context = NULL;
    uint64_t id;
    bool is_other = sp_context_current(&context, &id) == CUDA_SUCCESS && context &&
                    !sp_stream_is_of(request->lane->stream, context, id);
    return is_other ? sp_pool_ask_current_context(request->pool) : CUDA_SUCCESS;
}

// Where the program says that nothing in the context captures.
static CUresult ask_context(struct sp_request *request) {
    if (!sp_load_relaxed(&request->pool->attributes.context_fence))
        return CUDA_SUCCESS;
    CUresult error = sp_silent_ask_context(request->lane->stream);
    return error == CUDA_ERROR_NOT_SUPPORTED ? CUDA_SUCCESS : error;
}

// The legacy stream comes first: the question to a blocking stream records an event there, which
// the legacy stream would see.
static question *const questions[] = {ask_legacy_stream, ask_own_stream, ask_current_context,
                                      ask_context};

static CUresult ask_and_climb(struct sp_request *request, struct sp_block **block) {
    CUresult error = CUDA_SUCCESS;
    for (size_t i = 0;
         i < sizeof questions / sizeof questions[0] && error == CUDA_SUCCESS && !*block; i++) {
        uint64_t before = sp_progress_news();
        sp_pool_count(request->pool, SP_STATISTIC_LastQuestions);
        error = questions[i](request);
        if (error != CUDA_SUCCESS || sp_progress_news() == before)
            continue;
        request->brought_news = true;
        error = climb_again(request, block);
    }
    return error;
}

// --------------------------------------------------------------------------------- waits of the
// host

// The events that are there are asked first: that costs least.
static CUresult poll_and_climb(struct sp_request *request, struct sp_block **block) {
    uint64_t before = sp_progress_news();
    CUresult error = sp_poll_context_of(request->lane->stream);
    if (error != CUDA_SUCCESS)
        return error;
    *block = sp_take(request);
    if (*block)
        return CUDA_SUCCESS;
    error = sp_progress_news() == before ? CUDA_SUCCESS : climb_again(request, block);
    return error == CUDA_SUCCESS && !*block ? ask_and_climb(request, block) : error;
}

// Nothing can be waited for with a limit, so it is asked again and again.
CUresult sp_ladder_wait_on_host(struct sp_request *request, struct sp_block **block) {
    static const struct timespec pause = {0, 50000};
    uint64_t limit = sp_load_relaxed(&request->pool->attributes.host_wait_max);
    *block = NULL;
    if (limit == 0 || !sp_wait_is_worth(request))
        return CUDA_SUCCESS;
    sp_pool_count(request->pool, SP_STATISTIC_HostWaits);
    uint64_t begin = sp_time_now();
    // As of the last look: what another thread has found complete since then is taken, too.
    bool pending = true;
    CUresult error = poll_and_climb(request, block);
    while (error == CUDA_SUCCESS && !*block && pending && sp_time_now() - begin < limit) {
        nanosleep(&pause, NULL);
        pending = sp_wait_is_worth(request);
        error = poll_and_climb(request, block);
    }
    return error;
}

static CUresult after_context_wait(struct sp_request *request, struct sp_block **block) {
    uint64_t before = sp_progress_news();
    CUresult error = sp_wait_for_context(request);
    return error == CUDA_SUCCESS && sp_progress_news() != before ? climb_again(request, block)
                                                                 : error;
}

// -------------------------------------------------------------------------------------- the ladder

// These rungs need no more than a question to events that are there.
static const struct step at_once[] = {
    {sp_rung_within_reach, SP_STATISTIC_COUNT},
    {sp_rung_primed, SP_STATISTIC_COUNT},
    {sp_rung_of_gone_contexts, SP_STATISTIC_COUNT},
    {sp_rung_found_complete, SP_STATISTIC_COUNT},
    {sp_rung_collected_from_some, SP_STATISTIC_COUNT},
    {sp_rung_remapped, SP_STATISTIC_Remaps},
    {sp_rung_grown, SP_STATISTIC_Growths},
    {sp_rung_brought_in, SP_STATISTIC_COUNT},
    {sp_rung_remapped_under_pressure, SP_STATISTIC_Remaps},
    {sp_rung_grown_after_trim, SP_STATISTIC_GrowthsAfterTrim},
    {sp_rung_from_other_region, SP_STATISTIC_OtherRegion},
};

// These rungs make the stream, or the host, wait.
static const struct step by_waiting[] = {
    {sp_rung_fenced, SP_STATISTIC_COUNT},
    {sp_wait_made_ordered, SP_STATISTIC_ReuseMadeOrdered},
    {sp_wait_behind_legacy, SP_STATISTIC_ReuseMadeOrdered},
    {sp_wait_behind_context, SP_STATISTIC_ReuseMadeOrdered},
    {sp_ladder_wait_on_host, SP_STATISTIC_ReuseFoundComplete},
    {after_context_wait, SP_STATISTIC_ReuseFoundComplete},
};

// Every rung has been tried: what is told is what the last growth lacked.
static void note_refusal(const struct sp_request *request) {
    sp_native_error_note(request->lacking ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS,
                         request->lacking ? request->lacking : "");
}

// A rung other than a growth has failed: where the driver didn't say that memory was lacking, it
// was the host's.
static void note_failure(CUresult error) {
    CUresult native;
    const char *entry_point;
    sp_native_error_last(&native, &entry_point);
    if (error == CUDA_ERROR_OUT_OF_MEMORY && native != error)
        sp_native_error_note(error, "");
}

// A look that was cut short may have missed what makes the call that failed needless.
static CUresult climb_at_once(struct sp_request *request, struct sp_block **block) {
    CUresult error = climb(STEPS_OF(at_once), request, block);
    if (error == CUDA_SUCCESS || !request->cut_short)
        return error;
    request->thorough = true;
    climb(at_once, 1, request, block);
    return *block ? CUDA_SUCCESS : error;
}

CUresult sp_ladder_climb(struct sp_request *request, struct sp_block **block) {
    *block = NULL;
    CUresult error = climb_at_once(request, block);
    if (error == CUDA_SUCCESS && !*block)
        error = look_at_all(request, block);
    if (error == CUDA_SUCCESS && !*block && sp_pool_may_ask(request->pool))
        error = ask_and_climb(request, block);
    if (error == CUDA_SUCCESS && !*block)
        error = climb(STEPS_OF(by_waiting), request, block);
    if (error != CUDA_SUCCESS)
        note_failure(error);
    if (error != CUDA_SUCCESS || *block)
        return error;
    sp_pool_count(request->pool, SP_STATISTIC_Failures);
    note_refusal(request);
    return CUDA_ERROR_OUT_OF_MEMORY;
}
