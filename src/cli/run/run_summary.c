#include "cli/run/run_summary.h"

#include "cli/program/quantity.h"
#include "cli/program/statistics.h"
#include "cli/run/run_reason.h"
#include "cli/run/run_verdict.h"
#include "dropin/format.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

// Begins a line about a process.
static void title(FILE *out, const char *what) {
    fprintf(out, "  %-20s  ", what);
}

static void print_bytes(FILE *out, const cJSON *object, const char *field, const char *what) {
    char text[SP_QUANTITY_TEXT];
    fprintf(out, "%s %s", sp_bytes_text(sp_run_reports_number(object, field), text), what);
}

static uint64_t count_of(const cJSON *end, const char *name) {
    return sp_run_reports_count(end, "counts", name);
}

// ------------------------------------------------------------------------------------ who has
// served

static void print_ours(FILE *out, const cJSON *end) {
    title(out, "streampool served");
    fprintf(out, "%" PRIu64 " allocations, %" PRIu64 " frees\n", count_of(end, "allocations"),
            count_of(end, "frees"));
}

static void print_reason(FILE *out, uint64_t count, const char *what) {
    if (count > 0) {
        title(out, "");
        fprintf(out, "%" PRIu64 " %s\n", count, what);
    }
}

#define OURS(name, what)
#define OTHER(name, what)
#define CUDAS(name, what) print_reason(out, count_of(end, #name), what);
static void print_cudas(FILE *out, const cJSON *end) {
    title(out, "CUDA's pools served");
    fprintf(out, "%" PRIu64 " allocations, %" PRIu64 " frees\n", sp_run_verdict_cudas(end),
            count_of(end, "cuda_frees"));
#define PRINT(name, group, what) group(name, what)
    SP_REPORT_COUNTS(PRINT)
#undef PRINT
}

static void print_verdict(FILE *out, const struct sp_run_process *process) {
    struct sp_run_verdict verdict = sp_run_verdict(process);
    title(out, "took hold");
    fprintf(out, "%s: %s\n", verdict.word, verdict.why);
}

// ------------------------------------------------------------------------------------------ the
// peaks

static void print_peaks(FILE *out, const cJSON *object) {
    print_bytes(out, object, "used_high", "live, ");
    print_bytes(out, object, "reserved_high", "reserved\n");
}

static void print_pool(FILE *out, const cJSON *pool) {
    const char *kind = sp_run_reports_text(pool, "kind");
    title(out, "peaks");
    if (strcmp(kind, "destroyed") == 0)
        fprintf(out, "most of a destroyed pool, of %" PRIu64 ": ",
                sp_run_reports_number(pool, "count"));
    else
        fprintf(out, "%s pool of device %" PRIu64 ": ",
                strcmp(kind, "default") == 0 ? "default" : "other",
                sp_run_reports_number(pool, "device"));
    print_peaks(out, pool);
}

static void print_pools(FILE *out, const cJSON *end) {
    const cJSON *pools = cJSON_GetObjectItemCaseSensitive(end, "pools"), *pool, *device;
    cJSON_ArrayForEach(pool, pools) {
        print_pool(out, pool);
    }
    if (cJSON_IsNull(pools)) {
        title(out, "peaks");
        fputs("unknown: the process ended inside a call of the library\n", out);
    }
    cJSON_ArrayForEach(device, cJSON_GetObjectItemCaseSensitive(end, "cuda")) {
        title(out, "peaks");
        fprintf(out, "CUDA's default pool of device %" PRIu64 ": ",
                sp_run_reports_number(device, "device"));
        print_peaks(out, device);
    }
}

// ------------------------------------------------------------------------------------- the
// statistics

static void print_quantity(FILE *out, size_t statistic, uint64_t value) {
    char text[SP_QUANTITY_TEXT];
    switch (sp_statistics_unit(statistic)) {
    case SP_UNIT_BYTES:
        fputs(sp_bytes_text(value, text), out);
        break;
    case SP_UNIT_NANOSECONDS:
        fputs(sp_time_text((double)value, text), out);
        break;
    case SP_UNIT_COUNT:
        fprintf(out, "%" PRIu64, value);
        break;
    }
}

static void print_statistics(FILE *out, const cJSON *end) {
    static const struct {
        const char *name, *text;
    } rows[] = {
#define ROW(name, number, text) {#name, text},
        STREAMPOOL_POOL_STATISTICS(ROW)
#undef ROW
    };
    for (size_t i = 0; i < SP_STATISTIC_COUNTERS; i++) {
        uint64_t value = sp_run_reports_count(end, "statistics", rows[i].name);
        if (value == 0)
            continue;
        title(out, rows[i].name);
        print_quantity(out, i, value);
        if (sp_statistics_unit(i) == SP_UNIT_COUNT)
            fprintf(out, " %s", rows[i].text);
        fputc('\n', out);
    }
}

static void print_time(FILE *out, const cJSON *end, const char *calls, const char *time,
                       const char *what) {
    char all[SP_QUANTITY_TEXT], each[SP_QUANTITY_TEXT];
    uint64_t count = count_of(end, calls), nanoseconds = count_of(end, time);
    if (count == 0)
        return;
    title(out, "time inside");
    fprintf(out, "%s in %" PRIu64 " %s, %s each\n", sp_time_text((double)nanoseconds, all), count,
            what, sp_time_text((double)nanoseconds / (double)count, each));
}

