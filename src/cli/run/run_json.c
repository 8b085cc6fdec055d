// The objects of processes have the fields of their reports (dropin/format.h), but for those of a
// single event.
#include "cli/run/run.h"

#include "cli/program/json.h"

#include <string.h>
#include <sys/wait.h>

static bool is_own(const cJSON *field) {
    static const char *const left_out[] = {"event", "pid", "parent", "program"};
    for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++)
        if (strcmp(field->string, left_out[i]) == 0)
            return false;
    return true;
}

static bool add_fields(cJSON *object, const cJSON *end) {
    const cJSON *field;
    cJSON_ArrayForEach(field, end) {
        if (is_own(field) &&
            !cJSON_AddItemToObject(object, field->string, cJSON_Duplicate(field, true)))
            return false;
    }
    return true;
}

static bool fill_process(cJSON *object, const struct sp_run_process *process) {
    char why[SP_RUN_REASON];
    return sp_json_add_count(object, "process", (uint64_t)process->id) &&
           sp_json_add_count(object, "parent", sp_run_number(process->load, "parent")) &&
           sp_json_add_text(object, "program", sp_run_text(process->load, "program")) &&
           sp_json_add_flag(object, "used_pools", process->started) &&
           sp_json_add_flag(object, "reported", process->end != NULL) &&
           (!process->started ||
            sp_json_add_text(object, "took_hold", sp_run_verdict(process, why))) &&
           add_fields(object, process->end);
}

static bool add_processes(cJSON *object, const struct sp_run_reports *reports) {
    cJSON *list = cJSON_AddArrayToObject(object, "processes");
    for (size_t i = 0; list && i < reports->count; i++) {
        cJSON *process = cJSON_CreateObject();
        if (!cJSON_AddItemToArray(list, process) || !fill_process(process, &reports->list[i]))
            return false;
    }
    return list != NULL;
}

static bool add_traces(cJSON *object, const cJSON *paths) {
    cJSON *list = cJSON_AddArrayToObject(object, "traces");
    const cJSON *path;
    cJSON_ArrayForEach(path, paths) {
        cJSON *trace = cJSON_CreateObject();
        if (!cJSON_AddItemToArray(list, trace) ||
            !sp_json_add_text(trace, "file", path->valuestring))
            return false;
    }
    return list != NULL;
}

static bool fill(cJSON *object, const void *item) {
    const struct sp_run_outcome *outcome = item;
    int status = outcome->child.status;
    bool killed = WIFSIGNALED(status), served = outcome->reports.used > 0;
    char why[SP_RUN_REASON];
    if (!served)
        sp_run_reason(outcome->request, &outcome->reports, why);
    return sp_json_add_text(object, "program", outcome->request->program[0]) &&
           sp_json_add_count(object, "process", (uint64_t)outcome->child.process) &&
           sp_json_add_count(object, killed ? "signal" : "status",
                             (uint64_t)(killed ? WTERMSIG(status) : WEXITSTATUS(status))) &&
           (served || sp_json_add_text(object, "nothing_served", why)) &&
           add_processes(object, &outcome->reports) && add_traces(object, outcome->traces);
}

bool sp_run_summary_write(const struct sp_run_outcome *outcome) {
    return sp_json_write_object(outcome->request->json, fill, outcome);
}
