#include "random/renewal.h"

#include "random/blocks.h"
#include "random/choose.h"
#include "random/faults.h"
#include "random/observing.h"
#include "random/ordering.h"
#include "support/check.h"
#include "support/device.h"

// ----------------------------------------------------------------------------------------- streams

// Claims all live blocks that `stream` used last. False, and none claimed, when another thread has
// one.
static bool claim_all_of(struct world *world, const struct stream *stream, struct block **list,
                         unsigned *count) {
    *count = 0;
    for (unsigned i = 0; i < world->block_count; i++) {
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
static bool hand_over(struct thread *thread, struct stream *stream, struct block **list,
                      unsigned count) {
    struct stream *heir = thread_claim_stream(thread);
    if (!heir)
        return false;
    bool ordered = heir != stream && ordering_make(thread, stream, heir);
    for (unsigned i = 0; i < count && ordered; i++)
        list[i]->last = heir;
    claim_return(&heir->claim);
    return ordered;
}

static bool is_created(const struct stream *stream) {
    return stream->kind == STREAM_BLOCKING || stream->kind == STREAM_NON_BLOCKING;
}

static bool destroy(struct thread *thread, const struct stream *stream, CUstream handle) {
    bool told = world_promises_destroy(thread->world) || choose_to_tell(thread);
    thread_enter(thread, stream->context);
    thread_trace(thread, "destroy%s stream %u", told ? "" : " unseen",
                 world_stream_number(thread->world, stream));
    return told ? SUCCEEDED(thread, poolStreamDestroy(handle))
                : SUCCEEDED(thread, observing_destroy(thread, handle));
}

static void destroy_and_create(struct thread *thread, struct stream *stream) {
    if (destroy(thread, stream, stream->handle))
        world_make_stream(thread, stream);
}

// Of memory that streams before it may still be using.
static void malloc_on_new(struct thread *thread, struct stream *stream) {
    struct block *block = blocks_claim(thread, EMPTY);
    if (!block)
        return;
    blocks_malloc_on(thread, block, stream);
    claim_return(&block->claim);
}

// The new one has the handle of any that was destroyed before, perhaps by a thread that isn't done
// with that yet. So it is used at once.
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

void renewal_of_stream(struct thread *thread) {
    struct world *world = thread->world;
    struct block *list[MAX_BLOCKS];
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

// ----------------------------------------------------------------------------- events and promises

void renewal_of_event(struct thread *thread) {
    struct event *event = ordering_claim_event(thread);
    if (!event)
        return;
    bool destroyed = choose_to_tell(thread)
                         ? SUCCEEDED(thread, poolEventDestroy(event->handle))
                         : SUCCEEDED(thread, test_driver()->cuEventDestroy(event->handle));
    if (destroyed)
        world_make_event(thread, event);
    claim_return(&event->claim);
}

void renewal_of_promises(struct thread *thread) {
    struct world *world = thread->world;
    if (!world->plan.promises || !claim_alone(&world->promises))
        return;
    int promises = numbers_once_in(&thread->numbers, 2)
                       ? (int)numbers_below(&thread->numbers, ALL_PROMISES + 1)
                       : ALL_PROMISES;
    world_promise(thread, promises);
    claim_return(&world->promises);
}

// ---------------------------------------------------------------------------------------- contexts

// A destroyed context has completed its work: its blocks are anybody's.
static void abandon_context(struct world *world, unsigned context) {
    for (unsigned i = 0; i < world->block_count; i++) {
        struct block *block = &world->blocks[i];
        if (!block->pointer || block->last->context != context)
            continue;
        block->last = &world->streams[0];
    }
}

static void malloc_and_free(struct thread *thread) {
    for (unsigned i = 0; i < BLOCKS / 4; i++) {
        faults_perform(thread, blocks_malloc);
        if (numbers_once_in(&thread->numbers, 2))
            faults_perform(thread, blocks_free);
    }
}

// The other contexts need memory while nothing has told the pool that this one is gone. Nobody
// chooses a stream that is claimed.
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

// As it is promised, before the context is. Their blocks are another stream's when the context has
// gone.
static void destroy_streams_of_context(struct thread *thread, unsigned context) {
    struct world *world = thread->world;
    thread_enter(thread, context);
    for (unsigned i = 0; i < world->stream_count; i++) {
        const struct stream *stream = &world->streams[i];
        if (stream->context == context && is_created(stream))
            EXPECT(poolStreamDestroy(stream->handle), poolSuccess);
    }
}

void renewal_of_context(struct thread *thread) {
    struct world *world = thread->world;
    const unsigned context = 1;
    world_require_no_wrong_words(world, thread);
    malloc_and_free(thread); // so that something is pending
    if (world_promises_destroy(world))
        destroy_streams_of_context(thread, context);
    world_leave_context(thread, context);
    thread_enter(thread, 0);
    DRIVER(observing_destroy_context(thread, context));
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
