#include "tell/refusal.h"

#include "base/host_memory.h"
#include "order/context.h"
#include "order/indirect.h"
#include "region/device.h"
#include "region/lane.h"
#include "region/loose.h"
#include "tell/text.h"

#include <inttypes.h>
#include <sys/resource.h>

// Where the memory is that the pool grows by.
static const char *place_of(const struct sp_shortage *shortage) {
    return shortage->request->pool->device->vmm.ordinal < 0 ? "host" : "device";
}

// True when the stream can wait for these parts, and the host can: none but streams of its context
// hold them back.
static bool is_near(const struct sp_shortage *shortage, unsigned parts) {
    struct sp_room room = sp_shortage_room(shortage, parts);
    return !room.holder ||
           (!room.several_contexts && sp_request_shares_context(shortage->request, room.holder));
}

// True when the request would be served if nobody used these parts any more, either.
static bool fits_completed(const struct sp_shortage *shortage, unsigned parts) {
    return sp_shortage_fits(shortage, SP_HERE | parts, SP_HERE | parts, 0);
}

// True when it would be served if the stream ran after the users of these parts.
static bool fits_ordered(const struct sp_shortage *shortage, unsigned parts) {
    bool fits = sp_shortage_fits(shortage, SP_HERE | parts, SP_READY, 0);
    return fits && is_near(shortage, parts);
}

// True when all of the request could be mapped anew, after all pools gave back what they have.
static bool fits_anew(const struct sp_shortage *shortage) {
    uint64_t given_back = sp_shortage_others(shortage, SP_ALL).whole;
    return sp_shortage_room(shortage, SP_ALL).whole + sp_shortage_growth(shortage, given_back) >=
           shortage->needed;
}

// True when it would be served once nobody used these parts, and other pools were trimmed.
static bool fits_after_trims(const struct sp_shortage *shortage, unsigned parts) {
    struct sp_shortage after = *shortage;
    after.on_device += sp_shortage_others(shortage, parts).whole;
    return fits_completed(&after, parts);
}

// ----------------------------------------------------------------------------------------- to wait

static bool is_of_current_context(struct sp_room room) {
    const struct sp_stream *holder = room.holder;
    return !holder ||
           (!room.several_contexts && sp_context_is_current(holder->context, holder->context_id));
}

// A synchronise gives back what is free: that is no loss where as much can be mapped anew.
static void say_to_keep(const struct sp_shortage *shortage, struct sp_text *text) {
    uint64_t threshold = sp_load_relaxed(&shortage->request->pool->attributes.release_threshold);
    bool goes_for_good = !sp_shortage_may_grow(shortage) || !fits_anew(shortage);
    if (shortage->reserved > threshold && goes_for_good)
        sp_text_add(text, ", if ReleaseThreshold has the pool keep it");
}

static const char with_each_context[] = " with each context current that holds some of it back";

static void say_device(const struct sp_shortage *shortage, const char *where,
                       struct sp_text *text) {
    sp_text_add(text, "poolDeviceSynchronize%s makes it available", where);
    say_to_keep(shortage, text);
}

// A synchronise of the device is one of the current context.
static void say_device_for(const struct sp_shortage *shortage, unsigned parts,
                           struct sp_text *text) {
    struct sp_room room = sp_shortage_room(shortage, parts);
    const char *where = room.several_contexts ? with_each_context : " with that context current";
    say_device(shortage, is_of_current_context(room) ? "" : where, text);
}

// Names a stream where it alone holds all of it back, and nothing else is needed. One that was
// destroyed can't be synchronised, nor a per-thread one by any other thread. The legacy stream is
// that of the current context.
static void advise_wait(const struct sp_shortage *shortage, unsigned part, struct sp_text *text) {
    struct sp_room room = sp_shortage_room(shortage, part);
    unsigned ready = room.stays_mine ? SP_READY : SP_READY | part;
    bool is_enough = sp_shortage_fits(shortage, SP_HERE | part, ready, 0);
    CUstream handle = room.holder ? sp_stream_handle_now(room.holder) : NULL;
    if (!is_enough || !room.holder || room.several || handle == CU_STREAM_PER_THREAD ||
        sp_load_relaxed(&room.holder->gone) ||
        (sp_stream_is_legacy(handle) && !is_of_current_context(room))) {
        say_device_for(shortage, is_enough ? part : SP_HERE | part, text);
        return;
    }
    sp_text_add(text, "poolStreamSynchronize of %s makes it available",
                sp_text_stream(room.holder).text);
    say_to_keep(shortage, text);
}

