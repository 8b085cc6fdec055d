#include "random/operations.h"

#include <assert.h>

#include "random/reserved.h"
#include "random/work.h"
#include "support/check.h"
#include "support/device.h"

// X(name, how often, compared with the others, where the program has no mind of its own)
// clang-format off
#define OPERATIONS(X) \
    X(malloc_block, 36) \
    X(free_block, 30) \
    X(move_block, 10) \
    X(use_block, 6) \
    X(record_event, 10) \
    X(wait_event, 12) \
    X(spin, 6) \
    X(query_stream, 2) \
    X(query_event, 3) \
    X(synchronize_stream, 1) \
    X(synchronize_event, 2) \
    X(renew_stream, 3) \
    X(renew_event, 2) \
    X(trim, 1) \
    X(prime, 1) \
    X(set_release_delay, 1) \
    X(renew_promises, 1) \
    X(enter_capture, 1)
// clang-format on

typedef void operation(struct thread *thread);
#define DECLARE_OPERATION(name, weight) static operation name;
OPERATIONS(DECLARE_OPERATION)
#undef DECLARE_OPERATION

// A program tells the library of three calls in four; of the others it only learns less.
static bool tells(struct thread *thread) {
    return !numbers_once_in(&thread->numbers, 4);
}

static struct pool *choose_pool(struct thread *thread) {
    return &thread->world->pools[numbers_below(&thread->numbers, thread->world->plan.pools)];
}

// ----------------------------------------------------------------------------------------------- claiming

// A slot that is empty, or one that is not and has memory that the thread can use. Null when none is near where it looks.
enum wanted { EMPTY, LIVE };

static bool is_wanted(const struct thread *thread, const struct block *block, enum wanted wanted) {
    if (wanted == EMPTY)
        return !block->pointer;
    return block->pointer && (block->last->kind != STREAM_PER_THREAD || block->last->thread == thread->index);
}

static struct block *claim_block(struct thread *thread, enum wanted wanted) {
    uint64_t first = numbers_below(&thread->numbers, BLOCKS);
    for (uint64_t i = 0; i < BLOCKS / 4; i++) {
        struct block *block = &thread->world->blocks[(first + i) % BLOCKS];
        if (!claim_alone(&block->claim))
            continue;
        if (is_wanted(thread, block, wanted))
            return block;
        claim_return(&block->claim);
    }
    return NULL;
}

// A live block, and its stream shared; null when it isn't to be had.
static struct block *claim_live(struct thread *thread) {
    struct block *block = claim_block(thread, LIVE);
    if (!block || claim_shared(&block->last->claim))
        return block;
    claim_return(&block->claim);
    return NULL;
}

static void give_back(struct block *block, struct stream *stream) {
    claim_return(&stream->claim);
    claim_return(&block->claim);
}

static struct event *claim_event(struct thread *thread) {
    struct event *event = &thread->world->events[numbers_below(&thread->numbers, EVENTS)];
    return claim_alone(&event->claim) ? event : NULL;
}

// One that can be recorded in the stream.
static struct event *claim_event_for(struct thread *thread, const struct stream *stream) {
    struct event *event = claim_event(thread);
    if (!event || event->context == stream->context)
        return event;
    claim_return(&event->claim);
    return NULL;
}

// ------------------------------------------------------------------------------------------------ ordering

static void trace_event(const struct thread *thread, const char *verb, const struct event *event,
                        const struct stream *stream) {
    thread_trace(thread, "%s event %u on stream %u", verb, world_event_number(thread->world, event),
                 world_stream_number(thread->world, stream));
}

static bool record(struct thread *thread, const struct event *event, const struct stream *stream) {
    CUstream handle = thread_handle_to_pass(thread, stream);
    bool told = tells(thread);
    thread_enter(thread, stream->context);
    trace_event(thread, told ? "record" : "record unseen", event, stream);
    return told ? SUCCEEDED(thread, poolEventRecord(event->handle, handle))
                : SUCCEEDED(thread, test_driver()->cuEventRecord(event->handle, handle));
}

