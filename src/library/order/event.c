#include "order/event.h"

#include "order/context.h"
#include "order/identity.h"
#include "order/poll.h"
#include "order/resolve.h"

#include <stdlib.h>

// ------------------------------------------------------------------------- what a record would say
//
// A record covers what the stream has freed, and what it runs after. A mark of its own covers all
// of that, and costs a record of a private event. But often two marks do so already: the stream's
// newest one, for the frees; and for what the stream runs after since then, the mark of another
// stream that it was made to wait for last. Whoever waits for the program's event, which stands
// behind both, waits for these marks as well, and learns of each what is true of that alone: so
// nothing depends on what became of the program's event meanwhile.
//
// So a record is due where something was freed since the newest mark, or the stream has waited for
// several others since, or for one in another context.

// Whoever waits for the mark, which may be null, runs after the fence.
static bool covers(const struct sp_mark *mark, struct sp_fence fence) {
    return mark && ((mark->stream->slot == fence.slot && mark->sequence >= fence.sequence) ||
                    sp_fence_set_covers(&mark->clock, fence));
}

// Finds the marks that are equivalent to a record, both null where there is nothing to cover. False
// when a record is due. A mark of another context is waited for only where that is certain to be
// alive: so who waits for this stream would learn less of it than of a mark that this stream makes.
// A stream needn't be told that it runs after its own frees, which its own mark alone covers.
//
// Two streams that wait for the same two marks find them in the same order, which is also that of
// the waits for them: it must not depend on addresses.
static bool find_equivalent_locked(struct sp_stream *stream, struct sp_mark **marks) {
    marks[0] = sp_mark_current_locked(stream);
    marks[1] = NULL;
    if (marks[0] || sp_mark_has_nothing_locked(stream))
        return true;
    struct sp_mark *waited_for = stream->marks.waited_for;
    if (!waited_for || !sp_stream_is_of(waited_for->stream, stream->context, stream->context_id))
        return false;
    struct sp_mark *newest = sp_mark_newest_locked(stream);
    struct sp_fence last = {stream->slot, atomic_load(&stream->freed)};
    if (last.sequence >= stream->first && !(newest && newest->freed >= last.sequence) &&
        !sp_progress_is_past(last))
        return false;
    for (uint32_t i = 0; i < stream->clock.count; i++) {
        struct sp_fence fence = *sp_fence_set_at(&stream->clock, i);
        if (fence.slot != stream->slot && !covers(newest, fence) && !covers(waited_for, fence))
            return false;
    }
    bool comes_first = newest && newest->stream->slot <= waited_for->stream->slot;
    marks[0] = comes_first ? newest : waited_for;
    marks[1] = comes_first ? waited_for : newest;
    return true;
}

// ----------------------------------------------------------------------------- the table of events

// By the record of an event that is new to the table, and of one that is there.
enum { SWEPT_FOR_NEW = 16, SWEPT_AGAIN = 2 };

struct sp_events sp_events = {.bucket_count = SP_EVENTS_FIRST_BUCKETS, .buckets = sp_events.first};

static struct sp_event_entry **bucket_of(CUevent event) {
    return &sp_events.buckets[sp_hash((uintptr_t)event) & (sp_events.bucket_count - 1)];
}

static struct sp_event_entry **find_locked(CUevent event) {
    struct sp_event_entry **link = bucket_of(event);
    while (*link && (*link)->event != event)
        link = &(*link)->next;
    return link;
}

static void unlink_locked(struct sp_event_entry **link, struct sp_event_entry **dropped) {
    struct sp_event_entry *entry = *link;
    *link = entry->next;
    entry->next = *dropped;
    *dropped = entry;
    sp_events.count--;
}

static void link_locked(struct sp_event_entry *entry) {
    struct sp_event_entry **bucket = bucket_of(entry->event);
    entry->next = *bucket;
    *bucket = entry;
    sp_events.count++;
}

// True when there is nothing to learn of the mark.
static bool is_over(const struct sp_mark *mark) {
    return !mark || sp_progress_is_past((struct sp_fence){mark->stream->slot, mark->sequence});
}

static void release_marks(struct sp_mark *const *marks) {
    for (int i = 0; i < SP_EQUIVALENT_MARKS; i++)
        sp_mark_release(marks[i]);
}

// Doubles the buckets. Without host memory it stays at what there is.
static void grow_locked(void) {
    size_t count = sp_events.bucket_count * 2;
    struct sp_event_entry **larger = calloc(count, sizeof *larger);
    struct sp_event_entry **smaller = sp_events.buckets, *entry, *next;
    if (!larger)
        return;
    sp_events.buckets = larger;
    sp_events.bucket_count = count;
    sp_events.count = 0;
    for (size_t i = 0; i < count / 2; i++) {
        for (entry = smaller[i]; entry; entry = next) {
            next = entry->next;
            link_locked(entry);
        }
    }
    if (smaller != sp_events.first)
        free(smaller);
}

