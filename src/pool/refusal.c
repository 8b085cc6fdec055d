// The words of a refused allocation: why, how the pool stands, and what would help most.
//
// All free memory is looked through once more, as the request saw it. Each free block is in one of
// these parts:
//
//   free here   the stream may have it now: it is *ready*, which is nobody's, or *mine* by its
//               order. It doesn't fit, or not in one piece
//   pending     work may still use it, and an event tells when that ends
//   unfenced    likewise, but no event stands behind it yet
//
// The last two are *far* where a stream of another context than the request's holds the block back:
// the request can't wait for that.
//
// What would do is found as a request finds memory, by rows of neighbouring blocks: those of some
// parts together, as if they could be had. *Pinned* bytes lie in extents that are partly in use:
// nothing can give them back or map them elsewhere.
//
// The advice goes from the cheapest to the dearest: what waits, then memory in pieces, then growth.
// Nothing here allocates. The driver is asked what the device has free and for the current context.
#include "pool/refusal.h"

#include "base/checked.h"
#include "order/context.h"
#include "order/context_wait.h"
#include "pool/figures.h"
#include "pool/runtime.h"
#include "pool/settle.h"
#include "pool/survey.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum cause { BY_FLAG, BY_LIMIT, BY_DEVICE, BY_DRIVER, BY_HOST };

enum {
    READY = 1,
    MINE = 2,
    PENDING = 4,
    FAR_PENDING = 8,
    UNFENCED = 16,
    FAR_UNFENCED = 32,
    PARTS = 64, // sets of them
    HERE = READY | MINE,
    ALL_PENDING = PENDING | FAR_PENDING,
    ALL_UNFENCED = UNFENCED | FAR_UNFENCED,
    ALL = PARTS - 1,
};

// The lane whose stream holds back most, or null.
struct holder {
    const struct sp_lane *lane;
    uint64_t bytes;
};

// Some parts that are no use yet, and whose work that is.
struct held {
    unsigned parts;
    uint64_t bytes;
    struct holder most;
    const struct sp_stream *one; // of the streams that hold it back
    bool several;                // there are others
    bool near;                   // some are of the calling thread's current context
    const struct sp_stream *far; // one that is not
    bool many_contexts;          // there are such of several contexts
};

// What a set of parts amounts to.
struct room {
    bool known;
    uint64_t row;                      // the longest of the request's own region
    uint64_t other_row;                // and of the others
    uint64_t own;                      // bytes in the request's own region
    uint64_t whole;                    // extents
    uint64_t whole_other;              // of the other regions than the request's own
    uint64_t whole_large, tail, front; // what a stitched view can be made of
    uint64_t least;                    // new memory that is missing, next to what is free or alone
};

// What other pools of the device have free. They can give it back once nobody uses it any more.
struct others {
    uint64_t reserved;
    uint64_t free;
    uint64_t whole;         // of that, in whole extents
    uint64_t whole_by_wait; // of that, what the request can wait for
    struct held held;
};

struct refusal {
    const struct sp_request *request;
    struct sp_request of_kind[SP_REGION_COUNT]; // the same for each region
    enum cause cause;
    const char *entry_point; // of the driver, if it was that
    uint64_t used, reserved;
    uint64_t least;           // that the pool would have to grow by
    uint64_t room;            // to its limit
    uint64_t free;            // bytes, of all parts
    unsigned present;         // parts
    struct room rooms[PARTS]; // those that are known
    struct held mine, pending, unfenced;
    CUcontext current; // of the calling thread
    uint64_t current_id;
    CUcontext context; // of the pool's device, or null: nobody knows what is free there
    uint64_t on_device;
    struct others others;
};

static bool is_of_flags(const struct refusal *refusal, unsigned int flags) {
    return (refusal->request->flags & flags) != 0;
}

static void raise(uint64_t *most, uint64_t value) {
    if (value > *most)
        *most = value;
}

// ------------------------------------------------------------------------------------- the parts

static bool is_in_the_way(const struct sp_request *request, struct sp_fence fence) {
    struct sp_fence_set alone = {.count = 1, .some = {fence}};
    return sp_request_rule(request, &alone) > request->reach;
}

static bool is_of_taker(const struct refusal *refusal, const struct sp_stream *stream) {
    const struct sp_stream *taker = refusal->request->lane->stream;
    return sp_stream_is_of(stream, taker->context, taker->context_id);
}

static bool is_far(const struct refusal *refusal, const struct sp_block *block) {
    for (uint32_t i = 0; i < block->fences.count; i++) {
        struct sp_fence fence = *sp_fence_set_at(&block->fences, i);
        const struct sp_stream *stream = sp_stream_at(fence.slot);
        if (is_in_the_way(refusal->request, fence) && !is_of_taker(refusal, stream))
            return true;
    }
    return false;
}

