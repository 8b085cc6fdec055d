// sp_mend makes a whole trace of operations that may begin and end in the middle of a run.
//
// A pointer is unknown until it is first named, then alive or freed:
//   free, unknown      it was allocated before the beginning, with the size and stream of its free
//   free, freed        it was allocated just before
//   free, alive        with another size: that of the allocation counts
//   allocation, alive  it was freed just before, on the stream of its allocation
// Each of these is a repair, which is counted; a strict one fails instead.
//
// The result is a trace that sp_trace_read() takes. The functions are not thread safe.
#ifndef STREAMPOOL_CLI_MEND_H
#define STREAMPOOL_CLI_MEND_H

#include "cli/trace/map.h"
#include "cli/trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

//   X(enumerator, one of it in words, several of it)
#define SP_MEND_REPAIRS(X)                                                                         \
    X(OLDER, "allocation from before the beginning", "allocations from before the beginning")      \
    X(LOST_FREE, "lost free", "lost frees")                                                        \
    X(LOST_ALLOCATION, "lost allocation", "lost allocations")                                      \
    X(SIZE, "free with another size", "frees with another size")                                   \
    X(UNKNOWN_ACTION, "entry of an unknown kind left out", "entries of unknown kinds left out")    \
    X(CONTRADICTION, "block left out that is active at the end though the trace freed it",         \
      "blocks left out that are active at the end though the trace freed them")                    \
    X(NO_HEADER, "missing header", "missing headers")                                              \
    X(HEADER, "header between the lines", "headers between the lines")                             \
    X(CUT_LINE, "line left out that was cut", "lines left out that were cut")

#define SP_MEND_ENUMERATOR(name, singular, plural) SP_MEND_##name,
enum sp_mend_repair { SP_MEND_REPAIRS(SP_MEND_ENUMERATOR) SP_MEND_REPAIR_COUNT };
#undef SP_MEND_ENUMERATOR

struct sp_mend_operation {
    enum sp_trace_action action;
    uint64_t thread;
    uint64_t time; // in microseconds, from any beginning
    uint64_t pointer;
    uint64_t size;
    uint64_t stream;
};

struct sp_mend_list {
    struct sp_mend_operation *operations;
    size_t count;
    size_t capacity;
};

struct sp_mend {
    bool is_strict;
    struct sp_mend_list older; // allocations from before the beginning
    struct sp_mend_list rest;  // all operations behind them
    struct sp_map states; // pointer -> index of its allocation in `rest`, or a number for freed
    uint64_t repairs[SP_MEND_REPAIR_COUNT];
};

void sp_mend_release(struct sp_mend *mend);

// All that return false leave the reason in `error`.

// Adds the next operation.
bool sp_mend_add(struct sp_mend *mend, const struct sp_mend_operation *operation,
                 struct sp_trace_error *error);

// Adds a block that is alive at the end, when all operations were added: if none has named it, it
// is as old as the beginning.
bool sp_mend_add_alive(struct sp_mend *mend, const struct sp_mend_operation *allocation,
                       struct sp_trace_error *error);

// Counts a repair; false when it is strict, with the text as the reason.
bool sp_mend_repair(struct sp_mend *mend, enum sp_mend_repair repair, struct sp_trace_error *error,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

// Says whether the whole can be a trace: it has an operation, and never 2^64 bytes alive.
bool sp_mend_finish(const struct sp_mend *mend, struct sp_trace_error *error);

// Writes one line with the repairs, if there are any.
void sp_mend_print(FILE *out, const char *path, const struct sp_mend *mend);

#endif