static void advise_for_pending(const struct sp_shortage *shortage, struct sp_text *text) {
    const struct sp_pool *pool = shortage->request->pool;
    uint64_t most = sp_load_relaxed(&pool->attributes.host_wait_max);
    bool ordered = fits_ordered(shortage, SP_PENDING);
    bool policy = sp_pool_policy(pool, poolMemPoolReuseAllowInternalDependencies);
    unsigned flags =
        shortage->request->flags & (poolMallocSameStreamOnly | poolMallocNoInsertedWaits);
    bool host_waits = is_near(shortage, SP_PENDING) && !sp_pool_is_deterministic(pool);
    if (ordered && !policy && flags == 0)
        sp_text_add(text,
                    "ReuseAllowInternalDependencies lets the stream wait for what is pending");
    else if (host_waits && most == 0)
        sp_text_add(text, "HostWaitMax lets an allocation wait for what is pending");
    else if (host_waits)
        sp_text_add(text, "what is pending took longer than HostWaitMax (%.3f ms)",
                    (double)most / 1e6);
    else if (ordered && policy && flags != 0)
        sp_text_add(text, "without %s%s%s the stream could wait for what is pending",
                    flags & poolMallocSameStreamOnly ? "poolMallocSameStreamOnly" : "",
                    flags & (flags - 1) ? " and " : "",
                    flags & poolMallocNoInsertedWaits ? "poolMallocNoInsertedWaits" : "");
    else
        advise_wait(shortage, SP_PENDING, text);
}

// Where the driver has no event of a context, the host waits instead of the stream.
static void advise_for_unfenced(const struct sp_shortage *shortage, struct sp_text *text) {
    const struct sp_pool *pool = shortage->request->pool;
    bool is_on = sp_load_relaxed(&pool->attributes.context_fence);
    uint64_t most = sp_load_relaxed(&pool->attributes.context_wait_max);
    advise_wait(shortage, SP_UNFENCED, text);
    if (is_on || !is_near(shortage, SP_UNFENCED))
        return;
    if (!sp_indirect_needs_context_wait()) {
        if (fits_ordered(shortage, SP_UNFENCED) && shortage->request->policies & SP_POLICY_INSERT)
            sp_text_add(text, ", or ContextFence has the stream wait for it");
    } else if (sp_pool_may_ask(pool) && most > 0) {
        sp_text_add(text,
                    ", or ContextFence has the host wait for it, no longer than ContextWaitMax "
                    "(%.3f ms)",
                    (double)most / 1e6);
    }
}

// No stream can be made to wait for another pool's memory, which has to be given back first. The
// streams that hold it back aren't named, so neither is their context.
static void advise_for_others(const struct sp_shortage *shortage, struct sp_text *text) {
    const struct sp_pool *pool = shortage->request->pool;
    unsigned parts = is_near(shortage, SP_PENDING) ? SP_HERE | SP_PENDING : SP_HERE;
    bool is_current = is_of_current_context(sp_shortage_room(shortage, SP_ALL)) &&
                      is_of_current_context(sp_shortage_others(shortage, SP_ALL));
    sp_text_add(text, "other pools of the %s hold %s that are free and may still be in use: ",
                place_of(shortage), sp_text_bytes(shortage->others_free).text);
    say_device(shortage, is_current ? "" : with_each_context, text);
    if (shortage->lack == SP_LACK_DEVICE && !sp_pool_is_deterministic(pool) &&
        sp_load_relaxed(&pool->attributes.host_wait_max) == 0 &&
        sp_shortage_fits(shortage, parts, parts,
                         sp_shortage_others(shortage, SP_READY | SP_PENDING).whole))
        sp_text_add(text, ", or HostWaitMax lets an allocation wait for it");
}

// ----------------------------------------------------------------------------------------- to grow

// The least that the ladder would grow by. At last the stream waits for pieces beside new memory,
// if it may; and whole extents go that are ready, or, where nothing joins, that are by a wait on
// the host.
static uint64_t growth_at_last(const struct sp_shortage *shortage) {
    const struct sp_request *request = shortage->request;
    bool joins = sp_vmm_provider(&request->pool->device->vmm)->joins;
    bool waits = request->policies & SP_POLICY_INSERT && is_near(shortage, SP_PENDING);
    unsigned reach = waits ? SP_HERE | SP_PENDING : SP_HERE;
    struct sp_climb climb = sp_shortage_climb(request, reach, joins ? SP_READY : SP_HERE);
    return sp_min(climb.beside, climb.anew);
}

