// Reports: what went wrong that no return code says. Kept by kind and text, counted, and printed
// where the configuration asks for it.
#ifndef STREAMPOOL_SIMCUDA_REPORT_H
#define STREAMPOOL_SIMCUDA_REPORT_H

#include <stdint.h>
#include <streampool/simcuda.h>

void sim_report(simcudaReportKind kind, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

uint64_t sim_report_count(const char *kind);
const char *sim_report_name(uint64_t index);
const char *sim_report_text(uint64_t index);
void sim_report_clear(void);

#endif
