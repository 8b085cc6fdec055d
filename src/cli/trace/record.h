// A record has the values of one line of a trace. Reading one keeps no state and allocates
// nothing.
#ifndef STREAMPOOL_CLI_RECORD_H
#define STREAMPOOL_CLI_RECORD_H

#include "cli/trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_RECORD_HEADER "Thread,Time,Action,Pointer,Size,Stream"

struct sp_record {
    enum sp_trace_action action;
    enum sp_trace_place place; // the device where none is said
    uint64_t thread;
    uint64_t pointer; // 0 for a null pointer
    uint64_t size;
    uint64_t stream;
    bool has_stream; // else the column is to be ignored
};

// Reads one line without its end. False, with the reason, when a field is missing, superfluous or
// not what it should be, or has no meaning for the action.
bool sp_record_parse(const char *line, size_t length, struct sp_record *record,
                     struct sp_trace_error *error);

// Notes a reason. Returns false, so that a caller can return it.
bool sp_record_fail(struct sp_trace_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// The line of the file that a trace's operation stands on.
static inline unsigned long sp_record_line_of(size_t operation) {
    return (unsigned long)operation + 2;
}

#endif
