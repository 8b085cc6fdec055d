#include "order/event.h"

#include "order/context.h"
#include "order/event_state.h"
#include "order/learn.h"
#include "order/poll.h"
#include "order/resolve.h"

#include <stdlib.h>

enum { SWEPT_AT_ONCE = 16 };

struct sp_events sp_events = {.bucket_count = SP_EVENTS_FIRST_BUCKETS, .buckets = sp_events.first};

static struct sp_event_entry **bucket_of(CUevent event) {
    return &sp_events.buckets[sp_hash((uintptr_t)event) % sp_events.bucket_count];
}

static struct sp_event_entry **find_locked(CUevent event) {
    struct sp_event_entry **link = bucket_of(event);
    while (*link && (*link)->event != event)
        link = &(*link)->next;
    return link;
}

// Unlinks an entry and puts it in front of `dropped`.
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

static void set_buckets(struct sp_event_entry **buckets, size_t count) {
    if (sp_events.buckets != sp_events.first)
        free(sp_events.buckets);
    sp_events.buckets = buckets;
    sp_events.bucket_count = count;
}

// Doubles the buckets. Without host memory it stays at what there is.
static void grow_locked(void) {
    size_t count = sp_events.bucket_count * 2;
    struct sp_event_entry **larger = calloc(count, sizeof *larger);
    struct sp_event_entry *entries = NULL;
    if (!larger)
        return;
    for (size_t i = 0; i < sp_events.bucket_count; i++) {
        while (sp_events.buckets[i])
            unlink_locked(&sp_events.buckets[i], &entries);
    }
    set_buckets(larger, count);
    while (entries) {
        struct sp_event_entry *next = entries->next;
        link_locked(entries);
        entries = next;
    }
}

// Sweeps a few buckets at each call, all in turn: what is over doesn't stay for long, and no call
// takes long.
static void sweep_some_locked(struct sp_event_entry **dropped) {
    for (int i = 0; i < SWEPT_AT_ONCE; i++) {
        struct sp_event_entry **link =
            &sp_events.buckets[sp_events.swept++ % sp_events.bucket_count];
        while (*link) {
            if (is_over((*link)->mark))
                unlink_locked(link, dropped);
            else
                link = &(*link)->next;
        }
    }
}

static void release(struct sp_event_entry *dropped) {
    while (dropped) {
        struct sp_event_entry *next = dropped->next;
        sp_mark_release(dropped->mark);
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

// Takes over the caller's reference. Without host memory the event is not remembered.
static void remember(CUevent event, struct sp_stream *stream, struct sp_mark *mark) {
    struct sp_event_entry *entry = malloc(sizeof *entry);
    struct sp_event_entry *dropped = NULL;
    forget(event);
    if (!entry) {
        sp_mark_release(mark);
        return;
    }
    entry->event = event;
    entry->stream = stream;
    entry->name = sp_stream_word(stream, 0);
    entry->mark = mark;
    sp_lock_acquire(&sp_events.lock);
    sweep_some_locked(&dropped);
    if (sp_events.count >= sp_events.bucket_count)
        grow_locked();
    link_locked(entry);
    sp_lock_release(&sp_events.lock);
    release(dropped);
}

// Returns the mark of an event, or null; the reference is the caller's. Tells the stream that the
// event was recorded in, or null.
static struct sp_mark *recall(CUevent event, struct sp_stream **stream) {
    struct sp_mark *mark = NULL;
    *stream = NULL;
    sp_lock_acquire(&sp_events.lock);
    struct sp_event_entry *entry = *find_locked(event);
    if (entry) {
        *stream = sp_stream_word(entry->stream, 0) == entry->name ? entry->stream : NULL;
        mark = entry->mark;
    }
    if (mark)
        sp_mark_keep(mark);
    sp_lock_release(&sp_events.lock);
    return mark;
}

struct sp_outcome sp_event_record(CUevent event, struct sp_stream *stream, CUstream handle) {
    struct sp_mark *mark = NULL;
    if (stream)
        sp_mark_stream(stream, &mark);
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuEventRecord(event, handle), "cuEventRecord");
    if (!sp_is_done(outcome))
        sp_mark_release(mark);
    else if (stream)
        remember(event, stream, mark);
    else
        forget(event);
    return outcome;
}

static bool is_of_current_context(const struct sp_mark *mark) {
    return sp_context_is_current(mark->stream->context, mark->stream->context_id);
}

// The private event of a mark dies with its context, and the user's event may be a new one at the
// handle of one that died along: so a mark is waited for only where its context is certain to be
// alive.
static bool may_wait_for(const struct sp_stream *stream, const struct sp_mark *mark) {
    return sp_stream_is_of(mark->stream, stream->context, stream->context_id) ||
           is_of_current_context(mark);
}

// The event may have been recorded in a capture since, by a call that we don't see. Then the wait
// has made the stream part of that capture, which a wait for an event outside of it would
// invalidate.
struct sp_outcome sp_event_wait(CUevent event, struct sp_stream *stream, CUstream handle,
                                unsigned int flags) {
    struct sp_stream *recorded;
    struct sp_mark *mark = stream ? recall(event, &recorded) : NULL;
    struct sp_outcome outcome = sp_outcome_of_driver(
        sp_driver->cuStreamWaitEvent(handle, event, flags), "cuStreamWaitEvent");
    if (sp_is_done(outcome) && mark && !is_over(mark) && may_wait_for(stream, mark) &&
        sp_is_done(sp_resolve_capture(handle)))
        sp_learn_wait_mark(stream, mark);
    sp_mark_release(mark);
    return outcome;
}

// The event has completed, so its mark has, if it still is what the table says: that is asked. The
// mark's stream is in the current context, or what it knows is left for later, since nothing else
// is certain to be alive.
static struct sp_outcome learn_from(CUevent event, struct sp_outcome (*ask)(struct sp_mark *mark),
                                    struct sp_stream **stream) {
    struct sp_mark *mark = recall(event, stream);
    struct sp_outcome outcome = sp_outcome_done();
    if (mark && !is_over(mark) && is_of_current_context(mark))
        outcome = ask(mark);
    sp_mark_release(mark);
    return outcome;
}

struct sp_outcome sp_event_synchronize(CUevent event, struct sp_stream **stream) {
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuEventSynchronize(event), "cuEventSynchronize");
    return sp_is_done(outcome) ? learn_from(event, sp_poll_confirm_mark, stream) : outcome;
}

struct sp_outcome sp_event_query(CUevent event, struct sp_stream **stream, bool *complete) {
    struct sp_outcome outcome =
        sp_outcome_of_query(sp_driver->cuEventQuery(event), "cuEventQuery", complete);
    return *complete ? learn_from(event, sp_poll_mark, stream) : outcome;
}

struct sp_outcome sp_event_destroy(CUevent event) {
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuEventDestroy(event), "cuEventDestroy");
    if (sp_is_done(outcome))
        forget(event);
    return outcome;
}