// Other pools give back what a request needs as a whole, and not what it lacks beside free memory.
// True when that was told.
static bool advise_trims(const struct sp_shortage *shortage, struct sp_text *text) {
    bool helps = fits_after_trims(shortage, SP_ALL);
    if (helps)
        sp_text_add(text, "poolMemPoolTrimTo of other pools of the %s gives back what is missing%s",
                    place_of(shortage),
                    fits_after_trims(shortage, SP_READY) ? "" : " after poolDeviceSynchronize");
    return helps;
}

static void advise_for_full_device(const struct sp_shortage *shortage, struct sp_text *text) {
    const struct sp_vmm_device *device = &shortage->request->pool->device->vmm;
    uint64_t total = device->ordinal < 0 ? 0 : device->total_memory; // the host may have a limit
    uint64_t known = shortage->on_device + shortage->reserved + shortage->others_reserved;
    uint64_t whole = sp_shortage_room(shortage, SP_ALL).whole;
    whole += sp_shortage_others(shortage, SP_ALL).whole;
    if (shortage->on_device >= shortage->least)
        sp_text_add(text, "the %s has enough free for that by now: another try may do",
                    place_of(shortage));
    else if (!shortage->knows_device && whole > 0)
        sp_text_add(text,
                    "nobody knows what the device has free: another try after "
                    "poolDeviceSynchronize may do");
    else if (!advise_trims(shortage, text)) {
        sp_text_add(text, "nothing but freeing helps: other pools of the %s hold %s",
                    place_of(shortage), sp_text_bytes(shortage->others_reserved).text);
        if (shortage->others_free > 0)
            sp_text_add(text, " (%s of it free)", sp_text_bytes(shortage->others_free).text);
        if (shortage->knows_device && known < total)
            sp_text_add(text, ", and what isn't of any pool %s", sp_text_bytes(total - known).text);
    }
}

// Without the flag the pool could grow by what the device has.
static bool could_grow(const struct sp_shortage *shortage) {
    return shortage->lack == SP_LACK_FLAG &&
           growth_at_last(shortage) <= sp_shortage_growth(shortage, 0);
}

// Other threads may have freed memory since the request was refused. Priming maps one free block,
// which isn't fixed, where there is room for all of it.
static void advise_for_growth(const struct sp_shortage *shortage, struct sp_text *text) {
    uint64_t growth = growth_at_last(shortage), left = shortage->left_to_limit;
    bool is_forbidden = shortage->lack == SP_LACK_FLAG;
    if (shortage->lack == SP_LACK_DRIVER)
        sp_text_add(text,
                    "the driver lacks memory for its own ends: poolMemPoolTrimTo gives some back");
    else if (shortage->lack != SP_LACK_DEVICE && growth > left)
        sp_text_add(text, "a pool with a maxSize that is larger by %s has room for it%s%s",
                    sp_text_bytes(growth - left).text,
                    is_forbidden ? ", without poolMallocNoGrowth" : "",
                    shortage->on_device < growth ? ", once the device has as much free" : "");
    else if (shortage->lack == SP_LACK_LIMIT && growth <= shortage->on_device)
        sp_text_add(text, "the limit leaves enough for that by now: another try may do");
    else if (is_forbidden && shortage->request->kind != SP_REGION_FIXED &&
             shortage->needed <= sp_shortage_growth(shortage, 0))
        sp_text_add(text, "poolMemPoolPrime takes memory from the %s ahead of need",
                    place_of(shortage));
    else if (could_grow(shortage))
        sp_text_add(text, "without poolMallocNoGrowth the pool could grow by it");
    else if (is_forbidden && fits_anew(shortage))
        sp_text_add(text,
                    "without poolMallocNoGrowth the pool could grow after poolDeviceSynchronize");
    else
        advise_for_full_device(shortage, text);
}

// ----------------------------------------------------------------------------------- to use pieces

// Free memory that isn't fixed can't be had for a fixed block.
static void advise_for_pieces(const struct sp_shortage *shortage, struct sp_text *text) {
    struct sp_request movable = *shortage->request;
    const struct sp_pool *pool = movable.pool;
    bool is_fixed = movable.kind == SP_REGION_FIXED;
    if (is_fixed) {
        movable.kind = SP_REGION_LARGE;
        movable.sources = 1U << SP_REGION_LARGE;
    }
    bool may_join = sp_device_defragmentation(pool) != poolDefragmentNever;
    bool joins = sp_vmm_provider(&pool->device->vmm)->joins;
    struct sp_climb climb = sp_shortage_climb(&movable, SP_HERE, SP_READY);
    if (!is_fixed && joins && !may_join && climb.pieces == 0)
        sp_text_add(text, "Defragmentation lets the pool map its free pieces side by side");
    else if (is_fixed && climb.finds)
        sp_text_add(text, "without poolMallocFixed a free piece of the pool is large enough");
    else if (is_fixed && may_join && climb.pieces == 0)
        sp_text_add(text,
                    "without poolMallocFixed the pool could map its free pieces side by side");
    else if (could_grow(shortage) ||
             (shortage->lack == SP_LACK_LIMIT && growth_at_last(shortage) <= shortage->on_device))
        advise_for_growth(shortage, text);
    else if (!advise_trims(shortage, text))
        sp_text_add(text,
                    "what is free is in pieces beside blocks in use, so nothing but freeing helps");
}