static bool wait(struct thread *thread, const struct stream *stream, const struct event *event) {
    CUstream handle = thread_handle_to_pass(thread, stream);
    bool told = tells(thread);
    thread_enter(thread, stream->context);
    trace_event(thread, told ? "wait for" : "wait unseen for", event, stream);
    return told ? SUCCEEDED(thread, poolStreamWaitEvent(handle, event->handle, 0))
                : SUCCEEDED(thread, test_driver()->cuStreamWaitEvent(handle, event->handle, 0));
}

// Whatever `to` is given from now on runs after what `from` has been given. False when no event is to be had.
static bool order(struct thread *thread, const struct stream *from, const struct stream *to) {
    if (from == to)
        return true;
    struct event *event = claim_event_for(thread, from);
    if (!event)
        return false;
    bool ordered = record(thread, event, from) && wait(thread, to, event);
    claim_return(&event->claim);
    return ordered;
}

// Ordered without an event, as soon as `to` is given work.
static bool are_ordered_by_legacy(const struct stream *from, const struct stream *to) {
    bool blocking = from->kind != STREAM_NON_BLOCKING && to->kind != STREAM_NON_BLOCKING;
    return blocking && from->context == to->context &&
           (from->kind == STREAM_LEGACY || to->kind == STREAM_LEGACY);
}

static bool synchronize_told(struct thread *thread, CUstream handle, bool device) {
    struct reserved before = reserved_now(thread);
    bool done = device ? SUCCEEDED(thread, poolDeviceSynchronize())
                       : SUCCEEDED(thread, poolStreamSynchronize(handle));
    if (done)
        reserved_after_synchronize(thread, before, device ? OF_CONTEXT : OF_STREAM);
    return done;
}

static bool synchronize(struct thread *thread, const struct stream *stream) {
    CUstream handle = thread_handle_to_pass(thread, stream);
    bool told = tells(thread), device = numbers_once_in(&thread->numbers, 8);
    thread_enter(thread, stream->context);
    thread_trace(thread, "synchronise%s %s %u", told ? "" : " unseen", device ? "the context of" : "stream",
                 world_stream_number(thread->world, stream));
    if (told)
        return synchronize_told(thread, handle, device);
    return device ? SUCCEEDED(thread, test_driver()->cuCtxSynchronize())
                  : SUCCEEDED(thread, test_driver()->cuStreamSynchronize(handle));
}

// -------------------------------------------------------------------------------------------------- blocks

static size_t choose_size(struct thread *thread) {
    const struct world *world = thread->world;
    struct numbers *numbers = &thread->numbers;
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
    thread_trace(thread, "block %u is %p + %zu on stream %u", world_block_number(thread->world, block),
                 block->pointer, block->size, life->malloc_stream);
}

static void end_life(const struct thread *thread, struct block *block, const struct stream *stream) {
    struct life *life = &block->life[(block->lives - 1) % LIVES];
    life->free_operation = thread->operation;
    life->free_stream = world_stream_number(thread->world, stream);
    thread_trace(thread, "block %u is free, on stream %u", world_block_number(thread->world, block),
                 life->free_stream);
    block->pointer = NULL;
}

// The first pool is the current one, and not always named.
static poolError_t call_malloc(struct thread *thread, struct block *block, CUstream handle) {
    struct numbers *numbers = &thread->numbers;
    unsigned flags = numbers_once_in(numbers, 6) ? (unsigned)numbers_below(numbers, 16) : 0;
    bool unnamed = block->pool == thread->world->pools && numbers_once_in(numbers, 2);
    poolMemPool_t pool = unnamed ? NULL : block->pool->handle;
    if (flags || numbers_once_in(numbers, 4))
        return poolMallocAsyncWithFlags(&block->pointer, block->size, pool, handle, flags);
    return unnamed ? poolMallocAsync(&block->pointer, block->size, handle)
                   : poolMallocFromPoolAsync(&block->pointer, block->size, pool, handle);
}

