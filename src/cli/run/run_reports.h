// The reports of the processes of a run (dropin/format.h).
#ifndef STREAMPOOL_CLI_RUN_REPORTS_H
#define STREAMPOOL_CLI_RUN_REPORTS_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// A program in a process. A process that becomes another program by exec() is another one.
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
    size_t *last; // by a process's number: 1 and the index of the last one that has it, or 0
    size_t last_room;
};

// Reads a file of reports. Lines that can't be read are left out. False without host memory, or
// when the file can't be read; standard error says why.
bool sp_run_reports_read(struct sp_run_reports *reports, const char *path);
void sp_run_reports_release(struct sp_run_reports *reports);

// Fields of a line. A field that isn't there is 0 or "". The line may be null.
uint64_t sp_run_reports_number(const cJSON *line, const char *field);
const char *sp_run_reports_text(const cJSON *line, const char *field);

// A number of an object in a line.
uint64_t sp_run_reports_count(const cJSON *line, const char *object, const char *field);

// The look-ups of a process, and the objects that are linked with names of ours.
struct sp_run_lookups {
    uint64_t lookups, ours, linked;
};
struct sp_run_lookups sp_run_reports_lookups(const cJSON *end);

#endif
