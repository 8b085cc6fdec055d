#include "order/progress.h"

#include <stdlib.h>

// The streams that brought the latest news: (number, slot).
enum { LATEST = 1024, SLOT_BITS = 20 };
static struct news {
    _Atomic uint64_t count;
    _Atomic uint64_t latest[LATEST];
} all_news[SP_FOUND + 1];

static _Atomic(void (*)(void)) awaiting;
_Atomic bool sp_progress_any_strict;

// ------------------------------------------------------------------------------------------ fences

bool sp_progress_is_complete(struct sp_fence fence) {
    return fence.sequence <= sp_progress_completed(sp_stream_at(fence.slot));
}

bool sp_progress_is_synchronized(struct sp_fence fence) {
    return fence.sequence <= sp_progress_synchronized(sp_stream_at(fence.slot));
}

bool sp_progress_is_past(struct sp_fence fence) {
    return fence.sequence <= sp_progress_past(sp_stream_at(fence.slot));
}

uint64_t sp_progress_past(const struct sp_stream *stream) {
    return sp_load_relaxed(&sp_progress_any_strict) ? sp_progress_synchronized(stream)
                                                    : sp_progress_completed(stream);
}

void sp_progress_set_strict(struct sp_stream *stream) {
    sp_store_relaxed(&sp_progress_any_strict, true);
    sp_store_relaxed(&stream->strict, true);
}

// --------------------------------------------------------------------------------------- the clock

void sp_progress_run_after_locked(struct sp_stream *stream, struct sp_fence fence) {
    sp_fence_set_prune(&stream->clock, sp_progress_is_past);
    sp_fence_set_add(&stream->clock, fence);
    stream->clock_version++;
}

void sp_progress_run_after(struct sp_stream *stream, struct sp_fence fence) {
    sp_lock_acquire(&stream->lock);
    sp_progress_run_after_locked(stream, fence);
    sp_lock_release(&stream->lock);
}

void sp_progress_copy_clock(struct sp_stream *stream, struct sp_fence_set *clock) {
    sp_lock_acquire(&stream->lock);
    sp_fence_set_join(clock, &stream->clock);
    sp_lock_release(&stream->lock);
}

// -------------------------------------------------------------------------------------------- news

uint64_t sp_progress_news(enum sp_knowledge how) {
    return sp_load_acquire(&all_news[how].count);
}

bool sp_progress_news_of(enum sp_knowledge how, uint64_t number, uint32_t *slot) {
    uint64_t told = sp_load_acquire(&all_news[how].latest[number % LATEST]);
    *slot = told & ((1u << SLOT_BITS) - 1);
    return told >> SLOT_BITS == number + 1;
}

// A thread that brings news counts them and then looks for a listener; here it is the other way
// round. So one of the two sees what the other did.
bool sp_progress_await_news(uint64_t seen, void (*listener)(void)) {
    atomic_store(&awaiting, listener);
    return atomic_load(&all_news[SP_FOUND].count) == seen;
}

static void add_news(struct news *news, uint32_t slot) {
    uint64_t number = atomic_fetch_add(&news->count, 1);
    sp_store_release(&news->latest[number % LATEST], (number + 1) << SLOT_BITS | slot);
}

// ------------------------------------------------------------------------ snapshots and publishing

uint64_t sp_progress_close(struct sp_stream *stream) {
    sp_lock_acquire(&stream->lock);
    uint64_t sequence = sp_progress_close_locked(stream);
    sp_lock_release(&stream->lock);
    return sequence;
}

void sp_progress_publish(struct sp_stream *stream, uint64_t sequence, enum sp_knowledge how) {
    _Atomic uint64_t *slowest = how == SP_SYNCHRONIZED ? &stream->synchronized : &stream->completed;
    if (sequence <= sp_load_relaxed(slowest))
        return;
    sp_atomic_raise(&stream->completed, sequence);
    if (how == SP_SYNCHRONIZED) {
        sp_atomic_raise(&stream->synchronized, sequence);
        add_news(&all_news[SP_SYNCHRONIZED], stream->slot);
    }
    add_news(&all_news[SP_FOUND], stream->slot);
    void (*listener)(void) = atomic_load(&awaiting) ? atomic_exchange(&awaiting, NULL) : NULL;
    if (listener)
        listener();
}

