// The streams of a trace that is being read: their numbers become indices, and what the trace says
// of them is checked.
//
// A stream begins with the line that first names it. That line may say its kind; else number 0 is
// the legacy default stream, and any other is non-blocking. It ends with the line that destroys it.
//
// Zeroed memory with a trace is ready for use. Not thread safe.
#ifndef STREAMPOOL_CLI_STREAMS_H
#define STREAMPOOL_CLI_STREAMS_H

#include "cli/trace/map.h"
#include "cli/trace/record.h"
#include "cli/trace/trace.h"

struct sp_streams {
    struct sp_trace *trace;    // that is being read, and owns the list
    struct sp_map indices;     // stream number -> index
    struct sp_map per_threads; // thread index -> index of its per-thread stream
    size_t capacity;           // of the list
};

void sp_streams_release(struct sp_streams *streams);

// Resolves the stream of the trace's next operation, which `thread` makes. False, with the reason,
// when the stream can't be used so:
//
// - it has been destroyed;
// - its kind is said a second time, or behind its first use;
// - it is the per-thread stream of another thread, or the second one of this thread;
// - it is a second legacy stream;
// - it is a default stream, and is destroyed;
// - there is no host memory.
bool sp_streams_resolve(struct sp_streams *streams, const struct sp_record *record, uint32_t thread,
                        uint32_t *index, struct sp_trace_error *error);

#endif