// All fences of a lane's memory are of its stream.
static bool is_unfenced(const struct refusal *refusal, const struct sp_block *block) {
    const struct sp_pool *pool = refusal->request->pool;
    enum sp_region_kind kind = sp_segment_of(block)->kind;
    if (block->tier == &pool->regions[kind].unfenced)
        return true;
    if (block->fences.count != 1)
        return false;
    const struct sp_lane *lane = sp_pool_find_lane(pool, sp_fence_set_at(&block->fences, 0)->slot);
    return lane && block->tier == &lane->unfenced[kind];
}

// 0 for a block that isn't free.
static unsigned part_of(const struct refusal *refusal, const struct sp_block *block) {
    if (!sp_block_is_free(block))
        return 0;
    enum sp_region_kind kind = sp_segment_of(block)->kind;
    if (block->tier == &refusal->request->pool->regions[kind].ready)
        return READY;
    if (sp_block_usable(&refusal->of_kind[kind], block))
        return MINE;
    bool far = is_far(refusal, block);
    if (is_unfenced(refusal, block))
        return far ? FAR_UNFENCED : UNFENCED;
    return far ? FAR_PENDING : PENDING;
}

// --------------------------------------------------------------------------- who holds it back

static bool is_of_current(const struct refusal *refusal, const struct sp_stream *stream) {
    return sp_stream_is_of(stream, refusal->current, refusal->current_id);
}

static void note(const struct refusal *refusal, struct held *held, const struct sp_stream *stream) {
    held->several = held->several || (held->one && held->one != stream);
    held->one = stream;
    if (is_of_current(refusal, stream))
        held->near = true;
    else if (!held->far)
        held->far = stream;
    else if (!sp_stream_is_of(stream, held->far->context, held->far->context_id))
        held->many_contexts = true;
}

// What the stream may have by its order is held back from others until it is complete.
static bool holds(const struct refusal *refusal, unsigned parts, struct sp_fence fence) {
    return parts == MINE ? !refusal->request->pool->is_complete(fence)
                         : is_in_the_way(refusal->request, fence);
}

// What is unfenced is told of those streams alone that have no event behind it.
static bool is_told(unsigned parts, struct sp_fence fence) {
    return parts == ALL_PENDING || fence.sequence > sp_stream_covered(sp_stream_at(fence.slot));
}

static void charge(const struct refusal *refusal, struct held *held, const struct sp_block *block) {
    for (uint32_t i = 0; i < block->fences.count; i++) {
        struct sp_fence fence = *sp_fence_set_at(&block->fences, i);
        struct sp_lane *lane = sp_pool_find_lane(refusal->request->pool, fence.slot);
        if (!holds(refusal, held->parts, fence))
            continue;
        note(refusal, held, sp_stream_at(fence.slot));
        if (lane && is_told(held->parts, fence))
            lane->holds_back += block->size;
    }
}

struct held_search {
    const struct refusal *refusal;
    struct held *held;
};

static bool is_held(const void *context, const struct sp_block *block) {
    const struct held_search *search = context;
    return (part_of(search->refusal, block) & search->held->parts) != 0;
}

static void add_held(void *context, const struct sp_block *first, const struct sp_block *last) {
    struct held_search *search = context;
    for (const struct sp_block *b = first; b != last->next; b = b->next) {
        search->held->bytes += b->size;
        charge(search->refusal, search->held, b);
    }
}

static void look_for_holders(struct refusal *refusal, struct held *held, unsigned parts) {
    struct sp_pool *pool = refusal->request->pool;
    struct held_search search = {refusal, held};
    held->parts = parts;
    if (!(refusal->present & parts))
        return;
    SP_LIST_FOR_EACH(link, &pool->lanes)
    SP_CONTAINER_OF(link, struct sp_lane, link)->holds_back = 0;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        sp_for_each_free_row(pool, (enum sp_region_kind)kind, is_held, add_held, &search);
    SP_LIST_FOR_EACH(link, &pool->lanes) {
        const struct sp_lane *lane = SP_CONTAINER_OF(link, struct sp_lane, link);
        if (lane->holds_back > held->most.bytes)
            held->most = (struct holder){lane, lane->holds_back};
    }
}

// --------------------------------------------------------------------------- what parts amount to

struct room_search {
    const struct refusal *refusal;
    unsigned parts;
    struct room *room;
};

static bool is_in_room(const void *context, const struct sp_block *block) {
    const struct room_search *search = context;
    return (part_of(search->refusal, block) & search->parts) != 0;
}

