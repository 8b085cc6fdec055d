// streampool run: a program with the drop-in in front of the driver, and a summary of what came of
// it. Each part has a file of its own.
#ifndef STREAMPOOL_CLI_RUN_H
#define STREAMPOOL_CLI_RUN_H

#include "cli/program/child.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum sp_run_mode { SP_RUN_PRELOAD, SP_RUN_LIBRARY };

struct sp_run_request {
    enum sp_run_mode mode;
    char *settings;     // of --set, with commas between; null for none
    const char *record; // the file, or null
    const char *output; // likewise
    const char *json;
    bool seams;
    bool sim;           // on the simulated driver
    bool check, stacks; // which looks for mistakes, and tells call stacks
    const char *found;  // the file of what it finds, or null
    char **program;     // its name and arguments, and a null pointer
};

// Statuses of this command when the program can't be run, as of env(1) and the shells. Else the
// status is the program's, or 128 and the signal that ended it; or, where that is 0, the one that
// says of --check that there are mistakes.
enum { SP_RUN_MISTAKES = 5, SP_RUN_FAILED = 125, SP_RUN_NOT_STARTED = 126, SP_RUN_NOT_FOUND = 127 };

// ------------------------------------------------------------------ the environment (run_setup.c)

// Sets the variables in this process, which the program inherits. `report` is the path of the file
// of reports. False when that isn't possible; standard error says why.
bool sp_run_setup(const struct sp_run_request *request, const char *report);

// ------------------------------------------------------------ what --check finds (run_check.c)

// Has each process write what it finds into this folder, which is there.
bool sp_run_check_begin(const char *folder);

// Sums up what all have found, writes it to the file that the request names, if it does, and takes
// the folder away. False when that fails; standard error says why.
bool sp_run_check_end(const struct sp_run_request *request, const char *folder, uint64_t *mistakes);

// -------------------------------------------------------------------- its reports (run_reports.c)

// A program in a process, by its reports (dropin/format.h). A process that becomes another program
// by exec() is another one.
struct sp_run_process {
    pid_t id;
    bool started;      // it made a pool call
    bool replaced;     // another program came in its place
    const cJSON *load; // null for a forked child, which goes on with its parent's drop-in
    const cJSON *end;  // null where it didn't report its end
};

struct sp_run_reports {
    cJSON *lines; // all of them
    struct sp_run_process *list;
    size_t count;
    size_t used; // of them made a pool call
};

// Reads a file of reports. Lines that can't be read are left out. False without host memory, or
// when the file can't be read; standard error says why.
bool sp_run_reports_read(struct sp_run_reports *reports, const char *path);
void sp_run_reports_release(struct sp_run_reports *reports);

// Fields of a line, which may be null: a number, a text, a number of an object and a list. One that
// isn't there is 0, "" or null.
uint64_t sp_run_number(const cJSON *line, const char *field);
const char *sp_run_text(const cJSON *line, const char *field);
uint64_t sp_run_count(const cJSON *line, const char *object, const char *field);
const cJSON *sp_run_list(const cJSON *line, const char *field);

// The look-ups of a process, and the objects that are linked with names of ours.
struct sp_run_lookups {
    uint64_t lookups, linked;
};
struct sp_run_lookups sp_run_lookups(const cJSON *end);

// ------------------------------------------------------------------------ traces (run_setup.c)

// Adds to a list the paths of the traces that the processes have recorded, each in a file of its
// own. The only one gets the name that was asked for; several keep the names that have the
// processes' numbers. False without host memory or when the trace can't be renamed; standard error
// says why.
bool sp_run_find_traces(cJSON *paths, const char *record, const struct sp_run_reports *reports);

// --------------------------------------------------------------------------- why (run_reason.c)

enum { SP_RUN_REASON = 512 };

// Did the drop-in take hold of a process that made a pool call? Returns "yes", "partly", "no" or
// "unknown", and says why. Two figures that don't know of each other are compared: what the drop-in
// served, and what the driver's own default pools have had.
const char *sp_run_verdict(const struct sp_run_process *process, char why[SP_RUN_REASON]);

// Allocations that CUDA's pools served and the drop-in saw.
uint64_t sp_run_cudas(const cJSON *end);

// Says why nothing was served, as well as that can be known: a sentence.
void sp_run_reason(const struct sp_run_request *request, const struct sp_run_reports *reports,
                   char text[SP_RUN_REASON]);

// -------------------------------------------------------------------- the summary (run_summary.c)

struct sp_run_outcome {
    const struct sp_run_request *request;
    struct sp_child child;
    struct sp_run_reports reports;
    cJSON *traces; // their paths
};

void sp_run_summary_print(const struct sp_run_outcome *outcome, FILE *out);

// Writes it as JSON to the file that the request names. False when that fails; standard error says
// why.
bool sp_run_summary_write(const struct sp_run_outcome *outcome);

#endif
