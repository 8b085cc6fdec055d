// streampool run: a program with the drop-in in front of the driver, and a summary of what came of
// it.
#ifndef STREAMPOOL_CLI_RUN_H
#define STREAMPOOL_CLI_RUN_H

#include <argp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

enum sp_run_mode { SP_RUN_PRELOAD, SP_RUN_LIBRARY };

struct sp_run_request {
    enum sp_run_mode mode;
    char *settings;     // of --set, with commas between; null for none
    const char *record; // the file, or null
    const char *output; // likewise
    const char *json;
    bool seams;
    char **program; // its name and arguments, and a null pointer
};

// Statuses of this command when the program can't be run, as of env(1) and the shells. Else the
// status is the program's, or 128 and the signal that ended it.
enum { SP_RUN_FAILED = 125, SP_RUN_NOT_STARTED = 126, SP_RUN_NOT_FOUND = 127 };

#endif
