#include "tell/room.h"

#include "base/number.h"
#include "order/indirect.h"
#include "region/device.h"
#include "region/lane.h"
#include "region/segment.h"
#include "region/settle.h"
#include "tell/walk.h"

// A look through one pool, the request's own or another.
struct look {
    const struct sp_request *request;
    struct sp_pool *pool;
    struct sp_room *rooms;                      // by set of parts
    const struct sp_block *begin[SP_PART_SETS]; // of the row of each set that goes on, or null
    const struct sp_block *last;                // block that was looked at in the segment, or null
};

static bool is_own(const struct look *look) {
    return look->pool == look->request->pool;
}

// --------------------------------------------------------------------------------------- the parts

// A wait on the host asks the events of the taker's context, and the legacy stream. A deterministic
// pool goes by no answer.
static bool is_had_by_wait(const struct look *look, const struct sp_block *block) {
    bool is_had = !sp_pool_is_deterministic(look->pool);
    for (uint32_t i = 0; is_had && i < block->fences.count; i++) {
        struct sp_fence fence = *sp_fence_set_at(&block->fences, i);
        const struct sp_stream *stream = sp_stream_at(fence.slot);
        is_had = sp_pool_knows(look->pool, fence) ||
                 (sp_request_shares_context(look->request, stream) &&
                  (fence.sequence <= sp_pool_covered_of(look->pool, stream) ||
                   sp_indirect_is_seen_by_legacy(stream)));
    }
    return is_had;
}

bool sp_room_is_complete(const struct sp_pool *pool, const struct sp_fence_set *fences) {
    uint32_t i = 0;
    while (i < fences->count && sp_pool_knows(pool, *sp_fence_set_at(fences, i)))
        i++;
    return i == fences->count;
}

bool sp_room_is_here(const struct sp_request *request, const struct sp_fence_set *fences) {
    return sp_room_is_complete(request->pool, fences) ||
           sp_request_rule(request, fences) <= request->reach;
}

