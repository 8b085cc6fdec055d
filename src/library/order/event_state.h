// The table of users' events, for event.c, and for tests that empty it.
#ifndef STREAMPOOL_ORDER_EVENT_STATE_H
#define STREAMPOOL_ORDER_EVENT_STATE_H

#include "order/said.h"

enum { SP_EVENTS_FIRST_BUCKETS = 1024 };

struct sp_event_entry {
    struct sp_event_entry *next;
    CUevent event;
    struct sp_stream *stream; // in which it was recorded
    uint64_t name;            // the first word of its key: the slot may be another stream's by now
    // Those that its record stands behind: see sp_said_find().
    struct sp_mark *marks[SP_SAID_MARKS];
    // An identified stream that has nothing to learn of the marks, or null; and its name.
    const struct sp_stream *knower;
    uint64_t knowers_name;
};

struct sp_events {
    struct sp_lock lock;
    size_t count;
    size_t swept;        // buckets, since the beginning
    size_t bucket_count; // a power of two
    struct sp_event_entry **buckets;
    struct sp_event_entry
        *first[SP_EVENTS_FIRST_BUCKETS]; // the buckets until there are more entries
};

extern __attribute__((visibility("hidden"))) struct sp_events sp_events;

#endif
