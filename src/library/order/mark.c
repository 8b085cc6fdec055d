#include "order/mark.h"

#include "order/private_event.h"
#include "order/turn.h"

#include <stdlib.h>

// A program whose marks come and go needs no more of them at hand.
enum { SPARE_MARKS_MAX = 8 };

// --------------------------------------------------------------------------- marks and their lives

void sp_mark_keep(struct sp_mark *mark) {
    atomic_fetch_add_explicit(&mark->references, 1, memory_order_relaxed);
}

void sp_mark_free(struct sp_mark *mark) {
    sp_clock_clear(&mark->clock);
    free(mark);
}

// A mark without references goes back to its stream, event and all: whether the event could be
// destroyed now, in a context that may be gone, is not known here. Of a stream that ended with its
// context the event is gone, whoever has the slot now. Its clock's memory serves the next record.
static void retire_locked(struct sp_stream *stream, struct sp_mark *mark) {
    if (mark->epoch != stream->epoch) {
        sp_mark_free(mark);
        return;
    }
    mark->next_spare = stream->spare_marks;
    stream->spare_marks = mark;
    atomic_fetch_add_explicit(&stream->spare_count, 1, memory_order_relaxed);
}

static bool drop_reference(struct sp_mark *mark) {
    return atomic_fetch_sub_explicit(&mark->references, 1, memory_order_acq_rel) == 1;
}

// The stream's own reference, to a mark that is in none of its entries any more. Others come of the
// entries, under the lock, or of one that is there: so the only one stays the only one.
static void drop_locked(struct sp_stream *stream, struct sp_mark *mark) {
    if (atomic_load_explicit(&mark->references, memory_order_acquire) == 1 || drop_reference(mark))
        retire_locked(stream, mark);
}

void sp_mark_release(struct sp_mark *mark) {
    if (!mark || !drop_reference(mark))
        return;
    struct sp_stream *stream = mark->stream;
    sp_lock_acquire(&stream->lock);
    retire_locked(stream, mark);
    sp_lock_release(&stream->lock);
}

static struct sp_mark *take_spare_locked(struct sp_stream *stream) {
    struct sp_mark *mark = stream->spare_marks;
    if (mark) {
        stream->spare_marks = mark->next_spare;
        atomic_fetch_sub_explicit(&stream->spare_count, 1, memory_order_relaxed);
    }
    return mark;
}

static bool has_surplus(const struct sp_stream *stream) {
    return atomic_load_explicit(&stream->spare_count, memory_order_relaxed) > SPARE_MARKS_MAX;
}

static struct sp_mark *take_surplus(struct sp_stream *stream) {
    sp_lock_acquire(&stream->lock);
    struct sp_mark *mark = has_surplus(stream) ? take_spare_locked(stream) : NULL;
    sp_lock_release(&stream->lock);
    return mark;
}

void sp_mark_trim_spares(struct sp_stream *stream) {
    for (struct sp_mark *mark; (mark = take_surplus(stream));) {
        sp_private_event_destroy(mark->event);
        sp_mark_free(mark);
    }
}

static CUresult new_mark(struct sp_stream *stream, struct sp_mark **made) {
    struct sp_mark *mark = calloc(1, sizeof *mark);
    if (!mark)
        return CUDA_ERROR_OUT_OF_MEMORY;
    mark->stream = stream;
    mark->epoch = stream->epoch; // it stays, for the caller names the stream
    CUresult error = sp_private_event_create(stream, &mark->event);
    if (error != CUDA_SUCCESS) {
        free(mark);
        return error;
    }
    *made = mark;
    return CUDA_SUCCESS;
}

// -------------------------------------------------------------------------- the newest of a stream

static struct sp_mark *newest_locked(const struct sp_stream *stream) {
    struct sp_mark *newest = NULL;
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        struct sp_mark *mark = stream->marks[i];
        if (mark && (!newest || mark->sequence > newest->sequence))
            newest = mark;
    }
    return newest;
}

// The newest mark if nothing was freed and nothing joined since.
static struct sp_mark *current_locked(struct sp_stream *stream) {
    struct sp_mark *mark = newest_locked(stream);
    uint64_t freed = atomic_load(&stream->freed);
    return mark && mark->sequence >= freed && mark->clock_version == stream->clock_version ? mark
                                                                                           : NULL;
}

static void prune_locked(struct sp_stream *stream) {
    if (stream->clock.count > 0)
        sp_clock_prune(&stream->clock, sp_progress_is_past);
}

static bool has_nothing_to_mark_locked(struct sp_stream *stream) {
    prune_locked(stream);
    struct sp_fence last = {stream->slot, atomic_load(&stream->freed)};
    return (last.sequence < stream->first || sp_progress_is_past(last)) && stream->clock.count == 0;
}

// The entry for a mark to be kept in: an empty one, else the one with the oldest mark, which a
// newer one covers.
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

// The stream keeps the mark, by a reference that it has already.
static void publish_mark(struct sp_stream *stream, struct sp_mark *mark) {
    sp_lock_acquire(&stream->lock);
    struct sp_mark **entry = entry_locked(stream);
    struct sp_mark *covered = *entry;
    *entry = mark;
    if (covered)
        drop_locked(stream, covered);
    sp_progress_set_recorded_locked(stream, mark->sequence);
    sp_lock_release(&stream->lock);
    sp_turn_joined(stream);
}

