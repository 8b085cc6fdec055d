// These functions make calls fail on demand, and count them. The counters and the flag that a fault
// is set need no lock.
#ifndef STREAMPOOL_SIMCUDA_REPORT_FAULT_H
#define STREAMPOOL_SIMCUDA_REPORT_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <streampool/simcuda.h>

#include "simcuda/entry/entry.h"

extern _Atomic uint64_t sim_call_counts[SIM_ENTRY_COUNT];
extern _Atomic bool sim_fault_armed;

static inline void sim_call_count_add(enum sim_entry entry) {
    atomic_fetch_add_explicit(&sim_call_counts[entry], 1, memory_order_relaxed);
}

uint64_t sim_call_count(const char *entry);
void sim_call_count_reset(void);

// Sets a fault for the nth call of an entry point from now on; SIM_ENTRY_COUNT stands for every
// entry point. False when there is no room for another fault.
bool sim_fault_set(enum sim_entry entry, uint64_t n, simcudaFaultSpan span, CUresult error);
void sim_fault_clear(void);
uint64_t sim_fault_count(void);

// Returns the error that this call must return, CUDA_SUCCESS to go on. The call counts for every
// fault of its entry point.
CUresult sim_fault_check(enum sim_entry entry);

#endif
