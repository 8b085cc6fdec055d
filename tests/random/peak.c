#include "random/peak.h"

#include <inttypes.h>

#include "random/blocks.h"
#include "random/choose.h"
#include "random/living.h"
#include "random/ordering.h"
#include "random/reserved.h"
#include "support/check.h"
#include "support/pools.h"

// --------------------------------------------------------------------------------------- the peak

static struct stream *claim_in_turn(struct thread *thread, uint64_t i) {
    struct world *world = thread->world;
    struct stream *stream = &world->streams[i % world->stream_count];
    return thread_claim_this_stream(thread, stream) ? stream : NULL;
}

static void rise(struct thread *thread) {
    uint64_t count = 1 + numbers_below(&thread->numbers, thread->world->block_count);
    bool in_turn = numbers_once_in(&thread->numbers, 2);
    thread->small = in_turn && numbers_once_in(&thread->numbers, 2);
    for (uint64_t i = 0; i < count; i++) {
        struct block *block = blocks_claim(thread, EMPTY);
        struct stream *stream = in_turn ? claim_in_turn(thread, i) : thread_claim_stream(thread);
        if (block && stream)
            blocks_malloc_on(thread, block, stream);
        if (stream)
            claim_return(&stream->claim);
        if (block)
            claim_return(&block->claim);
    }
    thread->small = false;
}

// Slots are filled from a drawn one on, so their order is nearly that of the allocations.
enum order { AS_THEY_CAME, REVERSED, SCATTERED, ORDERS };

static void fall(struct thread *thread) {
    struct world *world = thread->world;
    uint64_t order = numbers_below(&thread->numbers, ORDERS), count = world->block_count;
    uint64_t share = 2 + numbers_below(&thread->numbers, 40);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = order == REVERSED ? count - 1 - i : order == SCATTERED ? i * 77 % count : i;
        if (!numbers_once_in(&thread->numbers, share))
            blocks_free_at(thread, at);
    }
}

// ------------------------------------------------------------------------------ what is left of it

// A pool never holds less than what is used; and if the plan says so, no more than what the blocks
// use and so much for each of them, once nothing is pending and it was trimmed.
static void require_little(struct thread *thread, struct pool *pool) {
    uint64_t blocks = 0, each = thread->world->plan.each_survivor;
    for (uint64_t i = 0; i < thread->world->block_count; i++) {
        const struct block *block = &thread->world->blocks[i];
        blocks += block->pointer && block->pool == pool;
    }
    reserved_trim(thread, pool, 0);
    uint64_t used = test_used(pool->handle);
    uint64_t reserved =
        test_reserved(pool->handle) + test_attribute(pool->handle, poolMemPoolStatHostReserved);
    if (reserved < used || (each > 0 && reserved > used + blocks * each))
        thread_fail(thread, "%" PRIu64 " bytes are held for %" PRIu64 " blocks with %" PRIu64,
                    reserved, blocks, used);
}

void peak_come_and_go(struct thread *thread) {
    const struct plan *plan = &thread->world->plan;
    if (numbers_once_in(&thread->numbers, 2))
        living_look(thread);
    rise(thread);
    fall(thread);
    if (numbers_once_in(&thread->numbers, 2))
        living_look(thread);
    if (plan->threads > 1 || thread->faulty || thread->lacks_space ||
        numbers_once_in(&thread->numbers, 2))
        return;
    ordering_synchronize_all(thread);
    require_little(thread, choose_pool(thread));
}

// --------------------------------------------------------------------------------------- the pools

// Its blocks live on, and are freed as any other.
void peak_renew_pool(struct thread *thread) {
    struct world *world = thread->world;
    struct pool *pool = choose_pool(thread);
    if (world->plan.threads > 1 || thread->faulty || thread->lacks_space)
        return;
    thread_trace(thread, "destroy pool %u", (unsigned)(pool - world->pools));
    world_give_up_pool(thread, pool);
    world_make_pool(thread, pool);
}