// The first that helps: to wait for what is free, to use what lies in pieces, to grow. Where what
// is here is enough, another thread has freed memory meanwhile, or the driver doesn't let the pool
// have what there is.
static void say_advice(const struct sp_shortage *shortage, struct sp_text *text) {
    bool fits = fits_ordered(shortage, 0);
    bool is_refused = shortage->lack == SP_LACK_DRIVER ||
                      (shortage->lack == SP_LACK_DEVICE && shortage->on_device >= shortage->least);
    if (shortage->has_lost)
        sp_text_add(text,
                    "new memory can't lie where blocks of before a reset of the device are in "
                    "use, so free these first; ");
    if (shortage->lack == SP_LACK_HOST)
        sp_text_add(text, "it is the host that has no memory left, and not the device");
    else if (fits && is_refused)
        advise_for_growth(shortage, text);
    else if (fits)
        sp_text_add(text, "what is free is enough for that by now: another try may do");
    else if (sp_shortage_room(shortage, SP_PENDING).bytes > 0 &&
             fits_completed(shortage, SP_PENDING))
        advise_for_pending(shortage, text);
    else if (sp_shortage_room(shortage, SP_UNFENCED).bytes > 0 &&
             fits_completed(shortage, SP_UNFENCED))
        advise_for_unfenced(shortage, text);
    else if (fits_completed(shortage, SP_ALL))
        say_device_for(shortage, SP_ALL, text);
    else if (sp_shortage_fits(shortage, SP_ALL, SP_ALL, sp_shortage_others(shortage, SP_ALL).whole))
        advise_for_others(shortage, text);
    else if (sp_shortage_room(shortage, SP_HERE).bytes >= shortage->request->size)
        advise_for_pieces(shortage, text);
    else
        advise_for_growth(shortage, text);
}

// ------------------------------------------------------------------------------------ the sentence