void sp_mark_drop(struct sp_stream *stream, const struct sp_mark *mark) {
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

void sp_mark_drop_until(struct sp_stream *stream, uint64_t until) {
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

struct sp_mark *sp_mark_covering(struct sp_stream *stream, uint64_t sequence) {
    struct sp_mark *found = NULL;
    sp_lock_acquire(&stream->lock);
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        struct sp_mark *mark = stream->marks[i];
        bool behind = mark && mark->sequence >= sequence;
        if (behind && (!found || mark->sequence < found->sequence))
            found = mark;
    }
    if (found)
        sp_mark_keep(found);
    sp_lock_release(&stream->lock);
    return found;
}

// --------------------------------------------------------------------------------------- recording

// The stream's clock as it is now, for a record that is about to be made. Without host memory the
// mark knows of the stream's own frees only.
static void snapshot_locked(struct sp_stream *stream, struct sp_mark *mark) {
    mark->clock.count = 0;
    if (stream->clock.count > 0)
        sp_clock_copy(&mark->clock, &stream->clock);
    mark->clock_version = stream->clock_version;
}

// What a record will stand for is settled here, before the driver's call: the frees up to the
// number, and the clock.
static void begin_locked(struct sp_stream *stream, struct sp_mark *mark) {
    snapshot_locked(stream, mark);
    mark->sequence = sp_progress_close_locked(stream);
}

// Null where there is no mark to be recorded again.
static struct sp_mark *begin_spare_locked(struct sp_stream *stream) {
    struct sp_mark *mark = take_spare_locked(stream);
    if (mark)
        begin_locked(stream, mark);
    return mark;
}

// An event that didn't wait for the chain of an anonymous stream would say nothing of the frees of
// earlier streams with its handle.
static CUresult record_mark(struct sp_stream *stream, struct sp_mark *mark, CUevent chain) {
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    CUresult error = chain ? sp_private_event_wait(stream->handle, chain) : CUDA_SUCCESS;
    if (error == CUDA_SUCCESS)
        error = sp_private_event_record(mark->event, stream->handle);
    sp_capture_mode_restore(mode);
    return error;
}

// Records the mark and has the stream keep it. With one reference, and one more for a caller who
// wants it.
static CUresult record_and_publish(struct sp_stream *stream, struct sp_mark *mark, CUevent chain,
                                   struct sp_mark **wanted) {
    atomic_store_explicit(&mark->references, wanted ? 2 : 1, memory_order_relaxed);
    CUresult error = record_mark(stream, mark, chain);
    if (error == CUDA_SUCCESS) {
        publish_mark(stream, mark);
        if (wanted)
            *wanted = mark;
        if (has_surplus(stream))
            sp_mark_trim_spares(stream);
        return CUDA_SUCCESS;
    }
    atomic_store_explicit(&mark->references, 1, memory_order_relaxed);
    sp_mark_release(mark);
    return error;
}

// The first mark of a stream, or one more than it ever had at a time.
static CUresult record_new(struct sp_stream *stream, struct sp_mark **wanted) {
    struct sp_mark *mark;
    CUresult error = new_mark(stream, &mark);
    if (error != CUDA_SUCCESS)
        return error;
    sp_lock_acquire(&stream->lock);
    begin_locked(stream, mark);
    CUevent chain = stream->chain;
    sp_lock_release(&stream->lock);
    return record_and_publish(stream, mark, chain, wanted);
}

// Before the driver's call the lock is taken once, and once behind it.
static CUresult mark_if_due(struct sp_stream *stream, struct sp_mark **wanted) {
    sp_lock_acquire(&stream->lock);
    struct sp_mark *current = current_locked(stream);
    bool due = !current && !has_nothing_to_mark_locked(stream);
    struct sp_mark *spare = due ? begin_spare_locked(stream) : NULL;
    if (current && wanted)
        sp_mark_keep(current);
    CUevent chain = stream->chain;
    sp_lock_release(&stream->lock);
    if (wanted)
        *wanted = current;
    if (!due)
        return CUDA_SUCCESS;
    return spare ? record_and_publish(stream, spare, chain, wanted) : record_new(stream, wanted);
}

CUresult sp_mark_stream(struct sp_stream *stream, struct sp_mark **mark) {
    return mark_if_due(stream, mark);
}

CUresult sp_mark_record(struct sp_stream *stream) {
    return mark_if_due(stream, NULL);
}

// No free has a number above the open one, which stays that while the lock is held. So it is noted
// by a store, and another thread that notes its own at the same time raises it to no more.
static void note_open_locked(struct sp_stream *stream) {
    uint64_t open = atomic_load_explicit(&stream->sequence, memory_order_relaxed);
    atomic_store_explicit(&stream->freed, open, memory_order_release);
}

// With the stream's lock held, which it gives back.
static inline CUresult record_and_release(struct sp_stream *stream, struct sp_mark **wanted) {
    prune_locked(stream);
    struct sp_mark *spare = begin_spare_locked(stream);
    sp_lock_release(&stream->lock);
    return spare ? record_and_publish(stream, spare, NULL, wanted) : record_new(stream, wanted);
}

CUresult sp_mark_anew(struct sp_stream *stream, struct sp_mark **mark) {
    *mark = NULL;
    sp_lock_acquire(&stream->lock);
    return record_and_release(stream, mark);
}

CUresult sp_mark_record_freed(struct sp_stream *stream) {
    sp_lock_acquire(&stream->lock);
    note_open_locked(stream);
    return record_and_release(stream, NULL);
}
