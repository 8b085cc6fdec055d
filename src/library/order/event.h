// The program's own events, which tell of marks.
//
// A user's event is no evidence by itself: it may be recorded again by a call that we don't see, in
// a graph or by another process, or be destroyed and its handle come back. So a record here first
// makes a mark in the stream, or finds one (order/mark.h), and notes it beside the event; and a
// wait here also waits for the mark, of which alone is learned. When the table is out of date it
// leads to a mark of an earlier record: waiting for that too is harmless, and what it tells is
// true.
//
// The table has an entry for each event that was recorded here, until it is destroyed here or there
// is nothing to learn from it any more: each record looks at some. Its lock is never held across a
// driver call.
//
// `stream` is the one behind the handle, or null when that is capturing: then there is nothing to
// learn, and even to ask the driver who the stream is would invalidate the capture.
#ifndef STREAMPOOL_ORDER_EVENT_H
#define STREAMPOOL_ORDER_EVENT_H

#include "order/mark.h"

// Records the event in the stream. A mark that can't be made where the user's own record succeeds
// is no failure of the call.
struct sp_outcome sp_event_record(CUevent event, struct sp_stream *stream, CUstream handle);

// Makes the stream wait for the event, and learns what it runs after. `flags` are the driver's.
struct sp_outcome sp_event_wait(CUevent event, struct sp_stream *stream, CUstream handle,
                                unsigned int flags);

// Waits for the event, and then asks its mark. Sets the stream that the event was recorded in, or
// null when that is not known, or its slot is another one's by now.
struct sp_outcome sp_event_synchronize(CUevent event, struct sp_stream **stream);

// Asks the event instead. Where it is complete, the rest is as with sp_event_synchronize().
struct sp_outcome sp_event_query(CUevent event, struct sp_stream **stream, bool *complete);

struct sp_outcome sp_event_destroy(CUevent event);

// The table, for tests that empty it.
enum { SP_EVENTS_FIRST_BUCKETS = 1024, SP_EQUIVALENT_MARKS = 2 };

struct sp_event_entry {
    struct sp_event_entry *next;
    CUevent event;
    struct sp_stream *stream; // in which it was recorded
    uint64_t name;            // the first word of its key: the slot may be another stream's by now
    struct sp_mark *marks[SP_EQUIVALENT_MARKS]; // its record stands behind them: see event.c
    const struct sp_stream *knower; // identified, with nothing to learn of the marks; or null
    uint64_t knowers_name;
};

struct sp_events {
    struct sp_lock lock;
    size_t count;
    size_t swept;        // buckets, since the beginning
    size_t bucket_count; // a power of two
    struct sp_event_entry **buckets;
    struct sp_event_entry *first[SP_EVENTS_FIRST_BUCKETS]; // until there are more entries
};

extern __attribute__((visibility("hidden"))) struct sp_events sp_events;

#endif
