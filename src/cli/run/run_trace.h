// The traces that the processes of a run have recorded, each in a file of its own.
#ifndef STREAMPOOL_CLI_RUN_TRACE_H
#define STREAMPOOL_CLI_RUN_TRACE_H

#include "cli/run/run.h"
#include "cli/run/run_reports.h"

struct sp_run_traces {
    char **paths;
    size_t count;
};

// Finds the traces. The only one gets the name that was asked for; several keep the names that have
// the processes' numbers. False without host memory or when the trace can't be renamed; standard
// error says why.
bool sp_run_trace_gather(struct sp_run_traces *traces, const char *record,
                         const struct sp_run_reports *reports);
void sp_run_trace_release(struct sp_run_traces *traces);

#endif
