#include "order/mark.h"

#include "base/cold.h"
#include "order/identity.h"

#include <stdlib.h>

// A program whose marks come and go needs no more of them at hand.
enum { SPARE_MARKS_MAX = 8 };

// ---------------------------------------------------------------------------------- private events

struct sp_outcome sp_private_event_create(const struct sp_stream *stream, CUevent *event) {
    struct sp_outcome outcome = sp_context_enter(stream->context);
    if (!sp_is_done(outcome))
        return outcome;
    outcome = sp_outcome_of_driver(sp_driver->cuEventCreate(event, CU_EVENT_DISABLE_TIMING),
                                   "cuEventCreate");
    sp_context_leave();
    return outcome;
}

void sp_private_event_destroy(CUevent event) {
    (void)sp_outcome_of_driver(sp_driver->cuEventDestroy(event), "cuEventDestroy");
}

// Where two threads make one, that of the first to say so is kept.
struct sp_outcome sp_private_event_of(struct sp_stream *stream, CUevent *event) {
    CUevent made, none = NULL;
    *event = sp_load_acquire(&stream->event);
    if (*event)
        return sp_outcome_done();
    struct sp_outcome outcome = sp_private_event_create(stream, &made);
    if (!sp_is_done(outcome))
        return outcome;
    if (atomic_compare_exchange_strong(&stream->event, &none, made)) {
        *event = made;
    } else {
        sp_private_event_destroy(made);
        *event = none;
    }
    return sp_outcome_done();
}

struct sp_outcome sp_private_event_await(CUevent event) {
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuEventSynchronize(event), "cuEventSynchronize");
    sp_capture_mode_restore(mode);
    return outcome;
}

struct sp_outcome sp_private_event_wait_relaxed(const struct sp_stream *stream, CUevent event) {
    if (sp_private_event_needs_no_mode(stream))
        return sp_private_event_wait(stream->handle, event);
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    struct sp_outcome outcome = sp_private_event_wait(stream->handle, event);
    sp_capture_mode_restore(mode);
    return outcome;
}

// --------------------------------------------------------------------------- marks and their lives

void sp_mark_acquire(struct sp_mark *mark) {
    sp_add_relaxed(&mark->references, 1);
}

// The event of the mark is left as it is.
static void free_mark(struct sp_mark *mark) {
    sp_fence_set_clear(&mark->clock);
    free(mark);
}

// A mark without references goes back to its stream, event and all: whether the event could be
// destroyed now, in a context that may be gone, is not known here. Of a stream that ended with its
// context the event is gone, whoever has the slot now. Its clock's memory serves the next record.
static void recycle_locked(struct sp_stream *stream, struct sp_mark *mark) {
    if (mark->epoch != stream->marks.epoch) {
        free_mark(mark);
        return;
    }
    mark->next_spare = stream->marks.spares;
    stream->marks.spares = mark;
    sp_store_relaxed(&stream->marks.spare_count, sp_load_relaxed(&stream->marks.spare_count) + 1);
}

static bool drop_reference(struct sp_mark *mark) {
    return atomic_fetch_sub_explicit(&mark->references, 1, memory_order_acq_rel) == 1;
}

// Drops the stream's own reference, to a mark that it keeps no longer. Others come of those that it
// keeps, under the lock, or of one that is there: so the only one stays the only one.
static void drop_locked(struct sp_stream *stream, struct sp_mark *mark) {
    if (sp_load_acquire(&mark->references) == 1 || drop_reference(mark))
        recycle_locked(stream, mark);
}

void sp_mark_release(struct sp_mark *mark) {
    if (!mark || !drop_reference(mark))
        return;
    struct sp_stream *stream = mark->stream;
    sp_lock_acquire(&stream->lock);
    recycle_locked(stream, mark);
    sp_lock_release(&stream->lock);
}

