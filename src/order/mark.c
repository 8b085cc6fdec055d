#include "order/mark.h"

#include "base/mutant.h"
#include "order/private_event.h"

#include <stdlib.h>

// -------------------------------------------------------------------------------------- marks and their lives

void sp_mark_keep(struct sp_mark *mark) {
    atomic_fetch_add_explicit(&mark->references, 1, memory_order_relaxed);
}

// The last reference gives the mark back to its stream, event and all: whether the event could be destroyed
// now, in a context that may be gone, is not known here. Of a stream that ended with its context the event
// is gone.
void sp_mark_release(struct sp_mark *mark) {
    if (!mark || atomic_fetch_sub_explicit(&mark->references, 1, memory_order_acq_rel) != 1)
        return;
    struct sp_stream *stream = mark->stream;
    sp_clock_clear(&mark->clock);
    sp_lock_acquire(&stream->lock);
    bool ended = stream->ended;
    if (!ended) {
        mark->next_spare = stream->spare_marks;
        stream->spare_marks = mark;
    }
    sp_lock_release(&stream->lock);
    if (ended)
        free(mark);
}

static struct sp_mark *take_spare(struct sp_stream *stream) {
    sp_lock_acquire(&stream->lock);
    struct sp_mark *mark = stream->spare_marks;
    if (mark)
        stream->spare_marks = mark->next_spare;
    sp_lock_release(&stream->lock);
    return mark;
}

static CUresult new_mark(struct sp_stream *stream, struct sp_mark **made) {
    struct sp_mark *mark = take_spare(stream);
    if (!mark) {
        mark = calloc(1, sizeof *mark);
        if (!mark)
            return CUDA_ERROR_OUT_OF_MEMORY;
        mark->stream = stream;
        CUresult error = sp_private_event_create(stream, &mark->event);
        if (error != CUDA_SUCCESS) {
            free(mark);
            return error;
        }
    }
    atomic_store_explicit(&mark->references, 1, memory_order_relaxed);
    *made = mark;
    return CUDA_SUCCESS;
}

// ------------------------------------------------------------------------------------ the newest of a stream

static struct sp_mark *newest_locked(const struct sp_stream *stream) {
    struct sp_mark *newest = NULL;
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        struct sp_mark *mark = stream->marks[i];
        if (mark && (!newest || mark->sequence > newest->sequence))
            newest = mark;
    }
    return newest;
}

// The newest mark if nothing was freed and nothing joined since; counted for the caller.
static struct sp_mark *still_current(struct sp_stream *stream) {
    sp_lock_acquire(&stream->lock);
    struct sp_mark *mark = newest_locked(stream);
    uint64_t freed = atomic_load(&stream->freed);
    if (mark && (mark->sequence < freed || mark->clock_version != stream->clock_version))
        mark = NULL;
    if (mark)
        sp_mark_keep(mark);
    sp_lock_release(&stream->lock);
    return mark;
}

// What a question has found is not nothing: a pool that goes by synchronises alone takes it for pending, and may learn the
// order.
static bool has_nothing_to_mark(struct sp_stream *stream) {
    sp_lock_acquire(&stream->lock);
    sp_clock_prune(&stream->clock, sp_fence_is_synchronized);
    struct sp_fence last = {stream->slot, atomic_load(&stream->freed)};
    bool nothing =
        (last.sequence < stream->first || sp_fence_is_synchronized(last)) && stream->clock.count == 0;
    sp_lock_release(&stream->lock);
    return nothing;
}

// The entry for a mark to be kept in: an empty one, else the one with the oldest mark, which a newer one
// covers.
static struct sp_mark **entry_locked(struct sp_stream *stream) {
    struct sp_mark **oldest = &stream->marks[0];
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        if (!stream->marks[i])
            return &stream->marks[i];
        if (stream->marks[i]->sequence < (*oldest)->sequence)
            oldest = &stream->marks[i];
    }
    return oldest;
}

static void publish_mark(struct sp_stream *stream, struct sp_mark *mark) {
    sp_mark_keep(mark);
    sp_lock_acquire(&stream->lock);
    struct sp_mark **entry = entry_locked(stream);
    struct sp_mark *covered = *entry;
    *entry = mark;
    sp_lock_release(&stream->lock);
    sp_number_raise(&stream->recorded, mark->sequence);
    sp_mark_release(covered);
}