void sp_progress_publish_clock(const struct sp_fence_set *clock, enum sp_knowledge how) {
    for (uint32_t i = 0; i < clock->count; i++) {
        struct sp_fence fence = *sp_fence_set_at(clock, i);
        sp_progress_publish(sp_stream_at(fence.slot), fence.sequence, how);
    }
}

// Not of a stream of which a synchronise has shown all: what was closed, and what was freed.
static bool is_about_it(const struct sp_stream *stream, CUcontext context, uint64_t id,
                        sp_snapshot_filter *is_about) {
    uint64_t shown = sp_progress_synchronized(stream);
    bool is_new =
        sp_load_relaxed(&stream->sequence) > shown + 1 || sp_load_relaxed(&stream->freed) > shown;
    return is_new && sp_stream_is_of(stream, context, id) && (!is_about || is_about(stream));
}

// The slot may be given to another stream at the same time, which the act isn't about: under the
// stream's lock it is the one or the other.
bool sp_progress_close_many(struct sp_snapshot *snapshot, CUcontext context, uint64_t id,
                            sp_snapshot_filter *is_about) {
    snapshot->count = sp_stream_count();
    snapshot->numbers = calloc(snapshot->count ? snapshot->count : 1, sizeof *snapshot->numbers);
    for (uint32_t slot = 0; snapshot->numbers && slot < snapshot->count; slot++) {
        struct sp_stream *stream = sp_stream_at(slot);
        if (!is_about_it(stream, context, id, is_about))
            continue;
        sp_lock_acquire(&stream->lock);
        if (is_about_it(stream, context, id, is_about))
            snapshot->numbers[slot] = sp_progress_close_locked(stream);
        sp_lock_release(&stream->lock);
    }
    return snapshot->numbers != NULL;
}

void sp_progress_end_snapshot(struct sp_snapshot *snapshot) {
    free(snapshot->numbers);
    snapshot->numbers = NULL;
}

void sp_progress_publish_many(const struct sp_snapshot *snapshot, enum sp_knowledge how) {
    for (uint32_t slot = 0; slot < snapshot->count; slot++) {
        if (snapshot->numbers[slot] > 0)
            sp_progress_publish(sp_stream_at(slot), snapshot->numbers[slot], how);
    }
}

// ------------------------------------------------------------------------------------------ queues

enum { QUEUES = 64 };

static struct queue {
    struct sp_lock lock;
    struct sp_list streams; // by queued.link; zeroed until one joins
} queues[QUEUES];

static struct queue *queue_of(uint64_t context_id) {
    return &queues[context_id % QUEUES];
}

static void push(struct sp_stream *stream) {
    struct queue *queue = queue_of(stream->context_id);
    sp_lock_acquire(&queue->lock);
    if (!queue->streams.next)
        sp_list_init(&queue->streams);
    sp_list_push_back(&queue->streams, &stream->queued.link);
    sp_lock_release(&queue->lock);
}

struct sp_stream *sp_progress_next_queued(uint64_t context_id) {
    struct queue *queue = queue_of(context_id);
    sp_lock_acquire(&queue->lock);
    struct sp_list *link = queue->streams.next ? sp_list_pop_front(&queue->streams) : NULL;
    sp_lock_release(&queue->lock);
    return link ? SP_CONTAINER_OF(link, struct sp_stream, queued.link) : NULL;
}

void sp_progress_enter_queue(struct sp_stream *stream) {
    sp_lock_acquire(&stream->lock);
    bool joins = !atomic_exchange_explicit(&stream->queued.is_in, true, memory_order_relaxed);
    sp_lock_release(&stream->lock);
    if (joins)
        push(stream);
}

void sp_progress_put_back(struct sp_stream *stream) {
    sp_lock_acquire(&stream->lock);
    bool stays = sp_progress_has_pending_events(stream);
    sp_store_relaxed(&stream->queued.is_in, stays);
    sp_lock_release(&stream->lock);
    if (stays)
        push(stream);
}