static struct sp_mark *take_spare_locked(struct sp_stream *stream) {
    struct sp_mark *mark = stream->marks.spares;
    if (mark) {
        stream->marks.spares = mark->next_spare;
        sp_store_relaxed(&stream->marks.spare_count,
                         sp_load_relaxed(&stream->marks.spare_count) - 1);
    }
    return mark;
}

void sp_mark_trim_spares(struct sp_stream *stream) {
    struct sp_mark *mark;
    do {
        sp_lock_acquire(&stream->lock);
        bool has_surplus = sp_load_relaxed(&stream->marks.spare_count) > SPARE_MARKS_MAX;
        mark = has_surplus ? take_spare_locked(stream) : NULL;
        sp_lock_release(&stream->lock);
        if (mark) {
            sp_private_event_destroy(mark->event);
            free_mark(mark);
        }
    } while (mark);
}

// The epoch tells marks of before that their events are gone.
void sp_mark_drop_events(struct sp_stream *stream) {
    struct sp_mark *spare;
    sp_lock_acquire(&stream->lock);
    stream->marks.epoch++;
    while ((spare = take_spare_locked(stream)))
        free_mark(spare);
    sp_lock_release(&stream->lock);
}

// ------------------------------------------------------------------- the marks that a stream keeps

struct sp_mark *sp_mark_newest_locked(const struct sp_stream *stream) {
    uint32_t count = stream->marks.recent_count;
    return count > 0 ? stream->marks.recent[count - 1] : NULL;
}

struct sp_mark *sp_mark_current_locked(const struct sp_stream *stream) {
    struct sp_mark *mark = sp_mark_newest_locked(stream);
    uint64_t freed = atomic_load(&stream->freed);
    return mark && mark->freed >= freed && mark->clock_version == stream->clock_version ? mark
                                                                                        : NULL;
}

bool sp_mark_has_nothing_locked(struct sp_stream *stream) {
    sp_fence_set_prune(&stream->clock, sp_progress_is_past);
    struct sp_fence last = {stream->slot, atomic_load(&stream->freed)};
    return (last.sequence < stream->first || sp_progress_is_past(last)) && stream->clock.count == 0;
}

static struct sp_mark *take_out_locked(struct sp_stream *stream, uint32_t index) {
    struct sp_mark **recent = stream->marks.recent;
    struct sp_mark *taken = recent[index];
    for (uint32_t i = index + 1; i < stream->marks.recent_count; i++)
        recent[i - 1] = recent[i];
    recent[--stream->marks.recent_count] = NULL;
    return taken;
}

// Takes out the oldest mark if a synchronise has passed it: so of the others the same ones stay,
// whenever a question came that would have dropped it. Else the mark that leaves the least gap
// between its neighbours: what it covers is covered by the newer one of these. So the oldest mark
// stays until it is complete, and the newest one too.
static struct sp_mark *make_room_locked(struct sp_stream *stream) {
    struct sp_mark *const *recent = stream->marks.recent;
    if (recent[0]->sequence <= sp_load_acquire(&stream->synchronized))
        return take_out_locked(stream, 0);
    uint32_t least = 1;
    uint64_t least_gap = UINT64_MAX;
    for (uint32_t i = 1; i + 1 < SP_STREAM_MARKS; i++) {
        uint64_t gap = recent[i + 1]->sequence - recent[i - 1]->sequence;
        if (gap < least_gap) {
            least_gap = gap;
            least = i;
        }
    }
    return take_out_locked(stream, least);
}

void sp_mark_drop_until(struct sp_stream *stream, uint64_t until) {
    struct sp_mark *const *recent = stream->marks.recent;
    uint32_t passed = 0;
    sp_lock_acquire(&stream->lock);
    while (passed < stream->marks.recent_count && recent[passed]->sequence <= until)
        passed++;
    while (passed > 0)
        drop_locked(stream, take_out_locked(stream, --passed));
    sp_lock_release(&stream->lock);
}

