// The words of a refused allocation: why, how the pool stands, and what would help most.
//
// All free memory is looked through once more, as the request saw it. Each free block is in one of
// three parts:
//
//   free here   the stream may have it now: it doesn't fit, or not in one piece
//   pending     work may still use it, and an event tells when that ends
//   unfenced    likewise, but no event stands behind it yet
//
// A part helps if it has one block that is large enough, or if its whole extents, with those that
// are free here and the room to grow, make up what was asked for. *Pinned* bytes lie in extents
// that are partly in use: nothing can give them back or map them elsewhere, so they don't count.
//
// The advice goes from the cheapest to the dearest: what waits, then memory in pieces, then growth.
// Nothing here allocates; the one question to the driver is what the device has free.
#include "pool/refusal.h"

#include "base/checked.h"
#include "order/context.h"
#include "pool/figures.h"
#include "pool/runtime.h"
#include "pool/settle.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum cause { BY_FLAG, BY_LIMIT, BY_DEVICE, BY_DRIVER, BY_HOST };

struct part {
    uint64_t bytes;
    uint64_t pinned;
    uint64_t largest; // block
};

// The lane whose stream holds back most, or null.
struct holder {
    const struct sp_lane *lane;
    uint64_t bytes;
};

struct refusal {
    const struct sp_request *request;
    enum cause cause;
    const char *entry_point; // of the driver, if it was that
    uint64_t used, reserved;
    uint64_t least; // that the pool would have to grow by
    uint64_t room;  // to its limit
    struct part here, pending, unfenced;
    struct holder pending_most, unfenced_most;
    uint64_t largest;  // piece that is free here, of neighbouring blocks
    CUcontext context; // of the pool's device, or null: nobody knows what is free there
    uint64_t on_device;
    uint64_t other_pools; // of the device
};

static bool is_of_flags(const struct refusal *refusal, unsigned int flags) {
    return (refusal->request->flags & flags) != 0;
}

// ---------------------------------------------------------------------- looking through the pool

static void note_holder(struct holder *most, const struct sp_lane *lane, uint64_t bytes) {
    if (bytes > most->bytes)
        *most = (struct holder){lane, bytes};
}

static void add_block(struct part *part, const struct sp_block *block) {
    part->bytes += block->size;
    part->pinned += block->size - sp_block_whole_extents(block);
    part->largest = block->size > part->largest ? block->size : part->largest;
}

// Each stream that the request doesn't run after holds the block back.
static void charge_streams(const struct sp_request *request, const struct sp_block *block) {
    for (uint32_t i = 0; i < block->fences.count; i++) {
        struct sp_fence fence = *sp_fence_set_at(&block->fences, i);
        struct sp_fence_set alone = {.count = 1, .some = {fence}};
        struct sp_lane *lane = sp_pool_find_lane(request->pool, fence.slot);
        if (lane && sp_request_rule(request, &alone) > request->reach)
            lane->holds_back += block->size;
    }
}

// Puts each block of a tier into a part, and says how much of it is out of reach.
static uint64_t look_through(struct refusal *refusal, const struct sp_request *request,
                             const struct sp_tier *tier, struct part *part) {
    uint64_t out_of_reach = 0;
    for (const struct sp_block *b = sp_tier_first(tier); b; b = sp_tier_next(b)) {
        bool usable = sp_block_usable(request, b);
        add_block(usable ? &refusal->here : part, b);
        out_of_reach += usable ? 0 : b->size;
        if (!usable && part == &refusal->pending)
            charge_streams(request, b);
    }
    return out_of_reach;
}

// One of those whose last frees have no event behind them is enough to be named.
static void note_unfenced_streams(struct refusal *refusal, const struct sp_tier *tier) {
    for (const struct sp_block *b = sp_tier_first(tier); b; b = sp_tier_next(b)) {
        for (uint32_t i = 0; i < b->fences.count; i++) {
            struct sp_fence fence = *sp_fence_set_at(&b->fences, i);
            struct sp_lane *lane = sp_pool_find_lane(refusal->request->pool, fence.slot);
            if (lane && fence.sequence > sp_stream_covered(lane->stream))
                note_holder(&refusal->unfenced_most, lane, b->size);
        }
    }
}

