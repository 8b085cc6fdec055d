#include "random/blocks.h"

#include "random/choose.h"
#include "random/observing.h"
#include "random/ordering.h"
#include "random/reserved.h"
#include "random/settling.h"
#include "random/work.h"
#include "support/device.h"

// ---------------------------------------------------------------------------------------- claiming

static bool is_wanted(const struct thread *thread, const struct block *block, enum wanted wanted) {
    if (wanted == EMPTY)
        return !block->pointer;
    return block->pointer &&
           (block->last->kind != STREAM_PER_THREAD || block->last->thread == thread->index);
}

struct block *blocks_claim(struct thread *thread, enum wanted wanted) {
    struct world *world = thread->world;
    uint64_t first = numbers_below(&thread->numbers, world->block_count);
    for (uint64_t i = 0; i < world->block_count / 4; i++) {
        struct block *block = &world->blocks[(first + i) % world->block_count];
        if (!claim_alone(&block->claim))
            continue;
        if (is_wanted(thread, block, wanted))
            return block;
        claim_return(&block->claim);
    }
    return NULL;
}

struct block *blocks_claim_live(struct thread *thread) {
    struct block *block = blocks_claim(thread, LIVE);
    if (!block || claim_shared(&block->last->claim))
        return block;
    claim_return(&block->claim);
    return NULL;
}

void blocks_give_back(struct block *block, struct stream *stream) {
    claim_return(&stream->claim);
    claim_return(&block->claim);
}

// ---------------------------------------------------------------------------- beginning and ending

static size_t choose_size(struct thread *thread) {
    const struct world *world = thread->world;
    struct numbers *numbers = &thread->numbers;
    if (thread->small)
        return 8 + numbers_below(numbers, KIB(56));
    if (!numbers_once_in(numbers, 3))
        return world->sizes[numbers_below(numbers, SIZES)];
    if (world->plan.large && !numbers_once_in(numbers, 4))
        return MIB(1) + numbers_below(numbers, world->largest);
    return 8 + numbers_below(numbers, numbers_once_in(numbers, 2) ? KIB(60) : world->largest);
}

static void begin_life(const struct thread *thread, struct block *block) {
    struct life *life = &block->life[block->lives++ % LIVES];
    *life = (struct life){.pointer = block->pointer,
                          .size = block->size,
                          .malloc_operation = thread->operation,
                          .malloc_stream = world_stream_number(thread->world, block->last)};
    thread_trace(thread, "block %u is %p + %zu on stream %u",
                 world_block_number(thread->world, block), block->pointer, block->size,
                 life->malloc_stream);
}

static void end_life(const struct thread *thread, struct block *block,
                     const struct stream *stream) {
    struct life *life = &block->life[(block->lives - 1) % LIVES];
    life->free_operation = thread->operation;
    life->free_stream = world_stream_number(thread->world, stream);
    thread_trace(thread, "block %u is free, on stream %u", world_block_number(thread->world, block),
                 life->free_stream);
    block->pointer = NULL;
}

// The legacy stream's allocations may be in no stream's order.
static poolError_t call_complete(struct thread *thread, struct block *block, CUstream handle,
                                 unsigned flags) {
    poolMemPool_t pool = block->pool->handle;
    block->complete = true;
    return block->last->kind == STREAM_LEGACY && numbers_once_in(&thread->numbers, 2)
               ? poolMallocFromPool(&block->pointer, block->size, pool)
               : poolMallocAsyncWithFlags(&block->pointer, block->size, pool, handle,
                                          flags | poolMallocCompleteOnly);
}

// The first pool is the current one, and not always named.
static poolError_t call_malloc(struct thread *thread, struct block *block, CUstream handle) {
    struct numbers *numbers = &thread->numbers;
    unsigned flags = numbers_once_in(numbers, 6) ? (unsigned)numbers_below(numbers, 16) : 0;
    block->complete = false;
    if (thread->world->plan.host && numbers_once_in(numbers, 3))
        return call_complete(thread, block, handle, flags);
    bool unnamed =
        block->pool == thread->world->pools && !block->pool->place && numbers_once_in(numbers, 2);
    poolMemPool_t pool = unnamed ? NULL : block->pool->handle;
    if (flags || numbers_once_in(numbers, 4))
        return poolMallocAsyncWithFlags(&block->pointer, block->size, pool, handle, flags);
    return observing_malloc(thread, &block->pointer, block->size, pool, handle);
}

// True when there is memory, null otherwise: a pool that is this tight has none at times.
static bool allocate(struct thread *thread, struct block *block, struct stream *stream) {
    CUstream handle = thread_handle_to_pass(thread, stream);
    block->size = choose_size(thread);
    block->pool = choose_pool(thread);
    block->is_hosts = block->pool->place != NULL;
    thread_enter(thread, stream->context);
    poolError_t error = call_malloc(thread, block, handle);
    if (error == poolErrorMemoryAllocation)
        return false;
    return SUCCEEDED(thread, error) && block->pointer;
}

