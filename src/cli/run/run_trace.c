#include "cli/run/run_trace.h"

#include "cli/program/complain.h"
#include "cli/run/run_setup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has(const struct sp_run_traces *traces, const char *path) {
    for (size_t i = 0; i < traces->count; i++)
        if (strcmp(traces->paths[i], path) == 0)
            return true;
    return false;
}

// Adds the trace of a process, if there is one.
static bool add(struct sp_run_traces *traces, const char *record, pid_t id) {
    char number[32], path[PATH_MAX];
    snprintf(number, sizeof number, "%ld", (long)id);
    if (!sp_run_setup_trace(record, number, path) || access(path, F_OK) != 0 || has(traces, path))
        return true;
    char **larger = realloc(traces->paths, (traces->count + 1) * sizeof *larger);
    if (!larger)
        return sp_complain("out of host memory");
    traces->paths = larger;
    traces->paths[traces->count] = strdup(path);
    if (!traces->paths[traces->count])
        return sp_complain("out of host memory");
    traces->count++;
    return true;
}

static bool rename_only(struct sp_run_traces *traces, const char *record) {
    char *name = strdup(record);
    if (!name)
        return sp_complain("out of host memory");
    if (rename(traces->paths[0], record) != 0) {
        free(name);
        return sp_complain("%s can't be renamed to %s: %s", traces->paths[0], record,
                           strerror(errno));
    }
    free(traces->paths[0]);
    traces->paths[0] = name;
    return true;
}

bool sp_run_trace_gather(struct sp_run_traces *traces, const char *record,
                         const struct sp_run_reports *reports) {
    *traces = (struct sp_run_traces){.count = 0};
    for (size_t i = 0; record && i < reports->count; i++)
        if (!add(traces, record, reports->list[i].id))
            return false;
    return traces->count != 1 || rename_only(traces, record);
}

void sp_run_trace_release(struct sp_run_traces *traces) {
    for (size_t i = 0; i < traces->count; i++)
        free(traces->paths[i]);
    free(traces->paths);
}
