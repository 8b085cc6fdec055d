#include "calls/shortage.h"

#include "base/checked.h"
#include "base/number.h"
#include "order/context.h"
#include "order/silent.h"
#include "process/given_up.h"
#include "region/collect.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/lane.h"
#include "region/segment.h"
#include "region/settle.h"
#include "region/survey.h"
#include "supply/plan.h"

#include <string.h>

// A look through one pool, the request's own or another.
struct look {
    const struct sp_request *request;
    struct sp_pool *pool;
    struct sp_room *rooms;                      // by set of parts
    struct sp_request of_kind;                  // the same for the region that is looked through
    const struct sp_block *begin[SP_PART_SETS]; // of the row of each set that goes on, or null
};

static bool is_own(const struct look *look) {
    return look->pool == look->request->pool;
}

// --------------------------------------------------------------------------------------- the parts

// A wait on the host asks the events of the taker's context, and the legacy stream.
static bool can_be_awaited(const struct look *look, struct sp_fence fence) {
    const struct sp_stream *stream = sp_stream_at(fence.slot);
    if (sp_pool_knows(look->pool, fence))
        return true;
    return sp_request_shares_context(look->request, stream) &&
           (fence.sequence <= sp_progress_covered(stream) || sp_silent_is_seen_by_legacy(stream));
}

// A deterministic pool goes by no answer.
static bool is_had_by_wait(const struct look *look, const struct sp_block *block) {
    bool is_had = !sp_pool_is_deterministic(look->pool);
    for (uint32_t i = 0; is_had && i < block->fences.count; i++)
        is_had = can_be_awaited(look, *sp_fence_set_at(&block->fences, i));
    return is_had;
}

// 0 for a block that isn't free.
static unsigned part_of(const struct look *look, const struct sp_block *block) {
    if (!sp_survey_is_free(block))
        return 0;
    if (block->tier == &look->pool->regions[look->of_kind.kind].ready)
        return SP_READY;
    if (!is_own(look))
        return is_had_by_wait(look, block) ? SP_PENDING : SP_UNFENCED;
    if (sp_request_usable(&look->of_kind, block))
        return SP_MINE;
    return sp_settle_is_unfenced(look->pool, block) ? SP_UNFENCED : SP_PENDING;
}

// ----------------------------------------------------------------------------- who holds them back

// Other pools' memory is held back until it is complete; so is what the stream has by its order.
static bool holds_back(const struct look *look, unsigned part, struct sp_fence fence) {
    struct sp_fence_set alone = {.count = 1, .some = {fence}};
    if (!is_own(look) || part == SP_MINE)
        return !sp_pool_knows(look->pool, fence);
    return sp_request_rule(look->request, &alone) > look->request->reach;
}

static void note_holder(struct sp_room *room, const struct sp_stream *stream) {
    const struct sp_stream *one = room->holder ? room->holder : stream;
    room->holder = one;
    room->several = room->several || one != stream;
    room->several_contexts =
        room->several_contexts || !sp_stream_is_of(stream, one->context, one->context_id);
}

// Charges unfenced memory to those streams alone that have no event behind it.
static void charge(const struct look *look, unsigned part, struct sp_fence fence, uint64_t bytes) {
    const struct sp_stream *stream = sp_stream_at(fence.slot);
    struct sp_lane *lane = sp_lane_find(look->pool, fence.slot);
    struct sp_room *room = &look->rooms[part];
    bool is_unfenced = part == SP_UNFENCED;
    if (!lane || part == SP_MINE || (is_unfenced && fence.sequence <= sp_progress_covered(stream)))
        return;
    lane->holds_back[is_unfenced] += bytes;
    if (lane->holds_back[is_unfenced] <= room->most_bytes)
        return;
    room->most = stream;
    room->most_bytes = lane->holds_back[is_unfenced];
}

static void note_holders(const struct look *look, unsigned part, const struct sp_block *block) {
    for (uint32_t i = 0; i < block->fences.count; i++) {
        struct sp_fence fence = *sp_fence_set_at(&block->fences, i);
        if (!holds_back(look, part, fence))
            continue;
        for (unsigned set = 1; set < SP_PART_SETS; set++) {
            if (set & part)
                note_holder(&look->rooms[set], sp_stream_at(fence.slot));
        }
        charge(look, part, fence, block->size);
    }
}

// ----------------------------------------------------------------------------- what they amount to

static void raise(uint64_t *most, uint64_t value) {
    if (value > *most)
        *most = value;
}

// New memory in the hole behind a row saves what the row has. Fixed memory is never put together.
static bool is_before_hole(const struct look *look, const struct sp_block *last, uint64_t row) {
    const struct sp_request *request = look->request;
    if (request->kind == SP_REGION_FIXED || row >= request->size)
        return false;
    return sp_round_up(request->size - row, request->pool->device->vmm.granule) <=
           sp_segment_room_behind(last);
}

