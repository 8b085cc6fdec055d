#include "tell/shortage.h"

#include "base/number.h"
#include "order/context.h"
#include "order/indirect.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/find.h"
#include "region/segment.h"
#include "region/settle.h"
#include "supply/grow.h"
#include "supply/pieces.h"
#include "tell/walk.h"

#include <string.h>

// A look through one pool, the request's own or another.
struct look {
    const struct sp_request *request;
    struct sp_pool *pool;
    unsigned parts;
    struct sp_room *room;
    const struct sp_block *first, *last; // the last neighbours of these parts, or null
};

static bool is_own(const struct look *look) {
    return look->pool == look->request->pool;
}

// 0 for a block that isn't free. Nothing of another pool is the stream's. A wait on the host brings
// what it asks about: the events of the taker's context, and the legacy stream. A deterministic
// pool goes by no answer.
static unsigned part_of(const struct look *look, const struct sp_block *block) {
    if (is_own(look))
        return sp_request_part(look->request, block);
    if (!sp_free_extents_is_free(block))
        return 0;
    if (sp_settle_is_complete(look->pool, &block->fences))
        return SP_READY;
    bool is_had = !sp_pool_is_deterministic(look->pool);
    for (uint32_t i = 0; is_had && i < block->fences.count; i++) {
        struct sp_fence fence = *sp_fence_set_at(&block->fences, i);
        const struct sp_stream *stream = sp_stream_at(fence.slot);
        is_had = sp_pool_knows(look->pool, fence) ||
                 (sp_request_shares_context(look->request, stream) &&
                  (fence.sequence <= sp_pool_covered_of(look->pool, stream) ||
                   sp_indirect_is_seen_by_legacy(stream)));
    }
    return is_had ? SP_PENDING : SP_UNFENCED;
}

// ----------------------------------------------------------------------------- who holds them back

// Other pools' memory is held back until it is complete; so is what the stream has by its order.
static bool holds_back(const struct look *look, unsigned part, struct sp_fence fence) {
    struct sp_fence_set alone = {.count = 1, .some = {fence}};
    if (!is_own(look) || part == SP_MINE)
        return !sp_pool_knows(look->pool, fence);
    return sp_request_rule(look->request, &alone) > look->request->reach;
}

// The memory that streams hold back, of those whose slots are from `from` on. Others are left to
// further walks, so that none needs host memory.
enum { SLOTS_AT_ONCE = 256 };
struct charges {
    const struct look *look;
    uint32_t from;
    uint64_t bytes[SLOTS_AT_ONCE];
};

// Unfenced memory is charged to those streams alone that have no event behind it.
static void charge_block(void *context, const struct sp_block *block) {
    struct charges *charges = context;
    const struct look *look = charges->look;
    struct sp_room *room = look->room;
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
        if (*sum > room->most_bytes) {
            room->most = stream;
            room->most_bytes = *sum;
        }
    }
}

// ----------------------------------------------------------------------------- what they amount to

// Fixed blocks aren't cut from another region, but whole extents make room for them. Pages end at a
// page's boundary.
static void add_neighbours(const struct look *look) {
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
    end = sp_round_down(end, look->request->unit);
    if (!is_other || wanted != SP_REGION_FIXED)
        sp_raise(&room->largest, sp_excess(end, begin));
}

static void look_at_block(void *context, const struct sp_block *block) {
    struct look *look = context;
    struct sp_room *room = look->room;
    unsigned part = part_of(look, block) & look->parts;
    if (part && look->last && look->last->next == block) {
        look->last = block;
    } else if (part) {
        add_neighbours(look);
        look->first = look->last = block;
    }
    for (uint32_t i = 0; part && i < block->fences.count; i++) {
        struct sp_fence fence = *sp_fence_set_at(&block->fences, i);
        const struct sp_stream *stream = sp_stream_at(fence.slot);
        if (!holds_back(look, part, fence)) {
            room->stays_mine |= !sp_pool_knows(look->pool, fence);
            continue;
        }
        const struct sp_stream *one = room->holder ? room->holder : stream;
        room->holder = one;
        room->several |= one != stream;
        room->several_contexts |= !sp_stream_is_of(stream, one->context, one->context_id);
    }
}

