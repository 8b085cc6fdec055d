#include "cli/run/run.h"

#include "cli/program/complain.h"
#include "cli/program/utf8.h"
#include "dropin/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t sp_run_number(const cJSON *line, const char *field) {
    double number = cJSON_GetNumberValue(sp_run_list(line, field));
    return number > 0 ? (uint64_t)number : 0; // it isn't one where there is no such field
}

const char *sp_run_text(const cJSON *line, const char *field) {
    const char *text = cJSON_GetStringValue(sp_run_list(line, field));
    return text ? text : "";
}

uint64_t sp_run_count(const cJSON *line, const char *object, const char *field) {
    return sp_run_number(sp_run_list(line, object), field);
}

const cJSON *sp_run_list(const cJSON *line, const char *field) {
    return cJSON_GetObjectItemCaseSensitive(line, field);
}

struct sp_run_lookups sp_run_lookups(const cJSON *end) {
    const cJSON *routes = sp_run_list(end, "routes");
    struct sp_run_lookups sum = {0, (uint64_t)cJSON_GetArraySize(sp_run_list(end, "linked"))};
#define ADD(name, what) sum.lookups += sp_run_count(routes, #name, "lookups");
    SP_REPORT_ROUTES(ADD)
#undef ADD
    return sum;
}

// ----------------------------------------------------------------------------------------- reading

// The highest number of a process on Linux.
enum { PROCESSES_MAX = 4 * 1024 * 1024 };

// Returns the program that a line is about. One that is loaded begins anew, and so does what
// follows an end. Numbers come again: the last one has it. Null without host memory.
static struct sp_run_process *place_of(struct sp_run_reports *reports, pid_t id, bool loads) {
    size_t i = reports->count, room = (reports->count + 1) * sizeof *reports->list;
    while (i > 0 && reports->list[i - 1].id != id)
        i--;
    struct sp_run_process *last = i > 0 ? &reports->list[i - 1] : NULL;
    if (last && !last->end && !loads)
        return last;
    if (last && !last->end)
        last->replaced = true;
    struct sp_run_process *larger = realloc(reports->list, room);
    if (!larger)
        return NULL;
    reports->list = larger;
    larger[reports->count] = (struct sp_run_process){.id = id};
    return &larger[reports->count++];
}

static bool note(struct sp_run_reports *reports, const cJSON *line) {
    const char *event = sp_run_text(line, "event");
    uint64_t number = sp_run_number(line, "pid");
    bool loads = strcmp(event, "load") == 0, starts = strcmp(event, "start") == 0;
    if (number == 0 || number > PROCESSES_MAX)
        return true; // no line of the drop-in's
    struct sp_run_process *process = place_of(reports, (pid_t)number, loads);
    if (!process)
        return false;
    reports->used += starts && !process->started;
    process->started = process->started || starts;
    if (loads)
        process->load = line;
    else if (!starts)
        process->end = line;
    return true;
}

// Half a line, of a full disk, is none.
bool sp_run_reports_read(struct sp_run_reports *reports, const char *path) {
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;
    *reports = (struct sp_run_reports){.lines = cJSON_CreateArray()};
    if (!file)
        return sp_complain("%s: %s", path, strerror(errno));
    bool good = reports->lines != NULL;
    while (good && getline(&text, &size, file) >= 0) {
        char *valid = sp_utf8_of(text);
        cJSON *line = valid ? cJSON_Parse(valid) : NULL;
        good = valid != NULL;
        free(valid);
        if (line)
            good = cJSON_AddItemToArray(reports->lines, line) && note(reports, line);
    }
    free(text);
    fclose(file);
    return good || sp_complain("out of host memory");
}

void sp_run_reports_release(struct sp_run_reports *reports) {
    cJSON_Delete(reports->lines);
    free(reports->list);
}