static void look_through_kind(struct refusal *refusal, enum sp_region_kind kind) {
    struct sp_request request = *refusal->request;
    const struct sp_region *region = &request.pool->regions[kind];
    request.kind = kind;
    look_through(refusal, &request, &region->ready, &refusal->here);
    look_through(refusal, &request, &region->waiting, &refusal->pending);
    look_through(refusal, &request, &region->unfenced, &refusal->unfenced);
    note_unfenced_streams(refusal, &region->unfenced);
    SP_LIST_FOR_EACH(link, &request.pool->lanes)
    look_through(refusal, &request, &SP_CONTAINER_OF(link, struct sp_lane, link)->tiers[kind],
                 &refusal->pending);
}

static void look_through_unfenced(struct refusal *refusal, const struct sp_lane *lane) {
    uint64_t bytes = 0;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        struct sp_request request = *refusal->request;
        request.kind = (enum sp_region_kind)kind;
        bytes += look_through(refusal, &request, &lane->unfenced[kind], &refusal->unfenced);
    }
    note_holder(&refusal->unfenced_most, lane, bytes);
}

static void keep_largest(void *largest, struct sp_block *first, uint64_t size) {
    (void)first;
    if (size > *(uint64_t *)largest)
        *(uint64_t *)largest = size;
}

// Small blocks and large ones may be cut from each other's regions, as a last resort.
static void look_for_largest(struct refusal *refusal) {
    struct sp_request request = *refusal->request;
    sp_for_each_row(&request, keep_largest, &refusal->largest);
    if (request.kind == SP_REGION_FIXED)
        return;
    request.kind = request.kind == SP_REGION_LARGE ? SP_REGION_PAGES : SP_REGION_LARGE;
    sp_for_each_row(&request, keep_largest, &refusal->largest);
}

static void look_through_pool_locked(struct refusal *refusal) {
    struct sp_pool *pool = refusal->request->pool;
    SP_LIST_FOR_EACH(link, &pool->lanes)
    SP_CONTAINER_OF(link, struct sp_lane, link)->holds_back = 0;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        look_through_kind(refusal, (enum sp_region_kind)kind);
    SP_LIST_FOR_EACH(link, &pool->lanes) {
        const struct sp_lane *lane = SP_CONTAINER_OF(link, struct sp_lane, link);
        look_through_unfenced(refusal, lane);
        note_holder(&refusal->pending_most, lane, lane->holds_back);
    }
    look_for_largest(refusal);
    refusal->least = sp_growth_least(refusal->request);
    refusal->reserved = sp_figure(&pool->reserved);
    refusal->room = sp_round_down(pool->limit - refusal->reserved, pool->device->vmm.granule);
}

// What the lanes hold back for themselves is free, too.
static void look_through_pool(struct refusal *refusal) {
    struct sp_pool *pool = refusal->request->pool;
    sp_pool_collect(pool);
    sp_pool_begin_mapping(pool);
    sp_lock_acquire(&pool->lock);
    sp_pool_settle(pool);
    look_through_pool_locked(refusal);
    sp_lock_release(&pool->lock);
    sp_pool_end_mapping(pool);
    refusal->used = sp_figures_used(pool);
}

// A pool may serve a stream of another device.
static void look_at_device(struct refusal *refusal) {
    const struct sp_pool *pool = refusal->request->pool;
    const struct sp_stream *stream = refusal->request->lane->stream;
    struct sp_device *device = pool->device;
    uint64_t sum = 0;
    if (stream->device == device->vmm.ordinal)
        refusal->context = stream->context;
    if (refusal->context)
        refusal->on_device = sp_context_free_memory(refusal->context);
    sp_lock_acquire(&device->lock);
    SP_LIST_FOR_EACH(link, &device->pools)
    sum += sp_figure(&SP_CONTAINER_OF(link, struct sp_pool, link)->reserved);
    sp_lock_release(&device->lock);
    refusal->other_pools = sum > refusal->reserved ? sum - refusal->reserved : 0;
}

