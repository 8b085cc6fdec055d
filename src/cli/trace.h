// A recorded trace of allocations, read whole, checked and resolved, so that a replay only walks
// arrays.
//
// The format is RMM's log (docs/replay.md), plain or gzipped. Each line after the header is one
// operation, so operation i stands on line i + 2. Pointers are resolved to blocks: each request of
// the trace is a block of its own, and a free names the block that it frees. Stream and thread
// numbers are resolved to indices. A free on another stream than its allocation is a *foreign* one.
//
// The caller owns the struct; nothing in it is written after sp_trace_read(), so threads may share
// it.
#ifndef STREAMPOOL_CLI_TRACE_H
#define STREAMPOOL_CLI_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum sp_trace_action {
    SP_TRACE_ALLOCATE,
    SP_TRACE_FREE,
    SP_TRACE_FAILURE, // a request that failed when the trace was recorded: it has a block that is
                      // never freed
};

// The block of a free of a null pointer.
#define SP_TRACE_NO_BLOCK UINT32_MAX

struct sp_trace_operation {
    enum sp_trace_action action;
    uint32_t block;  // index in blocks
    uint32_t stream; // index in streams
    uint32_t thread; // from 0, in the order in which the trace first names them
};

struct sp_trace_block {
    uint64_t size;
    uint32_t stream; // that it was requested on
};

struct sp_trace {
    char *name; // of the file, without its folder and without .csv and .gz
    struct sp_trace_operation *operations;
    size_t operation_count;
    struct sp_trace_block *blocks;
    size_t block_count;
    uint64_t *streams; // the stream numbers, in the order in which the trace first names them
    size_t stream_count;
    size_t thread_count;
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

// Writes "path:line: reason" and a newline.
void sp_trace_error_print(FILE *out, const char *path, const struct sp_trace_error *error);

// True for a free on another stream than that of its block's allocation.
static inline bool sp_trace_is_foreign(const struct sp_trace *trace,
                                       const struct sp_trace_operation *operation) {
    return operation->action == SP_TRACE_FREE && operation->block != SP_TRACE_NO_BLOCK &&
           trace->blocks[operation->block].stream != operation->stream;
}

// The line of the file that an operation stands on.
static inline unsigned long sp_trace_line_of(size_t operation) {
    return (unsigned long)operation + 2;
}

#endif
