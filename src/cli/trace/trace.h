// A recorded trace of allocations, read whole, checked and resolved, so that a replay only walks
// arrays.
//
// The format is RMM's log with more actions (docs/replay.md), plain or gzipped. Each line after the
// header is one operation, so operation i stands on line i + 2. Pointers are resolved to blocks:
// each request of the trace is a block of its own, and a free names the block that it frees.
// Handles of events are resolved in the same way: a handle that comes again behind its destroy is
// another event. Stream and thread numbers are resolved to indices. A free on another stream than
// its allocation is a *foreign* one.
//
// The caller owns the struct; nothing in it is written after sp_trace_read(), so threads may share
// it.
#ifndef STREAMPOOL_CLI_TRACE_H
#define STREAMPOOL_CLI_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

//   X(name, its word in the file, what stands under Pointer, under Size, under Stream)
//
// Lines with one of the first three are RMM's; where there is any other, the trace has the order
// that its program made.
#define SP_TRACE_ACTIONS(X)                                                                        \
    X(ALLOCATE, "allocate", BLOCK, BYTES, STREAM)                                                  \
    X(FREE, "free", BLOCK, BYTES, STREAM)                                                          \
    X(FAILURE, "allocate failure", NOTHING, BYTES, STREAM)                                         \
    X(FREE_UNORDERED, "free unordered", BLOCK, BYTES, NOTHING)                                     \
    X(LEGACY_STREAM, "legacy stream", NOTHING, NOTHING, STREAM)                                    \
    X(PER_THREAD_STREAM, "per-thread stream", NOTHING, NOTHING, STREAM)                            \
    X(BLOCKING_STREAM, "blocking stream", NOTHING, NOTHING, STREAM)                                \
    X(NON_BLOCKING_STREAM, "non-blocking stream", NOTHING, NOTHING, STREAM)                        \
    X(DESTROY_STREAM, "destroy stream", NOTHING, NOTHING, STREAM)                                  \
    X(RECORD, "record", EVENT, NOTHING, STREAM)                                                    \
    X(WAIT, "wait", EVENT, NOTHING, STREAM)                                                        \
    X(SYNCHRONIZE_EVENT, "synchronize event", EVENT, NOTHING, NOTHING)                             \
    X(SYNCHRONIZE_STREAM, "synchronize stream", NOTHING, NOTHING, STREAM)                          \
    X(SYNCHRONIZE_DEVICE, "synchronize device", NOTHING, NOTHING, NOTHING)                         \
    X(QUERY_EVENT, "query event", EVENT, NOTHING, NOTHING)                                         \
    X(QUERY_STREAM, "query stream", NOTHING, NOTHING, STREAM)                                      \
    X(DESTROY_EVENT, "destroy event", EVENT, NOTHING, NOTHING)                                     \
    X(TRIM, "trim", NOTHING, BYTES, NOTHING)

// A failure is a request that failed when the trace was recorded: it has a block that is never
// freed.
enum sp_trace_action {
#define SP_TRACE_ENUMERATOR(name, word, pointer, size, stream) SP_TRACE_##name,
    SP_TRACE_ACTIONS(SP_TRACE_ENUMERATOR)
#undef SP_TRACE_ENUMERATOR
};

//   X(name, its word in the file)
//
// The places that memory of pools is at. The word of another place than a device stands behind
// `allocate`, `allocate failure` and `trim`, with a space between; a free is at its block's place.
#define SP_TRACE_PLACES(X)                                                                         \
    X(DEVICE, "device")                                                                            \
    X(HOST, "host")                                                                                \
    X(NODE, "node")                                                                                \
    X(STAGING, "staging")                                                                          \
    X(MANAGED, "managed")

enum sp_trace_place {
#define SP_TRACE_ENUMERATOR(name, word) SP_TRACE_AT_##name,
    SP_TRACE_PLACES(SP_TRACE_ENUMERATOR)
#undef SP_TRACE_ENUMERATOR
        SP_TRACE_PLACE_COUNT
};

const char *sp_trace_place_word(enum sp_trace_place place);

// The block of a free of a null pointer, and of a line that is about no block.
#define SP_TRACE_NO_BLOCK UINT32_MAX
// The stream of a line that has none.
#define SP_TRACE_NO_STREAM UINT32_MAX
// The end of a stream that the trace doesn't destroy.
#define SP_TRACE_NO_END SIZE_MAX

struct sp_trace_operation {
    enum sp_trace_action action;
    uint32_t block;            // index in blocks
    uint32_t stream;           // index in streams
    uint32_t thread;           // from 0, in the order in which the trace first names them
    enum sp_trace_place place; // of a trim
    union {
        struct {            // of a line with an event:
            uint32_t event; // from 0, in the order in which the trace first names them
            uint32_t turn;  // how many lines before it have the event
        };
        uint64_t keep; // of a trim, in bytes
    };
};

struct sp_trace_block {
    uint64_t size;
    uint32_t stream;  // that it was requested on
    uint8_t place;    // enum sp_trace_place
    bool handed_over; // it is freed on another stream, or in no stream's order
};

enum sp_trace_kind {
    SP_TRACE_LEGACY,
    SP_TRACE_PER_THREAD, // of one thread, which alone uses it
    SP_TRACE_BLOCKING,
    SP_TRACE_NON_BLOCKING,
};

struct sp_trace_stream {
    uint64_t number;
    enum sp_trace_kind kind;
    uint32_t thread; // that first names it
    bool is_used;    // it has lines that tell more than its kind and its end
    size_t first;    // the operation that first names it
    size_t end;      // the operation that destroys it
};

struct sp_trace {
    char *name; // of the file, without its folder and without .csv and .gz
    struct sp_trace_operation *operations;
    size_t operation_count;
    struct sp_trace_block *blocks;
    size_t block_count;
    struct sp_trace_stream *streams; // in the order in which the trace first names them
    size_t stream_count;
    size_t event_count;
    size_t thread_count;
    bool has_order;                       // it has other lines than RMM's
    bool has_place[SP_TRACE_PLACE_COUNT]; // it has requests there
    // These two count the device's blocks alone.
    uint64_t live_peak_bytes;   // the largest sum of requested bytes that are alive at once
    size_t live_peak_operation; // the operation that first reaches it
};

struct sp_trace_error {
    unsigned long line; // 0 when the trouble is with the file as a whole
    char reason[256];
};

// Reads a trace. False, with the place and the reason, when anything in the file is not as it
// should be; then there is nothing to release.
bool sp_trace_read(const char *path, struct sp_trace *trace, struct sp_trace_error *error);
void sp_trace_release(struct sp_trace *trace);

// True for a free on another stream than that of its block's allocation.
static inline bool sp_trace_is_foreign(const struct sp_trace *trace,
                                       const struct sp_trace_operation *operation) {
    return operation->action == SP_TRACE_FREE && operation->block != SP_TRACE_NO_BLOCK &&
           trace->blocks[operation->block].stream != operation->stream;
}

// The traces that a command line names, all read before anything is done with one.
struct sp_traces {
    struct sp_trace *list;
    size_t count;
};

// False when one can't be read; standard error has the file, the line and the reason. Release them
// either way.
bool sp_traces_read(struct sp_traces *traces, char *const *paths, size_t count);
void sp_traces_release(struct sp_traces *traces);

size_t sp_traces_operations(const struct sp_traces *traces);

#endif