static enum cause cause_of(CUresult native, const char *entry_point, unsigned int flags) {
    if (native == CUDA_ERROR_OUT_OF_MEMORY && !*entry_point)
        return BY_HOST;
    if (native == CUDA_ERROR_OUT_OF_MEMORY)
        return strcmp(entry_point, "cuMemCreate") == 0 ? BY_DEVICE : BY_DRIVER;
    return flags & poolMallocNoGrowth ? BY_FLAG : BY_LIMIT;
}

// ------------------------------------------------------------------------------------- the words

struct text {
    char buffer[SP_ERROR_DETAIL];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    size_t left = sizeof text->buffer - text->length;
    int length = vsnprintf(text->buffer + text->length, left, format, arguments);
    va_end(arguments);
    text->length += length > 0 ? (size_t)length : 0;
    if (text->length >= sizeof text->buffer)
        text->length = sizeof text->buffer - 1;
}

struct words {
    char text[48];
};

static struct words in_units(uint64_t bytes) {
    struct words words;
    if (bytes < (uint64_t)1 << 20)
        snprintf(words.text, sizeof words.text, "%llu bytes", (unsigned long long)bytes);
    else
        snprintf(words.text, sizeof words.text, "%.1f MiB", (double)bytes / (double)(1 << 20));
    return words;
}

static struct words name_of(const struct sp_stream *stream) {
    struct words words;
    if (stream->handle == CU_STREAM_PER_THREAD)
        snprintf(words.text, sizeof words.text, "a per-thread default stream");
    else if (sp_stream_is_legacy(stream->handle))
        snprintf(words.text, sizeof words.text, "the legacy stream");
    else if (atomic_load_explicit(&stream->gone, memory_order_relaxed))
        snprintf(words.text, sizeof words.text, "a stream that was destroyed");
    else
        snprintf(words.text, sizeof words.text, "stream %p", (void *)stream->handle);
    return words;
}

static void say_cause(const struct refusal *refusal, struct text *text) {
    struct words growth = in_units(refusal->least);
    switch (refusal->cause) {
    case BY_FLAG:
        add(text, "poolMallocNoGrowth forbids to grow by %s", growth.text);
        break;
    case BY_LIMIT:
        add(text, "to grow by %s would take the pool beyond its limit of %s", growth.text,
            in_units(refusal->request->pool->limit).text);
        break;
    case BY_HOST:
        add(text, "out of host memory");
        break;
    default:
        add(text, "%s returned CUDA_ERROR_OUT_OF_MEMORY when the pool was to grow by %s",
            refusal->entry_point, growth.text);
    }
}

static void say_holder(struct text *text, const struct holder *holder, const char *how) {
    if (!holder->lane)
        return;
    add(text, " (%s %s ", in_units(holder->bytes).text, how);
    add(text, "%s)", name_of(holder->lane->stream).text);
}

static void say_figures(const struct refusal *refusal, struct text *text) {
    add(text, "; in use %s", in_units(refusal->used).text);
    add(text, " of %s reserved", in_units(refusal->reserved).text);
    add(text, ", free here %s", in_units(refusal->here.bytes).text);
    add(text, " (largest piece %s)", in_units(refusal->largest).text);
    add(text, ", pending %s", in_units(refusal->pending.bytes).text);
    say_holder(text, &refusal->pending_most, "behind");
    add(text, ", unfenced %s", in_units(refusal->unfenced.bytes).text);
    say_holder(text, &refusal->unfenced_most, "of");
    add(text, ", pinned in pieces %s",
        in_units(refusal->here.pinned + refusal->pending.pinned + refusal->unfenced.pinned).text);
    if (refusal->context)
        add(text, ", free on the device %s", in_units(refusal->on_device).text);
}

