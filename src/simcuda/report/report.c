#include "simcuda/report/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "simcuda/common/shared.h"
#include "simcuda/common/thread.h"
#include "simcuda/entry/entry.h"

#define KEPT        256
#define TEXT_LENGTH 1000

static const char *const kind_names[] = {
#define KIND_NAME(enumerator, number, name) [simcudaReport_##enumerator] = name,
    SIMCUDA_REPORTS(KIND_NAME)
#undef KIND_NAME
};

#define KIND_COUNT (sizeof(kind_names) / sizeof(kind_names[0]))

static struct report {
    simcudaReportKind kind;
    char text[TEXT_LENGTH];
} reports[KEPT];
static uint64_t kept;
static uint64_t counts[KIND_COUNT];

static void keep(simcudaReportKind kind, const char *text) {
    if (kept == KEPT)
        return;
    reports[kept].kind = kind;
    memcpy(reports[kept].text, text, TEXT_LENGTH);
    kept++;
}

__attribute__((format(printf, 4, 0))) static void report(simcudaReportKind kind,
                                                         const struct sim_side *sides, size_t count,
                                                         const char *format, va_list arguments) {
    char text[TEXT_LENGTH];
    vsnprintf(text, sizeof(text), format, arguments);
    counts[kind]++;
    keep(kind, text);
    if (sim_checks())
        sim_finding_add(kind_names[kind], text, sides, count);
    else if (sim_config.onReport != simcudaOnReportKeep || kind == simcudaReport_deadlock)
        sp_log_write("simulated driver: %s: %s", kind_names[kind], text);
    if (sim_config.onReport == simcudaOnReportAbort && kind != simcudaReport_leak)
        abort();
}

const char *sim_report_call(void) {
    return sim_entries[sim_thread_self()->entry].name;
}

void sim_report(simcudaReportKind kind, const char *format, ...) {
    struct sim_side call = {.who = sim_who_calls(), .name = sim_report_call(), .does = "is called"};
    va_list arguments;
    va_start(arguments, format);
    report(kind, &call, 1, format, arguments);
    va_end(arguments);
}

void sim_report_sides(simcudaReportKind kind, const struct sim_side *sides, size_t count,
                      const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    report(kind, sides, count, format, arguments);
    va_end(arguments);
}

void sim_report_state(simcudaReportKind kind, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    report(kind, NULL, 0, format, arguments);
    va_end(arguments);
}

uint64_t sim_report_count(const char *kind) {
    uint64_t sum = 0;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (!kind || strcmp(kind, kind_names[i]) == 0)
            sum += counts[i];
    }
    return sum;
}

const char *sim_report_name(uint64_t index) {
    return index < kept ? kind_names[reports[index].kind] : NULL;
}

const char *sim_report_text(uint64_t index) {
    return index < kept ? reports[index].text : NULL;
}

void sim_report_clear(void) {
    kept = 0;
    memset(counts, 0, sizeof(counts));
    sim_finding_clear();
}