void blocks_get_on(struct thread *thread, struct block *block, struct stream *stream) {
    block->used = false;
    block->last = stream;
    if (!allocate(thread, block, stream))
        block->pointer = NULL;
    else
        begin_life(thread, block);
    reserved_after_malloc(thread, block->pool);
}

// Another stream, whose work CUDA orders behind this one's allocation without an event; or any,
// where no order need be kept.
static struct stream *claim_first_user(struct thread *thread, const struct block *block,
                                       const struct stream *stream) {
    if (block->complete && numbers_once_in(&thread->numbers, 2))
        return thread_claim_stream(thread);
    if (!thread->world->plan.first_use_elsewhere || !numbers_once_in(&thread->numbers, 3))
        return NULL;
    return ordering_claim_implied(thread, stream);
}

static void use_first(struct thread *thread, struct block *block, struct stream *stream) {
    if (block->complete && block->is_hosts && numbers_once_in(&thread->numbers, 2)) {
        work_fill_by_host(thread, block);
        return;
    }
    struct stream *user = claim_first_user(thread, block, stream);
    block->last = user ? user : stream;
    work_fill(thread, block, block->last);
    if (user)
        claim_return(&user->claim);
}

void blocks_malloc_on(struct thread *thread, struct block *block, struct stream *stream) {
    blocks_get_on(thread, block, stream);
    if (block->pointer && !numbers_once_in(&thread->numbers, 8))
        use_first(thread, block, stream);
}

void blocks_free_on(struct thread *thread, struct block *block, const struct stream *stream) {
    thread_enter(thread, stream->context);
    CUstream handle = thread_handle_to_pass(thread, stream);
    if (SUCCEEDED(thread, observing_free(thread, block->pointer, handle)))
        end_life(thread, block, stream);
}

// ---------------------------------------------------------------------------------- the operations

void blocks_malloc(struct thread *thread) {
    struct block *block = blocks_claim(thread, EMPTY);
    struct stream *stream = block ? thread_claim_stream(thread) : NULL;
    if (stream) {
        blocks_malloc_on(thread, block, stream);
        claim_return(&stream->claim);
    }
    if (block)
        claim_return(&block->claim);
}

// Of a block that nothing has used no order need be kept.
static void free_elsewhere(struct thread *thread, struct block *block, struct stream *last) {
    struct stream *stream = thread_claim_stream(thread);
    if (!stream)
        return;
    if (!block->used || ordering_make(thread, last, stream))
        blocks_free_on(thread, block, stream);
    claim_return(&stream->claim);
}

// Of the block's stream there is work to do yet, and of the other one there is none.
static void use_while_idle(struct thread *thread, struct block *block, struct stream *last,
                           const struct stream *idle) {
    ordering_make_idle(thread, idle);
    work_spin(thread, last);
    work_check(thread, block, last);
}

static void malloc_there(struct thread *thread, struct stream *stream) {
    struct block *block = blocks_claim(thread, EMPTY);
    if (!block)
        return;
    blocks_malloc_on(thread, block, stream);
    claim_return(&block->claim);
}

// What may lead to the memory of that free, soon enough for the work before it to be pending yet.
static void go_on_behind(struct thread *thread, struct stream *stream) {
    uint64_t chosen = numbers_below(&thread->numbers, 6);
    if (chosen < 2)
        ordering_ask(thread, stream);
    if (chosen == 1 || chosen == 2)
        blocks_malloc(thread);
    if (chosen == 3)
        malloc_there(thread, stream);
    if (chosen == 4)
        settling_of_stream(thread, stream);
}

// Nothing is enqueued on the other stream, so that one may be idle while the work before the free
// goes on.
static void free_behind(struct thread *thread, struct block *block, struct stream *last) {
    struct stream *stream = ordering_claim_implied(thread, last);
    if (stream && block->used && numbers_once_in(&thread->numbers, 2))
        use_while_idle(thread, block, last, stream);
    blocks_free_on(thread, block, stream ? stream : last);
    if (!stream)
        return;
    go_on_behind(thread, stream);
    claim_return(&stream->claim);
}

// Streams that have used a block, each of which runs after what was done on the first and after
// nothing of the others.
enum { USERS = 4 };
struct users {
    struct stream *streams[USERS];
    unsigned count;
};

// The streams of one call are told by handles that hold in one context.
static bool can_join(const struct users *users, const struct stream *stream) {
    bool is_created = stream->kind == STREAM_BLOCKING || stream->kind == STREAM_NON_BLOCKING;
    for (unsigned i = 0; i < users->count; i++) {
        if (users->streams[i] == stream)
            return false;
    }
    return is_created || stream->context == users->streams[0]->context;
}

// Another stream uses the block. It isn't named where that can't be.
static void join_user(struct thread *thread, struct block *block, struct users *users) {
    struct stream *stream = thread_claim_stream(thread);
    if (!stream)
        return;
    bool joins = can_join(users, stream) &&
                 (!block->used || ordering_make(thread, users->streams[0], stream));
    if (!joins) {
        claim_return(&stream->claim);
        return;
    }
    users->streams[users->count++] = stream;
    if (block->used)
        work_check(thread, block, stream);
}