static void print_times(FILE *out, const cJSON *end) {
    char text[SP_QUANTITY_TEXT];
    print_time(out, end, "pool_calls", "pool_time", "pool calls");
    print_time(out, end, "order_calls", "order_time",
               "calls about streams and events, with their waits");
    title(out, "time inside");
    fprintf(out, "%s to start\n", sp_time_text((double)count_of(end, "start_time"), text));
}

// ------------------------------------------------------------------------------------------ the
// routes

static void print_route(FILE *out, const cJSON *route, const char *what) {
    uint64_t lookups = sp_run_reports_number(route, "lookups");
    if (lookups == 0)
        return;
    title(out, "route");
    fprintf(out, "%s: %" PRIu64 " look-ups, %" PRIu64 " answered by streampool\n", what, lookups,
            sp_run_reports_number(route, "ours"));
}

static void print_routes(FILE *out, enum sp_run_mode mode, const cJSON *end) {
    const cJSON *routes = cJSON_GetObjectItemCaseSensitive(end, "routes"), *object;
    if (mode == SP_RUN_LIBRARY) {
        title(out, "route");
        fputs("streampool's libcuda.so.1, in front of the driver\n", out);
    }
    cJSON_ArrayForEach(object, cJSON_GetObjectItemCaseSensitive(end, "linked")) {
        title(out, "route");
        fprintf(out, "linked names: %s needs %" PRIu64 " of those that streampool answers\n",
                sp_run_reports_text(object, "name"), sp_run_reports_number(object, "names"));
    }
#define PRINT(name, what) print_route(out, cJSON_GetObjectItemCaseSensitive(routes, #name), what);
    SP_REPORT_ROUTES(PRINT)
#undef PRINT
    cJSON_ArrayForEach(object, cJSON_GetObjectItemCaseSensitive(end, "askers")) {
        title(out, "asked by");
        fprintf(out, "%s: %" PRIu64 " look-ups, %" PRIu64 " answered by streampool\n",
                sp_run_reports_text(object, "name"), sp_run_reports_number(object, "lookups"),
                sp_run_reports_number(object, "ours"));
    }
    title(out, "driver");
    fprintf(out, "%s\n",
            *sp_run_reports_text(end, "driver") ? sp_run_reports_text(end, "driver")
                                                : "not loaded");
}

static bool has_routes(const cJSON *end) {
    struct sp_run_lookups lookups = sp_run_reports_lookups(end);
    return lookups.lookups + lookups.linked > 0;
}

// --------------------------------------------------------------------------------------- the
// processes

static const char *end_text(const struct sp_run_process *process, const struct sp_child *child) {
    if (process->end)
        return "";
    if (process->replaced)
        return ": became another program, without a report";
    if (process->id != child->process && kill(process->id, 0) == 0)
        return ": still runs";
    return ": ended without a report (killed, or by _exit)";
}

static void print_process(FILE *out, const struct sp_run_outcome *outcome,
                          const struct sp_run_process *process) {
    enum sp_run_mode mode = outcome->request->mode;
    bool has_route = has_routes(process->end) || (process->end && mode == SP_RUN_LIBRARY);
    bool seams = outcome->request->seams && has_route;
    if (!process->started && !seams)
        return;
    fprintf(out, "process %ld", (long)process->id);
    if (process->load)
        fprintf(out, " (%s)", sp_run_reports_text(process->load, "program"));
    fprintf(out, "%s\n", end_text(process, &outcome->child));
    if (process->started && process->end) {
        print_ours(out, process->end);
        print_cudas(out, process->end);
        print_verdict(out, process);
        print_pools(out, process->end);
        print_times(out, process->end);
        print_statistics(out, process->end);
    }
    if (seams)
        print_routes(out, mode, process->end);
}

static void print_end(FILE *out, const struct sp_run_outcome *outcome) {
    int status = outcome->child.status;
    fprintf(out, "streampool run: %s ", outcome->request->program[0]);
    if (WIFSIGNALED(status))
        fprintf(out, "was killed by signal %d (%s)\n", WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    else
        fprintf(out, "ended with status %d\n", WEXITSTATUS(status));
}

static void print_traces(FILE *out, const struct sp_run_outcome *outcome) {
    for (size_t i = 0; i < outcome->traces.count; i++)
        fprintf(out, "trace: %s\n", outcome->traces.paths[i]);
    if (outcome->request->record && outcome->traces.count == 0)
        fprintf(out, "trace: none, as no process made a pool call\n");
}

void sp_run_summary_print(const struct sp_run_outcome *outcome, FILE *out) {
    const struct sp_run_reports *reports = &outcome->reports;
    char why[SP_RUN_REASON_TEXT];
    size_t used = 0;
    print_end(out, outcome);
    for (size_t i = 0; i < reports->count; i++) {
        print_process(out, outcome, &reports->list[i]);
        used += reports->list[i].started;
    }
    if (used == 0) {
        sp_run_reason(outcome->request, reports, why);
        fprintf(out, "streampool served nothing: %s\n", why);
    } else if (used < reports->count) {
        size_t others = reports->count - used;
        fprintf(out, "%zu other process%s made no pool call\n", others, others == 1 ? "" : "es");
    }
    print_traces(out, outcome);
}