// True when there is memory, null otherwise: a pool that is this tight has none at times.
static bool allocate(struct thread *thread, struct block *block, struct stream *stream) {
    CUstream handle = thread_handle_to_pass(thread, stream);
    block->size = choose_size(thread);
    block->pool = choose_pool(thread);
    thread_enter(thread, stream->context);
    poolError_t error = call_malloc(thread, block, handle);
    if (error == poolErrorMemoryAllocation)
        return false;
    return SUCCEEDED(thread, error) && block->pointer;
}

static void malloc_on(struct thread *thread, struct block *block, struct stream *stream) {
    block->used = false;
    block->last = stream;
    if (!allocate(thread, block, stream))
        block->pointer = NULL;
    else
        begin_life(thread, block);
    reserved_after_malloc(thread, block->pool);
    if (block->pointer && !numbers_once_in(&thread->numbers, 8))
        work_fill(thread, block, stream);
}

static void malloc_block(struct thread *thread) {
    struct block *block = claim_block(thread, EMPTY);
    struct stream *stream = block ? thread_claim_stream(thread) : NULL;
    if (stream) {
        malloc_on(thread, block, stream);
        claim_return(&stream->claim);
    }
    if (block)
        claim_return(&block->claim);
}

static void free_on(struct thread *thread, struct block *block, const struct stream *stream) {
    thread_enter(thread, stream->context);
    if (SUCCEEDED(thread, poolFreeAsync(block->pointer, thread_handle_to_pass(thread, stream))))
        end_life(thread, block, stream);
}

// Of a block that nothing has used no order need be kept.
static void free_elsewhere(struct thread *thread, struct block *block, struct stream *last) {
    struct stream *stream = thread_claim_stream(thread);
    if (!stream)
        return;
    if (!block->used || order(thread, last, stream))
        free_on(thread, block, stream);
    claim_return(&stream->claim);
}

static void free_without_stream(struct thread *thread, struct block *block, struct stream *last) {
    if (block->used && !synchronize(thread, last))
        return;
    block->used = false;
    if (SUCCEEDED(thread, poolFree(block->pointer)))
        end_life(thread, block, last);
}

static void free_block(struct thread *thread) {
    struct block *block = claim_live(thread);
    if (!block)
        return;
    struct stream *last = block->last;
    if (block->used)
        work_check(thread, block, last);
    switch (numbers_below(&thread->numbers, 12)) {
    case 0:
        free_without_stream(thread, block, last);
        break;
    case 1:
    case 2:
    case 3:
        free_elsewhere(thread, block, last);
        break;
    default:
        free_on(thread, block, last);
    }
    give_back(block, last);
}

static void move_block(struct thread *thread) {
    struct block *block = claim_live(thread);
    if (!block)
        return;
    struct stream *last = block->last, *stream = thread_claim_stream(thread);
    bool implicit = stream && are_ordered_by_legacy(last, stream) && numbers_once_in(&thread->numbers, 2);
    if (stream && block->used && (implicit || order(thread, last, stream))) {
        work_check(thread, block, stream);
        work_fill(thread, block, stream);
        block->last = stream;
    }
    if (stream)
        claim_return(&stream->claim);
    give_back(block, last);
}

static void use_block(struct thread *thread) {
    struct block *block = claim_live(thread);
    if (!block)
        return;
    if (block->used)
        work_check(thread, block, block->last);
    work_fill(thread, block, block->last);
    give_back(block, block->last);
}

// -------------------------------------------------------------------------------------- streams and events

static void record_event(struct thread *thread) {
    struct stream *stream = thread_claim_stream(thread);
    struct event *event = stream ? claim_event_for(thread, stream) : NULL;
    if (event) {
        record(thread, event, stream);
        claim_return(&event->claim);
    }
    if (stream)
        claim_return(&stream->claim);
}

static void wait_event(struct thread *thread) {
    struct stream *stream = thread_claim_stream(thread);
    struct event *event = stream ? claim_event(thread) : NULL;
    if (event) {
        wait(thread, stream, event);
        claim_return(&event->claim);
    }
    if (stream)
        claim_return(&stream->claim);
}

static void spin(struct thread *thread) {
    struct stream *stream = thread_claim_stream(thread);
    if (!stream)
        return;
    work_spin(thread, stream);
    claim_return(&stream->claim);
}