// ------------------------------------------------------------------------------------ the advice

// What the pool could grow by now.
static uint64_t growth_left(const struct refusal *refusal) {
    bool may_grow = refusal->cause == BY_LIMIT || refusal->cause == BY_DEVICE;
    uint64_t room = refusal->room;
    if (refusal->context && refusal->on_device < room)
        room = refusal->on_device;
    return may_grow && !is_of_flags(refusal, poolMallocNoGrowth) ? room : 0;
}

static uint64_t movable(const struct part *part) {
    return part->bytes - part->pinned;
}

static bool helps(const struct refusal *refusal, const struct part *part) {
    uint64_t size = refusal->request->size;
    uint64_t together = movable(part) + movable(&refusal->here) + growth_left(refusal);
    return part->bytes > 0 && (part->largest >= size || together >= size);
}

// A stream that was destroyed can't be synchronised, nor a per-thread one by any other thread.
static void advise_synchronize(const struct holder *holder, struct text *text) {
    const struct sp_stream *stream = holder->lane ? holder->lane->stream : NULL;
    if (!stream || stream->handle == CU_STREAM_PER_THREAD ||
        atomic_load_explicit(&stream->gone, memory_order_relaxed))
        add(text, "poolDeviceSynchronize makes it available");
    else
        add(text, "poolStreamSynchronize of %s makes it available", name_of(stream).text);
}

static void advise_host_wait(const struct refusal *refusal, struct text *text) {
    uint64_t most = sp_figure(&refusal->request->pool->host_wait_max);
    if (most == 0)
        add(text, "HostWaitMax lets an allocation wait for what is pending");
    else
        add(text, "what is pending took longer than HostWaitMax (%.3f ms)", (double)most / 1e6);
}

// Only events of the stream's own context can be waited for.
static bool can_wait(const struct refusal *refusal) {
    const struct sp_stream *taker = refusal->request->lane->stream;
    const struct sp_lane *lane = refusal->pending_most.lane;
    return lane && sp_stream_is_of(lane->stream, taker->context, taker->context_id);
}

static void advise_for_pending(const struct refusal *refusal, struct text *text) {
    bool can = can_wait(refusal);
    if (can && !sp_pool_policy(refusal->request->pool, poolMemPoolReuseAllowInternalDependencies))
        add(text, "ReuseAllowInternalDependencies lets the stream wait for what is pending");
    else if (can && !sp_pool_is_deterministic(refusal->request->pool))
        advise_host_wait(refusal, text);
    else if (can && is_of_flags(refusal, poolMallocSameStreamOnly | poolMallocNoInsertedWaits))
        add(text, "without %s the stream could wait for what is pending",
            is_of_flags(refusal, poolMallocSameStreamOnly) ? "poolMallocSameStreamOnly"
                                                           : "poolMallocNoInsertedWaits");
    else
        advise_synchronize(&refusal->pending_most, text);
}

static void advise_for_unfenced(const struct refusal *refusal, struct text *text) {
    const struct sp_pool *pool = refusal->request->pool;
    advise_synchronize(&refusal->unfenced_most, text);
    if (!atomic_load_explicit(&pool->context_fence, memory_order_relaxed) &&
        sp_request_allows(refusal->request, poolMemPoolReuseAllowInternalDependencies))
        add(text, ", or ContextFence has the stream wait for it");
}

static void advise_for_pieces(const struct refusal *refusal, struct text *text) {
    const struct sp_pool *pool = refusal->request->pool;
    int policy = atomic_load_explicit(&pool->defragmentation, memory_order_relaxed);
    bool movable_pieces = movable(&refusal->here) >= refusal->request->size;
    if (movable_pieces && policy == poolDefragmentNever)
        add(text, "Defragmentation lets the pool map its free pieces side by side");
    else if (movable_pieces && is_of_flags(refusal, poolMallocFixed))
        add(text, "without poolMallocFixed the pool could map its free pieces side by side");
    else
        add(text, "what is free is in pieces beside blocks in use, so nothing but freeing helps");
}

