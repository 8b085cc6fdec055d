// The ladder: what a request that its lane can't serve tries, from the cheapest to the dearest.
#include "base/checked.h"
#include "base/number.h"
#include "order/context.h"
#include "order/end.h"
#include "order/mark.h"
#include "order/poll.h"
#include "order/silent.h"
#include "order/slot.h"
#include "order/synchronize.h"
#include "pool/ask.h"
#include "pool/collect.h"
#include "pool/device.h"
#include "pool/grow.h"
#include "pool/growth.h"
#include "pool/keep.h"
#include "pool/lane.h"
#include "pool/open_lanes.h"
#include "pool/plan.h"
#include "pool/reclaim.h"
#include "pool/remap.h"
#include "pool/request.h"
#include "pool/settle.h"
#include "pool/trim.h"
#include "pool/unfenced.h"

// A rung sets null and returns CUDA_SUCCESS when it has nothing; the next one is tried then.
typedef CUresult rung(struct sp_request *request, struct sp_block **block);

static CUresult within_reach(struct sp_request *request, struct sp_block **block) {
    *block = sp_take(request);
    return CUDA_SUCCESS;
}

// Memory that was mapped ahead serves small blocks too: pages are cut from it, with nothing asked
// and nothing mapped.
static CUresult primed(struct sp_request *request, struct sp_block **block) {
    if (request->kind != SP_REGION_PAGES)
        return CUDA_SUCCESS;
    sp_lock_acquire(&request->pool->lock);
    bool primed = sp_keep_is_primed(request->pool);
    sp_lock_release(&request->pool->lock);
    if (primed)
        *block = sp_take_from(request, SP_REGION_LARGE);
    return CUDA_SUCCESS;
}

// Memory that was freed in a context that was destroyed is complete, under every policy. Nobody
// tells, so it is looked for.
static CUresult of_gone_contexts(struct sp_request *request, struct sp_block **block) {
    if (sp_end_some_gone_contexts(request->lane->stream))
        *block = sp_take(request);
    return CUDA_SUCCESS;
}

static bool may_ask_others(const struct sp_request *request) {
    return !(request->flags & poolMallocSameStreamOnly) && sp_pool_may_ask(request->pool);
}

// Memory that only a question can find.
static CUresult found_complete(struct sp_request *request, struct sp_block **block) {
    if (!may_ask_others(request))
        return CUDA_SUCCESS;
    uint64_t before = sp_progress_news();
    CUresult error = sp_open_lanes_ask_some(request->pool, request->lane);
    if (error == CUDA_SUCCESS)
        error = sp_poll_some_of(request->lane->stream);
    request->brought_news = sp_progress_news() != before;
    if (error == CUDA_SUCCESS)
        *block = sp_take(request);
    return error;
}

// The lanes' own memory comes after the question: what has completed is ready by then, and the
// lanes' latest frees don't join it.
static CUresult collected(struct sp_request *request, struct sp_block **block) {
    struct sp_lane *at = NULL;
    bool whole = false;
    for (uint64_t parts = sp_request_patience(request); !*block && !whole && parts > 0; parts--) {
        whole = sp_collect_part(request->pool, &at);
        *block = whole ? sp_take(request) : sp_take_ready(request);
    }
    request->left_some = !whole;
    return CUDA_SUCCESS;
}

static CUresult collected_from_some(struct sp_request *request, struct sp_block **block) {
    if (!sp_pool_has_many_lanes(request->pool))
        return collected(request, block);
    request->left_some = !sp_collect_some(request->pool);
    *block = sp_take(request);
    return CUDA_SUCCESS;
}

// A request that had no patience for so much brings in what it has left, before memory is taken
// from others or waited for. From here on it looks at all that there is.
static CUresult brought_in(struct sp_request *request, struct sp_block **block) {
    struct sp_pool *pool = request->pool;
    sp_lock_acquire(&pool->lock);
    bool settled = sp_settle_is_done(pool);
    sp_lock_release(&pool->lock);
    request->thorough = true;
    if (settled && !request->left_some && !request->cut_short)
        return CUDA_SUCCESS;
    sp_collect_all(pool);
    request->left_some = false;
    request->cut_short = false;
    *block = sp_take(request);
    return CUDA_SUCCESS;
}

