#include "tell/shortage.h"

#include "base/number.h"
#include "order/context.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/find.h"
#include "supply/pieces.h"
#include "supply/plan.h"
#include "tell/walk.h"

#include <string.h>

static enum sp_lack lack_of(struct sp_outcome lacking) {
    switch (lacking.cause) {
    case SP_NO_HOST_MEMORY:
        return SP_LACK_HOST;
    case SP_BEYOND_LIMIT:
        return SP_LACK_LIMIT;
    case SP_FORBIDDEN:
        return SP_LACK_FLAG;
    default: // memory comes from the device by these calls: cuMemAlloc on a plain one
        return strcmp(lacking.entry_point, "cuMemCreate") == 0 ||
                       strcmp(lacking.entry_point, "cuMemAlloc") == 0
                   ? SP_LACK_DEVICE
                   : SP_LACK_DRIVER;
    }
}

static void begin_look(struct sp_pool *pool) {
    sp_pool_begin_mapping(pool);
    sp_lock_acquire(&pool->lock);
}

static void end_look(struct sp_pool *pool) {
    sp_lock_release(&pool->lock);
    sp_pool_end_mapping(pool);
}

// The addresses of lost blocks that are in use, in whichever pool, are not to be had. Where nobody
// knows what the device has free, it has nothing if it has just said so, and else enough.
struct sp_shortage sp_shortage_look(const struct sp_request *request, struct sp_outcome lacking,
                                    size_t asked) {
    struct sp_shortage shortage = {.request = request, .lack = lack_of(lacking), .asked = asked};
    struct sp_pool *pool = request->pool;
    size_t granule = pool->device->vmm.granule;
    CUcontext context = sp_request_context(request);
    for (struct sp_pool *any = NULL; (any = sp_device_next_pool(pool->device, any));)
        shortage.has_lost |= sp_load_relaxed(&any->lost) > sp_load_relaxed(&any->lost_whole);
    shortage.needed = sp_round_up(request->size, granule);
    begin_look(pool);
    shortage.least = sp_plan_least(request);
    shortage.reserved = sp_load_relaxed(&pool->reserved);
    end_look(pool);
    shortage.left_to_limit = sp_round_down(pool->limit - shortage.reserved, granule);
    shortage.used = sp_figures_used(pool);
    shortage.knows_device = context != NULL;
    shortage.on_device = context                           ? sp_context_free_memory(context)
                         : shortage.lack == SP_LACK_DEVICE ? 0
                                                           : SIZE_MAX / 2;
    return shortage;
}

void sp_shortage_look_at_others(struct sp_shortage *shortage) {
    struct sp_device *device = shortage->request->pool->device;
    struct sp_pool *pool = NULL;
    while ((pool = sp_device_next_pool(device, pool))) {
        if (pool == shortage->request->pool)
            continue;
        uint64_t reserved = sp_load_relaxed(&pool->reserved);
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
    begin_look(pool);
    sp_room_add(room, shortage->request, pool, SP_WALK_ALL, parts);
    end_look(pool);
}

struct sp_room sp_shortage_room(const struct sp_shortage *shortage, unsigned parts) {
    struct sp_room room = {0};
    add_room(&room, shortage, shortage->request->pool, parts);
    return room;
}

struct sp_room_most sp_shortage_most(const struct sp_shortage *shortage, enum sp_part part) {
    begin_look(shortage->request->pool);
    struct sp_room_most most = sp_room_most(shortage->request, SP_WALK_ALL, part);
    end_look(shortage->request->pool);
    return most;
}

// Pools that take from each other while the walk goes on are met with the same memory twice.
struct sp_room sp_shortage_others(const struct sp_shortage *shortage, unsigned parts) {
    struct sp_room room = {0};
    struct sp_pool *own = shortage->request->pool, *pool = NULL;
    while (shortage->sees_others && (pool = sp_device_next_pool(own->device, pool))) {
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

bool sp_shortage_finds(const struct sp_request *request, unsigned reach) {
    struct sp_request dry = sp_request_pretend(request, reach);
    begin_look(request->pool);
    bool finds = sp_find_would(&dry);
    end_look(request->pool);
    return finds;
}

uint64_t sp_shortage_beside_pieces(const struct sp_request *request, unsigned reach) {
    struct sp_request dry = sp_request_pretend(request, reach);
    struct sp_pieces pieces;
    begin_look(request->pool);
    bool chosen = request->kind == SP_REGION_LARGE && sp_pieces_choose(&dry, &pieces);
    end_look(request->pool);
    if (!chosen)
        return UINT64_MAX;
    sp_pieces_free(&pieces);
    return sp_round_up(pieces.missing, request->pool->device->vmm.granule);
}

struct sp_missing sp_shortage_missing(const struct sp_shortage *shortage, unsigned reach,
                                      unsigned ready) {
    const struct sp_request *request = shortage->request;
    struct sp_request beside_ready = sp_request_pretend(request, SP_HERE | ready);
    struct sp_missing missing = {0, 0};
    if (sp_shortage_finds(request, reach))
        return missing;
    begin_look(request->pool);
    missing.beside = sp_plan_least(&beside_ready);
    end_look(request->pool);
    if (sp_device_defragmentation(request->pool) != poolDefragmentNever)
        missing.beside = sp_min(missing.beside, sp_shortage_beside_pieces(request, reach));
    missing.anew = sp_excess(shortage->needed, sp_shortage_room(shortage, ready).whole);
    return missing;
}

// Others give back for the whole of a request, and never for what saves some of it.
bool sp_shortage_fits(const struct sp_shortage *shortage, unsigned reach, unsigned ready,
                      uint64_t given_back) {
    struct sp_missing missing = sp_shortage_missing(shortage, reach, ready);
    return missing.beside == 0 || (sp_shortage_may_grow(shortage) &&
                                   (missing.beside <= sp_shortage_growth(shortage, 0) ||
                                    missing.anew <= sp_shortage_growth(shortage, given_back)));
}

bool sp_shortage_fits_after_trims(const struct sp_shortage *shortage, unsigned parts) {
    struct sp_shortage after = *shortage;
    uint64_t given_back = sp_shortage_others(shortage, parts).whole;
    after.on_device += given_back;
    return given_back > 0 && sp_shortage_fits(&after, SP_HERE | parts, SP_HERE | parts, 0);
}

bool sp_shortage_fits_anew(const struct sp_shortage *shortage) {
    uint64_t given_back = sp_shortage_others(shortage, SP_ALL).whole;
    return sp_shortage_room(shortage, SP_ALL).whole + sp_shortage_growth(shortage, given_back) >=
           shortage->needed;
}

bool sp_shortage_is_near(const struct sp_shortage *shortage, unsigned parts) {
    struct sp_room room = sp_shortage_room(shortage, parts);
    return !room.holder ||
           (!room.several_contexts && sp_request_shares_context(shortage->request, room.holder));
}