static bool is_answer(const struct thread *thread, int error) {
    return error == CUDA_ERROR_NOT_READY || SUCCEEDED(thread, error);
}

static void query_stream(struct thread *thread) {
    struct stream *stream = thread_claim_stream(thread);
    if (!stream)
        return;
    thread_enter(thread, stream->context);
    bool done = is_answer(thread, (int)poolStreamQuery(thread_handle_to_pass(thread, stream)));
    thread_trace(thread, "stream %u: %s", world_stream_number(thread->world, stream),
                 done ? "answered" : "failed");
    claim_return(&stream->claim);
}

static void query_event(struct thread *thread) {
    struct event *event = claim_event(thread);
    if (!event)
        return;
    is_answer(thread, (int)poolEventQuery(event->handle));
    claim_return(&event->claim);
}

static void synchronize_stream(struct thread *thread) {
    struct stream *stream = thread_claim_stream(thread);
    if (!stream)
        return;
    synchronize(thread, stream);
    claim_return(&stream->claim);
}

static void synchronize_event(struct thread *thread) {
    struct event *event = claim_event(thread);
    if (!event)
        return;
    struct reserved before = reserved_now(thread);
    if (SUCCEEDED(thread, poolEventSynchronize(event->handle)))
        reserved_after_synchronize(thread, before, OF_EVENT);
    claim_return(&event->claim);
}

// -------------------------------------------------------------------------------- what the pools reserve

static void trim(struct thread *thread) {
    reserved_trim(thread, choose_pool(thread),
                  numbers_below(&thread->numbers, 4) * thread->world->plan.bytes / 4);
}

// Up to twice the limit, but mostly far less: what is reserved for nobody can't be pending anywhere.
static void prime(struct thread *thread) {
    uint64_t most = thread->world->plan.bytes * 2 >> numbers_below(&thread->numbers, 8);
    reserved_prime(thread, choose_pool(thread), 1 + numbers_below(&thread->numbers, most));
}

static void set_release_delay(struct thread *thread) {
    reserved_delay(thread, choose_pool(thread), numbers_below(&thread->numbers, INTERVALS + 1));
}

// ------------------------------------------------------------------------------------- streams that come and go

// Claims all live blocks that `stream` used last. False, and none claimed, when another thread has one.
static bool claim_all_of(struct world *world, const struct stream *stream, struct block **list,
                         unsigned *count) {
    *count = 0;
    for (unsigned i = 0; i < BLOCKS; i++) {
        struct block *block = &world->blocks[i];
        if (!claim_alone(&block->claim)) {
            while (*count > 0)
                claim_return(&list[--*count]->claim);
            return false;
        }
        if (block->pointer && block->last == stream)
            list[(*count)++] = block;
        else
            claim_return(&block->claim);
    }
    return true;
}

// Another stream takes over what the stream has.
static bool hand_over(struct thread *thread, struct stream *stream, struct block **list, unsigned count) {
    struct stream *heir = thread_claim_stream(thread);
    if (!heir)
        return false;
    bool ordered = heir != stream && order(thread, stream, heir);
    for (unsigned i = 0; i < count && ordered; i++)
        list[i]->last = heir;
    claim_return(&heir->claim);
    return ordered;
}

static bool is_created(const struct stream *stream) {
    return stream->kind == STREAM_BLOCKING || stream->kind == STREAM_NON_BLOCKING;
}

static bool destroy(struct thread *thread, const struct stream *stream, CUstream handle) {
    bool told = world_promises_destroy(thread->world) || tells(thread);
    thread_enter(thread, stream->context);
    thread_trace(thread, "destroy%s stream %u", told ? "" : " unseen",
                 world_stream_number(thread->world, stream));
    return told ? SUCCEEDED(thread, poolStreamDestroy(handle))
                : SUCCEEDED(thread, test_driver()->cuStreamDestroy(handle));
}

static void destroy_and_create(struct thread *thread, struct stream *stream) {
    if (destroy(thread, stream, stream->handle))
        world_make_stream(thread, stream);
}