static void advise_for_full_device(const struct refusal *refusal, struct text *text) {
    uint64_t total = refusal->request->pool->device->vmm.total_memory;
    uint64_t known = refusal->on_device + refusal->reserved + refusal->other_pools;
    if (refusal->on_device >= refusal->least) {
        add(text, "the device has enough free for that by now: another try may do");
        return;
    }
    add(text, "nothing but freeing helps: other pools of the device hold %s",
        in_units(refusal->other_pools).text);
    if (refusal->context && known < total)
        add(text, ", and what isn't of any pool %s", in_units(total - known).text);
}

// Other threads may have freed memory since the request was refused.
static void advise_larger_limit(const struct refusal *refusal, struct text *text) {
    if (refusal->least > refusal->room)
        add(text, "a pool with a maxSize that is larger by %s has room for it",
            in_units(refusal->least - refusal->room).text);
    else
        add(text, "the limit leaves enough for that by now: another try may do");
}

static void advise_growth_ahead(const struct refusal *refusal, struct text *text) {
    if (refusal->least > refusal->room)
        advise_larger_limit(refusal, text);
    else if (refusal->context && refusal->on_device < refusal->least)
        advise_for_full_device(refusal, text);
    else
        add(text, "poolMemPoolPrime takes memory from the device ahead of need");
}

static void advise_for_growth(const struct refusal *refusal, struct text *text) {
    switch (refusal->cause) {
    case BY_FLAG:
        advise_growth_ahead(refusal, text);
        break;
    case BY_LIMIT:
        advise_larger_limit(refusal, text);
        break;
    case BY_DEVICE:
        advise_for_full_device(refusal, text);
        break;
    default:
        add(text, "the driver lacks memory for its own ends: poolMemPoolTrimTo gives some back");
    }
}

// One thing, the best.
static void advise(const struct refusal *refusal, struct text *text) {
    add(text, "; ");
    if (refusal->cause == BY_HOST)
        add(text, "it is the host that has no memory left, and not the device");
    else if (helps(refusal, &refusal->pending))
        advise_for_pending(refusal, text);
    else if (helps(refusal, &refusal->unfenced))
        advise_for_unfenced(refusal, text);
    else if (refusal->here.bytes >= refusal->request->size)
        advise_for_pieces(refusal, text);
    else
        advise_for_growth(refusal, text);
}

// ------------------------------------------------------------------------------------------ both

static poolError_t tell(const struct refusal *refusal, size_t asked) {
    struct text text = {.length = 0};
    add(&text, "no room for %zu bytes", asked);
    if (asked >= (size_t)1 << 20)
        add(&text, " (%s)", in_units(asked).text);
    add(&text, ": ");
    say_cause(refusal, &text);
    say_figures(refusal, &text);
    advise(refusal, &text);
    sp_fail(poolErrorMemoryAllocation, "%s", text.buffer);
    if (refusal->cause == BY_DEVICE || refusal->cause == BY_DRIVER)
        sp_fail_of_driver(CUDA_ERROR_OUT_OF_MEMORY, refusal->entry_point);
    return poolErrorMemoryAllocation;
}

poolError_t sp_refuse(struct sp_lane *lane, enum sp_region_kind kind, uint64_t size, unsigned flags,
                      size_t asked) {
    struct sp_request request;
    CUresult native;
    struct refusal refusal = {.request = &request};
    sp_native_error_last(&native, &refusal.entry_point);
    refusal.cause = cause_of(native, refusal.entry_point, flags);
    sp_request_open(&request, lane->pool, lane, kind, size, flags);
    look_through_pool(&refusal);
    look_at_device(&refusal);
    poolError_t error = tell(&refusal, asked);
    sp_request_close(&request);
    return error;
}
