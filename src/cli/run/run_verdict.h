// Did the drop-in take hold of a process? Two figures that don't know of each other are compared:
// what the drop-in served, and what the driver's own default pools have had.
#ifndef STREAMPOOL_CLI_RUN_VERDICT_H
#define STREAMPOOL_CLI_RUN_VERDICT_H

#include "cli/run/run_reports.h"

enum sp_run_hold { SP_RUN_HOLD_YES, SP_RUN_HOLD_PARTLY, SP_RUN_HOLD_NO, SP_RUN_HOLD_UNKNOWN };

struct sp_run_verdict {
    enum sp_run_hold hold;
    const char *word; // "yes", "partly", "no" or "unknown"
    char why[160];
};

// For a process that made a pool call.
struct sp_run_verdict sp_run_verdict(const struct sp_run_process *process);

// Allocations that CUDA's pools served and the drop-in saw.
uint64_t sp_run_verdict_cudas(const cJSON *end);

#endif