// Of memory that streams before it may still be using.
static void malloc_on_new(struct thread *thread, struct stream *stream) {
    struct block *block = claim_block(thread, EMPTY);
    if (!block)
        return;
    malloc_on(thread, block, stream);
    claim_return(&block->claim);
}

// The new one has the handle of any that was destroyed before, perhaps by a thread that isn't done with that yet. So it is used at
// once.
static void create_and_destroy(struct thread *thread, struct stream *stream) {
    CUstream old = stream->handle;
    world_make_stream(thread, stream);
    malloc_on_new(thread, stream);
    (void)destroy(thread, stream, old);
}

static void renew(struct thread *thread, struct stream *stream) {
    if (!claim_shared(&thread->world->promises))
        return;
    if (thread->faulty || numbers_once_in(&thread->numbers, 2))
        destroy_and_create(thread, stream);
    else
        create_and_destroy(thread, stream);
    claim_return(&thread->world->promises);
}

// With whatever is pending on the old stream, which often has the new one's handle.
static void renew_stream(struct thread *thread) {
    struct world *world = thread->world;
    struct block *list[BLOCKS];
    unsigned count;
    struct stream *stream = &world->streams[numbers_below(&thread->numbers, world->stream_count)];
    if (!claim_alone(&stream->claim))
        return;
    if (is_created(stream) && claim_all_of(world, stream, list, &count)) {
        if (count == 0 || hand_over(thread, stream, list, count))
            renew(thread, stream);
        while (count > 0)
            claim_return(&list[--count]->claim);
    }
    claim_return(&stream->claim);
}

static void renew_event(struct thread *thread) {
    struct event *event = claim_event(thread);
    if (!event)
        return;
    bool destroyed = tells(thread) ? SUCCEEDED(thread, poolEventDestroy(event->handle))
                                   : SUCCEEDED(thread, test_driver()->cuEventDestroy(event->handle));
    if (destroyed)
        world_make_event(thread, event);
    claim_return(&event->claim);
}

// What was promised is taken back, and then there are streams that the library doesn't see destroyed; or it is promised again.
static void renew_promises(struct thread *thread) {
    struct world *world = thread->world;
    if (!world->plan.promises || !claim_alone(&world->promises))
        return;
    int promises = numbers_once_in(&thread->numbers, 2)
                       ? (int)numbers_below(&thread->numbers, ALL_PROMISES + 1)
                       : ALL_PROMISES;
    world_promise(thread, promises);
    claim_return(&world->promises);
}

// ------------------------------------------------------------------------------------------------- captures

// Memory of a pool that was promised no captures must not be named in one, and where a pool was promised that there are none, there are
// none. A live block that may be named, or null.
static struct block *claim_capturable(struct thread *thread) {
    struct block *block = claim_block(thread, LIVE);
    int promises = block ? atomic_load(&block->pool->promises) : poolPromiseNothing;
    if (!(promises & poolPromiseNoCapture) && !world_promises_never_to_capture(thread->world))
        return block;
    if (!block)
        return NULL;
    claim_return(&block->claim);
    return NULL;
}

static void require_refused(const struct thread *thread, const char *call, poolError_t error,
                            poolError_t expected) {
    if (error != expected)
        thread_fail(thread, "%s in a capture gives %s", call, poolGetErrorName(error));
}

static void call_in_capture(struct thread *thread, struct block *block, CUstream handle) {
    void *pointer;
    CUgraph graph;
    DRIVER(test_driver()->cuStreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_RELAXED));
    require_refused(thread, "an allocation",
                    poolMallocFromPoolAsync(&pointer, block->size, block->pool->handle, handle),
                    poolErrorStreamCaptureUnsupported);
    require_refused(thread, "a free", poolFreeAsync(block->pointer, handle), poolErrorInvalidValue);
    DRIVER(test_driver()->cuStreamEndCapture(handle, &graph));
    DRIVER(test_driver()->cuGraphDestroy(graph));
}