void sp_shortage_add_room(struct sp_room *room, const struct sp_request *request,
                          struct sp_pool *pool, unsigned kinds, unsigned parts) {
    static const struct sp_walk_visitor looks = {.block = look_at_block};
    static const struct sp_walk_visitor charging = {.block = charge_block};
    struct look look = {request, pool, parts, room, NULL, NULL};
    bool is_held = is_own(&look) && (parts == SP_PENDING || parts == SP_UNFENCED);
    sp_walk_pool(pool, kinds, &looks, &look);
    add_neighbours(&look);
    for (uint32_t from = 0; is_held && from < sp_lane_slots(pool); from += SLOTS_AT_ONCE) {
        struct charges charges = {.look = &look, .from = from};
        sp_walk_pool(pool, kinds, &charging, &charges);
    }
}

// ---------------------------------------------------------------------------------- the shortage

static void begin_look(struct sp_pool *pool) {
    sp_pool_begin_mapping(pool);
    sp_lock_acquire(&pool->lock);
}

static void end_look(struct sp_pool *pool) {
    sp_lock_release(&pool->lock);
    sp_pool_end_mapping(pool);
}

// Memory comes from a place by one of these calls.
static bool lacks_place(struct sp_outcome lacking) {
    static const char *const calls[] = {"cuMemCreate",       "cuMemAlloc",        "cuMemHostAlloc",
                                        "cuMemHostRegister", "cuMemAllocManaged", "mmap"};
    bool any = lacking.cause == SP_HOST_IS_FULL;
    for (size_t i = 0; !any && i < sizeof calls / sizeof calls[0]; i++)
        any = strcmp(lacking.entry_point, calls[i]) == 0;
    return any;
}

// The addresses of lost blocks that are in use, in whichever pool, are not to be had. Where nobody
// knows what the place has free, it has nothing if it has just said so, and else enough.
struct sp_shortage sp_shortage_look(const struct sp_request *request, struct sp_outcome lacking,
                                    size_t asked) {
    struct sp_shortage shortage = {.request = request, .asked = asked};
    struct sp_pool *pool = request->pool;
    size_t granule = pool->device->vmm.granule;
    CUcontext context = sp_request_context(request);
    shortage.lack = lacking.cause == SP_NO_HOST_MEMORY ? SP_LACK_HOST
                    : lacking.cause == SP_BEYOND_LIMIT ? SP_LACK_LIMIT
                    : lacking.cause == SP_FORBIDDEN    ? SP_LACK_FLAG
                    : lacks_place(lacking)             ? SP_LACK_DEVICE
                                                       : SP_LACK_DRIVER;
    for (struct sp_pool *any = NULL; (any = sp_device_next_pool(pool->device, any));)
        shortage.has_lost |= sp_load_relaxed(&any->lost) > sp_load_relaxed(&any->lost_whole);
    shortage.needed = sp_round_up(request->size, granule);
    begin_look(pool);
    shortage.least = sp_grow_least(request);
    shortage.reserved = sp_load_relaxed(&pool->reserved);
    shortage.pinning = sp_pinning_look(pool);
    end_look(pool);
    shortage.left_to_limit = sp_round_down(pool->limit - shortage.reserved, granule);
    shortage.used = sp_figures_used(pool);
    shortage.on_device = shortage.lack == SP_LACK_DEVICE ? 0 : SIZE_MAX / 2;
    // A driver that has refused some gives no more, whatever the system has left.
    bool is_guess =
        sp_vmm_device_is_of_host(&pool->device->vmm) && lacking.cause == SP_DRIVER_FAILED;
    shortage.knows_device =
        !is_guess && sp_device_free_memory(pool->device, context, &shortage.on_device);
    return shortage;
}