// New memory behind the row saves what the row has. Fixed memory is never put together.
static void look_behind(const struct sp_request *request, uint64_t row, const struct sp_block *next,
                        struct room *room) {
    if (request->kind == SP_REGION_FIXED || row >= request->size || !next ||
        sp_block_state(next) != SP_BLOCK_HOLE)
        return;
    uint64_t missing = sp_round_up(request->size - row, request->pool->device->vmm.granule);
    if (missing <= next->size && missing < room->least)
        room->least = missing;
}

// Pages end at a page's boundary, whosever region they are cut from.
static uint64_t row_for_other(const struct sp_request *request, uint64_t begin, uint64_t end) {
    uint64_t last = request->kind == SP_REGION_PAGES ? sp_round_down(end, SP_PAGE_SIZE) : end;
    return last > begin ? last - begin : 0;
}

static void add_row(void *context, const struct sp_block *first, const struct sp_block *last) {
    struct room_search *search = context;
    struct room *room = search->room;
    const struct sp_request *request = search->refusal->request;
    enum sp_region_kind kind = sp_segment_of(first)->kind;
    struct sp_row_extents extents = sp_row_extents(first, last);
    uint64_t size = sp_block_end(last) - first->address;
    room->whole += extents.whole;
    if (kind == request->kind) {
        room->own += size;
        raise(&room->row, size);
        look_behind(request, size, last->next, room);
    } else {
        room->whole_other += extents.whole;
        raise(&room->other_row, row_for_other(request, first->address, sp_block_end(last)));
    }
    if (kind == SP_REGION_LARGE) {
        room->whole_large += extents.whole;
        raise(&room->tail, extents.tail);
        raise(&room->front, extents.front);
    }
}

static uint64_t in_granules(const struct refusal *refusal) {
    return sp_round_up(refusal->request->size, refusal->request->pool->device->vmm.granule);
}

static void look_for_room(struct refusal *refusal, unsigned parts) {
    struct room *room = &refusal->rooms[parts & refusal->present];
    struct room_search search = {refusal, parts, room};
    const struct sp_pool *pool = refusal->request->pool;
    if (room->known)
        return;
    room->known = true;
    room->least = in_granules(refusal);
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        sp_for_each_free_row(pool, (enum sp_region_kind)kind, is_in_room, add_row, &search);
}

// All sets that the advice asks about.
static void look_for_rooms(struct refusal *refusal) {
    static const unsigned char sets[] = {
        READY,
        HERE,
        HERE | PENDING,
        HERE | ALL_PENDING,
        READY | ALL_PENDING,
        HERE | ALL_UNFENCED,
        READY | ALL_UNFENCED,
        HERE | PENDING | UNFENCED,
        ALL,
    };
    for (size_t i = 0; i < sizeof sets; i++)
        look_for_room(refusal, sets[i]);
}

static const struct room *room_of(const struct refusal *refusal, unsigned parts) {
    return &refusal->rooms[parts & refusal->present];
}

// ---------------------------------------------------------------------- looking through the pool

static bool is_any_free(const void *context, const struct sp_block *block) {
    (void)context;
    return sp_block_is_free(block);
}

static void note_parts(void *context, const struct sp_block *first, const struct sp_block *last) {
    struct refusal *refusal = context;
    refusal->free += sp_block_end(last) - first->address;
    for (const struct sp_block *b = first; b != last->next; b = b->next)
        refusal->present |= part_of(refusal, b);
}