// The pool's calls are refused in a capture, and the block stays what it is. Others can't synchronise meanwhile, so this is for
// programs of one thread; and a blocking stream's capture would be felt by the legacy stream.
static void enter_capture(struct thread *thread) {
    struct stream *stream = thread_claim_stream(thread);
    struct block *block = stream ? claim_capturable(thread) : NULL;
    if (block && stream->kind == STREAM_NON_BLOCKING && thread->world->plan.threads == 1 && !thread->faulty) {
        thread_enter(thread, stream->context);
        call_in_capture(thread, block, stream->handle);
    }
    if (block)
        claim_return(&block->claim);
    if (stream)
        claim_return(&stream->claim);
}

// -------------------------------------------------------------------------------------------------- faults

static void set_fault(struct thread *thread) {
    static const char *const entries[] = {
        "cuStreamWaitEvent", "cuEventRecord",         "cuEventQuery",     "cuStreamSynchronize",
        "cuStreamQuery",     "cuCtxSynchronize",      "cuCtxRecordEvent", "cuEventSynchronize",
        "cuCtxGetId",        "cuPointerGetAttribute", "cuMemMap",         "cuMemSetAccess",
        "cuMemUnmap",        "cuMemCreate",           "cuMemRelease"};
    enum { MAPPING = 5, ALL = sizeof entries / sizeof entries[0] };
    const struct world *world = thread->world;
    thread->faulty = world->plan.faults > 0 && world->simulated &&
                     numbers_below(&thread->numbers, 1000) < world->plan.faults;
    for (unsigned i = 0; thread->faulty && i < (world->plan.large ? 2 : 1); i++)
        world->simulated->simcudaFailCall(
            entries[numbers_below(&thread->numbers, world->plan.large ? ALL : ALL - MAPPING)],
            1 + numbers_below(&thread->numbers, 2), i == 0 ? simcudaFaultOnce : simcudaFaultOnwards,
            CUDA_ERROR_UNKNOWN);
}

static void clear_fault(struct thread *thread) {
    if (thread->faulty)
        thread->world->simulated->simcudaFailClear();
    thread->faulty = false;
}

static void perform(struct thread *thread, operation *run) {
    set_fault(thread);
    run(thread);
    clear_fault(thread);
}

// ------------------------------------------------------------------------------------------------ contexts

// A destroyed context has completed its work: its blocks are anybody's.
static void abandon_context(struct world *world, unsigned context) {
    for (unsigned i = 0; i < BLOCKS; i++) {
        struct block *block = &world->blocks[i];
        if (!block->pointer || block->last->context != context)
            continue;
        block->last = &world->streams[0];
    }
}

static void malloc_and_free(struct thread *thread) {
    for (unsigned i = 0; i < BLOCKS / 4; i++) {
        perform(thread, malloc_block);
        if (numbers_once_in(&thread->numbers, 2))
            perform(thread, free_block);
    }
}

// The other contexts need memory while nothing has told the pool that this one is gone. Nobody chooses a stream that is
// claimed.
static void outlive_context(struct thread *thread, unsigned context) {
    struct world *world = thread->world;
    for (unsigned i = 0; i < world->stream_count; i++) {
        if (world->streams[i].context == context)
            REQUIRE(claim_alone(&world->streams[i].claim));
    }
    malloc_and_free(thread);
    for (unsigned i = 0; i < world->stream_count; i++) {
        if (world->streams[i].context == context)
            claim_return(&world->streams[i].claim);
    }
}

// As it is promised, before the context is. Their blocks are another stream's when the context has gone.
static void destroy_streams_of_context(struct thread *thread, unsigned context) {
    struct world *world = thread->world;
    thread_enter(thread, context);
    for (unsigned i = 0; i < world->stream_count; i++) {
        const struct stream *stream = &world->streams[i];
        if (stream->context == context && is_created(stream))
            EXPECT(poolStreamDestroy(stream->handle), poolSuccess);
    }
}