// Sweeps a few buckets, all in turn: what is over doesn't stay for long, and no call takes long.
static void sweep_some_locked(int count, struct sp_event_entry **dropped) {
    for (int i = 0; i < count; i++) {
        struct sp_event_entry **link =
            &sp_events.buckets[sp_events.swept++ & (sp_events.bucket_count - 1)];
        while (*link) {
            if (is_over((*link)->marks[0]) && is_over((*link)->marks[1]))
                unlink_locked(link, dropped);
            else
                link = &(*link)->next;
        }
    }
}

static void release(struct sp_event_entry *dropped) {
    while (dropped) {
        struct sp_event_entry *next = dropped->next;
        release_marks(dropped->marks);
        free(dropped);
        dropped = next;
    }
}

static void forget(CUevent event) {
    struct sp_event_entry *dropped = NULL;
    sp_lock_acquire(&sp_events.lock);
    struct sp_event_entry **link = find_locked(event);
    if (*link)
        unlink_locked(link, &dropped);
    sp_lock_release(&sp_events.lock);
    release(dropped);
}

static struct sp_stream *stream_of(const struct sp_event_entry *entry) {
    return sp_stream_word(entry->stream, 0) == entry->name ? entry->stream : NULL;
}

// --------------------------------------------------------------------------------------- recording

enum equivalent {
    NONE,  // a record is due: sp_mark_stream()
    FOUND, // `marks` were set; the references are the caller's
    SAME,  // the event's entry has just these marks, and the stream
};

// Finds the marks that a record of the event in the stream would say. `marks` are null at first.
static enum equivalent find_equivalent(CUevent event, struct sp_stream *stream,
                                       struct sp_mark **marks) {
    struct sp_event_entry *dropped = NULL;
    struct sp_mark *found[SP_EQUIVALENT_MARKS];
    sp_lock_acquire(&sp_events.lock);
    sweep_some_locked(SWEPT_AGAIN, &dropped);
    const struct sp_event_entry *entry = *find_locked(event);
    sp_lock_acquire(&stream->lock);
    bool is_due = !find_equivalent_locked(stream, found);
    bool is_same = entry && stream_of(entry) == stream && entry->marks[0] == found[0] &&
                   entry->marks[1] == found[1];
    for (int i = 0; i < SP_EQUIVALENT_MARKS && !is_due && !is_same; i++) {
        marks[i] = found[i];
        if (found[i])
            sp_mark_acquire(found[i]);
    }
    sp_lock_release(&stream->lock);
    sp_lock_release(&sp_events.lock);
    release(dropped);
    return is_due ? NONE : is_same ? SAME : FOUND;
}

// Takes over the caller's references. Without host memory a new event is not noted.
static void note(CUevent event, struct sp_stream *stream, struct sp_mark *const *marks) {
    struct sp_event_entry *dropped = NULL;
    struct sp_mark *before[SP_EQUIVALENT_MARKS];
    sp_lock_acquire(&sp_events.lock);
    struct sp_event_entry *entry = *find_locked(event);
    if (!entry && (entry = calloc(1, sizeof *entry))) {
        entry->event = event;
        sweep_some_locked(SWEPT_FOR_NEW, &dropped);
        if (sp_events.count >= sp_events.bucket_count)
            grow_locked();
        link_locked(entry);
    }
    for (int i = 0; i < SP_EQUIVALENT_MARKS; i++) {
        before[i] = entry ? entry->marks[i] : marks[i];
        if (entry)
            entry->marks[i] = marks[i];
    }
    if (entry) {
        entry->stream = stream;
        entry->name = sp_stream_word(stream, 0);
        entry->knower = NULL;
    }
    sp_lock_release(&sp_events.lock);
    release_marks(before);
    release(dropped);
}

// The marks come before the record.
struct sp_outcome sp_event_record(CUevent event, struct sp_stream *stream, CUstream handle) {
    struct sp_mark *marks[SP_EQUIVALENT_MARKS] = {NULL, NULL};
    enum equivalent equivalent = stream ? find_equivalent(event, stream, marks) : SAME;
    if (equivalent == NONE)
        sp_mark_stream(stream, &marks[0]);
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuEventRecord(event, handle), "cuEventRecord");
    if (!sp_is_done(outcome))
        release_marks(marks);
    else if (!stream)
        forget(event);
    else if (equivalent != SAME)
        note(event, stream, marks);
    return outcome;
}

// ----------------------------------------------------------------------------------------- waiting

static bool is_of_current_context(const struct sp_mark *mark) {
    return sp_context_is_current(mark->stream->context, mark->stream->context_id);
}

static bool knows_locked(const struct sp_stream *stream, struct sp_fence fence) {
    return sp_fence_set_covers(&stream->clock, fence) ||
           (fence.slot == stream->slot && fence.sequence >= stream->first) ||
           sp_progress_is_past(fence);
}

