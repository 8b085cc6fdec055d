#include "support/room.h"

#include "base/number.h"
#include "order/resolve.h"
#include "process/runtime.h"
#include "region/collect.h"
#include "support/check.h"
#include "support/device.h"
#include "support/simulated.h"

struct ledger {
    const struct test_live *live;
    const struct sp_stream *taker; // null: what is out of reach counts as free
    // Bytes of extents with nothing live in them, of the whole device.
    uint64_t free;
    uint64_t kept; // bytes of the others, of the one pool
};

// The exception of the promise: a free of another stream that the request can't ask about. No
// event stands behind it, and the legacy stream doesn't see it; or it is of another context.
static bool is_out_of_reach(struct sp_fence fence, const struct sp_stream *taker) {
    const struct sp_stream *owner = sp_stream_at(fence.slot);
    if (owner == taker || sp_progress_is_complete(fence))
        return false;
    if (!sp_stream_is_of(owner, taker->context, taker->context_id))
        return true;
    return atomic_load(&owner->kind) == SP_STREAM_NON_BLOCKING &&
           fence.sequence > sp_load_relaxed(&owner->recorded);
}

// A block that is lent lies at another address, live or kept there. The pages of a slab are live
// as long as one block of it is, and a large block with all that its size was rounded up to.
static bool keeps_extent(const struct sp_block *block, const struct sp_stream *taker) {
    enum sp_block_state state = sp_block_state(block);
    if (state == SP_BLOCK_STITCHED || state == SP_BLOCK_BUSY)
        return true;
    if (state == SP_BLOCK_LIVE)
        return !block->is_run || block->slab->live > 0;
    for (uint32_t i = 0; taker && state == SP_BLOCK_FREE && i < block->fences.count; i++) {
        if (is_out_of_reach(*sp_fence_set_at(&block->fences, i), taker))
            return true;
    }
    return false;
}

static bool is_kept(const struct sp_segment *segment, const struct sp_extent *extent,
                    const struct sp_stream *taker) {
    const struct sp_block *block = sp_chain_find(&segment->chain, extent->address);
    for (; block && block->address < extent->address + extent->size; block = block->next) {
        if (keeps_extent(block, taker))
            return true;
    }
    return false;
}

static void add_segment(struct ledger *ledger, const struct sp_segment *segment, bool is_of_pool) {
    const struct sp_extent *extent = sp_view_extent_from(&segment->view, 0);
    for (; extent; extent = sp_view_extent_next(extent)) {
        bool kept = ledger->live->lies_in(ledger->live->blocks, extent->address, extent->size) ||
                    is_kept(segment, extent, ledger->taker);
        ledger->free += kept ? 0 : extent->size;
        ledger->kept += kept && is_of_pool ? extent->size : 0;
    }
}

static void add_pool(struct ledger *ledger, struct sp_pool *pool, bool is_of_pool) {
    sp_lock_acquire(&pool->map_lock); // the reaper may be at work
    sp_lock_acquire(&pool->lock);
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        SP_LIST_FOR_EACH(link, &pool->regions[kind].segments)
            add_segment(ledger, SP_CONTAINER_OF(link, struct sp_segment, link), is_of_pool);
    }
    sp_lock_release(&pool->lock);
    sp_lock_release(&pool->map_lock);
}

// Of the host some is kept for other processes.
static uint64_t free_at(const struct sp_device *device) {
    size_t bytes = 0;
    if (!sp_vmm_device_is_of_host(&device->vmm))
        return test_device_free_bytes();
    return sp_device_free_memory(device, NULL, &bytes) ? sp_excess(bytes, MIB(64)) : 0;
}