// After a fault the block stays, and it is known to be used by the first stream's work alone: so
// the others' work comes to its end.
static void keep_block(struct thread *thread, const struct users *users) {
    if (thread->faulty)
        thread->world->simulated->simcudaFailClear();
    for (unsigned i = 1; i < users->count; i++)
        ordering_make_idle(thread, users->streams[i]);
}

// Frees behind all of them, in any order, and maybe one of them named twice.
static void free_behind_users(struct thread *thread, struct block *block,
                              const struct users *users) {
    CUstream handles[USERS + 1];
    unsigned count = 0, first = (unsigned)numbers_below(&thread->numbers, users->count);
    bool twice = numbers_once_in(&thread->numbers, 4);
    for (; count < users->count + twice; count++) {
        const struct stream *stream = users->streams[(first + count) % users->count];
        handles[count] = thread_handle_to_pass(thread, stream);
        thread_trace(thread, "to be freed behind stream %u",
                     world_stream_number(thread->world, stream));
    }
    thread_enter(thread, users->streams[0]->context);
    if (SUCCEEDED(thread, poolFreeAsyncAfter(block->pointer, handles, count)))
        end_life(thread, block, users->streams[first]);
    else
        keep_block(thread, users);
}

static void free_behind_several(struct thread *thread, struct block *block, struct stream *last) {
    struct users users = {{last}, 1};
    uint64_t more = 1 + numbers_below(&thread->numbers, USERS - 1);
    for (uint64_t i = 0; i < more; i++)
        join_user(thread, block, &users);
    free_behind_users(thread, block, &users);
    if (users.count > 1 && numbers_once_in(&thread->numbers, 2))
        go_on_behind(thread, users.streams[1]);
    for (unsigned i = 1; i < users.count; i++)
        claim_return(&users.streams[i]->claim);
}

static void free_without_stream(struct thread *thread, struct block *block, struct stream *last) {
    if (block->used && !ordering_synchronize(thread, last))
        return;
    block->used = false;
    if (SUCCEEDED(thread, poolFree(block->pointer)))
        end_life(thread, block, last);
}

static void free_in_some_way(struct thread *thread, struct block *block) {
    struct stream *last = block->last;
    if (block->used)
        work_check(thread, block, last);
    switch (numbers_below(&thread->numbers, 20)) {
    case 0:
        free_without_stream(thread, block, last);
        break;
    case 1:
    case 2:
    case 3:
        free_elsewhere(thread, block, last);
        break;
    case 4:
    case 5:
    case 6:
    case 7:
        free_behind(thread, block, last);
        break;
    case 16:
    case 17:
    case 18:
    case 19:
        free_behind_several(thread, block, last);
        break;
    default:
        blocks_free_on(thread, block, last);
    }
}

void blocks_free(struct thread *thread) {
    struct block *block = blocks_claim_live(thread);
    if (!block)
        return;
    struct stream *last = block->last;
    free_in_some_way(thread, block);
    blocks_give_back(block, last);
}

void blocks_free_at(struct thread *thread, uint64_t index) {
    struct block *block = &thread->world->blocks[index];
    if (!claim_alone(&block->claim))
        return;
    struct stream *last = block->last;
    if (is_wanted(thread, block, LIVE) && claim_shared(&last->claim)) {
        free_in_some_way(thread, block);
        claim_return(&last->claim);
    }
    claim_return(&block->claim);
}

void blocks_move(struct thread *thread) {
    struct block *block = blocks_claim_live(thread);
    if (!block)
        return;
    struct stream *last = block->last, *stream = thread_claim_stream(thread);
    bool implicit =
        stream && ordering_is_implied(last, stream) && numbers_once_in(&thread->numbers, 2);
    if (stream && block->used && (implicit || ordering_make(thread, last, stream))) {
        work_check(thread, block, stream);
        work_fill(thread, block, stream);
        block->last = stream;
    }
    if (stream)
        claim_return(&stream->claim);
    blocks_give_back(block, last);
}

void blocks_use(struct thread *thread) {
    struct block *block = blocks_claim_live(thread);
    if (!block)
        return;
    struct stream *last = block->last;
    if (block->used) {
        work_check(thread, block, last);
        work_fill(thread, block, last);
    } else {
        use_first(thread, block, last);
    }
    blocks_give_back(block, last);
}

// The host waits for the work of the block's stream first, unless nothing can be pending.
void blocks_touch(struct thread *thread) {
    struct block *block = blocks_claim_live(thread);
    if (!block)
        return;
    struct stream *last = block->last;
    bool at_once = block->complete && !block->used;
    if (block->is_hosts && (at_once || ordering_synchronize(thread, last))) {
        if (block->used)
            work_check_by_host(thread, block);
        work_fill_by_host(thread, block);
    }
    blocks_give_back(block, last);
}
