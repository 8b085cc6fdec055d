#include "cli/run/run.h"

#include "cli/program/json.h"
#include "cli/program/page.h"
#include "cli/program/quantity.h"
#include "cli/program/statistics.h"
#include "dropin/format.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

// Prints a line about a process.
__attribute__((format(printf, 3, 4))) static void say(FILE *out, const char *title,
                                                      const char *format, ...) {
    const struct sp_page page = {.out = out, .title = 24};
    char text[PATH_MAX + SP_RUN_REASON];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sp_page_say(&page, "  %-20s  %s\n", title, text);
}

static uint64_t count_of(const cJSON *end, const char *name) {
    return sp_run_count(end, "counts", name);
}

// ---------------------------------------------------------------------------------- who has served

#define OURS(name, what)
#define OTHER(name, what)
#define CUDAS(name, what)                                                                          \
    if (count_of(end, #name) > 0)                                                                  \
        say(out, "", "%" PRIu64 " %s", count_of(end, #name), what);
static void print_served(FILE *out, const struct sp_run_process *process) {
    const cJSON *end = process->end;
    char why[SP_RUN_REASON];
    static const char served[] = "%" PRIu64 " allocations, %" PRIu64 " frees";
    say(out, "streampool served", served, count_of(end, "allocations"), count_of(end, "frees"));
    say(out, "CUDA's pools served", served, sp_run_cudas(end), count_of(end, "cuda_frees"));
#define PRINT(name, group, what) group(name, what)
    SP_REPORT_COUNTS(PRINT)
#undef PRINT
    const char *word = sp_run_verdict(process, why);
    say(out, "took hold", "%s: %s", word, why);
}

// --------------------------------------------------------------------------------------- the peaks

static void say_peaks(FILE *out, const cJSON *object, const char *whose) {
    char used[SP_QUANTITY_TEXT], reserved[SP_QUANTITY_TEXT];
    say(out, "peaks", "%s: %s live, %s reserved", whose,
        sp_bytes_text(sp_run_number(object, "used_high"), used),
        sp_bytes_text(sp_run_number(object, "reserved_high"), reserved));
}

// A pool of the program's own is told with its place, which the name of a default pool has.
static void print_pools(FILE *out, const cJSON *end) {
    const cJSON *pools = sp_run_list(end, "pools"), *pool, *device;
    char whose[128];
    cJSON_ArrayForEach(pool, pools) {
        const char *kind = sp_run_text(pool, "kind"), *name = sp_run_text(pool, "name");
        if (strcmp(kind, "destroyed") == 0)
            snprintf(whose, sizeof whose, "most of a destroyed pool, of %" PRIu64,
                     sp_run_number(pool, "count"));
        else if (strcmp(kind, "other") == 0)
            snprintf(whose, sizeof whose, "%s of %s", name, sp_run_text(pool, "place"));
        else
            snprintf(whose, sizeof whose, "%s", name);
        say_peaks(out, pool, whose);
    }
    if (cJSON_IsNull(pools))
        say(out, "peaks", "unknown: the process ended inside a call of the library");
    cJSON_ArrayForEach(device, sp_run_list(end, "cuda")) {
        snprintf(whose, sizeof whose, "CUDA's default pool of device %" PRIu64,
                 sp_run_number(device, "device"));
        say_peaks(out, device, whose);
    }
}

// ---------------------------------------------------------------------------------- the statistics

static void print_statistics(FILE *out, const cJSON *end) {
    static const struct {
        const char *name, *text;
    } rows[] = {
#define ROW(name, number, text) {#name, text},
        STREAMPOOL_POOL_STATISTICS(ROW)
#undef ROW
    };
    char text[SP_QUANTITY_TEXT];
    for (size_t i = 0; i < SP_STATISTIC_COUNTERS; i++) {
        const char *name = rows[i].name;
        uint64_t value = sp_run_count(end, "statistics", name);
        enum sp_unit unit = sp_statistics_unit(i);
        if (value > 0 && unit == SP_UNIT_COUNT)
            say(out, name, "%" PRIu64 " %s", value, rows[i].text);
        else if (value > 0)
            say(out, name, "%s",
                unit == SP_UNIT_BYTES ? sp_bytes_text(value, text)
                                      : sp_time_text((double)value, text));
    }
}

static void print_time(FILE *out, const cJSON *end, const char *calls, const char *time,
                       const char *what) {
    char all[SP_QUANTITY_TEXT], each[SP_QUANTITY_TEXT];
    double count = (double)count_of(end, calls), nanoseconds = (double)count_of(end, time);
    if (count > 0)
        say(out, "time inside", "%s in %.0f %s, %s each", sp_time_text(nanoseconds, all), count,
            what, sp_time_text(nanoseconds / count, each));
}

// -------------------------------------------------------------------------------------- the routes

static void say_lookups(FILE *out, const char *title, const char *what, const cJSON *figures) {
    uint64_t lookups = sp_run_number(figures, "lookups"), ours = sp_run_number(figures, "ours");
    if (lookups > 0)
        say(out, title, "%s: %" PRIu64 " look-ups, %" PRIu64 " answered by streampool", what,
            lookups, ours);
}

static void print_routes(FILE *out, enum sp_run_mode mode, const cJSON *end) {
    const cJSON *routes = sp_run_list(end, "routes"), *object;
    const char *driver = sp_run_text(end, "driver");
    if (mode == SP_RUN_LIBRARY)
        say(out, "route", "streampool's libcuda.so.1, in front of the driver");
    cJSON_ArrayForEach(object, sp_run_list(end, "linked")) {
        say(out, "route", "linked names: %s needs %" PRIu64 " of those that streampool answers",
            sp_run_text(object, "name"), sp_run_number(object, "names"));
    }
#define PRINT(name, what) say_lookups(out, "route", what, sp_run_list(routes, #name));
    SP_REPORT_ROUTES(PRINT)
#undef PRINT
    cJSON_ArrayForEach(object, sp_run_list(end, "askers")) {
        say_lookups(out, "asked by", sp_run_text(object, "name"), object);
    }
    say(out, "driver", "%s", *driver ? driver : "not loaded");
}

// With --sim the environment names the simulated driver by its path.
static void print_wrong_driver(FILE *out, const cJSON *end) {
    const char *driver = sp_run_text(end, "driver"), *simulated = getenv("STREAMPOOL_DRIVER");
    char path[PATH_MAX];
    if (*driver && simulated && realpath(driver, path) && strcmp(path, simulated) != 0)
        say(out, "not simulated", "%s: the program has a path of its own to this driver", driver);
}

// ----------------------------------------------------------------------------------- the processes

static void print_process(FILE *out, const struct sp_run_outcome *outcome,
                          const struct sp_run_process *process) {
    enum sp_run_mode mode = outcome->request->mode;
    const cJSON *end = process->end;
    char text[SP_QUANTITY_TEXT];
    struct sp_run_lookups lookups = sp_run_lookups(end);
    bool has_route = lookups.lookups + lookups.linked > 0 || (end && mode == SP_RUN_LIBRARY);
    bool seams = outcome->request->seams && has_route;
    if (!process->started && !seams)
        return;
    fprintf(out, "process %ld", (long)process->id);
    if (process->load)
        fprintf(out, " (%s)", sp_run_text(process->load, "program"));
    bool runs = process->id != outcome->child.process && kill(process->id, 0) == 0;
    fputs(end                 ? "\n"
          : process->replaced ? ": became another program, without a report\n"
          : runs              ? ": still runs\n"
                              : ": ended without a report (killed, or by _exit)\n",
          out);
    if (outcome->request->sim)
        print_wrong_driver(out, end);
    if (process->started && end) {
        print_served(out, process);
        print_pools(out, end);
        print_time(out, end, "pool_calls", "pool_time", "pool calls");
        print_time(out, end, "order_calls", "order_time",
                   "calls about streams and events, with their waits");
        say(out, "time inside", "%s to start",
            sp_time_text((double)count_of(end, "start_time"), text));
        print_statistics(out, end);
    }
    if (seams)
        print_routes(out, mode, end);
}

void sp_run_summary_print(const struct sp_run_outcome *outcome, FILE *out) {
    const struct sp_run_reports *reports = &outcome->reports;
    size_t others = reports->count - reports->used;
    int status = outcome->child.status;
    const cJSON *trace;
    char why[SP_RUN_REASON];
    fprintf(out, "streampool run: %s ", outcome->request->program[0]);
    if (WIFSIGNALED(status))
        fprintf(out, "was killed by signal %d (%s)\n", WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    else
        fprintf(out, "ended with status %d\n", WEXITSTATUS(status));
    for (size_t i = 0; i < reports->count; i++)
        print_process(out, outcome, &reports->list[i]);
    if (reports->used == 0 && outcome->request->sim && reports->count > 0) {
        fprintf(out, "no call of CUDA's pools\n"); // that is not what the program is run for
    } else if (reports->used == 0) {
        sp_run_reason(outcome->request, reports, why);
        sp_page_say(&(struct sp_page){.out = out, .title = 2}, "streampool served nothing: %s\n",
                    why);
    } else if (others > 0) {
        fprintf(out, "%zu other process%s made no pool call\n", others, others == 1 ? "" : "es");
    }
    cJSON_ArrayForEach(trace, outcome->traces) {
        fprintf(out, "trace: %s\n", trace->valuestring);
    }
    if (outcome->request->record && cJSON_GetArraySize(outcome->traces) == 0)
        fprintf(out, "trace: none, as no process made a pool call\n");
}

// ------------------------------------------------------------------------------------------ JSON

// Adds the fields of a process's last report (dropin/format.h), but for those of a single event.
static bool add_fields(cJSON *object, const cJSON *end) {
    const cJSON *field;
    cJSON_ArrayForEach(field, end) {
        const char *key = field->string;
        if (strcmp(key, "event") == 0 || strcmp(key, "pid") == 0 || strcmp(key, "parent") == 0 ||
            strcmp(key, "program") == 0)
            continue;
        if (!cJSON_AddItemToObject(object, key, cJSON_Duplicate(field, true)))
            return false;
    }
    return true;
}

static bool add_process(cJSON *list, const struct sp_run_process *process) {
    char why[SP_RUN_REASON];
    cJSON *object = sp_json_add_object(list);
    return object && sp_json_add_count(object, "process", (uint64_t)process->id) &&
           sp_json_add_count(object, "parent", sp_run_number(process->load, "parent")) &&
           sp_json_add_text(object, "program", sp_run_text(process->load, "program")) &&
           sp_json_add_flag(object, "used_pools", process->started) &&
           sp_json_add_flag(object, "reported", process->end != NULL) &&
           (!process->started ||
            sp_json_add_text(object, "took_hold", sp_run_verdict(process, why))) &&
           add_fields(object, process->end);
}

static bool fill(cJSON *object, const void *item) {
    const struct sp_run_outcome *outcome = item;
    int status = outcome->child.status;
    bool killed = WIFSIGNALED(status), served = outcome->reports.used > 0;
    char why[SP_RUN_REASON];
    if (!served)
        sp_run_reason(outcome->request, &outcome->reports, why);
    bool good = sp_json_add_text(object, "program", outcome->request->program[0]) &&
                sp_json_add_count(object, "process", (uint64_t)outcome->child.process) &&
                sp_json_add_count(object, killed ? "signal" : "status",
                                  (uint64_t)(killed ? WTERMSIG(status) : WEXITSTATUS(status))) &&
                (served || sp_json_add_text(object, "nothing_served", why));
    cJSON *processes = good ? cJSON_AddArrayToObject(object, "processes") : NULL;
    for (size_t i = 0; i < outcome->reports.count && good; i++)
        good = add_process(processes, &outcome->reports.list[i]);
    cJSON *traces = good ? cJSON_AddArrayToObject(object, "traces") : NULL;
    const cJSON *path;
    cJSON_ArrayForEach(path, outcome->traces) {
        cJSON *trace = good ? sp_json_add_object(traces) : NULL;
        good = trace && sp_json_add_text(trace, "file", path->valuestring);
    }
    return processes && traces && good;
}

bool sp_run_summary_write(const struct sp_run_outcome *outcome) {
    return sp_json_write_object(outcome->request->json, fill, outcome);
}