void sp_mark_drop_all(struct sp_stream *stream) {
    sp_mark_drop_until(stream, UINT64_MAX);
    sp_lock_acquire(&stream->lock);
    struct sp_mark *waited_for = stream->marks.waited_for;
    stream->marks.waited_for = NULL;
    sp_lock_release(&stream->lock);
    sp_mark_release(waited_for);
}

void sp_mark_drop_passed(struct sp_stream *stream) {
    sp_mark_drop_until(stream, sp_progress_synchronized(stream));
    sp_mark_trim_spares(stream);
}

struct sp_mark *sp_mark_covering(struct sp_stream *stream, uint64_t sequence) {
    struct sp_mark *found = NULL;
    sp_lock_acquire(&stream->lock);
    for (uint32_t i = 0; i < stream->marks.recent_count && !found; i++) {
        struct sp_mark *mark = stream->marks.recent[i];
        if (mark->sequence >= sequence)
            found = mark;
    }
    if (found)
        sp_mark_acquire(found);
    sp_lock_release(&stream->lock);
    return found;
}

// --------------------------------------------------------------------------------------- recording

// Settles, before the driver's call, what a record will stand for: the frees up to the number, and
// the clock as it is now. Without host memory the mark knows of the stream's own frees only.
static void begin_locked(struct sp_stream *stream, struct sp_mark *mark) {
    mark->clock.count = 0;
    if (stream->clock.count > 0)
        sp_fence_set_join(&mark->clock, &stream->clock);
    mark->clock_version = stream->clock_version;
    mark->sequence = sp_progress_close_locked(stream);
    uint64_t freed = atomic_load(&stream->freed);
    mark->freed = freed < mark->sequence ? freed : mark->sequence;
}

// Takes a mark to be recorded again, or none.
static struct sp_mark *begin_spare_locked(struct sp_stream *stream) {
    struct sp_mark *mark = take_spare_locked(stream);
    if (mark)
        begin_locked(stream, mark);
    return mark;
}

static struct sp_outcome record_event(struct sp_stream *stream, struct sp_mark *mark) {
    if (SP_LIKELY(sp_private_event_needs_no_mode(stream)))
        return sp_private_event_record(mark->event, stream->handle);
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    struct sp_outcome outcome = sp_identity_of(stream)->before_record(stream);
    if (sp_is_done(outcome))
        outcome = sp_private_event_record(mark->event, stream->handle);
    sp_capture_mode_restore(mode);
    return outcome;
}

// Records the mark and has the stream keep it. It has one reference, and one more for a caller who
// wants it. It is the newest one, but for threads that record at once.
static struct sp_outcome record_and_publish(struct sp_stream *stream, struct sp_mark *mark,
                                            struct sp_mark **wanted) {
    struct sp_mark **recent = stream->marks.recent;
    sp_store_relaxed(&mark->references, wanted ? 2 : 1);
    struct sp_outcome outcome = record_event(stream, mark);
    if (!sp_is_done(outcome)) {
        sp_store_relaxed(&mark->references, 1);
        sp_mark_release(mark);
        return outcome;
    }
    sp_lock_acquire(&stream->lock);
    if (stream->marks.recent_count == SP_STREAM_MARKS)
        drop_locked(stream, make_room_locked(stream));
    uint32_t at = stream->marks.recent_count++;
    for (; at > 0 && recent[at - 1]->sequence > mark->sequence; at--)
        recent[at] = recent[at - 1];
    recent[at] = mark;
    sp_progress_set_recorded_locked(stream, mark->sequence);
    sp_lock_release(&stream->lock);
    sp_progress_join_queue(stream);
    if (wanted)
        *wanted = mark;
    if (sp_load_relaxed(&stream->marks.spare_count) > SPARE_MARKS_MAX)
        sp_mark_trim_spares(stream);
    return sp_outcome_done();
}