void sp_shortage_look_at_others(struct sp_shortage *shortage) {
    struct sp_device *device = shortage->request->pool->device;
    struct sp_pool *pool = NULL;
    while ((pool = sp_device_next_sharing(device, pool))) {
        if (pool == shortage->request->pool)
            continue;
        uint64_t reserved = sp_figures_resident(pool);
        uint64_t used = sp_figures_used(pool);
        shortage->others_reserved += reserved;
        shortage->others_free += sp_excess(reserved, used);
    }
    uint64_t most = sp_excess(device->vmm.total_memory, shortage->reserved);
    shortage->others_reserved = sp_min(shortage->others_reserved, most);
    shortage->others_free = sp_min(shortage->others_free, shortage->others_reserved);
    shortage->sees_others = true;
}

static void add_room(struct sp_room *room, const struct sp_shortage *shortage, struct sp_pool *pool,
                     unsigned parts) {
    if (sp_pool_residency(pool) == SP_EVICTED)
        return;
    begin_look(pool);
    sp_shortage_add_room(room, shortage->request, pool, SP_WALK_ALL, parts);
    end_look(pool);
}

struct sp_room sp_shortage_room(const struct sp_shortage *shortage, unsigned parts) {
    struct sp_room room = {0};
    add_room(&room, shortage, shortage->request->pool, parts);
    return room;
}

// Pools that take from each other while the walk goes on are met with the same memory twice.
struct sp_room sp_shortage_others(const struct sp_shortage *shortage, unsigned parts) {
    struct sp_room room = {0};
    struct sp_pool *own = shortage->request->pool, *pool = NULL;
    while (shortage->sees_others && (pool = sp_device_next_sharing(own->device, pool))) {
        if (pool != own)
            add_room(&room, shortage, pool, parts);
    }
    return room;
}

// ----------------------------------------------------------------------------------- what would do

bool sp_shortage_may_grow(const struct sp_shortage *shortage) {
    return shortage->lack == SP_LACK_LIMIT || shortage->lack == SP_LACK_DEVICE;
}

uint64_t sp_shortage_growth(const struct sp_shortage *shortage, uint64_t given_back) {
    uint64_t on_device = shortage->on_device + given_back;
    return sp_min(on_device, shortage->left_to_limit);
}

struct sp_climb sp_shortage_climb(const struct sp_request *request, unsigned reach,
                                  unsigned ready) {
    struct sp_pool *pool = request->pool;
    struct sp_request dry = sp_request_pretend(request, reach);
    struct sp_request beside_ready = sp_request_pretend(request, SP_HERE | ready);
    bool may_join = sp_device_defragmentation(pool) != poolDefragmentNever;
    size_t granule = pool->device->vmm.granule;
    struct sp_climb climb = {.pieces = UINT64_MAX};
    struct sp_pieces pieces;
    struct sp_room room = {0};
    begin_look(pool);
    climb.finds = sp_find_would(&dry);
    if (!climb.finds) {
        if (request->kind == SP_REGION_LARGE && sp_pieces_choose(&dry, &pieces)) {
            climb.pieces = sp_round_up(pieces.missing, granule);
            sp_pieces_free(&pieces);
        }
        uint64_t least = sp_grow_least(&beside_ready);
        climb.beside = may_join ? sp_min(least, climb.pieces) : least;
        sp_shortage_add_room(&room, request, pool, SP_WALK_ALL, ready);
        climb.anew = sp_excess(sp_round_up(request->size, granule), room.whole);
    }
    end_look(pool);
    return climb;
}

// Others give back for the whole of a request, and never for what saves some of it.
bool sp_shortage_fits(const struct sp_shortage *shortage, unsigned reach, unsigned ready,
                      uint64_t given_back) {
    struct sp_climb climb = sp_shortage_climb(shortage->request, reach, ready);
    return climb.beside == 0 || (sp_shortage_may_grow(shortage) &&
                                 (climb.beside <= sp_shortage_growth(shortage, 0) ||
                                  climb.anew <= sp_shortage_growth(shortage, given_back)));
}