// True when by its clock the stream runs after all that the mark stands for and isn't complete. A
// number of the mark's own stream says nothing that its latest free before it doesn't.
static bool learns_nothing(struct sp_stream *stream, const struct sp_mark *mark) {
    if (sp_mark_is_own(stream, mark))
        return true;
    sp_lock_acquire(&stream->lock);
    bool knows = knows_locked(stream, (struct sp_fence){mark->stream->slot, mark->freed});
    for (uint32_t i = 0; i < mark->clock.count && knows; i++)
        knows = knows_locked(stream, *sp_fence_set_at(&mark->clock, i));
    sp_lock_release(&stream->lock);
    return knows;
}

// Sets the marks of an event that a stream would learn of, or null; the references are the
// caller's. Of its own marks a stream has nothing to learn.
static void recall_news(CUevent event, struct sp_stream *stream, struct sp_mark **marks) {
    bool asked = false, any = false;
    sp_lock_acquire(&sp_events.lock);
    struct sp_event_entry *entry = *find_locked(event);
    bool knows =
        entry && entry->knower == stream && entry->knowers_name == sp_stream_word(stream, 0);
    for (int i = 0; entry && i < SP_EQUIVALENT_MARKS && !knows; i++) {
        struct sp_mark *mark = entry->marks[i];
        if (is_over(mark) || sp_mark_is_own(stream, mark))
            continue;
        asked = true;
        if (learns_nothing(stream, mark))
            continue;
        any = true;
        marks[i] = mark;
        sp_mark_acquire(mark);
    }
    // A stream forgets only what is over, and no other one gets the name of an identified one.
    if (asked && !any && stream->identified) {
        entry->knower = stream;
        entry->knowers_name = sp_stream_word(stream, 0);
    }
    sp_lock_release(&sp_events.lock);
}

// The private event of a mark dies with its context, and the user's event may be a new one at the
// handle of one that died along: so a mark is waited for only where its context is certain to be
// alive. And the event may have been recorded in a capture since, by a call that we don't see. Then
// the wait has made the stream part of that capture, which a wait for an event outside of it would
// invalidate.
struct sp_outcome sp_event_wait(CUevent event, struct sp_stream *stream, CUstream handle,
                                unsigned int flags) {
    struct sp_mark *marks[SP_EQUIVALENT_MARKS] = {NULL, NULL};
    if (stream)
        recall_news(event, stream, marks);
    struct sp_outcome outcome = sp_outcome_of_driver(
        sp_driver->cuStreamWaitEvent(handle, event, flags), "cuStreamWaitEvent");
    for (int i = 0; i < SP_EQUIVALENT_MARKS && sp_is_done(outcome); i++) {
        struct sp_mark *mark = marks[i];
        if (mark &&
            (sp_stream_is_of(mark->stream, stream->context, stream->context_id) ||
             is_of_current_context(mark)) &&
            sp_is_done(sp_resolve_capture(handle)))
            sp_mark_wait(stream, mark);
    }
    release_marks(marks);
    return outcome;
}

// ------------------------------------------------------------------------------------------ asking

// The event has completed, so its marks have, if they still are what the table says: that is asked.
// Sets the stream that the event was recorded in, or null. What marks of other contexts than the
// current one tell is left for later, since nothing else is certain to be alive.
static struct sp_outcome learn_from(CUevent event, enum sp_knowledge how,
                                    struct sp_stream **stream) {
    struct sp_mark *marks[SP_EQUIVALENT_MARKS] = {NULL, NULL};
    struct sp_outcome outcome = sp_outcome_done();
    sp_lock_acquire(&sp_events.lock);
    const struct sp_event_entry *entry = *find_locked(event);
    *stream = entry ? stream_of(entry) : NULL;
    for (int i = 0; entry && i < SP_EQUIVALENT_MARKS; i++) {
        marks[i] = entry->marks[i];
        if (marks[i])
            sp_mark_acquire(marks[i]);
    }
    sp_lock_release(&sp_events.lock);
    for (int i = 0; i < SP_EQUIVALENT_MARKS; i++) {
        if (sp_is_done(outcome) && marks[i] && !is_over(marks[i]) &&
            is_of_current_context(marks[i]))
            outcome = sp_poll_mark(marks[i], how);
    }
    release_marks(marks);
    return outcome;
}

struct sp_outcome sp_event_synchronize(CUevent event, struct sp_stream **stream) {
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuEventSynchronize(event), "cuEventSynchronize");
    return sp_is_done(outcome) ? learn_from(event, SP_SYNCHRONIZED, stream) : outcome;
}

struct sp_outcome sp_event_query(CUevent event, struct sp_stream **stream, bool *complete) {
    struct sp_outcome outcome =
        sp_outcome_of_query(sp_driver->cuEventQuery(event), "cuEventQuery", complete);
    return *complete ? learn_from(event, SP_FOUND, stream) : outcome;
}

struct sp_outcome sp_event_destroy(CUevent event) {
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuEventDestroy(event), "cuEventDestroy");
    if (sp_is_done(outcome))
        forget(event);
    return outcome;
}