static void add_own(const struct look *look, struct sp_room *room, const struct sp_block *last,
                    uint64_t size) {
    room->useful += size;
    raise(&room->row, size);
    if (is_before_hole(look, last, size))
        raise(&room->before_hole, size);
}

// Fixed blocks aren't cut from another region, but whole extents make room for them. Pages that are
// cut from one end at a page's boundary.
static void add_other(const struct look *look, struct sp_room *room, uint64_t begin, uint64_t end,
                      uint64_t whole) {
    enum sp_region_kind kind = look->request->kind;
    uint64_t last = kind == SP_REGION_PAGES ? sp_round_down(end, SP_PAGE_SIZE) : end;
    room->useful += kind == SP_REGION_FIXED ? whole : end - begin;
    raise(&room->other_row, sp_excess(last, begin));
}

// The row of a set that ends now.
static void add_row(const struct look *look, unsigned set, const struct sp_block *last) {
    const struct sp_block *first = look->begin[set];
    struct sp_room *room = &look->rooms[set];
    struct sp_survey_row extents = sp_survey_row(first, last);
    uint64_t end = sp_block_end(last);
    room->bytes += end - first->address;
    room->whole += extents.whole;
    if (look->of_kind.kind == look->request->kind)
        add_own(look, room, last, end - first->address);
    else
        add_other(look, room, first->address, end, extents.whole);
    if (look->of_kind.kind == SP_REGION_LARGE) {
        room->whole_large += extents.whole;
        raise(&room->tail, extents.tail);
        raise(&room->front, extents.front);
    }
}

// --------------------------------------------------------------------------------- the look itself

// At a block of this part, or at the end (null), rows end of the sets without it, and others begin.
static void turn(struct look *look, unsigned part, const struct sp_block *last,
                 const struct sp_block *block) {
    for (unsigned set = 1; set < SP_PART_SETS; set++) {
        bool is_in = (set & part) != 0;
        if (look->begin[set] && !is_in)
            add_row(look, set, last);
        if (!look->begin[set] || !is_in)
            look->begin[set] = is_in ? block : NULL;
    }
}

static void look_through_chain(struct look *look, const struct sp_chain *chain) {
    const struct sp_block *last = NULL;
    for (const struct sp_block *b = chain->first; b; b = b->next) {
        unsigned part = part_of(look, b);
        turn(look, part, last, b);
        if (part)
            note_holders(look, part, b);
        last = b;
    }
    turn(look, 0, last, NULL);
}

static void look_through_locked(struct look *look) {
    SP_LIST_FOR_EACH(link, &look->pool->lanes.list) {
        struct sp_lane *lane = SP_CONTAINER_OF(link, struct sp_lane, link);
        memset(lane->holds_back, 0, sizeof lane->holds_back);
    }
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        look->of_kind.kind = (enum sp_region_kind)kind;
        SP_LIST_FOR_EACH(link, &look->pool->regions[kind].segments)
            look_through_chain(look, &SP_CONTAINER_OF(link, struct sp_segment, link)->chain);
    }
}

// Looks through a pool. The memory that lanes hold back for themselves is free, too. Returns what
// the pool has reserved.
static uint64_t look_through(struct sp_shortage *shortage, struct sp_pool *pool) {
    const struct sp_request *request = shortage->request;
    struct look look = {.request = request, .pool = pool, .of_kind = *request};
    look.rooms = is_own(&look) ? shortage->rooms : shortage->others;
    sp_collect_all(pool);
    sp_pool_begin_mapping(pool);
    sp_lock_acquire(&pool->lock);
    sp_settle_all(pool);
    look_through_locked(&look);
    if (is_own(&look))
        shortage->least = sp_plan_least(request);
    uint64_t reserved = sp_load_relaxed(&pool->reserved);
    sp_lock_release(&pool->lock);
    sp_pool_end_mapping(pool);
    return reserved;
}

static void look_at_own(struct sp_shortage *shortage) {
    struct sp_pool *pool = shortage->request->pool;
    size_t granule = pool->device->vmm.granule;
    shortage->needed = sp_round_up(shortage->request->size, granule);
    shortage->reserved = look_through(shortage, pool);
    shortage->left_to_limit = sp_round_down(pool->limit - shortage->reserved, granule);
    shortage->used = sp_figures_used(pool);
}

// Pools that take from each other while the walk goes on are met with the same memory twice.
static void keep_to_device(struct sp_shortage *shortage, uint64_t total) {
    uint64_t most = sp_excess(total, shortage->reserved);
    if (shortage->others_reserved > most)
        shortage->others_reserved = most;
    if (shortage->others_free > shortage->others_reserved)
        shortage->others_free = shortage->others_reserved;
}

