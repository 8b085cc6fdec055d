#include "order/turn.h"

#include "order/progress.h"

enum { TURNS = 64 };

static struct turn {
    struct sp_lock lock;
    struct sp_list streams; // by turn.link; zeroed until one joins
} turns[TURNS];

static struct turn *turn_of(uint64_t context_id) {
    return &turns[context_id % TURNS];
}

static void push(struct sp_stream *stream) {
    struct turn *turn = turn_of(stream->context_id);
    sp_lock_acquire(&turn->lock);
    if (!turn->streams.next)
        sp_list_init(&turn->streams);
    sp_list_push_back(&turn->streams, &stream->turn.link);
    sp_lock_release(&turn->lock);
}

struct sp_stream *sp_turn_next(uint64_t context_id) {
    struct turn *turn = turn_of(context_id);
    sp_lock_acquire(&turn->lock);
    struct sp_list *link = turn->streams.next ? sp_list_pop_front(&turn->streams) : NULL;
    sp_lock_release(&turn->lock);
    return link ? SP_CONTAINER_OF(link, struct sp_stream, turn.link) : NULL;
}

void sp_turn_join(struct sp_stream *stream) {
    sp_lock_acquire(&stream->lock);
    bool joins = !atomic_exchange_explicit(&stream->turn.is_in, true, memory_order_relaxed);
    sp_lock_release(&stream->lock);
    if (joins)
        push(stream);
}

void sp_turn_end(struct sp_stream *stream) {
    sp_lock_acquire(&stream->lock);
    bool stays = sp_progress_has_pending_events(stream);
    sp_store_relaxed(&stream->turn.is_in, stays);
    sp_lock_release(&stream->lock);
    if (stays)
        push(stream);
}