static void look_through_pool_locked(struct refusal *refusal) {
    struct sp_pool *pool = refusal->request->pool;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        sp_for_each_free_row(pool, (enum sp_region_kind)kind, is_any_free, note_parts, refusal);
    look_for_rooms(refusal);
    look_for_holders(refusal, &refusal->mine, MINE);
    look_for_holders(refusal, &refusal->pending, ALL_PENDING);
    look_for_holders(refusal, &refusal->unfenced, ALL_UNFENCED);
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

// -------------------------------------------------------------------------- looking at the device

struct other_search {
    struct refusal *refusal;
    const struct sp_pool *pool;
};

// Events of the taker's own context can be asked; a deterministic pool goes by no answer.
static bool can_be_awaited(const struct other_search *search, struct sp_fence fence) {
    const struct sp_stream *stream = sp_stream_at(fence.slot);
    return is_of_taker(search->refusal, stream) && fence.sequence <= sp_stream_covered(stream) &&
           !sp_pool_is_deterministic(search->pool);
}

static bool is_had_by_wait(const void *context, const struct sp_block *block) {
    const struct other_search *search = context;
    for (uint32_t i = 0; sp_block_is_free(block) && i < block->fences.count; i++) {
        struct sp_fence fence = *sp_fence_set_at(&block->fences, i);
        if (!search->pool->is_complete(fence) && !can_be_awaited(search, fence))
            return false;
    }
    return sp_block_is_free(block);
}

static void add_other(void *context, const struct sp_block *first, const struct sp_block *last) {
    const struct other_search *search = context;
    struct others *others = &search->refusal->others;
    others->whole += sp_row_extents(first, last).whole;
    for (const struct sp_block *b = first; b != last->next; b = b->next) {
        for (uint32_t i = 0; i < b->fences.count; i++) {
            struct sp_fence fence = *sp_fence_set_at(&b->fences, i);
            if (!search->pool->is_complete(fence))
                note(search->refusal, &others->held, sp_stream_at(fence.slot));
        }
    }
}

static void look_at_other(struct refusal *refusal, struct sp_pool *pool) {
    struct others *others = &refusal->others;
    struct other_search search = {refusal, pool};
    sp_pool_collect(pool);
    sp_pool_begin_mapping(pool);
    sp_lock_acquire(&pool->lock);
    sp_pool_settle(pool);
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        sp_for_each_free_row(pool, (enum sp_region_kind)kind, is_any_free, add_other, &search);
    others->whole_by_wait += sp_whole_extents(pool, is_had_by_wait, &search);
    uint64_t reserved = sp_figure(&pool->reserved);
    sp_lock_release(&pool->lock);
    sp_pool_end_mapping(pool);
    uint64_t used = sp_figures_used(pool);
    others->reserved += reserved;
    others->free += reserved > used ? reserved - used : 0;
}

static void look_at_others(struct refusal *refusal) {
    struct sp_device *device = refusal->request->pool->device;
    struct sp_pool *pool = NULL;
    while ((pool = sp_device_next_pool(device, pool))) {
        if (pool != refusal->request->pool)
            look_at_other(refusal, pool);
    }
    sp_device_reap(device); // what was destroyed while the walk stood on it
}

// Where the device isn't full other pools have no part in it.
static bool is_device_full(const struct refusal *refusal) {
    bool is_short = refusal->context && refusal->on_device < in_granules(refusal);
    return refusal->cause == BY_DEVICE ||
           (is_short && (refusal->cause == BY_FLAG || refusal->cause == BY_LIMIT));
}

// A pool may serve a stream of another device.
static void look_at_device(struct refusal *refusal) {
    const struct sp_pool *pool = refusal->request->pool;
    const struct sp_stream *stream = refusal->request->lane->stream;
    if (stream->device == pool->device->vmm.ordinal)
        refusal->context = stream->context;
    if (refusal->context)
        refusal->on_device = sp_context_free_memory(refusal->context);
    if (is_device_full(refusal))
        look_at_others(refusal);
}

static enum cause cause_of(CUresult native, const char *entry_point, unsigned int flags) {
    if (native == CUDA_ERROR_OUT_OF_MEMORY && !*entry_point)
        return BY_HOST;
    if (native == CUDA_ERROR_OUT_OF_MEMORY)
        return strcmp(entry_point, "cuMemCreate") == 0 ? BY_DEVICE : BY_DRIVER;
    return flags & poolMallocNoGrowth ? BY_FLAG : BY_LIMIT;
}

// ------------------------------------------------------------------------------- what would do

// Growth is had from the device, and from what is given back to it: whole extents that nobody uses
// any more.
struct supply {
    unsigned reach;    // parts that can be taken, by the order of the stream
    unsigned complete; // of these, what nobody uses any more
    uint64_t others;   // bytes that other pools give back
    bool waits;        // the request itself does, and then grows alone: see sp_climb_again()
};

static bool may_grow(const struct refusal *refusal) {
    return (refusal->cause == BY_LIMIT || refusal->cause == BY_DEVICE) &&
           !is_of_flags(refusal, poolMallocNoGrowth);
}

static uint64_t growth_left(const struct refusal *refusal, uint64_t others) {
    uint64_t on_device = refusal->on_device + others;
    bool unknown = !refusal->context && refusal->cause != BY_DEVICE;
    return unknown || on_device > refusal->room ? refusal->room : on_device;
}

static int defragmentation(const struct refusal *refusal) {
    return atomic_load_explicit(&refusal->request->pool->defragmentation, memory_order_relaxed);
}

static uint64_t stitched(const struct room *room) {
    return room->whole_large + room->tail + room->front;
}

// Part of a stitched view is new memory only if it saves enough: see pool/pieces.c.
static bool fits_beside_new(const struct refusal *refusal, struct supply supply) {
    const struct room *reach = room_of(refusal, supply.reach);
    uint64_t otherwise = room_of(refusal, supply.complete)->least;
    uint64_t granule = refusal->request->pool->device->vmm.granule;
    uint64_t missing = refusal->request->size - reach->whole_large - reach->tail;
    uint64_t front = reach->front < missing ? reach->front : missing;
    return sp_round_up(missing, granule) < otherwise - otherwise / SP_SAVING_SHARE &&
           sp_round_up(missing - front, granule) <= growth_left(refusal, 0);
}

// Others give back for the whole of a request, and never for what saves some of it.
static bool fits_by_growth(const struct refusal *refusal, struct supply supply) {
    const struct room *complete = room_of(refusal, supply.complete);
    bool beside = !supply.waits && complete->least <= growth_left(refusal, 0);
    return beside || complete->whole + growth_left(refusal, supply.others) >= in_granules(refusal);
}

static bool may_remap(const struct refusal *refusal) {
    return refusal->request->kind == SP_REGION_LARGE &&
           defragmentation(refusal) >= poolDefragmentUnderPressure;
}

static bool fits_stitched(const struct refusal *refusal, struct supply supply) {
    bool is_enough = stitched(room_of(refusal, supply.reach)) >= refusal->request->size;
    if (!may_remap(refusal))
        return false;
    return is_enough || (may_grow(refusal) && fits_beside_new(refusal, supply));
}

// A fixed block is cut from fixed memory alone. Others take what nobody uses of other regions, too.
static bool fits_in_row(const struct refusal *refusal, struct supply supply) {
    const struct sp_request *request = refusal->request;
    return room_of(refusal, supply.reach)->row >= request->size ||
           (request->kind != SP_REGION_FIXED &&
            room_of(refusal, supply.complete)->other_row >= request->size);
}

// Whether the request would be served if these parts could be had.
static bool fits(const struct refusal *refusal, struct supply supply) {
    return fits_in_row(refusal, supply) || fits_stitched(refusal, supply) ||
           (may_grow(refusal) && fits_by_growth(refusal, supply));
}

// By an order that the stream is given; and by waiting until the parts are complete.
static bool fits_ordered(const struct refusal *refusal, unsigned parts) {
    return fits(refusal, (struct supply){HERE | parts, READY, 0, false});
}

static bool fits_completed(const struct refusal *refusal, unsigned parts) {
    return fits(refusal, (struct supply){HERE | parts, HERE | parts, 0, false});
}

static bool fits_waited_for(const struct refusal *refusal, unsigned parts) {
    return fits(refusal, (struct supply){HERE | parts, HERE | parts, 0, true});
}

// With what other pools give back then.
static bool fits_with_others(const struct refusal *refusal) {
    struct supply supply = {ALL, ALL, refusal->others.whole, false};
    return refusal->others.whole > 0 && may_grow(refusal) && fits(refusal, supply);
}

static bool fits_waited_for_with_others(const struct refusal *refusal) {
    unsigned parts = HERE | PENDING;
    return fits(refusal, (struct supply){parts, parts, refusal->others.whole_by_wait, true});
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
    char text[80];
};

static struct words in_units(uint64_t bytes) {
    struct words words;
    if (bytes < (uint64_t)1 << 20)
        snprintf(words.text, sizeof words.text, "%llu bytes", (unsigned long long)bytes);
    else
        snprintf(words.text, sizeof words.text, "%.1f MiB", (double)bytes / (double)(1 << 20));
    return words;
}

static struct words name_of(const struct refusal *refusal, const struct sp_stream *stream) {
    struct words words;
    const char *where = is_of_current(refusal, stream) ? "" : " of another context";
    if (stream->handle == CU_STREAM_PER_THREAD)
        snprintf(words.text, sizeof words.text, "a per-thread default stream%s", where);
    else if (sp_stream_is_legacy(stream->handle))
        snprintf(words.text, sizeof words.text, "the legacy stream%s", where);
    else if (atomic_load_explicit(&stream->gone, memory_order_relaxed))
        snprintf(words.text, sizeof words.text, "a stream that was destroyed%s", where);
    else
        snprintf(words.text, sizeof words.text, "stream %p%s", (void *)stream->handle, where);
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

static void say_held(const struct refusal *refusal, struct text *text, const struct held *held,
                     const char *how) {
    const struct holder *most = &held->most;
    add(text, " %s", in_units(held->bytes).text);
    if (!most->lane)
        return;
    add(text, " (%s %s ", in_units(most->bytes).text, how);
    add(text, "%s)", name_of(refusal, most->lane->stream).text);
}

static uint64_t not_held(const struct refusal *refusal) {
    return refusal->free - refusal->pending.bytes - refusal->unfenced.bytes;
}

// A fixed block can't be cut from what isn't fixed, but whole extents can be released for it.
static uint64_t free_here(const struct refusal *refusal) {
    const struct room *here = room_of(refusal, HERE);
    bool fixed = refusal->request->kind == SP_REGION_FIXED;
    return fixed ? here->own + here->whole_other : not_held(refusal);
}

static uint64_t largest_piece(const struct refusal *refusal) {
    const struct room *here = room_of(refusal, HERE);
    bool own_alone = refusal->request->kind == SP_REGION_FIXED || here->row > here->other_row;
    return own_alone ? here->row : here->other_row;
}

static void say_figures(const struct refusal *refusal, struct text *text) {
    add(text, "; in use %s", in_units(refusal->used).text);
    add(text, " of %s reserved", in_units(refusal->reserved).text);
    add(text, ", free here %s", in_units(free_here(refusal)).text);
    add(text, " (largest piece %s)", in_units(largest_piece(refusal)).text);
    add(text, ", pending");
    say_held(refusal, text, &refusal->pending, "behind");
    add(text, ", unfenced");
    say_held(refusal, text, &refusal->unfenced, "of");
    add(text, ", pinned in pieces %s", in_units(refusal->free - room_of(refusal, ALL)->whole).text);
    if (refusal->context)
        add(text, ", free on the device %s", in_units(refusal->on_device).text);
}

// -------------------------------------------------------------------------------- advice: to wait

static bool are_of_one_context(const struct sp_stream *a, const struct sp_stream *b) {
    return sp_stream_is_of(a, b->context, b->context_id);
}

static void join_contexts(struct held *all, const struct held *held) {
    bool differ = held->far && all->far && !are_of_one_context(held->far, all->far);
    all->near = all->near || held->near;
    all->many_contexts = all->many_contexts || held->many_contexts || differ;
    all->far = held->far ? held->far : all->far;
}

// A synchronise gives back what is free: that is no loss where as much can be mapped anew.
static void say_to_keep(const struct refusal *refusal, struct text *text) {
    uint64_t threshold = sp_figure(&refusal->request->pool->release_threshold);
    uint64_t anew = room_of(refusal, ALL)->whole + growth_left(refusal, refusal->others.whole);
    if (refusal->reserved > threshold && !(may_grow(refusal) && anew >= in_granules(refusal)))
        add(text, ", if ReleaseThreshold has the pool keep it");
}

// A synchronise of the device is one of the current context.
static void say_device(const struct refusal *refusal, const struct held *all, struct text *text) {
    if (!all->far)
        add(text, "poolDeviceSynchronize makes it available");
    else if (!all->near && !all->many_contexts)
        add(text, "poolDeviceSynchronize with that context current makes it available");
    else
        add(text,
            "poolDeviceSynchronize with each context current that holds some of it back "
            "makes it available");
    say_to_keep(refusal, text);
}

// A stream that was destroyed can't be synchronised, nor a per-thread one by any other thread. The
// legacy stream is that of the current context.
static bool can_be_synchronized(const struct refusal *refusal, const struct sp_stream *stream) {
    bool is_gone = atomic_load_explicit(&stream->gone, memory_order_relaxed);
    if (stream->handle == CU_STREAM_PER_THREAD || is_gone)
        return false;
    return !sp_stream_is_legacy(stream->handle) || is_of_current(refusal, stream);
}

// One stream is named where it alone holds all of it back, and nothing else is needed.
static void advise_wait(const struct refusal *refusal, const struct held *held, struct text *text) {
    const struct sp_stream *one = held->several ? NULL : held->one;
    struct held all = *held;
    struct supply supply = {HERE | held->parts, READY | held->parts, 0, false};
    bool is_enough = fits(refusal, supply);
    if (!is_enough)
        join_contexts(&all, &refusal->mine);
    if (!is_enough || !one || !can_be_synchronized(refusal, one)) {
        say_device(refusal, &all, text);
        return;
    }
    add(text, "poolStreamSynchronize of %s makes it available", name_of(refusal, one).text);
    say_to_keep(refusal, text);
}

static uint64_t host_wait_max(const struct refusal *refusal) {
    return sp_figure(&refusal->request->pool->host_wait_max);
}

static void advise_host_wait(const struct refusal *refusal, struct text *text) {
    if (host_wait_max(refusal) == 0)
        add(text, "HostWaitMax lets an allocation wait for what is pending");
    else
        add(text, "what is pending took longer than HostWaitMax (%.3f ms)",
            (double)host_wait_max(refusal) / 1e6);
}

static void advise_for_pending(const struct refusal *refusal, struct text *text) {
    const struct sp_pool *pool = refusal->request->pool;
    bool ordered = fits_ordered(refusal, PENDING);
    bool policy = sp_pool_policy(pool, poolMemPoolReuseAllowInternalDependencies);
    bool flagged = is_of_flags(refusal, poolMallocSameStreamOnly | poolMallocNoInsertedWaits);
    if (ordered && !policy && !flagged)
        add(text, "ReuseAllowInternalDependencies lets the stream wait for what is pending");
    else if (fits_waited_for(refusal, PENDING) && !sp_pool_is_deterministic(pool))
        advise_host_wait(refusal, text);
    else if (ordered && policy && flagged)
        add(text, "without %s the stream could wait for what is pending",
            is_of_flags(refusal, poolMallocSameStreamOnly) ? "poolMallocSameStreamOnly"
                                                           : "poolMallocNoInsertedWaits");
    else
        advise_wait(refusal, &refusal->pending, text);
}

// The stream waits for an event of the context; where the driver has none, the host does.
static void advise_context_fence(const struct refusal *refusal, struct text *text) {
    const struct sp_pool *pool = refusal->request->pool;
    uint64_t most = sp_figure(&pool->context_wait_max);
    if (atomic_load_explicit(&pool->context_fence, memory_order_relaxed))
        return;
    if (!sp_context_must_be_awaited()) {
        if (sp_request_allows(refusal->request, poolMemPoolReuseAllowInternalDependencies) &&
            fits_ordered(refusal, PENDING | UNFENCED))
            add(text, ", or ContextFence has the stream wait for it");
    } else if (most > 0 && sp_pool_may_ask(pool) && fits_waited_for(refusal, PENDING | UNFENCED)) {
        add(text, ", or ContextFence has the host wait for it");
        add(text, ", no longer than ContextWaitMax (%.3f ms)", (double)most / 1e6);
    }
}

static void advise_for_unfenced(const struct refusal *refusal, struct text *text) {
    advise_wait(refusal, &refusal->unfenced, text);
    advise_context_fence(refusal, text);
}

static struct held all_held(const struct refusal *refusal) {
    struct held all = refusal->mine;
    join_contexts(&all, &refusal->pending);
    join_contexts(&all, &refusal->unfenced);
    return all;
}

static void advise_for_all_held(const struct refusal *refusal, struct text *text) {
    struct held all = all_held(refusal);
    say_device(refusal, &all, text);
}

// No stream can be made to wait for another pool's memory, which has to be given back first. The
// streams that hold it back aren't named, so neither is their context.
static void advise_for_others(const struct refusal *refusal, struct text *text) {
    const struct others *others = &refusal->others;
    struct held all = all_held(refusal);
    join_contexts(&all, &others->held);
    all.many_contexts = true;
    add(text, "other pools of the device hold %s that are free and may still be in use: ",
        in_units(others->free).text);
    say_device(refusal, &all, text);
    bool may_wait = refusal->cause == BY_DEVICE && host_wait_max(refusal) == 0 &&
                    !sp_pool_is_deterministic(refusal->request->pool);
    if (may_wait && fits_waited_for_with_others(refusal))
        add(text, ", or HostWaitMax lets an allocation wait for it");
}

// -------------------------------------------------------------------- advice: pieces and growth

// Other threads may have freed memory since the request was refused.
static void advise_larger_limit(const struct refusal *refusal, struct text *text) {
    if (refusal->least > refusal->room)
        add(text, "a pool with a maxSize that is larger by %s has room for it",
            in_units(refusal->least - refusal->room).text);
    else
        add(text, "the limit leaves enough for that by now: another try may do");
    if (refusal->context && refusal->on_device < refusal->least)
        add(text, ", once the device has as much free");
}

static void advise_for_full_device(const struct refusal *refusal, struct text *text) {
    const struct others *others = &refusal->others;
    uint64_t total = refusal->request->pool->device->vmm.total_memory;
    uint64_t known = refusal->on_device + refusal->reserved + others->reserved;
    if (refusal->on_device >= refusal->least) {
        add(text, "the device has enough free for that by now: another try may do");
        return;
    }
    if (!refusal->context && others->whole + room_of(refusal, ALL)->whole > 0) {
        add(text,
            "nobody knows what the device has free: another try after poolDeviceSynchronize "
            "may do");
        return;
    }
    add(text, "nothing but freeing helps: other pools of the device hold %s",
        in_units(others->reserved).text);
    if (others->free > 0)
        add(text, " (%s of it free)", in_units(others->free).text);
    if (refusal->context && known < total)
        add(text, ", and what isn't of any pool %s", in_units(total - known).text);
}

// Without the flag the pool could grow by what the device has.
static bool could_grow(const struct refusal *refusal) {
    return refusal->cause == BY_FLAG && refusal->least <= refusal->room &&
           (!refusal->context || refusal->on_device >= refusal->least);
}

// Priming maps one free block, which isn't fixed, where there is room for all of it.
static bool could_be_primed(const struct refusal *refusal) {
    uint64_t needed = in_granules(refusal);
    return refusal->request->kind != SP_REGION_FIXED && needed <= refusal->room &&
           (!refusal->context || needed <= refusal->on_device);
}

static bool could_grow_by_others(const struct refusal *refusal) {
    uint64_t whole = room_of(refusal, ALL)->whole;
    return whole + growth_left(refusal, refusal->others.whole) >= in_granules(refusal);
}

static void advise_growth_ahead(const struct refusal *refusal, struct text *text) {
    if (refusal->least > refusal->room)
        advise_larger_limit(refusal, text);
    else if (could_be_primed(refusal))
        add(text, "poolMemPoolPrime takes memory from the device ahead of need");
    else if (could_grow(refusal))
        add(text, "without poolMallocNoGrowth the pool could grow by it");
    else if (could_grow_by_others(refusal))
        add(text, "without poolMallocNoGrowth the pool could grow after poolDeviceSynchronize");
    else
        advise_for_full_device(refusal, text);
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

// What is free here and isn't fixed can't be had for a fixed block. True when it was told.
static bool advise_not_fixed(const struct refusal *refusal, struct text *text) {
    const struct room *here = room_of(refusal, HERE);
    uint64_t size = refusal->request->size;
    if (refusal->request->kind != SP_REGION_FIXED)
        return false;
    if (here->other_row >= size)
        add(text, "without poolMallocFixed a free piece of the pool is large enough");
    else if (stitched(here) >= size && defragmentation(refusal) >= poolDefragmentUnderPressure)
        add(text, "without poolMallocFixed the pool could map its free pieces side by side");
    else
        return false;
    return true;
}

static bool could_be_stitched(const struct refusal *refusal) {
    return refusal->request->kind == SP_REGION_LARGE &&
           stitched(room_of(refusal, HERE)) >= refusal->request->size;
}

static void advise_for_pieces(const struct refusal *refusal, struct text *text) {
    if (could_be_stitched(refusal) && defragmentation(refusal) == poolDefragmentNever)
        add(text, "Defragmentation lets the pool map its free pieces side by side");
    else if (advise_not_fixed(refusal, text))
        return;
    else if (could_grow(refusal))
        advise_growth_ahead(refusal, text);
    else
        add(text, "what is free is in pieces beside blocks in use, so nothing but freeing helps");
}

// Another thread has freed memory meanwhile, or the driver doesn't let the pool have what there is.
static void advise_another_try(const struct refusal *refusal, struct text *text) {
    bool by_driver = refusal->cause == BY_DEVICE && refusal->on_device >= refusal->least;
    if (by_driver || refusal->cause == BY_DRIVER)
        advise_for_growth(refusal, text);
    else
        add(text, "what is free is enough for that by now: another try may do");
}

// One thing, the best.
static void advise(const struct refusal *refusal, struct text *text) {
    add(text, "; ");
    if (refusal->cause == BY_HOST)
        add(text, "it is the host that has no memory left, and not the device");
    else if (fits_ordered(refusal, 0))
        advise_another_try(refusal, text);
    else if (fits_completed(refusal, ALL_PENDING) && refusal->pending.bytes > 0)
        advise_for_pending(refusal, text);
    else if (fits_completed(refusal, ALL_UNFENCED) && refusal->unfenced.bytes > 0)
        advise_for_unfenced(refusal, text);
    else if (fits_completed(refusal, ALL))
        advise_for_all_held(refusal, text);
    else if (fits_with_others(refusal))
        advise_for_others(refusal, text);
    else if (not_held(refusal) >= refusal->request->size)
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
    for (int i = 0; i < SP_REGION_COUNT; i++) {
        refusal.of_kind[i] = request;
        refusal.of_kind[i].kind = (enum sp_region_kind)i;
    }
    sp_context_current(&refusal.current, &refusal.current_id);
    look_through_pool(&refusal);
    look_at_device(&refusal);
    poolError_t error = tell(&refusal, asked);
    sp_request_close(&request);
    return error;
}
