#include "order/learn.h"

#include "order/identity.h"

void sp_learn_copy_clock(struct sp_stream *stream, struct sp_fence_set *clock) {
    sp_lock_acquire(&stream->lock);
    sp_fence_set_join(clock, &stream->clock);
    sp_lock_release(&stream->lock);
}

static void join_locked(struct sp_stream *stream, struct sp_fence fence) {
    sp_fence_set_prune(&stream->clock, sp_progress_is_past);
    sp_fence_set_add(&stream->clock, fence);
    stream->clock_version++;
}

void sp_learn_join(struct sp_stream *stream, struct sp_fence fence) {
    sp_lock_acquire(&stream->lock);
    join_locked(stream, fence);
    sp_lock_release(&stream->lock);
}

// Joins what the mark stands for, and notes the wait. The stream has a reference to the mark until
// the next wait.
static void learn_mark(struct sp_stream *stream, struct sp_mark *mark) {
    sp_lock_acquire(&stream->lock);
    join_locked(stream, (struct sp_fence){mark->stream->slot, mark->sequence});
    sp_fence_set_join(&stream->clock, &mark->clock);
    struct sp_mark *before = stream->marks.waited_for;
    sp_mark_acquire(mark);
    stream->marks.waited_for = mark;
    sp_lock_release(&stream->lock);
    sp_mark_release(before);
}

struct sp_outcome sp_learn_wait_mark(struct sp_stream *stream, struct sp_mark *mark) {
    if (sp_mark_is_own(stream, mark))
        return sp_outcome_done();
    struct sp_outcome outcome = sp_private_event_wait_relaxed(stream, mark->event);
    if (sp_is_done(outcome))
        outcome = sp_identity_of(stream)->after_wait(stream);
    if (sp_is_done(outcome))
        learn_mark(stream, mark);
    return outcome;
}

// `ordered_until` is what the stream's clock tells of the fence's stream.
static bool knows(const struct sp_stream *stream, struct sp_fence fence, uint64_t ordered_until) {
    return fence.sequence <= ordered_until ||
           (fence.slot == stream->slot && fence.sequence >= stream->first) ||
           sp_progress_is_past(fence);
}

// A number of the mark's own stream says nothing that its latest free before it doesn't.
bool sp_learn_knows(struct sp_stream *stream, const struct sp_mark *mark) {
    struct sp_fence freed = {mark->stream->slot, mark->freed};
    if (sp_mark_is_own(stream, mark))
        return true;
    sp_lock_acquire(&stream->lock);
    struct sp_fence_walk walk = {.set = &stream->clock};
    bool knows_it = knows(stream, freed, sp_fence_set_number(&stream->clock, freed.slot));
    for (uint32_t i = 0; i < mark->clock.count && knows_it; i++) {
        struct sp_fence fence = *sp_fence_set_at(&mark->clock, i);
        knows_it = knows(stream, fence, sp_fence_walk_to(&walk, fence.slot));
    }
    sp_lock_release(&stream->lock);
    return knows_it;
}

// Where nothing can be waited for any more, the work may have been found complete while no pool
// went by synchronises alone, as the taker's pool does by now.
static struct sp_outcome wait_unmarked(struct sp_stream *stream, struct sp_fence fence) {
    if (sp_progress_is_past(fence))
        return sp_outcome_done();
    struct sp_outcome outcome = sp_identity_of(stream)->wait_unmarked(stream, fence);
    bool was_complete = outcome.cause == SP_NO_EVENT && sp_progress_is_complete(fence);
    return was_complete ? sp_outcome_done() : outcome;
}

struct sp_outcome sp_learn_wait_fence(struct sp_stream *stream, struct sp_fence fence) {
    struct sp_stream *owner = sp_stream_at(fence.slot);
    struct sp_mark *mark = sp_mark_covering(owner, fence.sequence);
    if (!mark)
        return wait_unmarked(stream, fence);
    struct sp_outcome outcome = sp_learn_wait_mark(stream, mark);
    sp_mark_release(mark);
    return outcome;
}

// ------------------------------------------------------------------------ what a record would say

// A look at whether a mark covers one fence after another, by rising slots.
struct look {
    const struct sp_mark *mark; // or null
    struct sp_fence_walk walk;
};

static struct look look_at(const struct sp_mark *mark) {
    return (struct look){mark, {mark ? &mark->clock : NULL, 0}};
}

// Whoever waits for the mark runs after the fence.
static bool covers(struct look *look, struct sp_fence fence) {
    const struct sp_mark *mark = look->mark;
    return mark && ((mark->stream->slot == fence.slot && mark->sequence >= fence.sequence) ||
                    sp_fence_walk_to(&look->walk, fence.slot) >= fence.sequence);
}

// Its own frees are covered by its own mark alone.
static bool covers_frees(const struct sp_stream *stream, const struct sp_mark *own) {
    struct sp_fence last = {stream->slot, atomic_load(&stream->freed)};
    return last.sequence < stream->first || (own && own->freed >= last.sequence) ||
           sp_progress_is_past(last);
}

// A stream needn't be told that it runs after its own frees.
static bool cover_all_locked(const struct sp_stream *stream, struct sp_mark *const *marks) {
    struct look own = look_at(marks[0]), waited_for = look_at(marks[1]);
    if (!covers_frees(stream, marks[0]))
        return false;
    for (uint32_t i = 0; i < stream->clock.count; i++) {
        struct sp_fence fence = *sp_fence_set_at(&stream->clock, i);
        if (fence.slot != stream->slot && !covers(&own, fence) && !covers(&waited_for, fence))
            return false;
    }
    return true;
}

// A mark of another context is waited for only where that is certain to be alive. So who waits for
// this stream would learn less of it than of a mark that this stream makes.
static struct sp_mark *waited_for_locked(const struct sp_stream *stream) {
    struct sp_mark *mark = stream->marks.waited_for;
    return mark && sp_stream_is_of(mark->stream, stream->context, stream->context_id) ? mark : NULL;
}

static bool find_locked(struct sp_stream *stream, struct sp_mark **marks) {
    marks[0] = sp_mark_current_locked(stream);
    marks[1] = NULL;
    if (marks[0] || sp_mark_has_nothing_locked(stream))
        return true;
    marks[0] = sp_mark_newest_locked(stream);
    marks[1] = waited_for_locked(stream);
    return marks[1] && cover_all_locked(stream, marks);
}

// Two streams that wait for the same two marks find them in the same order, which is also
// that of the waits for them: it must not depend on addresses.
static void put_in_order(struct sp_mark **marks) {
    struct sp_mark *first = marks[0];
    if (marks[1] && (!first || marks[1]->stream->slot < first->stream->slot)) {
        marks[0] = marks[1];
        marks[1] = first;
    }
}

enum sp_equivalent sp_learn_find_equivalent(struct sp_stream *stream,
                                            struct sp_mark *marks[SP_EQUIVALENT_MARKS]) {
    struct sp_mark *found[SP_EQUIVALENT_MARKS];
    sp_lock_acquire(&stream->lock);
    enum sp_equivalent how = find_locked(stream, found) ? SP_EQUIVALENT_FOUND : SP_EQUIVALENT_NONE;
    put_in_order(found);
    if (how == SP_EQUIVALENT_FOUND && found[0] == marks[0] && found[1] == marks[1])
        how = SP_EQUIVALENT_SAME;
    for (int i = 0; i < SP_EQUIVALENT_MARKS && how == SP_EQUIVALENT_FOUND; i++) {
        marks[i] = found[i];
        if (found[i])
            sp_mark_acquire(found[i]);
    }
    sp_lock_release(&stream->lock);
    return how;
}