void sp_stream_drop_mark(struct sp_stream *stream, const struct sp_mark *mark) {
    struct sp_mark *dropped = NULL;
    sp_lock_acquire(&stream->lock);
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        if (stream->marks[i] == mark) {
            dropped = stream->marks[i];
            stream->marks[i] = NULL;
        }
    }
    sp_lock_release(&stream->lock);
    sp_mark_release(dropped);
}

void sp_stream_drop_marks(struct sp_stream *stream, uint64_t until) {
    struct sp_mark *dropped[SP_STREAM_MARKS] = {NULL};
    sp_lock_acquire(&stream->lock);
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        if (stream->marks[i] && stream->marks[i]->sequence <= until) {
            dropped[i] = stream->marks[i];
            stream->marks[i] = NULL;
        }
    }
    sp_lock_release(&stream->lock);
    for (int i = 0; i < SP_STREAM_MARKS; i++)
        sp_mark_release(dropped[i]);
}

struct sp_mark *sp_stream_mark_covering(struct sp_stream *stream, uint64_t sequence) {
    struct sp_mark *found = NULL;
    sp_lock_acquire(&stream->lock);
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        struct sp_mark *mark = stream->marks[i];
        bool behind = mark && (mark->sequence >= sequence || SP_IS_MUTANT(StaleMark));
        if (behind && (!found || mark->sequence < found->sequence))
            found = mark;
    }
    if (found)
        sp_mark_keep(found);
    sp_lock_release(&stream->lock);
    return found;
}

// ------------------------------------------------------------------------------------------ recording

// What no clock may say: see the mutant LegacyInClock.
static void mutate_clock_by_legacy(const struct sp_stream *stream, struct sp_clock *clock) {
    uint32_t count = sp_stream_count();
    for (uint32_t slot = 0; slot < count; slot++) {
        const struct sp_stream *legacy = sp_stream_at(slot);
        if (atomic_load(&stream->kind) == SP_STREAM_BLOCKING &&
            atomic_load(&legacy->kind) == SP_STREAM_LEGACY &&
            sp_stream_is_of(legacy, stream->context, stream->context_id))
            sp_clock_raise(clock, (struct sp_fence){slot, atomic_load(&legacy->sequence)});
    }
}

// The stream's clock as it is now, for a record that is about to be made. Without host memory the mark
// knows of the stream's own frees only.
static CUevent snapshot(struct sp_stream *stream, struct sp_mark *mark) {
    sp_lock_acquire(&stream->lock);
    sp_clock_prune(&stream->clock, sp_fence_is_synchronized);
    sp_clock_copy(&mark->clock, &stream->clock);
    if (SP_IS_MUTANT(LegacyInClock))
        mutate_clock_by_legacy(stream, &mark->clock);
    mark->clock_version = stream->clock_version;
    CUevent chain = stream->chain;
    sp_lock_release(&stream->lock);
    return chain;
}

// An event that didn't wait for the chain of an anonymous stream would say nothing of the frees of earlier
// streams with its handle.
static CUresult record_mark(struct sp_stream *stream, struct sp_mark *mark) {
    CUevent chain = snapshot(stream, mark);
    mark->sequence = SP_MUTATED(ClosedLate, 0, sp_stream_close_sequence(stream));
    CUstreamCaptureMode mode = sp_relaxed_mode_enter();
    bool chained = chain && !SP_IS_MUTANT(MarkWithoutChain);
    CUresult error = chained ? sp_private_event_wait(stream->handle, chain) : CUDA_SUCCESS;
    if (error == CUDA_SUCCESS)
        error = sp_private_event_record(mark->event, stream->handle);
    sp_relaxed_mode_leave(mode);
    mark->sequence = SP_MUTATED(ClosedLate, sp_stream_close_sequence(stream), mark->sequence);
    return error;
}

CUresult sp_stream_mark(struct sp_stream *stream, struct sp_mark **mark) {
    *mark = still_current(stream);
    if (*mark || has_nothing_to_mark(stream))
        return CUDA_SUCCESS;
    CUresult error = new_mark(stream, mark);
    if (error != CUDA_SUCCESS)
        return error;
    error = record_mark(stream, *mark);
    if (error == CUDA_SUCCESS) {
        publish_mark(stream, *mark);
        return CUDA_SUCCESS;
    }
    sp_mark_release(*mark);
    *mark = NULL;
    return error;
}

CUresult sp_stream_record(struct sp_stream *stream) {
    struct sp_mark *mark = NULL;
    CUresult error = sp_stream_mark(stream, &mark);
    sp_mark_release(mark);
    return error;
}
