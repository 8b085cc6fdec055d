#include "random/living.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/time.h"
#include "pool/pool.h"
#include "pool/runtime.h"
#include "random/blocks.h"
#include "random/choose.h"
#include "random/ordering.h"
#include "random/reserved.h"
#include "random/work.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

// ------------------------------------------------------------------------------------------------- the ledger

struct ledger {
    const struct world *world;
    const struct sp_stream *taker; // null: what is out of reach counts as free
    uint64_t free;                 // bytes of extents with nothing live in them, of the whole device
    uint64_t live;                 // bytes of the others, of the one pool
};

static bool overlap(uint64_t begin, uint64_t size, uint64_t other_begin, uint64_t other_size) {
    return begin < other_begin + other_size && other_begin < begin + size;
}

static bool has_live_byte(const struct world *world, const struct sp_extent *extent) {
    for (unsigned i = 0; i < BLOCKS; i++) {
        const struct block *block = &world->blocks[i];
        if (block->pointer &&
            overlap(extent->address, extent->size, (uint64_t)(uintptr_t)block->pointer, block->size))
            return true;
    }
    return false;
}

// The exception of the promise: a free of another stream that the request can't ask about. No
// event stands behind it, and the legacy stream doesn't see it; or it is of another context.
static bool is_out_of_reach(struct sp_fence fence, const struct sp_stream *taker) {
    const struct sp_stream *owner = sp_stream_at(fence.slot);
    if (owner == taker || sp_fence_is_complete(fence))
        return false;
    if (!sp_stream_is_of(owner, taker->context, taker->context_id))
        return true;
    return atomic_load(&owner->kind) == SP_STREAM_NON_BLOCKING && fence.sequence > sp_stream_covered(owner);
}

// A block that is lent lies at another address, live or kept there. The pages of a slab are live
// as long as one block of it is, and a large block with all that its size was rounded up to.
static bool keeps_extent(const struct sp_block *block, const struct sp_stream *taker) {
    enum sp_block_state state = sp_block_state(block);
    if (state == SP_BLOCK_LENT || state == SP_BLOCK_BUSY)
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
        bool live = has_live_byte(ledger->world, extent) || is_kept(segment, extent, ledger->taker);
        ledger->free += live ? 0 : extent->size;
        ledger->live += live && is_of_pool ? extent->size : 0;
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

// How much a request of a pool may ask for and must get.
static uint64_t room_for(const struct thread *thread, const struct pool *pool,
                         const struct sp_stream *taker) {
    struct sp_pool *inside = sp_pool_from_handle(pool->handle), *walked = NULL;
    struct sp_device *device = inside->device;
    struct ledger ledger = {.world = thread->world, .taker = taker};
    while ((walked = sp_device_next_pool(device, walked))) {
        if (!sp_pool_is_deterministic(walked)) // what it has free depends on synchronises that it has heard
            add_pool(&ledger, walked, walked == inside);
    }
    uint64_t on_device = sp_round_down(test_device_free_bytes(), device->vmm.granule) +
                         sp_round_down(ledger.free, device->vmm.granule);
    uint64_t in_pool = inside->limit > ledger.live ? inside->limit - ledger.live : 0;
    return sp_round_down(in_pool < on_device ? in_pool : on_device, device->vmm.granule);
}

// ------------------------------------------------------------------------------------------------- looking

static bool finish_streams(struct thread *thread) {
    for (unsigned i = 0; i < thread->world->stream_count; i++) {
        struct stream *stream = &thread->world->streams[i];
        if (!thread_claim_this_stream(thread, stream))
            return false;
        bool done = ordering_synchronize(thread, stream);
        claim_return(&stream->claim);
        if (!done)
            return false;
    }
    return true;
}

// The library hears nothing of it.
static bool finish_contexts(struct thread *thread) {
    for (unsigned i = 0; i < thread->world->context_count; i++) {
        thread_enter(thread, i);
        DRIVER(test_driver()->cuCtxSynchronize());
    }
    return true;
}

static bool become_idle(struct thread *thread) {
    return numbers_once_in(&thread->numbers, 2) ? finish_streams(thread) && finish_contexts(thread)
                                                : finish_contexts(thread);
}

// What the lanes hold goes among the free blocks, where their fences can be looked at.
static uint64_t room_in_reach(const struct thread *thread, const struct pool *pool, CUstream handle) {
    struct sp_stream *taker;
    struct sp_pool *walked = NULL;
    struct sp_device *device = sp_pool_from_handle(pool->handle)->device;
    DRIVER(sp_stream_resolve(handle, &taker));
    while ((walked = sp_device_next_pool(device, walked)))
        sp_pool_collect(walked);
    return room_for(thread, pool, taker);
}

static void trace_segment(const struct thread *thread, const struct sp_segment *segment) {
    const struct sp_extent *extent = sp_view_extent_from(&segment->view, 0);
    for (; extent; extent = sp_view_extent_next(extent)) {
        bool live = has_live_byte(thread->world, extent);
        thread_trace(thread, "extent 0x%llx + %zu%s", (unsigned long long)extent->address, extent->size,
                     live ? ", live" : "");
        const struct sp_block *block = sp_chain_find(&segment->chain, extent->address);
        for (; !live && block && block->address < extent->address + extent->size; block = block->next)
            thread_trace(thread, "  0x%" PRIx64 " + %" PRIu64 ": state %d%s, %" PRIu32 " fences",
                         block->address, block->size, (int)sp_block_state(block),
                         block->is_run ? ", run" : "", block->fences.count);
    }
}

static void trace_pool(const struct thread *thread, const struct pool *pool) {
    const struct sp_pool *inside = sp_pool_from_handle(pool->handle);
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        const struct sp_region *region = &inside->regions[kind];
        thread_trace(thread, "region %d: %zu mapped, %" PRIu64 " ready, %" PRIu64 " waiting", kind,
                     region->mapped, region->ready.bytes, region->waiting.bytes);
        SP_LIST_FOR_EACH(link, &region->segments)
        trace_segment(thread, SP_CONTAINER_OF(link, struct sp_segment, link));
        SP_LIST_FOR_EACH(link, &inside->lanes) {
            const struct sp_lane *lane = SP_CONTAINER_OF(link, struct sp_lane, link);
            if (lane->tiers[kind].bytes + lane->unfenced[kind].bytes == 0)
                continue;
            thread_trace(thread, "slot %" PRIu32 ": %" PRIu64 " fenced, %" PRIu64 " unfenced",
                         lane->stream->slot, lane->tiers[kind].bytes, lane->unfenced[kind].bytes);
        }
    }
}