static CUresult out_of_memory_is_no_error(CUresult error) {
    return error == CUDA_ERROR_OUT_OF_MEMORY ? CUDA_SUCCESS : error;
}

// Growing comes before remapping as long as the program is known to need the memory, if it may grow
// at all.
static bool grows_first(const struct sp_request *request) {
    return !(request->flags & poolMallocNoGrowth) && sp_growth_is_due(request->pool, request->size);
}

static CUresult remap_if(struct sp_request *request, enum poolDefragmentation least,
                         uint64_t time_max, struct sp_block **block) {
    int policy = sp_load_relaxed(&request->pool->attributes.defragmentation);
    if (request->kind != SP_REGION_LARGE || policy < (int)least)
        return CUDA_SUCCESS;
    return out_of_memory_is_no_error(sp_remap(request, time_max, block));
}

static CUresult remapped(struct sp_request *request, struct sp_block **block) {
    if (grows_first(request))
        return CUDA_SUCCESS;
    uint64_t most = sp_load_relaxed(&request->pool->attributes.remap_time_max);
    return remap_if(request, poolDefragmentBeforeGrowth, most, block);
}

static CUresult remapped_under_pressure(struct sp_request *request, struct sp_block **block) {
    return remap_if(request, poolDefragmentUnderPressure, UINT64_MAX, block);
}

static bool has_pending(const struct sp_lane *lane) {
    uint64_t bytes = 0;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        bytes += lane->tiers[kind].bytes + lane->unfenced[kind].bytes;
    return bytes > 0;
}

static bool any_lane_has_pending(const struct sp_pool *pool) {
    SP_LIST_FOR_EACH(link, &pool->lanes.list) {
        if (has_pending(SP_CONTAINER_OF(link, struct sp_lane, link)))
            return true;
    }
    return false;
}

// True when all that the pool has free is known to be complete.
static bool is_idle(struct sp_pool *pool) {
    bool idle = true;
    sp_lock_acquire(&pool->lock);
    sp_settle_all(pool);
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        idle = idle && pool->regions[kind].waiting.bytes + pool->regions[kind].unfenced.bytes == 0;
    idle = idle && !any_lane_has_pending(pool);
    sp_lock_release(&pool->lock);
    return idle;
}

// Returns how much must be released before the pool's limit lets it grow by so many bytes.
static uint64_t over_limit(const struct sp_pool *pool, uint64_t bytes) {
    uint64_t room = pool->limit - sp_load_relaxed(&pool->reserved);
    return sp_excess(bytes, room);
}

// True when the limit and the device have room for the request, once all that is free was given
// back.
static bool could_grow(const struct sp_request *request) {
    struct sp_pool *pool = request->pool;
    size_t needed = sp_round_up(request->size, pool->device->vmm.granule);
    uint64_t over = over_limit(pool, needed);
    return (over == 0 || sp_trim_releasable(pool) >= over) &&
           sp_reclaim_could_have(pool->device, sp_request_context(request), needed);
}

// The threshold is applied by a look at all lanes, which is made seldom where there are very many.
static bool is_turn_of_threshold(struct sp_pool *pool) {
    uint32_t growths = sp_load_relaxed(&pool->threshold_rests);
    uint32_t lanes = sp_load_relaxed(&pool->lanes.count);
    uint32_t rests = growths > 0 ? growths - 1 : lanes / SP_LANES_AT_ONCE;
    sp_store_relaxed(&pool->threshold_rests, rests);
    return growths == 0;
}

// CUDA's pool gives memory back at a synchronise. Of a program that synchronises by CUDA's own
// calls nothing is heard, so the threshold is applied here, if the stream turns out to be idle and
// nothing of the pool is pending: when it was synchronised it looks like that. Only before a
// growth, for which none of the memory that goes was of any use, and that can succeed: a request
// that fails leaves the caches as they were.
static void apply_threshold_unasked(const struct sp_request *request) {
    struct sp_pool *pool = request->pool;
    if (sp_reclaim_hears_synchronizes() || sp_pool_is_deterministic(pool) ||
        sp_load_relaxed(&pool->reserved) <= sp_load_relaxed(&pool->attributes.release_threshold))
        return;
    if (is_turn_of_threshold(pool) && sp_synchronize_ask(request->lane->stream) == CUDA_SUCCESS &&
        is_idle(pool) && could_grow(request))
        sp_trim_at_synchronize(pool);
}

