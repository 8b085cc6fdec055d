#include "tell/shortage.h"

#include "base/number.h"
#include "order/context.h"
#include "region/device.h"
#include "region/figures.h"
#include "supply/grow.h"
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

// Looks through a pool. Returns what it has reserved.
static uint64_t look_through(struct sp_shortage *shortage, struct sp_pool *pool) {
    const struct sp_request *request = shortage->request;
    bool is_own = pool == request->pool;
    sp_pool_begin_mapping(pool);
    sp_lock_acquire(&pool->lock);
    sp_room_look(request, pool, SP_WALK_ALL, is_own ? shortage->rooms : shortage->others);
    if (is_own)
        shortage->least = sp_grow_least(request);
    uint64_t reserved = sp_load_relaxed(&pool->reserved);
    sp_lock_release(&pool->lock);
    sp_pool_end_mapping(pool);
    return reserved;
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
    shortage.reserved = look_through(&shortage, pool);
    shortage.left_to_limit = sp_round_down(pool->limit - shortage.reserved, granule);
    shortage.used = sp_figures_used(pool);
    shortage.knows_device = context != NULL;
    shortage.on_device = context                           ? sp_context_free_memory(context)
                         : shortage.lack == SP_LACK_DEVICE ? 0
                                                           : SIZE_MAX / 2;
    return shortage;
}

// Pools that take from each other while the walk goes on are met with the same memory twice.
void sp_shortage_look_at_others(struct sp_shortage *shortage) {
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
    uint64_t most = sp_excess(device->vmm.total_memory, shortage->reserved);
    shortage->others_reserved = sp_min(shortage->others_reserved, most);
    shortage->others_free = sp_min(shortage->others_free, shortage->others_reserved);
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

// Others give back for the whole of a request, and never for what saves some of it.
static bool fits_by_growth(const struct sp_shortage *shortage, const struct sp_room *unused,
                           uint64_t given_back) {
    if (!sp_shortage_may_grow(shortage))
        return false;
    uint64_t beside_unused = in_granules(shortage, shortage->request->size - unused->before_hole);
    return beside_unused <= sp_shortage_growth(shortage, 0) ||
           unused->whole + sp_shortage_growth(shortage, given_back) >= shortage->needed;
}

// Part of a stitched view is new memory if whole extents or a tail save any of it, as nothing else
// is left: see supply/pieces.c.
static bool fits_stitched(const struct sp_shortage *shortage, const struct sp_room *reached,
                          uint64_t given_back) {
    const struct sp_request *request = shortage->request;
    if (request->kind != SP_REGION_LARGE ||
        sp_device_defragmentation(request->pool) == poolDefragmentNever)
        return false;
    uint64_t size = request->size, stitched = sp_shortage_stitched(reached);
    if (stitched >= size)
        return true;
    uint64_t missing = in_granules(shortage, size - reached->stitchable - reached->tail);
    return sp_shortage_may_grow(shortage) && missing < size &&
           in_granules(shortage, size - stitched) <= sp_shortage_growth(shortage, given_back);
}

// A fixed block is cut from fixed memory. Others take what is within reach of other regions, too.
bool sp_shortage_fits(const struct sp_shortage *shortage, unsigned reach, unsigned unused,
                      uint64_t given_back) {
    const struct sp_room *rooms = shortage->rooms;
    const struct sp_request *request = shortage->request;
    bool fits_in_row =
        rooms[reach].row >= request->size ||
        (request->kind != SP_REGION_FIXED && rooms[reach].other_row >= request->size);
    return fits_in_row || fits_stitched(shortage, &rooms[reach], 0) ||
           fits_by_growth(shortage, &rooms[unused], given_back);
}

bool sp_shortage_fits_after_trims(const struct sp_shortage *shortage, unsigned parts) {
    uint64_t whole = shortage->others[parts].whole;
    return whole > 0 && (shortage->least <= sp_shortage_growth(shortage, whole) ||
                         fits_stitched(shortage, &shortage->rooms[SP_HERE | parts], whole));
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