// Records the first mark of a stream, or one more than it ever had at a time.
static struct sp_outcome record_new(struct sp_stream *stream, struct sp_mark **wanted) {
    struct sp_mark *mark = calloc(1, sizeof *mark);
    if (!mark)
        return sp_outcome_of(SP_NO_HOST_MEMORY);
    mark->stream = stream;
    mark->epoch = stream->marks.epoch; // it stays, for the caller names the stream
    struct sp_outcome outcome = sp_private_event_create(stream, &mark->event);
    if (!sp_is_done(outcome)) {
        free(mark);
        return outcome;
    }
    sp_lock_acquire(&stream->lock);
    begin_locked(stream, mark);
    sp_lock_release(&stream->lock);
    return record_and_publish(stream, mark, wanted);
}

// The lock is taken once before the driver's call, and once behind it.
struct sp_outcome sp_mark_stream(struct sp_stream *stream, struct sp_mark **wanted) {
    sp_lock_acquire(&stream->lock);
    struct sp_mark *current = sp_mark_current_locked(stream);
    bool due = !current && !sp_mark_has_nothing_locked(stream);
    struct sp_mark *spare = due ? begin_spare_locked(stream) : NULL;
    if (current && wanted)
        sp_mark_acquire(current);
    sp_lock_release(&stream->lock);
    if (wanted)
        *wanted = current;
    if (!due)
        return sp_outcome_done();
    return spare ? record_and_publish(stream, spare, wanted) : record_new(stream, wanted);
}

// No free has a number above the open one, which stays that while the lock is held. So it is noted
// by a store, and another thread that notes its own at the same time raises it to no more.
struct sp_outcome sp_mark_anew(struct sp_stream *stream, bool freed, struct sp_mark **wanted) {
    if (wanted)
        *wanted = NULL;
    sp_lock_acquire(&stream->lock);
    if (freed)
        sp_store_release(&stream->freed, sp_load_relaxed(&stream->sequence));
    sp_fence_set_prune(&stream->clock, sp_progress_is_past);
    struct sp_mark *spare = begin_spare_locked(stream);
    sp_lock_release(&stream->lock);
    return spare ? record_and_publish(stream, spare, wanted) : record_new(stream, wanted);
}

// ----------------------------------------------------------------------------------------- waiting

// The stream has a reference to the mark until the next wait.
struct sp_outcome sp_mark_wait(struct sp_stream *stream, struct sp_mark *mark) {
    if (sp_mark_is_own(stream, mark))
        return sp_outcome_done();
    struct sp_outcome outcome = sp_private_event_wait_relaxed(stream, mark->event);
    if (sp_is_done(outcome))
        outcome = sp_identity_of(stream)->after_wait(stream);
    if (!sp_is_done(outcome))
        return outcome;
    sp_lock_acquire(&stream->lock);
    sp_progress_run_after_locked(stream, (struct sp_fence){mark->stream->slot, mark->sequence});
    sp_fence_set_join(&stream->clock, &mark->clock);
    struct sp_mark *before = stream->marks.waited_for;
    sp_mark_acquire(mark);
    stream->marks.waited_for = mark;
    sp_lock_release(&stream->lock);
    sp_mark_release(before);
    return outcome;
}

// Where nothing can be waited for any more, the work may have been found complete while no pool
// went by synchronises alone, as the taker's pool does by now.
struct sp_outcome sp_mark_wait_for_fence(struct sp_stream *stream, struct sp_fence fence) {
    struct sp_mark *mark = sp_mark_covering(sp_stream_at(fence.slot), fence.sequence);
    if (mark) {
        struct sp_outcome outcome = sp_mark_wait(stream, mark);
        sp_mark_release(mark);
        return outcome;
    }
    if (sp_progress_is_past(fence))
        return sp_outcome_done();
    struct sp_outcome outcome = sp_identity_of(stream)->wait_unmarked(stream, fence);
    bool was_complete = outcome.cause == SP_NO_EVENT && sp_progress_is_complete(fence);
    return was_complete ? sp_outcome_done() : outcome;
}