// Notes that the last growth found no memory, or that it did.
static void set_short(struct sp_pool *pool, bool is_short) {
    if (sp_load_relaxed(&pool->is_short) == is_short)
        return;
    sp_lock_acquire(&pool->lock);
    sp_store_relaxed(&pool->is_short, is_short);
    sp_unfenced_share_out(pool);
    sp_lock_release(&pool->lock);
}

// Tells who had no memory for a growth that has just failed: the driver's entry point, "" for the
// host, null when it was the pool's limit.
static const char *lacking(const struct sp_request *request) {
    struct sp_pool *pool = request->pool;
    CUresult native;
    const char *entry_point;
    sp_native_error_last(&native, &entry_point);
    if (native == CUDA_ERROR_OUT_OF_MEMORY)
        return entry_point;
    sp_lock_acquire(&pool->lock);
    bool beyond = over_limit(pool, sp_plan_least(request)) > 0;
    sp_lock_release(&pool->lock);
    return beyond ? NULL : "";
}

// Grows, and keeps in mind what a growth has failed for: later calls of the driver are noted over
// it.
static CUresult grow(struct sp_request *request, struct sp_block **block) {
    sp_native_error_note(CUDA_SUCCESS, "");
    CUresult error = sp_grow(request, block);
    if (error != CUDA_ERROR_OUT_OF_MEMORY)
        return error;
    request->lacking = lacking(request);
    sp_native_error_note(CUDA_SUCCESS, "");
    return error;
}

static CUresult grown(struct sp_request *request, struct sp_block **block) {
    if (request->flags & poolMallocNoGrowth)
        return CUDA_SUCCESS;
    apply_threshold_unasked(request);
    CUresult error = grow(request, block);
    set_short(request->pool, error == CUDA_ERROR_OUT_OF_MEMORY);
    return out_of_memory_is_no_error(error);
}

static bool make_room(const struct sp_request *request, size_t more) {
    struct sp_pool *pool = request->pool;
    size_t needed = sp_round_up(request->size, pool->device->vmm.granule);
    uint64_t over = over_limit(pool, needed);
    if (over > 0 && !sp_trim_make_room(pool, over))
        return false;
    return sp_reclaim_until(pool->device, sp_request_context(request), needed, more) || over > 0;
}

// With nothing else to release the last growth stands. The driver needs some memory for its own
// ends, and can't give all that it says is free: so more is released each time.
static CUresult grown_after_trim(struct sp_request *request, struct sp_block **block) {
    static const size_t more[] = {0, (size_t)64 << 20, SIZE_MAX / 2};
    struct sp_device *device = request->pool->device;
    CUresult error = CUDA_ERROR_OUT_OF_MEMORY;
    if (request->flags & poolMallocNoGrowth)
        return CUDA_SUCCESS;
    uint64_t reserved = sp_device_reserved(device);
    bool buried = sp_reclaim_zombies(device); // they hold no memory, but mappings
    for (size_t i = 0; i < sizeof more / sizeof more[0] && error == CUDA_ERROR_OUT_OF_MEMORY; i++) {
        bool made = make_room(request, more[i]) || sp_device_reserved(device) < reserved;
        if (!made && !buried)
            break;
        reserved = sp_device_reserved(device);
        buried = false;
        error = grow(request, block);
    }
    if (error == CUDA_SUCCESS)
        sp_pool_count(request->pool, SP_STATISTIC_Growths);
    return out_of_memory_is_no_error(error);
}

// Where nothing may be asked, memory of open lanes has no event yet that could be waited for.
static CUresult fenced(struct sp_request *request, struct sp_block **block) {
    (void)block;
    return sp_request_allows(request, poolMemPoolReuseAllowInternalDependencies)
               ? sp_open_lanes_fence(request->pool, request->lane, false)
               : CUDA_SUCCESS;
}

