#include "random/living.h"

#include <inttypes.h>

#include "base/thread.h"
#include "random/blocks.h"
#include "random/choose.h"
#include "random/ordering.h"
#include "random/reserved.h"
#include "random/work.h"
#include "region/device.h"
#include "region/lane.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"
#include "support/room.h"

// -------------------------------------------------------------------------------------- the blocks

static bool overlap(uint64_t begin, uint64_t size, uint64_t other_begin, uint64_t other_size) {
    return begin < other_begin + other_size && other_begin < begin + size;
}

static bool lies_in(const void *context, uint64_t address, uint64_t size) {
    const struct world *world = context;
    for (unsigned i = 0; i < world->block_count; i++) {
        const struct block *block = &world->blocks[i];
        if (block->pointer &&
            overlap(address, size, (uint64_t)(uintptr_t)block->pointer, block->size))
            return true;
    }
    return false;
}

static struct test_live live_blocks(const struct thread *thread) {
    return (struct test_live){lies_in, thread->world};
}

// ----------------------------------------------------------------------------------------- looking

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

static void trace_segment(const struct thread *thread, const struct sp_segment *segment) {
    const struct sp_extent *extent = sp_view_extent_from(&segment->view, 0);
    for (; extent; extent = sp_view_extent_next(extent)) {
        bool live = lies_in(thread->world, extent->address, extent->size);
        thread_trace(thread, "extent 0x%llx + %zu%s", (unsigned long long)extent->address,
                     extent->size, live ? ", live" : "");
        const struct sp_block *block = sp_chain_find(&segment->chain, extent->address);
        for (; !live && block && block->address < extent->address + extent->size;
             block = block->next)
            thread_trace(thread, "  0x%" PRIx64 " + %" PRIu64 ": state %d%s, %" PRIu32 " fences",
                         block->address, block->size, (int)sp_block_state(block),
                         block->is_run ? ", run" : "", block->fences.count);
    }
}

static void trace_pool(const struct thread *thread, const struct pool *pool) {
    const struct sp_pool *inside = sp_handle_pool(pool->handle);
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        const struct sp_region *region = &inside->regions[kind];
        thread_trace(thread, "region %d: %zu mapped, %" PRIu64 " ready, %" PRIu64 " waiting", kind,
                     region->mapped, region->ready.bytes, region->waiting.bytes);
        SP_LIST_FOR_EACH(link, &region->segments)
            trace_segment(thread, SP_CONTAINER_OF(link, struct sp_segment, link));
        SP_LIST_FOR_EACH(link, &inside->lanes.list) {
            const struct sp_lane *lane = SP_CONTAINER_OF(link, struct sp_lane, link);
            if (lane->tiers[kind]->fenced.bytes + lane->tiers[kind]->unfenced.bytes == 0)
                continue;
            thread_trace(thread, "slot %" PRIu32 ": %" PRIu64 " fenced, %" PRIu64 " unfenced",
                         lane->stream->slot, lane->tiers[kind]->fenced.bytes,
                         lane->tiers[kind]->unfenced.bytes);
        }
    }
}

static void require_within_reach(const struct thread *thread, const struct pool *pool,
                                 CUstream handle, uint64_t size, uint64_t room) {
    const struct test_live live = live_blocks(thread);
    uint64_t reach = test_room_in_reach(&live, sp_handle_pool(pool->handle), handle);
    trace_pool(thread, pool);
    if (size <= reach)
        thread_fail(thread,
                    "%" PRIu64 " bytes are refused, and %" PRIu64 " fit, all but %" PRIu64
                    " of them within reach: %s",
                    size, room, room - reach, poolGetLastErrorDetail());
}

static void allocate(struct thread *thread, struct pool *pool, const struct stream *stream) {
    static const unsigned flags[] = {0, 0, 0, poolMallocFixed};
    void *pointer = NULL;
    CUstream handle = thread_handle_to_pass(thread, stream);
    thread_enter(thread, stream->context);
    const struct test_live live = live_blocks(thread);
    uint64_t room = test_room(&live, sp_handle_pool(pool->handle));
    if (room == 0)
        return;
    uint64_t size =
        numbers_once_in(&thread->numbers, 2) ? room : 1 + numbers_below(&thread->numbers, room);
    unsigned flag = flags[numbers_below(&thread->numbers, 4)];
    thread_trace(thread,
                 "allocate %" PRIu64 " bytes of %" PRIu64 " that fit on stream %u, flags %u", size,
                 room, world_stream_number(thread->world, stream), flag);
    poolError_t error = poolMallocAsyncWithFlags(&pointer, size, pool->handle, handle, flag);
    if (error == poolErrorMemoryAllocation && test_completes_late() && finish_contexts(thread)) {
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

// The pool may ask what is complete, and its limit says what fits. Nobody knows what the driver has
// of managed memory.
static bool is_promised(const struct plan *plan, const struct pool *pool) {
    bool has_limit = !pool->place || pool->place->kind != TEST_MANAGED;
    return plan->threads == 1 && plan->faults == 0 && has_limit &&
           test_flag(pool->handle, poolMemPoolReuseAllowOpportunistic) &&
           !test_flag(pool->handle, poolMemPoolAttrDeterministic);
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
    if (thread->lacks_space || !is_promised(&thread->world->plan, pool))
        return;
    bool waits = test_work_ends_by_itself() && numbers_once_in(&thread->numbers, 2);
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