// 0 for a block that isn't free.
static unsigned part_of(const struct look *look, const struct sp_block *block) {
    if (!sp_free_extents_is_free(block))
        return 0;
    if (block->tier == &look->pool->regions[sp_segment_of(block)->kind].ready ||
        sp_room_is_complete(look->pool, &block->fences))
        return SP_READY;
    if (!is_own(look))
        return is_had_by_wait(look, block) ? SP_PENDING : SP_UNFENCED;
    if (sp_request_usable(look->request, block))
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

static void note_holders(const struct look *look, unsigned part, const struct sp_block *block) {
    for (uint32_t i = 0; i < block->fences.count; i++) {
        struct sp_fence fence = *sp_fence_set_at(&block->fences, i);
        bool is_held = holds_back(look, part, fence);
        bool is_mine = !is_held && !sp_pool_knows(look->pool, fence);
        for (unsigned set = 1; set < SP_PART_SETS; set++) {
            if (set & part && is_held)
                note_holder(&look->rooms[set], sp_stream_at(fence.slot));
            else if (set & part && is_mine)
                look->rooms[set].stays_mine = true;
        }
    }
}

// ----------------------------------------------------------------------------- what they amount to

// New memory in the hole behind a row saves what the row has. Fixed memory is never put together.
static void add_own(const struct look *look, struct sp_room *room, const struct sp_block *last,
                    uint64_t size) {
    const struct sp_request *request = look->request;
    room->useful += size;
    sp_raise(&room->row, size);
    if (request->kind != SP_REGION_FIXED && size < request->size &&
        sp_round_up(request->size - size, request->pool->device->vmm.granule) <=
            sp_segment_room_behind(last))
        sp_raise(&room->before_hole, size);
}

// Fixed blocks aren't cut from another region, but whole extents make room for them. Pages that are
// cut from one end at a page's boundary.
static void add_other(const struct look *look, struct sp_room *room, uint64_t begin, uint64_t end,
                      uint64_t whole) {
    enum sp_region_kind kind = look->request->kind;
    uint64_t last = kind == SP_REGION_PAGES ? sp_round_down(end, SP_PAGE_SIZE) : end;
    room->useful += kind == SP_REGION_FIXED ? whole : end - begin;
    sp_raise(&room->other_row, sp_excess(last, begin));
}

// The row of a set that ends now.
static void add_row(const struct look *look, unsigned set, const struct sp_block *last) {
    const struct sp_block *first = look->begin[set];
    struct sp_room *room = &look->rooms[set];
    struct sp_free_extents extents = sp_free_extents_between(first, last);
    uint64_t end = sp_block_end(last);
    enum sp_region_kind kind = sp_segment_of(last)->kind;
    room->bytes += end - first->address;
    room->whole += extents.whole;
    if (kind == look->request->kind)
        add_own(look, room, last, end - first->address);
    else
        add_other(look, room, first->address, end, extents.whole);
    if (kind != SP_REGION_FIXED) {
        room->stitchable += extents.whole;
        sp_raise(&room->tail, extents.tail);
        sp_raise(&room->front, extents.front);
    }
}

// ------------------------------------------------------------------------ who holds back the most

// The memory that streams hold back, of those whose slots are from `from` on. Others are left to
// further walks, so that none needs host memory.
enum { SLOTS_AT_ONCE = 256 };
struct charges {
    const struct look *look;
    uint32_t from;
    uint64_t bytes[SLOTS_AT_ONCE][2]; // pending, unfenced
};

// Unfenced memory is charged to those streams alone that have no event behind it.
static void charge_block(void *context, const struct sp_block *block) {
    struct charges *charges = context;
    const struct look *look = charges->look;
    unsigned part = part_of(look, block);
    struct sp_room *room = &look->rooms[part];
    bool is_unfenced = part == SP_UNFENCED, is_held = is_unfenced || part == SP_PENDING;
    for (uint32_t i = 0; is_held && i < block->fences.count; i++) {
        struct sp_fence fence = *sp_fence_set_at(&block->fences, i);
        const struct sp_stream *stream = sp_stream_at(fence.slot);
        if (fence.slot - charges->from >= SLOTS_AT_ONCE || !sp_lane_find(look->pool, fence.slot) ||
            !holds_back(look, part, fence) ||
            (is_unfenced && fence.sequence <= sp_pool_covered_of(look->pool, stream)))
            continue;
        uint64_t *sum = &charges->bytes[fence.slot - charges->from][is_unfenced];
        *sum += block->size;
        if (*sum > room->most_bytes) {
            room->most = stream;
            room->most_bytes = *sum;
        }
    }
}

// --------------------------------------------------------------------------------- the look itself

// At a block of this part, or at the end (null), rows end of the sets without it, and others begin.
static void switch_part(struct look *look, unsigned part, const struct sp_block *block) {
    for (unsigned set = 1; set < SP_PART_SETS; set++) {
        bool is_in = (set & part) != 0;
        if (look->begin[set] && !is_in)
            add_row(look, set, look->last);
        if (!look->begin[set] || !is_in)
            look->begin[set] = is_in ? block : NULL;
    }
    look->last = block;
}

static void look_at_block(void *context, const struct sp_block *block) {
    struct look *look = context;
    unsigned part = part_of(look, block);
    switch_part(look, part, block);
    if (part)
        note_holders(look, part, block);
}

static void end_segment(void *context, const struct sp_segment *segment) {
    (void)segment;
    switch_part(context, 0, NULL);
}

void sp_room_look(const struct sp_request *request, struct sp_pool *pool, unsigned kinds,
                  struct sp_room rooms[SP_PART_SETS]) {
    static const struct sp_walk_visitor looks = {.block = look_at_block, .segment = end_segment};
    static const struct sp_walk_visitor charging = {.block = charge_block};
    struct look look = {.request = request, .pool = pool, .rooms = rooms};
    sp_walk_pool(pool, kinds, &looks, &look);
    for (uint32_t from = 0; from < sp_lane_slots(pool); from += SLOTS_AT_ONCE) {
        struct charges charges = {.look = &look, .from = from};
        sp_walk_pool(pool, kinds, &charging, &charges);
    }
}

unsigned sp_room_part(const struct sp_request *request, const struct sp_block *block) {
    struct look look = {.request = request, .pool = request->pool};
    return part_of(&look, block);
}