static CUresult from_other_region(struct sp_request *request, struct sp_block **block) {
    static const enum sp_region_kind others[SP_REGION_COUNT][2] = {
        [SP_REGION_LARGE] = {SP_REGION_PAGES, SP_REGION_FIXED},
        [SP_REGION_PAGES] = {SP_REGION_LARGE, SP_REGION_FIXED},
    };
    *block = NULL;
    if (request->kind == SP_REGION_FIXED)
        return CUDA_SUCCESS;
    for (int i = 0; i < 2 && !*block; i++)
        *block = sp_take_from(request, others[request->kind][i]);
    return CUDA_SUCCESS;
}

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
    rung *take;
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

// Looks at all streams, lanes and contexts, where there are many: the rungs so far have looked at
// some.
static CUresult look_at_all(struct sp_request *request, struct sp_block **block) {
    CUresult error = CUDA_SUCCESS;
    uint64_t before = sp_progress_news();
    if (sp_stream_count() <= SP_POLL_SOME)
        return CUDA_SUCCESS;
    sp_end_gone_contexts(request->lane->stream);
    if (may_ask_others(request))
        error = sp_open_lanes_fence(request->pool, request->lane, true);
    if (error == CUDA_SUCCESS && may_ask_others(request))
        error = sp_poll_context_of(request->lane->stream);
    request->brought_news = request->brought_news || sp_progress_news() != before;
    return error == CUDA_SUCCESS ? sp_climb_again(request, block) : error;
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

// These rungs are tried again once something was found to be complete.
static const struct step again[] = {
    {collected, SP_STATISTIC_COUNT},
    {grown, SP_STATISTIC_Growths},
    {brought_in, SP_STATISTIC_COUNT},
    {remapped_under_pressure, SP_STATISTIC_Remaps},
    {grown_after_trim, SP_STATISTIC_GrowthsAfterTrim},
    {from_other_region, SP_STATISTIC_OtherRegion},
};

CUresult sp_climb_again(struct sp_request *request, struct sp_block **block) {
    return climb(STEPS_OF(again), request, block);
}

CUresult sp_ask_and_climb(struct sp_request *request, struct sp_block **block) {
    CUresult error = CUDA_SUCCESS;
    for (size_t i = 0;
         i < sizeof questions / sizeof questions[0] && error == CUDA_SUCCESS && !*block; i++) {
        uint64_t before = sp_progress_news();
        sp_pool_count(request->pool, SP_STATISTIC_LastQuestions);
        error = questions[i](request);
        if (error != CUDA_SUCCESS || sp_progress_news() == before)
            continue;
        request->brought_news = true;
        error = sp_climb_again(request, block);
    }
    return error;
}

// -------------------------------------------------------------------------------------- the ladder

// These rungs need no more than a question to events that are there.
static const struct step at_once[] = {
    {within_reach, SP_STATISTIC_COUNT},
    {primed, SP_STATISTIC_COUNT},
    {of_gone_contexts, SP_STATISTIC_COUNT},
    {found_complete, SP_STATISTIC_COUNT},
    {collected_from_some, SP_STATISTIC_COUNT},
    {remapped, SP_STATISTIC_Remaps},
    {grown, SP_STATISTIC_Growths},
    {brought_in, SP_STATISTIC_COUNT},
    {remapped_under_pressure, SP_STATISTIC_Remaps},
    {grown_after_trim, SP_STATISTIC_GrowthsAfterTrim},
    {from_other_region, SP_STATISTIC_OtherRegion},
};

// These rungs make the stream, or the host, wait.
static const struct step by_waiting[] = {
    {fenced, SP_STATISTIC_COUNT},
    {sp_take_made_ordered, SP_STATISTIC_ReuseMadeOrdered},
    {sp_take_behind_legacy, SP_STATISTIC_ReuseMadeOrdered},
    {sp_take_behind_context, SP_STATISTIC_ReuseMadeOrdered},
    {sp_take_after_host_wait, SP_STATISTIC_ReuseFoundComplete},
    {sp_take_after_context_wait, SP_STATISTIC_ReuseFoundComplete},
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

CUresult sp_climb(struct sp_request *request, struct sp_block **block) {
    *block = NULL;
    CUresult error = climb_at_once(request, block);
    if (error == CUDA_SUCCESS && !*block)
        error = look_at_all(request, block);
    if (error == CUDA_SUCCESS && !*block && sp_pool_may_ask(request->pool))
        error = sp_ask_and_climb(request, block);
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
