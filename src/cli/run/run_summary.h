// The summary of a run, for people and for programs.
#ifndef STREAMPOOL_CLI_RUN_SUMMARY_H
#define STREAMPOOL_CLI_RUN_SUMMARY_H

#include "cli/program/child.h"
#include "cli/run/run.h"
#include "cli/run/run_reports.h"
#include "cli/run/run_trace.h"

struct sp_run_outcome {
    const struct sp_run_request *request;
    struct sp_child child;
    struct sp_run_reports reports;
    struct sp_run_traces traces;
};

void sp_run_summary_print(const struct sp_run_outcome *outcome, FILE *out);

// Writes it as JSON to the file that the request names. False when that fails; standard error says
// why.
bool sp_run_summary_write(const struct sp_run_outcome *outcome);

#endif