static void look_at_others(struct sp_shortage *shortage) {
    struct sp_device *device = shortage->request->pool->device;
    struct sp_pool *pool = NULL;
    while ((pool = sp_device_next_pool(device, pool))) {
        if (pool == shortage->request->pool)
            continue;
        uint64_t reserved = look_through(shortage, pool);
        uint64_t used = sp_figures_used(pool);
        shortage->others_reserved += reserved;
        shortage->others_free += sp_excess(reserved, used);
    }
    sp_given_up_reap(device); // what was destroyed while the walk stood on it
    keep_to_device(shortage, device->vmm.total_memory);
}

// Where nobody knows, the device has nothing if it has just said so, and else enough.
static void look_at_device(struct sp_shortage *shortage) {
    CUcontext context = sp_request_context(shortage->request);
    shortage->knows_device = context != NULL;
    shortage->on_device = shortage->lack == SP_LACK_DEVICE ? 0 : SIZE_MAX / 2;
    if (context)
        shortage->on_device = sp_context_free_memory(context);
    if (shortage->on_device < shortage->needed)
        look_at_others(shortage);
}

struct sp_shortage sp_shortage_look(const struct sp_request *request, enum sp_lack lack) {
    struct sp_shortage shortage = {.request = request, .lack = lack};
    look_at_own(&shortage);
    look_at_device(&shortage);
    return shortage;
}

// ----------------------------------------------------------------------------------- what would do

bool sp_shortage_may_grow(const struct sp_shortage *shortage) {
    return shortage->lack == SP_LACK_LIMIT || shortage->lack == SP_LACK_DEVICE;
}

uint64_t sp_shortage_growth(const struct sp_shortage *shortage, uint64_t given_back) {
    uint64_t on_device = shortage->on_device + given_back;
    return sp_min(on_device, shortage->left_to_limit);
}

static uint64_t in_granules(const struct sp_shortage *shortage, uint64_t bytes) {
    return sp_round_up(bytes, shortage->request->pool->device->vmm.granule);
}

// Returns what the pool must grow by for the whole request, next to what nobody uses.
static uint64_t least_growth(const struct sp_shortage *shortage, const struct sp_room *unused) {
    return in_granules(shortage, shortage->request->size - unused->before_hole);
}

// A fixed block is cut from fixed memory. Others take what nobody uses of other regions, too.
static bool fits_in_row(const struct sp_shortage *shortage, const struct sp_room *reached,
                        const struct sp_room *unused) {
    const struct sp_request *request = shortage->request;
    return reached->row >= request->size ||
           (request->kind != SP_REGION_FIXED && unused->other_row >= request->size);
}

// Others give back for the whole of a request, and never for what saves some of it.
static bool fits_by_growth(const struct sp_shortage *shortage, const struct sp_room *unused,
                           uint64_t given_back) {
    if (!sp_shortage_may_grow(shortage))
        return false;
    return least_growth(shortage, unused) <= sp_shortage_growth(shortage, 0) ||
           unused->whole + sp_shortage_growth(shortage, given_back) >= shortage->needed;
}

// Part of a stitched view is new memory only if that saves enough: see supply/pieces.c.
static bool fits_beside_new(const struct sp_shortage *shortage, const struct sp_room *reached,
                            const struct sp_room *unused) {
    uint64_t size = shortage->request->size;
    uint64_t otherwise = least_growth(shortage, unused);
    uint64_t missing = in_granules(shortage, size - reached->whole_large - reached->tail);
    uint64_t mapped = in_granules(shortage, size - sp_shortage_stitched(reached));
    return sp_shortage_may_grow(shortage) && mapped <= sp_shortage_growth(shortage, 0) &&
           missing < otherwise - otherwise / SP_SAVING_SHARE;
}

static bool fits_stitched(const struct sp_shortage *shortage, const struct sp_room *reached,
                          const struct sp_room *unused) {
    const struct sp_request *request = shortage->request;
    if (request->kind != SP_REGION_LARGE ||
        sp_device_defragmentation(request->pool) == poolDefragmentNever)
        return false;
    return sp_shortage_stitched(reached) >= request->size ||
           fits_beside_new(shortage, reached, unused);
}

bool sp_shortage_fits(const struct sp_shortage *shortage, unsigned reach, unsigned unused,
                      uint64_t given_back) {
    const struct sp_room *rooms = shortage->rooms;
    return fits_in_row(shortage, &rooms[reach], &rooms[unused]) ||
           fits_stitched(shortage, &rooms[reach], &rooms[unused]) ||
           fits_by_growth(shortage, &rooms[unused], given_back);
}

bool sp_shortage_fits_anew(const struct sp_shortage *shortage) {
    uint64_t growth = sp_shortage_growth(shortage, shortage->others[SP_ALL].whole);
    return shortage->rooms[SP_ALL].whole + growth >= shortage->needed;
}

bool sp_shortage_is_near(const struct sp_shortage *shortage, unsigned parts) {
    const struct sp_room *room = &shortage->rooms[parts];
    if (!room->holder)
        return true;
    return !room->several_contexts && sp_request_shares_context(shortage->request, room->holder);
}