static uint64_t room_for(const struct test_live *live, struct sp_pool *pool,
                         const struct sp_stream *taker) {
    struct sp_device *device = pool->device;
    struct sp_pool *walked = NULL;
    struct ledger ledger = {.live = live, .taker = taker};
    while ((walked = sp_device_next_pool(device, walked))) {
        // What it has free depends on synchronises that it has heard.
        if (!sp_pool_is_deterministic(walked))
            add_pool(&ledger, walked, walked == pool);
    }
    uint64_t on_device = sp_round_down(free_at(device), device->vmm.granule) +
                         sp_round_down(ledger.free, device->vmm.granule);
    uint64_t in_pool = pool->limit > ledger.kept ? pool->limit - ledger.kept : 0;
    return sp_round_down(in_pool < on_device ? in_pool : on_device, device->vmm.granule);
}

uint64_t test_room(const struct test_live *live, struct sp_pool *pool) {
    return room_for(live, pool, NULL);
}

uint64_t test_room_in_reach(const struct test_live *live, struct sp_pool *pool, CUstream stream) {
    struct sp_stream *taker;
    struct sp_pool *walked = NULL;
    REQUIRE(sp_is_done(sp_resolve_stream(stream, &taker)));
    while ((walked = sp_device_next_pool(pool->device, walked)))
        sp_collect_all(walked);
    return room_for(live, pool, taker);
}

// -------------------------------------------------------------------------------- out of reach

// Of a slab that has live blocks the others may be out of reach.
static bool hides(const struct sp_block *block, const struct sp_stream *taker) {
    if (sp_block_state(block) == SP_BLOCK_LIVE && block->is_run) {
        const struct sp_lane *owner = sp_load_plain(&block->slab->owner);
        return owner && block->slab->last_sequence > 0 &&
               is_out_of_reach((struct sp_fence){owner->stream->slot, block->slab->last_sequence},
                               taker);
    }
    for (uint32_t i = 0; sp_block_state(block) == SP_BLOCK_FREE && i < block->fences.count; i++) {
        if (is_out_of_reach(*sp_fence_set_at(&block->fences, i), taker))
            return true;
    }
    return false;
}

static bool has_hidden(const struct sp_segment *segment, const struct sp_extent *extent,
                       const struct sp_stream *taker) {
    const struct sp_block *block = sp_chain_find(&segment->chain, extent->address);
    while (block && block->address < extent->address + extent->size && !hides(block, taker))
        block = block->next;
    return block && block->address < extent->address + extent->size;
}

static uint64_t hidden_in(struct sp_pool *pool, const struct sp_stream *taker) {
    uint64_t sum = 0;
    sp_lock_acquire(&pool->map_lock);
    sp_lock_acquire(&pool->lock);
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        SP_LIST_FOR_EACH(link, &pool->regions[kind].segments) {
            const struct sp_segment *segment = SP_CONTAINER_OF(link, struct sp_segment, link);
            const struct sp_extent *extent = sp_view_extent_from(&segment->view, 0);
            for (; extent; extent = sp_view_extent_next(extent))
                sum += has_hidden(segment, extent, taker) ? extent->size : 0;
        }
    }
    sp_lock_release(&pool->lock);
    sp_lock_release(&pool->map_lock);
    return sum;
}

uint64_t test_out_of_reach(struct sp_device *device, CUstream stream) {
    struct sp_stream *taker;
    struct sp_pool *pool = NULL;
    uint64_t sum = 0;
    REQUIRE(sp_is_done(sp_resolve_stream(stream, &taker)));
    while ((pool = sp_device_next_pool(device, pool))) {
        sp_collect_all(pool);
        sum += hidden_in(pool, taker);
    }
    return sum;
}

// ------------------------------------------------------------------------------------- the driver

static simcudaConfig configuration(void) {
    simcudaConfig config = {.completion = simcudaCompletionEarliest};
    if (test_simulated())
        test_simulated()->simcudaGetConfig(&config);
    return config;
}

bool test_completes_late(void) {
    return configuration().completion != simcudaCompletionEarliest;
}

bool test_work_ends_by_itself(void) {
    simcudaConfig config = configuration();
    return config.completion != simcudaCompletionLatest || config.patience > 0;
}
