// The traces that a command line names, all read before anything is done with one.
#ifndef STREAMPOOL_CLI_TRACES_H
#define STREAMPOOL_CLI_TRACES_H

#include "cli/trace/trace.h"

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