// The driver doesn't say that a process may lock no more.
static void say_lock_limit(const struct sp_shortage *shortage, struct sp_text *text) {
    struct rlimit limit;
    if (sp_vmm_device_is_of_host(&shortage->request->pool->device->vmm) &&
        getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        sp_text_add(text, " (RLIMIT_MEMLOCK lets the process lock %s)",
                    sp_text_bytes(limit.rlim_cur).text);
}

// The library looks at it so that the kernel doesn't end the process for want of memory.
static void say_host_is_full(const struct sp_shortage *shortage, struct sp_text *text) {
    const struct sp_vmm_device *device = &shortage->request->pool->device->vmm;
    sp_text_add(text, "%s leaves %s where the pool was to grow by %s",
                sp_host_memory_left(sp_vmm_device_node(device)).by,
                sp_text_bytes(sp_vmm_device_left(device)).text,
                sp_text_bytes(shortage->least).text);
}

static void say_cause(const struct sp_shortage *shortage, struct sp_outcome lacking,
                      struct sp_text *text) {
    const struct sp_vmm_device *device = &shortage->request->pool->device->vmm;
    struct sp_words growth = sp_text_bytes(shortage->least);
    if (lacking.cause == SP_HOST_IS_FULL) {
        say_host_is_full(shortage, text);
        return;
    }
    switch (shortage->lack) {
    case SP_LACK_FLAG:
        sp_text_add(text, "poolMallocNoGrowth forbids to grow by %s", growth.text);
        break;
    case SP_LACK_LIMIT:
        if (shortage->request->size > device->total_memory) {
            sp_text_add(text, "the %s has %s in all", place_of(shortage),
                        sp_text_bytes(device->total_memory).text);
            break;
        }
        sp_text_add(text, "to grow by %s would take the pool beyond its limit of %s", growth.text,
                    sp_text_bytes(shortage->request->pool->limit).text);
        break;
    case SP_LACK_HOST:
        sp_text_add(text, "out of host memory");
        break;
    default:
        sp_text_add(text, "%s returned CUDA_ERROR_OUT_OF_MEMORY when the pool was to grow by %s",
                    lacking.entry_point, growth.text);
        say_lock_limit(shortage, text);
    }
}

// Says why the host has no memory either, where HostOverflowMax lets it.
static void say_overflow(const struct sp_shortage *shortage, struct sp_text *text) {
    const struct sp_pool *pool = shortage->request->pool;
    const struct sp_pool *overflow = sp_load_acquire(&pool->overflow);
    struct sp_outcome lacked = shortage->overflowed;
    uint64_t most = sp_load_relaxed(&pool->attributes.host_overflow_max);
    if (most == 0)
        return;
    if (shortage->no_overflow)
        sp_text_add(text, "; nothing overflows to the host: %s", shortage->no_overflow);
    else if (sp_is_done(lacked) || !overflow)
        sp_text_add(text, "; memory of the host is for no %s",
                    shortage->request->kind == SP_REGION_FIXED ? "fixed block" : "small block");
    else if (lacked.cause == SP_HOST_IS_FULL)
        sp_text_add(text, "; %s leaves %s of the host to overflow to",
                    sp_host_memory_left(sp_vmm_device_node(&overflow->device->vmm)).by,
                    sp_text_bytes(sp_vmm_device_left(&overflow->device->vmm)).text);
    else if (lacked.entry_point)
        sp_text_add(text, "; the driver has no memory of the host to overflow to either (%s)",
                    lacked.entry_point);
    else
        sp_text_add(text, "; HostOverflowMax leaves %s of %s",
                    sp_text_bytes(sp_excess(most, sp_pool_reserved_of_host(pool))).text,
                    sp_text_bytes(most).text);
}

static void say_held(struct sp_room room, const char *how, struct sp_text *text) {
    sp_text_add(text, " %s", sp_text_bytes(room.bytes).text);
    if (room.most)
        sp_text_add(text, " (%s %s %s)", sp_text_bytes(room.most_bytes).text, how,
                    sp_text_stream(room.most).text);
}

// Says what a peak has left, where that keeps as much as is lacking: to free it would do.
static void say_pinning(const struct sp_shortage *shortage, struct sp_text *text) {
    const struct sp_pinning *pinning = &shortage->pinning;
    if (pinning->blocks > 0 && pinning->beside >= shortage->least)
        sp_text_add(text,
                    "; %s of blocks in use (%" PRIu64
                    ", the largest %s) keep %s from being put "
                    "together or given back",
                    sp_text_bytes(pinning->bytes).text, pinning->blocks,
                    sp_text_bytes(pinning->largest).text, sp_text_bytes(pinning->beside).text);
}

// Small blocks of their sizes would find room there.
static void say_slabs(const struct sp_shortage *shortage, struct sp_text *text) {
    uint64_t idle = sp_loose_idle(shortage->request->pool);
    if (idle >= shortage->request->size)
        sp_text_add(text, ", idle in slabs %s", sp_text_bytes(idle).text);
}

poolError_t sp_refusal_tell(const struct sp_shortage *shortage, struct sp_outcome lacking) {
    struct sp_text text = {.length = 0};
    struct sp_room all = sp_shortage_room(shortage, SP_ALL);
    struct sp_room here = sp_shortage_room(shortage, SP_HERE);
    size_t asked = shortage->asked;
    sp_text_add(&text, "no room for %zu bytes", asked);
    if (asked >= (size_t)1 << 20)
        sp_text_add(&text, " (%s)", sp_text_bytes(asked).text);
    sp_text_add(&text, ": ");
    say_cause(shortage, lacking, &text);
    say_overflow(shortage, &text);
    sp_text_add(&text, "; in use %s of %s reserved, free here %s (largest piece %s), pending",
                sp_text_bytes(shortage->used).text, sp_text_bytes(shortage->reserved).text,
                sp_text_bytes(here.useful).text, sp_text_bytes(here.largest).text);
    say_held(sp_shortage_room(shortage, SP_PENDING), "behind", &text);
    sp_text_add(&text, ", unfenced");
    say_held(sp_shortage_room(shortage, SP_UNFENCED), "of", &text);
    sp_text_add(&text, ", pinned in pieces %s", sp_text_bytes(all.bytes - all.whole).text);
    say_slabs(shortage, &text);
    if (shortage->knows_device)
        sp_text_add(&text, ", free on the %s %s", place_of(shortage),
                    sp_text_bytes(shortage->on_device).text);
    say_pinning(shortage, &text);
    sp_text_add(&text, "; ");
    say_advice(shortage, &text);
    sp_fail(poolErrorMemoryAllocation, "%s", text.buffer);
    sp_fail_of_driver(lacking);
    return poolErrorMemoryAllocation;
}
