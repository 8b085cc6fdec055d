#include "cli/run/run_reports.h"

#include "cli/program/complain.h"
#include "cli/program/utf8.h"
#include "dropin/format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t sp_run_reports_number(const cJSON *line, const char *field) {
    double number = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(line, field));
    return number > 0 ? (uint64_t)number : 0; // it isn't one where there is no such field
}

const char *sp_run_reports_text(const cJSON *line, const char *field) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(line, field));
    return text ? text : "";
}

uint64_t sp_run_reports_count(const cJSON *line, const char *object, const char *field) {
    return sp_run_reports_number(cJSON_GetObjectItemCaseSensitive(line, object), field);
}

struct sp_run_lookups sp_run_reports_lookups(const cJSON *end) {
    struct sp_run_lookups sum = {0, 0, 0};
    const cJSON *routes = cJSON_GetObjectItemCaseSensitive(end, "routes");
#define ADD(name, what)                                                                            \
    sum.lookups += sp_run_reports_count(routes, #name, "lookups");                                 \
    sum.ours += sp_run_reports_count(routes, #name, "ours");
    SP_REPORT_ROUTES(ADD)
#undef ADD
    sum.linked = (uint64_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(end, "linked"));
    return sum;
}

// ------------------------------------------------------------------------------------------
// reading

// The highest number of a process on Linux.
enum { PROCESSES_MAX = 4 * 1024 * 1024 };

// The process whose number it is, or null. Numbers come again: the last one has it.
static struct sp_run_process *find(const struct sp_run_reports *reports, pid_t id) {
    size_t last = (size_t)id < reports->last_room ? reports->last[id] : 0;
    return last > 0 ? &reports->list[last - 1] : NULL;
}

static bool make_room(struct sp_run_reports *reports, pid_t id) {
    size_t room = 2 * (size_t)id + 1;
    if ((size_t)id < reports->last_room)
        return true;
    size_t *larger = realloc(reports->last, room * sizeof *larger);
    if (!larger)
        return false;
    memset(larger + reports->last_room, 0, (room - reports->last_room) * sizeof *larger);
    reports->last = larger;
    reports->last_room = room;
    return true;
}

static struct sp_run_process *add(struct sp_run_reports *reports, pid_t id) {
    if (!make_room(reports, id))
        return NULL;
    struct sp_run_process *larger =
        realloc(reports->list, (reports->count + 1) * sizeof *reports->list);
    if (!larger)
        return NULL;
    reports->list = larger;
    reports->list[reports->count] = (struct sp_run_process){.id = id};
    reports->last[id] = ++reports->count;
    return &reports->list[reports->count - 1];
}

// A program that is loaded begins anew, and so does what follows an end.
static struct sp_run_process *place_of(struct sp_run_reports *reports, pid_t id, bool loads) {
    struct sp_run_process *last = find(reports, id);
    if (last && !last->end && !loads)
        return last;
    if (last && !last->end)
        last->replaced = true;
    return add(reports, id);
}

static bool note(struct sp_run_reports *reports, const cJSON *line) {
    const char *event = sp_run_reports_text(line, "event");
    uint64_t number = sp_run_reports_number(line, "pid");
    bool loads = strcmp(event, "load") == 0;
    if (number == 0 || number > PROCESSES_MAX)
        return true; // no line of the drop-in's
    pid_t id = (pid_t)number;
    struct sp_run_process *process = place_of(reports, id, loads);
    if (!process)
        return false;
    if (loads)
        process->load = line;
    else if (strcmp(event, "start") == 0)
        process->started = true;
    else
        process->end = line;
    return true;
}

// Half a line, of a full disk, is none.
static bool read_line(struct sp_run_reports *reports, const char *text) {
    char *valid = sp_utf8_of(text);
    cJSON *line = valid ? cJSON_Parse(valid) : NULL;
    bool good = valid != NULL;
    free(valid);
    if (line && (!cJSON_AddItemToArray(reports->lines, line) || !note(reports, line)))
        good = false;
    return good;
}

bool sp_run_reports_read(struct sp_run_reports *reports, const char *path) {
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;
    *reports = (struct sp_run_reports){.lines = cJSON_CreateArray()};
    if (!file)
        return sp_complain("%s: %s", path, strerror(errno));
    bool good = reports->lines != NULL;
    while (good && getline(&text, &size, file) >= 0)
        good = read_line(reports, text);
    free(text);
    fclose(file);
    return good || sp_complain("out of host memory");
}

void sp_run_reports_release(struct sp_run_reports *reports) {
    cJSON_Delete(reports->lines);
    free(reports->list);
    free(reports->last);
}