static void renew_context(struct thread *thread) {
    struct world *world = thread->world;
    const unsigned context = 1;
    world_require_no_wrong_words(world, thread);
    malloc_and_free(thread); // so that something is pending
    if (world_promises_destroy(world))
        destroy_streams_of_context(thread, context);
    world_leave_context(thread, context);
    thread_enter(thread, 0);
    DRIVER(test_driver()->cuCtxDestroy(world->contexts[context].handle));
    abandon_context(world, context);
    outlive_context(thread, context);
    world_make_context(thread, context);
    for (unsigned i = 0; i < world->stream_count; i++) {
        struct stream *stream = &world->streams[i];
        if (stream->context == context && is_created(stream))
            world_make_stream(thread, stream);
    }
    for (unsigned i = 0; i < EVENTS; i++) {
        if (world->events[i].context == context)
            world_make_event(thread, &world->events[i]);
    }
}

// ------------------------------------------------------------------------------------------------- choosing

static const struct {
    const char *name;
    operation *run;
    unsigned weight;
} table[] = {
#define ENTER_OPERATION(name, weight) {#name, name, weight},
    OPERATIONS(ENTER_OPERATION)
#undef ENTER_OPERATION
};

enum { OPERATION_COUNT = sizeof table / sizeof table[0] };
static_assert((int)OPERATION_COUNT <= (int)MAX_OPERATIONS, "each operation has a weight");

// The first two keep theirs: there is always something to allocate and to free. Memory that was primed needs no order, so half the
// programs do without: they are about the rules of reuse.
void operations_weigh(struct world *world, struct numbers *numbers) {
    static const unsigned eighths[] = {0, 2, 8, 8, 32, 96};
    bool primes = numbers_once_in(numbers, 2);
    for (size_t i = 0; i < OPERATION_COUNT; i++) {
        world->weights[i] = table[i].weight * (i < 2 ? 8 : eighths[numbers_below(numbers, 6)]);
        if (table[i].run == prime && !primes)
            world->weights[i] = 0;
    }
}

static size_t choose(struct thread *thread) {
    const unsigned *weights = thread->world->weights;
    uint64_t all = 0;
    for (size_t i = 0; i < OPERATION_COUNT; i++)
        all += weights[i];
    uint64_t number = numbers_below(&thread->numbers, all);
    size_t i = 0;
    while (number >= weights[i])
        number -= weights[i++];
    return i;
}

void operations_next(struct thread *thread) {
    struct world *world = thread->world;
    if (world->context_count > 1 && numbers_once_in(&thread->numbers, 400)) {
        thread->name = "renew_context";
        renew_context(thread);
    }
    size_t chosen = choose(thread);
    thread->name = table[chosen].name;
    perform(thread, table[chosen].run);
    if (world->plan.large && world->plan.threads == 1)
        thread_require_order(thread);
    thread_require_no_reports(thread);
}

// ------------------------------------------------------------------------------------------------- leaving

static bool is_of_thread(const struct block *block, unsigned thread) {
    return block->pointer && block->last->kind == STREAM_PER_THREAD && block->last->thread == thread;
}

void operations_leave(struct thread *thread) {
    struct world *world = thread->world;
    for (unsigned i = 0; i < BLOCKS; i++) {
        struct block *block = &world->blocks[i];
        struct stream *heir = thread_claim_stream(thread);
        if (heir && claim_alone(&block->claim)) {
            if (is_of_thread(block, thread->index) && order(thread, block->last, heir))
                block->last = heir;
            claim_return(&block->claim);
        }
        if (heir)
            claim_return(&heir->claim);
    }
}

// A thread's default stream can't be named any more once the thread has ended, so its work is waited for.
void operations_adopt(struct thread *thread) {
    struct world *world = thread->world;
    for (unsigned i = 0; i < BLOCKS; i++) {
        struct block *block = &world->blocks[i];
        if (!block->pointer || block->last->kind != STREAM_PER_THREAD)
            continue;
        thread_enter(thread, block->last->context);
        DRIVER(test_driver()->cuCtxSynchronize());
        block->last = &world->streams[0];
    }
}

void operations_free_all(struct thread *thread) {
    for (unsigned i = 0; i < BLOCKS; i++) {
        struct block *block = &thread->world->blocks[i];
        if (!block->pointer)
            continue;
        if (block->used)
            work_check(thread, block, block->last);
        free_on(thread, block, block->last);
    }
}