static void require_within_reach(const struct thread *thread, const struct pool *pool, CUstream handle,
                                 uint64_t size, uint64_t room) {
    uint64_t reach = room_in_reach(thread, pool, handle);
    trace_pool(thread, pool);
    if (size <= reach)
        thread_fail(thread,
                    "%" PRIu64 " bytes are refused, and %" PRIu64 " fit, all but %" PRIu64
                    " of them within reach: %s",
                    size, room, room - reach, poolGetLastErrorDetail());
}

// A request may record an event of its own, and on a device nothing takes that long. Where the
// simulated one completes work late, the request is made again.
static bool completes_late(void) {
    const char *settings = getenv("STREAMPOOL_SIMCUDA");
    return settings && strstr(settings, "completion=");
}

static void allocate(struct thread *thread, struct pool *pool, const struct stream *stream) {
    static const unsigned flags[] = {0, 0, 0, poolMallocFixed};
    void *pointer = NULL;
    CUstream handle = thread_handle_to_pass(thread, stream);
    thread_enter(thread, stream->context);
    uint64_t room = room_for(thread, pool, NULL);
    if (room == 0)
        return;
    uint64_t size = numbers_once_in(&thread->numbers, 2) ? room : 1 + numbers_below(&thread->numbers, room);
    unsigned flag = flags[numbers_below(&thread->numbers, 4)];
    thread_trace(thread, "allocate %" PRIu64 " bytes of %" PRIu64 " that fit on stream %u, flags %u", size,
                 room, world_stream_number(thread->world, stream), flag);
    poolError_t error = poolMallocAsyncWithFlags(&pointer, size, pool->handle, handle, flag);
    if (error == poolErrorMemoryAllocation && completes_late() && finish_contexts(thread)) {
        thread_enter(thread, stream->context);
        error = poolMallocAsyncWithFlags(&pointer, size, pool->handle, handle, flag);
    }
    if (error == poolErrorMemoryAllocation) {
        require_within_reach(thread, pool, handle, size, room);
        return;
    }
    if (!SUCCEEDED(thread, error))
        return;
    reserved_after_malloc(thread, pool);
    (void)SUCCEEDED(thread, poolFreeAsync(pointer, handle));
}

// The pool may ask what is complete.
static bool is_promised(const struct plan *plan, const struct pool *pool) {
    return plan->threads == 1 && plan->faults == 0 &&
           test_flag(pool->handle, poolMemPoolReuseAllowOpportunistic) &&
           !test_flag(pool->handle, poolMemPoolAttrDeterministic);
}

// On a real device all does, and on the simulated one what is asked often enough.
static bool work_ends_by_itself(void) {
    const char *settings = getenv("STREAMPOOL_SIMCUDA");
    return !settings || !strstr(settings, "completion=latest") || strstr(settings, "patience=");
}

// Waiting may take long, but not for ever: a program that never ends says nothing of its seed.
#define HOST_WAIT_MAX (20 * SP_SECOND)

static void free_behind_work(struct thread *thread) {
    struct block *block = blocks_claim_live(thread);
    if (!block)
        return;
    struct stream *stream = block->last;
    work_spin(thread, stream);
    blocks_free_on(thread, block, stream);
    blocks_give_back(block, stream);
}

static bool become_patient(struct thread *thread, struct pool *pool) {
    for (uint64_t i = numbers_below(&thread->numbers, 8); i > 0; i--)
        free_behind_work(thread);
    test_set_attribute(pool->handle, poolMemPoolAttrHostWaitMax, HOST_WAIT_MAX);
    return true;
}

void living_look(struct thread *thread) {
    struct pool *pool = choose_pool(thread);
    if (!is_promised(&thread->world->plan, pool))
        return;
    bool waits = work_ends_by_itself() && numbers_once_in(&thread->numbers, 2);
    if (!(waits ? become_patient(thread, pool) : become_idle(thread)))
        return;
    struct stream *stream = thread_claim_stream(thread);
    if (!stream)
        return;
    thread_trace(thread, waits ? "while work is pending" : "once all work is done");
    allocate(thread, pool, stream);
    test_set_attribute(pool->handle, poolMemPoolAttrHostWaitMax, 0);
    claim_return(&stream->claim);
}
