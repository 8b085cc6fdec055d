// The environment of a program that is run with the drop-in.
#ifndef STREAMPOOL_CLI_RUN_SETUP_H
#define STREAMPOOL_CLI_RUN_SETUP_H

#include "cli/run/run.h"

// Sets the variables in this process, which the program inherits. `report` is the path of the file
// of reports. False when that isn't possible; standard error says why.
bool sp_run_setup(const struct sp_run_request *request, const char *report);

// The absolute path of the trace of one process, which ends up in the file that was asked for when
// it is the only one. False when it is too long.
bool sp_run_setup_trace(const char *record, const char *process, char path[PATH_MAX]);

#endif
