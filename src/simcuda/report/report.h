// Reports: what went wrong that no return code says. Kept by kind and text, counted, and printed
// where the configuration asks for it. A text is a sentence for whoever wrote the program.
#ifndef STREAMPOOL_SIMCUDA_REPORT_REPORT_H
#define STREAMPOOL_SIMCUDA_REPORT_REPORT_H

#include <stddef.h>
#include <stdint.h>
#include <streampool/simcuda.h>

#include "simcuda/report/finding.h"

// A report of what the call does that the thread is in.
void sim_report(simcudaReportKind kind, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// A report of what these sides do, SIM_SIDES at most.
void sim_report_sides(simcudaReportKind kind, const struct sim_side *sides, size_t count,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));
// A report of what is there, and nobody does.
void sim_report_state(simcudaReportKind kind, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Returns the name of the call that the thread is in.
const char *sim_report_call(void);

uint64_t sim_report_count(const char *kind);
const char *sim_report_name(uint64_t index);
const char *sim_report_text(uint64_t index);
void sim_report_clear(void);

#endif
