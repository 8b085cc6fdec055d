#include "tell/room.h"

#include "base/number.h"
#include "order/indirect.h"
#include "region/free_extents.h"
#include "region/settle.h"
#include "tell/walk.h"

// A look through one pool, the request's own or another.
struct look {
    const struct sp_request *request;
    struct sp_pool *pool;
    unsigned parts;
    struct sp_room *room;
    const struct sp_block *first, *last; // of the row of these parts that was begun last, or null
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

// 0 for a block that isn't free. Nothing of another pool is the stream's.
static unsigned part_of(const struct look *look, const struct sp_block *block) {
    if (is_own(look))
        return sp_request_part(look->request, block);
    if (!sp_free_extents_is_free(block))
        return 0;
    if (sp_settle_is_complete(look->pool, &block->fences))
        return SP_READY;
    return is_had_by_wait(look, block) ? SP_PENDING : SP_UNFENCED;
}

// ----------------------------------------------------------------------------- who holds them back

// Other pools' memory is held back until it is complete; so is what the stream has by its order.
static bool holds_back(const struct look *look, unsigned part, struct sp_fence fence) {
    struct sp_fence_set alone = {.count = 1, .some = {fence}};
    if (!is_own(look) || part == SP_MINE)
        return !sp_pool_knows(look->pool, fence);
    return sp_request_rule(look->request, &alone) > look->request->reach;
}

static void note_holders(const struct look *look, unsigned part, const struct sp_block *block) {
    struct sp_room *room = look->room;
    for (uint32_t i = 0; i < block->fences.count; i++) {
        struct sp_fence fence = *sp_fence_set_at(&block->fences, i);
        const struct sp_stream *stream = sp_stream_at(fence.slot);
        if (!holds_back(look, part, fence)) {
            room->stays_mine = room->stays_mine || !sp_pool_knows(look->pool, fence);
            continue;
        }
        const struct sp_stream *one = room->holder ? room->holder : stream;
        room->holder = one;
        room->several = room->several || one != stream;
        room->several_contexts =
            room->several_contexts || !sp_stream_is_of(stream, one->context, one->context_id);
    }
}

// The memory that streams hold back, of those whose slots are from `from` on. Others are left to
// further walks, so that none needs host memory.
enum { SLOTS_AT_ONCE = 256 };
struct charges {
    struct look look;
    uint32_t from;
    struct sp_room_most most;
    uint64_t bytes[SLOTS_AT_ONCE];
};

// Unfenced memory is charged to those streams alone that have no event behind it.
static void charge_block(void *context, const struct sp_block *block) {
    struct charges *charges = context;
    const struct look *look = &charges->look;
    unsigned part = part_of(look, block);
    for (uint32_t i = 0; part == look->parts && i < block->fences.count; i++) {
        struct sp_fence fence = *sp_fence_set_at(&block->fences, i);
        const struct sp_stream *stream = sp_stream_at(fence.slot);
        if (fence.slot - charges->from >= SLOTS_AT_ONCE || !sp_lane_find(look->pool, fence.slot) ||
            !holds_back(look, part, fence) ||
            (part == SP_UNFENCED && fence.sequence <= sp_pool_covered_of(look->pool, stream)))
            continue;
        uint64_t *sum = &charges->bytes[fence.slot - charges->from];
        *sum += block->size;
        if (*sum > charges->most.bytes)
            charges->most = (struct sp_room_most){stream, *sum};
    }
}

struct sp_room_most sp_room_most(const struct sp_request *request, unsigned kinds,
                                 enum sp_part part) {
    static const struct sp_walk_visitor charging = {.block = charge_block};
    struct sp_room_most most = {NULL, 0};
    for (uint32_t from = 0; from < sp_lane_slots(request->pool); from += SLOTS_AT_ONCE) {
        struct charges charges = {
            .look = {request, request->pool, part, NULL, NULL, NULL}, .from = from, .most = most};
        sp_walk_pool(request->pool, kinds, &charging, &charges);
        most = charges.most;
    }
    return most;
}

// ----------------------------------------------------------------------------- what they amount to

// Fixed blocks aren't cut from another region, but whole extents make room for them. Pages that are
// cut from one end at a page's boundary.
static void add_row(const struct look *look) {
    struct sp_room *room = look->room;
    if (!look->first)
        return;
    uint64_t begin = look->first->address, end = sp_block_end(look->last);
    uint64_t whole = sp_free_extents_between(look->first, look->last).whole;
    enum sp_region_kind wanted = look->request->kind;
    bool is_other = sp_segment_of(look->last)->kind != wanted;
    room->bytes += end - begin;
    room->whole += whole;
    room->useful += is_other && wanted == SP_REGION_FIXED ? whole : end - begin;
    if (is_other && wanted == SP_REGION_PAGES)
        end = sp_round_down(end, SP_PAGE_SIZE);
    if (!is_other || wanted != SP_REGION_FIXED)
        sp_raise(&room->largest, sp_excess(end, begin));
}

static void look_at_block(void *context, const struct sp_block *block) {
    struct look *look = context;
    unsigned part = part_of(look, block) & look->parts;
    if (part && look->last && look->last->next == block) {
        look->last = block;
    } else if (part) {
        add_row(look);
        look->first = look->last = block;
    }
    if (part)
        note_holders(look, part, block);
}

void sp_room_add(struct sp_room *room, const struct sp_request *request, struct sp_pool *pool,
                 unsigned kinds, unsigned parts) {
    static const struct sp_walk_visitor looks = {.block = look_at_block};
    struct look look = {request, pool, parts, room, NULL, NULL};
    sp_walk_pool(pool, kinds, &looks, &look);
    add_row(&look);
}
