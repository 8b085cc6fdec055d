#include "order/mark.h"

#include "base/mutant.h"
#include "order/private_event.h"

#include <stdlib.h>

// -------------------------------------------------------------------------------------- marks and their lives

void sp_mark_keep(struct sp_mark *mark) {
    atomic_fetch_add_explicit(&mark->references, 1, memory_order_relaxed);
}

static bool drop_reference(struct sp_mark *mark) {
    return mark && atomic_fetch_sub_explicit(&mark->references, 1, memory_order_acq_rel) == 1;
}

// The last reference gives the mark back to its stream, event and all: whether the event could be destroyed
// now, in a context that may be gone, is not known here. Of a stream that ended with its context the event
// is gone: true, and the mark is to be freed.
static bool retire_locked(struct sp_stream *stream, struct sp_mark *mark) {
    sp_clock_clear(&mark->clock);
    if (stream->ended)
        return true;
    mark->next_spare = stream->spare_marks;
    stream->spare_marks = mark;
    return false;
}

void sp_mark_release(struct sp_mark *mark) {
    if (!drop_reference(mark))
        return;
    struct sp_stream *stream = mark->stream;
    sp_lock_acquire(&stream->lock);
    bool ended = retire_locked(stream, mark);
    sp_lock_release(&stream->lock);
    if (ended)
        free(mark);
}

static struct sp_mark *take_spare_locked(struct sp_stream *stream) {
    struct sp_mark *mark = stream->spare_marks;
    if (mark)
        stream->spare_marks = mark->next_spare;
    return mark;
}

static CUresult create_mark(struct sp_stream *stream, struct sp_mark **made) {
    struct sp_mark *mark = calloc(1, sizeof *mark);
    if (!mark)
        return CUDA_ERROR_OUT_OF_MEMORY;
    mark->stream = stream;
    CUresult error = sp_private_event_create(stream, &mark->event);
    if (error != CUDA_SUCCESS) {
        free(mark);
        return error;
    }
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
static struct sp_mark *current_locked(const struct sp_stream *stream) {
    struct sp_mark *mark = newest_locked(stream);
    uint64_t freed = atomic_load(&stream->freed);
    if (!mark || mark->sequence < freed || mark->clock_version != stream->clock_version)
        return NULL;
    sp_mark_keep(mark);
    return mark;
}

// What a question has found is not nothing: a pool that goes by synchronises alone takes it for pending, and may learn the
// order. The clock has been pruned.
static bool has_nothing_to_mark_locked(const struct sp_stream *stream) {
    struct sp_fence last = {stream->slot, atomic_load(&stream->freed)};
    return (last.sequence < stream->first || sp_fence_is_synchronized(last)) && stream->clock.count == 0;
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

// Nobody knows the mark yet. It has a reference for the caller and one for its entry.
static void publish_mark(struct sp_stream *stream, struct sp_mark *mark) {
    atomic_store_explicit(&mark->references, 2, memory_order_relaxed);
    sp_lock_acquire(&stream->lock);
    struct sp_mark **entry = entry_locked(stream);
    struct sp_mark *covered = *entry;
    *entry = mark;
    bool ended = drop_reference(covered) && retire_locked(stream, covered);
    sp_lock_release(&stream->lock);
    sp_number_raise(&stream->recorded, mark->sequence);
    if (ended)
        free(covered);
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

// A record on its way.
struct record {
    struct sp_mark *mark; // null: there is none at hand
    CUevent chain;
};

// The stream's clock as it is now, for a record that is about to be made. Without host memory the mark
// knows of the stream's own frees only.
static void snapshot_locked(struct sp_stream *stream, struct record *record) {
    sp_clock_copy(&record->mark->clock, &stream->clock);
    if (SP_IS_MUTANT(LegacyInClock))
        mutate_clock_by_legacy(stream, &record->mark->clock);
    record->mark->clock_version = stream->clock_version;
    record->chain = stream->chain;
}

// What a record needs of the stream in one critical section, since many frees record. True when one is to be made; else `current`
// is the newest mark, or null where there is nothing to mark.
static bool begin(struct sp_stream *stream, struct record *record, struct sp_mark **current) {
    sp_lock_acquire(&stream->lock);
    *current = current_locked(stream);
    if (!*current)
        sp_clock_prune(&stream->clock, sp_fence_is_synchronized);
    bool due = !*current && !has_nothing_to_mark_locked(stream);
    record->mark = due ? take_spare_locked(stream) : NULL;
    if (record->mark)
        snapshot_locked(stream, record);
    sp_lock_release(&stream->lock);
    return due;
}

// The same for a mark that has to be made first.
static CUresult begin_anew(struct sp_stream *stream, struct record *record) {
    CUresult error = create_mark(stream, &record->mark);
    if (error != CUDA_SUCCESS)
        return error;
    sp_lock_acquire(&stream->lock);
    sp_clock_prune(&stream->clock, sp_fence_is_synchronized);
    snapshot_locked(stream, record);
    sp_lock_release(&stream->lock);
    return CUDA_SUCCESS;
}

// An event that didn't wait for the chain of an anonymous stream would say nothing of the frees of earlier
// streams with its handle.
static CUresult make(struct sp_stream *stream, const struct record *record) {
    struct sp_mark *mark = record->mark;
    mark->sequence = SP_MUTATED(ClosedLate, 0, sp_stream_close_sequence(stream));
    CUstreamCaptureMode mode = sp_relaxed_mode_enter();
    bool chained = record->chain && !SP_IS_MUTANT(MarkWithoutChain);
    CUresult error = chained ? sp_private_event_wait(stream->handle, record->chain) : CUDA_SUCCESS;
    if (error == CUDA_SUCCESS)
        error = sp_private_event_record(mark->event, stream->handle);
    sp_relaxed_mode_leave(mode);
    mark->sequence = SP_MUTATED(ClosedLate, sp_stream_close_sequence(stream), mark->sequence);
    return error;
}

static void abandon(struct sp_mark *mark) {
    atomic_store_explicit(&mark->references, 1, memory_order_relaxed);
    sp_mark_release(mark);
}

CUresult sp_stream_mark(struct sp_stream *stream, struct sp_mark **mark) {
    struct record record;
    if (!begin(stream, &record, mark))
        return CUDA_SUCCESS;
    CUresult error = record.mark ? CUDA_SUCCESS : begin_anew(stream, &record);
    if (error != CUDA_SUCCESS)
        return error;
    error = make(stream, &record);
    if (error != CUDA_SUCCESS) {
        abandon(record.mark);
        return error;
    }
    publish_mark(stream, record.mark);
    *mark = record.mark;
    return CUDA_SUCCESS;
}

CUresult sp_stream_record(struct sp_stream *stream) {
    struct sp_mark *mark = NULL;
    CUresult error = sp_stream_mark(stream, &mark);
    sp_mark_release(mark);
    return error;
}
