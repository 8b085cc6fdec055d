#include "tell/room.h"

#include "base/checked.h"
#include "base/number.h"
#include "order/silent.h"
#include "region/device.h"
#include "region/lane.h"
#include "region/segment.h"
#include "region/settle.h"
#include "region/survey.h"

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
           (fence.sequence <= sp_pool_covered_of(look->pool, stream) ||
            sp_silent_is_seen_by_legacy(stream));
}

// A deterministic pool goes by no answer.
static bool is_had_by_wait(const struct look *look, const struct sp_block *block) {
    bool is_had = !sp_pool_is_deterministic(look->pool);
    for (uint32_t i = 0; is_had && i < block->fences.count; i++)
        is_had = can_be_awaited(look, *sp_fence_set_at(&block->fences, i));
    return is_had;
}

// A block becomes ready memory at a miss, which comes later than its completion.
static bool is_complete(const struct sp_pool *pool, const struct sp_fence_set *fences) {
    uint32_t i = 0;
    while (i < fences->count && sp_pool_knows(pool, *sp_fence_set_at(fences, i)))
        i++;
    return i == fences->count;
}

bool sp_room_is_here(const struct sp_request *request, const struct sp_fence_set *fences) {
    return is_complete(request->pool, fences) || sp_request_rule(request, fences) <= request->reach;
}

// 0 for a block that isn't free.
static unsigned part_of(const struct look *look, const struct sp_block *block) {
    if (!sp_survey_is_free(block))
        return 0;
    if (block->tier == &look->pool->regions[look->of_kind.kind].ready ||
        is_complete(look->pool, &block->fences))
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
    if (!lane || part == SP_MINE ||
        (is_unfenced && fence.sequence <= sp_pool_covered_of(look->pool, stream)))
        return;
    lane->holds_back[is_unfenced] += bytes;
    if (lane->holds_back[is_unfenced] <= room->most_bytes)
        return;
    room->most = stream;
    room->most_bytes = lane->holds_back[is_unfenced];
}

static void note_mine(const struct look *look, unsigned part) {
    for (unsigned set = 1; set < SP_PART_SETS; set++) {
        if (set & part)
            look->rooms[set].stays_mine = true;
    }
}

static void note_holders(const struct look *look, unsigned part, const struct sp_block *block) {
    for (uint32_t i = 0; i < block->fences.count; i++) {
        struct sp_fence fence = *sp_fence_set_at(&block->fences, i);
        if (!holds_back(look, part, fence)) {
            if (!sp_pool_knows(look->pool, fence))
                note_mine(look, part);
            continue;
        }
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
    if (look->of_kind.kind != SP_REGION_FIXED) {
        room->stitchable += extents.whole;
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

static void look_through_kind(struct look *look, enum sp_region_kind kind) {
    look->of_kind.kind = kind;
    SP_LIST_FOR_EACH(link, &look->pool->regions[kind].segments)
        look_through_chain(look, &SP_CONTAINER_OF(link, struct sp_segment, link)->chain);
}

// With what each lane holds back counted anew.
static struct look begin_look(const struct sp_request *request, struct sp_pool *pool,
                              struct sp_room *rooms) {
    SP_LIST_FOR_EACH(link, &pool->lanes.list) {
        struct sp_lane *lane = SP_CONTAINER_OF(link, struct sp_lane, link);
        memset(lane->holds_back, 0, sizeof lane->holds_back);
    }
    return (struct look){.request = request, .pool = pool, .rooms = rooms, .of_kind = *request};
}

void sp_room_look(const struct sp_request *request, struct sp_pool *pool,
                  struct sp_room rooms[SP_PART_SETS]) {
    struct look look = begin_look(request, pool, rooms);
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        look_through_kind(&look, (enum sp_region_kind)kind);
}

void sp_room_look_at_own_kind(const struct sp_request *request,
                              struct sp_room rooms[SP_PART_SETS]) {
    struct look look = begin_look(request, request->pool, rooms);
    look_through_kind(&look, request->kind);
}

unsigned sp_room_part(const struct sp_request *request, const struct sp_block *block) {
    struct look look = {.request = request, .pool = request->pool, .of_kind = *request};
    return part_of(&look, block);
}
